"""A bounded choice of texts for readers: concepts where identities differ most, from every topic in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
import polars as pl

from kapwa.analysis.corpus import ConceptKey, ConceptTexts, Corpus
from kapwa.analysis.schemas import empty, frame
from kapwa.analysis.topics import ConceptFacts, TopicSummary
from kapwa.analysis.variance_tables import Named

# Characters kept of all corpora together; one concept of each is kept in any case.
MOST_CHARACTERS = 4_000_000
# Of very many identities, so many are shown, evenly along the alphabet.
MOST_IDENTITIES = 300
# Two texts of an identity show what chance alone changes.
_SAMPLES = (2, 1)


def texts_table(name: Named, corpus: Corpus, topics: Sequence[TopicSummary], characters: int) -> pl.DataFrame:
    """Return texts of a corpus, about ``characters`` long together, whole concepts at a time."""
    frames: list[pl.DataFrame] = []
    left = characters
    for key in by_difference(topics):
        texts = corpus.texts(key)
        chosen = next((kept for kept in (_kept(texts, n) for n in _SAMPLES) if _length(texts, kept) <= left), None)
        if chosen is None and frames:
            break
        chosen = _kept(texts, 1) if chosen is None else chosen
        frames.append(_rows(name, texts, chosen))
        left -= _length(texts, chosen)
    return pl.concat(frames) if frames else empty("texts")


def by_difference(topics: Sequence[TopicSummary]) -> Iterator[ConceptKey]:
    """Yield every concept: the most different of each topic first, then the second of each, and so on."""
    ranked = [[ConceptKey(topic.topic, concept) for concept in _ranked(topic.concepts)] for topic in topics]
    for row in zip_longest(*ranked):
        yield from (key for key in row if key is not None)


def _ranked(facts: ConceptFacts) -> list[str]:
    gaps = np.nan_to_num(facts.means[:, 1] - facts.means[:, 0], nan=-np.inf)
    return [facts.names[i] for i in np.argsort(-gaps, kind="stable")]


def _kept(texts: ConceptTexts, samples: int) -> list[int]:
    """Places of the first ``samples`` texts of each identity shown."""
    shown = np.linspace(0, len(texts.identities) - 1, min(len(texts.identities), MOST_IDENTITIES)).astype(int)
    wanted, seen = set(shown.tolist()), dict.fromkeys(shown.tolist(), 0)
    kept = []
    for place, group in enumerate(texts.groups.tolist()):
        if group in wanted and seen[group] < samples:
            seen[group] += 1
            kept.append(place)
    return kept


def _length(texts: ConceptTexts, kept: Sequence[int]) -> int:
    return sum(len(texts.texts[place]) for place in kept)


def _rows(name: Named, texts: ConceptTexts, kept: Sequence[int]) -> pl.DataFrame:
    return frame(
        "texts",
        {
            **name._asdict(),
            "topic": texts.key.topic,
            "concept": texts.key.concept,
            "identity": [texts.identities[texts.groups[place]] for place in kept],
            "sample": texts.samples[kept],
            "text": [texts.texts[place] for place in kept],
        },
    )
