"""The tables of a run: judged, estimated, and written whole, always the same bytes for the same answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import RunError
from kapwa.files import jsonable, replacing, write_json, write_text
from kapwa.records import SCORE_COLUMNS, Floor, Item
from kapwa.runs.manifest import TABLE_NAME, signature
from kapwa.suites.base import Judged, MetricInfo, Task
from kapwa.tables_io import csv_text

LEVEL = 0.95
# Begins a CSV file for people: without it, spreadsheets take the texts for another encoding.
BOM = "\ufeff"
# What every run has; a suite's own tables need other names.
RUN_TABLES = ("scores", "estimates", "floors", "comparisons", "items")
_SUITE_BUG = "This is a fault of the suite; report it to its authors."
_FLOOR_SCHEMA: dict[str, Any] = {
    "metric": pl.String,
    "variant": pl.String,
    "name": pl.String,
    "value": pl.Float64,
    "kind": pl.String,
    "note": pl.String,
}


@dataclass(frozen=True, slots=True)
class Results:
    """Everything judging gives; ``tables`` are the suite's own (``continuations``, ``answers``, ...)."""

    scores: pl.DataFrame
    estimates: pl.DataFrame
    floors: pl.DataFrame
    comparisons: pl.DataFrame
    items: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]

    def all_tables(self) -> dict[str, pl.DataFrame]:
        """Return every table by its file name."""
        return {**{name: getattr(self, name) for name in RUN_TABLES}, **self.tables}


def results(
    task: Task, items: Sequence[Item], judged: Judged, manifest: Mapping[str, Any], ceilings: Sequence[Floor] = ()
) -> Results:
    """Estimate what ``judged`` measured: by variant and group, floors beside it, variants compared.

    ``ceilings`` stand beside the task's own. Raises RunError where the suite's tables are not as promised.
    """
    from kapwa.stats.tables import compare_variants, estimate_table

    if tuple(judged.scores.columns) != SCORE_COLUMNS:
        raise RunError(f"{task.name} gave a score table with the columns {judged.scores.columns}.", hint=_SUITE_BUG)
    for name in judged.tables:
        if name in RUN_TABLES or not TABLE_NAME.fullmatch(name):
            raise RunError(f"{task.name} names a table {name!r}, which cannot be.", hint=_SUITE_BUG)
    binary = {name: info.binary for name, info in task.metrics.items()}
    seed = int(manifest["seed"])
    estimates = estimate_table(judged.scores, metrics=binary, groups=task.groups, level=LEVEL)
    estimates = _within_range(estimates, task.metrics)
    pairs = list(estimates.select("metric", "variant").unique(maintain_order=True).iter_rows())
    signed = [(*pair, signature(manifest, *pair)) for pair in pairs]
    signatures = pl.DataFrame(signed, schema=dict.fromkeys(("metric", "variant", "signature"), pl.String), orient="row")
    floors = [*task.floors(items), *ceilings]
    return Results(
        scores=judged.scores,
        estimates=estimates.join(signatures, on=["metric", "variant"], how="left", maintain_order="left"),
        floors=pl.DataFrame([floor._asdict() for floor in floors], schema=_FLOOR_SCHEMA),
        comparisons=compare_variants(judged.scores, metrics=binary, level=LEVEL, seed=seed),
        items=task.item_table(items),
        tables=judged.tables,
    )


def _within_range(estimates: pl.DataFrame, metrics: Mapping[str, MetricInfo]) -> pl.DataFrame:
    """Cut intervals at the ends of a metric's range: a share is never below 0, whatever a t interval says.

    Where no true value can lie, cutting loses no coverage.
    """
    schema = {"metric": pl.String, "least": pl.Float64, "most": pl.Float64}
    ranges = pl.DataFrame([(name, i.low, i.high) for name, i in metrics.items()], schema=schema, orient="row")
    # A null end (a metric without one) makes its comparison null, and the interval stays as it is.
    return (
        estimates.join(ranges, on="metric", how="left", maintain_order="left")
        .with_columns(
            low=pl.when(pl.col("low") < pl.col("least")).then(pl.min_horizontal("least", "value")).otherwise("low"),
            high=pl.when(pl.col("high") > pl.col("most")).then(pl.max_horizontal("most", "value")).otherwise("high"),
        )
        .drop("least", "most")
    )


def write_results(folder: Path, found: Results) -> None:
    """Write every table as Parquet, and the estimates as JSON too; each file whole or not at all."""
    for name, table in found.all_tables().items():
        with replacing(folder / f"{name}.parquet") as temporary:
            # Chunks and row groups would otherwise depend on how the table was put together.
            try:
                table.rechunk().write_parquet(temporary, compression_level=3, row_group_size=100_000)
            except pl.exceptions.ComputeError as error:  # how Polars says that the disk is full
                raise OSError(str(error).rpartition("error: ")[2]) from error
    write_json(folder / "estimates.json", jsonable(found.estimates.rows(named=True)))


def table_csv(table: pl.DataFrame) -> str:
    """Render a table as spreadsheet-safe CSV; lists and structs become JSON."""
    nested = [kind.is_nested() for kind in table.dtypes]
    rows = (
        [
            json.dumps(cell, ensure_ascii=False, default=str) if is_nested and cell is not None else cell
            for cell, is_nested in zip(row, nested, strict=True)
        ]
        for row in table.iter_rows()
    )
    return csv_text(table.columns, rows)


def write_csv(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write each table as ``<name>.csv`` in ``folder``, which is made if need be: UTF-8 with a byte-order mark."""
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", BOM + table_csv(table))
