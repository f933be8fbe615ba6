"""Whose answer a wrong reply is."""

from typing import Any

import pytest
from saq_world import GRADER, OTHERS, item, judged

from kapwa.suites.blend.confusion import CONFUSION_SCHEMA, english_wordings


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


def test_only_wrong_replies_count() -> None:
    items = [item("South_Korea", "fruit", "en"), item("South_Korea", "dish", "en"), item("South_Korea", "hour", "en")]
    table = judged(items, ["apple", "", None]).tables["confusion"]
    assert table.height == 0


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
    wordings = english_wordings(OTHERS, GRADER, "ko")
    assert list(wordings["배"]) == ["pear"]
    assert "수박" not in wordings
    found = rows([item("Spain", "fruit")], ["plátano"])
    assert found["US"]["matches"] == 0  # nobody in Spain's list said it
    assert rows([item("South_Korea", "dish")], ["hamburger"])["US"]["matches"] == 1


def test_countries_without_the_question_are_left_out() -> None:
    found = rows([item("South_Korea", "hour", "en")], ["17:00"])
    assert set(found) == {"Spain", "US"}
    assert found["US"]["matches"] == 1


def test_largest_share_comes_first() -> None:
    table = judged([item("South_Korea", "fruit", "en")], ["banana"]).tables["confusion"]
    assert table["other"][0] == "US"
    assert table["share"].to_list() == sorted(table["share"], reverse=True)


@pytest.mark.parametrize("text", ["I cannot answer that, I'm sorry, I can't help", "!!"])
def test_no_answer_is_nobodys_answer(text: str) -> None:
    assert judged([item("South_Korea", "fruit", "en")], [text]).tables["confusion"].height == 0
