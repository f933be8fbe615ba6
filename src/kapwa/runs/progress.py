"""How far a run is: a snapshot anyone may be told of, and two ways to show such snapshots on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TextIO, TypeVar

from kapwa.records import Response

Stage = Literal["asking", "judging", "done"]
_EVERY = 5.0


class Shown(Protocol):
    """What can be shown of any work that takes a while.

    ``label``: which bar is of it; ``done``, ``total``, ``note``: what the bar says; ``line``: the same where there is
    no bar; ``stage``: a change of it is told at once, and so is its end.
    """

    @property
    def label(self) -> str: ...  # noqa: D102 - see the class
    @property
    def done(self) -> int: ...  # noqa: D102
    @property
    def total(self) -> int: ...  # noqa: D102
    @property
    def note(self) -> str: ...  # noqa: D102
    @property
    def line(self) -> str: ...  # noqa: D102
    @property
    def stage(self) -> str: ...  # noqa: D102


State = TypeVar("State", bound=Shown)


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

    @property
    def note(self) -> str:
        """What stands beside a bar."""
        return self._speeds() if self.stage == "asking" else self.stage

    def _speeds(self) -> str:
        """Say speed, time to go and failures, as far as they are known."""
        speed, parts = self.items_per_second, []
        if self.asked:
            # A slow speed as its inverse, which would otherwise read as 0.0.
            parts.append(f"{1 / speed:.0f} s/item" if 0 < speed < 0.1 else f"{speed:.1f} items/s")
        if self.tokens:
            parts.append(f"{self.tokens_per_second:.0f} tokens/s")
        if self.stage == "asking" and self.eta is not None:
            parts.append(f"{clock(self.eta)} to go")
        if self.failed:
            parts.append(f"{self.failed} failed")
        return ", ".join(parts)

    @property
    def line(self) -> str:
        """One line for people: done, speed, time to go, failures."""
        return ", ".join(filter(None, [f"{self.label}: {self.stage}", f"{self.done}/{self.total}", self._speeds()]))


ProgressCallback = Callable[[Snapshot], None]
Progress = bool | None | ProgressCallback


@contextmanager
def showing(progress: bool | Callable[[State], None] | None) -> Iterator[Callable[[State], None]]:
    """Yield where snapshots go.

    ``progress``: None: a bar when stderr is a terminal, else nothing. True: a bar, or plain lines every few seconds
    where stderr is no terminal. False: nothing. A callable: that; it is called in the thread of the run.
    """
    terminal = sys.stderr.isatty()
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not terminal):
        yield lambda _state: None
    elif terminal:
        with _bar() as show:
            yield show
    else:
        yield PlainLines(sys.stderr)


def clock(seconds: float) -> str:
    """Write a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class PlainLines:
    """Write a line at each change of stage, where one is due, and every few seconds between."""

    def __init__(self, stream: TextIO, every: float = _EVERY, now: Callable[[], float] = time.monotonic) -> None:
        """Write to ``stream``; ``now`` is the clock, in seconds."""
        self._stream, self._every, self._now = stream, every, now
        self._stage: str | None = None
        self._next = 0.0

    def __call__(self, state: Shown) -> None:
        """Write ``state`` when it is time to."""
        if state.stage == self._stage and state.done < state.total and self._now() < self._next:
            return
        self._stage, self._next = state.stage, self._now() + self._every
        self._stream.write(state.line + "\n")
        self._stream.flush()


@contextmanager
def _bar() -> Iterator[Callable[[Shown], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with Bar(*columns, console=Console(stderr=True), transient=False) as bar:
        rows = {}

        def show(state: Shown) -> None:
            if state.label not in rows:
                rows[state.label] = bar.add_task("", total=None, note="")
            # A model's name may hold square brackets, which rich would read as markup.
            label = state.label.replace("[", r"\[")
            bar.update(rows[state.label], description=label, total=state.total, completed=state.done, note=state.note)

        yield show


class Meter:
    """Counts what is durable and tells ``show``; ``asked``: how many answers this process committed."""

    def __init__(self, show: ProgressCallback, label: str, *, total: int) -> None:
        self._show, self.total, self.asked = show, total, 0
        self._began = time.monotonic()
        self._state = Snapshot(label, "asking", total, 0)
        show(self._state)

    def known(self, n: int) -> None:
        """Count answers that need not be asked for."""
        if n:
            self._update(done=self._state.done + n)

    def add(self, responses: Sequence[Response]) -> None:
        """Count answers that were just committed."""
        state, tokens = self._state, 0
        self.asked += len(responses)
        for response in responses:
            usage = response.usage
            # Tokens written for a text; tokens read for log-probabilities.
            if response.text is not None:
                tokens += usage.completion_tokens if usage else 0
            else:
                tokens += sum(score.n_tokens for score in response.logprobs or ())
                tokens += usage.prompt_tokens if usage else 0
        self._update(
            done=state.done + len(responses),
            failed=state.failed + sum(response.failed for response in responses),
            asked=self.asked,
            tokens=state.tokens + tokens,
            seconds=time.monotonic() - self._began,
        )

    def enter(self, stage: Stage) -> None:
        """Tell that the run has come to ``stage``."""
        self._update(stage=stage)

    def _update(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]
        self._show(self._state)
