"""The tables of a run: estimated from what was judged, and written whole: the same bytes for the same answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from kapwa.errors import RunError
from kapwa.files import jsonable, write_json
from kapwa.records import SCORE_COLUMNS, Floor, Item
from kapwa.runs.estimates import estimates_of, metrics_of_run, shares_among
from kapwa.runs.floors import floor_tables
from kapwa.runs.schema import CEILINGS, RUN, RUN_TABLES, TABLE_NAME
from kapwa.stats.comparison_tables import compare_variants
from kapwa.stats.missing import ranges_of
from kapwa.stats.schemas import COMPARISON_SCHEMA
from kapwa.suites.base import Judged
from kapwa.value_types import JsonMapping

_SUITE_BUG = "This is a fault of the suite; report it to its authors."


def estimate_tables(
    manifest: JsonMapping,
    judged: Judged,
    items: Sequence[Item],
    floors: Sequence[Floor],
    item_table: pl.DataFrame,
) -> dict[str, pl.DataFrame]:
    """Estimate what ``judged`` measured: by variant and group, floors beside it, variants compared.

    Returns the tables by name: those of :data:`RUN_TABLES`, then the suite's own (``continuations``, ``answers``, ...).
    ``manifest``: of the run, which says what its metrics are. ``items``: those asked; of floors that are known item by
    item they are the items. Raises RunError where the suite's tables are not as promised.
    """
    task = manifest["task"]
    metrics = metrics_of_run(manifest)
    if tuple(judged.scores.columns) != SCORE_COLUMNS:
        raise RunError(f"{task} gave a score table with the columns {judged.scores.columns}.", hint=_SUITE_BUG)
    for name in judged.tables:
        if name in (*RUN_TABLES, CEILINGS) or not TABLE_NAME.fullmatch(name):
            raise RunError(f"{task} names a table {name!r}, which is no valid table name.", hint=_SUITE_BUG)
    shares = shares_among(metrics, judged.scores)
    comparisons, ranges = pl.DataFrame(schema=dict(COMPARISON_SCHEMA)), ranges_of(metrics)
    binary = {name: info.binary for name, info in metrics.items()}
    if judged.scores["variant"].n_unique() > 1:
        comparisons = compare_variants(judged.scores, metrics=binary, seed=int(manifest["seed"]), ranges=ranges)
    kinds = {name: {"binary": binary[name], "share": shares[name]} for name in metrics}
    floor_rows, people = floor_tables(floors, items, judged.scores, kinds, ranges)
    return {
        "scores": judged.scores,
        "estimates": estimates_of(manifest, judged.scores, floor_rows),
        "floors": floor_rows,
        "comparisons": comparisons,
        "items": item_table,
        **judged.tables,
        **({CEILINGS: people} if people.height else {}),
    }


def write_results(folder: Path, tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, object]) -> None:
    """Write every table as Parquet, and the estimates as JSON too; each file whole or not at all.

    Nobody reads half-renewed tables: the ``manifest`` that vouches for them comes last.
    """
    write_json(folder / "estimates.json", jsonable(tables["estimates"].rows(named=True)))
    RUN.write(folder, manifest, tables)
