"""The one door for items: tables of any columns, releases, files of the forms' authors; shown before they come in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from kapwa.datasets import sheets
from kapwa.datasets.columns import text_of
from kapwa.errors import DataError, UsageError
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import ITEMS, MOST, MOST_RECORDS, brought
from kapwa.studio.core.importing import Brought, ItemTables, Rows, guessed, other_tables, read_place, rows_of, take
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.roles import WORDERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.views.common import XLSX, as_file, show
from kapwa.value_types import JsonObject, Keywords

SHOWN, EXAMPLES = 10, 2
_ROWS = "<!-- rows -->"
_MOST_KEPT = 2_400_000  # characters in which files go along from page to page


@page("import/", read=WORDERS, write=WORDERS, hold_write_lock=False, long=("POST",))
def import_items(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Ask which column is which, and show rows as they will be; then take in those that are sound, and name others."""
    tables, role = _tables(visit), request.POST.get("role") or request.GET.get("table", "")
    about: Keywords = {"roles": tables.roles, "role": role, "kinds": ",".join(ITEMS), "post": request.POST}
    if request.method != "POST":
        return show(visit, "import", **about)
    try:
        files = _sent(request)
        kept = signing.dumps([(file.name, file.read().decode("latin-1")) for file in files], compress=True)
        for file in files:
            file.seek(0)
        with brought(files, ITEMS, unpack=True) as place:
            read = read_place(tables, visit.project, place, role if role in tables.roles else "")
            about["others"] = ", ".join(other_tables(place, read))
        if len(kept) > _MOST_KEPT or sum(len(table.table.records) for table in read) > MOST.rows:
            raise DataError(f"has more than {MOST.rows:,} rows or {_MOST_KEPT:,} bytes.", hint="Split it.")
    except DataError as error:
        return show(visit, "import", 400, wrong=error, **about)
    entries = []
    for number, brought_table in enumerate(read):
        table = _as_asked(visit, number, brought_table)
        entries.append((table, rows_of(tables, visit.project, table) if table.role else Rows([], [])))
    if request.POST.get("action") == "import":
        return _import(visit, [(table.role, rows) for table, rows in entries], about)
    return show(visit, "import", shown=[_shown(visit, *entry) for entry in entries], kept=kept, **about)


def _tables(visit: Visit) -> ItemTables:
    tables = form_of(visit.project).tables
    if not visit.may(tables.writers):
        message = _("Your role does not give you access to this page.")
        raise RefusedError(message, hint=_("Ask whoever runs the project."))
    return tables


def _sent(request: HttpRequest) -> list[UploadedFile[bytes]]:
    """Return the files that were sent, or went along from the page before; what was pasted is one, too."""
    if kept := request.POST.get("kept"):
        try:
            return [SimpleUploadedFile(name, content.encode("latin-1")) for name, content in signing.loads(kept)]
        except signing.BadSignature:
            raise UsageError(_("The form's number is damaged."), hint=_("Reload the page.")) from None
    files, pasted = list(request.FILES.getlist("file")), request.POST.get("pasted", "")
    if pasted.strip():
        files.append(SimpleUploadedFile("table.csv", pasted.encode()))
    if not files:
        raise DataError(_("No file was sent."), hint=_("Choose one."))
    return files


def _as_asked(visit: Visit, number: int, table: Brought) -> Brought:
    """Return a table as the visitor says that it is, where they were asked, and what they say of all its rows."""
    tables, post, header = form_of(visit.project).tables, visit.request.POST, table.table.header
    role = post.get(f"role_{number}", table.role)
    if role not in tables.roles:
        return table._replace(role="")
    columns = tables.columns(visit.project, role, header)
    if role != table.role:
        table = table._replace(role=role, chosen=guessed(tables, visit.project, role, table.table))
    if post.get(f"was_{number}") == role:
        asked = {heading: post.get(f"column_{number}_{place}", "") for place, heading in enumerate(header)}
        known = {column.name for column in columns}
        table = table._replace(chosen={heading: name for heading, name in asked.items() if name in known})
    every = {column.name: post.get(f"every_{number}_{column.name}", "").strip()[:200] for column in columns}
    return table._replace(usual={**table.usual, **{name: text for name, text in every.items() if text}})


def _shown(visit: Visit, table: Brought, rows: Rows) -> JsonObject:
    """Return what the page shows of a table: its columns with some cells, what all rows say, and the first rows."""
    if not table.role:
        return {"role": ""}
    columns = form_of(visit.project).tables.columns(visit.project, table.role, table.table.header)
    labels = {column.name: column.words[0] for column in columns}
    headings = []
    for heading in table.table.header:
        cells = [text_of(row.cells[heading])[:60] for row in table.table.records if row.cells.get(heading)]
        headings.append((heading, " · ".join(cells[:EXAMPLES]), table.chosen.get(heading, "")))
    usual = [column for column in columns if column.usual is not None and column.name not in table.chosen.values()]
    heads = list(dict.fromkeys(name for row in rows.sound[:SHOWN] for name in row.shown))
    return {
        "role": table.role,
        "columns": columns,
        "headings": headings,
        "every": [(column, table.usual.get(column.name) or column.usual) for column in usual],
        "rows": rows,
        "heads": [labels.get(name, name) for name in heads],
        "cells": [(row.number, [row.shown.get(name, "") for name in heads]) for row in rows.sound[:SHOWN]],
    }


class Import:
    """Rows that come in a few at a time: ``done`` of ``all`` were looked at, and what became of them so far."""

    def __init__(self, visit: Visit, tables: Sequence[tuple[str, Rows]]) -> None:
        self.visit, self.tables = visit, tables
        self.done, self.all = 0, sum(len(rows.sound) for _role, rows in tables)
        self.new, self.problems = 0, [problem for _role, rows in tables for problem in rows.problems]
        self._refused = 0

    @property
    def known(self) -> int:
        """How many rows the project had already."""
        return self.done - self.new - self._refused

    def steps(self) -> Iterator[None]:
        """Take the rows in, as the visitor's where they wrote them, else as nobody's; stop after each part."""
        visit = self.visit
        actor = visit.member.author if "theirs" in visit.request.POST else ""
        for role, rows in self.tables:
            left = len(rows.sound)
            for part in take(form_of(visit.project).tables, visit.project, role, rows, actor):
                self.done += min(left, MOST_RECORDS)
                left -= MOST_RECORDS
                self.new += part.new
                self._refused += len(part.refused)
                self.problems += part.refused
                yield
        if self.new:
            with single_writer(), transaction.atomic():
                record(visit.project, "items.brought", {"new": self.new}, actor=visit.member.author)


def _import(visit: Visit, tables: Sequence[tuple[str, Rows]], about: JsonObject) -> HttpResponseBase:
    """Take rows in; where there are many, the page says meanwhile how far it is."""
    taken = Import(visit, tables)
    if taken.all <= MOST_RECORDS:
        for _step in taken.steps():
            pass
        return show(visit, "import", taken=taken, **about)
    head, tail = show(visit, "import", running=True, **about).content.decode().split(_ROWS)
    answer = StreamingHttpResponse(_growing(taken, head, tail))
    answer["X-Accel-Buffering"] = "no"  # a proxy must not keep the parts back
    return answer


def _growing(taken: Import, head: str, tail: str) -> Iterator[str]:
    """Give the page in pieces: how many rows are done, and at the end what became of them."""
    yield head
    for _step in taken.steps():
        yield render_to_string("studio/importing.html", {"taken": taken})
    yield render_to_string("studio/imported.html", {"taken": taken})
    yield tail


@page("import/<slug:role>/", read=WORDERS)
def import_template(request: HttpRequest, visit: Visit, role: str) -> HttpResponse:
    """Give an empty workbook with the columns of one of the form's tables, in words of the page's language."""
    if role not in _tables(visit).roles:
        raise UsageError(_("There is no such page."), hint=_("Go back to the list."))
    columns = [sheets.SheetColumn(str(column.words[0]), 30) for column in _tables(visit).columns(visit.project, role)]
    sheet = sheets.Sheet(role, columns, [], _("One row for each. Leave out what you do not need."))
    return as_file(sheets.render(sheet, ("xlsx",))[f"{role}.xlsx"], f"{visit.project.slug}-{role}.xlsx", XLSX)
