"""How far a run or an analysis is: counted by a meter, shown on stderr as a bar or as plain lines."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from kapwa.records import Response, Usage


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a run, or one step of an analysis, stands.

    ``label``: what is done; each has a bar of its own. ``stage``: a run's "asking", "judging" or "done". ``total``: of
    a run, its distinct requests; ``done``: those in the journal, errors included; ``stored``: those of them that this
    process did not have to ask; ``failed``: those whose answer is an error. ``amount`` of ``unit``: tokens written
    or read, or texts compared, by this process in ``seconds``. ``so_far``: in words, what a run's score is so far.
    """

    label: str
    stage: str
    total: int
    done: int = 0
    stored: int = 0
    failed: int = 0
    amount: int = 0
    seconds: float = 0.0
    unit: str = "tokens"
    so_far: str = ""

    @property
    def asked(self) -> int:
        """How many steps this process did itself."""
        return self.done - self.stored

    @property
    def note(self) -> str:
        """What stands beside a bar: the stage, and what is known of speed, time to go and failures."""
        phrases = [self.stage] if self.stage else []
        if self.stored:
            rest = f", {self.total - self.stored:,} to ask" if self.stage == "asking" else " from before"
            phrases.append(f"{self.stored:,} kept{rest}")
        pace = self.seconds / self.asked if self.asked else 0.0
        if pace > 0 and self.unit == "tokens":
            # A slow speed as its inverse, of which one decimal says enough.
            phrases.append(f"{pace:.1f} s/item" if pace > 1 else f"{1 / pace:.1f} items/s")
        if self.amount and self.seconds > 0:
            phrases.append(f"{self.amount / self.seconds:,.0f} {self.unit}/s")
        if pace > 0 and self.done < self.total:
            phrases.append(f"{clock((self.total - self.done) * pace)} to go")
        if self.failed:
            phrases.append(f"{self.failed:,} failed")
        if self.so_far:
            phrases.append(self.so_far)
        return ", ".join(phrases)


Show = Callable[[Snapshot], None]
Progress = bool | None | Show
# So long a run is asked before its score so far is shown, in seconds.
_BEFORE_SCORES = 10.0


@contextmanager
def showing(progress: Progress) -> Iterator[Show]:
    """Yield where snapshots go.

    ``progress``: None: a bar when stderr is a terminal or this is a notebook, else nothing. True: a bar, or plain lines
    every few seconds where there is neither. False: nothing. A callable: that; it is called in the thread of the run.
    """
    terminal = sys.stderr.isatty()
    if callable(progress):
        yield progress
    elif progress is False:
        yield silent
    elif "IPython" in sys.modules and in_notebook():
        yield NotebookBars()
    elif progress is None and not terminal:
        yield silent
    elif terminal:
        with _bar() as show:
            yield show
    else:
        yield PlainLines(sys.stderr)


def in_notebook() -> bool:
    """Whether IPython, which is loaded, shows HTML, as in a notebook; in a terminal it does not."""
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@dataclass(slots=True)
class NotebookBars:
    """Show in a notebook's cell a bar for each label, redrawn a few times a second."""

    every: float = 0.2
    now: Callable[[], float] = time.monotonic
    _states: dict[str, Snapshot] = field(default_factory=dict)
    _shown: Any = None
    _next: float = 0.0

    def __call__(self, state: Snapshot) -> None:
        """Draw ``state`` when it is time to, and whenever a stage begins or all is done."""
        before = self._states.get(state.label)
        self._states[state.label] = state
        changed = before is None or before.stage != state.stage or state.done >= state.total
        if not changed and self.now() < self._next:
            return
        self._next = self.now() + self.every
        from IPython.display import HTML, display

        drawn = HTML(f"<table>{''.join(map(_bar_row, self._states.values()))}</table>")
        if self._shown is None:
            self._shown = display(drawn, display_id=True)
        else:
            self._shown.update(drawn)


def _bar_row(state: Snapshot) -> str:
    """Return a bar as a row of a table in HTML; texts from elsewhere are escaped."""
    bar = f'<progress value="{state.done}" max="{max(state.total, 1)}"></progress>'
    cells = (html.escape(state.label), bar, f"{state.done:,}/{state.total:,}", html.escape(state.note))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def silent(_: Snapshot) -> None:
    """Show nothing."""


def clock(seconds: float) -> str:
    """Write a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass(slots=True)
class PlainLines:
    """Write to ``stream`` a line for each new label or stage, where some was kept, for the end, and every few seconds.

    Such as "kalahi/mc smollm2: 4/10, asking, 2.0 items/s, 0:03 to go". ``now`` is the clock, in seconds.
    """

    stream: TextIO
    every: float = 5.0
    now: Callable[[], float] = time.monotonic
    _last: tuple[str, str, bool] | None = None
    _next: float = 0.0

    def __call__(self, state: Snapshot) -> None:
        """Write ``state`` when it is time to."""
        where = (state.label, state.stage, state.stored > 0)
        if where == self._last and state.done < state.total and self.now() < self._next:
            return
        self._last, self._next = where, self.now() + self.every
        line = ", ".join(filter(None, [f"{state.label}: {state.done:,}/{state.total:,}", state.note]))
        self.stream.write(line + "\n")
        self.stream.flush()


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    # On a narrow terminal a note goes on in the next line, and is not cut.
    note = TextColumn("{task.fields[note]}", table_column=Column())
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=12), MofNCompleteColumn(), note)
    with Bar(*columns, console=Console(stderr=True), transient=False) as bar:
        rows = {}

        def show(state: Snapshot) -> None:
            if state.label not in rows:
                rows[state.label] = bar.add_task("", total=None, note="")
            # A model's name may hold square brackets, which rich would read as markup.
            label = state.label.replace("[", r"\[")
            bar.update(rows[state.label], description=label, total=state.total, completed=state.done, note=state.note)

        yield show


class Meter:
    """Counts what is done and tells ``show``; ``state`` is what it told last."""

    def __init__(
        self,
        show: Show,
        label: str,
        total: int,
        *,
        stage: str = "asking",
        unit: str = "tokens",
        so_far: Callable[[float], str] | None = None,
    ) -> None:
        """``so_far``: what says a run's score so far, of the seconds since the asking began."""
        self._show, self._began, self._so_far = show, time.monotonic(), None if show is silent else so_far
        self.state = Snapshot(label, stage, total, unit=unit)
        show(self.state)

    def add(self, steps: int, *, stored: int = 0, failed: int = 0, amount: int = 0) -> None:
        """Count steps, ``stored`` of which were done before."""
        state = self.state
        self.state = replace(
            state,
            done=state.done + steps,
            stored=state.stored + stored,
            failed=state.failed + failed,
            amount=state.amount + amount,
            seconds=time.monotonic() - self._began,
        )
        self._show(self.state)

    def answered(self, responses: Sequence[Response]) -> None:
        """Count answers that were just committed."""
        tokens = 0
        for response in responses:
            usage = response.usage or Usage()
            # Tokens written for a text; tokens read for log-probabilities.
            if response.logprobs is None:
                tokens += usage.completion_tokens
            else:
                tokens += usage.prompt_tokens + sum(score.n_tokens for score in response.logprobs)
        seconds = time.monotonic() - self._began
        if self._so_far is not None and seconds >= _BEFORE_SCORES:
            self.state = replace(self.state, so_far=self._so_far(seconds))
        self.add(len(responses), failed=sum(response.failed for response in responses), amount=tokens)

    def enter(self, stage: str) -> None:
        """Tell that the run has come to ``stage``."""
        self.state = replace(self.state, stage=stage, so_far="")
        self._show(self.state)
