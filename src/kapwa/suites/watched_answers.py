"""Answers that are watched while they are judged, so that counting them needs no separate pass."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import polars as pl

from kapwa.records import UNANSWERED, Answer, State
from kapwa.value_types import Schema

_Item = tuple[str, str]  # id and variant
# The state of a row about several answers is the first of these that one of them has.
_JUDGED: tuple[State, ...] = ("answered", "unknown", "declined", "empty", "unfinished")
_NEEDED = {"item_id", "variant", "sample", "value", "outcome"}
_STATES_SCHEMA: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "sample": pl.Int64},
    **{"_judged": pl.String, "_lost": pl.String},
}


class WatchedAnswers(Collection[Answer]):
    """Answers as they are read, perhaps from disk; the first full pass gives each of them to :meth:`watch`."""

    def __init__(self, answers: Collection[Answer]) -> None:
        self._answers = answers
        self._seen_all = False
        self.begin()

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, answer: object) -> bool:
        return answer in self._answers

    def __iter__(self) -> Iterator[Answer]:
        """Yield the answers."""
        if self._seen_all:
            yield from self._answers
            return
        self.begin()
        for answer in self._answers:
            self.watch(answer)
            yield answer
        self._seen_all = True

    @abstractmethod
    def begin(self) -> None:
        """Start a pass, and forget what was watched before."""

    @abstractmethod
    def watch(self, answer: Answer) -> None:
        """Look at one answer."""


class WatchedStates(WatchedAnswers):
    """Answers, perhaps millions that are read from disk, with the states that one pass through them has counted.

    Memory grows with the number of items, and with the answers in other states than "answered".
    """

    def begin(self) -> None:
        """Forget all answers, before a pass."""
        self._answer_counts: Counter[_Item] = Counter()
        self._others: defaultdict[_Item, list[tuple[int, State]]] = defaultdict(list)

    def watch(self, answer: Answer) -> None:
        """Count an answer, and record its state unless it is "answered"."""
        request, response = answer
        key = request.item_id, request.variant
        self._answer_counts[key] += 1
        if response.state is not None and response.state != "answered":
            self._others[key].append((request.sample, response.state))

    def fill_states_and_outcomes(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Return the suite's ``scores`` with their missing states, after the suite has read all answers.

        A suite calls a row "failed" where it had no answer to judge. Here the outcome becomes that of the state:
        that the request failed, was filtered, was cut off within its thought, or was not asked.
        """
        if not _NEEDED.issubset(scores.columns):
            return scores  # the writer of the run reports which columns are missing
        if "state" not in scores.columns:
            scores = scores.with_columns(state=pl.lit(None, pl.String))
        derived = pl.DataFrame(self._rows_of_states(scores), schema=_STATES_SCHEMA, orient="row")
        rows = scores.join(derived, on=list(_STATES_SCHEMA)[:3], how="left", maintain_order="left")
        lost = pl.col("value").is_null() & pl.col("outcome").is_in(UNANSWERED) & pl.col("state").is_null()
        why = pl.when(pl.col("outcome") == "failed").then(pl.col("_lost").fill_null("failed")).otherwise("outcome")
        state = pl.when(lost).then(why).otherwise(pl.col("_judged").fill_null("answered"))
        rows = rows.with_columns(
            outcome=pl.when(lost).then(why).otherwise("outcome"), state=pl.col("state").fill_null(state)
        )
        return rows.select(scores.columns)

    def _rows_of_states(self, scores: pl.DataFrame) -> Iterator[tuple[str, str, int, State | None, State | None]]:
        """Yield the states for each row of an item that has answers in other states than "answered".

        An item that was asked several times but only has rows of sample 0 has one row for all of its answers.
        """
        if not self._others:
            return
        last = scores.group_by("item_id", "variant").agg(pl.col("sample").max())
        whole = {(item, variant) for item, variant, sample in last.iter_rows() if sample == 0}
        for key, others in self._others.items():
            plain = self._answer_counts[key] > len(others)
            if key in whole:
                yield (*key, 0, *_leading_states([state for _, state in others], plain=plain))
                continue
            for sample in dict.fromkeys(sample for sample, _ in others):
                yield (*key, sample, *_leading_states([state for at, state in others if at == sample], plain=False))


def _leading_states(states: Collection[State], *, plain: bool) -> tuple[State | None, State | None]:
    """Return the state of a row in which an answer was judged, and of one in which none was; None where unknown."""
    judged = "answered" if plain else next((state for state in _JUDGED if state in states), None)
    return judged, next((state for state in UNANSWERED if state in states), None)
