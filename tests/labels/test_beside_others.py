"""One person's answers beside those of others: the fast way against a slow one, and against known values."""

from itertools import combinations
from math import inf
from statistics import mean

import numpy as np
import pytest
from benchmarks.simulations.signals import project
from hypothesis import example, given
from hypothesis import strategies as st

from kapwa.labels.quality import beside_others

PEOPLE = ("a", "b", "c", "d", "e")


def slowly(answers: dict[str, dict[str, str]], person: str) -> tuple[float | None, int]:
    """The share of others who say the same, item by item."""
    shares = []
    for by_person in answers.values():
        others = [text for name, text in by_person.items() if name != person]
        if person in by_person and others:
            shares.append(sum(text == by_person[person] for text in others) / len(others))
    return (mean(shares) if shares else None), len(shares)


@given(
    st.dictionaries(
        st.sampled_from(["1", "2", "3", "4", "5", "6"]),
        st.dictionaries(st.sampled_from(PEOPLE), st.sampled_from("xyz"), max_size=5),
        max_size=6,
    )
)
@example({"1": {"a": "x", "b": "x"}, "2": {"a": "x", "c": "y"}})  # b and c share nothing: of nobody it can be told
def test_agreement_beside_others_is_counted_item_by_item(answers: dict[str, dict[str, str]]) -> None:
    beside = beside_others(answers)
    assert beside.keys() == {name for by_person in answers.values() for name in by_person}
    pairs = {pair for by_person in answers.values() for pair in combinations(sorted(by_person), 2)}
    for person, row in beside.items():
        value, n = slowly(answers, person)
        assert row.agreement.n == n
        assert row.agreement.value == (None if value is None else pytest.approx(value))
        others = [name for name in PEOPLE if name != person]
        threes = [{*combinations(sorted((person, *two)), 2)} for two in combinations(others, 2)]
        assert (row.competence is None) == (not any(three <= pairs for three in threes))


def test_competence_is_that_of_the_consensus_model() -> None:
    """Three people who know .9, .6 and .3 and never agree by chance: their products are the matches."""
    random, n = np.random.default_rng(4), 20_000
    known = {name: random.random(n) < share for name, share in (("a", 0.9), ("b", 0.6), ("c", 0.3))}
    answers = {
        str(item): {name: "right" if knows[item] else f"{name}'s own" for name, knows in known.items()}
        for item in range(n)
    }
    found = {name: row.competence for name, row in beside_others(answers, inf).items()}
    assert found == pytest.approx({"a": 0.9, "b": 0.6, "c": 0.3}, abs=0.02)


def test_guesses_among_few_options_are_no_competence() -> None:
    random = np.random.default_rng(5)
    answers = {
        str(item): {name: str(random.integers(2)) if name == "d" else "0" for name in PEOPLE} for item in range(2000)
    }
    beside = beside_others(answers, 2)
    assert beside["d"].competence == pytest.approx(0, abs=0.06)
    assert beside["d"].agreement.value == pytest.approx(0.5, abs=0.05)
    assert beside["a"].competence == pytest.approx(1, abs=0.01)


def test_careful_people_with_few_answers_are_not_apart_and_careless_ones_with_many_are() -> None:
    """Below half of the others, by competence, stands somebody careful in most groups of thirty with five answers."""
    random = np.random.default_rng(5)
    apart, below, found = [], [], []
    for _ in range(20):
        group = beside_others(project(random, 30, 5, careless=0)).values()
        apart.append(any(person.apart for person in group))
        below.append(any((person.competence or 0) < 0.5 * (person.usual_competence or 0) for person in group))
        found.append(beside_others(project(random, 10, 30, careless=1))["000"].apart)
    assert sum(below) >= 12
    assert sum(apart) <= 3
    assert sum(found) >= 17


def test_apart_is_by_hand_below_half_and_surely_below_the_usual() -> None:
    """Nine people agree on 20 questions, the tenth on none; of two questions that may be chance."""
    for items, expected in ((20, True), (2, False)):
        answers = {str(n): {f"p{k}": "x" if k < 9 else f"y{n}" for k in range(10)} for n in range(items)}
        beside = beside_others(answers)
        assert beside["p9"].apart is expected
        assert beside["p9"].usual_agreement == pytest.approx(8 / 9)
        assert not any(beside[f"p{k}"].apart for k in range(9))
