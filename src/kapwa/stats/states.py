"""How value, outcome and state of a row of scores go together: one rule for suites, statistics, reports and old runs.

A row has a value where an answer was judged. Where there was no answer to judge, the value is null and the outcome says
why: one of :data:`kapwa.records.UNANSWERED`. Such a row is missing where the answer might have been right or wrong
(:data:`kapwa.records.MISSING`), and neither missing nor wrong where it was not asked by design. A null value with any
other outcome does not mean a missing answer: the answer came, but this metric is not defined for it.

Empty answers and refusals (declined by a signal, or refused in words) are judged: in a share of right answers they
count 0. An answer that was cut off is judged as it is, with its outcome; only its state says "unfinished".
"""

from __future__ import annotations

import polars as pl

from kapwa.records import MISSING, UNANSWERED, Outcome, State


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
