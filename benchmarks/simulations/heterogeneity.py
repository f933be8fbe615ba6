"""Cultures equal or not: errors of the test, of who is named best and worst, of ranks; what partial pooling gains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import DESIGNS, answers, places

from kapwa.stats.spread import CultureSpread, culture_spread

SUBJECT = "Differences between cultures"


def scores(random: np.random.Generator, design: tuple[int, int, str], shares: np.ndarray) -> CultureSpread:
    """Spread of one model's scores; ``shares``: its true share by culture."""
    cultures, questions = places(random, design)
    spread = culture_spread(answers(random, cultures, questions, shares[None])[0], cultures, questions)
    assert spread is not None
    return spread


def differences(random: np.random.Generator, design: tuple[int, int, str], gains: np.ndarray) -> CultureSpread:
    """Spread of what one model gains on another; scores themselves differ by culture, from 30 to 60 %."""
    cultures, questions = places(random, design)
    base = np.linspace(0.3, 0.6, design[0])
    a, b = answers(random, cultures, questions, np.stack([base + gains, base]))
    spread = culture_spread(a - b, cultures, questions)
    assert spread is not None
    return spread


def sd_held(random: np.random.Generator, repeats: int, design: tuple[int, int, str], sd: float) -> float:
    """Percent of told intervals of the standard deviation between cultures that hold the one they were drawn with."""
    held = []
    for _ in range(repeats):
        _, low, high = differences(random, design, sd * random.normal(size=design[0])).deviation
        if low is not None and high is not None:
            held.append(low <= sd <= high)
    return 100 * float(np.mean(held))


def names_wrongly(found: CultureSpread) -> bool:
    """Whether a report names a best and a worst culture."""
    return found.p_value < 0.05 and found.apart(int(found.means.argmin()), int(found.means.argmax()))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates where cultures are equal; ranks, power and partial pooling where they are not."""
    for name, design in DESIGNS.items():
        equal = np.full(design[0], 0.5)
        found = [scores(random, design, equal) for _ in range(repeats)]
        erred = 100 * np.mean([one.p_value < 0.05 for one in found])
        yield Cell(SUBJECT, "“scores differ”", f"{name}, equal", float(erred), repeats, 3, 6)
        named = 100 * np.mean([names_wrongly(one) for one in found])
        yield Cell(SUBJECT, "best and worst named", f"{name}, equal", float(named), repeats, 0, 5)
        told = [differences(random, design, np.full(design[0], 0.05)) for _ in range(repeats)]
        varied = 100 * np.mean([one.p_value < 0.05 for one in told])
        yield Cell(SUBJECT, "“the difference varies”", f"{name}, 5 points everywhere", float(varied), repeats, 3, 6)
        for sd in (0.0, 0.05, 0.1):
            setting = f"{name}, standard deviation of {100 * sd:.0f} points"
            share = sd_held(random, max(repeats // 3, 1), design, sd)
            yield Cell(SUBJECT, "interval of the standard deviation", setting, share, max(repeats // 3, 1), 93, 100)
    name, design = next(iter(DESIGNS.items()))
    low = [scores(random, design, np.full(16, 0.05)).p_value < 0.05 for _ in range(repeats)]
    yield Cell(SUBJECT, "“scores differ”", f"{name}, equal, 5 % right", float(100 * np.mean(low)), repeats, 3, 6)
    held, nearer, seen = 0, 0, 0
    for _ in range(repeats):
        truth = np.clip(0.5 + 0.05 * random.normal(size=16), 0.05, 0.95)
        found_one = scores(random, design, truth)
        ranks = 1 + (truth[:, None] < truth).sum(axis=1)
        held += bool(((found_one.rank_low <= ranks) & (ranks <= found_one.rank_high)).all())
        seen += found_one.p_value < 0.05
        # What questions have in common moves all cultures alike; errors are of the distances from their mean.
        errors = [
            ((one - one.mean() - truth + truth.mean()) ** 2).sum() for one in (found_one.partial, found_one.means)
        ]
        nearer += errors[0] < errors[1]
    setting = f"{name}, spread of 5 points"
    yield Cell(SUBJECT, "all ranks in their intervals", setting, 100 * held / repeats, repeats, 93, 100)
    yield Cell(SUBJECT, "“scores differ”, found", setting, 100 * seen / repeats, repeats, 75, 100)
    yield Cell(SUBJECT, "partial pooling nearer to the truth", setting, 100 * nearer / repeats, repeats, 50, 100)
