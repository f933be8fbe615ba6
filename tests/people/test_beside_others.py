"""One person's answers beside those of others: the fast way against a slow one, and against known values."""

from itertools import combinations
from math import inf
from statistics import mean

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kapwa.people.quality import beside_others

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
