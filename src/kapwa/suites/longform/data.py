"""Read questions with their criteria from sample packs, folders and files, and list what is odd about them."""

from __future__ import annotations

from pathlib import Path

from kapwa.datasets.findings import CheckReport, DataSource
from kapwa.datasets.packs import DataSet, locate, table_files
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

    ``data``: None or "sample", "sample:PACK", a folder with a table ``longform``, or the file itself. Raises UsageError
    for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    place = locate(data, PACKS, default="daily-life")
    read, rows = _load(place.path, place.name)
    raise_first(read.problems)
    return list(map(item_of_question, rows)), read.source()


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for."""
    return ("criteria",) if table_files(folder, ROLE) else ()


def check(path: Path) -> CheckReport | None:
    """Read a file or folder and report on it; None when it is not of this form."""
    if not _files(path):
        return None
    read, rows = _load(path)
    findings = [*read.findings(path), *table_oddities(read.tables[0])]
    findings += withdrawn_findings((row.id, *row.origin) for row in rows)
    weights = [number_of(weight) for row in rows for weight in row.weights]
    counts: dict[str, int | float | str] = {"questions": len(rows), "without weights": sum(not r.weights for r in rows)}
    counts |= {"criteria": sum(len(row.criteria) for row in rows), "negative criteria": sum(w < 0 for w in weights)}
    for name in ("culture", "language", "topic"):
        counts[f"{name}s"] = ", ".join(sorted({str(getattr(row, name)) for row in rows} - {""}))
    return CheckReport(SUITE, str(path), counts, findings)


def _files(path: Path) -> list[Path]:
    """The tables of this form: the file itself, or those in the folder."""
    if path.is_file():
        return [path] if path.stem == ROLE and path.suffix.lower() in TABLE_SUFFIXES else []
    return table_files(path, ROLE)


def _load(path: Path, name: str = "") -> tuple[DataSet, list[LongQuestion]]:
    read, files = DataSet(name or path.resolve().name, path), _files(path)
    if len(files) != 1:
        hint = "A folder holds one table longform.csv, beside a card.yaml; see docs/reference/forms.md."
        held = " and ".join(file.name for file in files) or "no questions with criteria"
        read.problems.append(DataError(f"holds {held}.", path=path, hint=hint))
    rows = read.read(files[0], LongQuestion, read.read_card(files[0].parent)) if files else []
    read.read_labels(dict.fromkeys(row.culture for row in rows))
    return read, rows
