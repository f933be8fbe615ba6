"""Tables with columns of any name: guess which column is which, and rearrange rows into the columns of a form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from kapwa.errors import DataError
from kapwa.tables import Cell, Record, TextTable, rearm, words_for
from kapwa.value_types import JsonObject

# How the cells of a column look: short, without spaces and all different; short and often repeated; English; longer.
CODE, LABEL, ENGLISH, TEXT = "code", "label", "english", "text"
# The prefix of ids that are computed from the texts of a row.
MADE = "#"
_SHORT, _LONG = 60, 12  # characters
_SAME_NAME = 88.0  # percent of equal letters
_ENGLISH_WORD = re.compile(r"\b(?:the|is|are|what|which|how|when|where|who|you|your|of|to)\b", re.IGNORECASE)
# Codes of languages and countries, such as "es" and "es-MX", which are often repeated, but are not topics.
_LOCALE = re.compile(r"[a-z]{2}|[a-z]{2,3}(?:[-_][A-Z][a-z]{3})?[-_](?:[A-Z]{2}|\d{3})")
_PATH = re.compile(r"[/.]\s*")
# Numbers, dates and single letters are not topics either.
_FIGURES = re.compile(r"[\d\s.,:/%+-]+|\w")
_BULLET = re.compile(r"^\s*(?:[-–•*]|\(?\d{1,2}[.)])\s+")


class FormColumn(NamedTuple):
    """A column that a table of a form may have.

    ``words``: other names for it. ``look``: how its cells look, by which it is guessed where no name matches ("":
    never). ``many``: a cell has several texts, which may also be in separate columns. ``needed``: the table cannot be
    read without it. ``usual``: the default for empty cells, where people may give one value for all rows.
    """

    name: str
    words: Sequence[str] = ()
    look: str = ""
    many: bool = False
    needed: bool = False
    usual: str | None = None


def guess(table: TextTable, columns: Sequence[FormColumn]) -> dict[str, str]:
    """Return which of ``columns`` the columns of a table seem to be, by their names, then by the look of their cells.

    Several of them may be one column with ``many`` texts. A column that is none of ``columns`` is left out.
    """
    known = names_of(columns)
    many = {column.name for column in columns if column.many}
    chosen: dict[str, str] = {}
    for heading in table.header:
        name = named_by(heading, known)
        if name in many or (name and name not in chosen.values()):
            chosen[heading] = name
    looks = {
        heading: _look(text_of(cells.get(heading, "")) for _row, cells in table.records) for heading in table.header
    }
    lists = {heading for _row, cells in table.records for heading, cell in cells.items() if isinstance(cell, tuple)}
    for column in columns:
        free = [heading for heading in looks if heading not in chosen and (column.many or heading not in lists)]
        alike = [heading for heading in free if looks[heading][0] == column.look]
        if alike and column.name not in chosen.values():
            chosen[max(alike, key=lambda heading: looks[heading][1])] = column.name
    return chosen


def named_by(heading: str, known: Mapping[str, str]) -> str:
    """Return which column a heading names, also where its spelling differs a little; "" if none of ``known``."""
    from rapidfuzz import fuzz, process

    # "group1/question" of KoboToolbox, "G01Q01. Question" of LimeSurvey, "data.question" of a path into JSON.
    for name in dict.fromkeys((heading, _PATH.split(heading.strip("/. "))[-1])):
        match = process.extractOne(_plain(name), list(known), scorer=fuzz.ratio, score_cutoff=_SAME_NAME)
        if match:
            return known[match[0]]
    return ""


def names_of(columns: Sequence[FormColumn]) -> dict[str, str]:
    """Return the names of columns by all names that they may have, in lower case."""
    known = {_plain(column.name): column.name for column in columns}
    for column in columns:
        for word in (*column.words, *words_for(column.name)):
            known.setdefault(_plain(word), column.name)
    return known


def _plain(heading: str) -> str:
    """Return a heading's words without numbers, so that "Response 2" is a response."""
    return " ".join(re.sub(r"[\W\d_]+", " ", heading.casefold()).split())


def text_of(cell: Cell) -> str:
    """Return a cell as one text."""
    return cell if isinstance(cell, str) else "; ".join(cell)


def _look(cells: Iterable[str]) -> tuple[str, float]:
    """Return how cells look, and how long they are: of two columns with the same look, the longer is likelier."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if all(map(_LOCALE.fullmatch, filled)):
        return "-", 0.0
    figures = all(map(_FIGURES.fullmatch, filled))
    size, different = sum(map(len, filled)) / len(filled), len(set(filled))
    if 1 < different == len(filled) and size <= _SHORT and not any(" " in cell for cell in filled):
        return CODE, -size
    if 2 * different <= len(filled) and size <= _SHORT and not figures:
        return LABEL, size
    if 2 * sum(bool(_ENGLISH_WORD.search(cell)) for cell in filled) > len(filled):
        return ENGLISH, size
    return (TEXT if size >= _LONG else "-"), size


def laid_out(
    table: TextTable, chosen: Mapping[str, str], columns: Sequence[FormColumn], usual: Mapping[str, str]
) -> TextTable:
    """Return a table in the columns of a form; what cannot be read, and repeated rows, are reported as problems.

    ``chosen``: which column of the form each column of the table is; the texts of several that are one are joined.
    ``usual``: defaults for empty cells. Where ``columns`` have an id, rows without one get an id computed from their
    texts, so that the same row in another file gets the same id.
    """
    many = {column.name for column in columns if column.many}
    has_ids = any(column.name == "id" for column in columns)
    rows: dict[str, int] = {}
    records, problems = [], list(table.problems)
    for row, cells in table.records:
        laid: JsonObject = {}
        for heading, name in chosen.items():
            cell = cells.get(heading, "")
            if name in many:
                laid[name] = (*laid.get(name, ()), *_texts_of(cell))
            elif text := rearm(text_of(cell)).strip():
                laid[name] = f"{laid[name]}\n{text}" if name in laid else text
        if not any(laid.values()):
            continue
        if has_ids and not laid.get("id"):
            laid["id"] = MADE + blake2b(json.dumps(laid).encode(), digest_size=8).hexdigest()
        key = laid.get("id", "")
        if key.startswith(MADE) and rows.setdefault(key, row) != row:
            message = f"is the same as row {rows[key]}."
            problems.append(DataError(message, path=table.path, row=row, hint="It is taken once."))
        else:
            records.append(Record(row, {name: text for name, text in usual.items() if text} | laid))
    header = dict.fromkeys([*chosen.values(), *usual, *(["id"] if has_ids else [])])
    return TextTable(table.path, tuple(header), records, problems)


def _texts_of(cell: Cell) -> tuple[str, ...]:
    """Return the texts of a cell, split at semicolons or else at lines, without bullets and numbers before them."""
    pieces = cell
    if isinstance(cell, str):
        pieces = tuple(rearm(cell).split(";" if ";" in cell else "\n"))
    return tuple(text for piece in pieces if (text := _BULLET.sub("", piece).strip()))
