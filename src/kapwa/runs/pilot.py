"""What finished runs tell a plan: on how many items two models differ, and how much items of a cluster weigh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import UsageError, nearest
from kapwa.runs.directory import Run
from kapwa.stats.clusters import cluster_codes, cluster_sums


def learn_from(runs: Sequence[Run], metric: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what one or two runs tell of a metric in their first variant, and where that is from.

    The first are fields of :class:`kapwa.stats.power.Assumed`: ``design_effect``, and ``differing`` of two runs,
    ``accuracy`` of one, or ``deviation`` where the metric is not right or wrong. Raises UsageError for runs of two
    tasks, an unknown metric, and fewer than two items.
    """
    if len(runs) > 2 or len({run.manifest["task"] for run in runs}) > 1:
        raise UsageError("A pilot is one run, or two runs of one task.", hint="Name two whose models differ.")
    manifest = runs[0].manifest
    name = metric or next(iter(manifest["headline"] or manifest["metrics"]))
    if name not in manifest["metrics"]:
        raise UsageError(f"{runs[0].path} has no metric {name!r}.", hint=nearest(name, manifest["metrics"]))
    place, tables = ["culture", "language", "item_id"], []
    for run in runs:
        chosen = (pl.col("metric") == name) & (pl.col("variant") == manifest["selection"]["variants"][0])
        kept = run.scores.filter(chosen & pl.col("value").is_not_null())
        tables.append(kept.group_by(place).agg(pl.first("cluster"), pl.mean("value")).sort(place))
    both = tables[0] if len(tables) == 1 else tables[0].join(tables[1], on=place, suffix="_b")
    if both.height < 2:
        raise UsageError("The pilot has fewer than two items to learn from.", hint="Take a larger one.")
    values = both["value"].to_numpy() - (both["value_b"].to_numpy() if len(tables) > 1 else 0.0)
    labels = both.select(pl.concat_str("culture", "cluster", separator="\n")).to_series().to_list()
    sums = cluster_sums(values[:, None], cluster_codes(labels, len(labels)))
    effect = float(np.nan_to_num(sums.design_effect[0], nan=1.0))
    about = f"{runs[0].path.name}{f' and {runs[1].path.name}' if len(runs) > 1 else ''}"
    grounds = f"Pilot: {about}, {name}, {len(values):,} items in {int(sums.clusters[0]):,} clusters."
    if not manifest["metrics"][name].get("binary"):
        spread = float(values.std(ddof=1)) * (1 if len(runs) > 1 else 2**0.5)
        return {"deviation": spread, "design_effect": effect}, (grounds,)
    share = float(np.abs(values).mean())
    return {"differing" if len(runs) > 1 else "accuracy": share, "design_effect": effect}, (grounds,)
