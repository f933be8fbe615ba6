"""One topic of one corpus: from its parts to sums and the τ of its concepts. Cheap, never stored, run anywhere.

Parts are read a few at a time, so memory holds one topic's sums and words, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from kapwa.analysis.parts import Part, Whole, read_part
from kapwa.analysis.taus import ConceptTaus, Integers, Reals, TauKey, ValuesOf, concept_taus
from kapwa.analysis.words.counts import WordCounts, WordSums

WED, BLEU, BLEU_REFERENCE = range(3)
# Parts held at once; the permutation floors of a batch are one matrix product.
_BATCH = 32
_SUMMED: Final = ("variance", "known", "samples", "tokens", "empty", "triangles", "counts")


class TopicTask(NamedTuple):
    """What one worker is given: where the parts of a topic lie, in order, and what to hold them against.

    ``drawn``: pairs of texts were drawn, so there are no distances between single identities. ``sent``: the bytes of
    the parts, for a machine that does not see the paths.
    """

    corpus: int
    topic: str
    paths: tuple[Path, ...]
    identities: tuple[str, ...]
    values: tuple[ValuesOf, ...]
    permutations: int
    seed: int
    drawn: bool
    sent: tuple[bytes, ...] | None = None


class Damaged(NamedTuple):
    """A topic of which some parts cannot be read and must be computed again."""

    task: TopicTask
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ConceptFacts:
    """What the tables say of each of C concepts, in order.

    ``identities``, ``texts`` (C,): counts. ``means`` (C, 4): within and across, corrected and then as released.
    ``permanova`` (C, 3): f, r2, p. ``bounds`` (C, 4): 95 % bounds of within and across where pairs were drawn.
    """

    names: tuple[str, ...]
    identities: Whole
    texts: Whole
    means: Reals
    permanova: Reals
    bounds: Reals


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

    def add(self, part: Part, members: Integers) -> None:
        """Add one concept, whose identities stand at ``members`` (ascending)."""
        for row, values in enumerate((part.within, part.across)):
            known = ~np.isnan(values)
            self.variance[row, members[known]] += values[known]
            self.known[row, members[known]] += 1
        self.samples[members] += part.samples
        self.tokens[members] += part.tokens
        self.empty[members] += part.empty
        if not self.counts.size:
            return
        size, triangles = len(self.samples), (part.wed, part.bleu, part.bleu_reference)
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


@dataclass(frozen=True, slots=True, eq=False)
class TopicSummary:
    """What a topic comes to."""

    corpus: int
    topic: str
    concepts: ConceptFacts
    sums: Sums
    taus: Mapping[TauKey, ConceptTaus]
    words: WordCounts


def joined_sums(topics: Sequence[TopicSummary]) -> Sums:
    """Return the sums over the concepts of all ``topics``."""
    first = topics[0].sums
    whole = Sums(len(first.samples), drawn=not first.counts.size)
    for summary in topics:
        for name in _SUMMED:
            mine = getattr(whole, name)
            mine += getattr(summary.sums, name)
    return whole


def summarize(task: TopicTask) -> TopicSummary | Damaged:
    """Read the parts of a topic and sum them up; name those that cannot be read instead, where there are any."""
    size = len(task.identities)
    place = {identity: i for i, identity in enumerate(task.identities)}
    sums, words = Sums(size, drawn=task.drawn), WordSums(size)
    facts = []
    taus: dict[TauKey, list[ConceptTaus]] = {}
    unreadable: list[Path] = []
    for start in range(0, len(task.paths), _BATCH):
        paths = task.paths[start : start + _BATCH]
        sent = task.sent[start : start + _BATCH] if task.sent else repeat(None)
        read = [read_part(path, raw) for path, raw in zip(paths, sent, strict=False)]
        unreadable += [path for path, part in zip(paths, read, strict=True) if part is None]
        if unreadable:
            continue
        batch = [part for part in read if part is not None]
        for part in batch:
            members = np.array([place[identity] for identity in part.identities], dtype=np.intp)
            sums.add(part, members)
            words.add(part.words if len(members) == size else part.words.spread(members, size))
            counts = len(part.identities), part.samples.sum()
            facts.append((part.concept, *counts, part.means, part.permanova, part.bounds))
        for values in () if task.drawn else task.values:
            found = concept_taus(batch, values, task.identities, permutations=task.permutations, seed=task.seed)
            for key, several in found.items():
                taus.setdefault(key, []).append(several)
    if unreadable:
        return Damaged(task._replace(sent=None), tuple(unreadable))
    names, *columns = zip(*facts, strict=True)
    concepts = ConceptFacts(names, *map(np.array, columns))
    joined = {key: ConceptTaus.joined(several) for key, several in taus.items()}
    return TopicSummary(task.corpus, task.topic, concepts, sums, joined, words.result())
