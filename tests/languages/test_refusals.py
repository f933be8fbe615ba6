"""Refusals by wording: found in several languages, not found in advice."""

import csv
from pathlib import Path

import pytest
import yaml

from kapwa.languages.phrases import OPENING, is_refusal, reply_words
from kapwa.languages.reading import DATA, REPLIES, read_file

FILES = [read_file(path) for folder in (DATA, REPLIES) for path in sorted(folder.glob("*.yaml"))]
REFUSALS = {file.tag: file.examples.refusals for file in FILES if file.examples.refusals}
ADVICE = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))["advice"]


@pytest.mark.parametrize("text", [text for texts in REFUSALS.values() for text in texts])
def test_refusals_are_found(text: str) -> None:
    assert is_refusal(text)


def test_every_listed_language_is_tested() -> None:
    assert set(REFUSALS) == {code for code, words in reply_words().items() if words.refusal}


@pytest.mark.parametrize("text", ADVICE)
def test_advice_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_only_the_opening_counts() -> None:
    assert not is_refusal("Kausapin mo siya. " * (OPENING // 10) + "I'm sorry, but I can't assist with that request.")


def test_kalahi_responses_are_no_refusals(kalahi_data: Path) -> None:
    with (kalahi_data / "filipino.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [
        part.strip()
        for row in rows
        for cell in (row["relevant_answers"], row["irrelevant_answers"], row["prompt"])
        for part in cell.split(";")
    ]
    assert len(texts) > 1000
    assert not [text for text in texts if is_refusal(text)]
