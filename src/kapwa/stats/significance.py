"""Tests of means over concepts, and adjusted p-values for many tests at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray


@dataclass(frozen=True, slots=True)
class Anova:
    """F with its degrees of freedom and upper-tail p; NaN without any spread."""

    f: float
    df_between: int
    df_within: int
    p: float


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Mean difference with its 95 % Student interval, t, degrees of freedom, two-sided p, over n complete pairs."""

    estimate: float
    low: float
    high: float
    t: float
    df: int
    p: float
    n: int


def one_way_anova(*groups: ArrayLike) -> Anova:
    """One-way analysis of variance over two or more groups of finite values.

    The paper's test of variance within against across nationalities (appendix A.2, table 3): two groups of one
    value per concept, so F(1, 2·concepts − 2). It treats the groups as unrelated although they share concepts;
    :func:`paired_test` does not. p is accurate far below 1e-200. Raises UsageError without degrees of freedom.
    """
    from scipy.special import fdtrc

    values = [np.asarray(group, dtype=np.float64) for group in groups]
    everything = np.concatenate(values)
    df_between, df_within = len(values) - 1, everything.size - len(values)
    if df_between < 1 or df_within < 1 or not all(sample.size for sample in values):
        raise UsageError("An analysis of variance needs two groups with values, and two values in one of them.")
    between = sum(sample.size * float(sample.mean() - everything.mean()) ** 2 for sample in values)
    within = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in values)
    noise = everything.size * (ROUNDING * float(np.abs(everything).max())) ** 2
    between, within = (0.0 if value <= noise else value for value in (between, within))
    if between == within == 0:
        return Anova(float("nan"), df_between, df_within, float("nan"))
    f = float("inf") if within == 0 else (between / df_between) / (within / df_within)
    return Anova(f, df_between, df_within, float(fdtrc(df_between, df_within, f)))


def paired_test(across: ArrayLike, within: ArrayLike) -> PairedTest:
    """Student's t test of the mean of ``across − within``, one pair per concept, two-sided.

    Valid for lexical variances when both sides come from :func:`kapwa.stats.distances.lexical_variance`: both are
    means of ½d² over pairs of *distinct* texts, so where the identity makes no difference every pair has the same
    expectation, and each concept's difference has expectation zero whatever its number of samples. The released
    estimators differ from each other under the null hypothesis, and no test can mend that. Concepts are taken as
    independent; each concept's own level of variance cancels, which is what pairing gains. Pairs with a NaN are
    left out; fewer than two pairs give NaN. Raises UsageError for lists of different length.
    """
    from scipy.special import stdtr, stdtrit

    first, second = np.asarray(across, dtype=np.float64), np.asarray(within, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"A paired test needs two lists of equal length, not {first.shape} and {second.shape}.")
    difference = (first - second)[~np.isnan(first - second)]
    n, nothing = difference.size, float("nan")
    if n < 2:
        return PairedTest(
            estimate=float(difference.sum()) if n else nothing,
            low=nothing,
            high=nothing,
            t=nothing,
            df=0,
            p=nothing,
            n=n,
        )
    noise = ROUNDING * float(np.nanmax(np.abs(np.stack([first, second]))))
    mean, error = float(difference.mean()), float(difference.std(ddof=1)) / n**0.5
    error, mean = (0.0 if abs(value) <= noise else value for value in (error, mean))
    half = float(stdtrit(n - 1, 0.975)) * error
    # Without any spread, t is infinite, or undefined when there is no difference either.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = float(np.float64(mean) / error)
    return PairedTest(
        estimate=mean, low=mean - half, high=mean + half, t=t, df=n - 1, p=float(2 * stdtr(n - 1, -abs(t))), n=n
    )


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's step-down adjustment: controls the chance of any false finding under any dependence.

    NaN marks a test that was not made: it stays NaN and does not count. Source: Holm (1979).
    """
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


def holm_levels(p_values: ArrayLike) -> FloatArray:
    """Level at which Holm's procedure judges each test, given how the others came out.

    If k of the m − 1 other tests are significant, a test is significant where its own p is at most α / (m − k), with
    α = 0.05: α / m where no other is. NaN where no test was made.
    """
    p = np.asarray(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(p))
    order, levels = made[np.argsort(p[made], kind="stable")], np.full(p.shape, np.nan)
    steps = 0.05 / np.arange(made.size, 0, -1)
    for rank, test in enumerate(order):
        passed = np.delete(p[order], rank) <= steps[:-1]
        levels[test] = steps[int(np.argmin(passed)) if not passed.all() else passed.size]
    return levels


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini–Hochberg adjustment: controls the expected share of false findings among the findings.

    Valid for independent or positively dependent tests. NaN marks a test that was not made: it stays NaN and does
    not count. Source: Benjamini and Hochberg (1995).
    """
    return _adjusted(p_values, lambda p: np.minimum.accumulate((p * p.size / np.arange(1, p.size + 1))[::-1])[::-1])


def _adjusted(p_values: ArrayLike, step: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Adjust the known p-values, sorted, by ``step``, and return them in the original order."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise UsageError(f"p-values must be one list, not an array of shape {p.shape}.")
    made = np.flatnonzero(~np.isnan(p))
    if ((p[made] < 0) | (p[made] > 1)).any():
        raise UsageError("A p-value lies outside 0 to 1.")
    order = made[np.argsort(p[made], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(step(p[order]), 1.0)
    return adjusted
