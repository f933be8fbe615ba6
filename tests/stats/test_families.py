"""Families of tests, equality within a margin, and how far a matcher's error carries: twins from the definitions."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from kapwa.errors import UsageError
from kapwa.records import SCORE_COLUMNS
from kapwa.stats.comparison_tables import compare_runs
from kapwa.stats.families import adjust_p_values, adjust_spreads, is_clear
from kapwa.stats.fragility import with_undone_shares
from kapwa.stats.intervals import equality_p, paired_differences
from kapwa.stats.schemas import EQUAL_SCHEMA, POOLED_SCHEMA
from kapwa.stats.significance import holm
from kapwa.stats.spread import CultureSpread, culture_spread

KINDS = {**dict.fromkeys(SCORE_COLUMNS[:-1], pl.String), "sample": pl.Int64, "value": pl.Float64}


def score_rows(random: np.random.Generator, share: float, cultures: str = "abc", items: int = 40) -> pl.DataFrame:
    rows = []
    for culture, variant, i in product(cultures, ("full", "bare"), range(items)):
        right = float(random.random() < share)
        key = (f"{culture}{i}", variant, culture, "en", "", "", f"q{i}", 0)
        rows.append((*key, "sem_b", right, "right" if right else "wrong"))
    return pl.DataFrame(rows, schema=KINDS, orient="row")


def compared(a: pl.DataFrame, b: pl.DataFrame, **settings: Any) -> pl.DataFrame:
    labels = {"label_a": "A", "label_b": "B", "metrics": {"sem_b": True}}
    return compare_runs(a, b, **{**labels, **settings})


def test_another_variant_or_level_moves_no_adjusted_p() -> None:
    random = np.random.default_rng(1)
    a, b = score_rows(random, 0.7), score_rows(random, 0.5)
    every = compared(a, b).filter(variant="full")
    alone = compared(a.filter(variant="full"), b.filter(variant="full"))
    for column in ("p_holm", "p_bh", "p_varies_holm", "mde", "family"):
        assert every[column].to_list() == alone[column].to_list()
    assert every["family"].unique(maintain_order=True).to_list() == [
        "1 test of sem_b in the variant full (1 pair of runs, means over cultures)",
        "3 tests of sem_b in the variant full (1 pair of runs, 3 cultures one by one)",
    ]


def test_with_more_runs_the_family_is_all_pairs_and_says_so() -> None:
    random = np.random.default_rng(2)
    a, b, c = (score_rows(random, share) for share in (0.7, 0.5, 0.6))
    pairs = [compared(a, b), compared(a, c, label_b="C"), compared(b, c, label_a="B", label_b="C")]
    joined = adjust_p_values(pl.concat(pairs)).filter(variant="full")
    singles = joined.filter(pl.col("culture").is_not_null())
    assert singles["family"].unique().to_list() == [
        "9 tests of sem_b in the variant full (3 pairs of runs, 3 cultures one by one)"
    ]
    # Holm from its definition.
    stepped, p = 0.0, sorted(singles["p_value"].to_list())
    wanted = []
    for rank, value in enumerate(p):
        stepped = max(stepped, min(1.0, value * (len(p) - rank)))
        wanted.append(stepped)
    assert sorted(singles["p_holm"].to_list()) == pytest.approx(wanted)


def two_one_sided(differences: np.ndarray, groups: np.ndarray, margin: float) -> float:
    """From the definition: clustered t of the mean against each end of the margin, with the larger p."""
    n, mean, labels = len(differences), differences.mean(), np.unique(groups)
    totals = np.array([(differences[groups == label] - mean).sum() for label in labels])
    count = len(labels)
    error = math.sqrt((totals**2).sum() * count / (count - 1)) / n
    above = student.sf((mean + margin) / error, count - 1)
    below = student.cdf((mean - margin) / error, count - 1)
    return float(max(above, below))


@pytest.mark.parametrize("seed", range(5))
def test_equality_is_two_one_sided_tests(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), 5)
    a, b = random.normal(0.02, 0.3, 60) + 0.1 * random.normal(size=12)[groups], random.normal(0.0, 0.3, 60)
    found = paired_differences(a, b, groups, equal_within=0.15)[0]
    assert found.p_equal == pytest.approx(two_one_sided(a - b, groups, 0.15))


def test_equality_of_unclustered_numbers_is_that_of_statsmodels() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    random = np.random.default_rng(3)
    a, b = random.normal(0.02, 0.3, 50), random.normal(0.0, 0.3, 50)
    found = paired_differences(a, b, None, equal_within=0.1)[0]
    assert found.p_equal == pytest.approx(DescrStatsW(a - b).ttost_mean(-0.1, 0.1)[0])


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_equality_of_right_and_wrong_is_the_90_percent_interval_inside_the_margin(share: float) -> None:
    random = np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        a, b = (np.asarray(random.random(80) < share, dtype=float) for _ in range(2))
        found = paired_differences(a, b, None, binary=True, level=0.9, equal_within=0.17)[0]
        inside = (found.low or 0.0) > -0.17 and (found.high or 0.0) < 0.17
        assert (found.p_equal is not None and found.p_equal < 0.05) == inside
        seen.add(inside)
    assert seen == {True, False}


def test_a_margin_adds_three_columns_adjusted_in_the_same_family() -> None:
    random = np.random.default_rng(6)
    a, b = score_rows(random, 0.5, items=80), score_rows(random, 0.5, items=80)
    table = compared(a, b, equal_within=0.3)
    assert table.schema == pl.Schema({**POOLED_SCHEMA, **EQUAL_SCHEMA})
    assert table["p_equal"].null_count() == 0
    singles = table.filter(pl.col("culture").is_not_null(), variant="full").sort("p_equal")
    p = singles["p_equal"].to_list()
    assert singles["p_equal_holm"][0] == pytest.approx(3 * p[0])
    assert compared(a, b).schema == pl.Schema(POOLED_SCHEMA)


@pytest.mark.parametrize("margin", [0, -0.02, math.nan, math.inf, "wide", True, 2.0])
def test_a_bad_margin_is_refused(margin: Any) -> None:
    random = np.random.default_rng(7)
    with pytest.raises(UsageError, match="The margin is"):
        compared(score_rows(random, 0.5), score_rows(random, 0.5), equal_within=margin)


def test_without_spread_nothing_is_equal() -> None:
    assert paired_differences([0.5] * 9, [0.5] * 9, None, equal_within=0.1)[0].p_equal is None
    assert np.isnan(equality_p(0.0, 1.0, 5, None))


def is_undone(a: pl.DataFrame, b: pl.DataFrame, row: dict[str, Any], step: int) -> bool:
    """Whether raising B's wrong answers by so many thousandths takes the printed verdict away."""
    keys = ["culture", "variant"]
    share = pl.when(pl.col("outcome") == "wrong").then(step / 1000).otherwise(0.0)
    here = pl.lit(True) if row["culture"] is None else pl.col("culture") == row["culture"]
    raised = b.with_columns(value=pl.col("value") + pl.when(here).then(share).otherwise(0.0))
    table = compared(a.filter(variant="full"), raised.filter(variant="full"))
    where = pl.col("culture").is_null() if row["culture"] is None else pl.col("culture") == row["culture"]
    again = table.filter(where).select(*keys, "difference", "p_value", "low", "high").row(0, named=True)
    # The family as printed: the p-values of the others stand as they are.
    p = [again["p_value"], *row["others"]]
    holm_p, stepped = 1.0, 0.0
    for rank, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        stepped = max(stepped, min(1.0, p[k] * (len(p) - rank)))
        holm_p = stepped if k == 0 else holm_p
    return not is_clear({**again, "p_holm": holm_p}) or again["difference"] < 0


def test_the_share_that_undoes_a_verdict_is_that_of_its_definition() -> None:
    random = np.random.default_rng(2)
    a, b = score_rows(random, 0.75, "ab", 30), score_rows(random, 0.4, "ab", 30)
    table = compared(a, b)
    found = with_undone_shares(table, {"A": a, "B": b}, {"sem_b": True}).filter(variant="full")
    checked = 0
    for row in found.to_dicts():
        if not is_clear(row):
            assert row["undone_by"] is None
            continue
        level = (pl.col("culture").is_null() == (row["culture"] is None)) & (
            pl.col("culture").ne_missing(pl.lit(row["culture"]))
        )
        others = found.filter(level)["p_value"].to_list()
        # The first thousandth that undoes it: it does, the one before does not, nor does any 50th below.
        step, printed = round(1000 * row["undone_by"]), {**row, "others": others}
        assert step / 1000 == pytest.approx(row["undone_by"], abs=1e-9)
        assert is_undone(a, b, printed, step)
        assert not any(is_undone(a, b, printed, less) for less in (*range(50, step, 50), step - 1))
        checked += 1
    assert checked >= 2
    assert with_undone_shares(table, {"A": a, "B": b}, {})["undone_by"].null_count() == table.height


def test_the_lower_side_is_raised_whichever_it_is() -> None:
    random = np.random.default_rng(4)
    a, b = score_rows(random, 0.75, "a", 60), score_rows(random, 0.4, "a", 60)
    one_way = with_undone_shares(compared(a, b), {"A": a, "B": b}, {"sem_b": True})
    other_way = with_undone_shares(compared(b, a), {"A": b, "B": a}, {"sem_b": True})
    assert one_way["undone_by"].to_list() == other_way["undone_by"].to_list()
    assert one_way["undone_by"].null_count() == 0


def test_a_verdict_that_stands_even_if_all_judged_wrong_were_right_has_no_such_share() -> None:
    """Most answers of the lower side were refused, and refusals are not raised."""
    random = np.random.default_rng(4)
    a, b = score_rows(random, 0.9, "a", 60), score_rows(random, 0.3, "a", 60)
    refused = pl.when(pl.col("outcome") == "wrong", pl.col("item_id") != "a0").then(pl.lit("refused"))
    b = b.with_columns(outcome=refused.otherwise("outcome"))
    told = with_undone_shares(compared(a, b), {"A": a, "B": b}, {"sem_b": True})
    assert told.filter(pl.col("p_holm") < 0.05).height
    assert told["undone_by"].null_count() == told.height


def test_tests_of_whether_cultures_differ_are_one_family_over_models() -> None:
    cultures, questions = (part.ravel() for part in np.indices((4, 40)))
    random = np.random.default_rng(10)
    spreads: list[CultureSpread | None] = [None]
    for gain in (0.0, 0.1, 0.25, 0.6):
        right = random.random(len(cultures)) < 0.2 + gain * (cultures == 0)
        spreads.append(culture_spread(right.astype(float), cultures, questions))
    told = adjust_spreads(spreads)
    assert told[0] is None
    known = [one for one in spreads if one is not None]
    expected = holm([one.p_value for one in known])
    parted = []
    for before, after, p in zip(known, told[1:], expected, strict=True):
        assert after.p_value == pytest.approx(p)
        kept = (
            after.rank_low.tolist() == before.rank_low.tolist()
            and after.rank_high.tolist() == before.rank_high.tolist()
        )
        assert kept if p < 0.05 else (after.rank_low == 1).all() and (after.rank_high == 4).all()
        parted.append((before.p_value < 0.05, p < 0.05))
        assert (after.means == before.means).all()
    assert parted[-1] == (True, True)
    assert (True, False) in parted  # one that alone would be told apart, and is not among four
    assert adjust_spreads([known[0]])[0].p_value == known[0].p_value
