"""Thinking as a finding: in which share of a culture's answers a model thought, how long, and in which language.

And where thinking, or answering, ran in circles: answers that repeat themselves up to the limit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from kapwa.models.loops import is_loop
from kapwa.records import Answer, Item, Response
from kapwa.suites.watched_answers import WatchedAnswers

TABLE = "thoughts"
IDENTIFIED = 200  # thoughts of a culture and language whose own language is told
NOT_TOLD = "not told"
_MOST_SAID = 8  # cultures in a sentence
SCHEMA = {
    **dict.fromkeys(("culture", "language"), pl.String),
    **dict.fromkeys(("answers", "with_thought", "loops"), pl.Int64),
    **dict.fromkeys(("share", "tokens", "characters"), pl.Float64),
    "thought_in": pl.String,
    "thought_in_share": pl.Float64,
}


class Loops(NamedTuple):
    """How many answers met their limit (``unfinished``), and how many of them while repeating themselves."""

    loops: int
    unfinished: int

    def warning(self, *, greedy: bool) -> str | None:
        """Say how many answers are loops and what helps; None where none is. ``greedy``: that was asked for in words.

        More room is no remedy for them, as it is for other answers that met their limit.
        """
        if not self.loops:
            return None
        helps = "leave out --temperature 0" if greedy else "--thinking off, or another --temperature, may help"
        one = self.loops == 1
        return (
            f"{self.loops:,} of {self.unfinished:,} answers that met the limit of tokens "
            f"{'repeats itself' if one else 'repeat themselves'} up to it ({'a loop' if one else 'loops'}): a larger "
            f"limit does not end {'it' if one else 'them'}; {helps}."
        )


@dataclass(slots=True)
class _Seen:
    answers: int = 0
    thoughts: int = 0
    unfinished: int = 0
    loops: int = 0
    tokens: list[int] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response) -> None:
        counted = response.usage.thinking_tokens if response.usage else None
        self.answers += 1
        self.thoughts += bool(response.thought or counted)
        self.unfinished += response.state == "unfinished"
        self.loops += is_loop(response)
        if counted:
            self.tokens.append(counted)
        if response.thought:
            self.characters.append(len(response.thought))
            if self.languages.total() < IDENTIFIED:
                from kapwa.languages.identify import identify

                self.languages[identify(response.thought).language or "unknown"] += 1


class WatchedThoughts(WatchedAnswers):
    """Answers as they are read, with what the first walk through all of them saw of thoughts and loops, by culture."""

    def __init__(self, answers: Collection[Answer], items: Sequence[Item]) -> None:
        self._of = {(item.id, item.variant): (item.culture, item.language) for item in items}
        super().__init__(answers)

    def begin(self) -> None:
        """Have seen no thought."""
        self._seen: defaultdict[tuple[str, str], _Seen] = defaultdict(_Seen)

    def watch(self, answer: Answer) -> None:
        """Count the thought of an answer and whether it ran in circles."""
        request, response = answer
        if request.kind == "generate" and response.state not in ("failed", "not asked"):
            self._seen[self._of.get((request.item_id, request.variant), ("", ""))].add(response)

    def loops(self) -> Loops:
        """Return how many answers ran in circles."""
        every = self._seen.values()
        return Loops(sum(seen.loops for seen in every), sum(seen.unfinished for seen in every))

    def table(self) -> pl.DataFrame | None:
        """Return a row a culture and language asked in; None where no answer has a thought.

        ``loops``: answers that repeat themselves up to the limit. ``tokens`` and ``characters``: of a thought on
        average, null where they are not told. ``thought_in``: the language of most thoughts, with its share; "not told"
        where a provider hides them.
        """
        if not any(seen.thoughts for seen in self._seen.values()):
            return None
        rows = []
        for (culture, language), seen in sorted(self._seen.items()):
            known = seen.languages.most_common(1)
            spoken, share = (known[0][0], known[0][1] / seen.languages.total()) if known else (NOT_TOLD, None)
            counts = (seen.answers, seen.thoughts, seen.loops, seen.thoughts / seen.answers)
            rows.append((culture, language, *counts, _mean(seen.tokens), _mean(seen.characters), spoken, share))
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def thoughts_note(table: pl.DataFrame) -> str:
    """Say in a sentence what a table of thoughts holds."""
    phrases = []
    for row in table.head(_MOST_SAID).iter_rows(named=True):
        length = f"{row['tokens']:,.0f} tokens" if row["tokens"] is not None else ""
        length = length or (f"{row['characters']:,.0f} characters" if row["characters"] is not None else "")
        words = f"{row['culture']} (asked in {row['language']}): {100 * row['share']:.0f}% of answers"
        words += f", {length} on average" if length else ""
        if row["thought_in_share"] is None:
            words += ", language not told"
        else:
            words += f", {100 * row['thought_in_share']:.0f}% of them in {row['thought_in']}"
        phrases.append(words)
    more = table.height - len(phrases)
    return "Thoughts by culture: " + "; ".join(phrases) + (f"; {more} more in the table thoughts." if more else ".")
