"""How value, outcome and state of a row of scores go together: one rule for suites, statistics, reports and old runs.

A row has a value where an answer was judged. Where there was no answer to judge, the value is null and the outcome says
why: one of :data:`kapwa.records.UNANSWERED`. Such a row is missing where the answer might have been right or wrong
(:data:`kapwa.records.MISSING`), and neither missing nor wrong where it was not asked by design. A null value with any
other outcome does not mean a missing answer: the answer came, but this metric is not defined for it.

Empty answers and refusals (declined by a signal, or refused in words) are judged: in a share of right answers they
count 0. An answer that was cut off is judged as it is, with its outcome; only its state says "unfinished".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import polars as pl

from kapwa.records import MISSING, UNANSWERED, Answer, Outcome, State
from kapwa.stats.watching import WatchedAnswers
from kapwa.value_types import Schema

_Item = tuple[str, str]  # id and variant
# The state of a row about several answers is the first of these that one of them has.
_JUDGED: tuple[State, ...] = ("answered", "unknown", "declined", "empty", "unfinished")
_NEEDED = {"item_id", "variant", "sample", "value", "outcome"}
_STATES_SCHEMA: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "sample": pl.Int64},
    **{"_judged": pl.String, "_lost": pl.String},
}


def is_missing(value: float | None, outcome: Outcome) -> bool:
    """Whether a row of scores has no value because an answer is missing that might have been right or wrong."""
    return value is None and outcome in MISSING


def missing_rows() -> pl.Expr:
    """Return :func:`is_missing` for tables of scores."""
    return pl.col("value").is_null() & pl.col("outcome").is_in(MISSING)


def not_asked_rows() -> pl.Expr:
    """Return which rows of scores were not asked, by design: they are in no mean, no bound and no count of missing."""
    return pl.col("value").is_null() & (pl.col("outcome") == "not asked")


def state_of(outcome: Outcome) -> State:
    """Return the state that follows from ``outcome`` alone, for tables without states."""
    if outcome in UNANSWERED:
        return outcome
    return "empty" if outcome == "empty" else "answered"


def with_derived_states(scores: pl.DataFrame) -> pl.DataFrame:
    """Return a table of scores that was written before there were states, with them (see :func:`state_of`)."""
    if "state" in scores.columns:
        return scores
    from_outcome = pl.col("outcome").is_in(UNANSWERED) | (pl.col("outcome") == "empty")
    return scores.with_columns(state=pl.when(from_outcome).then("outcome").otherwise(pl.lit("answered")))


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

    def fill(self, scores: pl.DataFrame) -> pl.DataFrame:
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
