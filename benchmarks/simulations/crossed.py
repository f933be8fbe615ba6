"""Crossed attributes: texts whose prompts cross two or three, where none makes a difference and where one does.

Texts are points, so that the true variance of each term is known; every prompt of a concept also has a shift of its own
(``prompts``), which no attribute explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.words import Lengths, bursty_texts, corpus

from kapwa.analysis.concept_results import ConceptResult
from kapwa.analysis.crossed import CrossedFacts, Crossing, Labels, concept_facts, factor_pairs_table, factors_table
from kapwa.analysis.words import log_odds_words
from kapwa.analysis.words.counts import WordSums
from kapwa.stats.factorial import factor_variances

LABELS = Labels("simulated", "eecc/qa", "all")
PERMUTATIONS = 199
DIMENSIONS = 12


class Planted(NamedTuple):
    """Standard deviations: of the shifts of the first attribute's levels, of the second's, of their combinations.

    ``prompts``: of each prompt's own shift; ``wide``: how many times as far the texts of the first attribute's first
    level are spread; ``other_way``: the share of the first attribute's shift that the last level of the second lacks.
    """

    first: float = 0.0
    second: float = 0.0
    both: float = 0.0
    prompts: float = 0.0
    wide: float = 1.0
    other_way: float = 0.0


def concept(
    random: np.random.Generator, crossing: Crossing, planted: Planted, number: int, samples: int
) -> tuple[ConceptResult, np.ndarray]:
    """Draw one concept; return its part and the true variance of each term, given all that was shifted but sampling."""
    sizes = crossing.sizes

    def shifts(scale: float, *shape: int) -> np.ndarray:
        return scale * random.normal(size=(*shape, DIMENSIONS))

    ones = (1,) * (len(sizes) - 2)
    centres = np.zeros((*sizes, DIMENSIONS))
    first = np.broadcast_to(shifts(planted.first, sizes[0], 1, *ones), centres.shape).copy()
    first[:, -1] *= 1 - planted.other_way
    centres += first + shifts(planted.second, 1, sizes[1], *ones)
    centres += shifts(planted.both, *sizes[:2], *ones) + shifts(planted.prompts, *sizes)
    flat = centres.reshape(-1, DIMENSIONS)
    truth = factor_variances(((flat[:, None] - flat[None]) ** 2).sum(axis=2), sizes)
    width = np.where(np.arange(len(flat)) < len(flat) // sizes[0], planted.wide, 1.0)
    points = flat[:, None] + random.normal(size=(len(flat), samples, DIMENSIONS)) * width[:, None, None]
    apart = ((points[:, None, :, None] - points[None, :, None]) ** 2).sum(axis=4)
    squares = apart.mean(axis=(2, 3))
    np.fill_diagonal(squares, apart[range(len(flat)), range(len(flat))].sum(axis=(1, 2)) / samples / (samples - 1))
    nothing, cells = np.empty(0), tuple(sorted(crossing.cells))
    order = [crossing.cells.index(cell) for cell in cells]
    part = ConceptResult(
        topic="all",
        concept=f"{number}",
        identities=cells,
        samples=np.full(len(cells), samples),
        tokens=np.zeros(len(cells), np.int64),
        empty=np.zeros(len(cells), np.int64),
        **dict.fromkeys(("within", "across", "within_reference", "across_reference", "means"), nothing),
        **dict.fromkeys(("permanova", "bounds", "bleu", "bleu_reference"), nothing),
        wed=squares[np.ix_(order, order)][np.triu_indices(len(cells), 1)],
        wed_own=np.diagonal(squares)[order],
        words=WordSums(len(cells)).result(),
    )
    return part, truth


def crossing_with(*sizes: int) -> Crossing:
    """Return a crossing of factors with so many levels."""
    levels = tuple(tuple(f"{chr(97 + factor)}{level}" for level in range(size)) for factor, size in enumerate(sizes))
    return Crossing(tuple("ABC"[: len(sizes)]), levels)


class Found(NamedTuple):
    """Percent of data sets: p ≤ 0.05 of A, B, A × B, A's spread, and of A shared over levels of B; A's interval right.

    The interval is right where it holds the mean true variance of concepts like these.
    """

    first: float
    second: float
    both: float
    spread: float
    shared: float
    covered: float


def found(
    random: np.random.Generator, repeats: int, sizes: tuple[int, ...], planted: Planted, concepts: int, samples: int = 3
) -> Found:
    """Simulate data sets of ``concepts`` concepts and count what is found."""
    crossing = crossing_with(*sizes)
    # What a level's shifts come to among so many levels, and the prompts' and combinations' part of it.
    noise = planted.prompts**2 / (np.prod(sizes) / sizes[0]) + planted.both**2 / sizes[1]
    truth = DIMENSIONS * (1 - 1 / sizes[0]) * (planted.first**2 + noise)
    hits = np.zeros(6)
    for seed in range(repeats):
        parts = [concept(random, crossing, planted, number, samples)[0] for number in range(concepts)]
        facts = [concept_facts(part, crossing, permuted=PERMUTATIONS, seed=seed) for part in parts]
        joined = CrossedFacts.joined([one for one in facts if one is not None])
        rows = {row["term"]: row for row in factors_table(LABELS, crossing, joined).to_dicts()}
        pairs = factor_pairs_table(LABELS, crossing, joined).filter(factor="A", by="B")
        hits += [
            rows["A"]["p"] <= 0.05,
            rows["B"]["p"] <= 0.05,
            rows["A × B"]["p"] <= 0.05,
            rows["A"]["spread_p"] <= 0.05,
            pairs["p"][0] <= 0.05,
            rows["A"]["low"] <= truth <= rows["A"]["high"],
        ]
    return Found(*(100 * hits / repeats).tolist())


def words_starred(random: np.random.Generator, repeats: int, planted: float) -> float:
    """Percent of lists by factor with a star: 12 identities cross 3 × 4, a word stands in a share of one level's."""
    groups, stars = np.arange(12) // 4, 0
    level = tuple(np.flatnonzero(groups == 1).tolist())
    for _ in range(repeats):
        counts = corpus(random, bursty_texts, Lengths(varied=0.25), identities=12, planted=(level, planted, 0.05))
        listed = log_odds_words(counts.merged(groups, 3))
        stars += bool((listed["p_adjusted"] < 0.05).any())
    return 100 * stars / repeats


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates where nothing was planted, coverage, and what is found of what was planted."""
    few = max(repeats // 2, 20)
    plain, shifted = Planted(), Planted(prompts=0.4)
    for sizes, planted, concepts, how in (
        ((3, 2), plain, 12, "no prompt differs"),
        ((3, 2), shifted, 12, "each prompt has a shift of its own"),
        ((4, 3), shifted, 12, "each prompt has a shift of its own"),
        ((3, 2, 2), shifted, 6, "each prompt has a shift of its own"),
        ((3, 2), Planted(second=0.5, prompts=0.4), 12, "each prompt has a shift of its own, and B makes a difference"),
        ((3, 2), Planted(wide=1.5), 12, "texts of one level of A are spread 1.5 times as far"),
    ):
        setting = f"{' × '.join(map(str, sizes))} levels, {concepts} concepts × 3 texts; {how}"
        result = found(random, few, sizes, planted, concepts)
        yield Cell("crossed attributes", "A by exchange of its levels", setting, result.first, few, 0, 6)
        if not planted.second:
            yield Cell("crossed attributes", "B by exchange of its levels", setting, result.second, few, 0, 6)
        if not planted.prompts:
            yield Cell("crossed attributes", "A × B over concepts", setting, result.both, few, 0, 6)
        low, high = (80, 100) if planted.wide > 1 else (0, 6)
        yield Cell("crossed attributes", "spread of A", setting, result.spread, few, low, high)
        yield Cell("crossed attributes", "A in common at two levels of B", setting, result.shared, few, 0, 6)
    for sizes, planted, concepts in (((3, 2), Planted(0.3, 0.3, 0.3), 24), ((4, 3), Planted(0.3, prompts=0.3), 24)):
        setting = f"{' × '.join(map(str, sizes))} levels, {concepts} concepts × 3 texts, planted"
        result = found(random, few, sizes, planted, concepts)
        yield Cell("crossed attributes", "coverage of the variance of A", setting, result.covered, few, 93, 97)
        yield Cell("crossed attributes", "planted A is found", setting, result.first, few, 50, 100)
        yield Cell("crossed attributes", "planted A in common is found", setting, result.shared, few, 50, 100)
    setting = "3 × 2 levels, 24 concepts × 3 texts, A only without effect at one of B's"
    result = found(random, few, (3, 2), Planted(0.4, other_way=1.0), 24)
    yield Cell("crossed attributes", "A in common at two levels of B", setting, result.shared, few, 0, 6)
    yield Cell("crossed attributes", "planted A × B is found", setting, result.both, few, 50, 100)
    for planted_share, low, high in ((0.05, 0, 6), (0.15, 50, 100)):
        setting = (
            f"3 levels over 12 identities, a word in {100 * planted_share:.0f}% of one level's texts, 5% of others'"
        )
        percent = words_starred(random, few, planted_share)
        yield Cell("crossed attributes", "any word of a level gets a star", setting, percent, few, low, high)
