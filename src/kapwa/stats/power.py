"""How large a true difference a paired test detects four times in five, and how many items it needs to detect one.

Right and wrong: the sign-flip test of single items is McNemar's, so its power is a sum of binomial probabilities, exact
where items are independent; for items in clusters, the effective number of independent items is used. Other
measures: noncentral t, exact where means of differences are normal, and the fewest clusters that sign flips need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, isfinite, isnan, log2, nan, sqrt

import numpy as np

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.value_types import Keywords

POWER = 0.8
# More numbers of differing items than this are sampled evenly; the sum over them is then a little rounded.
_GRID = 100
_TABLE = 1000
# For other measures than right/wrong: from this many differing clusters on, sign flips are as good as t.
_ENOUGH = 30
# With fewer clusters of several items, or fewer differing clusters of another measure, the noise is hardly known.
_FEW_CLUSTERS, _FEW_DIFFERING = 20, 6
_MOST_ITEMS = 10_000_000


def most_losses(differing: IntArray, alpha: float, *, mid_p: bool = False) -> IntArray:
    """The most of the ``differing`` items that the better side may lose for p ≤ ``alpha``; −1 if none is few enough.

    Two-sided sign test: p of l losses is 2·P(X ≤ l), X binomial with probability ½; the mid-p is P(X ≤ l) + P(X < l).
    """
    from scipy.special import bdtr, ndtri

    # The normal approximation is off by one, and for the smallest levels by two.
    start = np.floor((differing - 1 + ndtri(alpha / 2) * np.sqrt(differing)) / 2)
    most = np.full(differing.shape, -1.0)
    for losses in (start - 1, start, start + 1, start + 2):
        below = np.where(losses >= 1, bdtr(np.maximum(losses - 1, 0), differing, 0.5), 0.0)
        at = bdtr(np.maximum(losses, 0), differing, 0.5)
        p = below + at if mid_p else 2 * at
        allowed = (losses >= 0) & (2 * losses < differing) & (p <= alpha + 1e-12)
        most = np.where(allowed, np.maximum(most, losses), most)
    return most.astype(np.intp)


@lru_cache(maxsize=256)
def _table_of_losses(alpha: float, mid_p: bool) -> IntArray:
    return most_losses(np.arange(_TABLE), alpha, mid_p=mid_p)


def sign_test_power(
    items: int, differing: float, difference: float, *, alpha: float, mid_p: bool = False, quantile: float = 0.0
) -> float:
    """Probability that the two-sided sign test (exact McNemar) finds the better of two sides, in [0, 1].

    ``items``: independent pairs; ``differing``: share of them on which the sides differ; ``difference``: true
    difference of the shares of right answers, at most ``differing``. The number of differing items is binomial, and so
    is the number of losses of the better side among them. ``quantile``: Bonett and Price's interval with this quantile
    must exclude zero, too; 0 for the test alone.
    """
    from scipy.special import bdtr, gammaln, xlog1py, xlogy

    if differing <= 0:
        return 0.0
    spread = 6 * sqrt(items * differing * (1 - differing)) + 8
    low, high = max(1, int(items * differing - spread)), min(items, ceil(items * differing + spread))
    counts = np.arange(low, high + 1, max(1, (high - low) // _GRID))
    chances: FloatArray = np.exp(
        gammaln(items + 1)
        - gammaln(counts + 1)
        - gammaln(items - counts + 1)
        + xlogy(counts, differing)
        + xlog1py(items - counts, -differing)
    )
    losses = _table_of_losses(alpha, mid_p)[counts] if high < _TABLE else most_losses(counts, alpha, mid_p=mid_p)
    # The condition is (w − l)²(1 + q²/(n + 2)) > q²(w + l + 2) for w wins and l losses.
    barely = (counts - quantile * np.sqrt((counts + 2) / (1 + quantile**2 / (items + 2)))) / 2
    losses = np.minimum(losses, np.ceil(barely) - 1 if quantile else losses)
    share = min(max((1 - difference / differing) / 2, 0.0), 1.0)
    power = np.where(losses >= 0, bdtr(np.maximum(losses, 0), counts, share), 0.0)
    # If every count is summed, this is exact; the counts left out at the ends have a negligible probability.
    step = counts[1] - counts[0] if counts.size > 1 else 1
    return float((chances * power).sum() * step)


def fewest_clusters(alpha: float, *, mid_p: bool = False) -> int:
    """How many clusters must differ, all in one direction, for sign flips to give p ≤ ``alpha``: six for 0.05."""
    return ceil(-log2(alpha) + (0 if mid_p else 1) - 1e-9)


@lru_cache(maxsize=4096)
def _detectable_share(items: int, differing: float, alpha: float, mid_p: bool, quantile: float, power: float) -> float:
    """Smallest difference of shares detected with this power, if ``differing`` or more of the items differ."""

    def is_enough(difference: float) -> bool:
        share = max(differing, difference)
        return sign_test_power(items, share, difference, alpha=alpha, mid_p=mid_p, quantile=quantile) >= power

    return _smallest(is_enough)


def _smallest(is_enough: Callable[[float], bool], most: float = 1.0) -> float:
    """Smallest number in (0, most] from which on ``is_enough`` holds, by bisection; NaN where it never does."""
    if not is_enough(most):
        return nan
    low, high = 0.0, most
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def detectable_difference(  # noqa: PLR0913 - fields of a comparison, and how it is tested
    *,
    n: int,
    clusters: int,
    difference: float,
    se: float,
    differing: float,
    binary: bool,
    alpha: float = 0.05,
    mid_p: bool = False,
    power: float = POWER,
) -> float:
    """Smallest true mean difference that a sign-flip test at ``alpha`` detects with this ``power`` on such data.

    Infinite where none would be detected so often, NaN where the data cannot tell. Arguments are fields of
    :class:`kapwa.stats.intervals.Comparison`. There are two conditions, and the larger difference counts:

    - the sign test detects it, by its exact power on the effective number of independent items,
      (differing − difference²) / se² for right/wrong, with as many differing items as here, or as many as the
      difference needs (Connor 1987), and for right/wrong the 95 % interval excludes zero; for other measures all
      differences are assumed to be of one size, and each cluster counts as one item;
    - a t test detects it by ``se``, with clusters − 1 degrees of freedom (exact for normal means).

    With few clusters it is larger still (:func:`_allowance`).
    """
    from scipy.special import nctdtrinc, stdtrit

    if not isfinite(se) or se <= 0 or (differing <= 0 and not binary):
        return nan
    if clusters < fewest_clusters(alpha, mid_p=mid_p):
        return inf
    quantile = stdtrit(clusters - 1, 1 - alpha / 2)
    by_t = float(nctdtrinc(clusters - 1, 1 - power, quantile)) * se
    if not binary and differing * clusters > _ENOUGH:
        return by_t
    # Where nothing varies, all items of a cluster are assumed to have the same value.
    size, unit, variance = float(clusters), 1.0, differing - difference**2
    if not binary:
        unit = sqrt((se**2 * (clusters - 1) + difference**2) / differing)
    elif variance > 1e-9:
        size = variance / se**2 * clusters / (clusters - 1)
        # Means of several answers vary less than single ones. A size above n is only noise of the clusters.
        size = size if clusters == n else min(size, n)
    interval = float(stdtrit(clusters - 1, 0.975)) if binary else 0.0
    share = _detectable_share(max(round(size), 1), round(differing, 6), alpha, mid_p, interval, power)
    allowed = _allowance(clusters, differing, binary=binary, single=clusters == n)
    return inf if isnan(share) else max(by_t, unit * share) * allowed


def _allowance(clusters: int, differing: float, *, binary: bool, single: bool) -> float:
    """The factor by which a difference must be larger because few clusters give an uncertain estimate of the noise.

    For right/wrong with fewer than 20 clusters of several items, 1 + 1.6/(clusters − 3); for other measures with fewer
    than 6 differing clusters, 1 + 1/(2 · their number); else 1. Fitted by simulation: without it, ten clusters of five
    items detected the difference in 65 of 100 data sets instead of 80, and a measure on which three in thirty items
    differ in 68.
    """
    if binary:
        return 1.0 if single or clusters >= _FEW_CLUSTERS else 1 + 1.6 / (clusters - 3)
    count = differing * clusters
    return 1.0 if count >= _FEW_DIFFERING else 1 + 0.5 / count


# --- planning -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions about two models that answer the same items, and how they will be tested.

    ``differing``: share of items on which one is right and the other wrong, or more where a difference needs it. Where
    it is None, answers are assumed to be unrelated, given ``accuracy``, the share that one of them gets right: a
    cautious assumption, as models mostly fail on the same items.
    ``design_effect``: how many items are worth one independent item, 1 + (items in a cluster − 1) · their correlation.
    ``binary``: right or wrong. ``cultures``: how many cultures the mean is over.
    """

    differing: float | None = None
    accuracy: float | None = None
    design_effect: float = 1.0
    alpha: float = 0.05
    power: float = POWER
    comparisons: int = 1
    mid_p: bool = False
    binary: bool = True
    cultures: int = 1

    def __post_init__(self) -> None:
        """Raise UsageError for impossible values."""
        differing = self.differing if self.binary else None
        shares = {"agreement": differing, "accuracy": self.accuracy, "alpha": self.alpha, "power": self.power}
        for name, share in shares.items():
            if share is not None and not 0 < share < 1:
                shown = share if name != "agreement" else 1 - share
                raise UsageError(f"The {name} {shown:g} is not a share between 0 and 1.", hint="Write 80 % as 0.8.")
        if self.power <= self.alpha:
            raise UsageError(
                f"A power of {self.power:g} is no more than the {self.alpha:g} that chance alone gives.",
                hint="The usual power is 0.8.",
            )
        if self.comparisons < 1:
            raise UsageError(f"There cannot be {self.comparisons} comparisons.", hint="Name one or more.")
        if not (isfinite(self.design_effect) and self.design_effect >= 1):
            raise UsageError(
                f"A design effect of {self.design_effect:g} would make items worth more than independent ones.",
                hint="It is 1 where items are independent, and larger in clusters.",
            )
        if self.differing is None and self.accuracy is None:
            raise UsageError(
                "Nothing says how often the two models will differ.",
                hint="Name a pilot run or two, or --agreement (share of items both get right or both wrong), "
                "or --accuracy (then their answers are taken as unrelated).",
            )

    @property
    def alpha_each(self) -> float:
        """Level of the hardest step of Holm's correction, that of the smallest p-value."""
        return self.alpha / self.comparisons

    def differing_at(self, difference: float) -> float:
        """Share of items on which the two models differ if one is better by ``difference``."""
        if self.differing is not None:
            return max(self.differing, difference)
        accuracy = self.accuracy or 0.0
        other = accuracy + difference if accuracy + difference <= 1 else accuracy - difference
        return accuracy * (1 - other) + other * (1 - accuracy)

    @property
    def _largest(self) -> float:
        """Largest difference of right/wrong that is possible under these assumptions."""
        accuracy = self.accuracy or 0.0
        return self.differing if self.differing is not None else max(accuracy, 1 - accuracy)

    def power_of(self, items: int, difference: float) -> float:
        """Probability that ``items`` items show a true ``difference`` in the right direction."""
        from scipy.special import stdtrit

        independent = items / self.design_effect
        differing = self.differing_at(difference)
        settings = {"alpha": self.alpha_each, "quantile": float(stdtrit(max(independent - 1, 1), 0.975))}
        return sign_test_power(int(independent), differing, difference, mid_p=self.mid_p, **settings)

    def detectable(self, items: int) -> float | None:
        """Smallest difference that ``items`` items show with the wanted power; None where none can be."""
        most = [1.0]
        if self.differing is None:
            # Up to 1 − accuracy the other model is assumed to be better; beyond, to be worse, and more items differ.
            most = [1 - (self.accuracy or 0.0), self._largest]
        shown = (_smallest(lambda difference: self.power_of(items, difference) >= self.power, end) for end in most)
        return next((difference for difference in shown if not isnan(difference)), None)

    def items_for(self, difference: float) -> int:
        """Fewest items that show a true ``difference`` with the wanted power. Raises UsageError if it is impossible."""
        if not difference > 0:
            raise UsageError(f"A difference of {difference:g} cannot be found.", hint="Name one above 0, such as 0.05.")
        if difference > (largest := self._largest):
            why = f"two models that agree on {1 - largest:.0%} of the items differ by {largest:.0%} at most"
            if self.differing is None:
                why = f"beside {self.accuracy:.0%} right, {largest:.0%} is the largest possible difference"
            raise UsageError(f"A difference of {difference:g} is impossible: {why}.", hint="Shares: 5 points are 0.05.")
        high = 1
        while self.power_of(high, difference) < self.power:
            high *= 2
            if high > _MOST_ITEMS:
                raise UsageError(
                    f"To find a difference of {difference:g} takes more than {_MOST_ITEMS:,} items.",
                    hint="Plan for a larger one.",
                )
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power_of(middle, difference) >= self.power else (middle, high)
        return high


@dataclass(frozen=True, slots=True)
class Piloted(Assumed):
    """What is known of two models from a pilot, and how they will be tested, on questions that all cultures are asked.

    ``n``, ``clusters`` (questions), ``seen`` (difference), ``se``, ``differing``: of the pilot's comparison. Over K
    cultures and G questions the squared standard error is (σ²_question + σ²_rest/K)/G, so it is proportional to 1/G,
    whatever the two variances are. At the pilot's own number of questions, a plan agrees with what its report calls
    detectable.
    """

    n: int = 0
    clusters: int = 0
    seen: float = 0.0
    se: float = nan

    @property
    def _largest(self) -> float:
        return 1.0 if self.binary else inf

    def _detected_with(self, items: int, power: float) -> float:
        """The difference that ``items`` questions detect with this power, as their report would show it."""
        scale = items / self.clusters
        data: Keywords = {"n": round(self.n * scale), "clusters": items, "difference": self.seen}
        data |= {"se": self.se / sqrt(scale), "differing": self.differing, "binary": self.binary}
        return detectable_difference(**data, alpha=self.alpha_each, mid_p=self.mid_p, power=power)

    def power_of(self, items: int, difference: float) -> float:
        """Probability that ``items`` questions show a true ``difference`` in the right direction; 0 if negligible."""
        missed = _smallest(lambda share: self._detected_with(items, 1 - share) <= difference, 1 - self.alpha_each)
        return 0.0 if isnan(missed) else 1 - missed

    def detectable(self, items: int) -> float | None:
        """Smallest difference that ``items`` questions show with the wanted power; None where none can be."""
        size = self._detected_with(items, self.power)
        return size if isfinite(size) else None


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How many items, or with a pilot how many questions, detect which difference.

    ``difference``: in the metric's own unit, None where ``items`` are too few for any; ``detectable``: for other
    numbers of items, the difference that each detects with the wanted power. ``assumed``: the assumptions; ``grounds``:
    where they come from, in words.
    """

    items: int
    difference: float | None
    power: float
    assumed: Assumed
    detectable: dict[int, float | None]
    grounds: tuple[str, ...] = ()


def make_plan(
    assumed: Assumed, *, items: int | None, difference: float | None, grounds: tuple[str, ...] = ()
) -> SamplePlan:
    """Find the ``items`` for a difference, or the difference for ``items``. Raises UsageError unless one is given."""
    if (items is None) == (difference is None):
        raise UsageError(
            "Give either a difference or a number of items, not both.",
            hint="--difference 0.05 asks how many items it takes; --items 300 asks what difference they find.",
        )
    if items is not None and not 1 <= items <= _MOST_ITEMS:
        raise UsageError(
            f"There is no plan for {items:,} items.", hint=f"Give a number of items between 1 and {_MOST_ITEMS:,}."
        )
    wanted = assumed.items_for(difference) if difference is not None else 0
    count = wanted if items is None else items
    size = difference if difference is not None else assumed.detectable(count)
    power = 0.0 if size is None else assumed.power_of(count, size)
    near = sorted({max(1, round(count * factor)) for factor in (0.25, 0.5, 1, 2, 4)})
    return SamplePlan(count, size, power, assumed, {number: assumed.detectable(number) for number in near}, grounds)
