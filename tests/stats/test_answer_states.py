"""Value, outcome and state of a row go together; what is missing is told from what was not asked."""

import polars as pl
import pytest

from kapwa.models.gate import gate
from kapwa.records import MISSING, OUTCOMES, STATES, UNANSWERED, Answer, Request, Response
from kapwa.stats.states import is_missing, missing_rows, not_asked_rows, state_of, with_derived_states
from kapwa.suites.watched_answers import WatchedStates


def answer(item: str, sample: int = 0, *, text: str | None = "tea", finish: str = "stop", state: str = "") -> Answer:
    response = Response("k", text=text, finish_reason=finish, error=None if text is not None else "lost")
    judged = Response("k", state="not asked") if state else gate(response)
    return Answer(Request(item, "full", "generate", (), sample=sample), judged)


def scores(*rows: tuple[str, int, float | None, str]) -> pl.DataFrame:
    schema = {"item_id": pl.String, "sample": pl.Int64, "value": pl.Float64, "outcome": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(variant=pl.lit("full"))


def filled(answers: list[Answer], *rows: tuple[str, int, float | None, str]) -> list[tuple[str, str]]:
    watched = WatchedStates(answers)
    assert len(list(watched)) == len(watched) == len(answers)
    return watched.fill_states_and_outcomes(scores(*rows)).select("outcome", "state").rows()


def test_rows_that_are_missing() -> None:
    assert [outcome for outcome in OUTCOMES if is_missing(None, outcome)] == list(MISSING)
    assert not any(is_missing(0.0, outcome) for outcome in OUTCOMES)
    table = scores(*((outcome, 0, None, outcome) for outcome in OUTCOMES))
    assert table.filter(missing_rows())["outcome"].to_list() == list(MISSING)
    assert table.filter(not_asked_rows())["outcome"].to_list() == ["not asked"]


def test_states_of_tables_of_before_follow_from_outcomes() -> None:
    told = {outcome: state_of(outcome) for outcome in OUTCOMES}
    assert set(told.values()) <= set(STATES)
    assert {outcome for outcome, state in told.items() if state not in ("answered", "empty")} == set(UNANSWERED)
    table = with_derived_states(scores(*((outcome, 0, None, outcome) for outcome in OUTCOMES)))
    assert dict(table.select("outcome", "state").rows()) == told
    assert with_derived_states(table) is table


@pytest.mark.parametrize(
    ("given", "row", "read"),
    [
        (answer("a"), (1.0, "right"), ("right", "answered")),
        (answer("a", text=""), (0.0, "empty"), ("empty", "empty")),
        (answer("a", text="te", finish="length"), (0.0, "wrong"), ("wrong", "unfinished")),
        (answer("a", text="<think>x", finish="length"), (None, "failed"), ("unfinished", "unfinished")),
        (answer("a", text="", finish="content_filter"), (None, "failed"), ("filtered", "filtered")),
        (answer("a", text=None), (None, "failed"), ("failed", "failed")),
        (answer("a", state="not asked"), (None, "failed"), ("not asked", "not asked")),
        (answer("a"), (None, "unparsed"), ("unparsed", "answered")),
        (answer("a", finish="replayed"), (1.0, "right"), ("right", "unknown")),
    ],
)
def test_a_row_gets_the_state_of_its_answer(
    given: Answer, row: tuple[float | None, str], read: tuple[str, str]
) -> None:
    assert filled([given], ("a", 0, *row)) == [read]


def test_an_item_without_any_answer_failed() -> None:
    assert filled([], ("a", 0, None, "failed")) == [("failed", "failed")]


def test_a_row_about_several_answers_has_the_state_of_what_it_rests_on() -> None:
    several = [answer("a"), answer("a", 1, text="<think>x", finish="length"), answer("a", 2, text=None)]
    assert filled(several, ("a", 0, 0.5, "scored")) == [("scored", "answered")]
    assert filled(several[1:], ("a", 0, None, "failed")) == [("failed", "failed")]
    rows = [("a", 0, 1.0, "right"), ("a", 1, None, "failed"), ("a", 2, None, "failed")]
    assert filled(several, *rows) == [("right", "answered"), ("unfinished", "unfinished"), ("failed", "failed")]
