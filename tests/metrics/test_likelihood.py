"""MC1, MC2, MC3 against plain twins written from their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.metrics.likelihood import NORMS, mc1, mc2, mc2_reference, mc3, normalised
from kapwa.records import ContinuationScore

logprobs = st.lists(st.floats(-300, -0.01), min_size=1, max_size=6)


def plain_mc2(relevant: list[float], irrelevant: list[float]) -> float:
    good = math.fsum(math.exp(x) for x in relevant)
    return good / (good + math.fsum(math.exp(x) for x in irrelevant))


def plain_mc3(relevant: list[float], irrelevant: list[float]) -> float:
    return sum(all(x > y for y in irrelevant) for x in relevant) / len(relevant)


@given(logprobs, logprobs)
def test_mc2_is_the_mass_of_relevant_responses(relevant: list[float], irrelevant: list[float]) -> None:
    assert mc2(np.array(relevant), np.array(irrelevant)) == pytest.approx(plain_mc2(relevant, irrelevant), rel=1e-9)


def test_mc2_survives_sums_that_underflow() -> None:
    assert mc2(np.array([-2000.0]), np.array([-2000.0 + math.log(3)])) == pytest.approx(0.25)


@given(logprobs, logprobs)
def test_mc3_counts_relevant_responses_above_all_irrelevant(relevant: list[float], irrelevant: list[float]) -> None:
    assert mc3(np.array(relevant), np.array(irrelevant)) == plain_mc3(relevant, irrelevant)


@given(logprobs, st.data())
def test_mc1_is_strict_and_reports_ties(irrelevant: list[float], data: st.DataObject) -> None:
    best = data.draw(st.sampled_from(irrelevant) | st.floats(-300, -0.01))
    value, shared = mc1(best, np.array(irrelevant))
    assert value == float(all(best > other for other in irrelevant))
    top = [other for other in (best, *irrelevant) if other == max(best, *irrelevant)]
    assert shared == (1 / len(top) if best in top else 0.0)


@given(logprobs, logprobs)
def test_reference_mc2_cannot_leave_its_cage(relevant: list[float], irrelevant: list[float]) -> None:
    n = min(len(relevant), len(irrelevant))
    value = mc2_reference(np.array(relevant[:n]), np.array(irrelevant[:n]))
    assert 1 / (1 + math.e) <= value <= math.e / (1 + math.e)
    twice = [math.exp(math.exp(x)) for x in (*relevant[:n], *irrelevant[:n])]
    assert value == pytest.approx(sum(twice[:n]) / sum(twice))


@pytest.mark.parametrize("n_irrelevant", [1, 3, 4, 5])
def test_a_model_without_preference_scores_chance(n_irrelevant: int) -> None:
    same = np.full(n_irrelevant, -1.5)
    assert mc1(-1.5, same) == (0.0, pytest.approx(1 / (1 + n_irrelevant)))
    assert mc2(same, same) == 0.5


def test_each_norm_divides_by_its_length() -> None:
    score = ContinuationScore(-12.0, n_tokens=4, n_bytes=24, n_chars=6)
    values = {norm: float(normalised([score], norm)[0]) for norm in NORMS}
    assert values == {"byte": -0.5, "char": -2.0, "token": -3.0, "sum": -12.0}
