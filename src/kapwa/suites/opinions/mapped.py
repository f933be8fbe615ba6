"""Somebody else's table as questions of surveys with people's answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kapwa.datasets.rows import columns_of
from kapwa.errors import DataError, nearest
from kapwa.languages.same import same_text
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.opinions.form import Opinion
from kapwa.tables import written_value

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, LaidRow, MappedRow
    from kapwa.tables import Cell

_LISTS = ("options", "counts", "shares")
# Of a table with a row for each option, or for each person: the option, and how many people chose it.
_ONE_OPTION = ("option", "count", "share", "weight")
_AMOUNT = re.compile(r"(\d{1,9}(\.\d{1,20})?|\.\d{1,20})([eE]-?\d{1,3})?")


def lay_opinions(row: MappedRow, to: Converted) -> None:
    """A question with how people of one culture answered, or those of each (``selections``)."""
    cells = row.cells("question", "question_id")
    by_culture: Any = {cells.get("culture", ""): None}
    if "selections" in cells:
        by_culture = written_value(cells.pop("selections"))
        if "shares" not in row.fields:  # where errors about them stand
            row.fields = row.fields.having({"shares": row.fields["selections"]})
        lists = list(by_culture.values()) if isinstance(by_culture, dict) else []
        if not lists or not all(isinstance(numbers, list) for numbers in lists):
            hint = 'Such as {"Kenya": [0.4, 0.6], "Peru": [0.5, 0.5]}.'
            row.problem("selections", "holds no list of numbers for each culture.", hint)
    if row.has("option"):
        cells |= _chosen(row, cells.get("options", []))
    if row.problems:
        return
    for culture, numbers in by_culture.items():
        shares = {} if numbers is None else {"shares": list(map(str, numbers))}
        to.add("opinions", cells | shares | ({"culture": str(culture)} if culture else {}), row)


def _chosen(row: MappedRow, options: Sequence[str]) -> dict[str, str]:
    """The one option that a row is about, and how many people chose it: one, unless a column says."""
    if not row.has("question_id"):
        row.problem("question_id", "is missing.", "Rows of one option each name the question that they belong to.")
    option = row.needed("option")
    if options and option not in options:
        row.problem("option", f"{option!r} is not one of the question's options.", nearest(option, options))
    amounts = {name: row.needed(name) for name in _ONE_OPTION[1:] if row.has(name)}
    if len(amounts) > 1:
        row.problem(next(iter(amounts)), f"is one of {' and '.join(amounts)}.", "Map one of them.")
    for name, amount in amounts.items():
        if amount and not _AMOUNT.fullmatch(amount):
            row.problem(name, f"{amount[:40]!r} is not a number of people, or a share.", "Such as 12, or 0.25.")
    return {"option": option, **amounts}


def lay_together(converted: Converted, bad_row: Callable[[DataError], None]) -> None:
    """Let rows of one text and options be one question where no column names questions; then add up rows of options."""
    rows = converted.tables.get("opinions", [])
    first: dict[tuple[str, ...], str] = {}
    for index, row in enumerate(rows):
        if "question_id" in row.fields:
            break
        texts = row.cells.get("options", ())
        options = (texts,) if isinstance(texts, str) else texts
        asks = (same_text(str(row.cells.get("question", ""))), *map(same_text, options))
        own_id = first.setdefault(asks, str(row.cells["question_id"]))
        rows[index] = row._replace(cells={**row.cells, "question_id": own_id})
    if rows and first and len(first) < len(rows):
        message = (
            f"no column names the questions: rows with the same question and options are taken as one, "
            f"{len(rows):,} rows as {len(first):,} question{'s' * (len(first) != 1)}"
        )
        converted.oddities.append(rows[0].origin.finding("note", message))
    add_up(converted, bad_row)


def add_up(converted: Converted, bad_row: Callable[[DataError], None]) -> None:
    """Put rows of one option each together: one row a question and culture, with the number of every option.

    Options stand in the order that a row names under ``options``, in its language; where none are named, in that in
    which they first come, and a question has one language. Counts, or rows of one person each, are counts of people;
    weights are shares of as many people as tell as much as those who were asked (Kish's effective sample size, rounded
    down).
    """
    rows = converted.tables.get("opinions", [])
    if not any("option" in row.cells for row in rows):
        return
    named: dict[str, dict[str, None]] = {}
    languages: dict[str, str] = {}
    groups: dict[tuple[str, str], list[LaidRow]] = {}
    for row in rows:
        question = str(row.cells["question_id"])
        language = str(row.cells.get("language", ""))
        if "option" not in row.cells:
            bad_row(row.origin.problem("is missing.", "option", "Every row is about one option."))
            continue
        if "options" not in row.cells and languages.setdefault(question, language) != language:
            hint = "Map 'options', all of them in the row's language, so that cultures are compared option by option."
            bad_row(row.origin.problem(f"{question!r} is in several languages.", "language", hint))
            continue
        named.setdefault(question, {})[str(row.cells["option"])] = None
        groups.setdefault((question, str(row.cells.get("culture", ""))), []).append(row)
    added = (_added_up(group, list(named[key[0]]), bad_row) for key, group in groups.items())
    converted.tables["opinions"] = list(added)


def _added_up(rows: Sequence[LaidRow], named: Sequence[str], bad_row: Callable[[DataError], None]) -> LaidRow:
    """One row of a question and culture for those of its options, or of its people."""
    first = rows[0]
    kind = next((name for name in _ONE_OPTION[1:] if name in first.cells), "count")
    options = first.cells.get("options", named)
    totals = dict.fromkeys(options, 0.0)
    squares = 0.0
    for row in rows:
        option = str(row.cells["option"])
        if option not in totals or (kind == "share" and totals[option]):
            message = "has a share already." if option in totals else "is no option in the first row of this question."
            bad_row(row.origin.problem(f"{option!r} {message}", "option", "Keep one of the rows."))
            continue
        amount = float(str(row.cells.get(kind, "1")))
        totals[option] += amount
        squares += amount**2
    whole = sum(totals.values())
    cells: dict[str, Cell] = {name: cell for name, cell in first.cells.items() if name not in _ONE_OPTION}
    cells["options"] = tuple(totals)
    if kind == "count" and all(total.is_integer() for total in totals.values()):
        cells["counts"] = tuple(f"{total:.0f}" for total in totals.values())
    else:
        of = whole if kind == "weight" and whole else 1.0
        cells["shares"] = tuple(f"{total / of:.12f}" for total in totals.values())
    if kind == "weight" and squares:
        cells["people"] = str(int(whole**2 / squares + 1e-9))
    amounts = first.fields.get(kind) or first.fields.get("option")
    columns = dict.fromkeys(("counts", "shares", "people"), amounts) if amounts else {}  # where errors about them stand
    return first._replace(cells=cells, fields={**columns, **first.fields})


SURVEY = MappedForm(
    # "selections" holds the numbers of every culture, by its name.
    fields=(*columns_of(Opinion), "selections", "locale", *_ONE_OPTION),
    needed=(("question",), ("options", "option"), ("counts", "shares", "selections", "option")),
    lists=_LISTS,
    numbers=_LISTS,
    lay=lay_opinions,
    finish=lay_together,
)
