"""How hard to press a server: an adaptive limit on open calls, and how long to wait before asking again."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kapwa.models.served_trial import Cohort, Trial, Watch, cohort_size

START = 16  # open calls before the server has shown what it can take
CUT = 0.7  # what is left of the limit when answers begin to say "busy"
ATTEMPTS = 8
BACKOFF = 0.5


class AdaptiveLimit:
    """Bounds the calls open at once: grows while the server keeps up, shrinks when that helps it.

    Until the first congestion each answer adds one, so a round trip doubles the limit (TCP's slow start);
    after it, a round trip adds one, or a sixteenth of the limit where that is more, so that a large limit
    is regained in a dozen round trips. Never above ``most``, never below 1.

    Answers that say "busy" more often than is usual for this server cut the limit, as a trial: where the
    smaller limit does not lower their share, they had nothing to do with load, and the cut is taken back
    (see :class:`~kapwa.models.served_trial.Trial`). While more than half of the calls fail the limit is
    halved again and again, whatever the cause. Belongs to one event loop.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(min(START, most))
        self.active = 0
        self._starting = True
        self._epoch = 0
        self._cohorts = [Cohort(0, cohort_size(self.limit))]  # the one that calls join, and the one before it
        self._trial: Trial | None = None
        self._watch = Watch()
        self._resume_at = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> Cohort:
        """Wait for one of the open places; :meth:`release` wants back what is returned."""
        if self._waiters or self.active >= int(self.limit):
            await self._turn()
        else:
            self.active += 1
        if self._resume_at:
            await self._quiet()
        return self._join()

    def release(self, cohort: Cohort, busy: bool | None) -> None:
        """Give the place back. ``busy``: whether the server said that it cannot keep up; None: nobody knows."""
        self.active -= 1
        cohort.end(busy)
        if self._trial is not None:
            self._judge(self._trial)
        elif busy is not None:
            if not busy and self.limit < self.most:
                self.limit = min(self.most, self.limit + (1.0 if self._starting else max(1 / self.limit, 1 / 16)))
            # Older calls were open at a limit that has been given up since: they say nothing new.
            if cohort.epoch == self._epoch and self._watch.alarmed(cohort):
                self._cut(CUT, self._cohorts)
        if self._waiters:
            self._wake()

    @property
    def busy_at_random(self) -> bool:
        """Whether busy answers have turned out to come whatever the load."""
        return self._watch.usual > 0 and self._trial is None

    def pause(self, seconds: float) -> None:
        """Send nothing new for ``seconds``: the server asked for quiet, and a new call would break that."""
        self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + seconds)

    def _join(self) -> Cohort:
        cohort = self._cohorts[-1]
        if cohort.full:
            cohort = Cohort(self._epoch, cohort_size(self.limit))
            self._cohorts = [self._cohorts[-1], cohort]
        cohort.begin()
        return cohort

    def _cut(self, factor: float, before: Sequence[Cohort]) -> None:
        self._epoch += 1
        lower = max(1.0, self.limit * factor)
        self._trial = Trial(self.limit, lower, before, self._watch.usual, self._epoch)
        self._cohorts = [self._trial.after]
        self.limit = lower

    def _judge(self, trial: Trial) -> None:
        if trial.hopeless and self.limit > 1:
            self._cut(0.5, [trial.after])
            return
        verdict = trial.verdict()
        if verdict is None:
            return
        self._trial = None
        if verdict == "load":
            self._starting = False
            self._watch.restart()
        else:
            self.limit = min(self.most, trial.upper)
            self._starting = True  # what was taken for congestion before may have been none either
            self._watch.restart(trial.share)

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was handed over just before the cancellation
                self.active -= 1
                self._wake()
            raise

    async def _quiet(self) -> None:
        try:
            while (wait := self._resume_at - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(wait)
        except BaseException:
            self.active -= 1
            self._wake()
            raise

    def _wake(self) -> None:
        # A place is handed over already counted, so that nobody can slip in between.
        while self._waiters and self.active < int(self.limit):
            turn = self._waiters.popleft()
            if not turn.done():
                self.active += 1
                turn.set_result(None)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently to ask again.

    ``attempts``: calls for one answer, the first included. ``backoff``: seconds before the second
    attempt, doubling to ``longest``. ``patience``: the longest wait a server may ask for.
    """

    attempts: int = ATTEMPTS
    backoff: float = BACKOFF
    longest: float = 30.0
    patience: float = 600.0

    def wait(self, attempt: int) -> float:
        """Seconds to wait after failed ``attempt`` (from 1): exponential, the upper half random."""
        ceiling = min(self.longest, self.backoff * 2.0 ** min(attempt - 1, 30))
        return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - spreads calls in time; changes no answer


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait (``retry-after-ms``; ``Retry-After`` as seconds or HTTP date), or None.

    A date is read against the server's own ``Date`` where it sends one, so that clocks need not agree.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    until = _date(value)
    if until is None:
        return None
    now = _date(headers.get("date")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _date(text: str | None) -> datetime | None:
    try:
        moment = email.utils.parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):  # a year of twenty digits
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
