"""A corpus: the texts of one model configuration on one task, read one concept at a time.

>>> for corpus in open_corpora(["answers.jsonl"]):
...     for key in corpus.concepts:
...         texts = corpus.texts(key)
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.corpus.index import ConceptIndex, Indexer, absent_identities, whole_digest
from kapwa.analysis.corpus.rows import Asked, ConceptKey, CorpusName, TextSource, check_attribute, clean_text
from kapwa.errors import DataError, UsageError, nearest
from kapwa.runs.runner import brief_model

__all__ = ["ConceptKey", "ConceptTexts", "Corpus", "open_corpora"]


@dataclass(frozen=True, slots=True)
class ConceptTexts:
    """The N texts of one concept, sorted by identity and sample.

    ``identities``: those with at least one text, sorted; ``groups`` (N,) int64 index them; ``samples`` (N,) int64 as
    the source numbers them. ``digest``: of topic, concept, identities, samples and texts (32 hex digits).
    """

    key: ConceptKey
    identities: tuple[str, ...]
    groups: NDArray[np.int64]
    samples: NDArray[np.int64]
    texts: tuple[str, ...]
    digest: str


class Corpus:
    """The texts of one model configuration on one task; :func:`open_corpora` makes them.

    ``label``: the model's short name and temperature, unique within the task. ``identities``: all, sorted.
    ``concepts``: in order of first appearance. ``digest``: of all texts, whatever the files' order or format.
    ``failed``: answers without a text; ``empty``: texts without a character; ``samples``: the most that one identity
    has for one concept; ``absent``: per concept that lacks some, the identities without a text.
    """

    def __init__(
        self,
        name: CorpusName,
        concepts: Mapping[ConceptKey, ConceptIndex],
        sources: Sequence[TextSource],
        label: str,
    ) -> None:
        self._index = dict(concepts)
        self._sources = list(sources)
        used = sorted({int(i) for index in concepts.values() for i in np.unique(index.sources)})
        paths = [self._sources[i].path for i in used or range(len(self._sources))]
        self.label, self.task, self.model, self.temperature = label, name.task, name.model, name.temperature
        self.attribute, self.variant, self.language = name.attribute, name.variant, name.language or "en"
        self.source: Path = paths[0] if len(paths) == 1 else _common_folder(paths)
        self.identities: tuple[str, ...] = tuple(sorted({i for c in concepts.values() for i in c.identities}))
        self.concepts: tuple[ConceptKey, ...] = tuple(concepts)
        self.digest = whole_digest(concepts.values())
        self.n_texts = sum(len(index.groups) for index in concepts.values())
        self.failed = sum(index.failed for index in concepts.values())
        self.empty = sum(index.empty for index in concepts.values())
        self.samples = max((int(np.bincount(c.groups).max()) for c in concepts.values() if len(c.groups)), default=0)
        self.absent: Mapping[ConceptKey, tuple[str, ...]] = absent_identities(concepts, self.identities)

    def __repr__(self) -> str:
        return (
            f"Corpus({self.label!r}, {self.task}: {len(self.concepts)} concepts, {len(self.identities)} identities, "
            f"{self.n_texts} texts)"
        )

    @property
    def short(self) -> int:
        """How many texts are wanting for every identity to have :attr:`samples` of every concept."""
        return len(self.concepts) * len(self.identities) * self.samples - self.n_texts

    def digest_of(self, key: ConceptKey) -> str:
        """Return the digest of a concept's texts without reading them: that of :class:`ConceptTexts`."""
        return self._at(key).digest

    def size_of(self, key: ConceptKey) -> int:
        """Return how many texts a concept has, without reading them."""
        return len(self._at(key).groups)

    def texts(self, key: ConceptKey) -> ConceptTexts:
        """Read the texts of one concept; raise DataError where a file changed since the corpus was opened."""
        index = self._at(key)
        texts = [""] * len(index.groups)
        for number in np.unique(index.sources):
            at = np.flatnonzero(index.sources == number)
            read = self._sources[int(number)].texts(index.places[at].tolist(), index.samples[at].tolist())
            for i, text in zip(at.tolist(), read, strict=True):
                texts[i] = clean_text(text)
        return ConceptTexts(key, index.identities, index.groups, index.samples, tuple(texts), index.digest)

    def _at(self, key: ConceptKey) -> ConceptIndex:
        index = self._index.get(ConceptKey(*key))
        if index is None:
            name = "/".join(key)
            known = ["/".join(concept) for concept in self.concepts]
            raise UsageError(f"{self.label} has no concept {name!r}.", hint=nearest(name, known))
        return index

    def notes(self) -> list[str]:
        """Say in sentences what is wanting: failed answers, empty texts, identities without a text, fewer samples."""
        found = []
        if self.failed:
            found.append(f"{_count(self.failed, 'answer')} failed: there is no text.")
        if self.empty:
            found.append(f"{_count(self.empty, 'text')} without a character.")
        if self.absent:
            key, who = next(iter(self.absent.items()))
            shown = ", ".join(who[:3]) + (", …" if len(who) > 3 else "")
            found.append(
                f"{len(self.absent):,} of {_count(len(self.concepts), 'concept')} lacking identities: "
                f"{key.topic}/{key.concept} has no text of {shown}."
            )
        if self.short:
            every = f"every identity to have {self.samples} of every concept"
            found.append(f"{_count(self.short, 'text')} wanting for {every}.")
        found += [_alike(spellings) for spellings in same_but_for_spelling(self.identities)]
        return found


def same_but_for_spelling(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the names that differ in capitals or in spaces alone, those of a kind together.

    Case-folded and then composed (NFC) they are equal; names arrive here stripped and composed.
    """
    kinds: dict[str, list[str]] = {}
    for name in names:
        folded = unicodedata.normalize("NFC", name.casefold())
        kinds.setdefault(" ".join(folded.split()), []).append(name)
    return [tuple(spellings) for spellings in kinds.values() if len(spellings) > 1]


def _alike(spellings: Sequence[str]) -> str:
    return (
        f"{' and '.join(map(repr, spellings))} are taken for {len(spellings)} identities. If they are one, spell it "
        "one way in the answers and analyze again."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def open_corpora(
    sources: Sequence[str | Path],
    *,
    attribute: str | None = None,
    task: str | None = None,
    label: str | None = None,
) -> list[Corpus]:
    """Open every corpus in ``sources``: Kapwa run folders, jsonl, Parquet, CSV or TSV files, folders of them.

    ``attribute``: the column of the perturbed attribute, where it is not one of nationality, identity, culture,
    country, religion, city, persona, language. ``task``: names the task of files without such a column, and keeps only
    this one of those that have it. ``label``: what to call the model of files that name none; several such files are
    then one corpus (else each is its own, named by its file).

    Every row is looked at once, some 28 bytes are kept of each; texts are read concept by concept. Parquet (and the
    answers of runs) are laid out in a temporary file as large as their texts.

    Raises UsageError for no or repeated sources; DataError naming file, row, column and remedy for what cannot be
    read, for two answers to one (identity, sample), and for fewer than two identities or texts.
    """
    from kapwa.analysis.corpus.sources import text_sources  # the kinds of sources build on this module's rows

    check_attribute(attribute)
    if isinstance(sources, str | Path):
        sources = [sources]
    indexer = Indexer(task)
    for source in text_sources([Path(source) for source in sources], Asked(attribute, task, label)):
        indexer.read(source)
    found = indexer.corpora()
    if not found:
        raise UsageError(f"No answer is of the task {task!r}.", hint=nearest(task or "", indexer.tasks))
    labels = _labels([name for name, _, _ in found], label)
    corpora = [Corpus(name, concepts, used, labels[name]) for name, concepts, used in found]
    for corpus in corpora:
        _check_enough(corpus)
    return corpora


def _labels(names: Sequence[CorpusName], label: str | None) -> dict[CorpusName, str]:
    """Name each corpus: model and temperature, and whatever else is needed to tell those of a task apart."""
    labels = {name: _label(name) for name in names}
    for part in ("variant", "language", "attribute", "run", "model"):
        alike: dict[tuple[str, str], list[CorpusName]] = {}
        for name, text in labels.items():
            alike.setdefault((name.task, text), []).append(name)
        for group in alike.values():
            if len({getattr(name, part) for name in group}) > 1:
                labels |= {name: f"{labels[name]} ({getattr(name, part)})" for name in group if getattr(name, part)}
    if label is not None:
        per_task = Counter(name.task for name in names)
        if max(per_task.values()) == 1:
            return dict.fromkeys(names, label)
    return labels


def _label(name: CorpusName) -> str:
    model = brief_model(name.model)
    return model if name.temperature is None else f"{model} T {name.temperature:g}"


def _check_enough(corpus: Corpus) -> None:
    wanted = f"Differences need texts of at least two values of {corpus.attribute}"
    if len(corpus.identities) < 2:
        who = f"only of {corpus.identities[0]!r}" if corpus.identities else "of nobody"
        raise DataError(f"has texts {who} ({corpus.label}, {corpus.task}).", path=corpus.source, hint=f"{wanted}.")
    for key, absent in corpus.absent.items():
        left = len(corpus.identities) - len(absent)
        if left < 2:
            raise DataError(
                f"has texts of {left} identities for {key.topic}/{key.concept} ({corpus.label}, {corpus.task}).",
                path=corpus.source,
                hint=f"{wanted} for every concept: complete it, or take this concept out.",
            )


def _common_folder(paths: Sequence[Path]) -> Path:
    try:
        return Path(os.path.commonpath(paths))
    except ValueError:  # some are relative, or on another drive
        return paths[0].parent
