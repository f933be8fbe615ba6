"""A ratio of two means over the same units, with Fieller's interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class RatioOfMeans(NamedTuple):
    """``value`` and its 95 % interval ``low`` to ``high``; NaN where the divisor may be 0, so that any is possible."""

    value: float
    low: float
    high: float
    units: int


def ratio_of_means(above: ArrayLike, below: ArrayLike, level: float = 0.95) -> RatioOfMeans:
    """Return the mean of ``above`` over that of ``below``, paired by unit, with Fieller's interval (1954).

    The interval holds every ratio R for which a t test does not reject that the mean of ``above`` − R · ``below`` is 0.
    It is bounded only where the mean of ``below`` is clearly not 0. Pairs with a NaN are left out.
    """
    from scipy.special import stdtrit

    first, second = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    known = ~np.isnan(first + second)
    first, second = first[known], second[known]
    n = int(known.sum())
    nothing = RatioOfMeans(math.nan, math.nan, math.nan, n)
    if n < 2 or second.mean() == 0:
        return nothing
    value = float(first.mean() / second.mean())
    (of_first, both), (_, of_second) = np.cov(first, second) / n
    t = float(stdtrit(n - 1, 0.5 + level / 2))
    # (x − R y)² = t² (V_x − 2 R C + R² V_y), a quadratic equation in R.
    a = second.mean() ** 2 - t**2 * of_second
    b = first.mean() * second.mean() - t**2 * both
    c = first.mean() ** 2 - t**2 * of_first
    if a <= 0 or b**2 < a * c:
        return nothing._replace(value=value)
    half = math.sqrt(b**2 - a * c)
    return RatioOfMeans(value, float((b - half) / a), float((b + half) / a), n)
