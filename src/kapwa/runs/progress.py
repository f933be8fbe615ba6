"""How far a run is: a snapshot anyone may be told of, and two ways to show it on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, TextIO

from kapwa.records import Response
from kapwa.runs.shown import Lines, Shown, clock, showing_as

__all__ = ["Meter", "PlainLines", "Progress", "ProgressCallback", "Snapshot", "Stage", "clock", "showing", "summary"]

Stage = Literal["asking", "judging", "done"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a run stands.

    ``total``: distinct requests; ``done``: those durable in the journal, errors included; ``failed``: those
    whose answer is an error; ``asked``: answered by this process; ``tokens``: written (texts) or read
    (log-probabilities) for them; ``seconds``: since this process began to ask.
    """

    label: str
    stage: Stage
    total: int
    done: int
    failed: int = 0
    asked: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def items_per_second(self) -> float:
        """Requests answered per second by this process; 0 before the first."""
        return self.asked / self.seconds if self.seconds > 0 else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of this process; 0 where the model does not count them."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds to go at the speed so far; None before the first answer."""
        return (self.total - self.done) / self.items_per_second if self.asked else None


ProgressCallback = Callable[[Snapshot], None]
Progress = bool | None | ProgressCallback


def showing(progress: Progress) -> AbstractContextManager[ProgressCallback]:
    """Yield where snapshots go: :func:`kapwa.runs.shown.showing_as`. A callable is called in the thread of the run."""
    return showing_as(_shown, progress)


def summary(snapshot: Snapshot) -> str:
    """One line for people: done, speed, time to go, failures."""
    return ", ".join([f"{snapshot.label}: {snapshot.stage}", f"{snapshot.done}/{snapshot.total}", *_notes(snapshot)])


def _notes(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.asked:
        yield _speed(snapshot.items_per_second)
    if snapshot.tokens:
        yield f"{snapshot.tokens_per_second:.0f} tokens/s"
    if snapshot.stage == "asking" and snapshot.eta is not None:
        yield f"{clock(snapshot.eta)} to go"
    if snapshot.failed:
        yield f"{snapshot.failed} failed"


def _speed(per_second: float) -> str:
    """Write a speed; a slow one as its inverse, which would otherwise read as 0.0."""
    return f"{1 / per_second:.0f} s/item" if 0 < per_second < 0.1 else f"{per_second:.1f} items/s"


def _shown(snapshot: Snapshot) -> Shown:
    return Shown(
        row="run",
        label=snapshot.label,
        done=snapshot.done,
        total=snapshot.total,
        note=", ".join(_notes(snapshot)) if snapshot.stage == "asking" else snapshot.stage,
        line=summary(snapshot),
        stage=snapshot.stage,
    )


class PlainLines(Lines[Snapshot]):
    """Write a line at each change of stage, and every few seconds between."""

    def __init__(self, stream: TextIO, every: float = 5.0, now: Callable[[], float] = time.monotonic) -> None:
        """Write to ``stream``; ``now`` is the clock, in seconds."""
        super().__init__(_shown, stream, every, now)


class Meter:
    """Counts what is durable and tells ``show``."""

    def __init__(self, show: ProgressCallback, label: str, *, total: int) -> None:
        self._show = show
        self._began = time.monotonic()
        self._state = Snapshot(label, "asking", total, 0)
        show(self._state)

    @property
    def asked(self) -> int:
        """How many answers were committed by this process."""
        return self._state.asked

    def known(self, n: int) -> None:
        """Count answers that the journal already held."""
        if n:
            self._state = replace(self._state, done=self._state.done + n)
            self._show(self._state)

    def add(self, responses: Sequence[Response]) -> None:
        """Count answers that were just committed."""
        state = self._state
        self._state = replace(
            state,
            done=state.done + len(responses),
            failed=state.failed + sum(response.failed for response in responses),
            asked=state.asked + len(responses),
            tokens=state.tokens + sum(map(_tokens, responses)),
            seconds=time.monotonic() - self._began,
        )
        self._show(self._state)

    def enter(self, stage: Stage) -> None:
        """Tell that the run has come to ``stage``."""
        self._state = replace(self._state, stage=stage)
        self._show(self._state)


def _tokens(response: Response) -> int:
    """Tokens written for a text; tokens read for log-probabilities."""
    if response.text is not None:
        return response.usage.completion_tokens if response.usage else 0
    return sum(score.n_tokens for score in response.logprobs or ()) + (
        response.usage.prompt_tokens if response.usage else 0
    )
