"""What finished runs tell a plan: how far two models differ, and how surely so many questions say it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kapwa.errors import UsageError, check_known
from kapwa.runs.finished_run import Run
from kapwa.stats.clusters import FloatArray
from kapwa.stats.pooled import pooled_differences, pooled_mean
from kapwa.value_types import JsonObject


def learn_from(runs: Sequence[Run], metric: str | None) -> tuple[JsonObject, tuple[str, ...]]:
    """Return what one or two runs tell of a metric in their first variant, and where that is from.

    The first are fields of :class:`kapwa.stats.power.Piloted`, estimated as a report of the two runs estimates them:
    over all cultures, each counting alike, clustered by question. Of one run, the answers of the other model are taken
    as unrelated to its own and as often right. Raises UsageError for runs of two tasks, an unknown metric, and a pilot
    that tells nothing.
    """
    if len(runs) > 2 or len({run.manifest["task"] for run in runs}) > 1:
        raise UsageError("A pilot is one run, or two runs of one task.", hint="Name two whose models differ.")
    manifest = runs[0].manifest
    name = metric or manifest["headline"][0]
    check_known(name, manifest["metrics"], f"{runs[0].path} has no metric {name!r}.")
    keys, tables = ["culture", "language", "item_id"], []
    for run in runs:
        chosen = (pl.col("metric") == name) & (pl.col("variant") == manifest["selection"]["variants"][0])
        scores = run.scores.filter(chosen & pl.col("value").is_not_null())
        tables.append(scores.group_by(keys).agg(pl.first("cluster"), pl.mean("value")).sort(keys))
    both = tables[0] if len(tables) == 1 else tables[0].join(tables[1], on=keys, suffix="_b").sort(keys)
    questions, cultures = both["cluster"].n_unique(), both["culture"].n_unique()
    folders = " and ".join(str(run.path) for run in runs)
    if questions < 2:
        raise UsageError(f"The pilot has fewer than two questions to learn from: {folders}.", hint="Take a larger one.")
    binary = bool(manifest["metrics"][name]["binary"])
    learned = _seen([both[side].to_numpy() for side in ("value", "value_b") if side in both.columns], both, binary)
    if not learned["se"] or not learned["differing"]:
        what = "no answers differ" if len(runs) > 1 else "all answers are alike"
        hint = "Take a larger pilot, or --agreement without one."
        raise UsageError(f"In the pilot {what}, so it does not show how much they can: {folders}.", hint=hint)
    learned |= {"binary": binary, "cultures": cultures}
    about = " and ".join(run.path.name for run in runs)
    where = f" over {cultures} cultures" if cultures > 1 else ""
    return learned, (f"Pilot: {about}, {name}, {both.height:,} items: {questions:,} questions{where}.",)


def _seen(sides: Sequence[FloatArray], items: pl.DataFrame, binary: bool) -> JsonObject:
    """The comparison of two runs; of one, what it would be with a run of unrelated answers that scores the same."""
    culture_and_cluster = items["culture"].to_list(), items["cluster"].to_list()
    if len(sides) == 2:
        seen = pooled_differences(sides[0], sides[1], *culture_and_cluster, binary=binary)[0].comparison
        return {name: getattr(seen, name) for name in ("n", "clusters", "se", "differing")} | {"seen": seen.difference}
    pooled = pooled_mean(sides[0], *culture_and_cluster)
    share = pooled.value or 0.0
    learned = {"n": pooled.n, "clusters": pooled.clusters, "se": np.sqrt(2) * (pooled.se or 0.0), "seen": 0.0}
    return learned | ({"differing": 2 * share * (1 - share), "accuracy": share} if binary else {"differing": 1.0})
