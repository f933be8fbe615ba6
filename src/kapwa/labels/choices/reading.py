"""Read what validators chose, from filled forms or from a plain table, into one row per person and item.

Three layouts are told apart by their columns:

- the form of :func:`kapwa.labels.choices.sheets.write_choice_form`: ``form_id, item_id, option_1 …, choice``, where
  choice is a position on that sheet or the option's text;
- long: ``item_id, rater, choice``, where choice is the option's text, or its number in canonical order
  (1 = best, 2 … = irrelevant responses in file order), or for a question whose options have letters, its letter;
- wide: ``item_id`` and one column a rater, with the same cells as the long layout.

A form and the long layout may have a column ``remark``, for what people want to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import header_of, sheet_files, short_names
from kapwa.errors import DataError, UsageError, nearest
from kapwa.labels.choices.sheets import CHOICE_KEY, options_of
from kapwa.labels.filled import REMARKS, FilledCell, answer_of, cell_of, read_filled, refuse_repeats, remark_of
from kapwa.languages.same import same_text
from kapwa.records import Item
from kapwa.suites.items import grouped
from kapwa.tables import TextRow, read_sheet, schema_of

# Columns of the wide layout that are not raters.
NOT_RATERS = frozenset(
    ("item_id", "form_id", "variant", "culture", "language", "category", "topic", "cluster", "prompt", *REMARKS)
)
_OPTION = re.compile(r"option_(\d+)")
_REMARKS = schema_of("item_id rater remark")
_SCHEMA = schema_of("item_id rater option:whole path row:whole")


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices by option identity: one row per rater and item, ``option`` null where none was made.

    ``frame`` columns: ``item_id, rater, option`` (0 = best, 1 … = irrelevant in file order), ``path, row``.
    ``remarks``: ``item_id, rater, remark``. ``notes`` says what the reader had to tolerate (sheets nobody filled in,
    ids that lost leading zeros).
    """

    frame: pl.DataFrame
    remarks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_REMARKS))
    notes: tuple[str, ...] = ()


class _Choice(NamedTuple):
    item_id: str
    rater: str
    option: int | None
    cell: FilledCell
    remark: str = ""


class _Key(NamedTuple):
    """What the organiser kept: by form and item, the option at each position."""

    forms: str
    orders: Mapping[tuple[str, str], Mapping[int, int]]
    people: frozenset[str]


class _Items:
    """The items by id, forgiving what spreadsheets do to ids and to line breaks, and nothing else.

    ``some``: these are only some of the items that people chose for; :meth:`find` returns None for the others.
    """

    def __init__(self, items: Sequence[Item], *, some: bool) -> None:
        self.some = some
        self.others: set[str] = set()
        self.by_id: dict[str, Item] = {}
        for item in items:
            if item.id in self.by_id:
                raise UsageError(
                    f"Item {item.id!r} occurs in several variants ({self.by_id[item.id].variant}, {item.variant}).",
                    hint="Choose one with --variant.",
                )
            self.by_id[item.id] = item
        self._bare = grouped(self.by_id, lambda item_id: item_id.lstrip("0"))
        self.restored: set[str] = set()

    def find(self, row: TextRow, path: Path) -> Item | None:
        cell = cell_of(row, path, "item_id")
        written = cell.text
        if written in self.by_id:
            return self.by_id[written]
        # A spreadsheet that took the id for a number dropped its leading zeros.
        candidates = self._bare.get(written, []) if written else []
        if len(candidates) == 1:
            self.restored.add(candidates[0])
            return self.by_id[candidates[0]]
        if written and self.some:
            self.others.add(written)
            return None
        message = f"{written!r} is not an item of this data." if written else "is empty."
        raise cell.error(message, nearest(written, self.by_id))


def read_choices(
    paths: str | Path | Sequence[str | Path],
    items: Sequence[Item],
    *,
    key: str | Path | Sequence[str | Path] | None = None,
    some: bool = False,
) -> Choices:
    """Read filled choice sheets: one file, several, or folders of them (their ``*-key`` files are passed over).

    ``items``: the items of one variant; with ``some``, only some of those that people chose for: the choices for the
    others are passed over, with a note. ``key``: the ``choices-key.csv`` written with the forms, several of them, or
    folders that hold them; without it, positions are resolved by the option texts on the sheet itself. An empty choice
    is missing, and counted.
    Raises DataError naming file, row and column for unknown items, choices that are no option of the item,
    a person choosing twice for an item, a key of other forms or other data, and unreadable files.
    """
    known = _Items(items, some=some)
    answers = _read_keys(sheet_files(key, "choices", keys=True), known) if key is not None else None
    files = sheet_files(paths, "choices")
    choices, notes = read_filled(
        files, lambda path: _read_file(path, known, answers), lambda choice: choice.option is not None
    )
    if not choices:
        raise DataError("no choice is filled in.", path=files[0])
    if known.others:
        choices = [choice for choice in choices if choice.item_id]
        named = ", ".join(sorted(known.others)[:5]) + (", …" if len(known.others) > 5 else "")
        notes.append(f"Choices for items that are not among these are ignored ({len(known.others)}): {named}")
    if not choices:
        hint = f"Items that people chose for: {', '.join(sorted(known.others)[:5])}."
        raise DataError("no choice is for one of these items.", path=files[0], hint=hint)
    if known.restored:
        notes.append(f"{len(known.restored)} item ids had lost their leading zeros; each fits exactly one item.")
    refuse_repeats(((c.rater, c.item_id), c.cell, f"{c.rater} chooses for item {c.item_id!r}") for c in choices)
    names = short_names({choice.rater for choice in choices}, "choice")
    rows = [(c.item_id, names[c.rater], c.option, str(c.cell.path), c.cell.row) for c in choices]
    remarks = [(c.item_id, names[c.rater], c.remark) for c in choices if c.remark]
    return Choices(
        pl.DataFrame(rows, schema=_SCHEMA, orient="row"),
        pl.DataFrame(remarks, schema=_REMARKS, orient="row"),
        tuple(notes),
    )


def _read_file(path: Path, items: _Items, key: _Key | None) -> Iterator[_Choice]:
    rows = read_sheet(path, required=("item_id",))
    header = header_of(rows)
    if "form_id" in header and "choice" in header:
        return (_form_choice(row, path, items, key) for row in rows)
    if "choice" in header:
        if "rater" not in header:
            raise DataError("column 'rater' is missing.", path=path, row=1, hint="Add it, with each person's name.")
        return (_long_choice(row, path, items) for row in rows)
    raters = [name for name in header if name not in NOT_RATERS and not _OPTION.fullmatch(name)]
    if not raters:
        hint = "Use item_id, rater, choice; or item_id and one column for each rater."
        raise DataError("has neither a column 'choice' nor columns named after raters.", path=path, row=1, hint=hint)
    return (
        _plain_choice(items.find(row, path), rater, answer_of(row, path, rater)) for row in rows for rater in raters
    )


def _long_choice(row: TextRow, path: Path, items: _Items) -> _Choice:
    rater = cell_of(row, path, "rater", filled=True, hint="Name who made this choice.")
    choice = _plain_choice(items.find(row, path), rater.text, answer_of(row, path, "choice"))
    return choice._replace(remark=remark_of(row))


def _plain_choice(item: Item | None, rater: str, cell: FilledCell) -> _Choice:
    if item is None:
        return _other(rater, cell)
    options = options_of(item)
    # A question's options are lettered in the order of the file, in which the right one stands anywhere.
    lettered = list(item.fields.get("options") or ())
    hint = f"Write the option's text, or its number: 1 = best, 2 to {len(options)} = irrelevant in file order."
    if lettered:
        hint = f"Write the option's text, or its letter: A to {ascii_uppercase[len(lettered) - 1]}."
    option, number = _by_text(cell.text, options), _number(cell.text)
    letter = ascii_uppercase.find(cell.text.upper()) if len(cell.text) == 1 else -1
    if option is None and 0 <= letter < len(lettered):
        option = options.index(lettered[letter])
    elif option is None and number is not None and 1 <= number <= len(options) and not lettered:
        option = number - 1
    if option is None and cell.text:
        raise cell.error(f"{cell.shown} is not an option of item {item.id!r}.", hint)
    return _Choice(item.id, rater, option, cell)


def _other(rater: str, cell: FilledCell) -> _Choice:
    """A choice for an item that is not among those asked about: whether it was made is all that can be said."""
    return _Choice("", rater, -1 if cell.text else None, cell)


def _form_choice(row: TextRow, path: Path, items: _Items, key: _Key | None) -> _Choice:
    item, cell = items.find(row, path), answer_of(row, path, "choice")
    form_id = cell_of(row, path, "form_id", filled=True, hint="Copy it from the form again.")
    if item is None:
        return _other(form_id.text, cell)
    order = _order_on_sheet(row, path, item) if key is None else _order_in_key(row, path, item, form_id, key)
    number = _number(cell.text)
    option = _by_text(cell.text, options_of(item)) if number is None else order.get(number)
    if option is None and cell.text:
        message = f"{cell.shown if number is None else number} is not an option of this row."
        raise cell.error(message, f"Write a number from 1 to {len(order)}.")
    return _Choice(item.id, form_id.text, option, cell, remark_of(row))


def _shown(row: TextRow) -> dict[int, str]:
    options = ((_OPTION.fullmatch(name), text) for name, text in row.cells.items())
    return {int(match[1]): text for match, text in options if match and text.strip()}


def _order_on_sheet(row: TextRow, path: Path, item: Item) -> dict[int, int]:
    """Map the sheet's positions to options by the texts it shows."""
    order: dict[int, int] = {}
    for position, text in _shown(row).items():
        option = _by_text(text, options_of(item))
        cell = FilledCell(text, path, row.number, f"option_{position}")
        if option is None:
            raise cell.error(
                f"{cell.shown} is not an option of item {item.id!r}.",
                "The text was edited, or the data differs from the form's. Pass the form's key with --key.",
            )
        if option in order.values():
            raise cell.error("shows one option twice.")
        order[position] = option
    return order


def _order_in_key(row: TextRow, path: Path, item: Item, form_id: FilledCell, key: _Key) -> Mapping[int, int]:
    order = key.orders.get((form_id.text, item.id))
    if order is None:
        known = form_id.text in key.people
        lacks = f"has no item {item.id!r} for" if known else "does not know"
        hint = f"The key is for {key.forms}. {nearest(form_id.text, key.people)}"
        raise form_id.error(f"the key {lacks} the form {form_id.text!r}.", hint)
    for position, text in _shown(row).items():
        # An edited text fits no option and the key decides; one that fits another option is a moved cell.
        option = _by_text(text, options_of(item))
        if option is not None and order.get(position) != option:
            hint = "Were cells moved or columns sorted? Copy the row from the form again."
            raise cell_of(row, path, f"option_{position}").error("shows another option than the key says.", hint)
    return order


def _read_keys(paths: Sequence[Path], items: _Items) -> _Key:
    orders: dict[tuple[str, str], dict[int, int]] = {}
    forms = set()
    for path, row in [(file, row) for file in paths for row in read_sheet(file, required=CHOICE_KEY)]:
        item = items.find(row, path)
        if item is None:
            continue
        numbers = []
        for name in ("position", "option"):
            number = _number(row.cells[name].strip())
            if number is None:
                raise cell_of(row, path, name).error(f"{row.cells[name]!r} is not a number.")
            numbers.append(number)
        (position, option), options = numbers, options_of(item)
        if option >= len(options) or same_text(row.cells["text"]) != same_text(options[option]):
            raise cell_of(row, path, "text").error(
                f"item {item.id!r} has no such option in this data.",
                "The data changed after the forms were written; pass the data they were made from.",
            )
        forms.add(row.cells["form"].strip())
        order = orders.setdefault((row.cells["form_id"].strip(), item.id), {})
        if position in order or option in order.values():
            raise cell_of(row, path, "position").error("repeats a position or an option.")
        order[position] = option
    return _Key(", ".join(sorted(forms)), orders, frozenset(form_id for form_id, _ in orders))


def _number(text: str) -> int | None:
    """Read "2", "2.0" (as spreadsheets store it) and digits of any script; None for anything else."""
    match = re.fullmatch(r"(\d{1,6})(?:\.0+)?", text)
    return int(match[1]) if match else None


def _by_text(text: str, options: Sequence[str]) -> int | None:
    if text not in options:
        text, options = same_text(text), [same_text(option) for option in options]
    return options.index(text) if options.count(text) == 1 else None
