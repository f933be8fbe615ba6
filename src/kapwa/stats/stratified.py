"""Intervals of a mean over cultures of shares, where a culture with few items may not show its own error.

Ten answers that are all right have no spread, but the true share may be nine of ten. What a culture adds to the error
of a mean over cultures is therefore never estimated from its own answers alone: it follows from the share that the
culture would have if the mean were at the end of the interval, and from how much more answers vary in all cultures
together than independent right/wrong answers would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kapwa.stats.clusters import FloatArray

# The multiplier of the constraint lies within this many times the number of all items.
_WIDEST = 1e9
# Each step splits the multiplier's range into pieces: ten steps are as exact as sixty bisections, in half the time.
_STEPS, _PIECES = 10, 64


class Strata(NamedTuple):
    """Cultures whose means count alike.

    ``sizes`` (K,): items of each, Kish's where they have weights; ``dispersion``: the variance of the mean over
    cultures over what independent right/wrong answers of these shares would give it.
    """

    sizes: FloatArray
    dispersion: float

    @classmethod
    def of(cls, sizes: FloatArray, variances: FloatArray, se: float, kish: float) -> Strata:
        """Estimate the dispersion from a standard error ``se`` of the mean over cultures.

        ``variances`` (K,): of one answer of each culture, such as p(1 − p). Where nothing varies, the worst case is
        assumed: all answers of a question are the same, and all together are worth ``kish`` answers.
        """
        several = len(sizes)
        independent = float((variances / sizes).sum()) / several**2
        if se > 0 and independent > 0:
            return cls(sizes, se**2 / independent)
        return cls(sizes, several**2 / (kish * float((1 / sizes).sum())))

    @property
    def trials(self) -> float:
        """The effective number of independent right/wrong answers, spread over cultures as the items are."""
        return len(self.sizes) ** 2 / (self.dispersion * float((1 / self.sizes).sum()))


def score_interval(shares: FloatArray, strata: Strata, quantile: float) -> tuple[float, float]:
    """Score interval of the mean of ``shares`` (K,), each of a culture, in [0, 1].

    It holds every λ with (mean − λ)² ≤ q² φ Σ p̃(1 − p̃)/(n K²), where p̃ are the shares of highest likelihood whose
    mean is λ, φ is the dispersion and n are the sizes (Martín Andrés, Álvarez Hernández and Herranz Tejedor 2011, of a
    linear combination of proportions). If shares and sizes are equal in all cultures, this is Wilson's interval. For a
    λ far away, p̃ of the culture with fewest items moves most: so its error counts although its answers show none.
    """
    # The upper end is one less the lower end of the complements.
    low = _lowest(shares, strata, quantile)
    high = 1.0 - _lowest(1.0 - shares, strata, quantile)
    return low, high


def _lowest(shares: FloatArray, strata: Strata, quantile: float) -> float:
    """The least mean that is compatible with the shares."""
    value, several = float(shares.mean()), len(shares)
    if value <= 0:
        return 0.0
    scale = quantile**2 * strata.dispersion / several**2
    total = float(strata.sizes.sum())
    # The further the multiplier is below 0, the lower the mean and the larger its distance in standard errors.
    inside, outside = 0.0, float(np.arcsinh(_WIDEST))
    for _ in range(_STEPS):
        bounds = np.linspace(inside, outside, _PIECES + 1)
        likely = constrained_shares(shares, strata.sizes, -total * np.sinh(bounds[1:-1, None]))
        variances = scale * (likely * (1 - likely) / strata.sizes).sum(axis=1)
        compatible = (value - likely.mean(axis=1)) ** 2 <= variances
        piece = int(np.argmin(np.append(compatible, False)))
        inside, outside = float(bounds[piece]), float(bounds[piece + 1])
    return float(constrained_shares(shares, strata.sizes, -total * np.sinh(inside)).mean())


def constrained_shares(shares: FloatArray, sizes: FloatArray, multiplier: float | FloatArray) -> FloatArray:
    """Shares x (K,) that maximise Σ n (p ln x + (1 − p) ln(1 − x)) + ``multiplier`` · Σ x.

    They solve s x² + (1 − s) x − p = 0 with s = multiplier/n, and are the likeliest of all shares with the same mean.
    For multipliers (M, 1) the shares are (M, K).
    """
    s = multiplier / sizes
    b = 1 - s
    root = np.sqrt(np.maximum(b**2 + 4 * s * shares, 0.0))
    # Of the two forms of the solution, use the one that does not subtract nearly equal numbers.
    small = 2 * shares / np.where(b + root > 0, b + root, 1.0)
    large = (root - b) / np.where(s != 0, 2 * s, 1.0)
    return np.asarray(np.clip(np.where(b >= 0, small, large), 0.0, 1.0))


def paired_centre(gains: FloatArray, losses: FloatArray, strata: Strata) -> tuple[float, float]:
    """Centre and standard error of the mean over cultures of gains − losses, after Bonett and Price (2012).

    ``gains``, ``losses`` (K,): shares of a culture's items that only one side got right. As for one culture, one more
    item is counted on each side. It is divided over cultures in proportion to 1/n, as the error of the mean is, so
    that a small culture in which nothing differs still has an error.
    """
    added = 1 / strata.sizes / (1 / strata.sizes).sum()
    sizes = strata.sizes / strata.dispersion
    up, down = ((side * sizes + added) / (sizes + 2 * added) for side in (gains, losses))
    variances = (up + down - (up - down) ** 2) / (sizes + 2 * added)
    return float((up - down).mean()), float(np.sqrt(variances.sum())) / len(sizes)
