"""A bounded choice of texts for readers: concepts where identities differ most, from every topic in turn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
import polars as pl

from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.schemas import empty, frame
from kapwa.analysis.topics import TopicSummary
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
    ranked = []
    for topic in topics:
        gaps = np.nan_to_num(topic.concepts.means[:, 1] - topic.concepts.means[:, 0], nan=-np.inf)
        ranked.append([ConceptKey(topic.topic, topic.concepts.names[i]) for i in np.argsort(-gaps, kind="stable")])
    # The most different concept of each topic first, then the second of each, and so on.
    for key in filter(None, chain.from_iterable(zip_longest(*ranked))):
        texts = corpus.texts(key)
        groups = texts.groups
        people = len(texts.identities)
        shown = np.isin(groups, np.linspace(0, people - 1, min(people, MOST_IDENTITIES)).astype(int))
        # Texts are sorted by identity: how many of the same one come before each.
        earlier = np.arange(len(groups)) - np.searchsorted(groups, groups)
        for samples in _SAMPLES:
            kept = np.flatnonzero(shown & (earlier < samples)).tolist()
            length = sum(len(texts.texts[place]) for place in kept)
            if length <= left:
                break
        else:
            if frames:
                break
        rows = {
            **name._asdict(),
            "topic": key.topic,
            "concept": key.concept,
            "identity": [texts.identities[texts.groups[place]] for place in kept],
            "sample": texts.samples[kept],
            "text": [texts.texts[place] for place in kept],
        }
        frames.append(frame("texts", rows))
        left -= length
    return pl.concat(frames) if frames else empty("texts")
