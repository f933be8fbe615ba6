"""Tables of comparisons: two runs, or every two prompt variants, by culture, over cultures and by label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.stats.blocks import Completed, ItemBlock, blocks, checked_scores, order_in, side_of_block
from kapwa.stats.clusters import IntArray
from kapwa.stats.families import adjust_p_values, check_margin
from kapwa.stats.missing import Ends, Side, compare_over_cultures_with_worst_cases, compare_with_worst_cases
from kapwa.stats.schemas import COMPARISON_SCHEMA, EQUAL_SCHEMA, LABEL_SCHEMA, POOLED_SCHEMA
from kapwa.value_types import JsonObject, Keywords

_Pairs = Sequence[tuple[str, ItemBlock, str, ItemBlock]]
_Labels = Mapping[str, Mapping[str, Collection[str]]]


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
        return both.select(*LABEL_SCHEMA, *schema).sort(order_in("metric", metrics), maintain_order=True)
    return both.select(*schema).sort(order_in("metric", metrics), pl.col("cultures") == 1, maintain_order=True)


def swap_sides(compared: pl.DataFrame) -> pl.DataFrame:
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
    return table.filter(pl.col("cultures") > 1).sort(order_in("metric", metrics), "variant", "a", "b")


def _aligned(a: ItemBlock, b: ItemBlock, names: Sequence[str]) -> tuple[Side, Side, np.ndarray]:
    """Both sides and the cluster of every item either side has, in item order; NaN where absent."""
    if all(a.items[column].equals(b.items[column]) for column in ("item_id", "cluster")):  # as nearly always
        return side_of_block(a, names), side_of_block(b, names), a.items["cluster"].to_numpy()
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
        _in_row_order(side_of_block(block, names), both[rows].cast(pl.Int64).fill_null(block.items.height).to_numpy())
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
    return table.sort(order_in("metric", metrics), "culture", "language", "variant", "a", "b")


def _measured(schema: Mapping[str, object], settings: Mapping[str, object]) -> JsonObject:
    """The columns before any p-value is adjusted."""
    tested = () if settings.get("equal_within") is None else ("p_equal", "p_over")
    return {**schema, **dict.fromkeys(tested, pl.Float64)}
