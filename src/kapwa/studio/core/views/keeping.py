"""What a coordinator does with a project as a whole: release it, evaluate releases, keep, check and fill it."""

from __future__ import annotations

import re
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.registry import load
from kapwa.studio import commands
from kapwa.studio.core import evaluating
from kapwa.studio.core.exchange import export_project
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import freeze, plan_release, release_files
from kapwa.studio.core.importing import take_in
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.reading import releases_of
from kapwa.studio.core.roles import COORDINATORS, EVERYONE, JUDGES
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.tables import Release
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, as_file, recovery_code, show, zipped
from kapwa.studio.core.views.fields import TypedField
from kapwa.studio.doctor import BACKUPS, KEPT_DAYS, back_up
from kapwa.value_types import Keywords

# The policy that a report brings admits its own style and script, by their hashes; it is held to it from outside, too.
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
_APART = "sandbox allow-scripts; frame-ancestors 'none'"


class VersionForm(forms.Form):
    """The number of a new release."""

    version = TypedField(40)


@page("releases/", read=COORDINATORS, write=COORDINATORS, long=("POST",))
def releases(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List releases, say what a new one would be, and freeze it."""
    project = visit.project
    form = VersionForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        version = form.cleaned_data["version"]
        try:
            with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
                freeze(project, version, Path(place), actor=visit.member.author)
            return redirect("evaluation", project=project.slug, version=version)
        except UsageError as error:
            form.add_error("version", str(error))
    earlier = releases_of(project)[::-1]
    plan = plan_release(project)
    about: Keywords = {"n": len(plan.release.items), "step": plan.step, "why": plan.why}
    lacks = [(lack.what, visit.link(lack.page, *lack.arguments), lack.who) for lack in plan.lacks]
    shown = {"releases": earlier, "held": plan.held, "lacks": lacks, "made": form}
    return show(visit, "releases", 400 if form.errors else 200, **about, **shown)


@page("releases/<str:version>/", read=COORDINATORS, long=SAFE)
def release_archive(request: HttpRequest, visit: Visit, version: str) -> HttpResponse:
    """Give a release as an archive, the same bytes at each download."""
    release = get_object_or_404(Release, project=visit.project, version=version)
    return zipped(release_files(visit.project, release), f"{visit.project.slug}-{release.version}")


def _refuse_judges(visit: Visit, release: Release) -> None:
    """Refuse who is to judge what an evaluation tells of: which model wrote a text, and which response is the best."""
    if visit.may(COORDINATORS):
        return
    if visit.may(JUDGES) or form_of(visit.project).to_vote(visit, release.items):
        message = _("You judge or vote on what this page tells about.")
        raise RefusedError(message, hint=_("Ask a coordinator about the results."))


@page("releases/<str:version>/evaluation/", read=EVERYONE - JUDGES, write=COORDINATORS, long=("POST",))
def evaluation(request: HttpRequest, visit: Visit, version: str) -> HttpResponse:
    """Say how a release is evaluated and what came of it; posted to, evaluate it here, where a model is."""
    project = visit.project
    release = get_object_or_404(Release, project=project, version=version)
    _refuse_judges(visit, release)
    if request.method == "POST":
        task = request.POST.get("task", "") or request.POST.get("stop", "")
        if "stop" in request.POST:
            evaluating.stop_task(project, release, task)
            act(visit, "release.evaluation-stopped", {"version": version, "task": task})
        else:
            model = evaluating.start(project, release, task)
            act(visit, "release.evaluated", {"version": version, "task": task, "model": model})
        return redirect("evaluation", project=project.slug, version=version)
    model, known = evaluating.model_here(), evaluating.evaluations(project, release)
    done = {row.task for row in known if row.busy or row.report}
    tasks = [task for task in form_of(project).tasks if task not in done]
    words = evaluating.command(form_of(project).tasks[0], model or "MODEL", f"{project.slug}-{version}", "runs")
    shown = {"release": release, "known": known, "tasks": tasks, "runs_on": model, "command": " ".join(words)}
    return show(visit, "evaluation", **shown, busy=any(row.busy for row in known))


@page("releases/<str:version>/evaluation/<slug:suite>/<slug:task>/", read=EVERYONE - JUDGES)
def evaluation_report(request: HttpRequest, visit: Visit, version: str, suite: str, task: str) -> HttpResponse:
    """Give the report of a release's evaluation, as a page that only shows itself; before, how far it is."""
    release = get_object_or_404(Release, project=visit.project, version=version)
    _refuse_judges(visit, release)
    row = evaluating.evaluation(visit.project, release, f"{suite}/{task}")
    if row is None or row.report is None:
        return redirect("evaluation", project=visit.project.slug, version=version)
    text = row.report.read_text(encoding="utf-8")
    brought = _POLICY.search(text)
    policy = unescape(brought[1]) if brought else "default-src 'none'"
    return HttpResponse(text, headers={"Content-Security-Policy": f"{policy}; {_APART}"})


@page("backup/", read=COORDINATORS, write=COORDINATORS, long=("POST",))
def backup(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Offer what keeps a project: posted to, give or write an archive, check, make a code to come back with, import.

    The archive that is given has no identities and no hidden votes; the one with them stays on the studio's computer.
    """
    project, action, shown = visit.project, request.POST.get("action", "archive"), dict[str, Any]()
    if request.method == "POST" and action == "archive":
        act(visit, "backup.taken", {})
        with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
            export_project(project, Path(place) / "backup.zip", whole=False)
            content = (Path(place) / "backup.zip").read_bytes()
        return as_file(content, f"{project.slug}-{timezone.now():%Y-%m-%d}.zip")
    if request.method == "POST" and action == "computer":
        act(visit, "backup.taken", {})
        shown["written"] = back_up(Path(settings.KAPWA_HOME) / BACKUPS, KEPT_DAYS, [project])
    elif request.method == "POST" and action == "check":
        shown["checked"] = commands.check([project.slug])
        act(visit, "project.checked", {"differences": len(shown["checked"][2])})
    elif request.method == "POST" and action == "recovery":
        shown["recovery"] = recovery_code(visit.member)
    elif request.method == "POST" and action == "pack":
        pack = tidy(request.POST.get("pack", ""), 80)
        shown["imported"] = take_in(form_of(project).tables, project, f"sample:{pack}")[0]
    return show(visit, "backup", **shown, packs=load("suites", project.form).pack_names())
