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

from kapwa.analysis.corpus.index import Concept, Index
from kapwa.analysis.corpus.rows import ATTRIBUTES, ConceptKey, CorpusName, Options
from kapwa.analysis.corpus.sources import text_sources
from kapwa.errors import DataError, UsageError, nearest
from kapwa.runs.directory import brief_model

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
    has for one concept; ``absent``: per concept that lacks some, the identities without a text; ``short``: how many
    texts are missing for every identity to have ``samples`` of every concept.
    """

    def __init__(self, name: CorpusName, index: Index, label: str) -> None:
        self._index, self._concepts = index, index.concepts[name]
        found = list(self._concepts.values())
        self.label, self.task, self.model, self.temperature = label, name.task, name.model, name.temperature
        self.attribute, self.variant, self.language = name.attribute, name.variant, name.language or "en"
        used = sorted(set().union(*(concept.sources for concept in found)))
        paths = [index.sources[number].path for number in used] or [source.path for source in index.sources]
        self.source: Path = paths[0] if len(paths) == 1 else _common_folder(paths)
        self._names = sorted(index.identities)
        every = set().union(*(concept.counts for concept in found))
        self.identities: tuple[str, ...] = tuple(who for who in self._names if index.identities[who] in every)
        self.concepts: tuple[ConceptKey, ...] = tuple(self._concepts)
        # A sum of 128-bit hashes needs no order, so it can be taken in one walk through unsorted files.
        self.digest = f"{sum(concept.hash for concept in found) % (1 << 128):032x}"
        self.n_texts = sum(sum(concept.counts.values()) for concept in found)
        self.failed = sum(concept.failed for concept in found)
        self.empty = sum(concept.empty for concept in found)
        self.samples = max((n for concept in found for n in concept.counts.values()), default=0)
        self.short = len(found) * len(self.identities) * self.samples - self.n_texts
        self.absent: Mapping[ConceptKey, tuple[str, ...]] = {
            key: tuple(who for who in self.identities if index.identities[who] not in concept.counts)
            for key, concept in self._concepts.items()
            if len(concept.counts) < len(self.identities)
        }

    def __repr__(self) -> str:
        return (
            f"Corpus({self.label!r}, {self.task}: {len(self.concepts)} concepts, {len(self.identities)} identities, "
            f"{self.n_texts} texts)"
        )

    def digest_of(self, key: ConceptKey) -> str:
        """Return the digest of a concept's texts without reading them: that of :class:`ConceptTexts`."""
        return f"{self._at(key).hash % (1 << 128):032x}"

    def size_of(self, key: ConceptKey) -> int:
        """Return how many texts a concept has, without reading them."""
        return sum(self._at(key).counts.values())

    def texts(self, key: ConceptKey) -> ConceptTexts:
        """Read the texts of one concept."""
        concept = self._at(key)
        table = self._index.read(concept)
        places, groups = np.unique(table["identity"].to_numpy(), return_inverse=True)
        return ConceptTexts(
            key,
            tuple(self._names[place] for place in places.tolist()),
            groups.astype(np.int64),
            table["sample"].to_numpy().astype(np.int64),
            tuple(table["text"]),
            self.digest_of(key),
        )

    def _at(self, key: ConceptKey) -> Concept:
        concept = self._concepts.get(ConceptKey(*key))
        if concept is None:
            known = ["/".join(known) for known in self.concepts]
            raise UsageError(f"{self.label} has no concept {'/'.join(key)!r}.", hint=nearest("/".join(key), known))
        return concept

    def notes(self) -> list[str]:
        """Say in sentences what is wanting, and which identities may be one, spelled in two ways."""
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
        kinds: dict[str, list[str]] = {}
        for name in self.identities:
            folded = unicodedata.normalize("NFC", name.casefold())
            kinds.setdefault(" ".join(folded.split()), []).append(name)
        found += [
            f"{' and '.join(map(repr, same))} are taken for {len(same)} identities. If they are one, spell it one "
            "way in the answers and analyze again."
            for same in kinds.values()
            if len(same) > 1
        ]
        return found


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

    Every row is looked at once; texts are laid out in temporary files as large as they are, and read concept by
    concept.

    Raises UsageError for no or repeated sources; DataError naming file, row, column and remedy for what cannot be
    read, for two answers to one (identity, sample), and for fewer than two identities or texts.
    """
    if attribute is not None and not attribute.strip():
        raise UsageError("--attribute names no column.", hint=f"For example: {', '.join(ATTRIBUTES)}.")
    if isinstance(sources, str | Path):
        sources = [sources]
    index = Index(text_sources([Path(source) for source in sources], Options(attribute, task, label)), task)
    if not index.concepts:
        raise UsageError(f"No answer is of the task {task!r}.", hint=nearest(task or "", index.tasks))
    labels = _labels(list(index.concepts), label)
    corpora = [Corpus(name, index, labels[name]) for name in index.concepts]
    for corpus in corpora:
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
    return corpora


def _labels(names: Sequence[CorpusName], label: str | None) -> dict[CorpusName, str]:
    """Name each corpus: model and temperature, and whatever else is needed to tell those of a task apart."""
    labels = {}
    for name in names:
        model = brief_model(name.model)
        labels[name] = model if name.temperature is None else f"{model} T {name.temperature:g}"
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


def _common_folder(paths: Sequence[Path]) -> Path:
    try:
        return Path(os.path.commonpath(paths))
    except ValueError:  # some are relative, or on another drive
        return paths[0].parent
