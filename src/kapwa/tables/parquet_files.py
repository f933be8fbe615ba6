"""Tables in Parquet."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.errors import DataError
from kapwa.files import refuse_other_kinds
from kapwa.tables.table import CUT_OFF, NO_ROWS, Cell, Record, Remark, TextTable

if TYPE_CHECKING:
    import polars as pl


_LOOKED_AT = 100  # bytes


@contextmanager
def _refusing_damaged(path: Path) -> Iterator[None]:
    """Raise DataError for a file that is not Parquet, or that is incomplete."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        with suppress(OSError), path.open("rb") as file:
            begins = file.read(_LOOKED_AT)
            if not begins.startswith(b"PAR1"):
                refuse_other_kinds(begins, path)
        reason = str(error).split("\n", 1)[0][:200]
        raise DataError(f"cannot be read as Parquet ({reason}).", path=path, hint=CUT_OFF) from None


def parquet_schema(path: Path) -> dict[str, pl.DataType]:
    """Return the columns of a file and their kinds; no row is read."""
    import polars as pl

    with _refusing_damaged(path):
        return dict(pl.scan_parquet(path, glob=False).collect_schema())


def parquet_batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
    """Yield some columns of a file, at most ``rows`` rows at a time, none of them empty."""
    import polars as pl

    with _refusing_damaged(path):
        scan = pl.scan_parquet(path, glob=False).select(columns)
        yield from (batch for batch in scan.collect_batches(chunk_size=rows, maintain_order=True) if batch.height)


def parquet_table(path: Path) -> TextTable:
    """Read a table whose columns hold texts, numbers, dates, true and false, or lists and objects of them.

    Columns of bytes, such as pictures, are left out, with a remark.
    """
    import polars as pl

    with _refusing_damaged(path):
        frame = pl.read_parquet(path, glob=False)
    if frame.is_empty():
        raise DataError("holds no rows.", path=path, hint=NO_ROWS)
    remarks = [
        Remark(f"the column {name!r} holds bytes, such as those of pictures, and no text: not read")
        for name, kind in frame.schema.items()
        if holds_bytes(kind)
    ]
    frame = frame.select(name for name, kind in frame.schema.items() if not holds_bytes(kind))
    records = [
        Record(number, {name: _parquet_cell(value, path, number, name) for name, value in row.items()})
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    ]
    return TextTable(path, tuple(frame.columns), records, [], remarks)


def holds_bytes(kind: pl.DataType) -> bool:
    """Whether a column holds bytes, alone or beside their name as pictures and recordings do."""
    import polars as pl

    return kind == pl.Binary or (isinstance(kind, pl.Struct) and any(field.dtype == pl.Binary for field in kind.fields))


def _parquet_cell(value: object, path: Path, row: int, column: str) -> Cell:
    if value is None or value != value:  # noqa: PLR0124 - NaN, with which pandas fills empty cells
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if isinstance(value, bool | int | float | Decimal | datetime.date | datetime.time):
        return str(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    hint = "Save the column as texts."
    raise DataError(f"holds {type(value).__name__}, not text.", path=path, row=row, column=column, hint=hint)
