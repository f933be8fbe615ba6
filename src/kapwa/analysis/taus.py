"""How texts go with cultural values: τ of every concept and anchor, by both estimators, with floors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.parts import Part
from kapwa.stats.kendall import Anchors, Taus, anchor_taus, anchor_taus_reference, permuted_means, prepare_anchors
from kapwa.stats.significance import holm

Reals = NDArray[np.float64]
Integers = NDArray[np.intp]
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

    @classmethod
    def joined(cls, several: Sequence[ConceptTaus]) -> ConceptTaus:
        """Put the τ of several batches or topics behind each other."""
        rows = [(one.tau, one.significant, one.floors) for one in several]
        return cls(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def concept_taus(
    parts: Sequence[Part], values: ValuesOf, identities: Sequence[str], *, permutations: int, seed: int
) -> dict[TauKey, ConceptTaus]:
    """Correlate every concept with one values table, by both measures and both estimators."""
    anchors = prepare_anchors(values.distance), prepare_anchors(values.distance_reference)
    place = {identity: i for i, identity in enumerate(identities)}
    places = _pair_places(np.arange(len(identities)), len(identities), values.index)
    taus: dict[TauKey, list[Taus]] = {TauKey(values.name, one, other): [] for one in MEASURES for other in ESTIMATORS}
    likeness: dict[str, list[Reals]] = {measure: [] for measure in MEASURES}
    for part in parts:
        at = places
        if len(part.identities) < len(identities):
            members = np.array([place[identity] for identity in part.identities], dtype=np.intp)
            at = _pair_places(members, len(identities), values.index)
        matrices = [np.where(at < 0, np.nan, one[at]) for one in (part.bleu, part.wed, part.bleu_reference)]
        likeness["bleu"].append(matrices[0])
        likeness["wed"].append(-matrices[1])
        for key, found in _taus(matrices, values, anchors).items():
            taus[key].append(found)
    # Countries without any distance take no part, as they take none in what is observed.
    alive = np.flatnonzero(anchors[0].known.any(axis=1))
    among = np.ix_(alive, alive)
    floors = permuted_means(
        [matrix[among] for measure in MEASURES for matrix in likeness[measure]],
        values.distance[among],
        permutations=min(permutations, MOST_FLOOR_PERMUTATIONS),
        seed=seed,
    ).reshape(len(MEASURES), len(parts), -1)
    nothing = np.empty((len(parts), 0))
    joined = {}
    for key, found_all in taus.items():
        known = [found.p[~np.isnan(found.p)] for found in found_all]
        significant = np.array([(holm(p) < 0.05).mean() if p.size else np.nan for p in known])
        floor = floors[MEASURES.index(key.measure)] if key.estimator == "corrected" else nothing
        joined[key] = ConceptTaus(np.stack([found.tau for found in found_all]), significant, floor)
    return joined


def matrix_taus(matrices: Sequence[Reals], values: ValuesOf) -> dict[TauKey, Taus]:
    """τ of each anchor on BLEU, WED and BLEU as released between all identities, such as means over concepts."""
    chosen = np.ix_(values.index, values.index)
    anchors = prepare_anchors(values.distance), prepare_anchors(values.distance_reference)
    return _taus([matrix[chosen] for matrix in matrices], values, anchors)


def _taus(matrices: Sequence[Reals], values: ValuesOf, anchors: tuple[Anchors, Anchors]) -> dict[TauKey, Taus]:
    """τ of the matrices BLEU, WED and BLEU as released; ``anchors``: corrected, and as released."""
    bleu, wed, released = matrices
    corrected, reference = anchors
    names, order = values.identities, values.order
    return {
        TauKey(values.name, "bleu", "corrected"): anchor_taus(bleu, corrected),
        TauKey(values.name, "wed", "corrected"): anchor_taus(-wed, corrected),
        TauKey(values.name, "bleu", "reference"): anchor_taus_reference(released, reference, names, values_order=order),
        TauKey(values.name, "wed", "reference"): anchor_taus_reference(
            wed, reference, names, measure="wed", values_order=order
        ),
    }


def _pair_places(members: Integers, size: int, index: Integers) -> Integers:
    """Where the upper triangle of ``members``, of ``size`` identities, keeps the pairs of those at ``index``: (m, m).

    −1 for an identity with itself, and where one of the two is not among the members.
    """
    rows, g = np.full(size, -1), len(members)
    rows[members] = np.arange(g)
    chosen = rows[index]
    low, high = np.minimum(chosen[:, None], chosen), np.maximum(chosen[:, None], chosen)
    return np.where((low >= 0) & (low < high), low * g - low * (low + 1) // 2 + high - low - 1, -1)
