"""The sample packs: large enough to show the form, balanced, original, and marked as illustrative."""

import re
from pathlib import Path

import pytest

from kapwa.records import Item
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import PACKS, read_situations
from kapwa.suites.kalahi.form import TOPICS

NAMES = ("egyptian", "filipino")


@pytest.mark.parametrize("name", NAMES)
def test_items_are_complete_and_glossed(name: str) -> None:
    for item in read_situations(f"sample:{name}")[0]:
        gloss = item.fields["gloss"]
        assert len(item.fields["relevant"]) >= 3
        assert len(item.fields["irrelevant"]) >= 3
        assert item.topic in TOPICS
        assert gloss["prompt"].count("\n") == item.fields["prompt"].count("\n")
        assert gloss["best"] == gloss["relevant"][item.fields["relevant"].index(item.fields["best"])]
        assert len(gloss["irrelevant"]) == len(item.fields["irrelevant"])
        assert all(text.isascii() for text in (gloss["prompt"], *gloss["relevant"], *gloss["irrelevant"]))


@pytest.mark.parametrize("name", NAMES)
def test_the_check_finds_nothing_but_the_missing_review(name: str) -> None:
    report = check(PACKS / name)
    assert report is not None
    problems = [finding for finding in report.findings if finding.severity != "note"]
    assert ["not reviewed by native speakers" in finding.message for finding in problems] == [True]


def test_no_sentence_of_the_sample_is_from_the_released_data(kalahi_data: Path) -> None:
    released = _sentences(read_situations(kalahi_data)[0])
    ours = _sentences(read_situations("sample:filipino")[0])
    long_enough = {sentence for sentence in ours if sentence.count(" ") >= 4}
    assert long_enough
    assert not long_enough & released
    # Nor half of a sentence: no run of six words in common.
    assert not _runs(ours, 6) & _runs(released, 6)


def _sentences(items: list[Item]) -> set[str]:
    texts = (text for i in items for text in (i.fields["prompt"], *i.fields["relevant"], *i.fields["irrelevant"]))
    return {sentence.strip().lower() for text in texts for sentence in re.split(r"[.?!\n]", text) if sentence.strip()}


def _runs(sentences: set[str], length: int) -> set[tuple[str, ...]]:
    words = [re.findall(r"\w+", sentence) for sentence in sentences]
    return {tuple(w[i : i + length]) for w in words for i in range(len(w) - length + 1)}
