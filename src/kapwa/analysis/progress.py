"""How far an analysis is, shown on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from kapwa.runs.shown import Shown, clock, showing_as


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


def showing(progress: Progress) -> AbstractContextManager[Show]:
    """Yield where stands go: :func:`kapwa.runs.shown.showing_as`."""
    return showing_as(_shown, progress)


def notes(stand: Stand) -> str:
    """Say in words what a bar does not: texts, those kept from before, time to go."""
    parts = [f"{stand.kept:,} kept from before"] if stand.kept else []
    if stand.texts and stand.seconds > 0:
        parts.append(f"{stand.texts / stand.seconds:,.0f} texts/s")
    if stand.done < stand.total and stand.eta is not None:
        parts.append(f"{clock(stand.eta)} to go")
    return ", ".join(parts)


def _shown(stand: Stand) -> Shown:
    said = notes(stand)
    return Shown(
        row=stand.stage,
        label=stand.stage,
        done=stand.done,
        total=stand.total,
        note=said,
        line=f"{stand.stage}: {stand.done:,}/{stand.total:,}{', ' if said else ''}{said}",
        stage=stand.stage,
        due=stand.done >= stand.total,
    )


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
