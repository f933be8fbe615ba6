"""Find texts whose letters were lost when a table was saved: a spreadsheet wrote "?" for each it had no code for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError
from kapwa.suites.base import Finding
from kapwa.suites.reading.scripts import has_script, scripts_of
from kapwa.suites.reading.tables import Cell, Record

_RUN = re.compile(r"\?{2}")
_IN_A_WORD = re.compile(r"[^\W\d_]\?+[^\W\d_]")
_LETTER = re.compile(r"[^\W\d_]")
REMEDY = "Save the table as 'CSV UTF-8' (or XLSX) from where its letters are still there."


class Written(NamedTuple):
    """A cell and the language it should be in ("" where nobody says).

    ``prose``: the text is one that must be written in that language, not a name or a number that may be in another.
    """

    path: Path
    row: int
    column: str
    language: str
    text: str
    prose: bool


class Lost(NamedTuple):
    """Columns that hold no language any more, which stop a run, and single odd cells, which do not."""

    problems: list[DataError]
    oddities: list[Finding]


def written(path: Path, record: Record, columns: Iterable[str], language: str, *, prose: bool = True) -> list[Written]:
    """Take a row's cells as texts of ``language``; empty ones and absent columns are left out."""
    cells = {column: _joined(record.cells.get(column, "")) for column in columns}
    return [Written(path, record.row, column, language, text, prose) for column, text in cells.items() if text.strip()]


def _joined(cell: Cell) -> str:
    return cell if isinstance(cell, str) else ";".join(cell)


def is_lost(text: str, language: str) -> bool:
    """Whether a text's letters seem lost: "?" where each was, and none left of the language's script."""
    scripts = scripts_of(language)
    if not _LETTER.search(text):
        return bool(_RUN.search(text)) or text.strip() == "?"
    return bool(scripts and _RUN.search(text) and not has_script(text, scripts))


def lost_letters(cells: Iterable[Written]) -> Lost:
    """Judge a table's texts: an error for a column most of whose cells are lost, else a warning for each odd cell.

    Only a language with a script of its own makes an error of it: its text cannot do without the letters that no
    Western code page has.
    """
    columns: defaultdict[tuple[Path, str, str], list[Written]] = defaultdict(list)
    for cell in cells:
        columns[cell.path, cell.column, cell.language].append(cell)
    found = Lost([], [])
    for (path, column, language), own in columns.items():
        lost = [cell for cell in own if is_lost(cell.text, language)]
        if scripts_of(language) and 2 * len(lost) > len(own):
            message = (
                f"holds '?' where its letters were, and so do {len(lost)} of {len(own)} cells of the column: "
                f"the table was saved in a code without the letters of {language!r}."
            )
            found.problems.append(DataError(message, path=path, row=lost[0].row, column=column, hint=REMEDY))
        else:
            found.oddities.extend(_oddities(own))
    return found


def _oddities(cells: Sequence[Written]) -> Iterable[Finding]:
    for cell in cells:
        scripts = scripts_of(cell.language)
        message = ""
        inside = None if "://" in cell.text else _IN_A_WORD.search(cell.text)
        if is_lost(cell.text, cell.language):
            message = f"holds '?' where letters should be. {REMEDY}"
        elif inside:
            message = f"'?' stands inside a word ({inside[0]!r}): a letter may be lost. {REMEDY}"
        elif cell.prose and scripts and not has_script(cell.text, scripts):
            names = " or ".join(scripts).replace("_", " ")
            message = f"holds no letter of the {names} script, though the language is {cell.language!r}"
        if message:
            yield Finding("warning", str(cell.path), message, cell.row, cell.column)
