"""Scores by wording of the prompt: the variants that differ in wording alone, item by item and as means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.view.comparisons import split
from kapwa.report.view.tasks import TaskView
from kapwa.stats.clusters import FloatArray


class Grid(NamedTuple):
    """Scores by item, wording and sample, NaN where there is none; ``units`` names each item by culture and name."""

    values: FloatArray
    units: list[tuple[str, str]]
    clusters: list[str]


def wordings_of(view: TaskView) -> list[str]:
    """The variants that differ in the prompt alone: those asked in the language of the main one."""
    language = (split(view.variant) or ("",))[0]
    return [name for name in view.variants if (split(name) or ("",))[0] == language]


def score_grid(view: TaskView, run: int, variants: Sequence[str]) -> Grid:
    """The first headline metric by item, variant and sample.

    Where variants ask items of other names, as Kalahi's do, the mean of a cluster stands in place of an item.
    """
    measured = (
        (pl.col("metric") == view.main_metric) & pl.col("variant").is_in(variants) & pl.col("value").is_not_null()
    )
    scores = view.runs[run].scores.filter(measured)
    n_variants = scores.group_by("culture", "item_id").agg(pl.col("variant").n_unique())
    unit = pl.col("item_id" if (n_variants["variant"] == len(variants)).sum() > 1 else "cluster").alias("unit")
    cells = scores.group_by("culture", unit, "variant", "sample", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("cluster").first()
    )
    units = cells.unique(["culture", "unit"], keep="first", maintain_order=True)
    names = list(units.select("culture", "unit").iter_rows())
    rows, columns = ({name: i for i, name in enumerate(one)} for one in (names, variants))
    values = np.full((len(names), len(variants), int(cells["sample"].max() or 0) + 1), np.nan)  # type: ignore[arg-type]
    for culture, name, variant, sample, value in cells.drop("cluster").iter_rows():
        values[rows[culture, name], columns[variant], sample] = value
    return Grid(values, names, units["cluster"].to_list())


def wording_means(view: TaskView, variants: Sequence[str]) -> dict[int, list[float]]:
    """The mean over cultures in each wording, by run, for runs that have all wordings."""
    means = {}
    for i in range(len(view.runs)):
        rows = [[view.estimate(i, s, view.main_metric, name) for s in view.subjects] for name in variants]
        if all(row is not None and wording.known(row["value"]) for one in rows for row in one):
            means[i] = [float(np.mean([row["value"] for row in one if row is not None])) for one in rows]
    return means
