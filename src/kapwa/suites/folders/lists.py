"""Cells of somebody else's table that seem to list several texts, and are read as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapwa.datasets.findings import Finding
from kapwa.datasets.rows import Origin
from kapwa.suites.folders.mapping import JSON_LIST, ColumnMapping
from kapwa.suites.folders.reading import RowFields

# Signs that separate texts, and the longest text beside one: sentences contain commas of their own.
_SIGNS = ("|", " / ", ";", "、", "،", ",", "/")
_LONGEST = 40
# A single cell may hold a sign by chance.
_FEWEST_CELLS = 3


def separators_missed(mapping: ColumnMapping, rows: Sequence[tuple[Origin, RowFields]]) -> Iterator[Finding]:
    """Yield a warning for each list of which most cells hold a sign between short texts, but not the mapping's own.

    A cell like "sinangag / pandesal" would be one answer, which no model gives.
    """
    for name in mapping.to.lists:
        sign = mapping.separators.get(name, ";")
        if name in (*mapping.to.numbers, "answer") or sign == JSON_LIST:
            continue
        cells = [(origin, cell.strip()) for origin, fields in rows if isinstance(cell := fields.cell(name), str)]
        whole = [(origin, cell) for origin, cell in cells if cell and cell[0] not in "[{" and sign not in cell]
        separator = next((other for other in _SIGNS if _parts_most(other, whole, len(cells))), "")
        if separator:
            origin, cell = next(each for each in whole if _is_list(each[1], separator))
            first = rows[[origin for origin, _ in rows].index(origin)][1][name]
            message = (
                f"most cells hold {separator!r}, such as {cell[:_LONGEST]!r}, and each is read as one text: if it "
            )
            message += f"separates texts, write 'separators: {{{name}: \"{separator}\"}}' into the mapping"
            yield first.origin.finding("warning", message, first.column)


def _parts_most(sign: str, cells: Sequence[tuple[Origin, str]], all_cells: int) -> bool:
    listed = sum(_is_list(cell, sign) for _, cell in cells)
    return listed >= _FEWEST_CELLS and 2 * listed > all_cells


def _is_list(cell: str, sign: str) -> bool:
    """Whether a cell is several short texts with a sign between them, and no date or fraction such as 12/25."""
    parts = [part.strip() for part in cell.split(sign)]
    return len(parts) > 1 and all(part and len(part) <= _LONGEST and not part[0].isdigit() for part in parts)
