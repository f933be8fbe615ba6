"""The one door for items: tables of any columns, releases, files of the forms' authors; shown before they come in."""

from __future__ import annotations

from base64 import b85decode, b85encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from zlib import compress, decompress

from django import forms
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.datasets import sheets
from kapwa.datasets.columns import FormColumn, text_of
from kapwa.errors import DataError, UsageError
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import ITEMS, MOST, MOST_RECORDS, brought
from kapwa.studio.core.importing import Brought, ItemTables, Rows, guessed, other_tables, read_place, rows_of, take
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import shown_name, tag_of
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.posted import PageForm, SetText, damaged, posted, posted_files, pressed
from kapwa.studio.core.roles import WORDERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.views.common import XLSX, as_file, show
from kapwa.studio.core.views.fields import FilesField, told
from kapwa.value_types import JsonObject, Keywords

SHOWN, EXAMPLES = 10, 2
_ROWS = "<!-- rows -->"
_MOST_KEPT = 2_400_000  # characters in which files go along from page to page


class ImportForm(PageForm):
    """Files that are sent, or went along from the page before; what is pasted is one, too."""

    file = FilesField(required=False)
    pasted = forms.CharField(required=False, strip=False)
    kept = SetText(required=False)
    role = SetText(max_length=100, required=False)
    theirs = forms.BooleanField(required=False)

    def clean(self) -> None:
        """Refuse where there is nothing."""
        if not self.errors and not self.files_sent:
            self.add_error("file", told(_n("No file was sent."), _n("Choose one.")))

    @cached_property
    def files_sent(self) -> list[UploadedFile[bytes]]:
        """The files; raises UsageError where what went along is damaged."""
        made = self.cleaned_data
        if made["kept"]:
            try:
                along = signing.loads(made["kept"])
            except signing.BadSignature:
                raise damaged() from None
            return [SimpleUploadedFile(name, decompress(b85decode(content))) for name, content in along]
        pasted = [SimpleUploadedFile("table.csv", made["pasted"].encode())] if made["pasted"].strip() else []
        return [*made["file"], *pasted]

    def along(self) -> str:
        """Return the files as they go along to the next page: the studio keeps none."""
        along = [(file.name, b85encode(compress(file.read())).decode()) for file in self.files_sent]
        for file in self.files_sent:
            file.seek(0)
        return signing.dumps(along)


@page("import/", read=WORDERS, write=WORDERS, hold_write_lock=False, long=("POST",))
def import_items(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Ask which column is which, and show rows as they will be; then take in those that are sound, and name others."""
    tables, form = _tables(visit), ImportForm(posted(request), posted_files(request))
    role = form["role"].value() or request.GET.get("table", "")
    about: Keywords = {"roles": tables.roles, "role": role, "kinds": ",".join(ITEMS), "sent": form}
    if not form.is_valid():
        return show(visit, "import", 400 if form.errors else 200, **about)
    try:
        kept = form.along()
        with brought(form.files_sent, ITEMS, unpack=True) as place:
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
    if pressed(request, "import"):
        actor = visit.member.author if form.cleaned_data["theirs"] else ""
        return _import(visit, [(table.role, rows) for table, rows in entries], actor, about)
    return show(visit, "import", shown=[_shown(visit, *entry) for entry in entries], kept=kept, **about)


def _tables(visit: Visit) -> ItemTables:
    tables = form_of(visit.project).tables
    if not visit.may(tables.writers):
        message = _("Your role does not give you access to this page.")
        raise RefusedError(message, hint=_("Ask whoever runs the project."))
    return tables


class TableForm(PageForm):
    """What the visitor says of a table: ``role``, what is in it; of each column which it is; what all rows say.

    ``was``: the role that the page asked about.
    """

    role = SetText(max_length=100, required=False)
    was = SetText(max_length=100, required=False)

    def __init__(self, number: int, header: Sequence[str], posted: QueryDict | None) -> None:
        self.number, self.header = number, header
        super().__init__(posted)
        for place in range(len(header)):
            self.fields[f"column_{place}"] = forms.CharField(required=False)

    def add_prefix(self, field_name: str) -> str:
        """Return a field's name, with the number of the table in it."""
        stem, _sep, place = field_name.partition("_")
        return f"{stem}_{self.number}{_sep}{place}"

    def asked_for(self, columns: Sequence[FormColumn]) -> None:
        """Ask for what all rows say in these columns, too."""
        for column in columns:
            self.fields[f"every_{column.name}"] = forms.CharField(required=False)

    def chosen(self) -> dict[str, str]:
        """Return which column each heading is."""
        return {heading: self.cleaned_data[f"column_{place}"] for place, heading in enumerate(self.header)}


def _as_asked(visit: Visit, number: int, table: Brought) -> Brought:
    """Return a table as the visitor says that it is, where they were asked, and what they say of all its rows."""
    tables, header = form_of(visit.project).tables, table.table.header
    form = TableForm(number, header, posted(visit.request))
    asked = form["role"].value()
    role = table.role if asked is None else asked
    if role not in tables.roles:
        return table._replace(role="")
    columns = tables.columns(visit.project, role, header)
    if role != table.role:
        table = table._replace(role=role, chosen=guessed(tables, visit.project, role, table.table))
    form.asked_for(columns)
    if not form.is_valid():
        raise damaged()
    if form.cleaned_data["was"] == role:
        known = {column.name for column in columns}
        table = table._replace(chosen={heading: name for heading, name in form.chosen().items() if name in known})
    typed = ((column.name, form.cleaned_data[f"every_{column.name}"][:200]) for column in columns)
    every = {name: _named_by(name, text) for name, text in typed}
    return table._replace(usual={**table.usual, **{name: text for name, text in every.items() if text}})


def _read(column: str, text: str) -> str:
    """Return what rows have in a column as people read it: a language by its name."""
    return shown_name(text) if column == "language" else text


def _named_by(column: str, text: str) -> str:
    """Return what rows are to have in a column where somebody typed it: the tag of a language that is named."""
    with suppress(UsageError):  # what names no language is refused with the rows
        return tag_of(text) if column == "language" and text.strip() else text
    return text


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
        "every": [(column, _read(column.name, table.usual.get(column.name) or column.usual)) for column in usual],
        "rows": rows,
        "heads": [labels.get(name, name) for name in heads],
        "cells": [(row.number, [_read(name, row.shown.get(name, "")) for name in heads]) for row in rows.sound[:SHOWN]],
    }


class Import:
    """Rows that come in a few at a time: ``done`` of ``all`` were looked at, and what became of them so far."""

    def __init__(self, visit: Visit, tables: Sequence[tuple[str, Rows]], actor: str) -> None:
        self.visit, self.tables, self.actor = visit, tables, actor
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
        for role, rows in self.tables:
            left = len(rows.sound)
            for part in take(form_of(visit.project).tables, visit.project, role, rows, self.actor):
                self.done += min(left, MOST_RECORDS)
                left -= MOST_RECORDS
                self.new += part.new
                self._refused += len(part.refused)
                self.problems += part.refused
                yield
        if self.new:
            with single_writer(), transaction.atomic():
                record(visit.project, "items.brought", {"new": self.new}, actor=visit.member.author)


def _import(visit: Visit, tables: Sequence[tuple[str, Rows]], actor: str, about: JsonObject) -> HttpResponseBase:
    """Take rows in; where there are many, the page says meanwhile how far it is."""
    taken = Import(visit, tables, actor)
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
