"""Whether a bias carries over: a plain twin from the definition, each state, and what must not change it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import DataError, UsageError
from kapwa.stats.transport import Audited, carried_bias


def _audit(seed: int, *, n: int = 200, labelled: int = 80, missed: float = 0.1, first: int = 0) -> Audited:
    random = np.random.default_rng(seed)
    right = random.random(n) < 0.6
    scores = (right & (random.random(n) >= missed)).astype(float)
    chances = np.where(scores == 1, 0.3, 0.6)
    drawn = np.zeros(n, dtype=bool)
    drawn[random.permutation(n)[:labelled]] = True
    return Audited(scores, np.where(drawn, right, np.nan), chances, first + np.arange(n) // 2)


def _twin(before: Audited, after: Audited, level: float) -> tuple[float, float, float]:
    """Weighted means, influences question by question, Welch's degrees of freedom: loops of the docstring's words."""
    biases, squares, counts, influence = [], [], [], {}
    for sign, audit in ((-1, before), (1, after)):
        rows = [
            (1 / p, f - y, c)
            for f, y, p, c in zip(audit.scores, audit.labels, audit.probabilities, audit.clusters, strict=True)
            if not math.isnan(y)
        ]
        biases.append(sum(w * e for w, e, _ in rows) / sum(w for w, _, _ in rows))
        heaviest = max(w for w, _, _ in rows)
        padded = rows + [(heaviest, e, f"pseudo {sign} {k}") for k, e in enumerate((0, 0, 1, -1))]
        total = sum(w for w, _, _ in padded)
        centre = sum(w * e for w, e, _ in padded) / total
        part: dict[object, float] = {}
        for w, e, c in padded:
            part[c] = part.get(c, 0.0) + w * (e - centre) / total
            influence[c] = influence.get(c, 0.0) + sign * w * (e - centre) / total
        squares.append(sum(v**2 for v in part.values()) * len(part) / (len(part) - 1))
        counts.append(len(part))
    df = sum(squares) ** 2 / sum(v**2 / (g - 1) for v, g in zip(squares, counts, strict=True))
    se = math.sqrt(sum(v**2 for v in influence.values()) * len(influence) / (len(influence) - 1))
    change, half = biases[1] - biases[0], stats.t.ppf(level, df) * se
    return change, change - half, change + half


@given(st.integers(0, 10_000), st.sampled_from([0, 50, 1000]), st.sampled_from([0.9, 0.95]))
def test_the_change_is_that_of_the_definition(seed: int, first: int, level: float) -> None:
    before, after = _audit(seed), _audit(seed + 1, missed=0.3, first=first)
    carried = carried_bias(before, after, margin=0.1, level=level)
    assert (carried.change, carried.low, carried.high) == pytest.approx(_twin(before, after, level), abs=1e-12)


def test_a_question_in_both_audits_is_one_piece_of_evidence() -> None:
    """The same answers labelled twice tell the bias no better, but its change exactly but for the pseudo-answers."""
    before = _audit(1, n=600, labelled=400, missed=0.4)
    apart = before._replace(clusters=np.asarray(before.clusters) + 1000)
    together, separate = (carried_bias(before, after, margin=0.1) for after in (before, apart))
    assert together.change == separate.change == 0
    assert together.high < 0.6 * separate.high


@pytest.mark.parametrize(
    ("missed", "margin", "state"),
    [(0.1, 0.15, "carries"), (0.8, 0.1, "does-not-carry"), (0.25, 0.1, "cannot-tell")],
)
def test_states_follow_the_interval(missed: float, margin: float, state: str) -> None:
    later = _audit(7, n=600, labelled=400, missed=missed, first=5000)
    assert carried_bias(_audit(5, n=600, labelled=400), later, margin=margin).state == state


def test_scores_without_labels_around_them_are_refused() -> None:
    before = _audit(3)
    only_wrong = before._replace(labels=np.where(np.asarray(before.scores) == 1, np.nan, before.labels))
    carried = carried_bias(only_wrong, _audit(4, first=1000), margin=0.5)
    assert carried.state == "outside-range"
    assert carried.outside == pytest.approx(np.mean(_audit(4).scores))


def test_without_labels_nothing_is_said() -> None:
    before = _audit(3)
    nobody = before._replace(labels=np.full(200, np.nan))
    for pair in ((before, nobody), (nobody, before)):
        carried = carried_bias(*pair, margin=0.1)
        assert (carried.state, carried.change) == ("no-labels", None)


def test_labels_needed_suffice() -> None:
    """With the number that is named, an unchanged bias is found to carry in about four of five audits."""
    states, needed = [], carried_bias(_audit(0, n=3000, labelled=3000), _audit(1, first=9000), margin=0.1).needed
    for seed in range(200):
        later = _audit(seed + 10, n=3000, labelled=needed, first=9000)
        states.append(carried_bias(_audit(seed + 900, n=3000, labelled=3000), later, margin=0.1).state)
    assert 0.65 < states.count("carries") / 200 < 0.95


def test_what_does_not_fit_is_refused() -> None:
    audit = _audit(1)
    with pytest.raises(UsageError, match="margin is 0"):
        carried_bias(audit, audit, margin=0)
    with pytest.raises(DataError, match="no probability"):
        carried_bias(audit, audit._replace(probabilities=np.zeros(200)), margin=0.1)
    with pytest.raises(DataError, match="differ in length"):
        carried_bias(audit, audit._replace(scores=np.zeros(3)), margin=0.1)
