"""τ of concepts against values: who takes part, and in what order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from kapwa.analysis.parts import Part
from kapwa.analysis.topics import TauKey, ValuesOf, concept_taus
from kapwa.analysis.words.counts import WordCounts
from kapwa.stats.distances import row_means

WHO = tuple(f"P{i}" for i in range(9))
PLACE = {name: i for i, name in enumerate(WHO)}


def part(rng: np.random.Generator, who: tuple[str, ...] = WHO) -> Part:
    g = len(who)
    whole, real = np.ones(g, dtype=np.int64), np.ones(g)
    pairs = {name: rng.random(g * (g - 1) // 2) for name in ("wed", "bleu", "bleu_reference")}
    words = WordCounts((), np.zeros(g + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
    same = dict.fromkeys(("within", "across", "within_reference", "across_reference"), real)
    few = {"means": np.ones(4), "permanova": np.ones(3), "bounds": np.ones(4)}
    return Part("t", "c", who, samples=whole, tokens=whole, empty=whole, **same, **few, **pairs, words=words)


def square(triangle: np.ndarray, size: int) -> np.ndarray:
    matrix = np.full((size, size), np.nan)
    matrix[np.triu_indices(size, 1)] = triangle
    return np.fmax(matrix, matrix.T)


def values(index: list[int], distance: np.ndarray) -> ValuesOf:
    names = tuple(WHO[i] for i in index)
    order = np.arange(len(index))
    return ValuesOf("v", np.array(index), names, names, names, distance, distance, order, ())


def some_distance(rng: np.random.Generator, m: int) -> np.ndarray:
    matrix = rng.random((m, m))
    return matrix + matrix.T


def test_a_country_without_any_distance_changes_no_tau_and_no_floor() -> None:
    rng = np.random.default_rng(1)
    parts = [part(rng) for _ in range(3)]
    alive, everyone = [0, 1, 3, 5, 6, 8], [0, 1, 3, 4, 5, 6, 8]
    distance = some_distance(rng, 6)
    wider = np.full((7, 7), np.nan)
    keep = [i for i, one in enumerate(everyone) if one != 4]
    wider[np.ix_(keep, keep)] = distance
    few = concept_taus(parts, values(alive, distance), PLACE, permutations=39, seed=2)
    many = concept_taus(parts, values(everyone, wider), PLACE, permutations=39, seed=2)
    for measure in ("bleu", "wed"):
        key = TauKey("v", measure, "corrected")
        np.testing.assert_allclose(row_means(few[key].tau), row_means(many[key].tau))
        np.testing.assert_allclose(few[key].floors, many[key].floors)
        assert np.isnan(many[key].tau[:, 3]).all()


def test_identities_that_a_concept_lacks_are_left_out_of_its_taus() -> None:
    rng = np.random.default_rng(2)
    who = tuple(name for name in WHO if name not in ("P2", "P5"))
    lacking, index = part(rng, who), [1, 2, 4, 5, 6, 7]
    distance = some_distance(rng, 6)
    found = concept_taus([lacking], values(index, distance), PLACE, permutations=19, seed=0)
    likeness, here = square(lacking.bleu, len(who)), [1, 4, 6, 7]
    rows = [who.index(WHO[i]) for i in here]
    places = [index.index(i) for i in here]
    wanted = []
    for a in range(4):
        others = [b for b in range(4) if b != a]
        ours = likeness[rows[a], [rows[b] for b in others]]
        theirs = -distance[places[a], [places[b] for b in others]]
        wanted.append(kendalltau(ours, theirs).statistic)
    tau = found[TauKey("v", "bleu", "corrected")].tau[0]
    assert tau[places] == pytest.approx(wanted)
    assert np.isnan(tau[[1, 3]]).all()


def test_by_edit_distance_near_means_alike() -> None:
    rng = np.random.default_rng(3)
    one = part(rng)
    distance = square(one.wed, 9)
    np.fill_diagonal(distance, 0)
    found = concept_taus([one], values(list(range(9)), distance), PLACE, permutations=19, seed=0)
    assert row_means(found[TauKey("v", "wed", "corrected")].tau) == pytest.approx([1.0])
    assert found[TauKey("v", "wed", "corrected")].significant == pytest.approx([1.0])
    assert row_means(found[TauKey("v", "wed", "reference")].tau) == pytest.approx([1.0])
