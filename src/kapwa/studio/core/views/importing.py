"""The one door for items: tables of any columns, releases, files of the forms' authors; shown before they come in."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from kapwa.datasets import sheets
from kapwa.datasets.columns import Column, guess, text_of
from kapwa.errors import DataError, UsageError
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import ITEMS, MOST, brought
from kapwa.studio.core.importing import Brought, Rows, Taken, read_place, rows_of, take
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.roles import WORDERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.views.common import XLSX, as_file, form_number, show

SHOWN, PROBLEMS, EXAMPLES = 10, 50, 2
_MOST_KEPT = 2_400_000  # characters in which files go along from page to page
_Problems = Sequence[DataError]


class TableShown(NamedTuple):
    """A table as the page shows it: which it is, what each column is, what all rows hold, and its first rows.

    ``headings``: of each column its name, some of its cells, and which column of the form it is. ``every``: columns
    that can be said once for all rows, with what was. ``heads`` and ``cells``: the first sound rows as they will be.
    """

    role: str
    columns: Sequence[Column]
    headings: Sequence[tuple[str, str, str]]
    every: Sequence[tuple[Column, str]]
    rows: Rows
    heads: Sequence[str]
    cells: Sequence[tuple[int, list[str]]]
    problems: _Problems


@page("import/", read=WORDERS, write=WORDERS, hold_write_lock=False)
def import_items(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask which column is which, and show rows as they will be; then take in those that are sound, and name others."""
    tables, role = form_of(visit.project).tables, request.POST.get("role") or request.GET.get("table", "")
    _refuse_others(visit)
    about = {"roles": tables.roles, "role": role, "kinds": ",".join(ITEMS)}
    if request.method != "POST":
        return show(visit, "import", **about)
    try:
        files = _sent(request)
        kept = signing.dumps([(file.name, file.read().decode("latin-1")) for file in files], compress=True)
        for file in files:
            file.seek(0)
        with brought(files, ITEMS) as place:
            read = read_place(tables, visit.project, place, role if role in tables.roles else "")
        if len(kept) > _MOST_KEPT or sum(len(each.table.records) for each in read) > MOST.rows:
            raise DataError(f"has more than {MOST.rows:,} rows or {_MOST_KEPT:,} bytes.", hint="Split it.")
    except DataError as error:
        return show(visit, "import", 400, wrong=error, pasted=request.POST.get("pasted", ""), **about)
    shown = [_shown(visit, number, table) for number, table in enumerate(read)]
    if request.POST.get("action") == "import":
        return show(visit, "import", taken=_taken(visit, shown), **about)
    theirs = "theirs" in request.POST
    return show(visit, "import", shown=shown, kept=kept, theirs=theirs, **about)


def _refuse_others(visit: Visit) -> None:
    if not visit.may(form_of(visit.project).tables.writers):
        message = _("Your role does not give you access to this page.")
        raise RefusedError(message, hint=_("Ask whoever runs the project."))


def _sent(request: HttpRequest) -> list[UploadedFile[bytes]]:
    """Return the files that were sent, or went along from the page before; what was pasted is one, too."""
    if kept := request.POST.get("kept"):
        try:
            files = signing.loads(kept)
        except signing.BadSignature:
            raise UsageError(_("The form's number is damaged."), hint=_("Reload the page.")) from None
        return [SimpleUploadedFile(name, content.encode("latin-1")) for name, content in files]
    pasted = request.POST.get("pasted", "")
    files = list(request.FILES.getlist("file"))
    if pasted.strip():
        files.append(SimpleUploadedFile("table.csv", pasted.encode()))
    if not files:
        raise DataError(_("No file was sent."), hint=_("Choose one."))
    return files


def _shown(visit: Visit, number: int, table: Brought) -> TableShown:
    """Return a table with what the visitor says it is, where they were asked, else as it is guessed."""
    tables, post = form_of(visit.project).tables, visit.request.POST
    role = post.get(f"role_{number}", table.role)
    if role not in tables.roles:
        return TableShown("", (), (), (), Rows([], []), (), (), ())
    names = table.table.header
    columns = tables.columns(visit.project, role, names)
    chosen: Mapping[str, str] = table.chosen if role == table.role else guess(table.table, columns)
    if post.get(f"was_{number}") == role:
        known = {column.name for column in columns}
        asked = {name: post.get(f"column_{number}_{place}", "") for place, name in enumerate(names)}
        chosen = {heading: name for heading, name in asked.items() if name in known}
    every = {column.name: post.get(f"every_{number}_{column.name}", "").strip()[:200] for column in columns}
    rows = rows_of(tables, visit.project, Brought(role, table.table, chosen), every)
    labels = {column.name: str(column.words[0]) for column in columns}
    heads = list(dict.fromkeys(name for row in rows.sound[:SHOWN] for name in row.shown))
    headings = []
    for name in names:
        examples = [text_of(row.cells[name]) for row in table.table.records if row.cells.get(name)]
        headings.append((name, " · ".join(text[:60] for text in examples[:EXAMPLES]), chosen.get(name, "")))
    usual = [(column, every[column.name] or column.usual) for column in columns if column.usual is not None]
    return TableShown(
        role,
        columns,
        headings,
        [(column, text) for column, text in usual if column.name not in chosen.values()],
        rows,
        [labels.get(name, name) for name in heads],
        [(row.number, [row.shown.get(name, "") for name in heads]) for row in rows.sound[:SHOWN]],
        rows.problems[:PROBLEMS],
    )


def _taken(visit: Visit, shown: Sequence[TableShown]) -> Taken:
    """Take the sound rows of the tables in, as the visitor's where they wrote them, else as nobody's."""
    actor = visit.member.author if "theirs" in visit.request.POST else ""
    number = form_number(visit.request) or uuids.uuid4()
    tables, total = form_of(visit.project).tables, Taken(0, 0, [])
    for table in shown:
        taken = take(tables, visit.project, table.role, table.rows, actor=actor, number=number)
        total = Taken(total.new + taken.new, total.known + taken.known, [*total.problems, *taken.problems])
    if total.new:
        with single_writer(), transaction.atomic():
            record(visit.project, "items.brought", {"new": total.new}, actor=visit.member.author)
    return total


@page("import/<slug:role>/", read=WORDERS)
def import_template(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """Give an empty workbook with the columns of one of the form's tables, in words of the page's language."""
    tables = form_of(visit.project).tables
    if role not in tables.roles:
        raise Http404
    _refuse_others(visit)
    columns = [sheets.Column(str(column.words[0]), 30) for column in tables.columns(visit.project, role)]
    sheet = sheets.Sheet(role, columns, [], _("One row for each. Leave out what you do not need."))
    return as_file(sheets.render(sheet, ("xlsx",))[f"{role}.xlsx"], f"{visit.project.slug}-{role}.xlsx", XLSX)
