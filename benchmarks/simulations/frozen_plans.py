"""Frozen plans: errors of planned comparisons and of those chosen afterwards, and of the difference on these items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import places

from kapwa.stats.pooled import pooled_differences
from kapwa.stats.sequential import look_points, partial_means, seeded_order
from kapwa.stats.significance import holm
from kapwa.stats.these_items import OnTheseItems, difference_on_these_items

SUBJECT = "frozen plans"
SYSTEMS, METRICS = 3, 5
DESIGN = (8, 40, "shared")
CULTURES = ("Egypt", "Kenya", "Korea", "Peru")
CLUSTERS = 120
WIDTH = 0.07
PLANTED = 0.06


def family_p(random: np.random.Generator, better: float) -> np.ndarray:
    """Holm's p of every pair of systems, (pairs, metrics); the first system is ``better`` by so many z."""
    cultures, questions = places(random, DESIGN)
    hard = np.sqrt(0.3) * random.normal(size=questions.max() + 1)[questions]
    able = np.sqrt(0.4) * random.normal(size=(SYSTEMS, len(questions)))
    able[0] -= better
    noise = np.sqrt(0.3) * random.normal(size=(METRICS, SYSTEMS, len(questions)))
    right = np.asarray(hard + able + noise < 0, dtype=np.float64)
    found = []
    for a, b in combinations(range(SYSTEMS), 2):
        pair = pooled_differences(right[:, a].T, right[:, b].T, cultures, questions, binary=True, varies=False)
        found.append([one.comparison.p_value for one in pair])
    p = np.array([[1.0 if value is None else value for value in row] for row in found])
    return np.apply_along_axis(holm, 0, p)


def a_benchmark(random: np.random.Generator, better: float) -> pl.DataFrame:
    """All answers of two systems that agree on six of ten items; the mean difference is exactly ``better``."""
    parts = []
    for culture in CULTURES:
        sizes = random.integers(1, 4, CLUSTERS)
        codes = np.repeat(np.arange(CLUSTERS), sizes)
        several = len(codes)
        wins = round(several * (0.2 + better / 2))
        losses = round(several * (0.2 - better / 2))
        change = np.repeat([1, -1, 0], [wins, losses, several - wins - losses])
        # What differs comes in lumps, so that clusters matter.
        lumps = random.normal(size=CLUSTERS)[codes] + random.normal(size=several)
        change = change[np.argsort(np.argsort(lumps))]
        base = random.random(several) < 0.5
        a = np.where(change == 0, base, change == 1).astype(np.float64)
        b = np.where(change == 0, base, change == -1).astype(np.float64)
        parts.append(
            pl.DataFrame({"culture": culture, "language": "xx", "code": codes, "a": a, "b": b})
            .with_columns(cluster=pl.format("{}{}", "culture", "code"))
            .with_columns(item_id=pl.format("{}-{}", "cluster", pl.int_range(pl.len())))
        )
    return pl.concat(parts)


def asked_until(items: pl.DataFrame, side: str, seed: int) -> pl.DataFrame:
    """The items that a run asks which stops each culture once its own score is known to ±:data:`WIDTH`."""
    kept = []
    for part in items.partition_by("culture", maintain_order=True):
        order = {name: place for place, name in enumerate(seeded_order(part["cluster"].to_list(), "x", seed))}
        place = part["cluster"].replace_strict(order, return_dtype=pl.Int64).to_numpy()
        for point in look_points(np.bincount(place)):
            seen = place < point
            values = np.where(seen, part[side].to_numpy(), np.nan)[:, None]
            if seen.all() or partial_means(values, place).half[0] <= WIDTH:
                break
        kept.append(part.filter(seen))
    return pl.concat(kept)


def on_these_items(random: np.random.Generator, items: pl.DataFrame) -> OnTheseItems | None:
    """The printed difference of two runs that stop early, in one random order."""
    seed = int(random.integers(1 << 30))
    asked = [asked_until(items, side, seed) for side in ("a", "b")]
    scores = [
        part.with_columns(least=pl.col(side), most=pl.col(side)) for part, side in zip(asked, ("a", "b"), strict=True)
    ]
    absent = pl.concat([items.join(part, on="item_id", how="anti") for part in asked])
    return difference_on_these_items(scores[0], scores[1], absent)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error, coverage and power of both intervals; what choosing the metric afterwards does."""
    planned = afterwards = detected = 0
    for _ in range(repeats):
        equal = family_p(random, 0.0) < 0.05
        planned += bool(equal[:, 0].any())
        afterwards += bool(equal.any())
        detected += bool((family_p(random, 0.25)[:2, 0] < 0.05).any())
    where = f"{SYSTEMS} equal systems, 8 cultures × 40 shared questions"
    yield Cell(SUBJECT, "any verdict of the planned metric", where, 100 * planned / repeats, repeats, 0, 6)
    chosen = f"any verdict of {METRICS} metrics, none planned"
    yield Cell(SUBJECT, chosen, where, 100 * afterwards / repeats, repeats, 0, 100)
    better = f"one of {SYSTEMS} systems about 7 points better"
    yield Cell(SUBJECT, "found by the planned metric", better, 100 * detected / repeats, repeats, 0, 100)
    held = erred = told = 0
    for _ in range(repeats):
        items = a_benchmark(random, 0.0)
        truth = float(items.group_by("culture").agg((pl.col("a") - pl.col("b")).mean())["a"].mean() or 0.0)
        here = on_these_items(random, items)
        held += here is not None and here.low <= truth <= here.high
        erred += here is not None and (here.low > 0 or here.high < 0)
        here = on_these_items(random, a_benchmark(random, PLANTED))
        told += here is not None and here.low > 0
    where = f"4 cultures × {CLUSTERS} clusters of 1–3 items, runs stop at ±7 points"
    yield Cell(SUBJECT, "“on these items” holds the difference", where, 100 * held / repeats, repeats, 93, 100)
    yield Cell(SUBJECT, "“on these items” calls equal systems different", where, 100 * erred / repeats, repeats, 0, 6)
    where = f"{where}, 6 points"
    yield Cell(SUBJECT, "“on these items” finds the better system", where, 100 * told / repeats, repeats, 0, 100)
