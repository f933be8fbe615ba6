"""A difference on exactly the items that were to be asked: against a plain twin, and what its ends promise."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from kapwa.stats.these_items import difference_on_these_items

KEYS = ["culture", "language", "item_id", "cluster"]
Pair = tuple[float, float]
# Of each culture its items: their cluster, and the lower and upper difference, or None where one was not asked.
Cultures = Mapping[str, Sequence[tuple[int, Pair | None]]]


def slow(cultures: Cultures) -> tuple[float, float]:
    """Both ends, in words of one loop each: Student's interval, a finite population of clusters, cultures alike."""
    ends = []
    for side in (0, 1):
        means, variances, dfs = [], [], []
        for items in cultures.values():
            asked = [(pair[side], cluster) for cluster, pair in items if pair is not None]
            groups = {cluster for _, cluster in asked}
            n = len(asked)
            mean = sum(value for value, _ in asked) / n
            means.append(mean)
            if n == len(items):
                continue
            totals = [sum(value - mean for value, other in asked if other == group) for group in groups]
            several = len(groups)
            left = 1 - several / len({cluster for cluster, _ in items})
            variances.append(several / (several - 1) * sum(total**2 for total in totals) / n**2 * left)
            sizes = [sum(other == group for _, other in asked) for group in groups]
            parts = [size**2 / (n - size) for size in sizes]
            dfs.append(n**2 / (sum(s**2 for s in sizes) + sum(parts) ** 2 - sum(part**2 for part in parts)))
        value, error = sum(means) / len(means), sum(variances) / len(means) ** 2
        below = sum((one / len(means) ** 2) ** 2 / df for one, df in zip(variances, dfs, strict=True))
        half = t.ppf(0.975, error**2 / below) * math.sqrt(error) if below else 0.0
        ends.append(value + (-half, half)[side])
    return ends[0], ends[1]


def frames(cultures: Cultures) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The scores of two systems whose differences are these, and the items that were not asked."""
    rows: list[list[dict[str, object]]] = [[], [], []]
    for culture, items in cultures.items():
        for number, (cluster, pair) in enumerate(items):
            place = dict(zip(KEYS, (culture, "xx", f"{culture}{number}", f"{cluster}"), strict=True))
            if pair is None:
                rows[2].append(place)
            else:
                rows[0].append({**place, "least": pair[0], "most": pair[1]})
                rows[1].append({**place, "least": 0.0, "most": 0.0})
    schema = {**dict.fromkeys(KEYS, pl.String), "least": pl.Float64, "most": pl.Float64}
    a, b = (pl.DataFrame(part, schema=schema) for part in rows[:2])
    return a, b, pl.DataFrame(rows[2], schema=dict.fromkeys(KEYS, pl.String))


def a_world(random: np.random.Generator, asked: float, missing: float) -> Cultures:
    world: dict[str, list[tuple[int, Pair | None]]] = {}
    for culture in ("Kenya", "Peru"):
        items: list[tuple[int, Pair | None]] = []
        for cluster in range(8):
            is_asked = cluster < 3 or random.random() < asked
            for _ in range(random.integers(1, 4)):
                value = float(random.integers(-1, 2))
                pair = (-1.0, 1.0) if random.random() < missing else (value, value)
                items.append((cluster, pair if is_asked else None))
        world[culture] = items
    return world


@pytest.mark.parametrize(("asked", "missing"), list(itertools.product((0.3, 1.0), (0.0, 0.2))))
def test_both_ends_equal_those_of_the_plain_twin(asked: float, missing: float) -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        world = a_world(random, asked, missing)
        found = difference_on_these_items(*frames(world))
        assert found is not None
        assert (found.low, found.high) == pytest.approx(slow(world))
        assert found.items == sum(map(len, world.values()))
        assert found.pairs == sum(pair is not None for items in world.values() for _, pair in items)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_what_was_asked_and_answered_is_known_and_what_is_missing_is_bounded(seed: int) -> None:
    random = np.random.default_rng(seed)
    known = difference_on_these_items(*frames(a_world(random, 1.0, 0.0)))
    assert known is not None
    assert known.low == known.high == known.value
    world = a_world(random, 1.0, 0.3)
    bounded = difference_on_these_items(*frames(world))
    assert bounded is not None
    for sign in (-1.0, 1.0):  # whatever the missing answers are, the difference lies within
        filled = {
            culture: [(cluster, (sign, sign) if pair == (-1.0, 1.0) else pair) for cluster, pair in items]
            for culture, items in world.items()
        }
        told = difference_on_these_items(*frames(filled))
        assert told is not None
        assert bounded.low - 1e-12 <= told.value <= bounded.high + 1e-12


def test_nothing_is_said_where_a_culture_was_not_asked_or_one_cluster_stands_for_more() -> None:
    whole: list[tuple[int, Pair | None]] = [(0, (1.0, 1.0)), (1, (0.0, 0.0))]
    assert difference_on_these_items(*frames({"Kenya": whole, "Peru": [(0, None)]})) is None
    assert difference_on_these_items(*frames({"Kenya": [(0, (1.0, 1.0)), (0, (1.0, 1.0)), (1, None)]})) is None
    assert difference_on_these_items(*frames({"Kenya": [(0, None)]})) is None
