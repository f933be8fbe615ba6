"""What a coordinator does: invite people, set the project up, look at the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kapwa.datasets.tables import Table
from kapwa.errors import DataError, UsageError
from kapwa.studio.core import consent as texts
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.languages import checked_tag, known, language
from kapwa.studio.core.members import ask_back, invite
from kapwa.studio.core.roles import COORDINATOR, COORDINATORS, ROLES
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Event, Membership, Project, change
from kapwa.studio.core.text import tidy, tidy_line
from kapwa.studio.core.views.common import act, show, shown_code, whole
from kapwa.suites.eecc.form import attribute_of

MOST_INVITED = 50
_SHOWN = 200


@page("people/", read=COORDINATORS, write=COORDINATORS)
def people(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List members; invite by codes that are shown once; change roles; let somebody back in who lost their code."""
    made: list[tuple[str, str, str, str]] = []
    if request.method == "POST":
        action = request.POST.get("action")
        if action == "invite":
            roles = request.POST.getlist("roles")
            count = max(1, whole(request.POST.get("count"), 1, MOST_INVITED))
            made = [shown_code(request, invite(visit.project, roles)) for _one in range(count)]
            act(visit, "member.invited", {"roles": roles, "count": count})
        else:
            member = Membership.objects.filter(project=visit.project, author=request.POST.get("author", "")).first()
            if member is None or member.person is None:
                raise UsageError(_("There is no such member."))
            if action == "again":
                made.append(shown_code(request, ask_back(member, visit.member.author)))
                act(visit, "member.return", {}, subject=member.author)
            else:
                _set_roles(visit, member, request.POST.getlist("roles"))
                act(visit, "member.roles", {"roles": member.roles}, subject=member.author)
                return redirect("people", project=visit.project.slug)
    members = Membership.objects.filter(project=visit.project).order_by("joined")
    return show(visit, "people", members=members, roles=ROLES, made=made)


def _set_roles(visit: Visit, member: Membership, roles: list[str]) -> None:
    chosen = [role for role in ROLES if role in roles]
    others = [other for other in Membership.objects.filter(project=visit.project, left=None) if other.pk != member.pk]
    if COORDINATOR not in chosen and not any(COORDINATOR in other.roles for other in others):
        raise UsageError(_("A project needs a coordinator."), hint=_("Make somebody else a coordinator first."))
    change(member, roles=chosen)


# What of a project its sections of settings hold as a line, as lines, and as a number up to so many.
_LINES, _TEXTS = {"title", "culture", "licence", "contact"}, {"collected", "limits"}
_COUNTS = {"quorum": 100, "people_each": 1000, "answers_each": 10}


@page("settings/", read=COORDINATORS, write=COORDINATORS)
def settings(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Change a section of what the project says of itself, its languages, its work, and its consent text."""
    project, questionnaire = visit.project, form_of(visit.project).questionnaire
    if request.method == "POST":
        before, published, section = settings_of(project), False, request.POST.get("action", "")
        if section == "consent":
            typed = {tag: request.POST.get(f"consent_{tag}", "") for tag in _consent_tags(project)}
            if not any(text.strip() for text in typed.values()):
                raise UsageError(_("A consent text cannot be empty."))
            published = texts.publish(project, typed)
        elif section == "questions":
            project.questions = {}
            for question in questionnaire(project, ours=True):
                text = tidy(request.POST.get(f"question_{question.key}", ""), 1000)
                if text and text != question.text:  # ours stay in each reader's language
                    project.questions[question.key] = text
        else:
            _set(project, request.POST)
        note_changes(visit, before, ["consent"] if published else [])
        return redirect(f"{reverse('settings', args=[project.slug])}?{urlencode({'saved': section})}#{section}")
    now = {consent.language: (consent.text, texts.by_machine(consent)) for consent in texts.newest(project)}
    consents = [(language(tag), *now.get(tag, ("", False))) for tag in _consent_tags(project)]
    shown = {"consents": consents, "questions": questionnaire(project), "saved": request.GET.get("saved")}
    return show(visit, "settings", known=known(), **shown)


def _set(project: Project, posted: Mapping[str, str]) -> None:
    """Set what a section posted; what others hold stays."""
    for name in _LINES.intersection(posted):
        line = tidy_line(posted[name], 200)
        setattr(project, name, line or ("" if name == "contact" else getattr(project, name)))
    for name in _TEXTS.intersection(posted):
        setattr(project, name, tidy(posted[name], 10_000))
    for name in _COUNTS.keys() & posted.keys():
        setattr(project, name, max(1, whole(posted[name], getattr(project, name), _COUNTS[name])))
    if "languages" in posted:
        tags = [checked_tag(tag) for tag in posted["languages"].replace(",", " ").split()[:40]]
        project.languages = list(dict.fromkeys([project.language, *tags]))
    if "reviewed" in posted:
        project.reviewed = {"yes": True, "no": False}.get(posted["reviewed"])
    project.gloss = checked_tag(posted.get("gloss") or project.gloss)
    project.attribute = _checked_attribute(posted.get("attribute") or project.attribute)


def _checked_attribute(name: str) -> str:
    """Return what identities of prompts are; raise UsageError for what cannot name their column of a table."""
    clean = name.strip()
    try:
        return attribute_of(Table(Path("identity"), (clean,), [], []))
    except DataError:
        hint = _("Write one word in small letters, such as nationality, religion or city.")
        raise UsageError(_("“%(text)s” cannot name a kind of identity.") % {"text": clean}, hint=hint) from None


def settings_of(project: Project) -> dict[str, Any]:
    """Return what a project says of itself, by name; each question of its questionnaire apart."""
    asked = {f"questions.{key}": text for key, text in project.questions.items()}
    return model_to_dict(project, exclude=["id", "slug", "salt", "questions"]) | asked


def note_changes(visit: Visit, before: dict[str, Any], changed: Sequence[str] = ()) -> None:
    """Save what differs from ``before``, and record the names of it, and of what ``changed`` besides.

    So what somebody wrote last can be removed with their contributions, and nothing that others wrote.
    """
    after = settings_of(visit.project)
    names = [*changed, *sorted(name for name in before | after if before.get(name) != after.get(name))]
    if names:
        visit.project.save()
        act(visit, "project.changed", {"names": names})


def _consent_tags(project: Project) -> list[str]:
    """Return the languages in which a project has a consent text, or may want one."""
    return list(dict.fromkeys([*project.languages, project.gloss, *(text.language for text in texts.newest(project))]))


@page("log/", read=COORDINATORS)
def log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show who did what, newest first; texts are on the pages of what they belong to."""
    events = Event.objects.filter(project=visit.project).order_by("-seq")
    shown = Paginator(events, _SHOWN).get_page(request.GET.get("page"))
    numbers = form_of(visit.project).numbers(visit.project)
    rows = [(event, numbers.get(event.subject) or numbers.get(str(event.uuid))) for event in shown]
    return show(visit, "log", rows=rows, numbered=bool(numbers), more=shown.number + 1 if shown.has_next() else 0)
