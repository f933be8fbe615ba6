"""Where every text of a corpus is: gathered in one walk through the sources, some 28 bytes for each text.

The texts themselves stay where they are; a concept's are read when they are asked for.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.corpus.rows import ConceptKey, CorpusName, Found, TextSource, clean_text
from kapwa.errors import DataError

_DIGEST_BYTES = 16
_ROOM = 1 << (8 * _DIGEST_BYTES)

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ConceptIndex:
    """The texts of one concept, sorted by identity and sample.

    ``groups`` index ``identities`` (those present, sorted). ``sources`` and ``places`` say where each text is.
    ``failed`` counts answers without a text; ``empty`` texts without a character.
    """

    identities: tuple[str, ...]
    groups: Integers
    samples: Integers
    sources: Integers
    places: Integers
    digest: str
    failed: int
    empty: int


class _Concept:
    __slots__ = ("codes", "counted", "digest", "empty", "failed", "numbers", "places", "samples", "sources")

    def __init__(self) -> None:
        self.codes, self.samples = array("i"), array("i")
        self.sources, self.places, self.numbers = array("i"), array("q"), array("q")
        self.counted: dict[int, int] = {}
        self.digest = self.failed = self.empty = 0


class Indexer:
    """Takes the answers of all sources, in any order, and gives an index of each corpus among them."""

    def __init__(self, task: str | None) -> None:
        self._task = task
        self._sources: list[TextSource] = []
        self._codes: dict[str, int] = {}
        self._found: dict[CorpusName, dict[ConceptKey, _Concept]] = {}
        self._name: CorpusName | None = None
        self._concepts: dict[ConceptKey, _Concept] | None = {}
        self.tasks: dict[str, None] = {}

    def read(self, source: TextSource) -> None:
        """Walk through ``source``; raise DataError naming its file, row and column, and where it has no rows."""
        number = len(self._sources)
        self._sources.append(source)
        rows = 0
        for rows, found in enumerate(source.answers(), start=1):  # noqa: B007 - the count is used below
            if found.name is not self._name:  # the name is often that of the row before, and hashing it is slow
                self._turn_to(found.name)
            if self._concepts is not None:
                self._add(found, number, self._concepts)
        if not rows:
            raise DataError("holds no rows.", path=source.path)

    def _turn_to(self, name: CorpusName) -> None:
        """Let the next answers be of the corpus ``name``, or of none where its task is not wanted."""
        self.tasks[name.task] = None
        wanted = self._task is None or name.task == self._task
        self._name, self._concepts = name, self._found.setdefault(name, {}) if wanted else None

    def _add(self, found: Found, source: int, concepts: dict[ConceptKey, _Concept]) -> None:
        _, key, identity, sample, text, place, number = found
        concept = concepts.get(key)
        if concept is None:
            concept = concepts[key] = _Concept()
        code = self._codes.setdefault(identity, len(self._codes))
        if sample is None:
            sample = concept.counted.get(code, 0)
            concept.counted[code] = sample + 1
        if text is None:
            concept.failed += 1
            return
        concept.empty += not text
        concept.codes.append(code)
        concept.samples.append(sample)
        concept.sources.append(source)
        concept.places.append(place)
        concept.numbers.append(number)
        concept.digest += _row_digest(key, identity, sample, text)

    def corpora(self) -> list[tuple[CorpusName, dict[ConceptKey, ConceptIndex], list[TextSource]]]:
        """Return the corpora in order of appearance; raise DataError where two answers claim one place."""
        names = tuple(self._codes)
        return [
            (name, {key: self._sorted(key, concept, names) for key, concept in concepts.items()}, self._sources)
            for name, concepts in self._found.items()
        ]

    def _sorted(self, key: ConceptKey, concept: _Concept, names: Sequence[str]) -> ConceptIndex:
        codes = np.asarray(concept.codes, dtype=np.int64)
        present = sorted({names[code] for code in concept.codes})
        rank = np.zeros(len(names), dtype=np.int64)
        for i, identity in enumerate(present):
            rank[self._codes[identity]] = i
        groups, samples = rank[codes], np.asarray(concept.samples, dtype=np.int64)
        order = np.lexsort((np.asarray(concept.numbers, dtype=np.int64), samples, groups))
        self._check_once(key, concept, present, groups, order)
        return ConceptIndex(
            identities=tuple(present),
            groups=groups[order],
            samples=samples[order],
            sources=np.asarray(concept.sources, dtype=np.int64)[order],
            places=np.asarray(concept.places, dtype=np.int64)[order],
            digest=_hex(concept.digest),
            failed=concept.failed,
            empty=concept.empty,
        )

    def _check_once(
        self, key: ConceptKey, concept: _Concept, present: Sequence[str], groups: Integers, order: Integers
    ) -> None:
        samples = np.asarray(concept.samples, dtype=np.int64)[order]
        ranked = groups[order]
        same = np.flatnonzero((ranked[1:] == ranked[:-1]) & (samples[1:] == samples[:-1]))
        if not len(same):
            return
        first, second = int(order[same[0]]), int(order[same[0] + 1])
        where = [self._sources[concept.sources[i]].path for i in (first, second)]
        before = "" if where[0] == where[1] else f" of {where[0]}"
        identity, sample = present[int(ranked[same[0]])], int(samples[same[0]])
        raise DataError(
            f"answers {key.topic}/{key.concept}/{identity}, sample {sample}, again; "
            f"row {concept.numbers[first]}{before} did so first.",
            path=where[1],
            row=int(concept.numbers[second]),
            hint="Keep one of them, number repeated answers in a column 'sample' (0, 1, ...), or tell models apart in "
            "a column 'model', 'temperature' or 'run'.",
        )


def _row_digest(key: ConceptKey, identity: str, sample: int, text: str) -> int:
    place = f"{key.topic}\0{key.concept}\0{identity}\0{sample}\0".encode("utf-8", "surrogatepass")
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = clean_text(text).encode()
    return int.from_bytes(hashlib.blake2b(place + raw, digest_size=_DIGEST_BYTES).digest(), "big")


def _hex(total: int) -> str:
    return f"{total % _ROOM:0{2 * _DIGEST_BYTES}x}"


def whole_digest(concepts: Iterable[ConceptIndex]) -> str:
    """Return the digest of several concepts together: the same texts give the same one, in any order and format."""
    # A sum of 128-bit hashes: it needs no order, so that it can be taken in one walk through unsorted files.
    return _hex(sum(int(concept.digest, 16) for concept in concepts))


def absent_identities(
    concepts: Mapping[ConceptKey, ConceptIndex], identities: Sequence[str]
) -> dict[ConceptKey, tuple[str, ...]]:
    """Return, for each concept that lacks any of ``identities``, those it has no text of."""
    found = {}
    for key, index in concepts.items():
        if len(index.identities) < len(identities):
            here = set(index.identities)
            found[key] = tuple(identity for identity in identities if identity not in here)
    return found
