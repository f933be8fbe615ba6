"""Texts whose letters were lost when their table was saved: "?" for letters, or another script than expected."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kapwa.datasets.findings import Finding
from kapwa.errors import DataError
from kapwa.languages.codes import has_script, scripts_of

_RUN = re.compile(r"\?{2}")
_IN_A_WORD = re.compile(r"[^\W\d_]\?+[^\W\d_]")
_LETTER = re.compile(r"[^\W\d_]")
_LOST = "Save the table as 'CSV UTF-8' (or XLSX) from a copy that still has its letters."


class WrittenText(NamedTuple):
    """A cell and the language it should be in ("" where this is unknown).

    ``prose``: the text must be written in that language; it is not a name or a number that may be in another.
    """

    path: Path
    row: int
    column: str
    language: str
    text: str
    prose: bool


def find_lost_letters(cells: Iterable[WrittenText]) -> tuple[list[DataError], list[Finding]]:
    """Check a table's texts: an error for a column with most of its cells lost, else a warning for each odd cell.

    There is an error only for languages with a script of their own, as their texts need letters that no Western code
    page has.
    """
    problems: list[DataError] = []
    oddities: list[Finding] = []
    columns: defaultdict[tuple[Path, str, str], list[WrittenText]] = defaultdict(list)
    for cell in cells:
        columns[cell.path, cell.column, cell.language].append(cell)
    for (path, column, language), written in columns.items():
        scripts = scripts_of(language)
        if not scripts and not any("?" in cell.text for cell in written):
            continue
        lost = [_has_lost_letters(cell.text, scripts) for cell in written]
        if scripts and 2 * sum(lost) > len(written):
            message = (
                f"holds '?' where its letters were, and so do {sum(lost)} of {len(written)} cells of the column: "
                f"the table was saved in an encoding without the letters of {language!r}."
            )
            row = written[lost.index(True)].row
            problems.append(DataError(message, path=path, row=row, column=column, hint=_LOST))
            continue
        for cell, gone in zip(written, lost, strict=True):
            inside = None if "?" not in cell.text or "://" in cell.text else _IN_A_WORD.search(cell.text)
            if gone:
                message = f"holds '?' where letters should be. {_LOST}"
            elif inside:
                message = f"'?' is inside a word ({inside[0]!r}): a letter may be lost. {_LOST}"
            elif cell.prose and scripts and not has_script(cell.text, scripts):
                names = " or ".join(scripts).replace("_", " ")
                message = f"holds no letter of the {names} script, though the language is {cell.language!r}"
            else:
                continue
            oddities.append(Finding("warning", str(path), message, cell.row, column))
    return problems, oddities


def _has_lost_letters(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether a text has "?" instead of letters: several, or one alone, and no letter of the language's script."""
    several = _RUN.search(text) is not None
    if "?" in text and _LETTER.search(text):
        return several and bool(scripts) and not has_script(text, scripts)
    return several or text.strip() == "?"
