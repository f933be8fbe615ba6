"""Formats of options, values in accepted answers, and answers that are none."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from kapwa.languages.reading import shipped
from kapwa.suites.blend.mcq_build.values import Value, is_no_answer, mentioned_values, option_text, option_value
from kapwa.suites.blend.questions import Kind

with Path(__file__).with_name("option_texts.csv").open(encoding="utf-8", newline="") as file:
    OPTIONS = list(csv.DictReader(file))


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: "-".join(row.values()))
def test_an_option_has_the_format_asked_for(row: dict[str, str]) -> None:
    """An empty cell "shown": the answer cannot be an option."""
    assert option_text(row["answer"], row["kind"]) == (row["shown"] or None)  # type: ignore[arg-type]


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
    assert mentioned_values(text, kind, shipped("en").words) == values


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
