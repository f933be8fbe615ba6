"""Whose answer a wrong choice is."""

import polars as pl
import pytest

from kapwa.records import Item
from kapwa.suites.blend.confusion import CONFUSION_SCHEMA
from kapwa.suites.blend.mcq_judging import choice_confusion

SCHEMA = ("item_id", "variant", "chosen_culture", "outcome")


def item(number: int, *others: str, culture: str = "Iran") -> Item:
    fields = {"cultures": (culture, *others)}
    return Item(f"q{number}", "blend", culture, "en", "Food", "Food", "generate", f"cluster{number}", fields)


def answers(*rows: tuple[str, str | None, str]) -> pl.DataFrame:
    return pl.DataFrame([(name, "generate", chosen, outcome) for name, chosen, outcome in rows], SCHEMA, orient="row")


def test_shares_are_of_the_wrong_choices_where_the_culture_was_offered() -> None:
    items = [item(0, "US", "UK", "Spain"), item(1, "US", "UK", "China"), item(2, "UK", "China", "Spain"), item(3, "US")]
    chosen = answers(("q0", "US", "wrong"), ("q1", "UK", "wrong"), ("q2", "UK", "wrong"), ("q3", "Iran", "right"))
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
    items = [item(0, "US"), item(1, "US"), item(2, "US")]
    chosen = answers(("q0", None, "unparsed"), ("q1", None, "refused"), ("q2", "Iran", "right"))
    table = choice_confusion(items, chosen)
    assert table.height == 0
    assert dict(table.schema) == CONFUSION_SCHEMA


def test_cultures_are_counted_apart() -> None:
    items = [item(0, "US"), item(1, "US", culture="Spain")]
    table = choice_confusion(items, answers(("q0", "US", "wrong"), ("q1", "US", "wrong")))
    assert table["culture"].to_list() == ["Iran", "Spain"]
