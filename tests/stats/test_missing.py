"""Missing answers: the worst cases are those of tables filled by hand, and without any nothing moves."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from kapwa.records import MISSING
from kapwa.stats.comparison_tables import compare_runs, compare_variants
from kapwa.stats.estimate_tables import estimate_table
from kapwa.stats.every_pair import every_pair
from kapwa.stats.families import is_clear, is_equal, is_undecided, missing_share
from kapwa.stats.missing import cut_at_range, item_bounds, pooled_mean_with_bounds, with_bounds

TEXTS = ("item_id", "variant", "culture", "language", "category", "topic", "cluster", "metric", "outcome")
WORST = ["least_low", "least_high", "most_low", "most_high"]


def run(
    *, seed: int, right: float = 0.7, lost: float = 0.0, lost_wrong: float = 0.0, cultures: int = 2, samples: int = 1
) -> pl.DataFrame:
    """Scores of one run; ``lost``: the share of all answers that is missing, ``lost_wrong``: of the wrong ones."""
    random = np.random.default_rng(seed)
    rows = []
    for culture in range(cultures):
        for question in range(60):
            for sample in range(samples):
                value = float(random.random() < right)
                gone = random.random() < (lost if value else max(lost, lost_wrong))
                outcome = str(random.choice(MISSING)) if gone else "right" if value else "wrong"
                place = (f"{culture}-{question}", "v", f"c{culture}", "en", "", "", f"q{question // 2}", "m", outcome)
                rows.append((*place, sample, None if gone else value))
    kinds = {**dict.fromkeys(TEXTS, pl.String), "sample": pl.Int64, "value": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def filled(scores: pl.DataFrame, value: float) -> pl.DataFrame:
    """The slow, plain worst case: every missing answer is written in."""
    outcome = pl.when(pl.col("value").is_null()).then(pl.lit("scored")).otherwise("outcome")
    return scores.with_columns(value=pl.col("value").fill_null(value), outcome=outcome)


def compared(a: pl.DataFrame, b: pl.DataFrame, **settings: object) -> pl.DataFrame:
    return compare_runs(a, b, label_a="A", label_b="B", metrics={"m": True}, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("cultures", [1, 3])
def test_the_worst_cases_of_a_comparison_are_those_of_tables_filled_by_hand(cultures: int, samples: int) -> None:
    a, b = (run(seed=seed, lost=0.1, cultures=cultures, samples=samples) for seed in (1, 2))
    table = compared(a, b)
    least, most = compared(filled(a, 0.0), filled(b, 1.0)), compared(filled(a, 1.0), filled(b, 0.0))
    for case, ends in ((least, WORST[:2]), (most, WORST[2:])):
        expected = case.select(pl.col("low").alias(ends[0]), pl.col("high").alias(ends[1]))
        assert_frame_equal(table.select(ends), expected)
    for row, low, high in zip(table.to_dicts(), least.to_dicts(), most.to_dicts(), strict=True):
        against = low if row["difference"] > 0 else high
        assert row["p_worst"] == (against["p_value"] if against["difference"] * row["difference"] > 0 else 1.0)
    per_item = a.group_by("culture", "item_id").agg(pl.col("value").is_null().mean())
    assert table["missing_a"][0] == pytest.approx(per_item["value"].mean())


def test_the_worst_cases_of_two_variants_are_those_of_tables_filled_by_hand() -> None:
    """Clusters take the place of items there, and what is missing stays in the row of its own cluster."""
    one, other = run(seed=1, lost=0.1, cultures=1), run(seed=2, lost=0.2, cultures=1)
    both = pl.concat([one, other.with_columns(variant=pl.lit("w"))])
    metrics = {"m": True}
    (row,) = compare_variants(both, metrics=metrics).to_dicts()
    for ends, value_of_v in ((WORST[:2], 0.0), (WORST[2:], 1.0)):
        of_v, of_w = filled(one, value_of_v), filled(other, 1 - value_of_v).with_columns(variant=pl.lit("w"))
        (case,) = compare_variants(pl.concat([of_v, of_w]), metrics=metrics).to_dicts()
        assert [row[end] for end in ends] == [case["low"], case["high"]]
    for side, scores in (("missing_a", one), ("missing_b", other)):
        assert row[side] == pytest.approx(scores["value"].is_null().mean())


def test_without_a_missing_answer_the_worst_case_is_what_was_measured() -> None:
    table = compared(run(seed=1), run(seed=2), equal_within=0.1)
    assert table["missing_a"].to_list() == [0.0] * table.height
    for name, source in {
        "p_worst": "p_value",
        "p_worst_holm": "p_holm",
        "least_low": "low",
        "most_high": "high",
    }.items():
        assert table[name].to_list() == table[source].to_list()
    assert not any(map(is_undecided, table.to_dicts()))


def test_two_runs_of_which_one_fails_where_it_would_be_wrong_are_not_decided() -> None:
    old, new = run(seed=1, right=0.7), run(seed=2, right=0.7, lost_wrong=0.9)
    (row, *_) = compared(new, old).to_dicts()
    assert row["difference"] > 0.15
    assert row["p_holm"] < 0.05
    assert not is_clear(row)
    assert is_undecided(row)
    assert missing_share(row) == row["missing_a"] > 0.2


def test_few_missing_answers_change_no_clear_verdict() -> None:
    (row, *_) = compared(run(seed=1, right=0.9, lost=0.01), run(seed=2, right=0.5, lost=0.01)).to_dicts()
    assert missing_share(row) > 0
    assert is_clear(row)
    assert not is_undecided(row)


def test_equal_is_said_only_where_the_missing_answers_cannot_undo_it() -> None:
    old = run(seed=1)
    gone = old.with_columns(row=pl.int_range(pl.len())).with_columns(
        value=pl.when(pl.col("row") % 4 == 0).then(None).otherwise("value"),
        outcome=pl.when(pl.col("row") % 4 == 0).then(pl.lit("filtered")).otherwise("outcome"),
    )
    assert is_equal(compared(old, old, equal_within=0.1).row(0, named=True))
    assert not is_equal(compared(old, gone.drop("row"), equal_within=0.1).row(0, named=True))


def test_what_was_not_asked_is_neither_missing_nor_wrong() -> None:
    old, whole = run(seed=1), run(seed=2)
    half = pl.col("item_id").str.ends_with("1")
    part = whole.with_columns(
        value=pl.when(half).then(None).otherwise("value"),
        outcome=pl.when(half).then(pl.lit("not asked")).otherwise("outcome"),
    )
    table = compared(part, old)
    assert table["missing_a"].to_list() == [0.0] * table.height
    (row, *_) = estimate_table(part, metrics={"m": True}, groups=()).to_dicts()
    assert (row["asked"], row["missing"], row["state_not_asked"]) == (54, 0, 6)
    assert (row["least"], row["most"]) == (row["value"], row["value"])


def test_bounds_of_estimates_are_those_of_tables_filled_by_hand() -> None:
    scores = run(seed=3, lost=0.2, samples=2)
    table = estimate_table(scores, metrics={"m": True}, groups=())
    low, high = (estimate_table(filled(scores, value), metrics={"m": True}, groups=()) for value in (0.0, 1.0))
    assert table["least"].to_list() == low["value"].to_list()
    assert table["most"].to_list() == high["value"].to_list()
    assert table["least_low"].to_list() == low["low"].to_list()
    assert table["most_high"].to_list() == high["high"].to_list()
    assert (
        table["missing"].to_list()
        == scores.group_by("culture").agg(pl.col("value").null_count()).sort("culture")["value"].to_list()
    )
    assert table["asked"].to_list() == [120, 120]


def items(scores: pl.DataFrame) -> pl.DataFrame:
    keys = ("culture", "language", "item_id")
    return item_bounds(with_bounds(scores, {"m": True}, {}), keys, ("cluster",))


def test_bounds_of_a_mean_over_cultures_are_those_of_tables_filled_by_hand() -> None:
    scores = run(seed=4, lost=0.2, samples=2, cultures=3)
    mean = pooled_mean_with_bounds(items(scores), share=True, ends=(0.0, 1.0))
    low, high = (
        pooled_mean_with_bounds(items(filled(scores, value)), share=True, ends=(0.0, 1.0)) for value in (0.0, 1.0)
    )
    assert (mean["least"], mean["most"]) == (low["value"], high["value"])
    assert (mean["least_low"], mean["most_high"]) == (low["low"], high["high"])
    assert (mean["asked"], mean["missing"]) == (360, scores["value"].null_count())
    assert (low["missing"], low["least"]) == (0, low["value"])


def test_a_culture_whose_answers_are_all_missing_is_in_the_bounds() -> None:
    scores = run(seed=5, right=1.0)
    lost = pl.col("culture") == "c0"
    scores = scores.with_columns(
        value=pl.when(lost).then(None).otherwise("value"),
        outcome=pl.when(lost).then(pl.lit("failed")).otherwise("outcome"),
    )
    mean = pooled_mean_with_bounds(items(scores), share=True, ends=(0.0, 1.0))
    assert (mean["value"], mean["least"], mean["most"]) == (1.0, 0.5, 1.0)


def test_an_interval_is_cut_at_the_range_and_keeps_its_value() -> None:
    wide = {"value": 0.9, "low": -0.2, "high": 1.3, "least": 0.8, "most": 1.0, "least_low": -0.5, "most_high": 1.4}
    assert cut_at_range(wide, (0.0, 1.0)) == {**wide, "low": 0.0, "high": 1.0, "least_low": 0.0, "most_high": 1.0}
    assert cut_at_range(wide, (None, None)) == wide
    assert cut_at_range({**wide, "value": 1.2}, (0.0, 1.0))["high"] == 1.2, "a value that strays stays inside"
    nothing = {**wide, "value": None, "low": None, "high": None}
    assert cut_at_range(nothing, (0.0, 1.0)) == {**nothing, "least_low": 0.0, "most_high": 1.0}


def test_every_pair_counts_missing_answers_as_two_runs_compared_do() -> None:
    tables = [run(seed=seed, lost=0.1) for seed in (1, 2)]
    pair = every_pair(list(map(items, tables)), ["A", "B"], "m", "v", binary=True)
    names = [*WORST, "missing_a", "missing_b"]
    assert_frame_equal(pair.select(names), compared(*tables).head(1).select(names), rel_tol=1e-9, abs_tol=1e-12)


def test_a_measure_without_ends_is_bounded_by_what_was_seen() -> None:
    scores = pl.DataFrame(
        {"metric": ["m"] * 4, "value": [3.0, 9.0, None, None], "outcome": ["scored", "scored", "failed", "unparsed"]}
    )
    bounded = with_bounds(scores, {"m": False}, {"m": (0.0, None)})
    assert bounded["least"].to_list() == [3.0, 9.0, 0.0, None]
    assert bounded["most"].to_list() == [3.0, 9.0, 9.0, None]
    assert bounded["missing"].to_list() == [0.0, 0.0, 1.0, 0.0]
