"""Extract pictures from Parquet tables: they become files, and a column names them as tables of questions do."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import DataError
from kapwa.tables import holds_bytes, parquet_batches, parquet_schema

MEDIA = "media"
PICTURES = "pictures"
ALT = "The picture that the question is about."
# The first bytes of each kind of file.
_KINDS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}
_ROWS = 200  # at a time, because each has a picture


def unpacked(folder: Path, names: Sequence[str], column: str, to: Path) -> Path:
    """Write the tables ``names`` of ``folder`` without their binary columns into ``to``, and the pictures beside them.

    The pictures of ``column`` become files, each once; the column ``media`` names them. ``to`` is replaced. Raises
    DataError for a table without that column, and a cell without a picture.
    """
    fresh = to.with_name(f"{to.name}.incomplete")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / PICTURES).mkdir(parents=True)
    for name in names:
        _table(folder / name, column, fresh, fresh / name)
    shutil.rmtree(to, ignore_errors=True)
    fresh.rename(to)
    return to


def _table(source: Path, column: str, home: Path, target: Path) -> None:
    import polars as pl

    schema = parquet_schema(source)
    if column not in schema:
        raise DataError("is missing.", path=source, column=column, hint=f"There are: {', '.join(schema)}.")
    texts = [name for name, kind in schema.items() if name != column and not holds_bytes(kind)]
    tables, row = [], 1
    for batch in parquet_batches(source, [*texts, column], _ROWS):
        media = []
        for cell in batch[column]:
            media.append(_written(cell, home, source, row, column))
            row += 1
        tables.append(batch.drop(column).with_columns(pl.Series(MEDIA, media, dtype=pl.String)))
    target.parent.mkdir(parents=True, exist_ok=True)
    pl.concat(tables).write_parquet(target)


def _written(cell: Any, home: Path, source: Path, row: int, column: str) -> str:
    """Write a picture, and return the cell that names it."""
    content = (cell.get("bytes") if isinstance(cell, dict) else cell) or b""
    ending = next((kind for sign, kind in _KINDS.items() if content.startswith(sign)), "")
    if not ending:
        raise DataError("holds no picture of a known kind.", path=source, row=row, column=column)
    sha256 = hashlib.sha256(content).hexdigest()
    file = home / PICTURES / f"{sha256}.{ending}"
    if not file.exists():
        file.write_bytes(content)
    return json.dumps([{"path": f"{PICTURES}/{file.name}", "alt": ALT, "sha256": sha256}])
