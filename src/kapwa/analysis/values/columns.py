"""Which columns of a survey table name the countries, which hold answers, and which are neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.analysis.values.cells import Commas, is_missing
from kapwa.errors import DataError, UsageError, nearest
from kapwa.suites.eecc.names import Ambiguous, Place, fold, resolve
from kapwa.suites.reading.tables import Record

# Half of a column's cells: below, what resolves does so by chance (a language column names many nationalities).
_NAMES_PLACES = 0.5
_AGREES = 0.95
_NUMERIC_CODES = 0.9
_DEMONYM_HEADERS = frozenset(("demonym", "nationality", "adjective", "identity", "citizenship"))
_CODE_HEADERS = ("iso", "code", "numeric", "country", "cntry", "ccode", "s003")

Cells = Mapping[str, Sequence[str]]


class Columns(NamedTuple):
    """What each column of a survey table is.

    ``labels`` name the row, the one that decides first; ``demonym`` is the one holding words for people ("" where
    none does); ``questions`` hold numbers; ``rejected`` name places, but other ones than the first label does;
    ``empty`` hold nothing, ``text`` is everything else.
    """

    labels: tuple[str, ...]
    demonym: str
    questions: tuple[str, ...]
    rejected: Mapping[str, str]
    text: tuple[str, ...]
    empty: tuple[str, ...]


def find_columns(path: Path, cells: Cells, commas: Commas, country: str | None) -> Columns:
    """Say what each column is; ``country`` names the column of countries where detection would be wrong.

    Raises DataError when no column names the rows, UsageError when ``country`` is not a column.
    """
    if country is not None and country not in cells:
        raise UsageError(f"{path} has no column {country!r}.", hint=nearest(country, cells))
    texts = [name for name in cells if _is_text(cells[name], commas)]
    first = country or _best_label(cells, texts)
    if first is None:
        first = _only_label(path, cells, texts)
    labels, rejected = [first], {}
    for name in texts:
        if name == first or _share_of_places(cells[name]) < _NAMES_PLACES:
            continue
        same, both = _agreement(cells[first], cells[name])
        if both and same < _AGREES * both:
            rejected[name] = f"names another place than {first!r} in {both - same} of {both} rows"
        else:
            labels.append(name)
    empty = tuple(name for name in cells if name not in labels and all(map(is_missing, cells[name])))
    named = {*labels, *rejected, *texts, *empty}
    questions = tuple(name for name in cells if name not in named)
    demonym = next((name for name in labels if fold(name) in _DEMONYM_HEADERS), "") or next(
        (name for name in labels if _holds_demonyms(cells[name])), ""
    )
    text = tuple(name for name in texts if name not in labels and name not in rejected)
    return Columns(tuple(labels), demonym, questions, rejected, text, empty)


def column_cells(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the table by columns, in file order; what a row does not have is ""."""
    names = dict.fromkeys(name for record in records for name in record.cells)
    return {name: [cell_text(record, name) for record in records] for name in names}


def cell_text(record: Record, column: str) -> str:
    """Return a cell as one text; a list is never a value, and reads as its parts."""
    cell = record.cells.get(column, "")
    return cell if isinstance(cell, str) else " | ".join(cell)


def _is_text(column: Sequence[str], commas: Commas) -> bool:
    known = [cell for cell in column if not is_missing(cell)]
    return bool(known) and 2 * sum(commas.number(cell) is not None for cell in known) < len(known)


def _share_of_places(column: Sequence[str]) -> float:
    distinct = {cell.strip() for cell in column} - {""}
    return sum(resolve(cell) is not None for cell in distinct) / max(len(distinct), 1)


def _best_label(cells: Cells, texts: Sequence[str]) -> str | None:
    """The text column in which most cells name one place; else a column of ISO numbers that says so in its name."""
    certain = {name: sum(isinstance(resolve(cell), Place) for cell in cells[name]) for name in texts}
    fit = [name for name in texts if _share_of_places(cells[name]) >= _NAMES_PLACES]
    if fit:
        # "country" before "ctr" where both name as many: names can be read by people, codes of other lists cannot.
        return max(fit, key=lambda name: (certain[name], "country" in fold(name), -texts.index(name)))
    for name in cells:
        named = any(part in fold(name).replace(" ", "") for part in _CODE_HEADERS)
        if named and name not in texts and _share_of_places(cells[name]) >= _NUMERIC_CODES:
            return name
    return None


def _only_label(path: Path, cells: Cells, texts: Sequence[str]) -> str:
    """The one text column of a table whose rows are no countries (religions, languages, cities)."""
    if len(texts) == 1:
        return texts[0]
    shown = ", ".join(repr(name) for name in list(cells)[:8])
    raise DataError(
        "has no column of countries, nationalities or ISO codes.",
        path=path,
        row=1,
        hint=f"Columns: {shown}{', …' if len(cells) > 8 else ''}. One of them must name the row; numbers are answers.",
    )


def _agreement(first: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Rows in which both columns may name the same place, and rows in which both name any."""
    same = both = 0
    for a, b in zip(map(resolve, first), map(resolve, other), strict=True):
        if a is not None and b is not None:
            both += 1
            same += not candidates(a).isdisjoint(candidates(b))
    return same, both


def candidates(found: Place | Ambiguous | None) -> set[Place]:
    """Return the places a name may mean."""
    if found is None:
        return set()
    return {found} if isinstance(found, Place) else set(found.candidates)


def _holds_demonyms(column: Sequence[str]) -> bool:
    found = [(fold(cell), next(iter(candidates(resolve(cell))))) for cell in column if resolve(cell) is not None]
    return 2 * sum(fold(place.identity) == name for name, place in found) > len(found)
