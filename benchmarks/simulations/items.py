"""Audits of items: how often a second culture is found, and falsely seen, and the interval of discrimination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.consensus import consensus
from kapwa.stats.correlation import pearson

ITEMS = 30


def answers(random: np.random.Generator, rows: int) -> np.ndarray:
    """Answers of ``rows``; two-parameter logistic: items differ in difficulty and discrimination."""
    ability, difficulty = random.normal(0, 1, (rows, 1)), random.normal(0, 1, ITEMS)
    chance = 1 / (1 + np.exp(random.lognormal(0, 0.25, ITEMS) * (difficulty - ability)))
    return (random.random(chance.shape) < chance).astype(float)


def people(random: np.random.Generator, knows: Sequence[float], items: int, key: int = 0) -> np.ndarray:
    """Answers to items of four options of people who know such shares of a key, and guess the rest."""
    known = random.random((len(knows), items)) < np.asarray(knows)[:, None]
    return np.where(known, key, random.integers(0, 4, known.shape))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """The consensus model, then the interval of an item's discrimination."""
    yield from _consensus(random, repeats)
    yield from _discrimination(random, repeats)


# People, items; how often each verdict may be given, where it may be at all.
STUDIES = ((4, 20), (6, 40))
_WRONG, _ANY = (0, 6), (0, 100)
WORLDS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "all guess": (_WRONG, _WRONG),
    "all guess, one option is popular (50 %)": (_WRONG, _WRONG),
    "all guess, one option is popular (60 %)": (_WRONG, _WRONG),
    "one culture, competence 0.5 to 0.9": (_ANY, _WRONG),
    "two cultures, competence 0.8": (_WRONG, (80, 100)),
    "half the people have other answers to a third of the items": (_WRONG, _ANY),
    "a quarter of the people has other answers to a third of the items": (_WRONG, _ANY),
}


def _consensus(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    for (size, items), (world, (one, several)) in product(STUDIES, WORLDS.items()):
        studies = (_world(random, world, size, items) for _ in range(repeats))
        verdicts = Counter(consensus(study, [4] * items, replicates=60).verdict for study in studies)
        setting = f"{size} people, {items} items of four options, {world}"
        for name, limits in (("one culture", one), ("several cultures", several)):
            yield Cell("items", f"called {name}", setting, 100 * verdicts[name] / repeats, repeats, *limits)


def _world(random: np.random.Generator, world: str, size: int, items: int) -> np.ndarray:
    if world.startswith("two"):
        sides = ((size // 2, 0), (size - size // 2, 1))
        return np.vstack([people(random, [0.8] * number, items, key) for number, key in sides])
    if "popular" in world:
        return np.where(
            random.random((size, items)) < (0.5 if "50" in world else 0.6), 0, random.integers(1, 4, (size, items))
        )
    if world == "all guess":
        return people(random, [0] * size, items)
    knows = random.uniform(0.5, 0.9, size)
    answers_given = people(random, knows, items)
    if not world.startswith("one"):
        other = size // 2 if world.startswith("half") else max(2, size // 4)
        apart = np.flatnonzero(random.random(items) < 1 / 3)
        answers_given[:other, apart] = people(random, knows[:other], len(apart), key=1)
    return answers_given


def _discrimination(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Systems drawn from a large population, of every item in turn; so many more draws cost little."""
    every = answers(random, 20_000)
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
