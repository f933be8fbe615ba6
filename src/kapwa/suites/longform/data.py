"""Read questions with their criteria from sample packs, folders and files, and list what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kapwa.datasets.findings import CheckReport, DataSource, Finding
from kapwa.datasets.packs import DataSet, children, locate, table_files
from kapwa.datasets.tables import TABLE_SUFFIXES
from kapwa.datasets.text_checks import table_oddities
from kapwa.datasets.withdrawn import withdrawn_findings
from kapwa.errors import DataError, raise_first
from kapwa.records import Item
from kapwa.suites.longform.form import SUITE, LongQuestion, item_of_question, number_of

PACKS = Path(__file__).parent / "packs"
ROLE = "longform"


def read_questions(data: str | Path | None) -> tuple[list[Item], DataSource]:
    """Read questions as items, and say where they came from.

    ``data``: None or "sample" (every sample pack), "sample:PACK", a folder with a table ``longform``, a folder of such
    folders, or one file. Raises UsageError for names that mean nothing, DataError (the first, with a count) for bad
    files.
    """
    place = locate(data, PACKS)
    read, rows = _load(place.path, place.name)
    raise_first(read.problems)
    return list(map(item_of_question, rows)), read.source()


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for."""
    return ("criteria",) if _files(folder) else ()


def check(path: Path) -> CheckReport | None:
    """Read a file or folder and report on it; None when it is not of this form."""
    if not _files(path):
        return None
    read, rows = _load(path)
    findings = list(read.findings(path))
    findings += [finding for table in read.tables for finding in table_oddities(table)]
    findings += [finding for row in rows for finding in _findings(row)]
    findings += withdrawn_findings((row.id, *row.origin) for row in rows)
    counts: dict[str, int | float | str] = {"questions": len(rows)}
    counts["criteria"] = sum(len(row.criteria) for row in rows)
    counts["negative criteria"] = sum(number_of(weight) < 0 for row in rows for weight in row.weights)
    for name in ("culture", "language", "topic"):
        counts[f"{name}s"] = ", ".join(sorted({str(getattr(row, name)) for row in rows} - {""}))
    return CheckReport(SUITE, str(path), counts, findings)


def _findings(row: LongQuestion) -> Iterator[Finding]:
    if len(row.criteria) == 1:
        yield row.origin.finding("note", "has a single criterion: its answers score 0 or 1", "criteria")
    if not row.weights:
        yield row.origin.finding("note", "has no weights: each criterion counts alike", "weights")


def _files(path: Path) -> list[Path]:
    """The tables of this form: the file, those of the folder, or those of the folders in it."""
    if path.is_file():
        return [path] if path.stem == ROLE and path.suffix.lower() in TABLE_SUFFIXES else []
    if not path.is_dir():
        return []
    own = table_files(path, ROLE)
    return own or [file for folder in children(path) if folder.is_dir() for file in table_files(folder, ROLE)]


def _load(path: Path, name: str = "") -> tuple[DataSet, list[LongQuestion]]:
    read = DataSet(name or path.resolve().name, path)
    rows = [row for file in _files(path) for row in read.read(file, LongQuestion, read.read_card(file.parent))]
    if not read.tables:
        hint = "A folder holds longform.csv, beside a card.yaml; see docs/reference/forms.md."
        read.problems.append(DataError("holds no questions with criteria.", path=path, hint=hint))
    first: dict[str, LongQuestion] = {}
    for row in rows:
        before = first.setdefault(row.id, row).origin
        if before.path != row.origin.path:
            message = f"{row.id!r} is also the id of row {before.row} of {before.pack_file}."
            read.problems.append(row.origin.problem(message, "id", "Begin ids with a word for the folder."))
    return read, rows
