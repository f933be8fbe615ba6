"""Lay mapped tables out in a folder of the form for as long as a suite reads them, and say where errors came from."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.findings import CheckReport, Finding
from kapwa.datasets.rows import Origin
from kapwa.errors import DataError, raise_first
from kapwa.suites.folders.convert import LAYOUTS, Converted, convert
from kapwa.suites.folders.mapping import ColumnMapping, read_mapping

PROMPTS = "prompts.csv"
# What a form's table calls a field that mappings call otherwise.
_RENAMED = {"answers": {"local": "answers", "english": "answers_en"}}


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A folder of the form, and where each of its rows came from."""

    folder: Path
    source: Path
    mapping: ColumnMapping
    origins: Mapping[str, tuple[Origin, ...]]
    copied: Mapping[str, Path]

    def data_of(self, task: str) -> Path:
        """Return what the task reads: the folder, or the one table of multiple choice."""
        return self.folder / "mcq.jsonl" if task == "blend/mcq" else self.folder

    def translated(self, error: DataError) -> DataError:
        """Return ``error`` with the file, row and column that the user knows."""
        path, row, column = self._place(str(error.path or ""), error.row, error.column)
        message = error.message.replace(str(self.folder), str(self.source))
        return DataError(message, path=path, row=row, column=column, hint=error.hint)

    def translated_report(self, report: CheckReport) -> CheckReport:
        """Return a check's report with the places that the user knows."""
        findings = [self._finding(finding) for finding in report.findings]
        return replace(report, path=str(self.source), findings=findings)

    def _finding(self, finding: Finding) -> Finding:
        path, row, column = self._place(finding.path, finding.row, finding.column)
        message = finding.message.replace(str(self.folder), str(self.source))
        return replace(finding, path=str(path), row=row, column=column, message=message)

    def _place(self, path: str, row: int | None, column: str | None) -> tuple[Path, int | None, str | None]:
        file = Path(path)
        if file.name in self.copied:
            own = self.copied[file.name]
            return own, row if own.name == file.name else None, column
        origins = self.origins.get(file.stem, ())
        if not origins:
            return self.source, None, column
        name = _RENAMED.get(file.stem, {}).get(column or "", column or "")
        column = self.mapping.columns.get(name, column)
        if row is None or not 1 <= row <= len(origins):
            return origins[0].path, None, column
        return origins[row - 1].path, origins[row - 1].row, column


def converted(folder: Path, mapping_path: Path) -> tuple[ColumnMapping, Converted]:
    """Read the mapping and the tables in ``folder`` that it names, keeping every problem of the tables.

    Raises DataError for a mapping that is none.
    """
    mapping = read_mapping(mapping_path)
    return mapping, convert(mapping, folder, LAYOUTS[mapping.form])


@contextmanager
def laid_out(folder: Path, mapping_path: Path) -> Iterator[LaidOut]:
    """Yield a folder of the form for the tables in ``folder``; it is gone afterwards.

    Raises the first problem (DataError), saying how many more there are.
    """
    mapping, found = converted(folder, mapping_path)
    raise_first(found.problems)
    with tempfile.TemporaryDirectory(prefix="kapwa-") as name:
        yield write_layout(Path(name).resolve(), folder, mapping_path, mapping, found)


def write_layout(to: Path, folder: Path, mapping_path: Path, mapping: ColumnMapping, found: Converted) -> LaidOut:
    """Write the form's tables into ``to``, one JSON line a row, with the card and the prompts beside the mapping."""
    for table, rows in found.tables.items():
        lines = (json.dumps(row.cells, ensure_ascii=False, sort_keys=True) for row in rows)
        (to / f"{table}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    copied = {}
    for name in (CARD_NAME, PROMPTS):
        # A mapping elsewhere may bring its own card, for the folder is somebody else's.
        own = next((file for place in (mapping_path.parent, folder) if (file := place / name).is_file()), None)
        if own is not None:
            shutil.copyfile(own, to / name)
            copied[name] = own
    if mapping.prompts and PROMPTS not in copied:
        with (to / PROMPTS).open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(("culture", "id", "english", "local"))
            writer.writerows((one.culture, one.id, one.english, one.local) for one in mapping.prompts)
        copied[PROMPTS] = mapping_path
    origins = {table: tuple(row.origin for row in rows) for table, rows in found.tables.items()}
    return LaidOut(to, folder, mapping, origins, copied)
