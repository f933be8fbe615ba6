"""The writing desk: situations, their variations, and what checks and a model say of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.errors import KapwaError
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.forms import form_of, topic_name
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.posted import PageForm, SetNumber, SetText, posted
from kapwa.studio.core.roles import COORDINATORS, MODERATORS, READERS, REVIEWERS, WRITERS
from kapwa.studio.core.searching import earlier, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import ID, Topic
from kapwa.studio.core.views.common import act, asks_publication, show, whole
from kapwa.studio.core.views.fields import LanguageField, OneOfField, TypedField
from kapwa.studio.core.views.listing import ListFilter, authors_named, named, page_of
from kapwa.studio.situations.asking import ask, model_name
from kapwa.studio.situations.checks import check_fields, missing
from kapwa.studio.situations.events import (
    CLOSED,
    DRAFT,
    FROZEN,
    IN_REVIEW,
    REASONS,
    STATES,
    check_whole,
    refuse_while_voting,
)
from kapwa.studio.situations.fields import FIELDS, GLOSS, GROUPS, SLOTS, TEXT_FIELDS, Fields, changes, prompts, texts
from kapwa.studio.situations.tables import Elicited, Revision, Situation, Vote
from kapwa.suites.kalahi.form import CATEGORIES, PARTS
from kapwa.value_types import JsonObject

_LINES = "<!-- lines -->"
UNFINISHED = "unfinished"  # in the address of a draft that was to go to review, and is only kept


@page("situations/", read=READERS)
def situations(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the situations, those of a state, topic, language or author, or with some words, if asked."""
    every = Situation.objects.filter(project=visit.project).order_by("number")
    about = list(every.values_list("fields__topic", "fields__language", "author"))
    topics, tags, wrote = ([row[column] for row in about] for column in range(3))
    choices = {
        "state": (_("State"), [(state, _(state)) for state in (*STATES, *CLOSED)]),
        "fields__topic": (_("Topic"), [(name, topic_name(name)) for name, _name in named(topics)]),
        "fields__language": (_("Language"), [(tag, language(tag).name) for tag, _tag in named(tags)]),
        "author": (_("Writer"), authors_named(visit.project, wrote)),
    }
    asked = ListFilter(request.GET, choices, among=len(about))
    rows = every.filter(**{name: value for name in choices if (value := asked.chosen(name))})
    if words := asked.chosen("q"):
        texts = Q(fields__context__icontains=words) | Q(fields__user__icontains=words)
        rows = rows.filter(texts | Q(fields__personal_situation__icontains=words))
    held = form_of(visit.project).release(visit.project).held(unwilling_authors(visit.project))
    shown = {"shown": page_of(rows, request.GET), "asked": asked, "any": bool(about)}
    return show(visit, "situations", **shown, held=held if visit.may(COORDINATORS) else ())


class NearForm(PageForm):
    """Which situation is meant: the ``number`` of one that is changed, or the ``origin`` of a variation."""

    number = SetNumber(required=False)
    origin = SetNumber(required=False)


class SituationForm(NearForm):
    """A situation as the writing desk has it.

    ``base``: the revision that was seen; ``elicited``: the answer that it is made from; ``reason`` and ``note``: why it
    is changed after the draft; ``send``: whether it goes to review at once.
    """

    language = LanguageField(required=False)
    best = forms.ChoiceField(required=False, choices=[("", ""), *((str(slot), "") for slot in range(1, SLOTS + 1))])
    base = SetNumber(required=False)
    elicited = SetText(max_length=ID, required=False)
    reason = OneOfField([(reason, "") for reason in REASONS], gettext_lazy("A change after the draft needs a reason."))
    note = TypedField(required=False)
    send = forms.BooleanField(required=False)

    def __init__(self, posted: QueryDict | None, *, explained: bool = False) -> None:
        """Take what was posted; ``explained``: whether a reason is wanted."""
        super().__init__(posted)
        self.fields["reason"].required = explained
        for name in FIELDS:
            self.fields.setdefault(name, TypedField(required=False))

    def texts(self) -> dict[str, str]:
        """Return the fields of the situation that are not empty and not refused."""
        return {name: text for name in FIELDS if (text := self.cleaned_data.get(name))}

    @property
    def typed(self) -> dict[str, str]:
        """The fields of the situation as they were typed."""
        return {name: text for name in FIELDS if (text := self.data.get(name))}


@page("situations/new/", read=WRITERS, write=WRITERS)
def new_situation(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Begin a situation: of nothing, of an answer to the questionnaire, or as a variation of another."""
    form = SituationForm(posted(request))
    origin = _named(visit, form["origin"].value() or request.GET.get("origin"))
    if form.is_valid():
        body: JsonObject = {"changes": changes(origin.fields if origin else {}, form.texts())}
        if origin:
            body |= {"origin": origin.id, "base": origin.revision}
        if form.cleaned_data["elicited"]:
            body["elicited"] = form.cleaned_data["elicited"]
        event = act(visit, "situation.drafted", body, once=True)
        return _saved(visit, situation_or_404(visit, event.body["number"]), form)
    made_of = form["elicited"].value() or request.GET.get("elicited", "")
    elicited = Elicited.objects.filter(project=visit.project, id=made_of).first()
    # Which response is best is what a variation is about.
    fields = origin.fields | {"best": ""} if origin else {"language": visit.project.language}
    if elicited:
        fields |= {"language": elicited.language, "topic": elicited.topic, "context": elicited.text}
    return _desk(visit, form, fields, origin, origin=origin, elicited=elicited)


def _saved(visit: Visit, row: Situation, form: SituationForm) -> HttpResponse:
    """Send a draft that was saved to review, where its form asks for that; where something is missing, show what."""
    if not form.cleaned_data["send"]:
        return redirect("situation", project=visit.project.slug, number=row.number)
    if any(finding.severity == "error" for finding in check_fields(row.fields)):
        return redirect(f"{visit.link('edit_situation', row.number)}?kept={UNFINISHED}#lacks")
    if row.state == DRAFT:  # it is in review, where the form was sent twice
        record(visit.project, "situation.submitted", {}, actor=visit.member.author, subject=row.id)
    return to_next_draft(visit)


def to_next_draft(visit: Visit) -> HttpResponse:
    """Lead to the visitor's next draft, or where there is none home, which says what they can do next."""
    drafts = Situation.objects.filter(project=visit.project, state=DRAFT, author=visit.member.author)
    return redirect(
        next((visit.link("situation", row.number) for row in drafts.order_by("number")), visit.link("home"))
    )


def situation_or_404(visit: Visit, number: int) -> Situation:
    """Return the project's situation that people see under ``number``."""
    row: Situation = get_object_or_404(Situation, project=visit.project, number=number)
    return row


def _named(visit: Visit, number: str | int | None) -> Situation | None:
    return situation_or_404(visit, whole(str(number))) if number else None


@page("situations/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a situation; after the draft for one of the four reasons."""
    row = situation_or_404(visit, number)
    if row.state == DRAFT:
        refuse_others(visit, row)
    refuse_while_voting(row)
    explained = row.state != DRAFT
    form = SituationForm(posted(request), explained=explained)
    if form.is_valid():
        base = form.cleaned_data["base"]
        seen = Revision.objects.filter(id=f"{row.id}:{base}").first()
        body = {"changes": changes(seen.fields if seen else {}, form.texts()), "base": base}
        if explained:
            body |= {name: form.cleaned_data[name] for name in ("reason", "note")}
        act(visit, "situation.revised", body, subject=row.id)
        return _saved(visit, situation_or_404(visit, number), form)
    return _desk(visit, form, row.fields, row, situation=row, reasons=REASONS if explained else ())


def tells_best(visit: Visit, situation: Situation) -> bool:
    """Whether the visitor is told which response is the best: not who is yet to vote, or may once it is in review."""
    yet = situation.state == DRAFT or (situation.state == IN_REVIEW and not situation.revealed)
    if not yet or visit.member.author in situation.authors or not visit.may(REVIEWERS):
        return True
    voted = Vote.objects.filter(situation=situation.id, round=situation.round, author=visit.member.author)
    return situation.state == IN_REVIEW and voted.exists()


def refuse_others(visit: Visit, situation: Situation) -> None:
    """Refuse who neither wrote a part of a situation nor moderates."""
    if visit.member.author not in situation.authors and not visit.may(MODERATORS):
        raise RefusedError(_("This is somebody else's draft."), hint=_("You can review it once it is sent to review."))


def _desk(
    visit: Visit, form: SituationForm, fields: dict[str, str], near: Situation | None, **context: Any
) -> HttpResponse:
    """Show the form with ``fields``, or as it was refused; ``near``: the situation that is changed or varied."""
    fields = form.typed if form.errors else fields
    named = Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True)
    checks = checks_and_previews(visit, fields, near)
    alike = Situation.objects.filter(project=visit.project, cluster=near.cluster if near else "")
    return show(
        visit,
        "desk",
        400 if form.errors else 200,
        fields=fields,
        desk=form,
        sends=not context.get("reasons") and not asks_publication(visit),
        languages=[language(tag) for tag in dict.fromkeys([*visit.project.languages, checks["own"].tag])],
        topics=dict.fromkeys(filter(None, [*(named or form_of(visit.project).topics), fields.get("topic")])),
        categories=dict.fromkeys(filter(None, [*CATEGORIES, fields.get("category")])),
        variations=[(variation, tells_best(visit, variation)) for variation in alike.order_by("number")],
        lacks=checks["missing"] if visit.request.GET.get("kept") == UNFINISHED else (),
        **checks,
        **context,
    )


def reading(visit: Visit, fields: Fields) -> JsonObject:
    """Return how pages show the texts of a situation: parts, responses, prompts, and the languages they are in."""
    tag = fields.get("language") or visit.project.language
    return {
        "own": language(tag),
        "gloss": language(visit.project.gloss) if visit.project.gloss != tag else None,
        "parts": texts(fields, PARTS),
        "groups": [(group, texts(fields, names)) for group, names in GROUPS.items()],
        "previews": prompts(fields).items(),
    }


def checks_and_previews(visit: Visit, fields: Fields, near: Situation | None) -> JsonObject:
    """Return what the checks say, and how the three variants read."""
    others = Situation.objects.filter(project=visit.project).exclude(cluster=near.cluster if near else "")
    yet = missing(fields)
    findings = [one for one in check_fields(fields, {other.number: other.fields for other in others}) if one not in yet]
    written = any(fields.get(name) for name in TEXT_FIELDS)
    if not written:
        findings = []
    told = {
        "findings": findings,
        "missing": yet,
        "written": written,
        "places": [*TEXT_FIELDS, "best", "topic", "category"],
    }
    return {**told, **translations(visit, fields), **reading(visit, fields)}


def translations(visit: Visit, fields: Fields) -> JsonObject:
    """Return terms of the glossary in a situation, and how others translated sentences like those without a gloss."""
    written = [fields[name] for name in TEXT_FIELDS if fields.get(name) and not fields.get(name + GLOSS)]
    others = Situation.objects.filter(project=visit.project).values_list("fields", flat=True)
    pairs = [(other.get(name, ""), other.get(name + GLOSS, "")) for other in others for name in TEXT_FIELDS]
    return {"terms": terms_in(visit.project, *written), "earlier": earlier(written, pairs)}


@page("check/", write=WRITERS)
def check_writing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say what the checks find in a text that is not saved; nothing is recorded."""
    form = SituationForm(posted(request))
    form.full_clean()
    near = _named(visit, form["number"].value() or form["origin"].value())
    told = checks_and_previews(visit, form.texts(), near)
    return render(request, "studio/told.html", {**told, "beside": True})


@page("ask/", read=WRITERS, write=WRITERS, hold_write_lock=False, long=("POST",))
def ask_model(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Ask the model about one situation, or what it was not asked yet: the page grows by a line with each answer."""
    form = NearForm(posted(request))
    chosen = _named(visit, form.is_valid() and form.cleaned_data["number"])
    asked = [chosen] if chosen else _unasked(visit)
    if request.method != "POST" or not asked:
        return show(visit, "ask", situations=asked)
    whole_page = show(visit, "ask", situations=asked, running=True).content.decode()
    answer = StreamingHttpResponse(_lines(visit, asked, *whole_page.split(_LINES)))
    answer["X-Accel-Buffering"] = "no"  # a proxy must not keep the lines back
    return answer


def _unasked(visit: Visit) -> list[Situation]:
    """Return whole situations, the member's own or, for moderators, all, that this model has not seen as they read."""
    return [
        row
        for row in Situation.objects.filter(project=visit.project)
        .exclude(state__in=(FROZEN, *CLOSED))
        .order_by("number")
        if (visit.may(MODERATORS) or visit.member.author in row.authors)
        and all((seen["revision"], seen.get("asked")) != (row.revision, model_name()) for seen in row.model_seen)
        and not any(finding.severity == "error" for finding in check_fields(row.fields))
    ]


def _lines(visit: Visit, asked: list[Situation], head: str, tail: str) -> Iterator[str]:
    """Give the page in pieces; it ends early, and says why, where the model fails or the member left meanwhile."""
    yield head
    for done, situation in enumerate(asked, start=1):
        line = {"project": visit.project, "situation": situation, "done": done, "all": len(asked)}
        try:
            check_whole(situation.fields)
            body = {**ask(situation.fields), "revision": situation.revision}
            with single_writer(), transaction.atomic():
                record(visit.project, "situation.asked", body, actor=visit.member.author, subject=situation.id)
        except KapwaError as error:
            yield render_to_string("studio/asked.html", {**line, "error": error.summary})
            break
        yield render_to_string("studio/asked.html", line)
    yield tail
