"""Do texts resemble each other where cultures do? Kendall's τ-b, one anchor country at a time.

For each anchor, the other countries are ranked by how similar their texts are to the anchor's and by how near
their cultural values are; τ says how far the two rankings agree. ``anchor_taus_reference`` is what the released
EECC code computes instead, kept so that published numbers can be reproduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray, check_level
from kapwa.stats.kendall import BoolArray, TauRows, dense_ranks, tau_rows
from kapwa.stats.permutations import at_least, check_permutations, monte_carlo_p, permuted_orders


@dataclass(frozen=True, slots=True)
class Anchors:
    """Cultural distances of m countries made ready for many comparisons; from :func:`prepare_anchors`.

    ``nearness``: (m, m) dense rank of −distance within each row, m where unknown; ``known``: (m, m), False on the
    diagonal, since a country's distance to itself says nothing.
    """

    nearness: IntArray
    known: BoolArray

    @property
    def size(self) -> int:
        """Countries."""
        return len(self.known)


@dataclass(frozen=True, slots=True)
class AnchorTaus:
    """τ (−1 to 1), two-sided p and number of other countries compared, for each of m anchors: (m,) each.

    NaN where fewer than two countries are known or one side is constant. The p-values are of single anchors:
    adjust them (``stats.multiplicity``) before reading any of them as a finding.
    """

    tau: FloatArray
    p: FloatArray
    n: IntArray

    @property
    def mean(self) -> float:
        """Mean τ over the anchors that have one; NaN when none has."""
        return _mean_known(self.tau)


@dataclass(frozen=True, slots=True)
class PermutedTaus:
    """Mean τ under permuted labels: what chance gives.

    ``mean``, ``low``, ``high``: of the permuted values; ``observed``: without permutation; ``p``: two-sided Monte
    Carlo p of the observed mean τ; ``draws``: (permutations,). Two calls with the same countries, number of
    permutations and seed permute alike, so the draws of several concepts may be averaged place by place into the
    floor of their mean.
    """

    mean: float
    low: float
    high: float
    observed: float
    p: float
    draws: FloatArray


def prepare_anchors(distance: ArrayLike) -> Anchors:
    """Rank each country's neighbours by cultural distance once, for :func:`anchor_taus` over many concepts.

    ``distance``: (m, m), NaN where unknown; the diagonal is ignored. Raises UsageError when it is not square or
    holds infinite values.
    """
    matrix = square_matrix(distance, "cultural distances")
    known = known_pairs(matrix)
    return Anchors(dense_ranks(-matrix, known), known)


def anchor_taus(similarity: ArrayLike, distance: ArrayLike | Anchors) -> AnchorTaus:
    """Kendall's τ-b between similarity to the anchor and −distance from it, for each anchor.

    ``similarity``: (m, m), larger is more alike (give −WED for an edit distance); row a holds the similarities to
    anchor a. ``distance``: (m, m), or prepared anchors. NaN marks unknown cells: each anchor is compared over the
    countries known in both. Positive τ: countries nearer in values have more similar texts. p-values: exact
    without ties for up to 33 countries, else the tie-corrected normal approximation, as scipy's. Raises
    UsageError when shapes differ. Source: Bhatt and Diaz (2024), section 3.1 and appendix B.
    """
    matrix, anchors = _both(similarity, distance)
    found = tau_rows(dense_ranks(matrix, known_pairs(matrix)), anchors.nearness)
    return _taus(found)


def anchor_taus_reference(
    similarity: ArrayLike,
    distance: ArrayLike | Anchors,
    names: Sequence[str],
    *,
    measure: Literal["bleu", "wed"] = "bleu",
    values_order: ArrayLike | None = None,
) -> AnchorTaus:
    """What the released EECC code computes as Kendall's τ; not a rank correlation of the values.

    It sorts the countries by similarity and by distance, drops the first of each list, and correlates the two
    lists of *names*, place by place, in alphabetical order. Two nearly equal rankings so look unrelated.
    ``names``: (m,) distinct; ties of similarity stand in alphabetical order. ``measure``: with "wed",
    ``similarity`` holds word edit distances and both lists run from the nearest, as released. ``values_order``:
    (m,) place of each country in the values file, which breaks ties of distance; default: the order given.
    ``n`` counts places compared. τ-c of the released code equals τ-b here, as names have no ties. Raises
    UsageError for names that repeat or do not fit. Source: analysis/analyse_kendalls_tau.py.
    """
    if measure not in ("bleu", "wed"):
        raise UsageError(f"The released procedure knows the measures 'bleu' and 'wed', not {measure!r}.")
    matrix, anchors = _both(similarity, distance)
    m = anchors.size
    letters = _alphabetical(names, m)
    order = np.arange(m) if values_order is None else np.asarray(values_order)
    if order.shape != (m,) or np.unique(order).size != m:
        raise UsageError(f"values_order must give each of the {m} countries a place of its own.")
    known = known_pairs(matrix) & anchors.known
    nearness = np.where(known, anchors.nearness, m)
    if measure == "wed":
        nearness = np.where(known, m - 1 - nearness, m)
    places = np.argsort(np.argsort(order))
    by_distance = np.argsort(nearness * (m + 1) + places, axis=1)[:, 1:]
    by_similarity = np.argsort(dense_ranks(matrix, known) * (m + 1) + letters, axis=1)[:, 1:]
    kept = np.arange(1, m) < known.sum(axis=1)[:, None]
    ranks = (dense_ranks(letters[by_distance].astype(np.float64), kept), dense_ranks(letters[by_similarity], kept))
    return _taus(tau_rows(*ranks))


def permuted_taus(
    similarity: ArrayLike,
    distance: ArrayLike | Anchors,
    *,
    permutations: int = 99,
    seed: int = 0,
    level: float = 0.95,
) -> PermutedTaus:
    """Mean τ when the countries' values are dealt out at random: the floor under a mean τ, and its p-value.

    Rows and columns of ``distance`` are permuted together, so each draw keeps the structure of the distances, and
    the dependence between anchors that the p-values of single anchors ignore. Countries unknown in either matrix
    keep out of it. ``low``–``high`` holds ``level`` of the draws. Raises UsageError for fewer than 19
    permutations or shapes that differ.
    """
    check_permutations(permutations)
    check_level(level)
    matrix, anchors = _both(similarity, distance)
    alive = np.flatnonzero(known_pairs(matrix).any(axis=1) & anchors.known.any(axis=1))
    block, m = np.ix_(alive, alive), alive.size
    likeness = dense_ranks(matrix[block], known_pairs(matrix[block]))
    nearness = dense_ranks(anchors.nearness[block].astype(np.float64), anchors.known[block])
    observed = _mean_known(tau_rows(likeness, nearness).tau()) if m else float("nan")
    if np.isnan(observed):
        return _floor(observed, np.full(permutations, np.nan), level)
    draws: list[float] = []
    for orders in permuted_orders(m, permutations, seed=seed, values_each=m * m):
        shuffled = nearness[orders[:, :, None], orders[:, None, :]].reshape(-1, m)
        tau = tau_rows(np.tile(likeness, (len(orders), 1)), shuffled).tau()
        draws += [_mean_known(one) for one in tau.reshape(len(orders), m)]
    return _floor(observed, np.array(draws), level)


def _floor(observed: float, draws: FloatArray, level: float) -> PermutedTaus:
    known = draws[~np.isnan(draws)]
    if np.isnan(observed) or not known.size:
        nothing = float("nan")
        return PermutedTaus(nothing, nothing, nothing, observed, nothing, draws)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    p = monte_carlo_p(at_least(np.abs(known), abs(observed)), known.size)
    return PermutedTaus(float(known.mean()), float(low), float(high), observed, p, draws)


def square_matrix(values: ArrayLike, what: str) -> FloatArray:
    """Return a square float matrix without infinite values, or raise UsageError naming ``what``."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(f"The {what} must be a square matrix, not of shape {matrix.shape}.")
    if np.isinf(matrix).any():
        raise UsageError(f"The {what} hold an infinite value.", hint="Use NaN for 'not known'.")
    return matrix


def known_pairs(matrix: FloatArray) -> BoolArray:
    """Cells that are known and off the diagonal."""
    known = ~np.isnan(matrix)
    np.fill_diagonal(known, False)
    return known


def _both(similarity: ArrayLike, distance: ArrayLike | Anchors) -> tuple[FloatArray, Anchors]:
    matrix = square_matrix(similarity, "similarities")
    anchors = distance if isinstance(distance, Anchors) else prepare_anchors(distance)
    if len(matrix) != anchors.size:
        raise UsageError(f"There are similarities of {len(matrix)} countries but distances of {anchors.size}.")
    return matrix, anchors


def _taus(found: TauRows) -> AnchorTaus:
    return AnchorTaus(found.tau(), found.p_values(), found.n)


def _alphabetical(names: Sequence[str], m: int) -> FloatArray:
    """Place of each name in code-point order, which is how numpy compares the strings given to scipy."""
    if len(names) != m or len(set(names)) != m:
        raise UsageError(f"{m} distinct names are needed, one for each country.")
    places = np.empty(m)
    places[sorted(range(m), key=lambda index: names[index])] = np.arange(m)
    return places


def _mean_known(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
