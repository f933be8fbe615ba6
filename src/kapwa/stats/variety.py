"""How varied the categories in texts are, within an identity and between identities: shares of categories, by prompt.

A *prompt* is one identity of one concept, with all of its texts, which are summarised by one vector: the mean share of
each category. Two texts of one prompt may share a hero, so comparing them would be misleading: all estimates here come
from pairs of prompts of two concepts. Their mean product is an unbiased estimate of the probability that two people,
drawn from texts of two concepts, are of one category (Simpson 1949, Nature 163; for samples of clusters a U statistic).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.resampling import BLOCK_VALUES, TIE, check_permutations, monte_carlo_p


class Ranged(NamedTuple):
    """Values with the ends of their 95 % intervals over concepts; NaN where too few concepts are known."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


class VarietyWithin(NamedTuple):
    """For each of G identities: how varied it is, and how far it is from all others together.

    ``spread`` (G,): the probability that two people of two of its concepts are of different categories, 1 − Σp².
    ``apart`` (G,): how much more often people of it and of the others differ than two of one side do, ½Σ(p − q)²; 0 on
    average where the identity makes no difference. ``p`` (G,): of ``apart`` by permutation, ``p_largest`` (G,): of the
    largest of all identities (Westfall and Young 1993). ``distance``, ``floor`` (G,): observed total variation
    ½Σ|p − q|, and its mean under permutation. ``prompts`` (G,): the number of its known concepts.
    """

    spread: Ranged
    apart: Ranged
    p: FloatArray
    p_largest: FloatArray
    distance: FloatArray
    floor: FloatArray
    prompts: IntArray


class VarietyBetween(NamedTuple):
    """For all identities: the probability that two people of one identity (``within``) or two (``between``) differ.

    ``difference``: between less within, with its interval ``low`` to ``high`` over concepts and its permutation p.
    """

    within: float
    between: float
    difference: float
    low: float
    high: float
    p: float


class Variety(NamedTuple):
    """How varied the shares of categories are, for each identity and for all together."""

    within: VarietyWithin
    between: VarietyBetween


def variety_of(shares: ArrayLike, *, permutations: int = 999, seed: int = 0) -> Variety:
    """Return how varied categories are within identities, and how far identities lie apart.

    ``shares``: (C, G, K) mean share of each category in the texts of each concept and identity, from 0 to 1, summing up
    to at most 1 (the rest are categories of which no two are the same); NaN where nothing is known of the prompt.

    The test exchanges the identities of known prompts within each concept, all texts of a prompt together. Where the
    identity makes no difference, every exchange is as likely as the observed assignment, however concepts affect the
    categories. Intervals leave out one concept in turn (jackknife), with Student's t with half as many degrees of
    freedom as concepts. NaN where fewer than two concepts, or two identities, are known, and no p where no exchange
    changes anything. Raises UsageError for another shape and too few permutations.
    """
    check_permutations(permutations)
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 3 or not values.size:
        raise UsageError(f"Shares are (concepts, identities, categories), not of shape {values.shape}.")
    known: NDArray[np.bool_] = np.asarray(~np.isnan(values).any(axis=2))
    filled = np.where(known[:, :, None], values, 0.0)
    counts = _Sums.of(known[:, :, None].astype(np.float64))
    sums = _Sums.of(filled)
    observed = _estimates(sums.pairs(), counts.pairs())
    spans = _jackknifed(observed, sums, counts, known)
    drawn = [
        _AfterExchange.of(sums, counts, orders) for orders in _exchanged(known, permutations, seed, filled[0].size)
    ]
    tested = _AfterExchange(*(np.concatenate(arrays) for arrays in zip(*drawn, strict=True)))
    within = VarietyWithin(
        spread=Ranged(observed.spread, np.maximum(spans.low.spread, 0.0), np.minimum(spans.high.spread, 1.0)),
        apart=Ranged(observed.apart, spans.low.apart, spans.high.apart),
        p=_p_of(observed.apart, tested.apart),
        p_largest=_p_of_largest(observed.apart, tested.apart),
        distance=_total_variation(sums.own, counts.own),
        floor=tested.distance.mean(axis=0),
        prompts=known.sum(axis=0),
    )
    between = VarietyBetween(
        within=float(observed.within),
        between=float(observed.between),
        difference=float(observed.between - observed.within),
        low=float(spans.low.between),
        high=float(spans.high.between),
        p=float(_p_of((observed.between - observed.within)[None], tested.difference[:, None])[0]),
    )
    return Variety(within, between)


# --- sums of products of prompts of two concepts ----------------------------------------------------------------------


class _Sums(NamedTuple):
    """The components of sums over pairs of prompts; each may have leading dimensions.

    ``shares`` (C, G, K). ``own`` (…, G, K): summed over concepts. ``squares`` (C, G): of each prompt with itself.
    ``crossed`` (C, G): with all prompts of its concept. ``columns`` (C,): of all prompts of a concept with these.
    """

    shares: FloatArray
    own: FloatArray
    squares: FloatArray
    crossed: FloatArray
    columns: FloatArray

    @classmethod
    def of(cls, shares: FloatArray) -> _Sums:
        by_concept = shares.sum(axis=1)
        return cls(
            shares=shares,
            own=shares.sum(axis=0),
            squares=(shares**2).sum(axis=2),
            crossed=np.einsum("cgk,ck->cg", shares, by_concept),
            columns=(by_concept**2).sum(axis=1),
        )

    def pairs(self) -> FloatArray:
        """Return (3, G): sums over pairs of two concepts, both of the identity, one of them, none."""
        return _pairs(self.own, self.squares.sum(axis=0), self.crossed.sum(axis=0), self.columns.sum())

    def without_each(self) -> FloatArray:
        """Return the same (3, C, G) without each concept in turn."""
        own = self.own - self.shares
        left = (sums.sum(axis=0) - sums for sums in (self.squares, self.crossed, self.columns))
        return _pairs(own, *left)

    def exchanged(self, orders: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return ``own`` (rows, G, K), and the same (3, rows, G), with prompts exchanged by ``orders``."""
        concepts = np.arange(len(self.shares))[:, None]
        own = self.shares[concepts, orders].sum(axis=1)
        squares, crossed = (sums[concepts, orders].sum(axis=1) for sums in (self.squares, self.crossed))
        return own, _pairs(own, squares, crossed, np.full(len(orders), self.columns.sum()))


def _pairs(own: FloatArray, squares: FloatArray, crossed: FloatArray, columns: FloatArray) -> FloatArray:
    whole = own.sum(axis=-2)
    within = (own**2).sum(axis=-1) - squares
    across = np.einsum("...gk,...k->...g", own, whole) - crossed - within
    total = (whole**2).sum(axis=-1) - columns
    return np.stack([within, across, total[..., None] - within - 2 * across])


class _Estimates(NamedTuple):
    """``spread``, ``apart`` (…, G); ``within``, ``between`` (…)."""

    spread: FloatArray
    apart: FloatArray
    within: FloatArray
    between: FloatArray


def _estimates(sums: FloatArray, counts: FloatArray) -> _Estimates:
    same, across, others = (_ratio(total, pairs) for total, pairs in zip(sums, counts, strict=True))
    within, between = (1 - _ratio(sums[k].sum(axis=-1), counts[k].sum(axis=-1)) for k in (0, 1))
    return _Estimates(1 - same, (same + others) / 2 - across, within, between)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    # Without any pairs, sums of products are rounding noise.
    pairs = np.where(np.asarray(below) > 0.5, below, np.nan)
    return np.asarray(above / pairs)


# --- intervals and tests ----------------------------------------------------------------------------------------------


class _Spans(NamedTuple):
    """Ends of intervals; ``between`` holds those of the difference."""

    low: _Estimates
    high: _Estimates


def _jackknifed(observed: _Estimates, sums: _Sums, counts: _Sums, known: NDArray[np.bool_]) -> _Spans:
    left = _estimates(sums.without_each(), counts.without_each())
    every = np.asarray(known.any(axis=1, keepdims=True))
    spread, apart = _error(left.spread, known), _error(left.apart, known)
    difference = _error((left.between - left.within)[:, None], every)[0]
    centre = observed.between - observed.within
    empty = np.full((), np.nan)
    return _Spans(
        *(
            _Estimates(observed.spread + k * spread, observed.apart + k * apart, empty, centre + k * difference)
            for k in (-1, 1)
        )
    )


def _error(left: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Half the width of intervals (G,), of estimates (C, G) without each concept; ``known``: which concepts count."""
    from scipy.special import stdtrit

    counted = known & ~np.isnan(left)
    n = counted.sum(axis=0)
    few = np.where(n > 2, n, np.nan)
    mean = np.where(counted, left, 0.0).sum(axis=0) / few
    squares = (np.where(counted, left - mean, 0.0) ** 2).sum(axis=0)
    # The error of a sum of squares grows with the sum, so a low estimate seems more precise than it is: with n - 1
    # degrees of freedom, 92 of 100 intervals contained the true value at twelve concepts.
    half = np.asarray(stdtrit(few / 2, 0.975) * np.sqrt((few - 1) / few * squares))
    return np.where(half > TIE, half, np.nan)  # without any spread nothing is known


class _AfterExchange(NamedTuple):
    """For each permutation: ``apart`` and total variation (rows, G), and the difference over all (rows,)."""

    apart: FloatArray
    distance: FloatArray
    difference: FloatArray

    @classmethod
    def of(cls, sums: _Sums, counts: _Sums, orders: IntArray) -> _AfterExchange:
        own, pairs = sums.exchanged(orders)
        # Known prompts are exchanged with known ones only, so all counts stay the same.
        estimates = _estimates(pairs, counts.pairs()[:, None])
        return cls(estimates.apart, _total_variation(own, counts.own), estimates.between - estimates.within)


def _exchanged(known: NDArray[np.bool_], permutations: int, seed: int, values_each: int) -> Iterator[IntArray]:
    """Yield blocks (rows, C, G) of the prompt at each position: known ones of a concept in a random order."""
    generator = np.random.default_rng(seed)
    positions = np.argsort(~known, axis=1, kind="stable")
    block = max(1, BLOCK_VALUES // (values_each * len(known)))
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        keys = np.where(known, generator.random((rows, *known.shape)), 2.0)
        orders = np.empty(keys.shape, dtype=np.intp)
        np.put_along_axis(
            orders, np.broadcast_to(positions, keys.shape), np.argsort(keys, axis=2, kind="stable"), axis=2
        )
        yield orders


def _total_variation(own: FloatArray, prompts: FloatArray) -> FloatArray:
    """½Σ|p − q| of each identity and all others together; the rest that is in no category counts as one category."""
    whole, many = own.sum(axis=-2, keepdims=True), prompts.sum()
    here = _ratio(own, prompts)
    apart = here - _ratio(whole - own, many - prompts)
    return np.asarray((np.abs(apart).sum(axis=-1) + np.abs(apart.sum(axis=-1))) / 2)


def _p_of(observed: FloatArray, drawn: FloatArray) -> FloatArray:
    """NaN where no exchange changes anything, so that nothing was tested."""
    hits = (drawn >= observed - TIE).sum(axis=0)
    p = np.array([monte_carlo_p(int(many), len(drawn)) for many in hits])
    return np.where(np.isnan(observed) | (np.ptp(drawn, axis=0) <= TIE), np.nan, p)


def _p_of_largest(observed: FloatArray, drawn: FloatArray) -> FloatArray:
    """For each identity: how often the largest of all, in units of its own spread, is as large under permutation."""
    unit = drawn.std(axis=0)
    unit = np.where(unit > TIE, unit, np.nan)
    largest = np.fmax.reduce(drawn / unit, axis=1)
    return _p_of(observed / unit, np.broadcast_to(largest[:, None], drawn.shape))
