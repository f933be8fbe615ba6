"""A small folder of the answer form in Amharic, sound unless a test changes it, as CSV or as workbooks."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl

from kapwa.datasets.findings import Finding

CARD = """culture: Ethiopia
language: am
title: Amharic questions
version: "1.0"
licence: CC-BY-4.0
authors:
  - A
collected: By asking.
consent: Given.
reviewed_by_native_speakers: true
limits:
  - Few.
citation: A (2026).
"""
QUESTIONS = (
    ("id", "topic", "local", "english"),
    ("q01", "Food", "ለቁርስ ምን ትበላለህ?", "What do you eat for breakfast?"),
    ("q02", "Work life", "ገበያው ስንት ሰዓት ይከፈታል? (HH:MM)", "When does the market open? (HH:MM)"),
    ("q03", "Family", "ማን ያበስላል?", "Who cooks?"),
)
ANSWERS = (
    ("id", "votes", "local", "english"),
    ("q01", "3", "ፍርፍር", "firfir"),
    ("q02", "4", "02:00", "02:00"),
    ("q03", "5", "እናት", "mother"),
)
SITUATION = {
    "id": "s1",
    "cluster": "c1",
    "category": "ethics",
    "topic": "friendship",
    "user": "ተማሪ ነኝ።",
    "context": "ጓደኛዬ ታመመ።",
    "instruction": "ምን ላድርግ?",
    "best": "ሂድ ጠይቀው።",
    "relevant": "ሂድ ጠይቀው።;ደውልለት።;ጸልይለት።",
    "irrelevant": "ተወው።;እርሳው።;ዝም በል።",
}

Lines = Sequence[Sequence[Any]]


def as_csv(lines: Lines, delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return out.getvalue()


def as_xlsx(path: Path, lines: Lines, title: str = "Sheet") -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.active.title = title
    for line in lines:
        book.active.append(list(line))
    book.save(path)
    return book


def folder_of(tmp_path: Path, *, questions: Lines = QUESTIONS, answers: Lines = ANSWERS, card: str = CARD) -> Path:
    place = tmp_path / "mine"
    place.mkdir(parents=True)
    if card:
        (place / "card.yaml").write_text(card, encoding="utf-8")
    (place / "questions.csv").write_text(as_csv(questions), encoding="utf-8", newline="")
    (place / "answers.csv").write_text(as_csv(answers), encoding="utf-8", newline="")
    return place


def workbooks(tmp_path: Path, *, questions: Lines = QUESTIONS, answers: Lines = ANSWERS) -> Path:
    place = folder_of(tmp_path)
    for name, lines in (("questions", questions), ("answers", answers)):
        (place / f"{name}.csv").unlink()
        as_xlsx(place / f"{name}.xlsx", lines)
    return place


def placed(findings: Sequence[Finding], severity: str = "error") -> list[tuple[str, int | None, str | None]]:
    return [(Path(one.path).name, one.row, one.column) for one in findings if one.severity == severity]


def edited(lines: Lines, row: int, column: str, cell: Any) -> list[list[Any]]:
    copy = [list(line) for line in lines]
    copy[row - 1][copy[0].index(column)] = cell
    return copy


def lost(cell: str) -> str:
    """What a spreadsheet makes of Amharic when it saves plain CSV."""
    return cell.encode("cp1252", "replace").decode("cp1252")


def all_lost(lines: Lines) -> list[list[str]]:
    return [[lost(cell) for cell in line] for line in lines]
