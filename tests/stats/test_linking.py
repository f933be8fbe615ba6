"""Linked releases: the step and the foretold score from their definitions, drift by an exact test, and refusals."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import mean, stdev

import numpy as np
import pytest
from benchmarks.simulations.linking import DESIGNS, one_data_set
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student

from kapwa.errors import UsageError
from kapwa.stats.linking import Linking, ReleaseAnswers, ReleaseItems, moved_items

Cells = list[list[float]]


def answers(values: np.ndarray, gone: np.ndarray | None = None) -> ReleaseAnswers:
    lost = np.zeros(values.shape, dtype=bool) if gone is None else gone
    return ReleaseAnswers(np.where(lost, np.nan, values), np.where(lost, 0.0, values), np.where(lost, 1.0, values))


def releases(random: np.random.Generator, common: int, alone: int, cultures: int) -> tuple[ReleaseItems, ReleaseItems]:
    """Common items stand first in the one release and last in the other; clusters hold two items."""
    places = [k % cultures for k in range(common + alone)]
    names = [[*(f"c{k}" for k in range(common)), *(f"{side}{k}" for k in range(alone))] for side in "ab"]
    clusters = [f"g{k // 2}-{place}" for k, place in enumerate(places)]
    order = random.permutation(common + alone).tolist()
    old = ReleaseItems(places, clusters, names[0])
    return old, ReleaseItems([places[k] for k in order], [clusters[k] for k in order], [names[1][k] for k in order])


# --- the plain twin: sums over items, one by one ---------------------------------------------------------------------


def plain_score(values: list[float], cultures: list[object]) -> float:
    of = defaultdict(list)
    for value, culture in zip(values, cultures, strict=True):
        of[culture].append(value)
    return mean(mean(each) for each in of.values())


def plain_known(row: list[float], old: ReleaseItems, new: ReleaseItems) -> float:
    """What new answers tell of the old score: those to common items, and for each other item its culture's mean."""
    at = dict(zip(new.names, row, strict=True))
    means = {c: mean(v for v, d in zip(row, new.cultures, strict=True) if c == d) for c in set(new.cultures)}
    told = [at.get(name, means[culture]) for name, culture in zip(old.names, old.cultures, strict=True)]
    return plain_score(told, list(old.cultures))


def plain_item_error(
    rows: tuple[Cells, Cells], weights: tuple[list[float], list[float]], sides: tuple[ReleaseItems, ReleaseItems]
) -> tuple[float, int]:
    systems, sums = len(rows[0]), defaultdict[tuple[int, object], float](float)
    cultures = [*sides[0].cultures, *sides[1].cultures]
    centred = [
        [value - mean(row[k] for row in values) for values in rows for k, value in enumerate(values[s])]
        for s in range(systems)
    ]
    places = zip([*weights[0], *weights[1]], cultures, [*sides[0].clusters, *sides[1].clusters], strict=True)
    for k, (weight, culture, cluster) in enumerate(places):
        for system, row in enumerate(centred):
            own = mean(value for value, other in zip(row, cultures, strict=True) if other == culture)
            sums[system, cluster] += weight * (row[k] - own)
    used = len({cluster for (_, cluster), total in sums.items() if abs(total) > 1e-12})
    if used < 2:
        return 0.0, systems - 1
    return sum(total**2 for total in sums.values()) / (systems - 1) * used / (used - 1), (systems - 1) * (used - 1)


def plain_interval(values: list[float], items: tuple[float, int], one_more: bool) -> tuple[float, float]:
    n = len(values)
    widths = [student.ppf(0.975, n - 1) * stdev(values), student.ppf(0.975, items[1]) * math.sqrt(items[0])]
    half = max(widths) * math.sqrt(1 + 1 / n if one_more else 1 / n)
    return mean(values) - half, mean(values) + half


def item_weights(items: ReleaseItems) -> list[float]:
    several = len(set(items.cultures))
    return [1 / several / list(items.cultures).count(culture) for culture in items.cultures]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 6),
    st.integers(22, 30),
    st.integers(2, 10),
    st.integers(1, 2),
)
def test_steps_and_foretold_scores_are_those_of_their_definitions(
    seed: int, systems: int, common: int, alone: int, cultures: int
) -> None:
    random = np.random.default_rng(seed)
    old, new = releases(random, common, alone, cultures)
    on_old, on_new = ((random.random((systems + 1, common + alone)) < 0.6).astype(float) for _ in range(2))
    linking = Linking(old, new, answers(on_old[:-1]), answers(on_new[:-1]))
    rows = on_old[:-1].tolist(), on_new[:-1].tolist()
    weights = item_weights(old), item_weights(new)

    steps = [
        plain_score(b, list(new.cultures)) - plain_score(a, list(old.cultures)) for a, b in zip(*rows, strict=True)
    ]
    by_items = plain_item_error(rows, ([-w for w in weights[0]], weights[1]), (old, new))
    step = linking.step()
    assert step.value == pytest.approx(mean(steps))
    assert (step.error_systems, step.error_items) == pytest.approx(
        (stdev(steps) / systems**0.5, (by_items[0] / systems) ** 0.5)
    )
    assert (step.low, step.high) == pytest.approx(plain_interval(steps, by_items, one_more=False))

    known = [plain_known(row, old, new) for row in rows[1]]
    rest = [plain_score(a, list(old.cultures)) - told for a, told in zip(rows[0], known, strict=True)]
    telling = [plain_known([float(k == j) for j in range(len(new.names))], old, new) for k in range(len(new.names))]
    of_rest = plain_item_error(rows, (weights[0], [-w for w in telling]), (old, new))
    (more,) = linking.onto_old(answers(on_new[-1:]))
    own = plain_known(on_new[-1].tolist(), old, new)
    low, high = plain_interval(rest, of_rest, one_more=True)
    assert (more.value, more.low, more.high) == pytest.approx((own + mean(rest), own + low, own + high))
    assert more.outside == (own < min(known) - 1e-12 or own > max(known) + 1e-12)


def test_a_release_that_only_adds_items_foretells_nothing_it_does_not_know() -> None:
    random = np.random.default_rng(1)
    old, new = releases(random, 30, 6, 1)
    kept = [k for k, name in enumerate(old.names) if name.startswith("c")]
    old = ReleaseItems(*([part[k] for k in kept] for part in old))  # type: ignore[arg-type]
    on_new = (random.random((5, 36)) < 0.5).astype(float)
    place = {name: k for k, name in enumerate(new.names)}
    on_old = on_new[:, [place[name] for name in old.names]]
    linking = Linking(old, new, answers(on_old[:4]), answers(on_new[:4]))
    (more,) = linking.onto_old(answers(on_new[4:]))
    assert (more.value, more.low, more.high) == pytest.approx((on_old[4].mean(),) * 3)


def test_intervals_hold_whatever_missing_answers_were() -> None:
    random = np.random.default_rng(2)
    old, new = releases(random, 24, 8, 2)
    on_old, on_new = ((random.random((5, 32)) < 0.6).astype(float) for _ in range(2))
    gone = random.random((5, 32)) < 0.1
    told = Linking(old, new, answers(on_old[:4]), answers(on_new[:4], gone[:4]))
    for filled in (np.where(gone, 0.0, on_new), np.where(gone, 1.0, on_new)):
        whole = Linking(old, new, answers(on_old[:4]), answers(filled[:4]))
        assert told.step().low <= whole.step().value <= told.step().high
        (one,), (other,) = told.onto_old(answers(on_new[4:], gone[4:])), whole.onto_old(answers(filled[4:]))
        assert one.low <= other.value <= one.high


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 40), st.floats(0, 0.6))
def test_the_direction_of_answers_that_moved_is_tested_exactly(
    seed: int, systems: int, items: int, rate: float
) -> None:
    random = np.random.default_rng(seed)
    old = (random.random((systems, items)) < 0.5).astype(float)
    new = np.where(random.random(old.shape) < rate, 1 - old, old)
    found = moved_items(old, new)
    p_values, least = [], []
    for k, item in enumerate(found):
        up, down = int((new > old)[:, k].sum()), int((new < old)[:, k].sum())
        assert (item.up, item.down) == (up, down)
        p_values.append(binomtest(up, up + down).pvalue if up + down else 1.0)
        least.append(binomtest(0, up + down).pvalue if up + down else 1.0)
        assert item.p_value == pytest.approx(p_values[-1])
    # Tarone: the smallest number of tests that is at least the number of items that could pass it.
    tests = next(m for m in range(1, items + 2) if sum(p <= 0.05 / m for p in least) <= m)
    expected = [min(1.0, p * tests) if can <= 0.05 / tests else 1.0 for p, can in zip(p_values, least, strict=True)]
    assert [item.p_adjusted for item in found] == pytest.approx(expected)


def test_too_few_systems_and_too_few_common_items_are_refused_in_one_sentence() -> None:
    random = np.random.default_rng(3)
    old, new = releases(random, 24, 4, 1)
    values = np.ones((5, 28))
    with pytest.raises(UsageError, match="Linking needs 3 systems that answered both releases; there are 2"):
        Linking(old, new, answers(values[:2]), answers(values[:2]))
    other = ReleaseItems(new.cultures, new.clusters, [f"other {name}" for name in new.names])
    with pytest.raises(UsageError, match="The releases have 0 items in common; linking needs 10 of different clusters"):
        Linking(old, other, answers(values), answers(values))


@pytest.mark.parametrize("design", [DESIGNS[1], DESIGNS[4], DESIGNS[6], DESIGNS[8]], ids=lambda design: design.name)
def test_intervals_of_made_releases_hold_what_was_planted(design) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(5)
    found = [one_data_set(random, design) for _ in range(40)]
    assert sum(low <= truth <= high for truth, low, high, *_ in found) >= 34  # of 40 at 95 %: fewer in 1 of 1,000
    assert sum(one[3] for one in found) >= 34
