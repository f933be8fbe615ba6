"""How far an analysis is, shown on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kapwa.runs.progress import clock, showing

__all__ = ["Meter", "Progress", "Show", "Stand", "showing"]


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

    @property
    def label(self) -> str:
        """Each stage has a bar of its own."""
        return self.stage

    @property
    def note(self) -> str:
        """Say in words what a bar does not: texts, those kept from before, time to go."""
        parts = [f"{self.kept:,} kept from before"] if self.kept else []
        if self.texts and self.seconds > 0:
            parts.append(f"{self.texts / self.seconds:,.0f} texts/s")
        if self.done < self.total and self.eta is not None:
            parts.append(f"{clock(self.eta)} to go")
        return ", ".join(parts)

    @property
    def line(self) -> str:
        """The same where there is no bar."""
        return ", ".join(filter(None, [f"{self.stage}: {self.done:,}/{self.total:,}", self.note]))


Show = Callable[[Stand], None]
Progress = bool | None | Show


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
