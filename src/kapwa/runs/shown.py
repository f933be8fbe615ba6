"""Show on stderr how far something is: a bar on a terminal, plain lines elsewhere, or a function of the user's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TextIO, TypeVar

_EVERY = 5.0
State = TypeVar("State")


class Shown(NamedTuple):
    """A state as people see it.

    ``row``: which bar is of it; ``label``, ``done``, ``total``, ``note``: what the bar says; ``line``: the same where
    there is no bar; ``stage``: a change of it is told at once, and so is a state that is ``due``.
    """

    row: str
    label: str
    done: int
    total: int
    note: str
    line: str
    stage: str
    due: bool = False


@contextmanager
def showing_as(
    described: Callable[[State], Shown], progress: bool | Callable[[State], None] | None
) -> Iterator[Callable[[State], None]]:
    """Yield where states go.

    ``progress``: None: a bar when stderr is a terminal, else nothing. True: a bar, or plain lines every few seconds
    where stderr is no terminal. False: nothing. A callable: that.
    """
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda _state: None
    elif sys.stderr.isatty():
        with _bar(described) as show:
            yield show
    else:
        yield Lines(described, sys.stderr)


def clock(seconds: float) -> str:
    """Write a duration as ``m:ss`` or ``h:mm:ss``."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Lines(Generic[State]):
    """Write a line at each change of stage, where one is due, and every few seconds between."""

    def __init__(
        self,
        described: Callable[[State], Shown],
        stream: TextIO,
        every: float = _EVERY,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to ``stream`` what states come to by ``described``, by the clock ``now`` (seconds)."""
        self._described, self._stream, self._every, self._now = described, stream, every, now
        self._stage: str | None = None
        self._next = 0.0

    def __call__(self, state: State) -> None:
        """Write ``state`` when it is time to."""
        shown = self._described(state)
        if shown.stage == self._stage and not shown.due and self._now() < self._next:
            return
        self._stage, self._next = shown.stage, self._now() + self._every
        self._stream.write(shown.line + "\n")
        self._stream.flush()


@contextmanager
def _bar(described: Callable[[State], Shown]) -> Iterator[Callable[[State], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        rows = {}

        def show(state: State) -> None:
            shown = described(state)
            if shown.row not in rows:
                rows[shown.row] = bar.add_task("", total=None, note="")
            # A model's name may hold square brackets, which rich would read as markup.
            label = shown.label.replace("[", r"\[")
            bar.update(rows[shown.row], description=label, total=shown.total, completed=shown.done, note=shown.note)

        yield show
