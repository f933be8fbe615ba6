"""What other people's answers to the same questions would make of a score: the table of keys."""

import numpy as np
import pytest
from benchmarks.simulations.keys import cells
from saq_world import item, judged
from scipy.integrate import quad
from scipy.stats import beta

from kapwa.suites.blend.saq_keys import KEY_SCHEMA, key_error

ITEMS = [item("South_Korea", "fruit"), item("South_Korea", "dish"), item("US", "fruit", "en"), item("US", "dish", "en")]


def twin(votes: np.ndarray, people: int) -> float:
    """The same by integrals over the share of people who agree."""
    share = votes.mean() / people
    alike = (np.mean(votes * (votes - 1)) / (people * (people - 1)) - share**2) / (share * (1 - share))
    shape = beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1))

    def varies(q: float) -> float:
        missed = (1 - q) ** people
        return missed * (1 - missed) * shape.pdf(q)

    return float(np.sqrt(sum(quad(varies, *ends, limit=200)[0] for ends in ((0, 0.01), (0.01, 1)))))


@pytest.mark.parametrize("shapes", [(2.0, 3.0), (1.2, 4.0), (3.0, 1.5)])
def test_the_error_is_its_definition(shapes: tuple[float, float]) -> None:
    random = np.random.default_rng(5)
    votes = random.binomial(5, random.beta(*shapes, 400))
    assert key_error(votes, np.full(400, 5)) == pytest.approx(twin(votes, 5), rel=1e-4)


def test_nothing_varies_where_nobody_or_everybody_agrees() -> None:
    assert key_error([0, 0, 0], [5, 5, 5]) == 0
    assert key_error([5, 5], [5, 5]) == 0


def test_the_table_has_a_row_for_each_culture_and_variant() -> None:
    table = judged(ITEMS, ["사과", "kimchi", "banana", ""]).tables["keys"]
    assert dict(table.schema) == KEY_SCHEMA
    korea, us = table.sort("culture").to_dicts()
    assert (korea["culture"], korea["items"], korea["value"]) == ("South_Korea", 2, 1.0)
    assert (us["culture"], us["items"], us["value"]) == ("US", 2, 0.5)
    for row in (korea, us):
        assert 0 <= row["low_keys"] < row["value"] <= row["high_keys"] <= 1


def test_intervals_of_keys_hold_and_resampled_votes_do_not() -> None:
    found = list(cells(np.random.default_rng(3), 60))
    ours = [cell.percent for cell in found if "not used" not in cell.figure and "the same 5 people" not in cell.setting]
    assert len(ours) == 16
    assert min(ours) >= 90
    biased = [cell.percent for cell in found if "not used" in cell.figure and cell.setting.startswith("460")]
    assert max(biased) < 60
