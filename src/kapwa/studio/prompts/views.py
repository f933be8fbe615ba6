"""Prompts across cultures (EECC): concepts, identities and templates, agreement to them, and how every prompt reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from django.db import transaction
from django.forms import BoundField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.core.comments import comments_in
from kapwa.studio.core.forms import Guide, ItemNamed, OwnItem, Stage, Todo
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.posted import PageForm, SetText, posted
from kapwa.studio.core.roles import AGREERS, WORDERS
from kapwa.studio.core.searching import TextShown, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import APPROVED, ID, PROPOSED, Event
from kapwa.studio.core.text import wording_state
from kapwa.studio.core.views.commenting import CommentForm, comment_said, comments_shown
from kapwa.studio.core.views.common import ShownForm, act, judge_shown, show, take_publication, whole
from kapwa.studio.core.views.fields import WHY, TypedField, told
from kapwa.studio.core.views.listing import ListFilter, authors_named, named, page_of
from kapwa.studio.prompts.checks import (
    FilledTemplate,
    as_row,
    causes,
    checked_prompts,
    example_of,
    place_faults,
    read_table,
)
from kapwa.studio.prompts.events import CONCEPT, IDENTITY, PLURALS, ROLES, TEMPLATE, parts_of
from kapwa.studio.prompts.importing import COLUMNS
from kapwa.studio.prompts.tables import PromptPart
from kapwa.tables import Record, TextTable
from kapwa.value_types import JsonObject

CAUSES = 40
MOST_SHOWN = 50  # texts to which somebody agrees at once
TITLES = {CONCEPT: gettext_lazy("Concepts"), IDENTITY: gettext_lazy("Identities"), TEMPLATE: gettext_lazy("Templates")}


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with the parts of prompts, and how many of them are agreed to."""
    todos = []
    path = []
    for role, title in TITLES.items():
        parts = _of_role(visit, role)
        link = visit.link("prompt_parts", role)
        agreed = sum(part.state == APPROVED for part in parts)
        waits = _("two other people who agree") if parts else _("writers")
        for part in parts:
            if part.refused and part.author == visit.member.author and part.state != APPROVED and visit.may(WORDERS):
                sentence = _(NOTICES[f"{role}.refused"]) % {"item": f"\u2068{part.name}\u2069"}
                todos.append(Todo(_("See why"), visit.link("prompt_part", role, part.id), sentence))
        if visit.may(AGREERS) and (waiting := _open(visit, parts)):
            todos.append(Todo(f"{_('Waiting for your agreement')}: {title}", link, n=len(waiting)))
        if visit.may(WORDERS):
            todos.append(Todo(f"{_('Add')}: {title}", link, "" if parts else _("Nothing has been added yet."), 0))
        path.append(Stage(title, link, agreed, len(parts), [waits] if agreed < len(parts) or not parts else []))
    return Guide(todos, path)


NOTICES = {
    **dict.fromkeys(
        ("identity.refused", "template.refused"), _n("Somebody does not agree to your words in: %(item)s.")
    ),
    **dict.fromkeys(
        ("concept.retired", "identity.retired", "template.retired"), _n("What you wrote is no longer used: %(item)s.")
    ),
}


def own(visit: Visit) -> list[OwnItem]:
    """Return the concepts, identities and templates that the visitor wrote, each with its state."""
    parts = [part for part in parts_of(visit.project)[::-1] if part.author == visit.member.author]
    return [
        OwnItem(
            part.name,
            visit.link("prompt_part", part.role, part.id),
            part.fields.get("template", ""),
            wording_state(part.state),
        )
        for part in parts
    ]


def items_named(visit: Visit, items: Collection[str]) -> dict[str, ItemNamed]:
    """Return what parts of prompts are called, and the addresses of their pages, of those in use."""
    rows = PromptPart.objects.filter(project=visit.project, id__in=items)
    links = {row.id: "" if row.retired else visit.link("prompt_part", row.role, row.id) for row in rows}
    return {row.id: ItemNamed(row.name, links[row.id] or visit.link("prompts")) for row in rows}


@page("prompts/", read=AGREERS)
def prompts(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show how every prompt reads, those with something to look at first, and where it comes from."""
    wanted = request.GET.get("template", "")
    parts = parts_of(visit.project)
    used = [part for part in parts if part.role != TEMPLATE or wanted in ("", part.id)]
    checked = sorted(checked_prompts(visit.project, used), key=lambda prompt: not prompt.faults)
    faulty = [prompt for prompt in checked if prompt.faults]
    every = causes(faulty)
    about = {"titles": TITLES, "templates": [part for part in parts if part.role == TEMPLATE], "wanted": wanted}
    about |= {"faulty": len(faulty), "causes": every[:CAUSES], "more_causes": len(every[CAUSES:])}
    return show(visit, "prompts", **about, shown=page_of(checked, request.GET))


def _of_role(visit: Visit, role: str) -> list[PromptPart]:
    return [part for part in parts_of(visit.project) if part.role == role]


def _open(visit: Visit, parts: list[PromptPart]) -> list[PromptPart]:
    """Return those of ``parts`` that wait for the visitor's agreement."""
    author = visit.member.author
    return [
        part for part in parts if part.state != APPROVED and author not in (*part.authors, *part.agreed, *part.refused)
    ]


def texts(visit: Visit) -> Iterator[TextShown]:
    """Yield the texts of parts of prompts, to who sees their pages."""
    if not visit.may(AGREERS):
        return
    said: dict[str, list[str]] = {}
    for item, text in comments_in(visit.project, visit.member.author):
        said.setdefault(item, []).append(text)
    for part in parts_of(visit.project):
        url = reverse("prompt_part", args=[visit.project.slug, part.role, part.id])
        yield from (TextShown(str(TITLES[part.role]), url, text, "") for text in said.get(part.id, ()))
        for name, text in part.fields.items():
            tag = name.partition("_")[2] or part.fields.get("language", visit.project.language)
            yield TextShown(str(TITLES[part.role]), url, text, tag)


def _role(role: str) -> str:
    if role not in ROLES:
        raise Http404
    return role


@page("prompts/<slug:role>/", read=AGREERS, write=WORDERS)
def prompt_parts(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """List the concepts, identities or templates, and add one that is typed."""
    form = PartForm(visit, _role(role))
    if form.is_valid():
        take_publication(visit)
        try:
            with transaction.atomic():
                act(visit, f"{role}.added", {"fields": form.item})
            return redirect("prompt_parts", project=visit.project.slug, role=role)
        except RefusedError as error:
            form.add_error(None, str(error))
    return _shown_parts(visit, role, form)


def _shown_parts(visit: Visit, role: str, form: PartForm, judged: ShownForm | None = None) -> HttpResponse:
    """Show the concepts, identities or templates, with a form that was refused."""
    request, parts = visit.request, _of_role(visit, role)
    asked, found = _looked_for(visit, role, parts)
    return show(
        visit,
        "prompt_parts",
        400 if form.errors or judged else 200,
        role=role,
        title=TITLES[role],
        titles=TITLES,
        any=bool(parts),
        asked=asked,
        shown=page_of(found, request.GET),
        open=[(part, _example(visit, part)) for part in _open(visit, parts)[:MOST_SHOWN]],
        help=f"studio/help/{role}.html",
        judged=judged,
        typed=form,
        table=PLURALS[role],
        words=visit.may(WORDERS),
        changed=whole(request.GET.get("changed")),
    )


def _looked_for(visit: Visit, role: str, parts: list[PromptPart]) -> tuple[ListFilter, list[PromptPart]]:
    """Return what the visitor looks for, and those of the parts that fit it."""
    choices = {"author": (_("Writer"), authors_named(visit.project, (part.author for part in parts)))}
    if role == CONCEPT:
        choices["topic"] = (_("Topic"), named(part.fields.get("topic", "") for part in parts))
    else:
        choices["state"] = (_("State"), [(state, wording_state(state)) for state in (APPROVED, PROPOSED)])
    asked = ListFilter(visit.request.GET, choices, among=len(parts))
    words, topic = asked.chosen("q").casefold(), asked.chosen("topic")
    author, state = asked.chosen("author"), asked.chosen("state")
    found = [
        part
        for part in parts
        if author in ("", part.author)
        and state in ("", part.state)
        and topic in ("", part.fields.get("topic"))
        and any(words in text.casefold() for text in part.fields.values())
    ]
    return asked, found


def _example(visit: Visit, part: PromptPart) -> FilledTemplate | None:
    return example_of(visit.project, part, parts_of(visit.project))


class PartForm(PageForm):
    """A concept, identity or template: its columns, and its texts in the project's other languages; ``row`` as it is.

    ``base``: the text that was seen; ``reason``: why it changes one to which people agreed. ``item``: its fields, where
    nothing is wrong; what the form has no place for, such as notes, stays.
    """

    base = SetText(max_length=ID, required=False)
    reason = TypedField(required=False, wrong=told(*WHY))

    def __init__(self, visit: Visit, role: str, row: PromptPart | None = None, *, bound: bool = True) -> None:
        sent, self.before = posted(visit.request) if bound else None, row.fields if row else {}
        super().__init__(sent, initial=self.before)
        self.role, self.project, self.row = role, visit.project, row
        self.item: dict[str, str] = {}
        self.fields["reason"].required = bool(row and row.agreement)
        self.names = list(COLUMNS[role])
        for name, label in COLUMNS[role].items():
            self.fields[name] = TypedField(required=False)
            self.fields[name].label, self.fields[name].tag = _(label), ""
        for name in self._texts() if role != TEMPLATE else ():
            self.names.append(name)
            self.fields[name] = TypedField(required=False)
            self.fields[name].label, self.fields[name].tag = language(name[5:]).name, name[5:]

    def _texts(self) -> list[str]:
        """Return the names of the texts in other languages: those of the project, and those that are there."""
        tags = [tag for tag in (*self.project.languages, "en") if tag != self.project.language]
        there = [name for name in (*self.before, *self.data) if name.startswith("text_")]
        return list(dict.fromkeys([*(f"text_{tag}" for tag in tags), *there]))

    @property
    def columns(self) -> list[BoundField]:
        """The fields of the part."""
        return [self[name] for name in self.names]

    def clean(self) -> None:
        """Read what was typed as a table of one row, as imported tables are."""
        if self.errors:
            return
        cells = {**self.before, **{name: self.cleaned_data[name] for name in self.names}}
        rows, wrong = read_table(
            self.role, TextTable(Path(self.role), tuple(cells), [Record(1, cells)], []), self.project
        )
        for error in wrong:
            column = IDENTITY if error.column == self.project.attribute else error.column
            told_what = f"{error.message} {error.hint or ''}".strip()
            self.add_error(column if column in self.names else None, told_what)
        self.item = {} if wrong else rows[0].item


def _part(visit: Visit, role: str, part: str) -> PromptPart:
    row: PromptPart = get_object_or_404(PromptPart, project=visit.project, retired=False, role=role, id=part)
    return row


@page("prompts/<slug:role>/agree/", write=AGREERS)
def agree(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """Agree to all that were shown but the exceptions, as they were seen."""
    if role not in (IDENTITY, TEMPLATE):  # a concept is used at once
        raise Http404
    form = ShownForm(posted(request))
    if not form.is_valid():
        return _shown_parts(visit, role, PartForm(visit, role, bound=False), form)
    for part in _of_role(visit, TEMPLATE):
        wrong = place_faults(as_row(TEMPLATE, part.fields)) if form.agrees(f"{part.id}:{part.text_event}") else []
        if wrong:
            raise UsageError(f"The template {part.name!r} {wrong[0]}", hint=_("Change the template first."))
    changed = judge_shown(visit, form, f"{role}.agreed", f"{role}.refused", "text")
    return redirect(f"{visit.link('prompt_parts', role)}?changed={changed}")


@page("prompts/<slug:role>/<str:part>/", read=AGREERS, write=WORDERS)
def prompt_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Show one concept, identity or template, and change it."""
    row = _part(visit, role, part)
    form = PartForm(visit, role, row)
    if not form.is_valid():
        return _shown_part(visit, row, form)
    body: JsonObject = {"fields": form.item, "base": form.cleaned_data["base"]}
    if row.agreement:
        body |= {"against": row.agreement, "reason": form.cleaned_data["reason"]}
    act(visit, f"{role}.revised", body, subject=row.id)
    return redirect("prompt_part", project=visit.project.slug, role=role, part=part)


def _shown_part(visit: Visit, row: PromptPart, form: PartForm, **refused: PageForm) -> HttpResponse:
    """Show one concept, identity or template, with a form that was refused."""
    refusals = Event.objects.filter(project=visit.project, kind=f"{row.role}.refused", subject=row.id, erased=False)
    shown = {"words": visit.may(WORDERS), "terms": terms_in(visit.project, *row.fields.values())}
    shown["refusals"] = [event for event in refusals if event.body["text"] == row.text_event]
    shown |= {"typed": form, "title": TITLES[row.role], "role": row.role, "part": row}
    shown |= {"example": _example(visit, row), "help": f"studio/help/{row.role}.html"}
    shown |= comments_shown(visit, row.id, "discuss_part", row.role, row.id)
    return show(visit, "prompt_part", 400 if form.errors or refused else 200, **shown, **refused)


@page("prompts/<slug:role>/<str:part>/discuss/", write=AGREERS)
def discuss_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Take a comment on a concept, identity or template."""
    row, form = _part(visit, role, part), CommentForm(posted(request))
    if not form.is_valid():
        return _shown_part(visit, row, PartForm(visit, role, row, bound=False), comment=form)
    language_of = row.fields.get("language", visit.project.language)
    act(visit, "prompt.discussed", comment_said(visit, form, language_of, "prompt_part"), subject=row.id)
    return redirect("prompt_part", project=visit.project.slug, role=role, part=part)


@page("prompts/<slug:role>/<str:part>/retire/", write=WORDERS)
def retire_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Take a concept, identity or template out of use."""
    act(visit, f"{_role(role)}.retired", {}, subject=part[:36])
    return redirect("prompt_parts", project=visit.project.slug, role=role)
