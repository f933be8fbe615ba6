"""Score tables in, tables of estimates, comparisons and correlations out (Polars)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError, check_known, nearest
from kapwa.records import OUTCOMES, SCORE_COLUMNS, STATES, State
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.families import adjust_p_values, check_margin
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.missing import (
    NO_ENDS,
    Ends,
    Side,
    bounds_of,
    compare_over_cultures_with_worst_cases,
    compare_with_worst_cases,
    cut_at_range,
    item_bounds,
    mean_over_cultures,
    with_bounds,
)
from kapwa.stats.states import not_asked_rows, with_derived_states
from kapwa.value_types import Cells, JsonObject, Keywords, Schema

BLOCK = ("culture", "language", "variant")
# These differ between the rows of one item (or name it), so they cannot be strata of items.
_NOT_STRATA = ("item_id", "sample", "metric", "value", "outcome", "state")
_SAMPLE = (*BLOCK, "item_id", "metric", "sample")


COMPARISON_SCHEMA: Schema = {
    **dict.fromkeys(("kind", "a", "b", "culture", "language", "variant", "metric"), pl.String),
    **dict.fromkeys(("a_value", "b_value", "difference", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("p_value", "p_holm", "p_bh", "mde", "differing"), pl.Float64),
    **dict.fromkeys(("n", "clusters", "only_a", "only_b"), pl.Int64),
    **{"method": pl.String, "family": pl.String},
    # Results with the missing answers counted against the claim: see kapwa.stats.intervals.Comparison.
    **dict.fromkeys(("missing_a", "missing_b", "least_low", "least_high", "most_low", "most_high"), pl.Float64),
    **dict.fromkeys(("p_worst", "p_worst_holm"), pl.Float64),
}
# Comparisons over cultures. A row over several has no culture and no language; it is the mean of ``cultures`` cultures.
POOLED_SCHEMA: Schema = {
    **COMPARISON_SCHEMA,
    **{"cultures": pl.Int64, "culture_sd": pl.Float64, "culture_sd_low": pl.Float64, "culture_sd_high": pl.Float64},
    **{"p_varies": pl.Float64, "p_varies_holm": pl.Float64},
}
# Added where a margin of equality was given.
EQUAL_SCHEMA: Schema = dict.fromkeys(("equal_within", "p_equal", "p_equal_holm", "p_over"), pl.Float64)
# Added where labels are compared, not cultures.
LABEL_SCHEMA: Schema = dict.fromkeys(("label_kind", "label"), pl.String)

ALL = "all"
# How many answers are in each state (:data:`kapwa.records.STATES`), by the name of its column.
STATE_COUNTS: Mapping[str, State] = {f"state_{state.replace(' ', '_')}": state for state in STATES}

ESTIMATE_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant", "group", "stratum", "metric"), pl.String),
    **dict.fromkeys(("value", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters", *OUTCOMES), pl.Int64),
    "method": pl.String,
    **dict.fromkeys(("cultures", "asked", "missing", *STATE_COUNTS), pl.Int64),
    **dict.fromkeys(("least", "most", "least_low", "most_high"), pl.Float64),
}
# What a run adds to its estimates: the floors and the ceiling to compare a score with.
FLOOR_COLUMNS: Schema = dict.fromkeys(("base_floor", "highest_floor", "ceiling"), pl.Float64)


_COUNTS = (*OUTCOMES, "asked", "missing", *STATE_COUNTS)


class Completed(NamedTuple):
    """The items of a block with missing answers at their least and at their most, and the missing share of each."""

    least: pl.DataFrame
    most: pl.DataFrame
    missing: pl.DataFrame


class ItemBlock(NamedTuple):
    """Items of one culture, language and variant: one row an item, one column a metric.

    ``completed``: the same items where answers are missing; None where none is.
    """

    culture: str
    language: str
    variant: str
    items: pl.DataFrame
    metrics: tuple[str, ...]
    completed: Completed | None = None


_Pairs = Sequence[tuple[str, ItemBlock, str, ItemBlock]]
_Labels = Mapping[str, Mapping[str, Collection[str]]]


def checked_scores(
    scores: pl.DataFrame,
    metrics: Mapping[str, bool],
    groups: Sequence[str] = (),
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Return the rows of the named metrics with bounds (:func:`kapwa.stats.missing.with_bounds`).

    Raises DataError or UsageError saying what does not fit.
    """
    missing = [column for column in SCORE_COLUMNS if column not in (*scores.columns, "state")]  # older tables lack it
    if missing:
        raise DataError(
            f"the score table lacks the columns {', '.join(missing)}.",
            hint=f"A score table has the columns {', '.join(SCORE_COLUMNS)}.",
        )
    possible = [column for column in scores.columns if column not in _NOT_STRATA]
    for group in groups:
        check_known(group, possible, f"There is no column {group!r} to group by.")
    clash = sorted(set(metrics) & set(scores.columns))
    if clash:
        raise UsageError(f"A metric cannot be called {clash[0]!r}: the score table has a column of that name.")
    known = scores["metric"].unique().to_list()
    if scores.height and not set(known) & set(metrics):
        wanted = next(iter(metrics), "")
        raise UsageError(f"None of the given metrics is in the scores ({wanted!r}…).", hint=nearest(wanted, known))
    rows = scores.filter(pl.col("metric").is_in(list(metrics))).with_columns(pl.col("value").cast(pl.Float64))
    finite, outcome = pl.col("value").is_finite(), pl.col("outcome")
    known_outcomes = f"Outcomes are {', '.join(OUTCOMES)}."
    one_row = "One row for each item, variant, metric and sample."
    problems = (
        (~finite, "value", "the value is not a finite number", "Use null for 'not measured'."),
        (~outcome.is_in(OUTCOMES) | outcome.is_null(), "outcome", "the outcome is unknown", known_outcomes),
        *((pl.col(name).is_null(), name, f"the {name} is missing", None) for name in (*BLOCK, "item_id", "cluster")),
        (pl.struct(_SAMPLE).is_duplicated(), None, "a score appears more than once", one_row),
    )
    for condition, column, message, hint in problems:
        bad = rows.filter(condition)
        if bad.height:
            first = bad.row(0, named=True)
            where = f"item {first['item_id']!r}, variant {first['variant']!r}, metric {first['metric']!r}"
            raise DataError(f"{message} ({where}).", column=column, hint=hint)
    # Means over samples are summed in this order, so the last bit does not depend on the order of rows.
    return with_bounds(with_derived_states(rows.sort(_SAMPLE)), metrics, ranges or {})


def blocks(rows: pl.DataFrame, metrics: Mapping[str, bool], columns: Sequence[str] = ()) -> list[ItemBlock]:
    """Split checked rows by culture, language and variant, averaging samples within items.

    Samples of one item are not independent: only their mean counts. ``columns`` (such as the topic) are included
    beside ``item_id`` and ``cluster``. Items are sorted by id, metrics are in the order of ``metrics``.
    Raises DataError when one item has two clusters (or topics, …).
    """
    labelled_by = [column for column in dict.fromkeys(("cluster", *columns)) if column not in BLOCK]
    counts = rows.group_by(*BLOCK, "item_id").agg(pl.col(labelled_by).n_unique()).sort(*BLOCK, "item_id")
    for column in labelled_by:
        torn = counts.filter(pl.col(column) > 1)
        if torn.height:
            raise DataError(
                f"the item {torn['item_id'][0]!r} has {torn[column][0]} different values.",
                column=column,
                hint="Every row of an item must have the same value in this column.",
            )
    item_blocks = []
    groups = rows.partition_by(*BLOCK, as_dict=True)
    for key in sorted(groups):
        culture, language, variant = key
        group = groups[key]
        labels = group.group_by("item_id").agg(pl.col(labelled_by).first())
        items = _wide(group, "value", labels)
        completed = None
        if group["missing"].sum():
            completed = Completed(*(_wide(group, values, labels) for values in Completed._fields))
        names = tuple(name for name in metrics if name in items.columns)
        item_blocks.append(ItemBlock(culture, language, variant, items, names, completed))
    return item_blocks


def _wide(rows: pl.DataFrame, values: str, labels: pl.DataFrame) -> pl.DataFrame:
    """A row an item, a column a metric: the mean of ``values`` over samples."""
    wide = rows.pivot(on="metric", index="item_id", values=values, aggregate_function="mean")
    return labels.join(wide, on="item_id").sort("item_id")


# --- estimates ---------------------------------------------------------------------------------------------


def estimate_table(
    scores: pl.DataFrame,
    *,
    metrics: Mapping[str, bool],
    groups: Sequence[str] = ("category", "topic"),
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Estimate each metric's mean by culture, language and variant, over all items and by stratum.

    ``scores``: columns :data:`kapwa.records.SCORE_COLUMNS`. ``metrics``: which to estimate, in the order of the
    table, and whether each is right/wrong or lies between 0 and 1 in another way. ``groups``: columns whose values
    are strata; the row over all items has ``group == stratum == "all"``; an item without a value there (null) is in
    none of its strata.

    ``n``: items with a value (samples of an item averaged first), ``clusters``: sampled units they come from.
    ``right`` … ``failed`` count rows, that is answers, by outcome; rows with a null value are in no mean but are
    counted there. These intervals are analytic, without random draws.

    ``asked``: answers that were requested; ``missing``: those of them that never came, which are in no mean;
    ``state_…``: how many are in each state (:data:`kapwa.records.STATES`). ``least`` and ``most``: the mean with all
    missing answers at the lower end of the metric (wrong), or at the upper end (right); ``least_low`` and
    ``most_high``: the outer ends of the two intervals. Where nothing is missing they are ``value``, ``low`` and
    ``high``. ``ranges``: the ends of metrics that are not shares (:func:`kapwa.stats.missing.with_bounds`), at which
    intervals are cut.
    Returns :data:`ESTIMATE_SCHEMA`, sorted by culture, language, variant, group, stratum and metric.
    Raises DataError or UsageError for a table that does not fit.
    """
    rows = checked_scores(scores, metrics, groups, ranges)
    records = [
        cut_at_range(record, (ranges or {}).get(record["metric"], NO_ENDS))
        for block in blocks(rows, metrics, groups)
        for record in _block_estimates(block, metrics, groups)
    ]
    uncounted = {name: kind for name, kind in ESTIMATE_SCHEMA.items() if name not in _COUNTS}
    keys, counted = (*BLOCK, "group", "stratum", "metric"), _counts()
    strata = [(pl.lit(ALL), pl.lit(ALL)), *((pl.lit(group), pl.col(group).cast(pl.String)) for group in groups)]
    counts = pl.concat(
        rows.with_columns(group=group, stratum=stratum).group_by(keys).agg(counted) for group, stratum in strata
    )
    return (
        pl.DataFrame(records, schema=uncounted)
        .join(counts, on=keys, how="left", nulls_equal=True)
        .sort(*BLOCK, _order_in("group", (ALL, *groups)), "stratum", _order_in("metric", metrics))
        .select(*ESTIMATE_SCHEMA)
    )


def _block_estimates(block: ItemBlock, metrics: Mapping[str, bool], groups: Sequence[str]) -> Iterator[Cells]:
    """Yield the estimates of a block, over all its items and by stratum, without counts of answers."""
    side = _side(block)
    clusters = block.items["cluster"].to_numpy()
    flags = [metrics[name] for name in block.metrics]
    for group, stratum, mask in _strata(block, groups):
        labels = dict(zip((*BLOCK, "group", "stratum"), (*block[:3], group, stratum), strict=True))
        measured = mean_estimates(side.value[mask], clusters[mask], share=flags)
        bounds = [bounds_of(estimate) for estimate in measured]
        if side.missing[mask].any():
            ends = (mean_estimates(end[mask], clusters[mask], share=flags) for end in (side.least, side.most))
            bounds = list(map(bounds_of, measured, *ends))
        for metric, estimate, between in zip(block.metrics, measured, bounds, strict=True):
            yield {**labels, "metric": metric, **estimate._asdict(), **between._asdict(), "cultures": 1}


def _strata(block: ItemBlock, groups: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield group, stratum and a mask of its items in a block; the first stratum is all items."""
    everything = np.ones(block.items.height, dtype=bool)
    yield ALL, ALL, everything
    for group in groups:
        if group in BLOCK:  # constant within a block
            yield group, getattr(block, group), everything
            continue
        column = block.items[group]
        values = np.array(column.to_list(), dtype=object)
        for value in column.drop_nulls().unique().sort():
            yield group, str(value), np.asarray(values == value, dtype=bool)


def mean_table(
    scores: pl.DataFrame, *, metrics: Mapping[str, bool], ranges: Mapping[str, Ends] | None = None
) -> pl.DataFrame:
    """Estimate each metric's mean over cultures, each counting alike, for each variant that several cultures have.

    Rows are like those of :func:`estimate_table` over all items, but culture and language are null, and ``cultures`` is
    the number of cultures. A culture asked in two languages counts once. See
    :func:`kapwa.stats.missing.mean_over_cultures`.
    """
    rows = checked_scores(scores, metrics, ranges=ranges)
    records = []
    for (variant, metric), answers in rows.partition_by("variant", "metric", as_dict=True).items():
        if answers.select("culture", "language").n_unique() < 2:
            continue
        items = item_bounds(answers, ("culture", "language", "item_id"), ("cluster",))
        counts = answers.select(_counts()).row(0, named=True)
        facts = {"variant": variant, "group": ALL, "stratum": ALL, "metric": metric}
        facts["cultures"] = answers["culture"].n_unique()
        ends = (ranges or {}).get(str(metric), NO_ENDS)
        mean = mean_over_cultures(items, share=metrics[str(metric)], ends=ends)
        records.append({**facts, **mean, **counts})
    table = pl.DataFrame(records, schema=dict(ESTIMATE_SCHEMA))
    return table.sort("variant", _order_in("metric", metrics))


def _counts() -> list[pl.Expr]:
    """Count answers: by outcome, those asked, those missing, by state."""
    counted = [(pl.col("outcome") == outcome).sum().cast(pl.Int64).alias(outcome) for outcome in OUTCOMES]
    counted += [(~not_asked_rows()).sum().cast(pl.Int64).alias("asked"), pl.col("missing").sum().cast(pl.Int64)]
    counted += [(pl.col("state") == state).sum().cast(pl.Int64).alias(name) for name, state in STATE_COUNTS.items()]
    return counted


# --- comparisons --------------------------------------------------------------------------------------------


def compare_variants(
    scores: pl.DataFrame,
    *,
    metrics: Mapping[str, bool],
    seed: int = 0,
    pooled: bool = False,
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Compare every pair of prompt variants of a culture on the clusters they share, by means within a cluster.

    A cluster is the sampled unit: in Kalahi a situation, which one variant may ask in several wordings and another in
    one, so that items of equal id need not be counterparts. ``n`` and ``clusters`` both count the shared clusters;
    ``only_a`` and ``only_b`` those that one variant alone has. ``a`` and ``b`` are variants in alphabetical order and
    ``difference`` is a − b; ``variant`` is null, and so is ``language`` where the two ask in different languages. Other
    columns are as in :func:`compare_runs`. ``pooled``: return rows over several cultures instead, with
    :data:`POOLED_SCHEMA`. Raises DataError or UsageError for a table that does not fit.
    """
    means = [_by_cluster(block) for block in blocks(checked_scores(scores, metrics, ranges=ranges), metrics)]
    means.sort(key=lambda block: (block.culture, block.variant))
    pairs = [
        (a.variant, a, b.variant, b)
        for a, b in combinations(means, 2)
        if a.culture == b.culture and a.variant != b.variant
    ]
    if pooled:
        return adjust_p_values(_pooled_table("variants", pairs, metrics, seed=seed)).select(*POOLED_SCHEMA)
    compared = _table("variants", pairs, metrics, seed=seed)
    return adjust_p_values(compared).select(*COMPARISON_SCHEMA)


def _by_cluster(block: ItemBlock) -> ItemBlock:
    """Means within each cluster; the cluster then becomes the item."""

    def means(items: pl.DataFrame) -> pl.DataFrame:
        # Sorted, so that the missing share of a cluster is in the same row as its values.
        return (
            items.group_by("cluster").agg(pl.col(block.metrics).mean()).with_columns(item_id="cluster").sort("cluster")
        )

    completed = block.completed and Completed(*map(means, block.completed))
    return block._replace(items=means(block.items), completed=completed)


def compare_runs(  # noqa: PLR0913 - each is one decision of the caller; all but three have defaults
    scores_a: pl.DataFrame,
    scores_b: pl.DataFrame,
    *,
    label_a: str,
    label_b: str,
    metrics: Mapping[str, bool],
    seed: int = 0,
    mid_p: bool = False,
    equal_within: float | None = None,
    labels: _Labels | None = None,
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Compare two runs on the items both measured: over all cultures, then by culture, language and variant.

    For each metric, there is a first row for each variant that two or more cultures have. It is the mean over these
    cultures of the paired difference, each counting alike, clustered by question: ``cultures`` is their number,
    ``culture`` and ``language`` are null. ``p_varies`` tests whether the true difference is the same in all of them,
    ``culture_sd`` is its estimated standard deviation between them, with an interval from ``culture_sd_low`` to
    ``culture_sd_high``; see :func:`kapwa.stats.pooled.pooled_differences`. The rows of single cultures follow; these
    columns are null in them.

    ``n``: items with a value in both; ``only_a`` and ``only_b``: items with a value in one run only, which enter
    no other number of the row; a culture that one run lacks has no row, and is not in these counts. ``a_value`` and
    ``b_value`` are means over the ``n`` shared items.

    ``p_value``: cluster sign-flip permutation, its mid-p with ``mid_p``. ``p_holm`` and ``p_bh``: adjusted within the
    family that ``family`` names; see :func:`kapwa.stats.families.adjust_p_values`. Metrics are chosen beforehand and
    many are nearly the same, so each metric has its own family.

    ``equal_within``: a margin in the metrics' own unit (0.02: 2 points). It adds the columns ``equal_within``,
    ``p_equal``, the larger p-value of two one-sided tests (Schuirmann 1987) that the true difference lies inside it,
    and ``p_equal_holm``, adjusted within the same family.

    ``missing_a`` and ``missing_b``: the share of each run's answers to the items of both that are missing.
    The verdict must hold even if they all count against it: see :class:`kapwa.stats.intervals.Comparison` and
    :func:`kapwa.stats.families.is_clear`. ``ranges``: the ends of metrics that are not right or wrong.

    ``labels``: by kind and label, the cultures that belong to it. Rows are then labels, named in two more columns
    (:data:`LABEL_SCHEMA`): the mean over a label's cultures, or its one culture's rows. Labels of a kind are a family.
    Returns :data:`POOLED_SCHEMA`. Raises DataError or UsageError for tables that do not fit.
    """
    if label_a == label_b:
        raise UsageError(f"Both runs are called {label_a!r}.", hint="Give them different labels.")
    check_margin(equal_within, metrics)
    sides = (blocks(checked_scores(scores, metrics, ranges=ranges), metrics) for scores in (scores_a, scores_b))
    a, b = ({block[:3]: block for block in side} for side in sides)
    pairs = [(label_a, a[key], label_b, b[key]) for key in sorted(a.keys() & b.keys())]
    settings: Keywords = {"seed": seed, "mid_p": mid_p, "equal_within": equal_within}
    each = _table("runs", pairs, metrics, **settings).with_columns(cultures=pl.lit(1, pl.Int64))
    if labels is None:
        both = pl.concat([_pooled_table("runs", pairs, metrics, **settings), each], how="diagonal")
    else:
        both = _by_label(pairs, each, labels, metrics, settings)
    both, schema = adjust_p_values(both), POOLED_SCHEMA
    if equal_within is not None:
        schema = {**POOLED_SCHEMA, **EQUAL_SCHEMA}
        both = both.with_columns(equal_within=pl.lit(float(equal_within)))
    if labels is not None:
        return both.select(*LABEL_SCHEMA, *schema).sort(_order_in("metric", metrics), maintain_order=True)
    return both.select(*schema).sort(_order_in("metric", metrics), pl.col("cultures") == 1, maintain_order=True)


def with_sides_turned(compared: pl.DataFrame) -> pl.DataFrame:
    """Swap the names of the first and the second side of comparisons; differences do not change their sign.

    The differences a − b of :func:`compare_runs` become differences b − a, and the other way round.
    """
    sides = ("{}", "{}_value", "only_{}", "missing_{}")
    pairs = [(side.format("a"), side.format("b")) for side in sides]
    turned = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    return compared.rename(turned).select(compared.columns)


def _by_label(
    pairs: _Pairs, each: pl.DataFrame, labels: _Labels, metrics: Mapping[str, bool], settings: Mapping[str, object]
) -> pl.DataFrame:
    """Rows of labels: the mean over a label's cultures; where a single one is measured, its rows of ``each``."""
    tables = []
    keys = ("metric", "variant")
    # One culture asked in two languages has a row for each; of several rows without values, only the first remains.
    measured = (pl.col("n") > 0) | (pl.col("n").max().over(keys) == 0) & (pl.int_range(pl.len()).over(keys) == 0)
    for kind, cultures_of in labels.items():
        for label, cultures in cultures_of.items():
            within = [pair for pair in pairs if pair[1].culture in cultures]
            means = _pooled_table("runs", within, metrics, **settings)
            single = each.filter(pl.col("culture").is_in(list(cultures))).join(means, on=keys, how="anti")
            names = {"label_kind": pl.lit(kind), "label": pl.lit(label)}
            tables.append(pl.concat([means, single.filter(measured)], how="diagonal").with_columns(**names))
    return pl.concat(tables)


def _order_in(column: str, names: Iterable[str]) -> pl.Expr:
    """The position of each row's value of ``column`` among ``names``, to sort by."""
    order = {name: position for position, name in enumerate(names)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int64)


def _pooled_table(kind: str, pairs: _Pairs, metrics: Mapping[str, bool], **settings: object) -> pl.DataFrame:
    """Rows over cultures: a row for each metric and pair of names (and variant) that two or more cultures have."""
    groups: dict[tuple[str, str, str | None], list[tuple[ItemBlock, ItemBlock]]] = {}
    for label_a, a, label_b, b in pairs:
        groups.setdefault((label_a, label_b, a.variant if a.variant == b.variant else None), []).append((a, b))
    records = []
    for (label_a, label_b, variant), members in groups.items():
        # A metric that some cultures lack is compared over the others.
        names = [name for name in metrics if any(name in a.metrics and name in b.metrics for a, b in members)]
        if len({a.culture for a, _ in members}) < 2 or not names:
            continue
        aligned = [_aligned(a, b, names) for a, b in members]
        left, right = _stacked(block[0] for block in aligned), _stacked(block[1] for block in aligned)
        clusters = np.concatenate([block[2] for block in aligned])
        cultures = np.repeat([a.culture for a, _ in members], [len(block[2]) for block in aligned])
        flags = np.array([metrics[name] for name in names])
        pooled = compare_over_cultures_with_worst_cases(left, right, cultures, clusters, flags, **settings)
        only_a, only_b = _in_one_alone(left, right)
        labels = {"kind": kind, "a": label_a, "b": label_b, "variant": variant}
        for k, (name, of) in enumerate(zip(names, pooled, strict=True)):
            more = {"cultures": of.cultures, "culture_sd": of.sd, "culture_sd_low": of.sd_low}
            more |= {"culture_sd_high": of.sd_high, "p_varies": of.p_varies, "only_a": only_a[k], "only_b": only_b[k]}
            records.append({**labels, "metric": name, **of.comparison._asdict(), **more})
    table = pl.DataFrame(records, schema=_measured(POOLED_SCHEMA, settings))
    return table.filter(pl.col("cultures") > 1).sort(_order_in("metric", metrics), "variant", "a", "b")


def _side(block: ItemBlock, names: Sequence[str] | None = None) -> Side:
    """The values of a block, (items, metrics), and what they can be where answers are missing; NaN where absent."""

    def matrix(items: pl.DataFrame) -> FloatArray:
        wanted = block.metrics if names is None else names
        values = np.full((items.height, len(wanted)), np.nan)
        for column, name in enumerate(wanted):
            if name in block.metrics:
                values[:, column] = items[name].to_numpy()
        return values

    value = matrix(block.items)
    if block.completed is None:
        return Side(value, value, value, np.zeros(value.shape))
    least, most, missing = map(matrix, block.completed)
    return Side(value, least, most, np.nan_to_num(missing))


def _aligned(a: ItemBlock, b: ItemBlock, names: Sequence[str]) -> tuple[Side, Side, np.ndarray]:
    """Both sides and the cluster of every item either side has, in item order; NaN where absent."""
    if all(a.items[column].equals(b.items[column]) for column in ("item_id", "cluster")):  # as nearly always
        return _side(a, names), _side(b, names), a.items["cluster"].to_numpy()
    sides = [side.items.select("item_id", "cluster").with_row_index("row") for side in (a, b)]
    both = sides[0].join(sides[1], on="item_id", how="full", coalesce=True, suffix=" of b").sort("item_id")
    torn = both.filter(pl.col("cluster") != pl.col("cluster of b"))
    if torn.height:
        first = torn.row(0, named=True)
        raise DataError(
            f"the item {first['item_id']!r} is in cluster {first['cluster']!r} on one side and in "
            f"{first['cluster of b']!r} on the other.",
            column="cluster",
            hint="Compare runs over the same data.",
        )
    clusters = both.select(pl.coalesce("cluster", "cluster of b")).to_series().to_numpy()
    left, right = (
        _in_row_order(_side(block, names), both[rows].cast(pl.Int64).fill_null(block.items.height).to_numpy())
        for block, rows in ((a, "row"), (b, "row of b"))
    )
    return left, right, clusters


def _stacked(sides: Iterable[Side]) -> Side:
    """The rows of several sides, one after the other."""
    return Side(*map(np.concatenate, zip(*sides, strict=True)))


def _in_row_order(side: Side, rows: IntArray) -> Side:
    """A side's rows in the order of ``rows``; NaN where an index is past the last."""
    return Side(*(np.vstack([values, np.full((1, values.shape[1]), np.nan)])[rows] for values in side))


def _in_one_alone(a: Side, b: Side) -> list[list[int]]:
    """How many items have a value on one side only, for each side and metric."""
    pairs = ((a.value, b.value), (b.value, a.value))
    return [(~np.isnan(side) & np.isnan(other)).sum(axis=0).tolist() for side, other in pairs]


def _table(kind: str, pairs: _Pairs, metrics: Mapping[str, bool], **settings: object) -> pl.DataFrame:
    """Compare pairs of named blocks of one culture, metric by metric."""
    records = []
    for label_a, a, label_b, b in pairs:
        labels = {
            "kind": kind,
            "a": label_a,
            "b": label_b,
            "culture": a.culture,
            "language": a.language if a.language == b.language else None,
            "variant": a.variant if a.variant == b.variant else None,
        }
        names = [name for name in a.metrics if name in b.metrics]
        if not names:
            continue
        left, right, clusters = _aligned(a, b, names)
        flags = np.array([metrics[name] for name in names])
        compared = compare_with_worst_cases(left, right, clusters, flags, **settings)
        only_a, only_b = _in_one_alone(left, right)
        records += [
            {**labels, "metric": name, **comparison._asdict(), "only_a": only_a[k], "only_b": only_b[k]}
            for k, (name, comparison) in enumerate(zip(names, compared, strict=True))
        ]
    table = pl.DataFrame(records, schema=_measured(COMPARISON_SCHEMA, settings))
    return table.sort(_order_in("metric", metrics), "culture", "language", "variant", "a", "b")


def _measured(schema: Mapping[str, object], settings: Mapping[str, object]) -> JsonObject:
    """The columns before any p-value is adjusted."""
    tested = () if settings.get("equal_within") is None else ("p_equal", "p_over")
    return {**schema, **dict.fromkeys(tested, pl.Float64)}
