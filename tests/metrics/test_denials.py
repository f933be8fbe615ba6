"""What a reply denies: planted replies in fourteen languages, and the reader against a plain twin."""

import csv
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_matching import matcher

from kapwa.languages.base import Language
from kapwa.languages.schema import Denials
from kapwa.metrics.denials import DenialReader

HERE = Path(__file__).parent / "data"


def judged(name: str) -> Counter[tuple[str, bool]]:
    """Count planted replies by what should be said of them, and whether an answer was found."""
    with (HERE / f"replies_{name}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return Counter(
        (row["match"], matcher(row["language"]).match(row["reply"], row["key"], row["kind"]) is not None)  # type: ignore[arg-type]
        for row in rows
    )


@pytest.mark.parametrize(("name", "accepted"), [("development", 0.01), ("held_out", 0.05)])
def test_planted_replies_over_fourteen_languages(name: str, accepted: float) -> None:
    """Of the replies that give no answer hardly any is accepted, and nearly all that give one are found."""
    found = judged(name)
    wrong, right = (found[kind, True] + found[kind, False] for kind in ("no", "yes"))
    assert min(wrong, right) >= 200
    assert found["no", True] / wrong <= accepted
    assert found["yes", True] / right >= 0.97


def test_no_development_reply_stands_among_the_held_out_ones() -> None:
    both = [
        {line.split("\t")[4] for line in (HERE / f"replies_{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]}
        for name in ("development", "held_out")
    ]
    assert both[0].isdisjoint(both[1])


TOY = Language(
    "xx",
    "Toy",
    "low",
    variants=lambda token: (token,),
    denials=Denials(before="not\nno", after="isnt", whole="bar", harmless="not only", turn="but", compounds="hot dog"),
)
WORDS = st.lists(st.sampled_from(["not", "no", "isnt", "only", "but", ",", "rice", "bar", "nothing"]), max_size=9)


def twin(words: list[str]) -> set[int]:
    """Places of the words that are denied, by the definition: clause by clause, cue by cue."""
    denied = {place for place, word in enumerate(words) if word == "bar"}
    ends = [place for place, word in enumerate(words) if word in {"but", ","}]
    for place, word in enumerate(words):
        if word == "not" and words[place + 1 : place + 2] == ["only"]:
            continue
        if word in {"not", "no"}:
            denied |= set(range(place, min((end for end in ends if end > place), default=len(words))))
        elif word == "isnt":
            denied |= set(range(max((end + 1 for end in ends if end < place), default=0), place + 1))
    return denied


@given(WORDS)
def test_what_is_denied_equals_the_plain_twin(words: list[str]) -> None:
    text = " ".join(words)
    doubts = DenialReader(TOY).read(text, text)
    rest = doubts.rest(denied=True, compounds=False) or text
    starts = list(itertools.accumulate((len(word) + 1 for word in words), initial=0))
    kept = {place for place, word in enumerate(words) if rest[starts[place] : starts[place] + len(word)] == word}
    assert kept == set(range(len(words))) - twin(words) or not words


def test_a_compound_is_cut_out_unless_the_answer_is_one() -> None:
    doubts = DenialReader(TOY).read("rice\nnot a hot dog", "rice not a hot dog")
    assert re.sub(";+", "", doubts.rest(denied=True, compounds=False)).split() == ["rice"]
    assert "dog" in doubts.rest(denied=False, compounds=False)
    assert "dog" not in doubts.rest(denied=False, compounds=True)
