"""Differential item functioning: how often items are falsely said to differ, and how many answers find what does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.differential import differential_items

PLANTED = 3  # items that are harder for the second group
# Chance to guess right, and how far slopes differ (standard deviation of their logarithm).
LIKE, UNLIKE = (0.0, 0.25), (0.25, 0.5)


@dataclass(frozen=True)
class World:
    """Answers a group, items, how many standard deviations one group is weaker, the planted δ, guessing and slopes."""

    rows: int
    items: int
    impact: float = 0.0
    delta: float = 0.0
    guess: float = 0.0
    slopes: float = 0.25

    def __str__(self) -> str:
        """What was simulated."""
        kind = "25 % guessed right, slopes differ" if self.guess else "nobody guesses"
        return f"{self.items} items, {self.rows} answers a group, one group {self.impact:g} SD weaker, {kind}"


def answers(random: np.random.Generator, world: World) -> np.ndarray:
    """Two groups; three-parameter logistic; the planted items are harder for the second by ``delta`` on ETS's scale."""
    rows, items = world.rows, world.items
    ability = np.concatenate([random.normal(0, 1, rows), random.normal(-world.impact, 1, rows)])
    difficulty = np.tile(random.normal(0, 1, items), (2 * rows, 1))
    slopes = random.lognormal(0, world.slopes, items)
    difficulty[rows:, :PLANTED] += world.delta / 2.35 / slopes[:PLANTED]
    chance = world.guess + (1 - world.guess) / (1 + np.exp(slopes * (difficulty - ability[:, None])))
    return (random.random(chance.shape) < chance).astype(float)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """No item differs; three items differ."""
    for items, rows, impact, (guess, slopes) in product((10, 30), (50, 200, 500, 1000), (0.0, 1.5), (LIKE, UNLIKE)):
        world = World(rows, items, impact, guess=guess, slopes=slopes)
        focal = np.arange(2 * rows) >= rows
        clean = [differential_items(answers(random, world), focal) for _ in range(repeats)]
        tested = [item for study in clean for item in study if item.size]
        setting = f"{world}, no item differs"
        shares = {
            "false differences, each item at 5 %": ([item.p_value < 0.05 for item in tested], 6),
            "the same, spread of items not counted (not used)": ([item.odds.p_value < 0.05 for item in tested], 100),
            "equal items called class C": ([item.size == "C" for item in tested], 5),
            "any false difference after adjustment": ([any(i.p_bh < 0.05 for i in study) for study in clean], 100),
        }
        for figure, (hits, most) in shares.items():
            yield Cell("differential", figure, setting, 100 * float(np.mean(hits)), repeats, 0, most)
    for delta, rows, impact in product((1.5, 2.1, 3.0, 3.5), (100, 200, 500, 1000), (0.0, 1.0)):
        world = World(rows, 30, impact, delta)
        focal = np.arange(2 * rows) >= rows
        studies = [differential_items(answers(random, world), focal) for _ in range(repeats)]
        planted = [item for study in studies for item in study[:PLANTED]]
        setting = f"{PLANTED} of {world}, harder by {delta:g} delta"
        found = 100 * float(np.mean([item.p_bh < 0.05 for item in planted]))
        yield Cell("differential", "planted differences found", setting, found, repeats, 0, 100)
        sure = 100 * float(np.mean([item.size == "C" and item.p_bh < 0.05 for item in planted]))
        yield Cell("differential", "planted differences called class C", setting, sure, repeats, 0, 100)
        others = [item.p_value < 0.05 for study in studies for item in study[PLANTED:] if item.size]
        yield Cell("differential", "false differences beside", setting, 100 * float(np.mean(others)), repeats, 0, 6)
