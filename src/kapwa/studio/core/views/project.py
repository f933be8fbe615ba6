"""What a coordinator does: invite people, set the project up, look at the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.paginator import Paginator
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.datasets.tables import Table
from kapwa.errors import DataError, UsageError
from kapwa.studio.core import consent as texts
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.languages import checked_tag, known, language
from kapwa.studio.core.members import ask_back, invite
from kapwa.studio.core.roles import COORDINATOR, COORDINATORS, ROLES
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Event, Membership, change
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


@page("settings/", read=COORDINATORS, write=COORDINATORS)
def settings(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Change what the project says of itself, its languages, its quorum, and its consent text."""
    project, questionnaire = visit.project, form_of(visit.project).questionnaire
    if request.method == "POST":
        before, changed = _settings_of(project), []
        if request.POST.get("action") == "consent":
            consent_texts = {tag: request.POST.get(f"consent_{tag}", "") for tag in _tags(project)}
            if not any(text.strip() for text in consent_texts.values()):
                raise UsageError(_("A consent text cannot be empty."))
            before_them = {consent.language: consent.text for consent in texts.newest(project)}
            if before_them != {tag: text for tag, typed in consent_texts.items() if (text := tidy(typed, 20_000))}:
                texts.publish(project, consent_texts)
                changed = ["consent"]
        elif request.POST.get("action") == "questions":
            project.questions = {}
            for question in questionnaire(project, ours=True):
                text = tidy(request.POST.get(f"question_{question.key}", ""), 1000)
                if text and text != question.text:  # ours stay in each reader's language
                    project.questions[question.key] = text
        else:
            for name in ("title", "culture", "licence", "contact"):
                line = tidy_line(request.POST.get(name, ""), 200)
                setattr(project, name, line or ("" if name == "contact" else getattr(project, name)))
            for name in ("collected", "limits"):
                setattr(project, name, tidy(request.POST.get(name, ""), 10_000))
            for name, most in (("quorum", 100), ("people_each", 1000), ("answers_each", 10)):
                setattr(project, name, max(1, whole(request.POST.get(name), getattr(project, name), most)))
            tags = [checked_tag(tag) for tag in request.POST.get("languages", "").replace(",", " ").split()[:40]]
            project.languages = list(dict.fromkeys([project.language, *tags]))
            project.gloss = checked_tag(request.POST.get("gloss") or project.gloss)
            project.attribute = _checked_attribute(request.POST.get("attribute") or project.attribute)
        after = _settings_of(project)
        changed += sorted(name for name in before | after if before.get(name) != after.get(name))
        if changed:  # so that what somebody wrote last can be removed with their contributions
            project.save()
            act(visit, "project.changed", {"names": changed})
        return redirect("settings", project=project.slug)
    now = {consent.language: consent.text for consent in texts.newest(project)}
    consents = [(language(tag), now.get(tag, "")) for tag in _tags(project)]
    return show(visit, "settings", consents=consents, known=known(), questions=questionnaire(project))


def _checked_attribute(name: str) -> str:
    """Return what identities of prompts are; raise UsageError for what cannot name their column of a table."""
    clean = name.strip()
    try:
        return attribute_of(Table(Path("identity"), (clean,), [], []))
    except DataError:
        hint = _("Write one word in small letters, such as nationality, religion or city.")
        raise UsageError(_("“%(text)s” cannot name a kind of identity.") % {"text": clean}, hint=hint) from None


def _settings_of(project: Any) -> dict[str, Any]:
    asked = {f"questions.{key}": text for key, text in project.questions.items()}
    return model_to_dict(project, exclude=["id", "slug", "salt", "questions"]) | asked


def _tags(project: Any) -> list[str]:
    return list(dict.fromkeys([*project.languages, project.gloss]))


@page("log/", read=COORDINATORS)
def log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show who did what, newest first; texts are on the pages of what they belong to."""
    events = Event.objects.filter(project=visit.project).order_by("-seq")
    shown = Paginator(events, _SHOWN).get_page(request.GET.get("page"))
    numbers = form_of(visit.project).numbers(visit.project)
    rows = [(event, numbers.get(event.subject) or numbers.get(str(event.uuid))) for event in shown]
    return show(visit, "log", rows=rows, more=shown.number + 1 if shown.has_next() else 0)
