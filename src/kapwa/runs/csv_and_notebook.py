"""Tables of a run or an analysis for people: as CSV files, and its headline numbers as a table of a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from kapwa import files
from kapwa.tables import csv_text
from kapwa.value_types import JsonMapping

# Begins a CSV file for people: without it, spreadsheets take the texts for another encoding.
BOM = "\ufeff"


class HasTables(Protocol):
    """A run, an analysis: whatever has tables by name."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables."""


def export_csv(source: HasTables, folder: str | Path) -> Path:
    """Write each table of a run or an analysis as ``<name>.csv``; return the folder, which is made if need be.

    Spreadsheet-safe, UTF-8 with a byte-order mark. All are written, or none.
    """
    target = Path(folder)
    with files.filling(target) as fresh:
        for name, table in source.tables.items():
            files.write_text(fresh / f"{name}.csv", BOM + csv_text(table.columns, table.iter_rows()))
    return target


def results_html(manifest: JsonMapping, estimates: pl.DataFrame, floors: pl.DataFrame) -> str:
    """Return the headline numbers as an HTML table: value, 95 % interval, highest floor, ceiling, items."""
    metrics = manifest["metrics"]
    chosen = (pl.col("group") == "all") & pl.col("metric").is_in(manifest["headline"])
    cultures = set(estimates["culture"].drop_nulls())
    rows = []
    for row in estimates.filter(chosen).iter_rows(named=True):
        near = floors.filter((pl.col("metric") == row["metric"]) & (pl.col("variant") == row["variant"]))
        # A culture's own marks name it, and stand in place of those over all.
        own_marks = near.filter(pl.col("note") == row["culture"])
        names = own_marks["name"].to_list()
        near = pl.concat([own_marks, near.filter(~pl.col("note").is_in(list(cultures)) & ~pl.col("name").is_in(names))])
        floor, ceiling = (near.filter(pl.col("kind") == kind)["value"] for kind in ("floor", "ceiling"))
        numbers: list[Any] = [row["value"], row["low"], row["high"], floor.max(), ceiling.min()]
        shown = ["–" if number is None else f"{number:.3f}" for number in numbers]
        title = metrics.get(row["metric"], {}).get("title") or row["metric"]
        interval = "–" if row["low"] is None else f"{shown[1]} to {shown[2]}"
        whose = row["culture"] or f"mean of {row['cultures']} cultures"
        rows.append((title, whose, row["variant"], shown[0], interval, shown[3], shown[4], f"{row['n']:,}"))
    head = ("metric", "culture", "variant", "value", "95 % interval", "highest floor", "ceiling", "items")
    lines = ["".join(f"<th>{name}</th>" for name in head)]
    lines += ["".join(f'<td dir="auto">{html.escape(str(cell))}</td>' for cell in row) for row in rows]
    system = manifest.get("label") or manifest["model"]["id"]
    about = html.escape(f"{manifest['task']}, {system}: {manifest['signature']}")
    return f"<table><caption>{about}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
