"""The estimates of a run: of each culture and stratum, then the means over cultures that reports lead with."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from kapwa.runs.floors import FloorValues, leading_floors
from kapwa.runs.signature import Signature
from kapwa.stats.estimate_tables import estimate_table, mean_table
from kapwa.stats.missing import ranges_of
from kapwa.stats.schemas import ALL
from kapwa.suites.base import MetricInfo, holds_shares
from kapwa.value_types import JsonMapping

# What tells the numbers of a run apart.
_SIGNED = ("metric", "variant", "culture", "language", "group", "stratum")


def metrics_of_run(manifest: JsonMapping) -> dict[str, MetricInfo]:
    """The metrics that ``manifest`` names, and how they read."""
    return {name: MetricInfo(**info) for name, info in manifest["metrics"].items()}


def shares_among(metrics: Mapping[str, MetricInfo], scores: pl.DataFrame) -> dict[str, bool]:
    """Of each metric, whether it lies between 0 and 1."""
    values = {name: scores.filter(metric=name)["value"] for name in metrics}
    return {name: info.binary or holds_shares(info, values[name]) for name, info in metrics.items()}


def estimates_of(manifest: JsonMapping, scores: pl.DataFrame, floors: pl.DataFrame) -> pl.DataFrame:
    """Estimate every metric of a run: rows of cultures, then the means over cultures (without culture), signed.

    ``floors``: the run's table of floors and ceilings; those a score is held against stand beside it.
    """
    metrics = metrics_of_run(manifest)
    shares, ranges = shares_among(metrics, scores), ranges_of(metrics)
    tables = [
        estimate_table(scores, metrics=shares, groups=manifest["groups"], ranges=ranges),
        mean_table(scores, metrics=shares, ranges=ranges),
    ]
    estimates = _with_floors(pl.concat(tables), floors, metrics)
    # No two numbers of a run have one signature.
    signature, signed = Signature(manifest), []
    for metric, variant, culture, language, group, stratum in estimates.select(_SIGNED).iter_rows():
        whose = {"culture": culture or "mean", "language": language or "", group: stratum}
        signed.append(signature.of(metric, variant, whose))
    return estimates.with_columns(pl.Series("signature", signed, dtype=pl.String))


def _with_floors(estimates: pl.DataFrame, floors: pl.DataFrame, metrics: Mapping[str, MetricInfo]) -> pl.DataFrame:
    """Add ``base_floor``, ``highest_floor`` and ``ceiling`` to the rows over all items; null where there is none.

    A culture's own floors stand in place of those over all cultures.
    """
    cultures = set(estimates["culture"].drop_nulls())
    by_metric = floors.rows_by_key(("metric", "variant"), named=True, include_key=True)
    of_floors: dict[tuple[str, str, str | None], FloorValues] = {}
    columns: list[FloorValues] = []
    for metric, variant, culture, group in estimates.select("metric", "variant", "culture", "group").iter_rows():
        key = (metric, variant, culture)
        if key not in of_floors:
            rows = by_metric.get((metric, variant), ())
            of_culture = [row for row in rows if culture is not None and row["note"] == culture]
            named = {row["name"] for row in of_culture}
            shared = [row for row in rows if row["note"] not in cultures and row["name"] not in named]
            low_is_good = metrics[metric].higher_is_better is False
            of_floors[key] = leading_floors([*of_culture, *shared], low_is_good=low_is_good)
        columns.append(of_floors[key] if group == ALL else FloorValues())
    values = {name: [getattr(one, name) for one in columns] for name in FloorValues._fields}
    return estimates.with_columns(pl.Series(name, value, dtype=pl.Float64) for name, value in values.items())
