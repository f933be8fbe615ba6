"""How value, outcome and state of a row of scores go together: one rule for suites, statistics, reports and old runs.

A row has a value where an answer was judged. Where there was no answer to judge, the value is null and the outcome says
why: one of :data:`kapwa.records.UNANSWERED`. Such a row is missing where the answer might have been right or wrong
(:data:`kapwa.records.MISSING`), and neither missing nor wrong where it was not asked by design. A null value with any
other outcome is no matter of a missing answer: the answer came, and this metric cannot be told of it.

Empty answers and refusals (declined by a signal, or refused in words) are judged: in a share of right answers they
count 0. An answer that was cut off is judged as it stands, with its outcome; only its state says "unfinished".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import polars as pl

from kapwa.records import MISSING, UNANSWERED, Answer, Outcome, State
from kapwa.stats.watching import WatchedAnswers
from kapwa.value_types import Schema

_Item = tuple[str, str]  # id and variant
# Which state stands for a row that is about several answers: the first of these that one of them has.
_JUDGED: tuple[State, ...] = ("answered", "unknown", "declined", "empty", "unfinished")
_NEEDED = {"item_id", "variant", "sample", "value", "outcome"}
_TOLD: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "sample": pl.Int64},
    **{"_judged": pl.String, "_lost": pl.String},
}


def is_missing(value: float | None, outcome: Outcome) -> bool:
    """Whether a row of scores lacks its value for want of an answer that might have been right or wrong."""
    return value is None and outcome in MISSING


def missing_rows() -> pl.Expr:
    """Return :func:`is_missing` for tables of scores."""
    return pl.col("value").is_null() & pl.col("outcome").is_in(MISSING)


def not_asked_rows() -> pl.Expr:
    """Return which rows of scores are of what was not asked, by design: in no mean, no bound and no count of misses."""
    return pl.col("value").is_null() & (pl.col("outcome") == "not asked")


def state_of(outcome: Outcome) -> State:
    """Return the state that ``outcome`` tells of by itself, for tables that do not hold states."""
    if outcome in UNANSWERED:
        return outcome
    return "empty" if outcome == "empty" else "answered"


def with_derived_states(scores: pl.DataFrame) -> pl.DataFrame:
    """Return a table of scores that was written before there were states, with them (see :func:`state_of`)."""
    if "state" in scores.columns:
        return scores
    told = pl.col("outcome").is_in(UNANSWERED) | (pl.col("outcome") == "empty")
    return scores.with_columns(state=pl.when(told).then("outcome").otherwise(pl.lit("answered")))


class WatchedStates(WatchedAnswers):
    """Answers that may be read from disk and be millions, with what a walk through them saw of their states.

    What is kept grows with the items, and with the answers that are not plainly answered.
    """

    def begin(self) -> None:
        """Have seen no answer."""
        self._asked: Counter[_Item] = Counter()
        self._others: defaultdict[_Item, list[tuple[int, State]]] = defaultdict(list)

    def watch(self, answer: Answer) -> None:
        """Count an answer, and note its state where it is not plainly answered."""
        request, response = answer
        key = request.item_id, request.variant
        self._asked[key] += 1
        if response.state is not None and response.state != "answered":
            self._others[key].append((request.sample, response.state))

    def fill(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Return the suite's ``scores`` with the states that it left open, after it walked through these answers.

        A suite calls a row "failed" where it had no answer to judge. Here the outcome becomes what the state tells:
        that it failed, was filtered, was cut off within its thought, or was not asked.
        """
        if not _NEEDED.issubset(scores.columns):
            return scores  # whoever writes the run says which columns the suite left out
        if "state" not in scores.columns:
            scores = scores.with_columns(state=pl.lit(None, pl.String))
        told = pl.DataFrame(self._told(scores), schema=_TOLD, orient="row")
        rows = scores.join(told, on=list(_TOLD)[:3], how="left", maintain_order="left")
        lost = pl.col("value").is_null() & pl.col("outcome").is_in(UNANSWERED) & pl.col("state").is_null()
        why = pl.when(pl.col("outcome") == "failed").then(pl.col("_lost").fill_null("failed")).otherwise("outcome")
        state = pl.when(lost).then(why).otherwise(pl.col("_judged").fill_null("answered"))
        rows = rows.with_columns(
            outcome=pl.when(lost).then(why).otherwise("outcome"), state=pl.col("state").fill_null(state)
        )
        return rows.select(scores.columns)

    def _told(self, scores: pl.DataFrame) -> Iterator[tuple[str, str, int, State | None, State | None]]:
        """Yield, for each row of an item that has more than plain answers, what stands for the answers it is about.

        An item that was asked several times and has rows of sample 0 alone has one row for all of its answers.
        """
        if not self._others:
            return
        last = scores.group_by("item_id", "variant").agg(pl.col("sample").max())
        whole = {(item, variant) for item, variant, sample in last.iter_rows() if sample == 0}
        for key, others in self._others.items():
            plain = self._asked[key] > len(others)
            if key in whole:
                yield (*key, 0, *_leading_states([state for _, state in others], plain=plain))
                continue
            for sample in dict.fromkeys(sample for sample, _ in others):
                yield (*key, sample, *_leading_states([state for at, state in others if at == sample], plain=False))


def _leading_states(states: Collection[State], *, plain: bool) -> tuple[State | None, State | None]:
    """Return the state of a row in which an answer was judged, and of one in which none was; None where not told."""
    judged = "answered" if plain else next((state for state in _JUDGED if state in states), None)
    return judged, next((state for state in UNANSWERED if state in states), None)
