"""Formats of options, values in accepted answers, and answers that are none."""

import csv
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from kapwa.languages.reading import shipped
from kapwa.suites.blend.mcq_build.values import Value, is_no_answer, mentioned_values, option_text, option_value


def rows(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows("option_texts.csv"), ids=lambda row: "-".join(row.values()))
def test_an_option_has_the_format_asked_for(row: dict[str, str]) -> None:
    """An empty cell "shown": the answer cannot be an option."""
    assert option_text(row["answer"], row["kind"]) == (row["shown"] or None)  # type: ignore[arg-type]


# By kind, what a value of the table stands for: minutes of a time, month and day.
VALUES: dict[str, Callable[[str], Value]] = {
    "number": Fraction,
    "time": int,
    "date": lambda text: (int(text.partition("/")[0]), int(text.partition("/")[2])),
}


@pytest.mark.parametrize("row", rows("mentioned_values.csv"), ids=lambda row: "-".join(row.values()))
def test_every_value_an_accepted_answer_mentions(row: dict[str, str]) -> None:
    values = {VALUES[row["kind"]](value) for value in row["values"].split()}
    assert mentioned_values(row["text"], row["kind"], shipped("en").words) == values  # type: ignore[arg-type]


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
