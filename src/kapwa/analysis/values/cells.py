"""Numbers as survey tables write them: missing marks, decimal commas, thousands, and what is no number at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

_MISSING = frozenset(
    ("", "#null!", "na", "n/a", "n.a.", "#n/a", "nan", "<na>", "null", "none", "missing", ".", "..", "-", "--", "?")
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_ONE_COMMA = re.compile(r"[+-]?\d*,\d+(?:e[+-]?\d+)?", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_DOTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Typographers' minus and dashes mean what "-" does; spaces inside a number group its thousands.
_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "\u00a0": "", "\u202f": "", "\u2009": ""})


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, "#NULL!", "NA", "..", "-" and their kind."""
    if cell[:1].isdigit():  # nearly every cell; tables of people have millions
        return False
    return cell.strip().translate(_SIGNS).casefold() in _MISSING


@dataclass(frozen=True, slots=True)
class Commas:
    """How a file writes commas inside numbers: as the decimal sign, or between thousands.

    ``certain`` is False when every comma could be either ("1,234" in a file that has no "1,5" and no "1.5").
    """

    decimal: bool
    certain: bool = True

    def number(self, cell: str) -> float | None:
        """Return the number in ``cell``; None when it is not a finite one. Missing cells are not numbers."""
        if len(cell) < 16 and cell.isdecimal():  # most cells of tables of people
            return float(cell)
        text = cell.strip().translate(_SIGNS)
        if self.decimal:
            if _GROUPED_DOTS.fullmatch(text):
                text = text.replace(".", "")
            text = text.replace(",", ".") if text.count(",") == 1 else text
        elif _GROUPED.fullmatch(text):
            text = text.replace(",", "")
        if not _is_number(text):
            return None
        value = float(text)
        return value if math.isfinite(value) else None


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def commas_of(cells: Iterable[str], *, semicolons: bool = False) -> Commas:
    """Decide how a file writes commas from all its cells.

    "1,5" or "0,1234" shows a decimal comma, "1.5" beside "1,234" commas between thousands. Where nothing shows it,
    cells parted by semicolons (``semicolons``) speak for decimal commas, for that is why spreadsheets part them so.
    """
    grouped = point = False
    for cell in cells:
        if "," not in cell and (point or "." not in cell):
            continue
        text = cell.strip().translate(_SIGNS)
        if _GROUPED_DOTS.fullmatch(text) or (_ONE_COMMA.fullmatch(text) and not _GROUPED.fullmatch(text)):
            return Commas(decimal=True)
        groups = _GROUPED.fullmatch(text) is not None
        grouped = grouped or groups
        point = point or (groups and text.count(",") > 1) or ("." in text and (groups or _is_number(text)))
    if not grouped or point:
        return Commas(decimal=False)
    return Commas(decimal=semicolons, certain=False)
