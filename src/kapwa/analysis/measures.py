"""How texts of one topic go with cultural values: τ of every concept and anchor, by both estimators, with floors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.parts import Part
from kapwa.analysis.permuted import permuted_means
from kapwa.analysis.triangles import Integers, Reals, places_between
from kapwa.stats.multiplicity import holm
from kapwa.stats.ranks import Anchors, AnchorTaus, anchor_taus, anchor_taus_reference, prepare_anchors

MEASURES: Final = ("bleu", "wed")
ESTIMATORS: Final = ("corrected", "reference")
# Enough for a central 95 % and a p of 0.005; more would cost more than all else of a second look.
MOST_FLOOR_PERMUTATIONS = 199


@dataclass(frozen=True, slots=True, eq=False)
class ValuesOf:
    """Cultural distances between the m identities of a corpus that have values.

    ``index`` (m,): their places among the corpus' identities, ascending. ``distance``, ``distance_reference``: (m, m).
    ``order`` (m,): their places in the values file, by which the released code breaks ties. ``controls``: name and
    (m, m) distances to hold fixed.
    """

    name: str
    index: Integers
    identities: tuple[str, ...]
    countries: tuple[str, ...]
    iso3: tuple[str, ...]
    distance: Reals
    distance_reference: Reals
    order: Integers
    controls: tuple[tuple[str, Reals], ...]

    @property
    def size(self) -> int:
        """How many identities have values."""
        return len(self.identities)


class TauKey(NamedTuple):
    """Which τ: values table, measure, estimator."""

    values: str
    measure: str
    estimator: str


@dataclass(frozen=True, slots=True, eq=False)
class ConceptTaus:
    """τ of C concepts and m anchors (C, m), NaN where there is none.

    ``significant`` (C,): share of anchors with p < 0.05 after Holm's adjustment over the anchors of the concept.
    ``floors`` (C, P): mean τ over anchors under P permutations of countries, the same ones for every concept; P = 0
    for the reference.
    """

    tau: Reals
    significant: Reals
    floors: Reals

    @property
    def means(self) -> Reals:
        """Mean τ over anchors, (C,); NaN where no anchor has one."""
        return row_means(self.tau)

    @classmethod
    def joined(cls, several: Sequence[ConceptTaus]) -> ConceptTaus:
        """Put the τ of several batches or topics behind each other."""
        rows = [(one.tau, one.significant, one.floors) for one in several]
        return cls(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def concept_taus(
    parts: Sequence[Part], values: ValuesOf, identities: Sequence[str], *, permutations: int, seed: int
) -> dict[TauKey, ConceptTaus]:
    """Correlate every concept with one values table, by both measures and both estimators."""
    corrected, reference = prepare_anchors(values.distance), prepare_anchors(values.distance_reference)
    place = {identity: i for i, identity in enumerate(identities)}
    everyone = _places(np.arange(len(identities)), len(identities), values.index)
    taus: dict[TauKey, list[AnchorTaus]] = {
        TauKey(values.name, measure, estimator): [] for measure in MEASURES for estimator in ESTIMATORS
    }
    likeness: dict[str, list[Reals]] = {measure: [] for measure in MEASURES}
    for part in parts:
        places = everyone
        if len(part.identities) < len(identities):
            members = np.array([place[identity] for identity in part.identities], dtype=np.intp)
            places = _places(members, len(identities), values.index)
        bleu, wed, released = (_matrix(triangle, places) for triangle in (part.bleu, part.wed, part.bleu_reference))
        likeness["bleu"].append(bleu)
        likeness["wed"].append(-wed)
        for measure, found in _both(bleu, wed, released, values, corrected, reference).items():
            taus[TauKey(values.name, *measure)].append(found)
    # Countries without any distance take no part, as they take none in what is observed.
    alive = np.flatnonzero(corrected.known.any(axis=1))
    among = np.ix_(alive, alive)
    floors = permuted_means(
        [matrix[among] for measure in MEASURES for matrix in likeness[measure]],
        values.distance[among],
        permutations=min(permutations, MOST_FLOOR_PERMUTATIONS),
        seed=seed,
    ).reshape(len(MEASURES), len(parts), -1)
    nothing = np.empty((len(parts), 0))
    return {
        key: _stacked(found, floors[MEASURES.index(key.measure)] if key.estimator == "corrected" else nothing)
        for key, found in taus.items()
    }


def matrix_taus(bleu: Reals, wed: Reals, released: Reals, values: ValuesOf) -> dict[TauKey, AnchorTaus]:
    """τ of each anchor on one set of matrices between all identities, such as means over concepts."""
    chosen = np.ix_(values.index, values.index)
    corrected, reference = prepare_anchors(values.distance), prepare_anchors(values.distance_reference)
    found = _both(bleu[chosen], wed[chosen], released[chosen], values, corrected, reference)
    return {TauKey(values.name, *measure): taus for measure, taus in found.items()}


def _both(
    bleu: Reals, wed: Reals, released: Reals, values: ValuesOf, corrected: Anchors, reference: Anchors
) -> dict[tuple[str, str], AnchorTaus]:
    names, order = values.identities, values.order
    return {
        ("bleu", "corrected"): anchor_taus(bleu, corrected),
        ("wed", "corrected"): anchor_taus(-wed, corrected),
        ("bleu", "reference"): anchor_taus_reference(released, reference, names, values_order=order),
        ("wed", "reference"): anchor_taus_reference(wed, reference, names, measure="wed", values_order=order),
    }


def _places(members: Integers, size: int, index: Integers) -> Integers:
    """Return where a part of ``members`` of ``size`` identities keeps the pairs of those at ``index``; −1: nowhere."""
    rows = np.full(size, -1)
    rows[members] = np.arange(len(members))
    return places_between(rows[index], len(members))


def _matrix(triangle: Reals, places: Integers) -> Reals:
    return np.where(places < 0, np.nan, triangle[places])


def _stacked(found: Sequence[AnchorTaus], floors: Reals) -> ConceptTaus:
    tau = np.stack([taus.tau for taus in found])
    significant = np.array([_share_significant(taus.p) for taus in found])
    return ConceptTaus(tau, significant, floors)


def _share_significant(p: Reals) -> float:
    known = p[~np.isnan(p)]
    return float((holm(known) < 0.05).mean()) if known.size else float("nan")


def row_means(matrix: NDArray[np.float64]) -> Reals:
    """Mean of each row over what is known; NaN (without a warning) for a row that knows nothing."""
    known = ~np.isnan(matrix)
    counts = known.sum(axis=1)
    sums = np.where(known, matrix, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(matrix), np.nan), where=counts > 0))
