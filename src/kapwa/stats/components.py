"""Where the variance of a score comes from: cultures, items, wordings of the prompt, and draws of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes
from kapwa.stats.intervals import mean_estimates

# The source of each component, from the widest to the narrowest.
COMPONENTS = ("culture", "prompt", "culture × prompt", "item", "item × prompt", "sample")


class Component(NamedTuple):
    """One source of variance.

    ``variance``: its unbiased estimate, in squared units of the score, which may by chance be below 0; None where the
    design cannot separate it (one culture, one prompt or one sample: it is then included in the next component that the
    design can estimate). ``error``: what it adds to the squared standard error of one culture's mean over items,
    prompts and samples (on average over the cultures), at least 0; None for ``culture``, as the cultures are fixed.
    ``low``–``high``: 95 % interval of the variance if its effects are normally distributed; the low end may be below 0.
    ``freedom``: degrees of freedom of the estimate, such as wordings − 1.
    """

    name: str
    variance: float | None
    error: float | None
    low: float | None
    high: float | None
    freedom: int | None


class Decomposition(NamedTuple):
    """The components in the order of :data:`COMPONENTS`, and the design: items used and left out, prompts, samples."""

    components: tuple[Component, ...]
    cultures: int
    items: int
    left_out: int
    prompts: int
    samples: int


def variance_components(values: ArrayLike, cultures: ArrayLike | None = None) -> Decomposition:
    """Split the variance of scores into components, by the expected mean squares of the crossed design (moments).

    ``values``: (items, prompts, samples), one score of every sample of every item in every prompt; items with a NaN are
    left out. ``cultures``: (items,) the culture of each item; None: all of one culture. Items are nested in cultures
    and crossed with prompts, samples are nested in both; all three are random effects (Searle, Casella and
    McCulloch 1992, *Variance Components*, chapter 4; for evaluations Miller 2024, arXiv 2411.00640). Cultures may have
    different numbers of items; each needs at least two. With one prompt, its component and those that cross it are None
    and included in ``item``; with one sample, ``sample`` is None and included in ``item × prompt``.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 3:
        raise UsageError(f"Variance components need scores by item, prompt and sample, not of shape {scores.shape}.")
    codes = cluster_codes([0] * len(scores) if cultures is None else cultures, len(scores))
    whole = ~np.isnan(scores).any(axis=(1, 2))
    whole &= np.bincount(codes[whole], minlength=codes.max(initial=0) + 1)[codes] > 1
    y, codes = scores[whole], np.unique(codes[whole], return_inverse=True)[1]
    _, n_prompts, n_samples = y.shape
    if not len(y):
        return Decomposition(_named([], np.ones(1), n_prompts, n_samples), 0, 0, len(scores), n_prompts, n_samples)
    sizes = np.bincount(codes).astype(np.float64)
    squares = _mean_squares(y, codes, sizes)
    design = len(sizes), len(y), len(scores) - len(y), n_prompts, n_samples
    return Decomposition(_named(squares, sizes, n_prompts, n_samples), *design)


class _Square(NamedTuple):
    """A mean square, its degrees of freedom, and the coefficients by which it enters the components."""

    value: float
    freedom: int
    coefficients: dict[str, float]


def _mean_squares(y: FloatArray, codes: IntArray, sizes: FloatArray) -> list[_Square]:
    """The mean squares that the design has, from the narrowest to the widest.

    Each component is what its own mean square has beyond that of the narrower ones: observed and expected are equal.
    """
    items, prompts, samples = y.shape
    cultures, freedom, inverse = len(sizes), items - len(sizes), float((1 / sizes).mean())
    cell = y.mean(axis=2)
    by_culture = np.zeros((cultures, prompts))
    np.add.at(by_culture, codes, cell)
    by_culture /= sizes[:, None]
    within = cell - by_culture[codes]
    # With one prompt, what crosses it is included in the item; with one culture, in the prompt.
    crossed = "item × prompt" if prompts > 1 else "item"
    squares = []
    if samples > 1:
        square = float(((y - cell[:, :, None]) ** 2).sum()) / (items * prompts * (samples - 1))
        squares.append(_Square(square, items * prompts * (samples - 1), {"sample": 1, crossed: -1 / samples}))
    if prompts > 1:
        rest = within - within.mean(axis=1, keepdims=True)
        coefficients = {"item × prompt": 1, "item": -1 / prompts}
        wider = {"culture × prompt": -inverse, "culture": inverse / prompts} if cultures > 1 else {"prompt": -inverse}
        degrees = freedom * (prompts - 1)
        squares.append(_Square(float((rest**2).sum()) / degrees, degrees, coefficients | wider))
    square = prompts * float((within.mean(axis=1) ** 2).sum()) / freedom
    coefficients = {"item": 1 / prompts} | ({"culture": -inverse / prompts} if cultures > 1 else {})
    squares.append(_Square(square, freedom, coefficients))
    profile = by_culture.mean(axis=0) - by_culture.mean()
    if prompts > 1 and cultures > 1:
        both, degrees = by_culture - by_culture.mean(axis=1, keepdims=True) - profile, (cultures - 1) * (prompts - 1)
        coefficients = {"culture × prompt": 1, "prompt": -1 / cultures, "culture": -1 / prompts}
        squares.append(_Square(float((both**2).sum()) / degrees, degrees, coefficients))
    if prompts > 1:
        squares.append(_Square(float((profile**2).sum()) / (prompts - 1), prompts - 1, {"prompt": 1}))
    if cultures > 1:
        squares.append(_Square(float(np.var(by_culture.mean(axis=1), ddof=1)), cultures - 1, {"culture": 1}))
    return squares


def _interval(terms: Sequence[tuple[float, int]], tail: float) -> tuple[float, float]:
    """Modified large-sample interval of a sum of mean squares, each with its factor and degrees of freedom.

    Ting, Burdick, Graybill, Jeyaratnam and Lu (1990), without the products of terms of one sign; the lower end is for
    the sum, the upper that of its negative, with both ends' signs changed.
    """
    from scipy.special import chdtri, fdtri

    ends = []
    for sign in (1.0, -1.0):
        spread = 0.0
        plus, minus = ([(abs(v), df) for v, df in terms if sign * side * v > 0] for side in (1, -1))
        for value, df in plus:
            spread += ((1 - df / chdtri(df, tail)) * value) ** 2
        for value, df in minus:
            spread += ((df / chdtri(df, 1 - tail) - 1) * value) ** 2
        for (value, df), (other, its) in product(plus, minus):
            ratio = float(fdtri(df, its, 1 - tail))
            grow, shrink = 1 - df / chdtri(df, tail), its / chdtri(its, 1 - tail) - 1
            spread += ((ratio - 1) ** 2 - (grow * ratio) ** 2 - shrink**2) / ratio * value * other
        ends.append(sign * (sum(sign * value for value, _ in terms) - sqrt(max(spread, 0.0))))
    return ends[0], ends[1]


def _named(squares: Sequence[_Square], sizes: FloatArray, n_prompts: int, n_samples: int) -> tuple[Component, ...]:
    """The components with their intervals, and what each adds to the error of a culture's mean."""
    per_item = float((1 / sizes).mean())
    error_factors = {
        **dict.fromkeys(("prompt", "culture × prompt"), 1 / n_prompts),
        "item": per_item,
        "item × prompt": per_item / n_prompts,
        "sample": per_item / (n_prompts * n_samples),
    }
    components = []
    for name in COMPONENTS:
        contributing = [square for square in squares if name in square.coefficients]
        terms = [(square.value * square.coefficients[name], square.freedom) for square in contributing]
        if not any(square.coefficients[name] > 0 for square in contributing):
            components.append(Component(name, None, None, None, None, None))
            continue
        variance = sum(value for value, _ in terms)
        error = max(variance, 0.0) * error_factors[name] if name in error_factors else None
        # Its own mean square is the widest.
        components.append(Component(name, variance, error, *_interval(terms, 0.025), terms[-1][1]))
    return tuple(components)


def order_changes(scores: ArrayLike, clusters: ArrayLike | None = None) -> list[tuple[int, int]]:
    """Pairs of models whose difference changes from one prompt to another by more than chance.

    ``scores``: (models, items, prompts), NaN where nothing was measured; ``clusters``: (items,). For every pair of
    models and of prompts the change of the difference, item by item, has a clustered t interval (Miller 2024); all
    intervals together miss with probability 0.05 at most (Bonferroni), and a pair is named where one of them
    leaves out 0.
    """
    measured = np.asarray(scores, dtype=np.float64)
    models, prompts = (list(combinations(range(n), 2)) for n in (measured.shape[0], measured.shape[2]))
    changing = []
    for a, b in models if prompts else ():
        difference = measured[a] - measured[b]
        change = np.stack([difference[:, p] - difference[:, q] for p, q in prompts], axis=1)
        estimates = mean_estimates(change, clusters, level=1 - 0.05 / (len(models) * len(prompts)))
        if any(
            estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high
            for estimate in estimates
        ):
            changing.append((a, b))
    return changing
