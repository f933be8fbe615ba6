"""Write tables as CSV that spreadsheets may open."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from kapwa.tables.cells import FORMULA, disarm, printable, without_nul


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Render a table as spreadsheet-safe CSV: an apostrophe before texts that would run as formulas, None empty.

    Lists and objects become JSON.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in chain([header], rows):
        writer.writerow([_safe_cell(cell) for cell in row])
    return out.getvalue()


def _safe_cell(cell: Any) -> Any:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    if not isinstance(cell, str):
        return cell
    text = without_nul(cell)
    return FORMULA.sub(r"\1'", text)


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Render a table as UTF-8 CSV for people to fill in: with a byte-order mark, every text reversibly disarmed.

    Without the mark spreadsheets garble every script but Latin.
    """
    safe = ([disarm(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows)
    # Disarmed texts start with an apostrophe, so csv_text leaves them alone.
    return ("\ufeff" + csv_text(header, safe)).encode()


def schema_of(columns: str) -> dict[str, Any]:
    """Return the columns of a Polars table, written "name other:whole third:real"; without a kind, they are texts."""
    import polars as pl

    kinds = {"": pl.String(), "real": pl.Float64(), "whole": pl.Int64()}
    named_kinds = (column.partition(":") for column in columns.split())
    return {name: kinds[kind] for name, _, kind in named_kinds}
