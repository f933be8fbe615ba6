"""Comparison tables: pairs on shared items, counts of the unshared, families of tests."""

from __future__ import annotations

import polars as pl
import pytest
from test_tables import METRICS, score_rows

from kapwa.errors import DataError, UsageError
from kapwa.stats.intervals import paired_differences
from kapwa.stats.significance import benjamini_hochberg, holm
from kapwa.stats.tables import COMPARISON_SCHEMA, adjust_p_values, compare_runs, compare_variants

FIELDS = ("a_value", "b_value", "difference", "se", "low", "high", "boot_low", "boot_high", "p_value", "mde")


def runs(**options: object) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two runs; the second lacks five items and has two that the first lacks."""
    a, b = score_rows(seed=1), score_rows(seed=2)
    b = b.filter(~pl.col("item_id").is_in([f"{i:03}" for i in range(5)]))
    return a.filter(~pl.col("item_id").is_in(["020", "021"])), b


def test_runs_are_paired_on_shared_items_of_the_same_variant() -> None:
    a, b = runs()
    table = compare_runs(a, b, label_a="A", label_b="B", metrics=METRICS, seed=7)
    assert table.schema == pl.Schema(COMPARISON_SCHEMA)
    assert table.select("kind", "a", "b", "metric", "variant").rows() == [
        ("runs", "A", "B", metric, variant) for metric in METRICS for variant in ("bare", "full")
    ]
    for row in table.iter_rows(named=True):
        same = (pl.col("metric") == row["metric"]) & (pl.col("variant") == row["variant"])
        measured = same & pl.col("value").is_not_null()
        pairs = a.filter(measured).join(b.filter(measured), on="item_id").sort("item_id")
        (alone,) = paired_differences(
            pairs["value"].to_numpy(),
            pairs["value_right"].to_numpy(),
            pairs["cluster"].to_list(),
            binary=METRICS[row["metric"]],
            seed=7,
        )
        # The bootstrap numbers clusters among all items of either run; random signs likewise.
        exact = [field for field in FIELDS if field not in ("boot_low", "boot_high", "p_value")]
        for field in exact:
            assert row[field] == pytest.approx(getattr(alone, field), rel=1e-9), field
        assert row["p_value"] == pytest.approx(alone.p_value, abs=0.01)
        assert row["boot_low"] == pytest.approx(alone.boot_low, abs=0.3 * alone.se)
        assert (row["n"], row["clusters"], row["method"]) == (alone.n, alone.clusters, alone.method)
        ids = [set(scores.filter(measured)["item_id"]) for scores in (a, b)]
        assert (row["only_a"], row["only_b"]) == (len(ids[0] - ids[1]), len(ids[1] - ids[0]))
        assert row["n"] + row["only_a"] == len(ids[0])
        assert row["only_a"] > 0
        assert row["only_b"] > 0


def test_variants_are_compared_in_all_pairs_within_a_culture() -> None:
    scores = score_rows(cultures=("amhara", "filipino"))
    third = scores.filter(pl.col("variant") == "bare", pl.col("culture") == "filipino").with_columns(
        variant=pl.lit("partial"), value=1 - pl.col("value")
    )
    table = compare_variants(pl.concat([scores, third]), metrics=METRICS)
    mc1 = table.filter(pl.col("metric") == "mc1")
    assert mc1.select("culture", "a", "b").rows() == [
        ("amhara", "bare", "full"),
        ("filipino", "bare", "full"),
        ("filipino", "bare", "partial"),
        ("filipino", "full", "partial"),
    ]
    assert mc1["variant"].null_count() == mc1.height
    row = table.filter(metric="mc2", culture="filipino", a="bare", b="partial").row(0, named=True)
    assert row["a_value"] == pytest.approx(1 - row["b_value"])
    assert row["difference"] == pytest.approx(row["a_value"] - row["b_value"])


def test_holm_is_within_a_metric_and_bh_over_the_table() -> None:
    table = compare_variants(score_rows(seed=3, cultures=("a", "b", "c", "d")), metrics=METRICS)
    for metric in METRICS:
        part = table.filter(pl.col("metric") == metric)
        assert part["p_holm"].to_list() == holm(part["p_value"].to_numpy()).tolist()
    assert table["p_bh"].to_list() == benjamini_hochberg(table["p_value"].to_numpy()).tolist()
    assert (table["p_holm"] > table["p_value"]).any()


def test_joined_tables_are_adjusted_as_one_family() -> None:
    a, b = runs()
    parts = [
        compare_runs(a, b, label_a="A", label_b="B", metrics=METRICS),
        compare_runs(b, a, label_a="B", label_b="C", metrics=METRICS),
    ]
    joined = adjust_p_values(pl.concat(parts))
    p = joined.filter(pl.col("metric") == "mc2")
    assert p["p_holm"].to_list() == holm(p["p_value"].to_numpy()).tolist()
    assert p["p_holm"][0] >= parts[0].filter(pl.col("metric") == "mc2")["p_holm"][0]


def test_a_run_compared_with_itself_differs_nowhere() -> None:
    a, _ = runs()
    table = compare_runs(a, a, label_a="A", label_b="again", metrics=METRICS)
    assert table["difference"].to_list() == [0.0] * 4
    assert table["p_value"].to_list() == [1.0] * 4
    binary = table.filter(pl.col("metric") == "mc1")
    assert (binary["low"] < 0).all()
    assert (binary["high"] > 0).all()
    assert table.filter(pl.col("metric") == "mc2")["method"].unique().to_list() == ["no-spread, sign-flip exact"]


def test_no_common_block_or_one_variant_gives_an_empty_table() -> None:
    a = score_rows()
    other = a.with_columns(culture=pl.lit("elsewhere"))
    for table in (
        compare_runs(a, other, label_a="A", label_b="B", metrics=METRICS),
        compare_variants(a.filter(pl.col("variant") == "full"), metrics=METRICS),
        compare_variants(a.clear(), metrics=METRICS),
    ):
        assert (table.height, table.schema) == (0, pl.Schema(COMPARISON_SCHEMA))


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = runs()
    with pytest.raises(UsageError, match="Both runs are called 'A'"):
        compare_runs(a, b, label_a="A", label_b="A", metrics=METRICS)
    moved = b.with_columns(cluster=pl.lit("elsewhere"))
    with pytest.raises(DataError, match="item '005' is in cluster 'c1' on one side and in 'elsewhere'"):
        compare_runs(a, moved, label_a="A", label_b="B", metrics=METRICS)
    with pytest.raises(UsageError, match="None of the wanted metrics"):
        compare_variants(a, metrics={"mc9": True})
