"""When the identity makes no difference: how often do the corrected tests and the released one claim it does?

Texts are exchangeable points (a prompt's samples scatter around the concept, whoever is asked about); distances are
scaled into the range of word edit distances, each concept with its own spread. 120 simulated corpora of 35 concepts
(as in the stories) × 16 identities × 5 samples.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy import stats

from kapwa.stats.distances import lexical_variance, lexical_variance_reference, permanova
from kapwa.stats.significance import one_way_anova, paired_test

SIMULATIONS, CONCEPTS, IDENTITIES, SAMPLES = 120, 35, 16, 5
GROUPS = np.repeat(np.arange(IDENTITIES), SAMPLES)


class Outcome(NamedTuple):
    paired: float
    released: float
    permanova: list[float]
    estimate: float


def concept_distances(rng: np.random.Generator, effect: float = 0.0, dimensions: int = 12) -> np.ndarray:
    points = rng.normal(size=(GROUPS.size, dimensions)) + effect * rng.normal(size=(IDENTITIES, dimensions))[GROUPS]
    lengths = (points**2).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths - 2 * points @ points.T, 0)
    squares = (squares + squares.T) / 2
    np.fill_diagonal(squares, 0)
    return np.sqrt(squares) * rng.normal(0.65, 0.05) / (2 * dimensions) ** 0.5


def text_distances(rng: np.random.Generator, words: int = 24) -> np.ndarray:
    """Word edit distances of random texts, drawn word by word from one concept's own frequencies."""
    chances = rng.dirichlet(np.full(60, 0.2))
    texts = [rng.choice(60, size, p=chances).tolist() for size in rng.integers(words // 2, words, GROUPS.size)]
    edits = cdist(texts, texts, scorer=Levenshtein.distance, dtype=np.int32)
    lengths = np.array([len(text) for text in texts])
    return np.asarray(edits / np.maximum(lengths[:, None], lengths))


def simulate(
    seed: int,
    effect: float = 0.0,
    tested: int = 5,
    concepts: int = CONCEPTS,
    draw: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> Outcome:
    """One corpus: p of both tests over concepts, and p of PERMANOVA for the first few."""
    rng = np.random.default_rng(seed)
    rows, permuted = [], []
    for concept in range(concepts):
        distances = draw(rng) if draw else concept_distances(rng, effect)
        blocks = distances.reshape(IDENTITIES, SAMPLES, IDENTITIES, SAMPLES)
        means, squares = blocks.mean(axis=(1, 3)), (blocks**2).mean(axis=(1, 3))
        released = lexical_variance_reference(means, np.diagonal(squares).copy())
        # Without the five zero distances of texts to themselves, the diagonal is over distinct pairs.
        np.fill_diagonal(squares, np.diagonal(squares) * SAMPLES / (SAMPLES - 1))
        ours = lexical_variance(squares, np.full(IDENTITIES, SAMPLES))
        rows.append((ours.across_mean, ours.within_mean, released.across_mean, released.within_mean))
        if concept < tested:
            permuted.append(permanova(distances, GROUPS, permutations=99, seed=100 * seed + concept).p)
    across, within, *released_columns = np.array(rows).T
    paired = paired_test(across, within)
    return Outcome(paired.p, one_way_anova(*released_columns).p, permuted, paired.estimate)


@pytest.fixture(scope="module")
def null() -> list[Outcome]:
    return [simulate(seed) for seed in range(SIMULATIONS)]


def central(n: int) -> tuple[float, float]:
    """Central 99.9 % of Binomial(n, 0.05)."""
    low, high = stats.binom.ppf([0.0005, 0.9995], n, 0.05)
    return float(low), float(high)


def test_the_paired_test_rejects_at_its_nominal_rate(null: list[Outcome]) -> None:
    low, high = central(SIMULATIONS)
    assert low <= sum(outcome.paired < 0.05 for outcome in null) <= high
    # Not by luck at one threshold: the p-values are uniform, and the estimates centre on zero.
    assert stats.kstest([outcome.paired for outcome in null], "uniform").pvalue > 0.001
    estimates = np.array([outcome.estimate for outcome in null])
    assert abs(estimates.mean()) < 4 * estimates.std() / SIMULATIONS**0.5


def test_permanova_rejects_at_its_nominal_rate(null: list[Outcome]) -> None:
    p_values = np.concatenate([outcome.permanova for outcome in null])
    low, high = central(p_values.size)
    assert low <= np.count_nonzero(p_values <= 0.05) <= high


def test_the_released_test_rejects_almost_always(null: list[Outcome]) -> None:
    assert sum(outcome.released < 0.05 for outcome in null) >= 0.95 * SIMULATIONS
    assert np.median([outcome.released for outcome in null]) < 0.01


def test_real_word_edit_distances_say_the_same() -> None:
    """40 corpora of 12 concepts of random texts: edit distances are no Euclidean ones, and need not be."""
    found = [simulate(seed, tested=2, concepts=12, draw=text_distances) for seed in range(40)]
    assert sum(outcome.paired < 0.05 for outcome in found) <= central(40)[1]
    assert np.mean([outcome.paired for outcome in found]) == pytest.approx(0.5, abs=4 * (1 / 12 / 40) ** 0.5)
    p_values = np.concatenate([outcome.permanova for outcome in found])
    assert np.count_nonzero(p_values <= 0.05) <= central(p_values.size)[1]
    assert sum(outcome.released < 0.05 for outcome in found) >= 38


def test_a_small_effect_is_found() -> None:
    """Identities shift their texts by a fifth of the texts' own spread: the corrected test has power."""
    found = [simulate(seed, effect=0.2, tested=1) for seed in range(5)]
    assert max(outcome.paired for outcome in found) < 1e-6
    assert min(outcome.estimate for outcome in found) > 0
