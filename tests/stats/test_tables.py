"""Tables of estimates, comparisons and metric correlations against figures worked out row by row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import DataError, UsageError
from kapwa.records import OUTCOMES, SCORE_COLUMNS
from kapwa.stats.comparison_tables import compare_runs, compare_variants
from kapwa.stats.correlation import CORRELATION_SCHEMA, correlate_metrics, pearson, spearman
from kapwa.stats.estimate_tables import estimate_table
from kapwa.stats.families import adjust_p_values
from kapwa.stats.intervals import mean_estimates, paired_differences
from kapwa.stats.schemas import COMPARISON_SCHEMA, ESTIMATE_SCHEMA, POOLED_SCHEMA
from kapwa.stats.significance import benjamini_hochberg, holm
from kapwa.stats.states import state_of

METRICS = {"mc1": True, "mc2": False}


def score_rows(seed: int = 0, items: int = 30, cultures: tuple[str, ...] = ("filipino",)) -> pl.DataFrame:
    """Two metrics and two variants over items in clusters of up to three; some nulls with their outcomes."""
    rng = np.random.default_rng(seed)
    rows = []
    for culture in cultures:
        for variant in ("full", "bare"):
            for i in range(items):
                base = (f"{i:03}", variant, culture, "fil", ("ethics", "knowledge")[i % 3 == 0], f"t{i % 4}")
                key = (*base, f"c{i // 3}", 0)
                right = float(rng.random() < 0.5)
                outcome = ("right" if right else "wrong") if i % 7 else ("unparsed", "refused")[i % 2]
                rows.append((*key, "mc1", right if i % 7 else None, outcome, state_of(outcome)))
                rows.append((*key, "mc2", float(rng.random()), "scored", "answered"))
    return pl.DataFrame(
        rows, schema={**dict.fromkeys(SCORE_COLUMNS, pl.String), "sample": pl.Int64, "value": pl.Float64}, orient="row"
    )


def test_every_row_equals_the_estimate_of_its_items() -> None:
    scores = score_rows(cultures=("amhara", "filipino"))
    table = estimate_table(scores, metrics=METRICS)
    assert table.schema == pl.Schema(ESTIMATE_SCHEMA)
    assert table.height == 2 * 2 * (1 + 2 + 4) * 2
    for row in table.iter_rows(named=True):
        part = scores.filter(*(pl.col(name) == row[name] for name in ("culture", "variant", "metric")))
        if row["group"] != "all":
            part = part.filter(pl.col(row["group"]) == row["stratum"])
        values = part["value"].fill_null(np.nan).to_numpy()
        (alone,) = mean_estimates(values, part["cluster"].to_list(), share=METRICS[row["metric"]])
        for field in ("value", "se", "low", "high"):
            assert row[field] == pytest.approx(getattr(alone, field), rel=1e-9), (field, row)
        assert (row["n"], row["clusters"], row["method"]) == (alone.n, alone.clusters, alone.method)
        assert {o: row[o] for o in OUTCOMES} == {o: (part["outcome"] == o).sum() for o in OUTCOMES}
        assert sum(row[o] for o in OUTCOMES) == part.height


def test_samples_of_an_item_are_averaged_first() -> None:
    scores = score_rows().filter(pl.col("metric") == "mc1", pl.col("value").is_not_null())
    one = estimate_table(scores, metrics=METRICS, groups=())
    copies = pl.concat([scores.with_columns(sample=pl.lit(s, dtype=pl.Int64)) for s in range(5)])
    five = estimate_table(copies, metrics=METRICS, groups=())
    assert five["right"].to_list() == [5 * count for count in one["right"]]
    same = ["value", "se", "low", "high", "n", "clusters"]
    assert five.select(same).equals(one.select(same))


def test_an_item_with_some_samples_unparsed_counts_by_those_that_were_parsed() -> None:
    base = (
        score_rows().filter(pl.col("metric") == "mc1").head(2).with_columns(value=pl.lit(1.0), outcome=pl.lit("right"))
    )
    second = base.with_columns(
        sample=pl.lit(1, dtype=pl.Int64), value=pl.Series([None, 0.0]), outcome=pl.Series(["unparsed", "wrong"])
    )
    row = estimate_table(pl.concat([base, second]), metrics={"mc1": True}, groups=()).row(0, named=True)
    assert (row["value"], row["n"], row["right"], row["wrong"], row["unparsed"]) == (0.75, 2, 2, 1, 1)


def test_a_metric_measured_nowhere_has_a_row_that_says_so() -> None:
    scores = (
        score_rows()
        .filter(pl.col("metric") == "mc1")
        .with_columns(value=pl.lit(None, dtype=pl.Float64), outcome=pl.lit("failed"))
    )
    table = estimate_table(scores, metrics=METRICS, groups=())
    assert table["method"].to_list() == ["no-data", "no-data"]
    assert table["value"].to_list() == [None, None]
    assert (table["n"].to_list(), table["failed"].to_list()) == ([0, 0], [30, 30])


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_order_of_rows_does_not_change_a_bit(seed: int) -> None:
    # Of very different sizes, so that the order of adding them shows in the last bits.
    draws = np.random.default_rng(1).random(7) * 10.0 ** np.arange(0, 14, 2)
    scores = pl.concat(
        score_rows(items=9).with_columns(
            sample=pl.lit(s, dtype=pl.Int64),
            value=pl.when(pl.col("metric") == "mc2").then(draws[s]).otherwise(pl.col("value")),
        )
        for s in range(7)
    )
    shuffled = scores.sample(fraction=1.0, shuffle=True, seed=seed)
    assert estimate_table(shuffled, metrics=METRICS).equals(estimate_table(scores, metrics=METRICS))


def test_no_scores_give_an_empty_table_of_the_same_columns() -> None:
    empty = estimate_table(score_rows().clear(), metrics=METRICS)
    assert (empty.height, empty.schema) == (0, pl.Schema(ESTIMATE_SCHEMA))


def spoilt(**columns: object) -> pl.DataFrame:
    """The table with one column of its first row replaced."""
    scores = score_rows()
    first = scores.head(1).with_columns(**columns)
    return pl.concat([first, scores.tail(-1)], how="vertical_relaxed")


@pytest.mark.parametrize(
    ("scores", "options", "error", "words"),
    [
        (score_rows().drop("cluster", "topic"), {}, DataError, "lacks the columns topic, cluster"),
        (spoilt(value=pl.lit(float("nan"))), {}, DataError, r"'value': .*not a finite number .item '000'"),
        (spoilt(value=pl.lit(2.0)), {}, DataError, "outside 0 to 1"),
        (spoilt(outcome=pl.lit("ok")), {}, DataError, "outcome is unknown"),
        (spoilt(cluster=pl.lit(None, dtype=pl.String)), {}, DataError, "cluster is missing"),
        (spoilt(cluster=pl.lit("other")), {}, DataError, "'000' has 2 different values"),
        (spoilt(topic=pl.lit("other")), {}, DataError, "column 'topic'.*2 different values"),
        (pl.concat([score_rows(), score_rows().head(1)]), {}, DataError, "more than once .item '000'"),
        (score_rows(), {"metrics": {"mc9": True}}, UsageError, "Did you mean 'mc[12]'"),
        (score_rows(), {"metrics": {"topic": True}}, UsageError, "cannot be called 'topic'"),
        (score_rows(), {"groups": ("topics",)}, UsageError, "Did you mean 'topic'"),
        (score_rows(), {"groups": ("item_id",)}, UsageError, "no column 'item_id' to group by"),
    ],
)
def test_tables_that_do_not_fit_are_refused(scores: pl.DataFrame, options: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_table(scores, **{"metrics": METRICS, **options})


def runs(**options: object) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two runs; the second lacks five items and has two that the first lacks."""
    a, b = score_rows(seed=1), score_rows(seed=2)
    b = b.filter(~pl.col("item_id").is_in([f"{i:03}" for i in range(5)]))
    return a.filter(~pl.col("item_id").is_in(["020", "021"])), b


def test_runs_are_paired_on_shared_items_of_the_same_variant() -> None:
    a, b = runs()
    table = compare_runs(a, b, label_a="A", label_b="B", metrics=METRICS, seed=7)
    assert table.schema == pl.Schema(POOLED_SCHEMA)
    assert table["cultures"].to_list() == [1] * table.height
    assert table.select("kind", "a", "b", "metric", "variant").rows() == [
        ("runs", "A", "B", metric, variant) for metric in METRICS for variant in ("bare", "full")
    ]
    for row in table.iter_rows(named=True):
        same = (pl.col("metric") == row["metric"]) & (pl.col("variant") == row["variant"])
        measured = same & pl.col("value").is_not_null()
        pairs = a.filter(measured).join(b.filter(measured), on="item_id").sort("item_id")
        sides = pairs["value"].to_numpy(), pairs["value_right"].to_numpy()
        (alone,) = paired_differences(*sides, pairs["cluster"].to_list(), binary=METRICS[row["metric"]], seed=7)
        # Random signs number clusters among all items of either run.
        for field in ("a_value", "b_value", "difference", "se", "low", "high", "differing"):
            assert row[field] == pytest.approx(getattr(alone, field), rel=1e-9), field
        assert row["p_value"] == pytest.approx(alone.p_value, abs=0.01)
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
    pairs = [("bare", "full"), ("bare", "partial"), ("full", "partial")]
    wanted = [("amhara", "bare", "full"), *(("filipino", *pair) for pair in pairs)]
    assert mc1.select("culture", "a", "b").rows() == wanted
    assert mc1["variant"].null_count() == mc1.height
    row = table.filter(metric="mc2", culture="filipino", a="bare", b="partial").row(0, named=True)
    assert row["a_value"] == pytest.approx(1 - row["b_value"])
    assert row["difference"] == pytest.approx(row["a_value"] - row["b_value"])


def test_a_family_is_of_one_kind_metric_variant_and_level() -> None:
    table = compare_variants(score_rows(seed=3, cultures=("a", "b", "c", "d")), metrics=METRICS)
    other = compare_runs(*runs(), label_a="A", label_b="B", metrics=METRICS)
    joined = adjust_p_values(pl.concat([table, other.select(*COMPARISON_SCHEMA)]))
    for table_of_tests in (table, joined):
        parts = table_of_tests.partition_by("kind", "metric", "variant")
        assert len(parts) == table_of_tests["family"].n_unique() == (2 if table_of_tests is table else 6)
        for part in parts:
            assert part["p_holm"].to_list() == holm(part["p_value"].to_numpy()).tolist()
            assert part["p_bh"].to_list() == benjamini_hochberg(part["p_value"].to_numpy()).tolist()
    assert (table["p_holm"] > table["p_value"]).any()


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
    for table, schema in (
        (compare_runs(a, other, label_a="A", label_b="B", metrics=METRICS), POOLED_SCHEMA),
        (compare_variants(a.filter(pl.col("variant") == "full"), metrics=METRICS), COMPARISON_SCHEMA),
        (compare_variants(a.clear(), metrics=METRICS), COMPARISON_SCHEMA),
    ):
        assert (table.height, table.schema) == (0, pl.Schema(schema))


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = runs()
    with pytest.raises(UsageError, match="Both runs are called 'A'"):
        compare_runs(a, b, label_a="A", label_b="A", metrics=METRICS)
    moved = b.with_columns(cluster=pl.lit("elsewhere"))
    with pytest.raises(DataError, match="item '005' is in cluster 'c1' on one side and in 'elsewhere'"):
        compare_runs(a, moved, label_a="A", label_b="B", metrics=METRICS)
    with pytest.raises(UsageError, match="None of the given metrics"):
        compare_variants(a, metrics={"mc9": True})


def test_metric_correlations_equal_the_functions_and_skip_names() -> None:
    rng = np.random.default_rng(4)
    values = pl.DataFrame({"model": list("abcdefgh"), **{m: rng.random(8) for m in ("mc1", "bleu", "chrf")}})
    values = values.with_columns(bleu=pl.when(pl.col("model") == "c").then(None).otherwise(pl.col("bleu")))
    table = correlate_metrics(values)
    assert table.schema == pl.Schema(CORRELATION_SCHEMA)
    wanted = []
    for a, b, n in (("mc1", "bleu", 7), ("mc1", "chrf", 8), ("bleu", "chrf", 7)):
        kept = values.drop_nulls([a, b])
        for function in (pearson, spearman):
            wanted.append((a, b, function.__name__, *function(kept[a].to_numpy(), kept[b].to_numpy())))
        assert wanted[-1][-1] == n
    assert table.rows() == wanted


def test_correlations_of_unusable_tables_are_refused() -> None:
    with pytest.raises(UsageError, match="at least two numeric columns"):
        correlate_metrics(pl.DataFrame({"model": ["a"], "mc1": [0.5]}))
    with pytest.raises(DataError, match="infinite"):
        correlate_metrics(pl.DataFrame({"mc1": [0.5, float("inf")], "mc2": [0.1, 0.2]}))
