"""Means of a whole from a part of it, looks and decisions: against plain twins, and how often they err."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from kapwa.stats.clusters import cluster_sums
from kapwa.stats.intervals import effective_size, share_quantile
from kapwa.stats.sequential import (
    FOLDS,
    LEAST_CLUSTERS,
    LEAST_ITEMS,
    control_residuals,
    decision_half,
    look_points,
    mean_of_partials,
    partial_means,
    seeded_order,
)

RANDOM = np.random.default_rng(5)


def a_whole(clusters: int, accuracy: float, alike: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cluster codes, a new model's answers and an earlier one's, of one to three items a cluster."""
    codes = np.repeat(np.arange(clusters), RANDOM.integers(1, 4, clusters))
    old = (RANDOM.random(len(codes)) < accuracy).astype(float)
    anew = (RANDOM.random(len(codes)) < accuracy).astype(float)
    return codes, np.where(RANDOM.random(len(codes)) < alike, old, anew), old


def slow_partial(values: list[float], codes: list[int]) -> tuple[float, float, float, float]:
    """Mean, variance of its error on these items, and Wilson's interval, in words of one loop each."""
    asked = [(value, code) for value, code in zip(values, codes, strict=True) if not math.isnan(value)]
    n, groups = len(asked), {code for _, code in asked}
    mean = sum(value for value, _ in asked) / n
    totals = [sum(value - mean for value, other in asked if other == code) for code in groups]
    several = len(groups)
    variance = several / (several - 1) * sum(total**2 for total in totals) / n**2
    single = sum((value - mean) ** 2 for value, _ in asked) / n / (n - 1)
    effect = max(variance / single, 1.0)
    size = n / effect * (mean * (1 - mean)) / (single * (n - 1))
    sizes = [sum(other == code for _, other in asked) for code in groups]
    kish = n**2 / sum(size**2 for size in sizes)
    parts = [size**2 / (n - size) for size in sizes]
    df = n**2 / (sum(size**2 for size in sizes) + sum(parts) ** 2 - sum(part**2 for part in parts))
    q = float(share_quantile(mean, size, kish, df, 0.95))
    left = 1 - several / len(set(codes))
    trials = size / left
    centre = (mean + q**2 / (2 * trials)) / (1 + q**2 / trials)
    half = q / (1 + q**2 / trials) * math.sqrt(mean * (1 - mean) / trials + q**2 / (4 * trials**2))
    return mean, variance * left, centre - half, centre + half


def test_a_mean_of_a_part_equals_its_plain_twin() -> None:
    for accuracy in (0.2, 0.5, 0.8):
        codes, new, _ = a_whole(120, accuracy)
        asked = np.where(codes < 50, new, np.nan)
        part = partial_means(asked[:, None], codes)
        twin = slow_partial(asked.tolist(), codes.tolist())
        assert (part.value[0], part.here[0], part.low[0], part.high[0]) == pytest.approx(twin, abs=1e-12)


def test_residuals_of_a_control_equal_their_plain_twin() -> None:
    codes, new, old = a_whole(60, 0.5, alike=0.8)
    asked = np.where(codes < 30, new, np.nan)
    fast = control_residuals(asked[:, None], codes, old)[:, 0]
    centred = old - old.mean()
    for row, (value, code) in enumerate(zip(asked, codes, strict=True)):
        if math.isnan(value):
            assert math.isnan(fast[row])
            continue
        others = ~np.isnan(asked) & (codes % FOLDS != code % FOLDS)
        slope = np.polyfit(centred[others], asked[others], 1)[0]
        assert fast[row] == pytest.approx(value - slope * centred[row])


@given(
    asked=st.integers(20, 60),
    accuracy=st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
    alike=st.sampled_from([None, 0.0, 0.9, 1.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_an_interval_holds_its_value_and_nothing_that_cannot_be(
    asked: int, accuracy: float, alike: float | None, seed: int
) -> None:
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(60), random.integers(1, 4, 60))
    old = (random.random(len(codes)) < accuracy).astype(float)
    new = np.where(random.random(len(codes)) < (alike or 0), old, (random.random(len(codes)) < accuracy).astype(float))
    values = np.where(codes < asked, new, np.nan)
    part = partial_means(values[:, None], codes, None if alike is None else old)
    least = np.nansum(values) / len(values)
    most = least + np.isnan(values).sum() / len(values)
    assert least - 1e-12 <= part.low[0] <= part.value[0] <= part.high[0] <= most + 1e-12
    assert 0 < part.variance_left[0] <= 1
    if asked == 60:
        assert part.low[0] == part.high[0] == pytest.approx(new.mean())
        assert decision_half(part)[0] == 0
    elif part.variance_left[0] == 1:
        assert part.half[0] > 0


def test_the_mean_of_a_part_has_no_bias() -> None:
    values, codes = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]), np.arange(6)
    draws = [np.where(np.isin(codes, drawn), values, np.nan) for drawn in itertools.combinations(range(6), 3)]
    assert partial_means(np.array(draws).T, codes).value.mean() == pytest.approx(values.mean())


def test_the_error_over_cultures_is_that_of_independent_orders() -> None:
    cultures = []
    for accuracy in (0.3, 0.6):
        codes, new, _ = a_whole(100, accuracy)
        cultures.append(partial_means(np.where(codes < 40, new, np.nan)[:, None], codes))
    mean = mean_of_partials(cultures)
    assert mean.value[0] == pytest.approx(sum(part.value[0] for part in cultures) / 2)
    assert mean.here[0] == pytest.approx(sum(part.here[0] for part in cultures) / 4)
    alone = mean_of_partials(cultures[:1])
    assert alone.half[0] == pytest.approx(cultures[0].half[0], rel=0.05)


@pytest.mark.parametrize("accuracy", [0.5, 0.9])
def test_a_decision_is_its_formula(accuracy: float) -> None:
    codes, new, _ = a_whole(200, accuracy)
    seen = np.where(codes < 60, new, np.nan)[:, None]
    part = partial_means(seen, codes)
    asked, one = 60 / 200, part.here[0] + part.whole[0]  # the variance of a mean of so many items
    assert part.here[0] == pytest.approx(one * (1 - asked))
    assert part.whole[0] == pytest.approx(one * asked)
    # Five right and five wrong answers besides.
    sums, share = cluster_sums(seen, codes), part.value[0]
    nearer = (sums.n[0] * share + 5) / (sums.n[0] + 10)
    size = effective_size(sums, part.value * (1 - part.value))[0]
    doubt = max(nearer * (1 - nearer) / size / one, 1)
    assert part.doubt[0] == pytest.approx(doubt)
    aim = math.sqrt(3 * part.whole[0] * doubt)
    c = math.sqrt(math.log(40) / 2) * t.ppf(0.975, part.df[0]) / norm.ppf(0.975)
    assert decision_half(part)[0] == pytest.approx(c * (aim + doubt * part.here[0] / aim))


@pytest.mark.parametrize("accuracy", [0.4, 0.92])
def test_over_all_looks_a_decision_errs_no_more_often_than_it_says(accuracy: float) -> None:
    """Random orders of one whole: how often its mean ever lies below the interval, and above it."""
    random = np.random.default_rng(3)
    codes, orders = np.arange(300), 800
    new = (random.random(300) < accuracy).astype(float)
    rank = np.argsort(random.random((300, orders)), axis=0).argsort(axis=0)
    below, above = np.zeros(orders, dtype=bool), np.zeros(orders, dtype=bool)
    for asked in look_points(np.ones(300, dtype=np.intp)):
        part = partial_means(np.where(rank < asked, new[:, None], np.nan), codes)
        half = decision_half(part)
        below |= new.mean() < part.value - half - 1e-9
        above |= new.mean() > part.value + half + 1e-9
    # 0.025, with three standard errors of 800 draws.
    assert max(below.mean(), above.mean()) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / orders)


def test_where_the_rule_stops_the_interval_holds_the_whole() -> None:
    random = np.random.default_rng(4)
    codes, orders = np.arange(460), 400
    old = (random.random(460) < 0.3).astype(float)
    new = np.where(random.random(460) < 0.8, old, (random.random(460) < 0.3).astype(float))
    rank = np.argsort(random.random((460, orders)), axis=0).argsort(axis=0)
    ended = {}
    for control in (None, old):
        held, asked_at, going = np.zeros(orders), np.zeros(orders), np.arange(orders)
        for asked in look_points(np.ones(460, dtype=np.intp)):
            part = partial_means(np.where(rank[:, going] < asked, new[:, None], np.nan), codes, control)
            done = (part.half <= 0.05) | (asked == 460)
            held[going[done]] = ((part.low <= new.mean()) & (new.mean() <= part.high))[done]
            asked_at[going[done]] = asked
            going = going[~done]
        ended[control is not None] = (held.mean(), np.median(asked_at))
    # 94 %, with two standard errors of 400 draws.
    assert min(held for held, _ in ended.values()) >= 0.94 - 2 * math.sqrt(0.94 * 0.06 / orders)
    assert ended[True][1] < 0.6 * ended[False][1] < 0.6 * 230


def test_an_order_hangs_on_seed_culture_and_label_alone() -> None:
    labels = [f"q{k}" for k in range(50)]
    order = seeded_order(labels, "Kenya", 1)
    assert sorted(order) == sorted(labels)
    assert order == seeded_order(labels[::-1], "Kenya", 1)
    assert order != seeded_order(labels, "Peru", 1) != seeded_order(labels, "Peru", 2)
    more = seeded_order([*labels, "new"], "Kenya", 1)
    assert [label for label in more if label != "new"] == order


@pytest.mark.parametrize("each", [1, 2, 5])
@pytest.mark.parametrize("several", [5, 21, 86, 460])
def test_looks_come_after_enough_items_and_clusters(several: int, each: int) -> None:
    points = look_points(np.full(several, each, dtype=np.intp))
    assert points[-1] == several
    assert points == sorted(set(points))
    if len(points) > 1:
        assert points[0] * each >= LEAST_ITEMS
        assert points[0] >= LEAST_CLUSTERS
        assert all(2 <= b - a <= 10 for a, b in itertools.pairwise(points[:-1]))
    assert look_points(np.full(several, each, dtype=np.intp), 500) == [several]
