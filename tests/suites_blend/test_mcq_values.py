"""Formats of options, values in accepted answers, and answers that are none."""

from fractions import Fraction

import pytest

from kapwa.languages.english import language as english
from kapwa.suites.blend.mcq_build.values import Value, is_no_answer, mentioned_values, option_text, option_value
from kapwa.suites.blend.questions import Kind


@pytest.mark.parametrize(
    ("answer", "kind", "shown"),
    [
        ("  fried   rice. ", "text", "Fried rice"),
        ('"tea"', "text", "Tea"),
        ("iPhone", "text", "iPhone"),
        ("Élan", "text", "Élan"),
        ("한복", "text", "한복"),
        ("not applicable", "text", None),
        ("", "text", None),
        ("07", "number", "7"),
        ("3.50", "number", "3.5"),
        ("3,5", "number", "3.5"),
        ("1,500", "number", "1500"),
        ("1.500", "number", "1.5"),
        ("٤", "number", "4"),
        ("-2", "number", "-2"),
        ("about 5", "number", None),
        ("5-7", "number", None),
        ("April", "number", None),
        ("9:00", "time", "09:00"),
        ("24:00", "time", "00:00"),
        ("24:30", "time", None),
        ("9:60", "time", None),
        ("9am", "time", None),
        ("12/1", "date", "12/01"),
        ("13/01", "date", None),
        ("12/32", "date", None),
    ],
)
def test_an_option_has_the_format_asked_for(answer: str, kind: Kind, shown: str | None) -> None:
    assert option_text(answer, kind) == shown


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("5", "number", {Fraction(5)}),
        ("5 or 7", "number", {Fraction(5), Fraction(7)}),
        ("5-7", "number", {Fraction(5), Fraction(6), Fraction(7)}),
        ("5 to 7 years", "number", {Fraction(5), Fraction(6), Fraction(7)}),
        ("seven", "number", {Fraction(7)}),
        ("May", "number", {Fraction(5)}),
        ("14", "number", {Fraction(14)}),
        ("2.5 hours", "number", {Fraction(5, 2)}),
        ("none", "number", set()),
        ("9:00", "time", {540}),
        ("9", "time", {540}),
        ("9 pm", "time", {1260}),
        ("12 am", "time", {0}),
        ("8:30-9:00", "time", {510, 540}),
        ("noon", "time", {720}),
        ("29", "time", set()),
        ("12/25", "date", {(12, 25)}),
        ("on 12/25 or 1/7", "date", {(12, 25), (1, 7)}),
        ("anything", "text", set()),
    ],
)
def test_every_value_an_accepted_answer_mentions(text: str, kind: Kind, values: set[Value]) -> None:
    assert mentioned_values(text, kind, english.words) == values


def test_values_of_other_formats_are_none() -> None:
    assert option_value("tea", "text") is None
    assert option_value("12/25", "number") is None


@pytest.mark.parametrize(
    "text",
    [
        *("n/a", "N/A", "NA", "not applicable", "Not applicable.", "none", "None of the above", "nothing", "no answer"),
        *("I don't know", "don’t know", "do not know", "unknown", "it depends", "Depends on the region", "varies"),
        *("no specific answer", "not sure", "there is no such food", "doesn't exist", "idk", "anything", "", "-", "??"),
    ],
)
def test_answers_that_are_none(text: str) -> None:
    assert is_no_answer(text)


@pytest.mark.parametrize(
    "text", ["no meat", "nothing but bread", "all-purpose flour", "Naan", "otherwise", "anise", "0"]
)
def test_answers_that_only_look_like_none(text: str) -> None:
    assert not is_no_answer(text)
