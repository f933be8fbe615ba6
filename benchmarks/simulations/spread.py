"""Texts that are spread more widely for some identities than for others, and intervals from drawn pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell

from kapwa.metrics.distance import sample_distances
from kapwa.metrics.tokens import Encoded
from kapwa.stats.distances import permanova, permdisp


def deceived(
    random: np.random.Generator, repeats: int, *, sizes: Sequence[int], widths: Sequence[float]
) -> tuple[float, float]:
    """Percent of data sets without any difference but in spread that PERMANOVA, and that PERMDISP calls a finding.

    Twelve identities around one point, with ``sizes`` texts and the spread ``widths`` in turns.
    """
    turns = np.arange(12) % len(sizes)
    groups = np.repeat(np.arange(12), np.array(sizes)[turns])
    width = np.array(widths)[turns][groups]
    hits = np.zeros(2)
    for seed in range(repeats):
        points = random.normal(size=(len(groups), 20)) * width[:, None]
        distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
        hits[0] += permanova(distances, groups, permutations=199, seed=seed).p <= 0.05
        hits[1] += permdisp(distances, groups, permutations=199, seed=seed).p <= 0.05
    alone, told = (100 * hits / repeats).tolist()
    return alone, told


def drawn_pairs(random: np.random.Generator, repeats: int) -> tuple[float, float]:
    """Percent of intervals from 2,000 pairs of 300 identities that hold this corpus's mean, and that of very many.

    Texts are 12 words of which an identity changes a number of its own, so that pairs share identities.
    """
    everyone = random.beta(0.5, 0.5, 20_000)
    square = ((np.arange(13)) / 12.0) ** 2

    def texts(chances: np.ndarray) -> np.ndarray:
        return (random.random((len(chances), 12)) < chances[:, None]) * random.integers(1, 1 << 20, (len(chances), 12))

    sample = texts(everyone)
    others = sample[random.permutation(len(sample))]
    truth = float(square[(sample != others).sum(axis=1)].mean())
    held = np.zeros(2)
    for seed in range(repeats):
        some = texts(random.choice(everyone, 300))
        # Words stand at their place, so that edits are substitutions.
        vocabulary, ids = np.unique(some + (np.arange(12) << 21), return_inverse=True)
        names = tuple(f"{word:012d}" for word in vocabulary.tolist())
        encoded = Encoded(ids.ravel().astype(np.int32), np.arange(301) * 12, names)
        found = sample_distances(encoded, np.arange(300), 300, pairs=2_000, seed=seed)[1]
        differ = (some[:, None] != some[None]).sum(axis=2)[np.triu_indices(300, 1)]
        here = float(square[differ].mean())
        held += [found.low <= here <= found.high, found.low <= truth <= found.high]
    this, any_like_these = (100 * held / repeats).tolist()
    return this, any_like_these


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """False findings of PERMANOVA and PERMDISP, and coverage where pairs are drawn."""
    few = max(repeats // 2, 20)
    same, wide = (1.0, 1.0), (2.0, 1.0)
    for sizes, widths in (((5, 5), same), ((3, 9), same), ((5, 5), wide), ((3, 9), wide), ((9, 3), wide)):
        texts = " or ".join(map(str, dict.fromkeys(sizes)))
        spread = "equal spread" if widths == same else f"spread 2 of those with {sizes[0]}, 1 of the others"
        setting = f"12 identities that differ in nothing else, {texts} texts each, {spread}"
        alone, told = deceived(random, few, sizes=sizes, widths=widths)
        yield Cell("spread", "PERMANOVA", setting, alone, few, 3, 6)
        bounds = (3, 6) if widths == same else (80, 100)
        yield Cell("spread", "PERMDISP", setting, told, few, *bounds)
    this, other = drawn_pairs(random, few)
    setting = "300 identities, 2,000 pairs of texts drawn"
    yield Cell("spread", "interval of the variance across holds this corpus's", setting, this, few, 93, 97)
    like = "interval of the variance across holds that of identities like these"
    yield Cell("spread", like, setting, other, few, 93, 97)
