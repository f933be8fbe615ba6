"""The matcher: its rules one by one, against a plain twin, and on texts nobody would write."""

import csv
import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.languages.base import LanguageInfo
from kapwa.languages.schema import Denials, ReplyWords, Words
from kapwa.metrics.matching import MIN_JOINED, Matcher
from kapwa.registry import load


@cache
def matcher(code: str) -> Matcher:
    return Matcher(load("languages", code))


class Toy:
    """A language of words whose keys are themselves and, without a final s, their stems."""

    info = LanguageInfo("xx", "Toy", (), "low")
    words = Words()
    replies = ReplyWords()
    denials = Denials()
    folded_function_words = frozenset[str]()
    inside = 0

    def fold(self, text: str) -> str:
        return text.lower()

    def tokens(self, folded: str) -> tuple[str, ...]:
        return tuple(folded.split())

    def keys(self, token: str) -> frozenset[str]:
        return frozenset({token, token.removesuffix("s") or token})


with Path(__file__).with_name("matches.csv").open(encoding="utf-8", newline="") as file:
    MATCHES = list(csv.DictReader(file))


@pytest.mark.parametrize("row", MATCHES, ids=lambda row: "-".join(row.values()))
def test_rules(row: dict[str, str]) -> None:
    """The table names the rule that finds the gold answer in the reply; an empty cell: none does."""
    found = matcher(row["language"]).match(row["reply"], row["gold"], row["kind"])  # type: ignore[arg-type]
    assert (found or "") == row["rule"]


def test_korean_particles_and_spaces_do_not_hide_an_answer() -> None:
    # The rule that finds it depends on whether the analyser is installed.
    assert matcher("ko").match("보통 된장찌개를 먹어요", "된장 찌개") in {"phrase", "inside"}
    assert matcher("ko").match("밥을", "국") is None


def test_lemmas_must_lie_close_together() -> None:
    toy = Matcher(Toy(), slack=1)
    assert toy.match("dogs x cats", "cat dog") == "lemma"
    assert toy.match("dogs x y cats", "cat dog") is None
    assert Matcher(Toy(), slack=2).match("dogs x y cats", "cat dog") == "lemma"
    assert toy.match("dogs x y cats dogs", "cat dog") == "lemma"


def test_the_released_rule() -> None:
    reference_match = matcher("en").reference_match
    found = [("14", "4"), ("the price", "rice"), ("ice-cream", "ice cream")]
    assert all(reference_match(*pair) for pair in (*found, ("birds we were watching all day long", "bird watching")))
    assert not any(reference_match(*pair) for pair in (("soup", "rice"), ("soup", ""), ("", "soup"), ("any", "?!")))


WORDS = st.lists(st.sampled_from(["a", "as", "b", "bs", "abs", "s", "cab", "abab", "1", "11"]), max_size=6)


def twin(reply: list[str], gold: list[str], slack: int) -> str | None:
    toy = Toy()
    if not gold:
        return None
    digits = any(word.isdecimal() for word in gold)
    if reply == gold or ("".join(reply) == "".join(gold) and not digits):
        return "exact"
    spans = [reply[i:j] for i, j in itertools.combinations(range(len(reply) + 1), 2)]
    joined = "".join(gold)
    loose = not digits and len(joined) >= MIN_JOINED
    if any(span == gold or (loose and "".join(span) == joined) for span in spans):
        return "phrase"
    for span in spans:
        if len(span) <= len(gold) + slack and all(any(toy.keys(w) & toy.keys(g) for w in span) for g in gold):
            return "lemma"
    return None


@given(WORDS, WORDS, st.integers(0, 3))
@settings(max_examples=500)
def test_text_rules_equal_their_plain_twin(reply: list[str], gold: list[str], slack: int) -> None:
    if len(gold) == 1 and gold[0].isdecimal():
        gold = [*gold, "b"]  # a lone number is compared as a number
    assert Matcher(Toy(), slack=slack).match(" ".join(reply), " ".join(gold)) == twin(reply, gold, slack)


KINDS = st.sampled_from(["text", "number", "date", "time"])


@pytest.mark.parametrize("code", ["en", "es", "el", "id", "zh", "ko", "fil"])
@given(reply=st.text(max_size=40), gold=st.text(max_size=20), kind=KINDS)
@settings(max_examples=60, deadline=None)
def test_any_text_is_decided(code: str, reply: str, gold: str, kind: str) -> None:
    rule = matcher(code).match(reply, gold, kind)  # type: ignore[arg-type]
    assert rule in {None, "exact", "phrase", "lemma", "inside", "number", "date", "time"}
    assert isinstance(matcher(code).reference_match(reply, gold), bool)


ANSWERS = {
    "en": ["baked beans", "mother's day", "8", "15:30"],
    "es": ["piñata", "día de la madre", "canción", "12/24"],
    "el": ["σπανακόπιτα", "Αθήνα", "ο μάιος"],
    "id": ["nasi goreng", "anak-anak"],
    "zh": ["饺子", "春节", "麻将"],
    "ko": ["된장찌개", "밥", "어린이날"],
    "fil": ["bayanihan", "araw ng mga puso"],
}


@pytest.mark.parametrize("code", ANSWERS)
@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.title,
        lambda text: f"**{text}**",
        lambda text: f"_{text}_.",
        lambda text: f"«{text}»!",
        lambda text: text.replace("'", "’"),
        lambda text: text[:1] + "\u200b" + text[1:],
        lambda text: "\ufeff" + text.replace(" ", "\u00a0"),
        lambda text: f"1. {text}\n",
    ],
)
def test_writing_does_not_matter(code: str, change: Callable[[str], str]) -> None:
    assert all(matcher(code).match(change(answer), answer) for answer in ANSWERS[code])
