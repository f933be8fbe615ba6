"""Corrected scores: against a plain twin, other libraries, their limits, and data whose truth is known."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from benchmarks.simulations import audits
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import DataError, KapwaError, UsageError
from kapwa.stats.corrected import (
    FEW_LABELS,
    Corrected,
    corrected_difference,
    corrected_means,
    corrected_over_strata,
    labels_needed,
)
from kapwa.stats.intervals import Estimate, mean_estimates
from kapwa.stats.pooled import pooled_mean

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def audit(
    seed: int,
    *,
    n: int = 300,
    labels: int = 60,
    hits: float = 0.85,
    errs: float = 0.1,
    size: int = 1,
    strata: int = 1,
    unequal: bool = False,
    graded: bool = False,
) -> Data:
    """Scores, labels, probabilities, strata, clusters of answers in no order; strata share their clusters."""
    random = np.random.default_rng(seed)
    whole = n * strata
    people = random.random(whole) < 0.5
    scores = (random.random(whole) < np.where(people, hits, errs)).astype(float)
    values = np.clip(people * 0.6 + random.random(whole) * 0.4, 0, 1) if graded else people.astype(float)
    if graded:
        scores = np.clip(scores * 0.7 + random.random(whole) * 0.3, 0, 1)
    odds = np.where(scores < 0.5, 3.0, 1.0) if unequal else np.ones(whole)
    chances = np.minimum(odds * labels * strata / odds.sum(), 1.0)
    drawn = random.random(whole) < chances
    drawn[: 4 * strata] = True
    order = random.permutation(whole)
    place = np.arange(whole)
    columns = scores, np.where(drawn, values, np.nan), chances, np.array([f"s{k % strata}" for k in place])
    scores, labelled, chances, names = (column[order] for column in columns)
    return scores, labelled, chances, names, (place // strata // size)[order]


def plain(rows: Data, level: float = 0.95) -> tuple[float, float, float, float]:
    """The definition, answer by answer: value, low, high and the part of the scorer, strata counting alike."""
    scores, labels, chances, strata, clusters = rows
    names = sorted(set(strata))
    label: dict[Any, float] = {}
    score: dict[Any, float] = {}
    of_people = ahead = pull_y = pull_f = 0.0
    verdicts = {(strata[k], scores[k]) for k in range(len(scores)) if not np.isnan(labels[k])}
    for name in names:
        inside = [k for k in range(len(scores)) if strata[k] == name]
        seen = [k for k in inside if not np.isnan(labels[k])]
        total = sum(1 / chances[k] for k in seen)
        part = {k: 1 / chances[k] / total for k in seen}
        people = sum(part[k] * labels[k] for k in seen)
        judged, everywhere = sum(part[k] * scores[k] for k in seen), sum(scores[k] for k in inside) / len(inside)
        groups = {clusters[k] for k in seen}
        # Independent right/wrong answers that tell as much as these labels.
        spread = sum(part[k] * (labels[k] - people) ** 2 for k in seen)
        by_group = [sum(part[k] * (labels[k] - people) for k in seen if clusters[k] == g) for g in groups]
        squared = len(groups) / (len(groups) - 1) * sum(total**2 for total in by_group)
        effect = max(squared / (spread / (len(seen) - 1)), 1.0) if spread > 1e-12 else 0.0
        kish = 1 / sum(sum(part[k] for k in seen if clusters[k] == g) ** 2 for g in groups)
        size = len(seen) * people * (1 - people) / spread / effect if effect and 0 < people < 1 else kish
        # Four pairs of label and score; those of all strata together weigh as two such answers.
        rest = size / (size + 2 / len(names))
        mean_y, mean_f = (rest * mean + (1 - rest) / 2 for mean in (people, judged))
        factor = sqrt(len(groups) / (len(groups) - 1))
        for k in inside:
            g = clusters[k]
            score[g] = score.get(g, 0.0) + (scores[k] - everywhere) / len(inside) / len(names)
            if k in part:
                weight = factor * rest * part[k] / len(names)
                label[g] = label.get(g, 0.0) + weight * (labels[k] - mean_y)
                score[g] -= weight * (scores[k] - mean_f)
        for y, f in ((0, 0), (0, 1), (1, 0), (1, 1)):
            label["pair", name, y, f] = (1 - rest) / 4 * (y - mean_y) / len(names)
            score["pair", name, y, f] = (1 - rest) / 4 * (mean_f - f) / len(names)
        of_people += people / len(names)
        ahead += (everywhere - judged) / len(names)
        pull_y += (mean_y - people) / len(names)
        pull_f += (judged - mean_f) / len(names)
    if len(verdicts) == len(names):  # no stratum tells how people's labels go with the scores
        score = dict.fromkeys(score, 0.0)
    below = sum(v**2 for v in score.values())
    lam = -sum(label.get(g, 0.0) * v for g, v in score.items()) / below if below > 0 else 0.0
    lam = min(max(lam, 0.0), 1.0)
    error = 0.0
    for g, v in score.items():
        leverage = min(v**2 / below, 0.5) if below > 0 else 0.0
        error += (label.get(g, 0.0) + lam * v) ** 2 / (1 - leverage)
    value = of_people + lam * ahead
    centre = value + pull_y + lam * pull_f
    half = stats.t.ppf(0.5 + level / 2, freedom(rows)) * sqrt(error)
    value = min(max(value, 0.0), 1.0)
    return value, max(min(centre - half, value), 0.0), min(max(centre + half, value), 1.0), lam


def freedom(rows: Data) -> float:
    """Degrees of freedom that the interval of people's mean has: read off the width of Student's interval."""
    _, labels, chances, strata, clusters = rows
    wide = pooled_mean(labels, strata, clusters, weights=1 / chances)
    quantile = (wide.high - wide.low) / 2 / (wide.se or 1.0)
    low, high = 0.5, 1e6
    for _ in range(200):
        middle = sqrt(low * high)
        low, high = (middle, high) if stats.t.ppf(0.975, middle) > quantile else (low, middle)
    return high


DESIGN = st.tuples(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans())


@given(DESIGN)
@example((8192, 1, 2, True, False))  # in one stratum the scorer says the same of all labelled answers
@settings(max_examples=40, deadline=None)
def test_the_corrected_mean_is_its_definition(design: tuple[int, int, int, bool, bool]) -> None:
    seed, size, strata, unequal, graded = design
    rows = audit(seed, n=60, labels=20, size=size, strata=strata, unequal=unequal, graded=graded)
    row = corrected_over_strata(*rows) if strata > 1 else corrected_means(*rows)[0]
    assert (row.value, row.low, row.high, row.weight) == pytest.approx(plain(rows), abs=1e-7)
    assert row.labelled == np.isfinite(rows[1]).sum()
    order = np.random.default_rng(seed).permutation(len(rows[0]))
    mixed = tuple(column[order] for column in rows)
    again = corrected_over_strata(*mixed) if strata > 1 else corrected_means(*mixed)[0]
    assert again[4:18] == pytest.approx(row[4:18])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_drawn_alike_and_without_clusters_it_is_the_textbook_formula(seed: int) -> None:
    """Var(y)/N + (1/n − 1/N) Var(y − λf), up to pseudo-pairs and leverage, which weigh less than a tenth."""
    scores, labels, chances, strata, clusters = audit(seed, n=2000, labels=200)
    (row,) = corrected_means(scores, labels, chances, strata, clusters)
    seen = np.isfinite(labels)
    n, whole, part = int(seen.sum()), len(scores), row.weight
    rest = labels[seen] - part * scores[seen]
    assert row.value == pytest.approx(part * scores.mean() + rest.mean())
    variance = labels[seen].var(ddof=1) / whole + (1 / n - 1 / whole) * rest.var(ddof=1)
    assert (row.high - row.low) / 2 == pytest.approx(stats.t.ppf(0.975, n - 1) * sqrt(variance), rel=0.1)
    assert part == pytest.approx(np.polyfit(scores[seen], labels[seen], 1)[0], abs=0.05)


@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
@settings(max_examples=30, deadline=None)
def test_people_by_themselves_are_the_mean_that_reports_print(seed: int, size: int, everything: bool) -> None:
    scores, labels, chances, strata, clusters = audit(seed, size=size, labels=50)
    if everything:
        labels, chances = np.nan_to_num(labels), np.ones(len(labels))
    (row,) = corrected_means(scores, labels, chances, strata, clusters)
    (expected,) = mean_estimates(labels, clusters, share=True)
    assert (row.people, row.people_low, row.people_high) == pytest.approx((expected.value, expected.low, expected.high))
    assert row.clusters == expected.clusters
    (scored,) = mean_estimates(scores, clusters, share=True)
    assert (row.automatic, row.automatic_low) == pytest.approx((scored.value, scored.low))
    if everything:
        assert (row.value, row.low, row.high) == (row.people, row.people_low, row.people_high)
        assert (row.use, row.reason) == ("people", "all-labelled")


def test_a_scorer_that_says_the_same_of_all_leaves_people_by_themselves() -> None:
    _, labels, chances, strata, clusters = audit(3, labels=80, unequal=True)
    (row,) = corrected_means(np.ones(len(labels)), labels, chances, strata, clusters)
    assert row.weight == 0
    assert row.value == row.people
    assert row.saving == pytest.approx(1.0)
    assert (row.use, row.reason) == ("people", "no-saving")


def printed_use(row: Corrected) -> tuple[str, str]:
    return row.use, row.reason


def test_what_is_printed_and_why() -> None:
    use = {name: printed_use(corrected_means(*audit(5, **design))[0]) for name, design in {
        "good": {"labels": 80, "hits": 0.95},
        "few": {"labels": FEW_LABELS // 2, "hits": 0.95},
        "against people": {"labels": 80, "hits": 0.1, "errs": 0.9},
    }.items()}  # fmt: skip
    assert use == {
        "good": ("corrected", ""),
        "few": ("people", "few-labels"),
        "against people": ("people", "no-saving"),
    }
    scores, labels, chances, strata, clusters = audit(5, strata=2)
    labels[strata == "s0"] = np.nan
    first, second = corrected_means(scores, labels, chances, strata, clusters)
    assert (first.use, first.reason, first.people, first.value, first.saving) == ("none", "no-labels", None, None, None)
    assert second.use == "corrected"
    over = corrected_over_strata(scores, labels, chances, strata, clusters)
    assert (over.use, over.reason, over.people, over.value) == ("none", "no-labels", None, None)
    assert over.automatic == pytest.approx((first.automatic + (second.automatic or 0)) / 2)


def test_labels_of_one_question_have_no_interval() -> None:
    scores, labels, chances, strata, _ = audit(5, labels=80)
    (row,) = corrected_means(scores, labels, chances, strata, np.zeros(len(scores)))
    assert (row.value is None, row.low, row.high, row.people_low, row.saving) == (False, None, None, None, None)
    assert row.use == "people"


def test_a_stratum_whose_labels_are_of_one_question_leaves_no_number_unknown() -> None:
    scores, labels, chances, strata, clusters = audit(4, n=60, labels=20, strata=2)
    clusters = np.where(strata == "s0", 0, clusters + 1)
    over = corrected_over_strata(scores, labels, chances, strata, clusters)
    assert not any(isinstance(cell, float) and np.isnan(cell) for cell in over)
    assert over.saving is not None


def test_strata_alike_have_the_mean_of_one_and_shared_questions_are_one_piece_of_evidence() -> None:
    rows = audit(7, labels=60)
    (row,) = corrected_means(*rows)
    scores, labels, chances, strata, clusters = (np.concatenate([column, column]) for column in rows)
    strata = np.repeat(["a", "b"], len(rows[0]))
    shared = corrected_over_strata(scores, labels, chances, strata, clusters)
    assert shared[4:9] == pytest.approx(row[4:9], abs=0.02)  # Wilson's interval by another road
    assert shared.value == pytest.approx(row.value, abs=0.001)  # the pairs are shared
    apart = corrected_over_strata(
        scores, labels, chances, strata, [f"{s}{c}" for s, c in zip(strata, clusters, strict=True)]
    )
    wide, narrow = (one.high - one.low for one in (shared, apart) if one.high is not None and one.low is not None)
    assert narrow == pytest.approx(wide / sqrt(2), rel=0.05)
    several = audit(8, strata=3)
    assert corrected_over_strata(*several).value == pytest.approx(
        np.mean([one.value or 0.0 for one in corrected_means(*several)]), abs=0.01
    )


def test_many_strata_pull_an_interval_no_further_than_one() -> None:
    """Pairs of each stratum's own pulled it by a point and a half here: the interval ended at 95.3 %."""
    random, strata = np.random.default_rng(3), np.repeat(np.arange(16), 120)
    people = random.random(len(strata)) < 0.95
    scores = (random.random(len(strata)) < np.where(people, 0.9, 0.1)).astype(float)
    drawn = np.arange(len(strata)) % 2 == 0
    answers = scores, np.where(drawn, people, np.nan), np.full(len(strata), 0.5)
    (whole,) = corrected_means(*answers, ["all"] * len(strata), range(len(strata)))
    over = corrected_over_strata(*answers, strata, range(len(strata)))
    assert (over.value, over.low, over.high) == pytest.approx((whole.value, whole.low, whole.high), abs=0.001)
    assert (over.use, over.reason) == ("corrected", "")
    few = np.where(strata == 0, np.arange(len(strata)) >= 38, False)  # 19 of one stratum
    over = corrected_over_strata(answers[0], np.where(few, np.nan, answers[1]), answers[2], strata, range(len(strata)))
    assert (over.use, over.reason) == ("people", "few-labels")


def test_many_strata_of_a_mild_scorer_are_covered() -> None:
    """With a part of the scorer for each stratum, chosen on 20 labels, the interval held the truth in 85 of 100.

    Without the strata in which the scorer calls all labelled answers right, the mean was half a point too high.
    """
    random = np.random.default_rng(5)
    means = [drawn.mean() for drawn in audits.over_strata(random, 60, (30, 20, False, (0.85, 0.95), "mild"))]
    assert audits.covered(means, 0.9) >= 90
    assert np.mean([row.value or 0.0 for row in means]) == pytest.approx(0.9, abs=0.003)  # two standard errors
    assert np.mean([row.use == "corrected" for row in means]) > 0.9


def test_an_error_that_both_runs_share_cancels() -> None:
    random = np.random.default_rng(2)
    hard, a, b = (random.random(400) < share for share in (0.3, 0.6, 0.6))
    drawn = np.arange(400) < 80
    sides = [(np.where(hard, 0.0, side), np.where(drawn, side, np.nan)) for side in (a, b)]
    (row,) = corrected_difference(
        sides[0][0], sides[1][0], sides[0][1], sides[1][1], np.full(400, 0.2), ["x"] * 400, range(400)
    )
    assert row.bias_low < 0 < row.bias_high
    swapped = corrected_difference(
        sides[1][0], sides[0][0], sides[1][1], sides[0][1], np.full(400, 0.2), ["x"] * 400, range(400)
    )
    assert swapped[0].value == pytest.approx(-(row.value or 0))
    assert swapped[0].high == pytest.approx(-(row.low or 0))
    assert swapped[0].p_value == pytest.approx(row.p_value)


def test_the_bias_of_a_difference_runs_from_minus_2_to_2() -> None:
    """A scorer that says the opposite of people on both sides had a bias of 1 at most, and at times no interval."""
    sides = [np.where(np.arange(100) < place, 1.0, 0.0) for place in (70, 30)]
    drawn = np.arange(100) % 2 == 0
    labels = [np.where(drawn, 1 - side, np.nan) for side in sides]
    (row,) = corrected_difference(*sides, *labels, np.full(100, 0.5), ["x"] * 100, range(100))
    assert row.bias == pytest.approx((row.automatic or 0) - (row.people or 0)) == pytest.approx(0.8)
    ones, zeros = np.ones(100), np.zeros(100)
    labels = [np.where(drawn, side, np.nan) for side in (zeros, ones)]
    (row,) = corrected_difference(ones, zeros, *labels, np.full(100, 0.5), ["x"] * 100, range(100))
    assert (row.automatic, row.people, row.bias, row.bias_high) == (1, -1, 2, 2)
    assert 1.5 < row.bias_low < 2


def test_the_p_value_is_that_of_the_printed_interval() -> None:
    random = np.random.default_rng(4)
    for step in range(40):
        a, b = (random.random(300) < share for share in (0.6, 0.6 - step / 100))
        drawn = random.random(300) < 0.3
        scores = [np.where(random.random(300) < 0.1, ~side, side).astype(float) for side in (a, b)]
        labels = [np.where(drawn, side, np.nan) for side in (a, b)]
        (row,) = corrected_difference(*scores, *labels, np.full(300, 0.3), ["x"] * 300, range(300))
        low, high = (row.low, row.high) if row.use == "corrected" else (row.people_low, row.people_high)
        assert audits.named(low, high) == (row.p_value < 0.05)


def test_several_strata_of_a_difference_end_with_the_one_over_them() -> None:
    scores, labels, chances, strata, clusters = audit(9, strata=3)
    other = np.roll(scores, 1)
    rows = corrected_difference(scores, other, labels, 1 - labels, chances, strata, clusters)
    assert [row.stratum for row in rows] == ["s0", "s1", "s2", ""]
    assert rows[-1].value == pytest.approx(np.mean([row.value or 0.0 for row in rows[:-1]]), abs=0.005)
    assert all(row.p_value is not None for row in rows)


# --- twins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_point_and_interval_against_ppi_python_and_truescore(seed: int) -> None:
    """They hold unlabelled answers apart: their λ is (N − n)/N of ours. Intervals differ by t and pseudo-pairs."""
    import ppi_py
    import truescore

    scores, labels, chances, strata, clusters = audit(seed, n=2000, labels=200)
    (row,) = corrected_means(scores, labels, chances, strata, clusters)
    seen = np.isfinite(labels)
    part = row.weight * (1 - seen.mean())
    sides = labels[seen], scores[seen], scores[~seen]
    assert float(ppi_py.ppi_mean_pointestimate(*sides, lam=part)[0]) == pytest.approx(row.value, abs=1e-12)
    twin = truescore.ppi_estimate(scores, labels[seen], np.flatnonzero(seen), lambda_=part)
    assert twin.point == pytest.approx(row.value, abs=1e-12)
    (low,), (high,) = ppi_py.ppi_mean_ci(*sides, lam=part, alpha=0.05)
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.006)
    assert (row.low, row.high) == pytest.approx((twin.low, twin.high), abs=0.006)
    # Their own choice of λ.
    own = truescore.ppi_estimate(scores, labels[seen], np.flatnonzero(seen))
    assert part == pytest.approx(own.lambda_, abs=0.04)
    assert row.value == pytest.approx(own.point, abs=0.004)


@pytest.mark.parametrize("seed", range(3))
def test_unequal_probabilities_against_ppi_python_with_weights(seed: int) -> None:
    import ppi_py

    scores, labels, chances, strata, clusters = audit(seed, n=2000, labels=200, unequal=True)
    (row,) = corrected_means(scores, labels, chances, strata, clusters)
    seen = np.isfinite(labels)
    weights = 1 / chances[seen] / (1 / chances[seen]).mean()
    point = ppi_py.ppi_mean_pointestimate(labels[seen], scores[seen], scores, lam=row.weight, w=weights)
    assert float(point[0]) == pytest.approx(row.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_whole_questions_and_differences_against_truescore(seed: int) -> None:
    import truescore

    random = np.random.default_rng(seed)
    question = np.arange(1200) // 4
    drawn = random.permutation(300)[question] < 60
    people = [random.random(1200) < share for share in (0.6, 0.45)]
    scores = [np.where(random.random(1200) < 0.12, ~side, side).astype(float) for side in people]
    labels = [np.where(drawn, side, np.nan) for side in people]
    gold = [side[drawn].astype(float) for side in people]
    places = np.full(1200, 0.2), ["x"] * 1200, question
    (row,) = corrected_difference(*scores, *labels, *places)
    twin = truescore.ppi_compare(*scores, *gold, np.flatnonzero(drawn), clusters=question)
    assert row.value == pytest.approx(twin.difference, abs=0.01)
    assert (row.low, row.high) == pytest.approx((twin.low, twin.high), abs=0.03)
    (mean,) = corrected_means(scores[0], labels[0], *places)
    half = truescore.ppi_estimate(
        scores[0], gold[0], np.flatnonzero(drawn), lambda_=mean.weight * 0.8, clusters=question
    )
    assert mean.value == pytest.approx(half.point, abs=1e-12)
    assert (mean.low, mean.high) == pytest.approx((half.low, half.high), abs=0.012)


@pytest.mark.parametrize("seed", range(2))
def test_a_right_or_wrong_scorer_against_cje(seed: int) -> None:
    """CJE calibrates the scorer first; of two scores that is the mean by score, which λ near the slope is, too."""
    import cje

    scores, labels, chances, strata, clusters = audit(seed, n=1000, labels=200)
    (row,) = corrected_means(scores, labels, chances, strata, clusters)
    twin = cje.calibrated_mean_ci(scores, labels, inference="cluster_robust")
    assert row.value == pytest.approx(twin.estimate, abs=0.006)
    assert (row.low, row.high) == pytest.approx(twin.ci, abs=0.012)


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_weighted_means_against_a_weighted_regression(seed: int, size: int) -> None:
    """Standard error of people's mean: statsmodels' of an intercept, clustered."""
    from statsmodels.api import WLS

    random = np.random.default_rng(seed)
    values, weights = random.random(40), 1 + 4 * random.random(40)
    clusters = np.arange(40) // size
    (estimate,) = mean_estimates(values, clusters, weights=weights)
    twin = WLS(values, np.ones(40), weights=weights).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert (estimate.value, estimate.se) == pytest.approx((twin.params[0], twin.bse[0]))
    assert_alike(mean_estimates(values, clusters, share=True, weights=np.full(40, 3.0))[0], values, clusters)
    pooled = pooled_mean(values, np.zeros(40), clusters, weights=weights)
    assert (pooled.value, pooled.se) == pytest.approx((twin.params[0], twin.bse[0]))


def assert_alike(weighted: Estimate, values: np.ndarray, clusters: np.ndarray) -> None:
    (estimate,) = mean_estimates(values, clusters, share=True)
    assert weighted[:4] == pytest.approx(estimate[:4])


# --- input that does not fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message", "error"),
    [
        ({"probabilities": [0.5, 1.5, 0.5]}, "probability of being drawn is 1.5 at position 2", DataError),
        ({"probabilities": [0.5, -0.1, 0.5]}, "is -0.1 at position 2", DataError),
        ({"probabilities": [0.5, float("nan"), 0.5]}, "is nan at position 2", DataError),
        ({"probabilities": [0.0, 0.5, 0.5]}, "is 0 at position 1", DataError),
        ({"labels": [2.0, np.nan, 0.0]}, "outside 0 to 1 at position 1", DataError),
        ({"scores": [0.5, np.nan, 1.0]}, "the answer at position 2", DataError),
        ({"labels": [1.0, 0.0]}, "3 scores, 2 labels and 3 probabilities", UsageError),
        ({"strata": ["a", "b"]}, "3 rows", UsageError),
        ({"strata": ["a", None, "b"]}, "missing", DataError),
        (
            {"scores": [], "labels": [], "probabilities": [], "strata": [], "clusters": []},
            "there are no answers",
            DataError,
        ),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str, error: type[KapwaError]) -> None:
    columns: dict[str, Any] = {
        "scores": [1.0, 0.0, 1.0],
        "labels": [1.0, np.nan, 0.0],
        "probabilities": [0.5, 0.5, 0.5],
        "strata": ["a", "a", "b"],
        "clusters": [1, 2, 3],
    }
    with pytest.raises(error, match=message):
        corrected_means(**(columns | change))


def test_a_label_may_be_missing_where_nothing_could_be_drawn() -> None:
    rows = corrected_means([1.0, 0.0, 1.0], [1.0, np.nan, 0.0], [0.5, 0.0, 0.5], ["a"] * 3, [1, 2, 3])
    assert rows[0].labelled == 2


# --- plans -----------------------------------------------------------------------------------------------------------


def test_labels_needed_from_a_declared_agreement() -> None:
    plan = labels_needed(1000, 0.08, agreement=0.9)
    assert (plan.use, plan.reason) == ("corrected", "")
    assert plan.saving == pytest.approx(plan.people / plan.corrected)

    def half(labels: int, left: float) -> float:
        return float(stats.t.ppf(0.975, labels - 1)) * sqrt(0.25 * (left / labels + (1 - left) / 1000))

    left = 1 - 0.8**2  # 90 % agreement on halves is a correlation of .8
    assert half(plan.corrected, left) <= 0.08 < half(plan.corrected - 1, left)
    assert half(plan.people, 1.0) <= 0.08 < half(plan.people - 1, 1.0)


def test_a_plan_says_when_the_scorer_saves_nothing_and_when_all_answers_are_too_few() -> None:
    assert labels_needed(1000, 0.08, agreement=0.5)[-2:] == ("people", "no-saving")
    assert labels_needed(1000, 0.2, agreement=0.9)[-2:] == ("people", "no-saving")  # few labels do without it
    nothing = labels_needed(100, 0.05, agreement=0.6)
    assert (nothing.people, nothing.corrected, nothing.use, nothing.reason) == (None, None, "none", "too-few-answers")


def test_a_pilot_plans_what_the_audit_then_finds() -> None:
    (pilot,) = corrected_means(*audit(1, n=2000, labels=200))
    plan = labels_needed(2000, (pilot.high - pilot.low) / 2, pilot=pilot)
    assert plan.corrected == pytest.approx(pilot.labelled, rel=0.1)
    assert plan.saving == pytest.approx(pilot.saving, rel=0.1)


@pytest.mark.parametrize(
    "settings",
    [{}, {"agreement": 1.2}, {"agreement": 0.8, "share": 0.0}, {"half_width": 0.0, "agreement": 0.8}, {"pilot": "bad"}],
)
def test_a_plan_needs_something_to_go_by(settings: dict[str, Any]) -> None:
    if "pilot" in settings:
        settings = {"pilot": corrected_means([1.0, 0.0], [1.0, np.nan], [0.5, 0.5], ["a", "a"], [1, 2])[0]}
    with pytest.raises(UsageError):
        labels_needed(**({"n": 500, "half_width": 0.05} | settings))


# --- simulations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "doubtful"), [(1, False), (4, True)])
def test_printed_intervals_hold_the_truth(size: int, doubtful: bool) -> None:
    """Small version of benchmarks/simulations/audits.py."""
    random = np.random.default_rng(11)
    for scorer in audits.SCORERS.values():
        data = audits.audited(random, 200, 0.5, scorer, 60, size, doubtful=doubtful)
        rows = audits.corrected(data, size)
        assert 91.5 <= audits.covered(rows, 0.5) <= 99  # two standard errors of 200 data sets
        if scorer is None:
            assert audits.longer(rows) <= 2


def test_a_scorer_that_prefers_one_of_two_equal_runs_is_set_right() -> None:
    rows = audits.two_runs(np.random.default_rng(12), 200, 60, 1)
    raw, false = (figure.percent for figure in audits.difference_cells(rows, "", 200))
    assert raw >= 90
    assert false <= 8
