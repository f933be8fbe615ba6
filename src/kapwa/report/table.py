"""What a table of the report is: cells, head, caption and note, and the same as spreadsheet-safe CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.tables_io import csv_text


class Cell(NamedTuple):
    """One cell: what stands large, what stands small under it, and how."""

    text: str
    small: str = ""
    number: bool = False
    strong: bool = False
    muted: bool = False


NONE = Cell(wording.NOTHING, number=True, muted=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page. The first cell of each row is its header; ``csv`` is the tidy form of the same."""

    key: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    csv: str
    note: str = ""


def frame_csv(frame: pl.DataFrame) -> str:
    """Render a flat frame as spreadsheet-safe CSV."""
    return csv_text(frame.columns, frame.iter_rows())
