"""Lay mapped tables out in a folder of the form for as long as a suite reads them, and say where errors came from."""

from __future__ import annotations

import csv
import gc
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from pydantic_core import to_json

from kapwa.datasets.card import CARD_NAME, LABELS_NAME
from kapwa.datasets.conversations import MEDIA_FOLDER
from kapwa.datasets.findings import CheckReport
from kapwa.errors import DataError
from kapwa.suites.folders.convert import Converted, LaidRow, convert
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.folders.mapping import read_mapping
from kapwa.tables import InMemory, TextTable, reading_from_memory, record

PROMPTS = "prompts.csv"
# Files that a folder of a form has beside its tables.
COPIED = (CARD_NAME, LABELS_NAME, PROMPTS)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A folder of the form made of mapped tables, and where each of its rows came from."""

    folder: Path
    source: Path
    converted: Converted
    copied: Mapping[str, Path]
    form: MappedForm

    @property
    def data(self) -> Path:
        """What a task reads: the folder, or its one table."""
        return self.folder / self.form.table

    def translated(self, error: DataError) -> DataError:
        """Return ``error`` with the file, row and column that the user knows."""
        path, row, column = self._place(str(error.path or ""), error.row, error.column)
        message = self._retold(error.message, str(error.path or ""))
        return DataError(message, path=path, row=row, column=column, hint=error.hint)

    def translated_report(self, report: CheckReport) -> CheckReport:
        """Return a check's report with the places that the user knows."""
        findings = []
        for finding in report.findings:
            path, row, column = self._place(finding.path, finding.row, finding.column)
            message = self._retold(finding.message, finding.path)
            findings.append(replace(finding, path=str(path), row=row, column=column, message=message))
        return replace(report, path=str(self.source), findings=findings)

    def _retold(self, message: str, path: str) -> str:
        """Return a message about a row of a form's table with the rows and places that the user knows."""
        rows = self.converted.tables.get(Path(path).stem, ())

        def source_row(match: re.Match[str]) -> str:
            number = int(match[1])
            return f"row {rows[number - 1].origin.row}" if 1 <= number <= len(rows) else match[0]

        # "row 3 of kapwa-abc/questions.jsonl", as messages about several packs name a file.
        ours = re.compile(rf"{re.escape(self.folder.name)}/\w+\.jsonl")
        named = ours.sub(rows[0].origin.pack_file if rows else self.source.name, message)
        return re.sub(r"\brow (\d+)\b", source_row, named.replace(str(self.folder), str(self.source)))

    def _place(self, path: str, row: int | None, column: str | None) -> tuple[Path, int | None, str | None]:
        file = Path(path)
        if file.name in self.copied:
            original = self.copied[file.name]
            return original, row if original.name == file.name else None, column
        rows = self.converted.tables.get(file.stem, ())
        if not rows:
            return self.source, None, column
        name = self.form.renamed.get(file.stem, {}).get(column or "", column or "")
        if row is None or not 1 <= row <= len(rows):
            return rows[0].origin.path, None, rows[0].fields[name].column if name in rows[0].fields else column
        field = rows[row - 1].fields.get(name)
        return (*field.origin, field.column) if field else (*rows[row - 1].origin, column)


@contextmanager
def laid_out(folder: Path, mapping_path: Path) -> Iterator[LaidOut]:
    """Yield a folder of the form for the tables in ``folder`` as far as they can be read; it is gone afterwards.

    Its tables are in memory alone (:func:`kapwa.tables.reading_from_memory`), for a folder of people's answers might
    outlive their withdrawal; the card and the prompts beside the mapping are copied. What could not be read is in
    ``converted.problems``. Raises DataError for a file that is not a mapping.
    """
    mapping = read_mapping(mapping_path)
    with uncollected(), tempfile.TemporaryDirectory(prefix="kapwa-") as temporary:
        made = convert(mapping, folder)
        to = Path(temporary).resolve()
        tables = {}
        for name, rows in made.tables.items():
            path = to / f"{name}.jsonl"
            path.touch()
            tables[path] = _in_memory(path, rows)
        copied = {}
        for name in COPIED:
            original = file_of(mapping_path, folder, name)
            if original is not None:
                shutil.copyfile(original, to / name)
                copied[name] = original
        if mapping.prompts and PROMPTS not in copied:
            with (to / PROMPTS).open("w", encoding="utf-8", newline="") as out:
                writer = csv.writer(out)
                writer.writerow(("culture", "id", "english", "local"))
                writer.writerows((each.culture, each.id, each.english, each.local) for each in mapping.prompts)
            copied[PROMPTS] = mapping_path
        token = MEDIA_FOLDER.set(folder)
        try:
            with reading_from_memory(tables):
                yield LaidOut(to, folder, made, copied, mapping.to)
        finally:
            MEDIA_FOLDER.reset(token)


def file_of(mapping_path: Path, folder: Path, name: str) -> Path | None:
    """Return the file ``name`` of a folder, or that of a mapping elsewhere: the folder may be somebody else's."""
    return next((file for base in (mapping_path.parent, folder) if (file := base / name).is_file()), None)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for cycles, which takes as long as reading: rows are a million objects and have none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _in_memory(path: Path, rows: Sequence[LaidRow]) -> InMemory:
    """Return the rows as a table that ``path`` stands for; as one list of JSON they identify the data."""
    header = tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys([tuple(row.cells) for row in rows]))))
    records = [record((number, row.cells)) for number, row in enumerate(rows, start=1)]
    return InMemory(TextTable(path, header, records, []), to_json([row.cells for row in rows]))
