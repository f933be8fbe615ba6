"""Cultures compared on the share of what people score, which differs between them; several models as one family."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import places
from benchmarks.simulations.heterogeneity import SUBJECT, names_wrongly

from kapwa.stats.families import adjust_spreads
from kapwa.stats.spread import CultureSpread, culture_spread, shares_of

# Cultures, questions of each.
SHARES = {
    "16 cultures × 100 shared questions": (16, 100, "shared"),
    "16 cultures × 300 shared questions": (16, 300, "shared"),
    "8 cultures × 15 shared questions": (8, 15, "shared"),
    "4 cultures × 30 questions of their own": (4, 30, "own"),
}


def votes(
    random: np.random.Generator, cultures: np.ndarray, questions: np.ndarray, knows: np.ndarray, models: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ask 4 to 10 people each question, and models that answer as one of them to the share ``knows`` of each culture.

    People of one culture agree more than those of another, about easy questions in all. Returns what a person scores
    against the others, (n,), and each model's scores (models, n) by keys without one person, and by whole keys.
    """
    n, several, most = len(cultures), int(cultures.max()) + 1, 10
    people = random.integers(4, most + 1, n)
    width = np.linspace(0.08, 0.5, several)[cultures] * np.exp(random.normal(0, 0.5, questions.max() + 1))[questions]
    chances = np.maximum(random.gamma(np.repeat(width[:, None], 12, axis=1)), 1e-300)
    chances = (chances / chances.sum(axis=1, keepdims=True)).cumsum(axis=1)
    said = (random.random((n, most + models, 1)) > chances[:, None, :]).sum(axis=2).clip(max=11)
    counts = np.zeros((n, 12), dtype=np.int64)
    item, person = np.nonzero(np.arange(most) < people[:, None])
    np.add.at(counts, (item, said[item, person]), 1)
    known = random.random((models, n)) < knows[cultures]
    own = counts[np.arange(n), said[:, most:].T]
    fair = np.where(own == 1, 1 - 1 / people, own > 0)
    return np.where(counts > 1, counts, 0).sum(axis=1) / people, fair * known, (own > 0) * known.astype(np.float64)


def as_people(
    random: np.random.Generator, design: tuple[int, int, str], knows: np.ndarray, models: int = 1, *, share: bool
) -> list[CultureSpread]:
    """Spread of scores, or with ``share`` of the share of what people score, of models that answer as people do."""
    cultures, questions = places(random, design)
    person, fair, whole = votes(random, cultures, questions, knows, models)
    values = [shares_of(one, person, cultures) for one in fair] if share else whole
    found = [culture_spread(one, cultures, questions) for one in values]
    assert None not in found
    return found  # type: ignore[return-value]


def any_named(found: list[CultureSpread], *, family: bool) -> bool:
    """Whether cultures are said to differ for any of the models, their tests being one family or each its own."""
    told = adjust_spreads(found) if family else found
    return any(one is not None and one.p_value < 0.05 for one in told)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Models as good as a person, or at 60 % of one, everywhere; five equal models; ranks where shares differ."""
    for name, design in SHARES.items():
        for good in (1.0, 0.6):
            for share in (False, True):
                knows = np.full(design[0], good)
                found = [as_people(random, design, knows, share=share)[0] for _ in range(repeats)]
                setting = f"{name}, {100 * good:.0f} % of what people score everywhere"
                what, most = ("share of people's", 6) if share else ("score alone, as before", 100)
                erred = 100 * float(np.mean([one.p_value < 0.05 for one in found]))
                yield Cell(SUBJECT, f"“cultures differ”, {what}", setting, erred, repeats, 0, most)
                named = 100 * float(np.mean([names_wrongly(one) for one in found]))
                yield Cell(SUBJECT, f"best and worst named, {what}", setting, named, repeats, 0, most)
    name, design = next(iter(SHARES.items()))
    five = [as_people(random, design, np.full(16, 0.6), 5, share=True) for _ in range(repeats)]
    for family, what, most in ((False, "each model by itself, as before", 100), (True, "one family", 6)):
        erred = 100 * float(np.mean([any_named(one, family=family) for one in five]))
        setting = f"{name}, five equal models"
        yield Cell(SUBJECT, f"“cultures differ” for any, {what}", setting, erred, repeats, 0, most)
    held = 0
    for _ in range(repeats):
        truth = np.clip(0.6 + 0.08 * random.normal(size=16), 0.1, 1)
        one, ranks = as_people(random, design, truth, share=True)[0], 1 + (truth[:, None] < truth).sum(axis=1)
        held += bool(((one.rank_low <= ranks) & (ranks <= one.rank_high)).all())
    setting = f"{name}, shares spread by 8 points"
    yield Cell(
        SUBJECT, "all ranks in their intervals, share of people's", setting, 100 * held / repeats, repeats, 94, 100
    )
    for shared, kind in ((True, "shared"), (False, "own")):
        cultures, questions = places(random, (8, 20, kind))
        told = 0
        for seed in range(repeats):
            right = (random.random(len(cultures)) < 0.85).astype(float)
            spread = culture_spread(right, cultures, questions, seed=seed)
            assert spread is not None
            told += not bool(((spread.rank_low == 1) & (spread.rank_high == 8)).all())
        whose = "shared questions" if shared else "questions of their own"
        setting = f"8 cultures × 20 {whose}, equal, 85 % right"
        yield Cell(SUBJECT, "all ranks in their intervals", setting, 100 - 100 * told / repeats, repeats, 94, 100)
