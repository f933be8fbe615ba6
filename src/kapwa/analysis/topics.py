"""One topic of one corpus: from the results of its concepts to sums and τ. Cheap, never stored, run anywhere.

τ says how texts go with cultural values, for every concept and anchor, by both estimators, with floors. Parts are read
a few at a time, so memory holds one topic's sums and words, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.concept_results import ConceptResult, Reals, Whole, read_result
from kapwa.analysis.crossed import CrossedFacts, Crossing, concept_facts
from kapwa.analysis.words.counts import WordCounts, WordSums
from kapwa.languages.between_places import geographic_distance, shared_blocks
from kapwa.languages.places import Place
from kapwa.stats.kendall import (
    Anchors,
    Draws,
    Taus,
    anchor_taus,
    anchor_taus_reference,
    drawn_means,
    permuted_means,
    prepare_anchors,
    without_some,
)
from kapwa.stats.significance import holm
from kapwa.stats.spatial import surrogate_maps

Integers = NDArray[np.intp]
WED, BLEU, BLEU_REFERENCE = range(3)
MEASURES: Final = ("bleu", "wed")
ESTIMATORS: Final = ("corrected", "reference")
# Enough for a central 95 % and a p of 0.005; more would cost more than all else of a second look.
MOST_FLOOR_PERMUTATIONS = 199
# Maps that are as smooth as that of the values, and groups of countries left out in turn.
SURROGATES = 99
_GROUPS = 20
# Parts held at once; the permutation floors of a batch are one matrix product.
_BATCH = 32
_SUMMED: Final = ("variance", "known", "samples", "tokens", "empty", "triangles", "counts")


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


class CorpusColumns(NamedTuple):
    """The columns that say which corpus a row is of."""

    corpus: str
    task: str


class CorpusFacts(NamedTuple):
    """What a corpus says of itself, and how its tables are made: ``top`` words listed an identity.

    ``drawn``: pairs of texts were drawn, so there are no distances between single identities. ``crossing``: the factors
    of crossed identities; None where there are none.
    """

    name: CorpusColumns
    model: str
    temperature: float | None
    attribute: str
    language: str
    identities: tuple[str, ...]
    places: Mapping[str, Place]
    values: tuple[ValuesOf, ...]
    permutations: int
    seed: int
    top: int
    drawn: bool
    crossing: Crossing | None = None


class TopicJob(NamedTuple):
    """A topic to sum up: the number of its corpus, and where the results of its concepts lie, in order.

    ``sent``: the bytes of these files, for a machine that does not see the paths.
    """

    corpus: int
    topic: str
    paths: tuple[Path, ...]
    facts: CorpusFacts
    sent: tuple[bytes, ...] | None = None

    def __str__(self) -> str:
        return f"The topic {self.topic} of {self.facts.name.corpus}, {self.facts.name.task},"


class Damaged(NamedTuple):
    """A topic of which some results cannot be read and must be computed again."""

    job: TopicJob
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ConceptFacts:
    """What the tables say of each of C concepts, in order.

    ``identities``, ``texts`` (C,): counts. ``means`` (C, 4): within and across, corrected and then as released.
    ``permanova`` (C, 5): f, r2, p; f, p of PERMDISP. ``bounds`` (C, 4): 95 % bounds of within and across where pairs
    were drawn. ``most`` (C,): the most texts that an identity has.
    """

    names: tuple[str, ...]
    identities: Whole
    texts: Whole
    means: Reals
    permanova: Reals
    bounds: Reals
    most: Whole


class Sums:
    """Sums over concepts for each of G identities and each pair of them (upper triangle, row by row).

    ``variance`` (2, G): within and across, of the ``known`` (2, G) concepts that have one. ``samples``, ``tokens``,
    ``empty`` (G,): texts, their tokens, those without one. ``triangles`` (3, pairs): WED, BLEU and BLEU as released,
    of the ``counts`` (pairs,) concepts that know a pair; without pairs where pairs of texts were ``drawn``.
    """

    def __init__(self, size: int, *, drawn: bool) -> None:
        pairs = 0 if drawn else size * (size - 1) // 2
        self.variance, self.known = np.zeros((2, size)), np.zeros((2, size), dtype=np.int64)
        self.samples, self.tokens, self.empty = (np.zeros(size, dtype=np.int64) for _ in range(3))
        self.triangles, self.counts = np.zeros((3, pairs)), np.zeros(pairs, dtype=np.int32)

    def add(self, result: ConceptResult, members: Integers) -> None:
        """Add one concept, whose identities stand at ``members`` (ascending)."""
        for row, values in enumerate((result.within, result.across)):
            known = ~np.isnan(values)
            self.variance[row, members[known]] += values[known]
            self.known[row, members[known]] += 1
        self.samples[members] += result.samples
        self.tokens[members] += result.tokens
        self.empty[members] += result.empty
        if not self.counts.size:
            return
        size, triangles = len(self.samples), (result.wed, result.bleu, result.bleu_reference)
        i, j = (members[side] for side in np.triu_indices(len(members), 1))
        # All identities, in order: no need to look for their places.
        at = slice(None) if len(members) == size else i * size - i * (i + 1) // 2 + j - i - 1
        both = ~np.isnan(np.sum(triangles, axis=0))
        self.counts[at] += both
        for sums, triangle in zip(self.triangles, triangles, strict=True):
            sums[at] += np.where(both, triangle, 0.0)

    def variances(self) -> Reals:
        """Mean variance within and across of each identity, (2, G); NaN where none is known."""
        unknown = np.full(self.variance.shape, np.nan)
        return np.asarray(np.divide(self.variance, self.known, out=unknown, where=self.known > 0))

    def triangle(self, which: int) -> Reals:
        """Return the mean triangle number ``which``, NaN for pairs that no concept knows."""
        row = self.triangles[which]
        return np.asarray(np.divide(row, self.counts, out=np.full(row.shape, np.nan), where=self.counts > 0))

    def matrix(self, which: int) -> Reals:
        """Return the mean triangle number ``which`` as a symmetric (G, G) matrix with NaN on the diagonal."""
        matrix = np.full((len(self.samples),) * 2, np.nan)
        first, second = np.triu_indices(len(matrix), 1)
        matrix[first, second] = matrix[second, first] = self.triangle(which)
        return matrix


class TauKey(NamedTuple):
    """Which τ: values table, measure, estimator."""

    values: str
    measure: str
    estimator: str


@dataclass(frozen=True, slots=True, eq=False)
class ConceptTaus:
    """τ of C concepts and m anchors (C, m), NaN where there is none.

    ``significant`` (C,): share of anchors with p < 0.05 after Holm's adjustment over the anchors of the concept.
    ``floors`` (C, P): mean τ over anchors under P permutations of countries, the same ones for every concept.
    ``smooth`` (C, S): with values of S other maps that are as smooth; ``without`` (C, groups): without each group of
    countries. None of the three for the reference (P = 0), and none of other maps where a country has no place.
    """

    tau: Reals
    significant: Reals
    floors: Reals
    smooth: Reals
    without: Reals

    @classmethod
    def joined(cls, several: Sequence[ConceptTaus]) -> ConceptTaus:
        """Put the τ of several batches or topics behind each other."""
        rows = [(taus.tau, taus.significant, taus.floors, taus.smooth, taus.without) for taus in several]
        return cls(*(np.concatenate(column) for column in zip(*rows, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class TopicSummary:
    """What a topic comes to; ``crossed``: None where identities are not crossed, or no concept is complete."""

    corpus: int
    topic: str
    concepts: ConceptFacts
    sums: Sums
    taus: Mapping[TauKey, ConceptTaus]
    words: WordCounts
    crossed: CrossedFacts | None = None


def joined_sums(topics: Sequence[TopicSummary]) -> Sums:
    """Return the sums over the concepts of all ``topics``."""
    first = topics[0].sums
    whole = Sums(len(first.samples), drawn=not first.counts.size)
    for summary in topics:
        for name in _SUMMED:
            mine = getattr(whole, name)
            mine += getattr(summary.sums, name)
    return whole


def summarize(job: TopicJob) -> TopicSummary | Damaged:
    """Read and sum up the results of a topic's concepts; where some cannot be read, return their paths instead."""
    facts, size = job.facts, len(job.facts.identities)
    identity_index = {identity: i for i, identity in enumerate(facts.identities)}
    sums, words = Sums(size, drawn=facts.drawn), WordSums(size)
    rows = []
    crossed: list[CrossedFacts] = []
    taus: dict[TauKey, list[ConceptTaus]] = {}
    unreadable: list[Path] = []
    for start in range(0, len(job.paths), _BATCH):
        paths = job.paths[start : start + _BATCH]
        sent = job.sent[start : start + _BATCH] if job.sent else repeat(None)
        read = [read_result(path, raw) for path, raw in zip(paths, sent, strict=False)]
        unreadable += [path for path, result in zip(paths, read, strict=True) if result is None]
        if unreadable:
            continue
        batch = [result for result in read if result is not None]
        for result in batch:
            members = np.array([identity_index[identity] for identity in result.identities], dtype=np.intp)
            sums.add(result, members)
            words.add(result.words if len(members) == size else result.words.spread_rows(members, size))
            counts = len(result.identities), result.samples.sum()
            rows.append((result.concept, *counts, result.means, result.permanova, result.bounds, result.samples.max()))
            if facts.crossing is not None:
                one = concept_facts(result, facts.crossing, permuted=facts.permutations, seed=facts.seed)
                crossed += [] if one is None else [one]
        for values in () if facts.drawn else facts.values:
            by_key = concept_taus(batch, values, identity_index, permutations=facts.permutations, seed=facts.seed)
            for key, several in by_key.items():
                taus.setdefault(key, []).append(several)
    if unreadable:
        return Damaged(job._replace(sent=None), tuple(unreadable))
    names, *columns = zip(*rows, strict=True)
    joined = {key: ConceptTaus.joined(several) for key, several in taus.items()}
    return TopicSummary(
        job.corpus,
        job.topic,
        ConceptFacts(names, *map(np.array, columns)),
        sums,
        joined,
        words.result(),
        crossed=CrossedFacts.joined(crossed) if crossed else None,
    )


def concept_taus(
    results: Sequence[ConceptResult],
    values: ValuesOf,
    identity_index: Mapping[str, int],
    *,
    permutations: int,
    seed: int,
) -> dict[TauKey, ConceptTaus]:
    """Correlate every concept with one values table, by both measures and both estimators.

    ``identity_index``: where the corpus has each of its identities.
    """
    anchors = prepare_anchors(values.distance), prepare_anchors(values.distance_reference)
    pair_index = _pair_places(np.arange(len(identity_index)), len(identity_index), values.index)
    taus: dict[TauKey, list[Taus]] = {TauKey(values.name, one, other): [] for one in MEASURES for other in ESTIMATORS}
    likeness: dict[str, list[Reals]] = {measure: [] for measure in MEASURES}
    for result in results:
        at = pair_index
        if len(result.identities) < len(identity_index):
            members = np.array([identity_index[identity] for identity in result.identities], dtype=np.intp)
            at = _pair_places(members, len(identity_index), values.index)
        matrices = [np.where(at < 0, np.nan, one[at]) for one in (result.bleu, result.wed, result.bleu_reference)]
        likeness["bleu"].append(matrices[0])
        likeness["wed"].append(-matrices[1])
        for key, estimate in _taus(matrices, values, anchors).items():
            taus[key].append(estimate)
    # Countries without any distance take no part, as they take none in what is observed.
    alive = np.flatnonzero(anchors[0].known.any(axis=1))
    among = np.ix_(alive, alive)
    known, near = [matrix[among] for measure in MEASURES for matrix in likeness[measure]], values.distance[among]
    floors = permuted_means(known, near, permutations=min(permutations, MOST_FLOOR_PERMUTATIONS), seed=seed)
    draws = [floors]
    for other in _other_draws(near.tobytes(), tuple(values.iso3[i] for i in alive), seed):
        draws.append(np.empty((len(known), 0)) if other is None else drawn_means(known, other))
    by_measure = [one.reshape(len(MEASURES), len(results), -1) for one in draws]
    nothing = [np.empty((len(results), 0))] * len(draws)
    joined = {}
    for key, estimates in taus.items():
        ps = [estimate.p[~np.isnan(estimate.p)] for estimate in estimates]
        significant = np.array([(holm(p) < 0.05).mean() if p.size else np.nan for p in ps])
        measure = MEASURES.index(key.measure)
        drawn = [one[measure] for one in by_measure] if key.estimator == "corrected" else nothing
        joined[key] = ConceptTaus(np.stack([estimate.tau for estimate in estimates]), significant, *drawn)
    return joined


@lru_cache(maxsize=4)
def smooth_draws(distance: bytes, iso3: tuple[str, ...], seed: int) -> Reals | None:
    """Distances of values (the bytes of (m, m)) on other maps as smooth and in blocks, computed once in each process.

    None for fewer than four countries, or one without a place.
    """
    if len(iso3) < 4 or not all(iso3):
        return None
    near = np.frombuffer(distance).reshape(len(iso3), len(iso3))
    return surrogate_maps(near, geographic_distance(iso3), shared_blocks(iso3), draws=SURROGATES, seed=seed)


@lru_cache(maxsize=4)
def _other_draws(distance: bytes, iso3: tuple[str, ...], seed: int) -> tuple[Draws | None, Draws | None]:
    """What depends on a survey alone, ranked once in each process: other maps, and countries left out."""
    smooth = smooth_draws(distance, iso3, seed)
    near = np.frombuffer(distance).reshape(len(iso3), len(iso3))
    without = Draws(without_some(near, groups=_GROUPS, seed=seed)) if len(iso3) > 3 else None
    return None if smooth is None else Draws(smooth), without


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
