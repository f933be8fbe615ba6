"""Several tasks, models and cultures together: means over cultures, gaps within a language, topics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.view.comparisons import language_facts
from kapwa.report.view.reference_scores import EstimateRow, is_unranked
from kapwa.report.view.tasks import ComparedCultures, Subject, TaskView
from kapwa.stats.comparison_tables import compare_runs
from kapwa.stats.families import adjust_p_values
from kapwa.stats.missing import pooled_mean_with_bounds
from kapwa.stats.schemas import COMPARISON_SCHEMA
from kapwa.stats.spread import shares_of
from kapwa.suites.base import holds_shares
from kapwa.value_types import Row

# For two cultures compared on shares of people's score: the columns of their scores, by those of the shares.
SCORE_GAP = {
    "a_value": "a_score",
    "b_value": "b_score",
    "difference": "score_difference",
    "low": "score_low",
    "high": "score_high",
}
TaskMetric = tuple[TaskView, str]  # a task, and a metric of it


def by_suite(views: Sequence[TaskView]) -> list[list[TaskView]]:
    """Views, those of one suite together."""
    groups: dict[str, list[TaskView]] = {}
    for view in views:
        groups.setdefault(str(view.manifest.get("suite")), []).append(view)
    return list(groups.values())


def equal_mean(
    view: TaskView, run: int, metric: str = "", stratum: tuple[str, str] | None = None, variant: str | None = None
) -> EstimateRow | None:
    """Estimate the mean of a metric (the first headline one) over cultures; None where none of it was asked.

    See :func:`kapwa.stats.missing.pooled_mean_with_bounds`.
    ``stratum``: a column of the scores and its value, such as a topic. Cultures without items of it do not count.
    ``variant``: None is the main one.
    """
    name = metric or view.main_metric
    items = view.item_scores(run, name, variant)
    if stratum is not None:
        items = items.filter(pl.col(stratum[0]) == stratum[1])
    if not items.height:
        return None
    info = view.metrics[name]
    mean = pooled_mean_with_bounds(items, share=holds_shares(info, items["value"]), ends=(info.low, info.high))
    wanted = view.variant if variant is None else variant
    ended = view.ended_in_order[run]
    return {**mean, "metric": name, "group": "all", "variant": wanted, "ended_in_order": ended}


def scores_by_system(columns: Sequence[TaskMetric], variant: str | None = None) -> dict[str, list[EstimateRow | None]]:
    """Return each system's score in every column: that of the one culture, or the mean over cultures, counting alike.

    ``variant``: None is the main one of each task. Beside the estimate stands ``run``, the number of the run in the
    column's view.
    """
    rows: dict[str, list[EstimateRow | None]] = {}
    for index, (view, metric) in enumerate(columns):
        for i, system in enumerate(view.labels):
            whole = view.only_culture and view.estimate(i, view.only_culture, metric, variant)
            mean = whole if view.only_culture else equal_mean(view, i, metric, variant=variant)
            row = rows.setdefault(system, [None] * len(columns))
            row[index] = None if mean is None else {**mean, "run": i}
    return rows


def direction(view: TaskView, metric: str) -> int:
    """1 where a higher score is better, -1 where a lower one is."""
    return -1 if view.metrics[metric].higher_is_better is False else 1


def rank_key(row: Row | None, sign: int = 1) -> float:
    """Sort better scores first (``sign``: :func:`direction`), and systems without a score or a rank last."""
    value = None if row is None or is_unranked(row) else row["value"]
    return -sign * value if wording.known(value) else math.inf


# --- over the models of one task


def model_average(items: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The value of every item, averaged over models; ``items``: :meth:`TaskView.answered_item_scores` of each."""
    keys, averaged, added = ["culture", "language", "item_id"], ["value", "least", "most"], ["asked", "missing"]
    tables = [one.select([*keys, *averaged, *added, "cluster"]) for one in items]
    means, sums = pl.col(averaged).mean(), pl.col(added).sum()
    return pl.concat(tables).group_by(keys, maintain_order=True).agg(means, sums, pl.first("cluster"))


def language_gaps(view: TaskView) -> pl.DataFrame:
    """Differences between cultures that share a language, question by question, averaged over models.

    Of what cultures are compared on, named in the column ``compared`` (:meth:`TaskView.compared`). Where that is not
    the score, ``a_score``, ``b_score``, ``score_difference``, ``score_low`` and ``score_high`` are of the score on the
    same questions, with an interval by itself: what people score differs, so the two may have unlike signs.

    The languages are those of the data: of the variant that asks in the most. Columns of ``comparisons``; ``a`` is the
    culture that scores higher, ``culture`` names the language. Empty where no two cultures share one, and where all
    are asked in one: then it need not be theirs.
    """
    tongues = [{s: view.language_of(s, name).partition("-")[0] for s in view.subjects} for name in view.variants]
    spoken = max(tongues, key=lambda one: len(set(one.values())), default={})
    if len(set(spoken.values())) < 2:
        return pl.DataFrame()
    compared = view.compared(view.main_metric)
    ranked = [subject for subject in view.by_score(view.main_metric) if subject in spoken]
    pairs = [Pair(a, b, spoken[a]) for a, b in combinations(ranked, 2) if spoken[a] == spoken[b]]
    gaps = [table for pair in pairs if (table := _pair_gap(view, pair, compared)) is not None]
    if not gaps:
        return pl.DataFrame(schema=COMPARISON_SCHEMA)
    return adjust_p_values(pl.concat(gaps).with_columns(kind=pl.lit("cultures"))).with_columns(
        compared=pl.lit(compared.words)
    )


class Pair(NamedTuple):
    """Two cultures that share a language; the first scores higher."""

    a: Subject
    b: Subject
    language: str


def _pair_gap(view: TaskView, pair: Pair, compared: ComparedCultures) -> pl.DataFrame | None:
    """One row: how far two cultures are apart, beside it their scores where shares are compared; None without items."""
    cultures = (pair.a.culture, pair.b.culture)
    values = model_average([_pair_items(items, cultures, compared) for items in compared.items])
    gap = _difference(view, pair, values)
    if not gap.height or not gap["n"][0]:
        return None
    if compared.ceiling is None:
        return gap
    scores = model_average([view.answered_item_scores(run, view.main_metric) for run in range(len(view.runs))])
    same = _difference(view, pair, scores.join(values, on=["culture", "cluster"], how="semi", maintain_order="left"))
    scored = same.select(pl.col(name).alias(shown) for name, shown in SCORE_GAP.items())
    return pl.concat([gap, scored], how="horizontal")


def _difference(view: TaskView, pair: Pair, values: pl.DataFrame) -> pl.DataFrame:
    """Two cultures compared on the questions that both have; no row where they share none."""
    sides = (_as_items(values, one.culture, pair.language, view) for one in (pair.a, pair.b))
    return compare_runs(*sides, label_a=pair.a.label, label_b=pair.b.label, metrics={view.main_metric: False})


def _pair_items(items: pl.DataFrame, cultures: tuple[str, str], compared: ComparedCultures) -> pl.DataFrame:
    """One model's values in two cultures; shares of what people score are of the questions that both have."""
    both = items.filter(pl.col("culture").is_in(cultures))
    if compared.ceiling is None:
        return both
    both = both.filter(pl.col("culture").n_unique().over("cluster") == len(cultures))
    shares = shares_of(both["score"].to_numpy(), both["people"].to_numpy(), both["culture"].to_list())
    return both.with_columns(value=pl.Series(shares)).filter(pl.col("value").is_not_nan())


def _as_items(scores: pl.DataFrame, culture: str, language: str, view: TaskView) -> pl.DataFrame:
    """One culture's questions, named by what cultures share of them: their cluster."""
    of_culture = (
        scores.filter(pl.col("culture") == culture).group_by("cluster", maintain_order=True).agg(pl.mean("value"))
    )
    same = {"culture": language_facts(language)[0], "language": language, "variant": view.variant}
    columns = {**same, "category": "", "topic": "", "metric": view.main_metric, "outcome": "scored"}
    return of_culture.with_columns(pl.col("cluster").alias("item_id"), pl.lit(0).alias("sample")).with_columns(
        pl.lit(value).alias(name) for name, value in columns.items()
    )


def topic_means(view: TaskView) -> Iterator[tuple[str, dict[str, list[tuple[int, EstimateRow]]]]]:
    """For each grouping, by topic, every model's mean over cultures, each counting alike (BLEnD's figure 15).

    Of one culture it is the score there. The topic of the highest scores comes first. Of groupings into the same topics
    there is one.
    """
    seen = list[list[str]]()
    for group in view.groups:
        names = sorted({name for run in view.runs for name in run.scores[group].unique().drop_nulls()})
        estimates: dict[str, list[tuple[int, EstimateRow]]] = {}
        for name in names if len(names) > 1 and names not in seen else ():
            for i in range(len(view.runs)):
                whole = view.only_culture and view.strata(i, view.only_culture, group).get(name)
                mean = whole if view.only_culture else equal_mean(view, i, stratum=(group, name))
                if mean is not None:
                    estimates.setdefault(name, []).append((i, mean))
        seen.append(names)
        if estimates:
            order = {name: sum(rank_key(row) for _, row in rows) / len(rows) for name, rows in estimates.items()}
            yield group, {name: estimates[name] for name in sorted(estimates, key=lambda name: (order[name], name))}
