"""Estimate tables and metric correlations against figures worked out row by row."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import DataError, UsageError
from kapwa.records import OUTCOMES, SCORE_COLUMNS
from kapwa.stats.correlation import pearson, spearman
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.tables import CORRELATION_SCHEMA, ESTIMATE_SCHEMA, correlate_metrics, estimate_table

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
                rows.append((*key, "mc1", right if i % 7 else None, outcome))
                rows.append((*key, "mc2", float(rng.random()), "scored"))
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
        (alone,) = mean_estimates(values, part["cluster"].to_list(), binary=METRICS[row["metric"]])
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
        (score_rows(), {"level": 0.0}, UsageError, "level"),
    ],
)
def test_tables_that_do_not_fit_are_refused(scores: pl.DataFrame, options: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_table(scores, **{"metrics": METRICS, **options})


def test_metric_correlations_equal_the_functions_and_skip_names() -> None:
    rng = np.random.default_rng(4)
    values = pl.DataFrame({"model": list("abcdefgh"), **{m: rng.random(8) for m in ("mc1", "bleu", "chrf")}})
    values = values.with_columns(bleu=pl.when(pl.col("model") == "c").then(None).otherwise(pl.col("bleu")))
    table = correlate_metrics(values)
    assert table.schema == pl.Schema(CORRELATION_SCHEMA)
    assert table.select("metric_a", "metric_b").unique(maintain_order=True).rows() == [
        ("mc1", "bleu"),
        ("mc1", "chrf"),
        ("bleu", "chrf"),
    ]
    for row in table.iter_rows(named=True):
        function = {"pearson": pearson, "spearman": spearman}[row["coefficient"]]
        kept = values.drop_nulls([row["metric_a"], row["metric_b"]])
        one = function(kept[row["metric_a"]].to_numpy(), kept[row["metric_b"]].to_numpy())
        assert (row["value"], row["low"], row["high"], row["p_value"], row["n"]) == (
            one.value,
            one.low,
            one.high,
            one.p_value,
            7 if "bleu" in (row["metric_a"], row["metric_b"]) else 8,
        )


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (pl.DataFrame({"model": ["a"], "mc1": [0.5]}), UsageError),
        (pl.DataFrame({"mc1": [0.5, float("inf")], "mc2": [0.1, 0.2]}), DataError),
    ],
)
def test_correlations_of_unusable_tables_are_refused(values: pl.DataFrame, error: type[Exception]) -> None:
    with pytest.raises(error):
        correlate_metrics(values)
