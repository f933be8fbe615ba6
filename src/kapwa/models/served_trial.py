"""Were the busy answers a matter of load? A smaller limit tells: it lowers their share, or it does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

COHORT = 64  # calls a trial is judged by, at least
ALARM = 6.0  # the larger, the fewer false alarms, and the later the true ones
HIDDEN = 0.1  # an increase of the share of busy answers that is worth a trial
UNUSUAL = 1e-4  # where no busy answers are usual, the first few are an alarm
FEW = 0.2  # of a trial's calls: while more are open, they can change its outcome
MEMORY = 256  # calls after which the watch has mostly forgotten an old share
SHARES = tuple(0.002 * 1.28**i for i in range(26))  # 0.2 % to 96 %


@dataclass(slots=True)
class Cohort:
    """Calls that began one after another under one limit; ``n`` and ``busy`` count answers that tell of load.

    A share is only right once no call is ``open``: the quick answers come first, and time-outs last.
    """

    epoch: int
    size: int
    started: int = 0
    open: int = 0
    n: int = 0
    busy: int = 0

    def begin(self) -> None:
        """Count a call that begins."""
        self.started += 1
        self.open += 1

    def end(self, busy: bool | None) -> None:
        """Count a call that is over; None: it told nothing of load."""
        self.open -= 1
        if busy is not None:
            self.n += 1
            self.busy += busy

    @property
    def full(self) -> bool:
        """Whether no further call is of this cohort."""
        return self.started >= self.size


class Watch:
    """Notices when busy answers become more frequent than usual: Page's cumulative sum test (Biometrika 1954)."""

    def __init__(self) -> None:
        self.usual = 0.0
        self.restart()

    def restart(self, share: float | None = None) -> None:
        """Forget what was summed up; ``share`` is what was found to be usual."""
        if share is not None:
            self.usual = self._now = min(share, 0.5)
        self._carried = 0.0
        usual = max(self.usual, UNUSUAL)
        raised = usual + HIDDEN * (1 - usual)
        self._if_busy, self._if_not = math.log(raised / usual), math.log((1 - raised) / (1 - usual))

    def alarmed(self, cohort: Cohort) -> bool:
        """Look at a cohort after one of its calls ended, and say whether the share has risen.

        Open calls count as good ones: busy answers come fast, so a burst of calls looks bad at first.
        """
        sum_ = cohort.busy * self._if_busy + (cohort.started - cohort.busy) * self._if_not + self._carried
        if sum_ > ALARM:
            return True
        if cohort.full and not cohort.open:
            self._carried = max(0.0, sum_)
            self._settle(cohort)
        return False

    def _settle(self, cohort: Cohort) -> None:
        # What is usual only ever falls here: a share that crept up unnoticed must not become usual.
        if self.usual and cohort.n:
            self._now += (cohort.busy / cohort.n - self._now) * min(1.0, cohort.n / MEMORY)
            if 2 * self._now < self.usual:
                self.restart(2 * self._now if self._now > UNUSUAL else 0.0)


class Trial:
    """One cut of the limit from ``upper`` to ``lower``, and what came of it.

    ``before``: the cohorts just before the cut; ``after``: the one that began with it. Nothing is decided while calls
    are open that could change it, so that those that time out are not missed.
    """

    def __init__(self, upper: float, lower: float, before: Sequence[Cohort], usual: float, epoch: int) -> None:
        self.upper, self.lower, self.before, self.usual = upper, lower, before, usual
        self.after = Cohort(epoch, cohort_size(lower))

    @property
    def hopeless(self) -> bool:
        """Whether most calls fail even after the cut."""
        return self.after.started >= max(3.0, self.lower / 4) and 2 * self.after.busy > self.after.started

    @property
    def share(self) -> float:
        """The share of busy answers in all."""
        cohorts = (*self.before, self.after)
        return sum(c.busy for c in cohorts) / max(1, sum(c.n for c in cohorts))

    def verdict(self) -> Literal["load", "not load"] | None:
        """Say whether load was the cause, or None while that is open.

        The last few open calls are waited for only as long as they can change the answer: one that times out may take
        minutes, and the limit stays low meanwhile.
        """
        pending = self.after.open + sum(cohort.open for cohort in self.before)
        if not self.after.full or pending > FEW * self.after.n:
            return None
        # Of each side's open calls, either all turn out well, or all badly.
        found = {self._decide(then, now) for then in (False, True) for now in (False, True)}
        return found.pop() if len(found) == 1 else None

    def _decide(self, then_bad: bool, now_bad: bool) -> Literal["load", "not load"]:
        n, busy = _counted(self.before, then_bad)
        n_after, busy_after = _counted([self.after], now_bad)
        if 2 * busy_after > n_after:
            return "load"  # or not: so many failures are a reason to hold back either way
        return "not load" if self._against_load(n, busy, n_after, busy_after) > 0 else "load"

    def _against_load(self, n: int, busy: int, n_after: int, busy_after: int) -> float:
        """Return the logarithm of the Bayes factor, every share of ``SHARES`` being as likely beforehand.

        If load is not the cause, the share is the same before and after. If it is, the server can answer as many
        calls as before, so that the cut raises the share of good answers by ``upper / lower``, up to all but the
        usual busy ones; and the share before was well above the usual one.
        """
        same, lowered = [], []
        for share in SHARES:
            before = _log_likelihood(n, busy, share)
            same.append(before + _log_likelihood(n_after, busy_after, share))
            if share > 1.5 * self.usual:
                good = min(1 - self.usual, (1 - share) * self.upper / self.lower)
                fallen = max(1 - good, share / 4)
                lowered.append(before + _log_likelihood(n_after, busy_after, fallen))
        return _log_mean(same) - _log_mean(lowered)


def _counted(cohorts: Sequence[Cohort], bad: bool) -> tuple[int, int]:
    """Return calls and busy ones, if those still open turn out ``bad`` or well."""
    pending = sum(cohort.open for cohort in cohorts)
    return sum(c.n for c in cohorts) + pending, sum(c.busy for c in cohorts) + bad * pending


def cohort_size(limit: float) -> int:
    """Return how many calls a share is taken from under ``limit``."""
    return max(COHORT, math.ceil(limit))


def _log_likelihood(n: int, busy: int, share: float) -> float:
    return busy * math.log(share) + (n - busy) * math.log1p(-share)


def _log_mean(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(sum(math.exp(value - top) for value in logs) / len(logs))
