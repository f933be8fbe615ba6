"""How far an analysis is, shown on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TextIO

from kapwa.runs.progress import clock

_PLAIN_EVERY = 5.0


@dataclass(frozen=True, slots=True)
class Stand:
    """Where an analysis stands.

    ``stage``: what is being done; ``done`` of ``total`` steps, of which ``kept`` were there before; ``texts``:
    texts compared by this process; ``seconds``: since the stage began.
    """

    stage: str
    total: int
    done: int = 0
    kept: int = 0
    texts: int = 0
    seconds: float = 0.0

    @property
    def eta(self) -> float | None:
        """Seconds to go at the speed so far; None before the first step."""
        fresh = self.done - self.kept
        return (self.total - self.done) * self.seconds / fresh if fresh > 0 and self.seconds > 0 else None


Show = Callable[[Stand], None]
Progress = bool | None | Show


@contextmanager
def showing(progress: Progress) -> Iterator[Show]:
    """Yield where stands go.

    None: a bar when stderr is a terminal, else nothing. True: a bar, or plain lines every few seconds where stderr
    is no terminal. False: nothing. A callable: that.
    """
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda _stand: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield Lines(sys.stderr)


def notes(stand: Stand) -> str:
    """Say in words what a bar does not: texts, those kept from before, time to go."""
    parts = [f"{stand.kept:,} kept from before"] if stand.kept else []
    if stand.texts and stand.seconds > 0:
        parts.append(f"{stand.texts / stand.seconds:,.0f} texts/s")
    if stand.done < stand.total and stand.eta is not None:
        parts.append(f"{clock(stand.eta)} to go")
    return ", ".join(parts)


class Lines:
    """Write a line at each change of stage, at the end of one, and every few seconds between."""

    def __init__(self, stream: TextIO, every: float = _PLAIN_EVERY, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._every, self._now = stream, every, now
        self._stage: str | None = None
        self._next = 0.0

    def __call__(self, stand: Stand) -> None:
        """Write ``stand`` when it is time to."""
        if stand.stage == self._stage and stand.done < stand.total and self._now() < self._next:
            return
        self._stage, self._next = stand.stage, self._now() + self._every
        said = notes(stand)
        self._stream.write(f"{stand.stage}: {stand.done:,}/{stand.total:,}{', ' if said else ''}{said}\n")
        self._stream.flush()


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with RichProgress(*columns, console=Console(stderr=True), transient=False) as bar:
        rows = {}

        def show(stand: Stand) -> None:
            if stand.stage not in rows:
                rows[stand.stage] = bar.add_task(stand.stage.replace("[", r"\["), total=stand.total, note="")
            bar.update(rows[stand.stage], total=stand.total, completed=stand.done, note=notes(stand))

        yield show


class Meter:
    """Counts the steps of one stage and tells ``show``."""

    def __init__(self, show: Show, stage: str, total: int) -> None:
        self._show, self._began = show, time.monotonic()
        self._stand = Stand(stage, total)
        show(self._stand)

    def kept(self, steps: int = 1) -> None:
        """Count steps that were done before."""
        self._stand = replace(self._stand, done=self._stand.done + steps, kept=self._stand.kept + steps)
        self._tell()

    def add(self, texts: int = 0) -> None:
        """Count a step done now."""
        self._stand = replace(self._stand, done=self._stand.done + 1, texts=self._stand.texts + texts)
        self._tell()

    def _tell(self) -> None:
        self._stand = replace(self._stand, seconds=time.monotonic() - self._began)
        self._show(self._stand)
