"""Prompts across cultures (EECC): concepts, identities and templates, agreement to them, and how every prompt reads."""

from __future__ import annotations

import tempfile
import uuid as uuids
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.datasets.tables import Record, Table, read_records
from kapwa.errors import DataError, UsageError
from kapwa.studio.events import record
from kapwa.studio.languages import language
from kapwa.studio.models import PromptPart
from kapwa.studio.models.everyday import APPROVED
from kapwa.studio.projections.prompts import CONCEPT, IDENTITY, NAMES, ROLES, TEMPLATE
from kapwa.studio.prompts import Grid, as_row, read_table
from kapwa.studio.roles import AGREERS, WORDERS
from kapwa.studio.security import Visit, page
from kapwa.studio.taking import refuse_large
from kapwa.studio.views.common import act, own_number, show, whole
from kapwa.suites.eecc.form import Template

MOST_PASTED, SHOWN, CAUSES = 500, 50, 40
TITLES = {CONCEPT: gettext_lazy("Concepts"), IDENTITY: gettext_lazy("Identities"), TEMPLATE: gettext_lazy("Templates")}
_COLUMNS = {
    CONCEPT: (("topic", gettext_lazy("Topic")), ("concept", gettext_lazy("Concept, as prompts write it"))),
    IDENTITY: (
        ("identity", gettext_lazy("Identity, as prompts write it")),
        ("country", gettext_lazy("Country it belongs to, where its name does not say")),
        ("article", gettext_lazy("“a” or “an”, where the rule by sound is wrong")),
    ),
    TEMPLATE: (
        ("name", gettext_lazy("Name")),
        ("language", gettext_lazy("Language")),
        ("template", gettext_lazy("Prompt")),
    ),
}


@page("prompts/", read=AGREERS)
def prompts(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show how every prompt reads, those with something to look at first, and where it comes from."""
    wanted = request.GET.get("template", "")
    parts = list(_parts(visit))
    shown = [one for one in parts if one.role != TEMPLATE or wanted in ("", one.id)]
    grid = Grid(visit.project, shown)
    causes = grid.causes()
    cells = list(grid.cells(faulty=True))
    n = {role: len(grid.parts[role]) for role in ROLES}
    total = n[CONCEPT] * n[IDENTITY] * n[TEMPLATE]
    start = whole(request.GET.get("from"), 0, total)
    rows = []
    for cell in islice(chain(cells, grid.cells(faulty=False)), start, start + SHOWN):
        three = (grid.parts[role][place] for role, place in zip((TEMPLATE, CONCEPT, IDENTITY), cell, strict=True))
        template, concept, identity = three
        used = template.state == identity.state == APPROVED
        written = language(grid.rows[TEMPLATE][cell.template].language)
        rows.append((template, concept, identity, written, grid.prompt(cell), grid.faults(cell), used))
    return show(
        request,
        visit,
        "prompts",
        titles=TITLES,
        rows=rows,
        total=total,
        faulty=len(cells),
        causes=causes[:CAUSES],
        more_causes=max(0, len(causes) - CAUSES),
        templates=[one for one in parts if one.role == TEMPLATE],
        wanted=wanted,
        first=start + 1,
        last=start + len(rows),
        before=max(0, start - SHOWN),
        after=start + SHOWN if start + SHOWN < total else 0,
    )


def _parts(visit: Visit) -> Any:
    return PromptPart.objects.filter(project=visit.project, retired=False).order_by("seq")


def waiting_prompts(visit: Visit) -> list[tuple[str, Any, int, int, int]]:
    """Return (role, title, how many there are, how many are in use, how many wait for the visitor) of each kind."""
    parts, own = list(_parts(visit)), visit.member.author
    rows = []
    for role in ROLES:
        found = [one for one in parts if one.role == role]
        used = sum(one.state == APPROVED for one in found)
        mine = sum(one.state != APPROVED and own not in (one.author, *one.agreed) for one in found)
        rows.append((role, TITLES[role], len(found), used, mine if visit.may(AGREERS) else 0))
    return rows


def _role(role: str) -> str:
    if role not in ROLES:
        raise Http404
    return role


@page("prompts/<slug:role>/", read=AGREERS, write=WORDERS)
def prompt_parts(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """List the concepts, identities or templates; add one that is typed, or all of a table that is pasted or sent."""
    wrong: list[DataError] = []
    pasted = ""
    if request.method == "POST":
        table, pasted = _given(request, visit, _role(role))
        wrong = _add(request, visit, role, table)
        if not wrong:
            return redirect("prompt_parts", project=visit.project.slug, role=role)
    own = visit.member.author
    parts = [one for one in _parts(visit) if one.role == _role(role)]
    return show(
        request,
        visit,
        "prompt_parts",
        400 if wrong else 200,
        role=role,
        title=TITLES[role],
        titles=TITLES,
        parts=[(one, _shown(one)) for one in parts],
        open=[(one, _shown(one)) for one in parts if one.state != APPROVED and own not in (one.author, *one.agreed)],
        fields=_form_fields(visit, role, request.POST if wrong else {}),
        header=",".join(visit.project.attribute if name == IDENTITY else name for name, *_rest in _COLUMNS[role]),
        wrong=wrong,
        pasted=pasted,
        words=visit.may(WORDERS),
    )


def _shown(part: PromptPart) -> list[tuple[str, str]]:
    """Return (language, text) of what a list shows of a part besides its name."""
    if part.role == TEMPLATE:
        return [(part.fields["language"], part.fields["template"])]
    return [(name.removeprefix("text_"), text) for name, text in part.fields.items() if name.startswith("text_")]


def _form_fields(visit: Visit, role: str, values: Any) -> list[tuple[str, Any, str, str]]:
    """Return (name, label, language, value) of each field of a part's form."""
    main = visit.project.language
    columns: list[tuple[str, Any, str]] = [(name, label, "") for name, label in _COLUMNS[role]]
    if role != TEMPLATE:
        tags = [tag for tag in dict.fromkeys([*visit.project.languages, "en"]) if tag != main]
        known = [*tags, *(name.removeprefix("text_") for name in values if name.startswith("text_"))]
        columns += [(f"text_{tag}", language(tag).name, tag) for tag in dict.fromkeys(known)]
    return [(name, label, tag, values.get(name, "")) for name, label, tag in columns]


def _given(request: HttpRequest, visit: Visit, role: str) -> tuple[Table, str]:
    """Return what was typed, pasted or sent as a table, and the pasted text."""
    sent, pasted = request.FILES.get("file"), request.POST.get("pasted", "")
    if not sent and not pasted.strip():
        names = [name for name, *_rest in _form_fields(visit, role, request.POST)]
        cells = {name: request.POST.get(name, "") for name in names}
        return Table(Path(role), tuple(cells), [Record(1, cells)], []), ""
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        suffix = Path(sent.name).suffix.lower() if sent else ".tsv" if "\t" in pasted.split("\n")[0] else ".csv"
        if suffix not in (".csv", ".tsv", ".xlsx"):
            message = _("A file of kind “%(kind)s” is not read.") % {"kind": suffix}
            raise UsageError(message, hint=_("Send .csv, .tsv or .xlsx, or paste it."))
        file = Path(place) / f"table{suffix}"
        file.write_bytes(sent.read() if sent else pasted.encode())
        refuse_large(file)
        return read_records(file), pasted


def _add(request: HttpRequest, visit: Visit, role: str, table: Table) -> list[DataError]:
    """Record each row of a table, or nothing where a row is wrong; then return what is."""
    rows, wrong = read_table(role, table, visit.project)
    if len(rows) > MOST_PASTED:
        message = _("%(n)d rows were given; at most %(most)d fit.") % {"n": len(rows), "most": MOST_PASTED}
        raise UsageError(message, hint=_("Give fewer at once."))
    form = own_number(request) or uuids.uuid4()
    ids = [uuids.uuid5(form, str(row)) for row, _ in rows]
    there = {
        (one.name, one.fields.get("topic"))
        for one in _parts(visit)
        if one.role == role and one.id not in {str(own) for own in ids}
    }
    for row, fields in rows:
        key = (fields[NAMES[role]], fields.get("topic"))
        if key in there:
            message = _("“%(text)s” is there already.") % {"text": key[0]}
            wrong.append(DataError(message, path=table.path, row=row, hint=_("Leave it out.")))
        there.add(key)
    for (_row, fields), own in zip(rows if not wrong else (), ids, strict=False):
        record(visit.project, f"{role}.added", {"fields": fields}, actor=visit.member.author, uuid=own)
    return sorted(wrong, key=lambda one: one.row or 0)


def _part(visit: Visit, role: str, part: str) -> PromptPart:
    found: PromptPart | None = _parts(visit).filter(role=_role(role), id=part[:36]).first()
    if found is None:
        raise Http404
    return found


@page("prompts/<slug:role>/agree/", write=AGREERS)
def agree(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """Agree to those that are ticked, as they were seen."""
    for ticked in request.POST.getlist("agree"):
        subject, _sep, text = ticked.partition(":")
        found = _part(visit, role, subject)
        if role == CONCEPT:
            raise UsageError(_("A concept is used at once."), hint=_("Change it, or take it out of use."))
        if role == TEMPLATE:
            for _field, message, hint in Template.contradictions(as_row(TEMPLATE, found.fields)):
                raise UsageError(f"The template {found.name!r} {message}", hint=hint or _("Change it first."))
        body = {"text": text}
        own = uuids.uuid5(own_number(request) or uuids.uuid4(), ticked)
        record(visit.project, f"{role}.agreed", body, actor=visit.member.author, uuid=own, subject=subject)
    return redirect("prompt_parts", project=visit.project.slug, role=role)


@page("prompts/<slug:role>/<str:part>/", read=AGREERS, write=WORDERS)
def prompt_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Show one concept, identity or template, and change it."""
    found = _part(visit, role, part)
    if request.method == "POST":
        # What the form has no place for, such as notes of an import, stays.
        names = [name for name, *_rest in _form_fields(visit, role, found.fields)]
        cells = {**found.fields, **{name: request.POST.get(name, "") for name in names}}
        rows, wrong = read_table(role, Table(Path(role), tuple(cells), [Record(1, cells)], []), visit.project)
        if wrong:
            raise UsageError(f"{wrong[0].column}: {wrong[0].message}", hint=wrong[0].hint)
        body = {"fields": rows[0][1], "base": request.POST.get("base", "")}
        act(request, visit, f"{role}.revised", body, subject=found.id)
        return redirect("prompt_part", project=visit.project.slug, role=role, part=part)
    own = visit.member.author
    return show(
        request,
        visit,
        "prompt_part",
        role=role,
        part=found,
        title=TITLES[role],
        fields=_form_fields(visit, role, found.fields),
        may_agree=found.state != APPROVED and own not in (found.author, *found.agreed),
        words=visit.may(WORDERS),
    )


@page("prompts/<slug:role>/<str:part>/retire/", write=WORDERS)
def retire_part(request: HttpRequest, visit: Visit, role: str, part: str) -> HttpResponse:
    """Take a concept, identity or template out of use."""
    act(request, visit, f"{_role(role)}.retired", {}, subject=part[:36])
    return redirect("prompt_parts", project=visit.project.slug, role=role)
