"""Whose answer a wrong reply or a wrong choice is."""

from typing import Any

import polars as pl
import pytest
from saq_world import ALL_QUESTIONS, ANSWER_MATCHER, item, judged

from kapwa.records import Item
from kapwa.suites.blend.confusion import CONFUSION_SCHEMA, english_wordings
from kapwa.suites.blend.mcq_judging import choice_confusion


def rows(items: list[Any], texts: list[str | None]) -> dict[str, dict[str, Any]]:
    table = judged(items, texts).tables["confusion"]
    assert dict(table.schema) == CONFUSION_SCHEMA
    return {row["other"]: row for row in table.iter_rows(named=True)}


def test_a_wrong_reply_is_another_countrys_answer() -> None:
    found = rows([item("South_Korea", "fruit", "en"), item("South_Korea", "dish", "en")], ["orange", "pizza"])
    assert found["Spain"]["matches"] == 1
    assert found["US"]["matches"] == 1
    assert found["North_Korea"]["matches"] == 0
    assert found["Spain"]["wrong"] == 2
    assert found["Spain"]["share"] == 0.5
    assert 0 < found["Spain"]["low"] < 0.5 < found["Spain"]["high"] < 1


@pytest.mark.parametrize("text", ["apple", "", None, "I cannot answer that, I'm sorry, I can't help", "!!"])
def test_only_wrong_replies_count(text: str | None) -> None:
    assert judged([item("South_Korea", "fruit", "en")], [text]).tables["confusion"].height == 0


def test_a_reply_that_fits_several_is_shared_out() -> None:
    found = rows([item("North_Korea", "dish", "en"), item("Spain", "dish", "en")], ["rice", "burger"])
    assert found["US"]["matches"] == 1
    split = rows([item("North_Korea", "fruit", "en")], ["orange and banana"])
    assert split["Spain"]["split"] == split["US"]["split"] == 0.5
    assert split["Spain"]["share"] == 1.0


def test_a_local_reply_meets_a_country_of_the_same_language() -> None:
    found = rows([item("South_Korea", "fruit")], ["복숭아"])
    assert found["North_Korea"]["matches"] == 1
    assert found["Spain"]["matches"] == 0


def test_a_local_reply_is_put_into_english_by_what_annotators_wrote() -> None:
    # 배 is a wrong fruit in North Korea and means pear; 사과 means apple, which is a dish nowhere.
    wordings = english_wordings(ALL_QUESTIONS, ANSWER_MATCHER, "ko")
    assert list(wordings["배"]) == ["pear"]
    assert "수박" not in wordings
    found = rows([item("Spain", "fruit")], ["plátano"])
    assert found["US"]["matches"] == 0  # nobody in Spain's list said it
    assert rows([item("South_Korea", "dish")], ["hamburger"])["US"]["matches"] == 1


def test_countries_without_the_question_are_left_out() -> None:
    found = rows([item("South_Korea", "hour", "en")], ["17:00"])
    assert set(found) == {"Spain", "US"}
    assert found["US"]["matches"] == 1


SCHEMA = ("item_id", "variant", "chosen_culture", "outcome")


def choice(number: int, *others: str, culture: str = "Iran") -> Item:
    fields = {"cultures": (culture, *others)}
    return Item(f"q{number}", "blend", culture, "en", "Food", "Food", "generate", f"cluster{number}", fields)


def chosen_table(*rows: tuple[str, str | None, str]) -> pl.DataFrame:
    return pl.DataFrame([(name, "generate", chosen, outcome) for name, chosen, outcome in rows], SCHEMA, orient="row")


def test_shares_are_of_the_wrong_choices_where_the_culture_was_offered() -> None:
    items = [
        choice(0, "US", "UK", "Spain"),
        choice(1, "US", "UK", "China"),
        choice(2, "UK", "China", "Spain"),
        choice(3, "US"),
    ]
    chosen = chosen_table(("q0", "US", "wrong"), ("q1", "UK", "wrong"), ("q2", "UK", "wrong"), ("q3", "Iran", "right"))
    table = choice_confusion(items, chosen)
    assert dict(table.schema) == CONFUSION_SCHEMA
    found = {row["other"]: row for row in table.iter_rows(named=True)}
    assert (found["US"]["wrong"], found["US"]["matches"]) == (2, 1)
    assert found["US"]["share"] == pytest.approx(1 / 2)
    assert found["UK"]["share"] == pytest.approx(2 / 3)
    assert found["UK"]["low"] < found["UK"]["share"] < found["UK"]["high"]
    assert found["Spain"]["share"] == 0
    assert sum(row["split"] for row in found.values()) == pytest.approx(1)
    assert table["other"].to_list() == ["UK", "US", "China", "Spain"]


def test_what_was_not_read_refused_or_right_is_no_wrong_choice() -> None:
    items = [choice(0, "US"), choice(1, "US"), choice(2, "US")]
    chosen = chosen_table(("q0", None, "unparsed"), ("q1", None, "refused"), ("q2", "Iran", "right"))
    table = choice_confusion(items, chosen)
    assert table.height == 0
    assert dict(table.schema) == CONFUSION_SCHEMA


def test_cultures_are_counted_apart() -> None:
    items = [choice(0, "US"), choice(1, "US", culture="Spain")]
    table = choice_confusion(items, chosen_table(("q0", "US", "wrong"), ("q1", "US", "wrong")))
    assert table["culture"].to_list() == ["Iran", "Spain"]
