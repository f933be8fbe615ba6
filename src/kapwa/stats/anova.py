"""Tests between and within: one-way analysis of variance, and the paired test that matched concepts call for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray, check_level


@dataclass(frozen=True, slots=True)
class Anova:
    """F with its degrees of freedom and upper-tail p; NaN without any spread."""

    f: float
    df_between: int
    df_within: int
    p: float


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Mean difference with its Student interval, t, degrees of freedom, two-sided p, over n complete pairs."""

    estimate: float
    low: float
    high: float
    t: float
    df: int
    p: float
    n: int


def f_tail(f: float, df_between: int, df_within: int) -> float:
    """P(F ≥ f) under the null hypothesis; accurate far below 1e-200, where ``1 − cdf`` would be 0."""
    from scipy.special import fdtrc

    return float(fdtrc(df_between, df_within, f))


def one_way_anova(groups: Sequence[ArrayLike]) -> Anova:
    """One-way analysis of variance over two or more groups of values; NaN values are left out.

    The paper's test of variance within against across nationalities (appendix A.2, table 3): two groups of one
    value per concept, so F(1, 2·concepts − 2). It treats the groups as unrelated although they share concepts;
    :func:`paired_test` does not. Raises UsageError for fewer than two groups, an empty group, or no degrees of
    freedom left.
    """
    values = [_known(group) for group in groups]
    if len(values) < 2 or any(one.size == 0 for one in values):
        raise UsageError("An analysis of variance needs at least two groups with at least one value each.")
    everything = np.concatenate(values)
    df_between, df_within = len(values) - 1, everything.size - len(values)
    if df_within < 1:
        raise UsageError("An analysis of variance needs a group with at least two values.")
    grand = everything.mean()
    between = sum(one.size * float(one.mean() - grand) ** 2 for one in values)
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in values)
    noise = everything.size * (ROUNDING * float(np.abs(everything).max())) ** 2
    between, within = (0.0 if part <= noise else part for part in (between, within))
    if between == within == 0:
        return Anova(float("nan"), df_between, df_within, float("nan"))
    f = float("inf") if within == 0 else (between / df_between) / (within / df_within)
    return Anova(f, df_between, df_within, f_tail(f, df_between, df_within))


def paired_test(across: ArrayLike, within: ArrayLike, *, level: float = 0.95) -> PairedTest:
    """Student's t test of the mean of ``across − within``, one pair per concept, two-sided.

    Valid for lexical variances when both sides come from :func:`kapwa.stats.distances.lexical_variance`: both are
    means of ½d² over pairs of *distinct* texts, so where the identity makes no difference every pair has the same
    expectation, and each concept's difference has expectation zero whatever its number of samples. The released
    estimators differ from each other under the null hypothesis, and no test can mend that. Concepts are taken as
    independent; each concept's own level of variance cancels, which is what pairing gains. Pairs with a NaN are
    left out; fewer than two pairs give NaN. Raises UsageError for lists of different length.
    """
    check_level(level)
    first, second = np.asarray(across, dtype=np.float64), np.asarray(within, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"A paired test needs two lists of equal length, not {first.shape} and {second.shape}.")
    difference = _known(first - second)
    n = difference.size
    if n < 2:
        nothing = float("nan")
        return PairedTest(float(difference.sum()) if n else nothing, nothing, nothing, nothing, 0, nothing, n)
    estimate = float(difference.mean())
    error = float(difference.std(ddof=1)) / n**0.5
    noise = ROUNDING * float(np.nanmax(np.abs(np.stack([first, second]))))
    error, estimate = (0.0 if abs(part) <= noise else part for part in (error, estimate))
    return _student(estimate, error, n, level)


def _student(estimate: float, error: float, n: int, level: float) -> PairedTest:
    from scipy.special import stdtr, stdtrit

    df = n - 1
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    # Without any spread, t is infinite, or undefined when there is no difference either.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = float(np.float64(estimate) / error)
    return PairedTest(estimate, estimate - half, estimate + half, t, df, float(2 * stdtr(df, -abs(t))), n)


def _known(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise UsageError(f"A group must be one list of values, not of shape {array.shape}.")
    if np.isinf(array).any():
        raise UsageError("A test of means needs finite values.", hint="Use NaN for 'not measured'.")
    return array[~np.isnan(array)]
