"""Sentences a reader without statistics must read right."""

import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.report.sentences import (
    Reading,
    caution_sentences,
    comparison_sentence,
    is_clear,
    others_sentence,
    outcome_words,
    score_sentence,
    verdict_words,
)
from kapwa.report.view import Mark, Marks
from kapwa.suites.kalahi.open import OpenOptions, open_metrics

MC1 = {
    "name": "mc1",
    "title": "MC1: best first",
    "low": 0.0,
    "high": 1.0,
    "binary": True,
    "phrase": "chose the best answer in {value} of {items}",
}
DIFF = {"name": "chrf_diff", "title": "chrF: relevant minus irrelevant", "low": -1.0, "high": 1.0}
CHANCE = Mark("chance", 0.25, False, "guessing", "guessing")
LONGEST = Mark("longest", 0.4133, False, "always picking the longest answer", "longest answer")
PEOPLE = Mark("human", 0.891, True, "people", "people")
SITUATIONS = ("situation", "situations")


def row(value: float | None, low: float | None, high: float | None, n: int = 16, **more: Any) -> dict[str, Any]:
    outcomes = dict.fromkeys(("right", "wrong", "tie", "scored", "unparsed", "refused", "empty", "failed"), 0)
    return {"value": value, "low": low, "high": high, "n": n, "clusters": n, **outcomes, **more}


def told(value: float | None, low: float | None, high: float | None, *marks: Mark, **more: Any) -> str:
    return score_sentence(Reading("smollm2", row(value, low, high, **more), MC1, Marks.of(marks), SITUATIONS))


def test_an_interval_that_holds_chance_says_so_in_one_sentence() -> None:
    assert told(0.24, 0.09, 0.46, CHANCE) == (
        "smollm2 chose the best answer in 24% of 16 situations (95% interval 9–46%); guessing would give 25%: "
        "it cannot be told apart from guessing."
    )


@pytest.mark.parametrize(
    ("score", "marks", "said"),
    [
        ((0.60, 0.41, 0.77), (CHANCE,), "it is better than guessing."),
        ((0.05, 0.01, 0.19), (CHANCE,), "it is worse than guessing."),
        (
            (0.45, 0.30, 0.61),
            (CHANCE, LONGEST),
            "better than guessing, but it cannot be told apart from always picking the longest answer (41%).",
        ),
        ((0.33, 0.28, 0.38), (CHANCE, LONGEST), "but always picking the longest answer would do better (41%)"),
        ((0.7, 0.55, 0.82), (CHANCE, LONGEST), "and better than always picking the longest answer (41%)"),
        ((0.24, 0.09, 0.46), (CHANCE, LONGEST), "it cannot be told apart from guessing."),
        ((0.24, 0.09, 0.46), (CHANCE, PEOPLE), "apart from guessing. People score 89%."),
        ((0.85, 0.70, 0.93), (CHANCE, PEOPLE), "People score 89%, which the interval includes."),
        ((0.97, 0.92, 0.99), (CHANCE, PEOPLE), "People score 89%: it is above what people score."),
        ((0.4, 0.2521, 0.6), (CHANCE,), "(95% interval 25.2–60.0%); guessing would give 25.0%: it is better than"),
        ((0.46, 0.441, 0.48), (CHANCE,), "in 46.0% of 16 situations (95% interval 44.1–48.0%)"),
    ],
)
def test_floors_people_and_digits_are_told(
    score: tuple[float, float, float], marks: tuple[Mark, ...], said: str
) -> None:
    assert said in told(*score, *marks)


def test_a_score_without_an_interval_or_without_a_value_says_why() -> None:
    assert "(too few to give an interval)" in told(1.0, None, None, CHANCE, n=1)
    assert "cannot be told apart from guessing" in told(1.0, math.nan, math.nan, CHANCE, n=1)
    assert told(None, None, None, CHANCE, failed=16) == (
        "smollm2 has no score: of its situations, 16 failed and got no answer."
    )
    assert told(None, None, None) == "smollm2 has no score: there was no situation to measure."


def test_a_metric_that_is_no_share_reads_in_its_own_unit() -> None:
    reading = Reading(
        "m",
        row(-0.0123, -0.05, 0.02),
        DIFF,
        Marks.of([Mark("the prompt repeated", 0.01, False, *["repeating the prompt"] * 2)]),
        SITUATIONS,
    )
    assert score_sentence(reading) == (
        "m scored −0.012 on “chrF: relevant minus irrelevant” over 16 situations (95% interval −0.050 to 0.020); "
        "repeating the prompt would give 0.010: it cannot be told apart from repeating the prompt."
    )


def test_shares_of_closer_answers_name_the_measure() -> None:
    info = open_metrics(OpenOptions())["chrfpp_acc"]
    sentence = score_sentence(Reading("m", row(0.5, 0.3, 0.7), asdict(info), Marks(), SITUATIONS))
    assert sentence == (
        "m wrote an answer closer to a relevant than to an irrelevant response in 50% of 16 situations, by chrF++ "
        "(95% interval 30–70%)."
    )


def test_a_plugins_phrase_goes_first_and_cannot_reach_attributes() -> None:
    info = {**MC1, "phrase": "knew {value} of {items} {0.__class__} {title}"}
    assert score_sentence(Reading("m", row(0.5, 0.3, 0.7), info, Marks())).startswith(
        "m knew 50% of 16 items {0.__class__} MC1: best first ("
    )


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_words_agree_with_the_interval(a: float, b: float, value: float, chance: float) -> None:
    low, high = min(a, b), max(a, b)
    sentence = told(value, low, high, CHANCE._replace(value=chance))
    assert ("it is better than guessing" in sentence) == (low > chance)
    assert ("it is worse than guessing" in sentence) == (high < chance)
    assert ("cannot be told apart" in sentence) == (low <= chance <= high)


def test_small_samples_and_lost_answers_are_told_beside_the_score() -> None:
    small = Reading("m", row(0.5, 0.2, 0.8, clusters=13, unparsed=2, failed=1), MC1, Marks(), SITUATIONS)
    assert caution_sentences([small]) == [
        "Only 13 of these situations are independent, so only large differences show.",
        "m: 1 failed and got no answer, 2 could not be read.",
    ]
    assert caution_sentences([Reading("m", row(0.5, 0.2, 0.8), MC1, Marks(), SITUATIONS)]) == [
        "This rests on 16 situations, so only large differences show."
    ]
    assert caution_sentences([Reading("m", row(0.5, 0.4, 0.6, n=150), MC1, Marks(), SITUATIONS)]) == []
    assert caution_sentences([]) == []


def test_outcomes_are_told_by_number() -> None:
    assert outcome_words([row(0.5, 0, 1)]) == ""
    assert outcome_words([row(0.5, 0, 1, refused=1, empty=3, tie=2)]) == "1 was refused, 3 were empty, 2 were ties"


def pair(
    difference: float | None, low: float, high: float, p: float, holm: float | None, mde: float = 0.3
) -> dict[str, Any]:
    found = {"difference": difference, "low": low, "high": high, "p_value": p, "p_holm": holm, "mde": mde}
    return {"a": "A", "b": "B", "n": 16, **found}


@pytest.mark.parametrize(
    ("row", "said", "verdict_said"),
    [
        (
            pair(0.05, -0.04, 0.14, 0.3, 0.6),
            "A scored 5.0 points higher than B on the same 16 situations (95% interval −4.0 to +14.0): this cannot be "
            "told from noise (p = 0.60); a difference under 30 points would usually be missed.",
            "within noise",
        ),
        (pair(-0.5, -0.8, -0.2, 0.0001, 0.0004), ": more than noise would explain (p < 0.001).", "B higher"),
        (pair(-0.5, -0.8, -0.2, 0.0001, 0.0004), "50.0 points lower", "B higher"),
        (pair(-0.5, -0.8, -0.1, 0.03, 0.09, 0.43), "(p = 0.090, all comparisons allowed for).", "within noise"),
        (pair(0.5, 0.2, 0.8, 0.001, None), "(p = 0.001)", "A higher"),
        (pair(0.5, -0.2, 0.8, 0.001, None), "cannot be told from noise", "within noise"),
        (pair(0.0, -0.1, 0.1, 1.0, 1.0), "A and B scored the same on the same 16 situations: this ca", "within noise"),
        (pair(None, 0, 0, 1, 1), "A and B share too few situations to be compared.", "too few shared"),
    ],
)
def test_a_difference_is_told_with_its_verdict(row: dict[str, Any], said: str, verdict_said: str) -> None:
    assert said in comparison_sentence(row, MC1, SITUATIONS)
    assert verdict_words(row) == verdict_said
    assert is_clear(row) is verdict_said.endswith("higher")


@pytest.mark.parametrize(
    ("unclear", "total", "sentence"),
    [
        (6, 6, "None of the 6 differences can be told from noise."),
        (4, 6, "The other 4 of 6 differences cannot be told from noise."),
        (1, 4, "The other one of 4 differences cannot be told from noise."),
    ],
)
def test_the_rest_is_summed_up(unclear: int, total: int, sentence: str) -> None:
    assert others_sentence(unclear, total) == sentence
