"""Audits of items: how often differential functioning, a second culture and a bad item are found, and falsely seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.consensus import consensus
from kapwa.stats.correlation import pearson
from kapwa.stats.differential import differential_items

ITEMS = 30
PLANTED = 3  # items that are harder for the second group


def answers(random: np.random.Generator, rows: int, *, impact: float = 0.0, shift: float = 0.0) -> np.ndarray:
    """Two groups of ``rows``, the second weaker by ``impact`` standard deviations; three items harder for it.

    Two-parameter logistic: items differ in difficulty and discrimination, so that the total score matches imperfectly.
    """
    ability = np.concatenate([random.normal(0, 1, rows), random.normal(-impact, 1, rows)])
    difficulty = np.tile(random.normal(0, 1, ITEMS), (2 * rows, 1))
    difficulty[rows:, :PLANTED] += shift
    chance = 1 / (1 + np.exp(random.lognormal(0, 0.25, ITEMS) * (difficulty - ability[:, None])))
    return (random.random(chance.shape) < chance).astype(float)


def people(random: np.random.Generator, knows: Sequence[float], items: int, key: int = 0) -> np.ndarray:
    """Answers to items of four options of people who know such shares of a key, and guess the rest."""
    known = random.random((len(knows), items)) < np.asarray(knows)[:, None]
    return np.where(known, key, random.integers(0, 4, known.shape))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """The consensus model, then differential functioning, then the interval of an item's discrimination."""
    yield from _consensus(random, repeats)
    yield from _differential(random, repeats)
    yield from _discrimination(random, repeats)


def _differential(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    for rows in (50, 200, 500):
        focal = np.arange(2 * rows) >= rows
        for impact in (0.0, 1.0):
            clean = [differential_items(answers(random, rows, impact=impact), focal) for _ in range(repeats)]
            tested = [item for items in clean for item in items if item.size]
            setting = f"{ITEMS} items, {rows} answers a group, one group {impact:g} SD weaker, no item differs"
            false = 100 * float(np.mean([item.odds.p_value < 0.05 for item in tested]))
            yield Cell("items", "false differences, each item at 5 %", setting, false, repeats, 0, 6)
            large = 100 * float(np.mean([item.size == "C" for item in tested]))
            yield Cell("items", "equal items called class C", setting, large, repeats, 0, 5)
            some = 100 * float(np.mean([any(item.p_bh < 0.05 for item in items) for items in clean]))
            yield Cell("items", "any false difference after adjustment", setting, some, repeats, 0, 10)
    # An item of 2.4 delta that discriminates little is hardly of class C.
    for rows, shift, least in ((200, 1.5, 90), (500, 1.0, 75), (500, 1.5, 90)):
        focal = np.arange(2 * rows) >= rows
        for impact in (0.0, 1.0):
            drawn = (answers(random, rows, impact=impact, shift=shift) for _ in range(repeats))
            planted = [differential_items(right, focal) for right in drawn]
            setting = f"{PLANTED} of {ITEMS} items harder by {2.35 * shift:.1f} delta, {rows} answers a group"
            setting += f", one group {impact:g} SD weaker"
            sure = [item.size == "C" and item.p_bh < 0.05 for items in planted for item in items[:PLANTED]]
            yield Cell("items", "planted class C found", setting, 100 * float(np.mean(sure)), repeats, least, 100)
            others = [item.odds.p_value < 0.05 for items in planted for item in items[PLANTED:] if item.size]
            yield Cell("items", "false differences beside", setting, 100 * float(np.mean(others)), repeats, 0, 6)


def _consensus(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    for size, items in ((4, 20), (6, 40), (10, 40)):
        for world in ("all guess", "one culture, competence 0.5 to 0.9", "two cultures, competence 0.8"):
            studies = (_world(random, world, size, items) for _ in range(repeats))
            verdicts = Counter(consensus(study, [4] * items, replicates=60).verdict for study in studies)
            setting = f"{size} people, {items} items of four options, {world}"
            one, several = (100 * verdicts[name] / repeats for name in ("one culture", "several cultures"))
            yield Cell("items", "called one culture", setting, one, repeats, *((90, 100) if "one" in world else (0, 6)))
            limits = (90, 100) if "two" in world else (0, 6)
            yield Cell("items", "called several cultures", setting, several, repeats, *limits)


def _world(random: np.random.Generator, world: str, size: int, items: int) -> np.ndarray:
    if world.startswith("two"):
        sides = ((size // 2, 0), (size - size // 2, 1))
        return np.vstack([people(random, [0.8] * number, items, key) for number, key in sides])
    return people(random, random.uniform(0.5, 0.9, size) if world.startswith("one") else [0] * size, items)


def _discrimination(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Systems drawn from a large population, of every item in turn; so many more draws cost little."""
    every = answers(random, 10_000)
    for rows in (10, 30, 100):
        held = known = 0
        for place in range(ITEMS):
            rest = np.delete(every, place, axis=1).mean(axis=1)
            truth = np.corrcoef(every[:, place], rest)[0, 1]
            for _ in range(repeats):
                drawn = random.choice(len(every), rows, replace=False)
                link = pearson(every[drawn, place], rest[drawn])
                if link.low is not None and link.high is not None:
                    known += 1
                    held += link.low <= truth <= link.high
        setting = f"{rows} systems, {ITEMS} items; {known} of {ITEMS * repeats} have an interval"
        yield Cell("items", "coverage of discrimination", setting, 100 * held / max(known, 1), repeats, 93, 97)
