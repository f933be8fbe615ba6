"""One topic of one corpus: from its parts to sums and the τ of its concepts. Cheap, never stored, run anywhere.

Parts are read a few at a time, so memory holds one topic's sums and words, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kapwa.analysis.measures import ConceptTaus, TauKey, ValuesOf, concept_taus
from kapwa.analysis.parts import Part, Whole, read_part
from kapwa.analysis.triangles import Integers, Means, Reals
from kapwa.analysis.words.counts import WordCounts, WordSums

WED, BLEU, BLEU_REFERENCE = range(3)
# Parts held at once; the permutation floors of a batch are one matrix product.
_BATCH = 32


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

    @classmethod
    def of(cls, parts: Sequence[Part]) -> ConceptFacts:
        """Collect the facts of some parts."""
        return cls(
            names=tuple(part.concept for part in parts),
            identities=np.array([len(part.identities) for part in parts], dtype=np.int64),
            texts=np.array([part.samples.sum() for part in parts], dtype=np.int64),
            means=np.stack([part.means for part in parts]),
            permanova=np.stack([part.permanova for part in parts]),
            bounds=np.stack([part.bounds for part in parts]),
        )

    @classmethod
    def joined(cls, several: Sequence[ConceptFacts]) -> ConceptFacts:
        """Put the facts of several batches or topics behind each other."""
        names = tuple(name for one in several for name in one.names)
        arrays = [field.name for field in fields(cls) if field.name != "names"]
        return cls(names, **{name: np.concatenate([getattr(one, name) for one in several]) for name in arrays})


@dataclass(eq=False, slots=True)
class IdentitySums:
    """Sums over concepts for each of G identities.

    ``variance`` (2, G): within and across, of the ``known`` (2, G) concepts that have one. ``samples``, ``tokens``,
    ``empty`` (G,): texts, their tokens, those without one.
    """

    variance: Reals
    known: Whole
    samples: Whole
    tokens: Whole
    empty: Whole

    @classmethod
    def of(cls, size: int) -> IdentitySums:
        """Begin with nothing known."""
        samples, tokens, empty = (np.zeros(size, dtype=np.int64) for _ in range(3))
        return cls(np.zeros((2, size)), np.zeros((2, size), dtype=np.int64), samples, tokens, empty)

    def add(self, part: Part, members: Integers) -> None:
        """Add one concept, whose identities stand at ``members``."""
        for row, values in enumerate((part.within, part.across)):
            known = ~np.isnan(values)
            self.variance[row, members[known]] += values[known]
            self.known[row, members[known]] += 1
        self.samples[members] += part.samples
        self.tokens[members] += part.tokens
        self.empty[members] += part.empty

    def merge(self, other: IdentitySums) -> None:
        """Add what ``other`` has gathered."""
        for field in fields(self):
            mine = getattr(self, field.name)
            mine += getattr(other, field.name)

    def means(self) -> Reals:
        """Mean variance within and across of each identity, (2, G); NaN where none is known."""
        unknown = np.full(self.variance.shape, np.nan)
        return np.asarray(np.divide(self.variance, self.known, out=unknown, where=self.known > 0))


@dataclass(frozen=True, slots=True, eq=False)
class TopicSummary:
    """What a topic comes to; ``matrices`` holds WED, BLEU and BLEU as released, in this order."""

    corpus: int
    topic: str
    concepts: ConceptFacts
    sums: IdentitySums
    matrices: Means
    taus: Mapping[TauKey, ConceptTaus]
    words: WordCounts

    def without_words(self) -> TopicSummary:
        """Return the same without a word."""
        return replace(self, words=WordSums(self.words.n_groups).result())


def summarize(task: TopicTask) -> TopicSummary | Damaged:
    """Read the parts of a topic and sum them up; name those that cannot be read instead, where there are any."""
    gathered = _Gathered(task)
    unreadable: list[Path] = []
    for start in range(0, len(task.paths), _BATCH):
        paths = task.paths[start : start + _BATCH]
        sent = task.sent[start : start + _BATCH] if task.sent else repeat(None)
        batch = [read_part(path, raw) for path, raw in zip(paths, sent, strict=False)]
        unreadable += [path for path, part in zip(paths, batch, strict=True) if part is None]
        if not unreadable:
            gathered.add([part for part in batch if part is not None])
    return Damaged(task._replace(sent=None), tuple(unreadable)) if unreadable else gathered.summary()


class _Gathered:
    """The growing sums of one topic."""

    def __init__(self, task: TopicTask) -> None:
        size = len(task.identities)
        self._task = task
        self._place = {identity: i for i, identity in enumerate(task.identities)}
        self._sums = IdentitySums.of(size)
        self._matrices = Means.of(3, 0 if task.drawn else size)
        self._facts: list[ConceptFacts] = []
        self._taus: dict[TauKey, list[ConceptTaus]] = {}
        self._words = WordSums(size)

    def add(self, parts: Sequence[Part]) -> None:
        """Add some concepts; nothing of them is held afterwards but sums."""
        task = self._task
        for part in parts:
            members = np.array([self._place[identity] for identity in part.identities], dtype=np.intp)
            self._sums.add(part, members)
            if not task.drawn:
                self._matrices.add((part.wed, part.bleu, part.bleu_reference), members)
            everyone = len(members) == len(task.identities)
            self._words.add(part.words if everyone else part.words.spread(members, len(task.identities)))
        self._facts.append(ConceptFacts.of(parts))
        for values in () if task.drawn else task.values:
            found = concept_taus(parts, values, task.identities, permutations=task.permutations, seed=task.seed)
            for key, taus in found.items():
                self._taus.setdefault(key, []).append(taus)

    def summary(self) -> TopicSummary:
        """Return what was gathered."""
        taus = {key: ConceptTaus.joined(found) for key, found in self._taus.items()}
        facts = ConceptFacts.joined(self._facts)
        task = self._task
        return TopicSummary(task.corpus, task.topic, facts, self._sums, self._matrices, taus, self._words.result())
