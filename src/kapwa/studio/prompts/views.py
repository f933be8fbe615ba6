"""Prompts across cultures (EECC): concepts, identities and templates, agreement to them, and how every prompt reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.datasets.tables import Record, Table
from kapwa.errors import DataError, UsageError
from kapwa.studio.core.forms import Guide, Stage, Todo
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.roles import AGREERS, WORDERS
from kapwa.studio.core.searching import TextShown, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import APPROVED
from kapwa.studio.core.views.common import act, agree_to_shown, show, whole
from kapwa.studio.prompts.checks import as_row, causes, checked_prompts, place_faults, read_table
from kapwa.studio.prompts.events import CONCEPT, IDENTITY, PLURALS, ROLES, TEMPLATE
from kapwa.studio.prompts.importing import COLUMNS
from kapwa.studio.prompts.tables import PromptPart

SHOWN, CAUSES = 50, 40
TITLES = {CONCEPT: gettext_lazy("Concepts"), IDENTITY: gettext_lazy("Identities"), TEMPLATE: gettext_lazy("Templates")}


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with the parts of prompts, and how many of them are agreed to."""
    todos = []
    path = []
    for role, title in TITLES.items():
        parts = list(_parts(visit).filter(role=role))
        link = visit.link("prompt_parts", role)
        agreed = sum(part.state == APPROVED for part in parts)
        waits = _("two other people who agree") if parts else _("writers")
        if visit.may(AGREERS) and (waiting := _open(visit, parts)):
            todos.append(Todo(f"{_('Waiting for your agreement')}: {title}", link, n=len(waiting)))
        if not parts and link:
            todos.append(Todo(f"{_('Add')}: {title}", link, _("Nothing has been added yet."), 0))
        path.append(Stage(title, link, agreed, len(parts), [waits] if agreed < len(parts) or not parts else []))
    return Guide(todos, path)


@page("prompts/", read=AGREERS)
def prompts(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show how every prompt reads, those with something to look at first, and where it comes from."""
    wanted = request.GET.get("template", "")
    parts = list(_parts(visit))
    used = [part for part in parts if part.role != TEMPLATE or wanted in ("", part.id)]
    checked = sorted(checked_prompts(visit.project, used), key=lambda prompt: not prompt.faults)
    faulty = [prompt for prompt in checked if prompt.faults]
    every = causes(faulty)
    about = {"titles": TITLES, "templates": [part for part in parts if part.role == TEMPLATE], "wanted": wanted}
    about |= {"faulty": len(faulty), "causes": every[:CAUSES], "more_causes": len(every[CAUSES:])}
    return show(visit, "prompts", **about, shown=Paginator(checked, SHOWN).get_page(request.GET.get("page")))


def _parts(visit: Visit) -> Any:
    return PromptPart.objects.filter(project=visit.project, retired=False)


def _open(visit: Visit, parts: list[PromptPart]) -> list[PromptPart]:
    """Return those of ``parts`` that wait for the visitor's agreement."""
    author = visit.member.author
    return [part for part in parts if part.state != APPROVED and author not in (*part.authors, *part.agreed)]


def texts(visit: Visit) -> Iterator[TextShown]:
    """Yield the texts of parts of prompts, to who sees their pages."""
    for part in _parts(visit).order_by("seq") if visit.may(AGREERS) else ():
        url = reverse("prompt_part", args=[visit.project.slug, part.role, part.id])
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
    wrong = _add(request, visit, _role(role)) if request.method == "POST" else []
    if request.method == "POST" and not wrong:
        return redirect("prompt_parts", project=visit.project.slug, role=role)
    parts = list(_parts(visit).filter(role=_role(role)))
    return show(
        visit,
        "prompt_parts",
        400 if wrong else 200,
        role=role,
        title=TITLES[role],
        titles=TITLES,
        parts=parts,
        open=_open(visit, parts),
        fields=_form_fields(visit, role, request.POST),
        wrong=wrong,
        table=PLURALS[role],
        words=visit.may(WORDERS),
        changed=whole(request.GET.get("changed")),
    )


def _form_fields(visit: Visit, role: str, values: Any) -> list[tuple[str, Any, str, str]]:
    """Return (name, label, language, value) of each field of a part's form."""
    columns = [(name, _(label), "") for name, label in COLUMNS[role].items()]
    if role != TEMPLATE:
        asked = [f"text_{tag}" for tag in (*visit.project.languages, "en") if tag != visit.project.language]
        for name in dict.fromkeys([*asked, *(name for name in values if name.startswith("text_"))]):
            columns.append((name, language(name[5:]).name, name[5:]))
    return [(name, label, tag, values.get(name, "")) for name, label, tag in columns]


def _typed(request: HttpRequest, visit: Visit, role: str, before: dict[str, str]) -> Table:
    """Return what was typed as a table of one row; what the form has no place for, such as notes, stays."""
    names = [name for name, *_rest in _form_fields(visit, role, before or request.POST)]
    cells = {**before, **{name: request.POST.get(name, "") for name in names}}
    return Table(Path(role), tuple(cells), [Record(1, cells)], [])


def _add(request: HttpRequest, visit: Visit, role: str) -> Sequence[DataError]:
    """Record what was typed; return what is wrong with it."""
    rows, wrong = read_table(role, _typed(request, visit, role, {}), visit.project)
    for row in rows:
        try:
            with transaction.atomic():
                act(visit, f"{role}.added", {"fields": row.item})
        except RefusedError as error:
            wrong = [DataError(error.summary, row=row.number, hint=error.hint)]
    return wrong


def _part(visit: Visit, role: str, part: str) -> PromptPart:
    row: PromptPart = get_object_or_404(_parts(visit), role=role, id=part)
    return row


@page("prompts/<slug:role>/agree/", write=AGREERS)
def agree(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """Agree to all that were shown but the exceptions, as they were seen."""
    if role not in (IDENTITY, TEMPLATE):  # a concept is used at once
        raise Http404
    agreed = set(request.POST.getlist("shown")) - set(request.POST.getlist("except"))
    for part in _parts(visit).filter(role=TEMPLATE):
        wrong = place_faults(as_row(TEMPLATE, part.fields)) if f"{part.id}:{part.text_event}" in agreed else []
        if wrong:
            raise UsageError(f"The template {part.name!r} {wrong[0]}", hint=_("Change the template first."))
    changed = agree_to_shown(visit, f"{role}.agreed", "text")
    return redirect(f"{visit.link('prompt_parts', role)}?changed={changed}")


@page("prompts/<slug:role>/<str:part>/", read=AGREERS, write=WORDERS)
def prompt_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Show one concept, identity or template, and change it."""
    row = _part(visit, role, part)
    if request.method == "POST":
        rows, wrong = read_table(role, _typed(request, visit, role, row.fields), visit.project)
        if wrong:
            raise UsageError(": ".join(filter(None, (wrong[0].column, wrong[0].message))), hint=wrong[0].hint)
        body = {"fields": rows[0].item, "base": request.POST.get("base", "")}
        act(visit, f"{role}.revised", body, subject=row.id)
        return redirect("prompt_part", project=visit.project.slug, role=role, part=part)
    fields = _form_fields(visit, role, row.fields)
    words = visit.may(WORDERS)
    terms = terms_in(visit.project, *row.fields.values())
    return show(visit, "prompt_part", role=role, part=row, title=TITLES[role], fields=fields, words=words, terms=terms)


@page("prompts/<slug:role>/<str:part>/retire/", write=WORDERS)
def retire_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Take a concept, identity or template out of use."""
    act(visit, f"{_role(role)}.retired", {}, subject=part[:36])
    return redirect("prompt_parts", project=visit.project.slug, role=role)
