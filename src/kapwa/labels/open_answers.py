"""How far people agree in what they answered in their own words, where nothing says which answer is right (BLEnD).

A table has a row a person and item: ``item_id, rater, answer``; an empty answer is none. Answers agree when they are
the same text, so they are merged first: what the studio exports stands under the head of each group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kapwa.datasets.sheets import header_of, sheet_files
from kapwa.errors import DataError
from kapwa.labels.agreement import SCHEMA, Result, agreement_rows
from kapwa.labels.filled import cell_of, refuse_repeats
from kapwa.stats.agreement import Coefficient
from kapwa.tables import read_sheet
from kapwa.value_types import Keywords

# Corrected for chance, and without asking who gave an answer.
CORRECTED: tuple[Coefficient, ...] = ("fleiss", "krippendorff-nominal")
# Different answers, and cells of answers by item and person, beyond which these would fill the memory.
MOST_TEXTS, MOST_CELLS = 5000, 200_000_000
# Answers by item and person.
Given = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class AnswerAgreement(Result):
    """How far people agree; ``agreement``: ``coefficient, value, low, high, units, raters, note``.

    ``units`` are items that at least two people answered. ``items`` and ``people``: with any answer.
    """

    agreement: pl.DataFrame
    items: int
    people: int


def holds_answers(paths: Sequence[Path]) -> bool:
    """Whether the first file is a table of answers, rather than of choices."""
    header = header_of(read_sheet(sheet_files(paths, "choices")[0]))
    return "answer" in header and "choice" not in header


def answer_agreement(paths: str | Path | Sequence[str | Path], *, seed: int = 1) -> AnswerAgreement:
    """Read tables of answers and say how far people agree: what ``kapwa label agree`` does with such tables.

    Raises DataError naming file, row and column for a missing column, an empty id or name, somebody who answers an item
    twice, and where nobody answers anything.
    """
    return agreement_of(read_answers(paths), seed=seed)


def read_answers(paths: str | Path | Sequence[str | Path]) -> dict[str, dict[str, str]]:
    """Return answers by item and person, empty ones left out; raise DataError as :func:`answer_agreement` does."""
    answers_by_item: dict[str, dict[str, str]] = {}
    entries = []
    files = sheet_files(paths, "choices")
    for path in files:
        for row in read_sheet(path, required=("item_id", "rater", "answer")):
            item, rater = (cell_of(row, path, name, filled=True).text for name in ("item_id", "rater"))
            answer = cell_of(row, path, "answer")
            entries.append(((item, rater), answer, f"{rater} answers {item!r}"))
            if answer.text:
                answers_by_item.setdefault(item, {})[rater] = answer.text
    refuse_repeats(entries)
    if not answers_by_item:
        raise DataError("nobody answers anything.", path=files[0], column="answer")
    return answers_by_item


def agreement_of(by_item: Given, *, seed: int = 1, replicates: int = 2000) -> AnswerAgreement:
    """Return percent agreement, Fleiss' κ and Krippendorff's α over items, with bootstrap intervals over items.

    Percent agreement is the share of pairs of people who give the same answer to an item, averaged over items. Chance
    is that two answers drawn from those to all items are the same, so it is near 0 where items differ.
    """
    lines = [list(answers.values()) for answers in by_item.values()]
    people = len({rater for answers in by_item.values() for rater in answers})
    widest = max(map(len, lines), default=0)
    # Who gave an answer does not matter here, so a column is a place, not a person.
    table = [[*line, *[None] * (widest - len(line))] for line in lines]
    # For percent agreement it is enough to tell the answers to one item apart.
    apart = [[None if answer is None else line.index(answer) for answer in line] for line in table]
    settings: Keywords = {"seed": seed, "replicates": replicates}
    rows = agreement_rows(apart, list(by_item), coefficients=("percent",), **settings)
    texts = len({text for line in lines for text in line})
    if texts <= MOST_TEXTS and texts * len(lines) * widest <= MOST_CELLS:
        rows += agreement_rows(table, list(by_item), coefficients=CORRECTED, **settings)
    else:
        note = f"not computed for {texts:,} different answers by so many people, which fill the memory"
        empty = dict.fromkeys(("value", "low", "high", "units"))
        rows += [{"coefficient": name, **empty, "note": note} for name in CORRECTED]
    agreement = pl.DataFrame([{**row, "raters": people} for row in rows], schema=SCHEMA)
    return AnswerAgreement(agreement, len(lines), people)
