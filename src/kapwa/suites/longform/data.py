"""Read questions with their criteria from sample packs, folders and files, and list what is odd about them."""

from __future__ import annotations

from pathlib import Path

from kapwa.datasets.findings import CheckReport, DataSource
from kapwa.datasets.packs import DataSet, locate, table_files, table_to_check
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, doubtful_languages, repeated_questions
from kapwa.datasets.withdrawn import withdrawn_findings
from kapwa.errors import raise_first
from kapwa.records import Item
from kapwa.suites.longform.form import SUITE, LongQuestion, item_of_question, number_of

PACKS = Path(__file__).parent / "packs"
ROLE = "longform"


def read_questions(data: str | Path | None) -> tuple[list[Item], DataSource]:
    """Read questions as items, and say where they came from.

    ``data``: None or "sample", "sample:PACK", a folder with a table ``longform``, or the file itself. Raises UsageError
    for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    source = locate(data, PACKS, default="daily-life")
    read = DataSet(source.name, source.path)
    rows = _rows(read)
    raise_first(read.problems)
    return list(map(item_of_question, rows)), read.source()


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for."""
    return ("criteria",) if table_files(folder, ROLE) else ()


def check(path: Path) -> CheckReport | None:
    """Read a file or folder and report on it; None when it is not of this form."""
    table_path = table_to_check(path, ROLE)
    if table_path is None:
        return None
    read = DataSet(table_path.resolve().name, table_path)
    rows = _rows(read)
    weights = [number_of(weight) for row in rows for weight in row.weights]
    counts: dict[str, int | float | str] = {"questions": len(rows), "without weights": sum(not r.weights for r in rows)}
    counts |= {"criteria": sum(len(row.criteria) for row in rows), "negative criteria": sum(w < 0 for w in weights)}
    for name in ("culture", "language", "topic"):
        counts[f"{name}s"] = ", ".join(sorted({str(getattr(row, name)) for row in rows} - {""}))
    findings = [
        *repeated_questions(map(_question_identity, rows)),
        *doubtful_cultures(((row.culture, row.origin) for row in rows), "culture"),
        *doubtful_languages((row.culture, row.language, row.origin) for row in rows),
        *withdrawn_findings((row.id, *row.origin) for row in rows),
    ]
    return read.report(SUITE, counts if rows else {}, findings)


def _question_identity(row: LongQuestion) -> QuestionIdentity:
    """Return what identifies a question, to find others that ask the same."""
    talk = (*(f"{turn.role}: {turn.content}" for turn in row.messages), *(media.sha256 for media in row.media))
    return QuestionIdentity(row.origin, "question", row.culture, row.language, row.question, (), shown_with=talk)


def _rows(read: DataSet) -> list[LongQuestion]:
    rows = read.read_form(ROLE, LongQuestion)
    read.read_labels(dict.fromkeys(row.culture for row in rows))
    return rows
