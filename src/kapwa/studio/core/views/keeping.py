"""What a coordinator does with a project as a whole: release it, evaluate releases, keep, check and fill it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio import commands
from kapwa.studio.core import evaluating
from kapwa.studio.core.exchange import export_project
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import freeze, plan_release, release_files
from kapwa.studio.core.importing import packs_of, take_in
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.posted import PageForm, SetText, posted, pressed
from kapwa.studio.core.reading import releases_of
from kapwa.studio.core.roles import COORDINATORS, EVERYONE, JUDGES
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.tables import Release
from kapwa.studio.core.views.common import act, as_file, recovery_code, show, zipped
from kapwa.studio.core.views.fields import TypedField
from kapwa.studio.doctor import BACKUPS, KEPT_DAYS, back_up
from kapwa.value_types import Keywords

# The policy that a report brings admits its own style and script, by their hashes; it is held to it from outside, too.
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
_APART = "sandbox allow-scripts; frame-ancestors 'none'"


class VersionForm(PageForm):
    """The number of a new release."""

    version = TypedField(40)


@page("releases/", read=COORDINATORS, write=COORDINATORS, long=("POST",))
def releases(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List releases, say what a new one would be, and freeze it."""
    project = visit.project
    form = VersionForm(posted(request))
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
    about: Keywords = {"n": len(plan.release.items), "step": plan.step, "why": plan.why, "least": plan.least}
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


class EvaluateForm(PageForm):
    """On which task a release is evaluated, or the evaluation of which is stopped."""

    task = SetText(max_length=200, required=False)
    stop = SetText(max_length=200, required=False)


@page("releases/<str:version>/evaluation/", read=EVERYONE - JUDGES, write=COORDINATORS, long=("POST",))
def evaluation(request: HttpRequest, visit: Visit, version: str) -> HttpResponse:
    """Say how a release is evaluated and what came of it; posted to, evaluate it here, where a model is."""
    project = visit.project
    release = get_object_or_404(Release, project=project, version=version)
    _refuse_judges(visit, release)
    form = EvaluateForm(posted(request))
    if form.is_valid():
        if stopped := form.cleaned_data["stop"]:
            evaluating.stop_task(project, release, stopped)
            act(visit, "release.evaluation-stopped", {"version": version, "task": stopped})
        else:
            task = form.cleaned_data["task"]
            if (row := evaluating.evaluation(project, release, task)) and row.busy:  # the form arrived twice
                return redirect("evaluation", project=project.slug, version=version)
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


class PackForm(PageForm):
    """The sample pack that is imported."""

    pack = forms.ChoiceField()

    def __init__(self, packs: Iterable[str], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.fields["pack"].choices = [(pack, pack) for pack in packs]


@page("backup/", read=COORDINATORS, write=COORDINATORS, long=("POST",))
def backup(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Offer what keeps a project: posted to, give or write an archive, check, make a code to come back with, import.

    The archive that is given has no identities and no hidden votes; the one with them stays on the studio's computer.
    """
    project, shown = visit.project, dict[str, Any]()
    packs = packs_of(form_of(project).tables)
    pack = PackForm(packs, None)
    action = pressed(request, "archive", "computer", "check", "recovery", "pack")
    if action == "archive":
        act(visit, "backup.taken", {})
        with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
            export_project(project, Path(place) / "backup.zip", whole=False)
            content = (Path(place) / "backup.zip").read_bytes()
        return as_file(content, f"{project.slug}-{timezone.now():%Y-%m-%d}.zip")
    if request.method == "POST" and action == "computer":
        act(visit, "backup.taken", {})
        shown["written"] = back_up(Path(settings.KAPWA_HOME) / BACKUPS, KEPT_DAYS, [project])
    elif action == "check":
        shown["checked"] = commands.check([project.slug])
        act(visit, "project.checked", {"differences": len(shown["checked"][2])})
    elif action == "recovery":
        shown["recovery"] = recovery_code(visit.member)
    elif action == "pack" and (pack := PackForm(packs, posted(request))).is_valid():
        name = pack.cleaned_data["pack"]
        shown["imported"] = take_in(form_of(project).tables, project, f"sample:{name}")[0]
    return show(visit, "backup", 400 if pack.errors else 200, **shown, packs=packs, chosen=pack)
