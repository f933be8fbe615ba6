"""Signals about one person's answers beside those of others: words and numbers for a coordinator, never a verdict.

Nothing is set aside by a signal. Each is about answers, not about people: ``docs/how-to/check-answers.md`` says how
often careless people are marked by them, and how often careful people whose variety few others share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from kapwa.labels.quality import Beside, beside_others
from kapwa.stats.intervals import wilson_interval
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import key_of
from kapwa.studio.quality.material import Material

# Nothing is marked by fewer answers.
SEVERAL = 3
# Marked where the upper end of the 95% interval is below this share: 2 of 5, 1 of 3.
FEW_RIGHT = 0.8
# Marked below this part of the median of the others.
THIRD = 1 / 3
# Marked above this share of the questions that both answered.
COPIED = 0.4
# Seconds between two answers: of fewer it came in a file, after more there was a pause. So many of them make a figure.
_AT_ONCE, _PAUSE, _FEWEST = 1, 1800, 5


class Signal(NamedTuple):
    """A figure of one person's answers, of ``n`` of them, and whether it is ``marked`` as apart from the others'.

    ``others``: the median of the others; ``low`` and ``high``: the interval, where there is one.
    """

    name: str
    value: float
    n: int
    marked: bool
    others: float | None = None
    low: float | None = None
    high: float | None = None


class Signals(NamedTuple):
    """A person's signals; ``code`` stands for them in the table of answers, ``number`` on pages."""

    author: str
    code: str
    answers: int
    signals: dict[str, Signal]

    @property
    def number(self) -> int:
        """Six digits of the code, in no order of names or of coming."""
        return int(self.code[:12], 16) % 900_000 + 100_000


def signals_of(project: Project, made: Material) -> list[Signals]:
    """Return the signals of everybody who did anything, by number."""
    beside = beside_others(made.answers, made.options)
    gaps = {author: _gaps(moments) for author, moments in made.moments.items()}
    paces = {author: median(seconds) for author, seconds in gaps.items() if len(seconds) >= _FEWEST}
    copies = _copies(made.words)
    people = []
    for author, rows in made.rows.items():
        signals = [_right("checks", made.checks.get(author, ())), _right("repeats", made.repeats.get(author, ()))]
        signals += _beside(beside.get(author))
        if others := [pace for name, pace in paces.items() if name != author and author in paces]:
            usual, pace = median(others), paces[author]
            signals.append(Signal("time", pace, len(gaps[author]), pace < THIRD * usual, usual))
        copied, shared = copies.get(author, (0, len(made.words.get(author, ()))))
        signals.append(Signal("copied", copied, shared, copied >= SEVERAL and copied > COPIED * shared))
        known = {signal.name: signal for signal in signals if signal.n}
        people.append(Signals(author, key_of(project, author), len(rows), known))
    return sorted(people, key=lambda person: person.number)


def _right(name: str, outcomes: Sequence[bool]) -> Signal:
    """How many were right: marked where fewer than four of five would be, with 95% confidence."""
    right, n = sum(outcomes), len(outcomes)
    return Signal(name, right, n, n >= SEVERAL and bool(wilson_interval(right / n, n, 1.96)[1] < FEW_RIGHT))


def _beside(person: Beside | None) -> list[Signal]:
    """Agreement and competence, beside the medians of the others; the second is marked, or else the first."""
    if person is None or person.agreement.value is None:
        return []
    agreement, value, signals = person.agreement, person.agreement.value, list[Signal]()
    if person.competence is not None and person.usual_competence is not None:
        signals.append(Signal("competence", person.competence, agreement.n, person.apart, person.usual_competence))
    marked, interval = person.apart and not signals, (agreement.low, agreement.high)
    return [Signal("agreement", value, agreement.n, marked, person.usual_agreement, *interval), *signals]


def _gaps(moments: Sequence[datetime]) -> list[float]:
    """Return the seconds between two answers, where they tell how long an answer took."""
    gaps = [(later - before).total_seconds() for before, later in pairwise(sorted(moments))]
    return [seconds for seconds in gaps if _AT_ONCE <= seconds <= _PAUSE]


def _copies(words: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[int, int]]:
    """Return, by author, how many answers only they and one other person wrote so, of how many that both answered.

    The other is the one with whom they have most such answers.
    """
    authors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for author, texts in words.items():
        for answer in texts.items():
            authors[answer].add(author)
    copies: dict[str, tuple[int, int]] = {}
    for pair, n in Counter(frozenset(writers) for writers in authors.values() if len(writers) == 2).items():
        shared = set.intersection(*(set(words[author]) for author in pair))
        for author in pair:
            copies[author] = max(copies.get(author, (0, 0)), (n, len(shared)))
    return copies
