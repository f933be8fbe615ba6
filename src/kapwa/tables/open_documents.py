"""The sheets of an ODS workbook (OpenDocument, as LibreOffice writes it), row by row.

Kapwa reads them itself: python-calamine, the well maintained reader, leaves out formula errors, line breaks and merged
cells, which are common in tables that people made.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")
_NOTES = (f"{_OFFICE}annotation", f"{_OFFICE}annotation-end")
# A row that is repeated this often is the empty, coloured rest of a sheet, not a table.
_MOST_REPEATED = 1_000_000


class OpenRow(NamedTuple):
    """A row of a sheet: the sheet's index and name, the row's number from 1, its values, and its merged ranges.

    Each sheet begins with a row without cells whose ``number`` is 0. ``merged``: for each merged range its first
    column, its last one, and its last row, all from 1. ``hidden``: the row is not displayed, for instance because of a
    filter.
    """

    sheet_index: int
    sheet: str
    number: int
    values: list[object]
    merged: list[tuple[int, int, int]]
    hidden: bool = False


def open_document_rows(path: Path) -> Iterator[OpenRow]:
    """Yield the rows of all sheets that hold a value, in their order.

    Texts, numbers as they are stored, dates, times and truth values; a formula's error is the text that it shows.
    Raises the errors of zipfile and ElementTree where the file is not a workbook.
    """
    sheet_index = -1
    number = 0
    name = ""
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        _refuse_entities(archive)
        for event, element in ElementTree.iterparse(file, events=("start", "end")):  # noqa: S314 - see above
            if event == "start" and element.tag == f"{_TABLE}table":
                sheet_index += 1
                number = 0
                name = element.get(f"{_TABLE}name", "")
                yield OpenRow(sheet_index, name, 0, [], [])
            elif event == "end" and element.tag == f"{_TABLE}table-row":
                values, merged = _values(element, number + 1)
                hidden = element.get(f"{_TABLE}visibility", "visible") != "visible"
                repeated = min(int(element.get(f"{_TABLE}number-rows-repeated", "1")), _MOST_REPEATED)
                for repeat in range(repeated if values else 0):
                    ranges = merged if repeat == 0 else []
                    yield OpenRow(sheet_index, name, number + 1 + repeat, list(values), ranges, hidden)
                number += repeated
                element.clear()


def _refuse_entities(archive: zipfile.ZipFile) -> None:
    """Raise ValueError for content that declares entities, with which a small file could fill the memory.

    No program writes such files. XML in another encoding than UTF-8, which could hide entities, is refused, too.
    """
    rest = b""
    with archive.open("content.xml") as file:
        while chunk := file.read(1 << 20):
            if b"<!DOCTYPE" in rest + chunk or b"<!ENTITY" in rest + chunk or b"\0" in chunk:
                raise ValueError("entities are declared")
            rest = chunk[-16:]


def _values(row: ElementTree.Element, number: int) -> tuple[list[object], list[tuple[int, int, int]]]:
    """Return the values of a row up to its last filled cell, and its merged ranges."""
    values: list[object] = []
    merged: list[tuple[int, int, int]] = []
    column = 1
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        repeated = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
        # Cells covered by a merged cell are not displayed.
        value = _value(cell) if cell.tag == f"{_TABLE}table-cell" else None
        if value is not None:
            values += [None] * (column - 1 - len(values)) + [value] * min(repeated, _MOST_REPEATED)
        wide, high = (int(cell.get(f"{_TABLE}number-{what}-spanned", "1")) for what in ("columns", "rows"))
        if wide > 1 or high > 1:
            merged.append((column, column + wide - 1, number + high - 1))
        column += repeated
    return values, merged


def _value(cell: ElementTree.Element) -> object:
    """Return what a cell holds; None where it is empty."""
    kind = cell.get(f"{_OFFICE}value-type", "")
    if kind in ("float", "percentage", "currency"):
        return cell.get(f"{_OFFICE}value")
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind == "date":
        return _date(cell.get(f"{_OFFICE}date-value", ""))
    if kind == "time":
        return _time(cell.get(f"{_OFFICE}time-value", ""))
    return "\n".join(map(_paragraph, cell.findall(f"{_TEXT}p"))) or None


def _date(text: str) -> object:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:  # a year of five digits
        return text


def _time(text: str) -> object:
    match = _DURATION.fullmatch(text)
    if match is None:
        return text
    hours, minutes, seconds = map(int, match.groups())
    if hours < 24:
        return datetime.time(hours, minutes, seconds)
    return datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _paragraph(element: ElementTree.Element) -> str:
    """Return the text of a paragraph, in which several spaces, tabs and line breaks are elements."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            pieces.append(" " * min(int(child.get(f"{_TEXT}c", "1")), _MOST_REPEATED))
        elif child.tag == f"{_TEXT}tab":
            pieces.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            pieces.append("\n")
        elif child.tag not in _NOTES:
            pieces.append(_paragraph(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
