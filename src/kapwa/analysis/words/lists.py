"""The telling words of a whole corpus, or of each of its topics, read one concept at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.words import WordCounts, count_words, log_odds_words, merge, tfidf_words, z_needed
from kapwa.metrics.tokens import encode, tokenizer_for

Method = Literal["tfidf", "logodds"]
ALL = "all"


class WordList(NamedTuple):
    """Words of one corpus and topic ("all" for all): ``words`` has the columns of :mod:`kapwa.analysis.words`.

    ``z_needed``: the z-score that survives correction for all words of all identities; None without z-scores.
    """

    corpus: str
    task: str
    topic: str
    method: Method
    words: pl.DataFrame
    z_needed: float | None

    def only(self, identities: Iterable[str]) -> WordList:
        """Return the list with these identities' words only."""
        return self._replace(words=self.words.filter(self.words["identity"].is_in(list(identities))))

    def table(self) -> pl.DataFrame:
        """Return the words with columns that say of what they are."""
        names = {"corpus": self.corpus, "task": self.task, "topic": self.topic}
        front = [pl.lit(value).alias(name) for name, value in names.items()]
        return self.words.select(*front, "identity", pl.lit(self.method).alias("method"), pl.exclude("identity"))


def word_lists(
    corpus: Corpus, *, method: Method = "tfidf", top: int = 15, by_topic: bool = False
) -> Iterator[WordList]:
    """List the ``top`` words of each identity, for the corpus or for each of its topics.

    Memory holds one topic's counts and one concept's texts. Raises DataError from reading.
    """
    for topic, keys in _topics(corpus, by_topic).items():
        counts = merge(_concept_counts(corpus, key) for key in keys)
        chosen = tfidf_words if method == "tfidf" else log_odds_words
        words = chosen(counts, top, identities=corpus.identities, language=corpus.language)
        yield WordList(
            corpus.label, corpus.task, topic, method, words, z_needed(counts) if method == "logodds" else None
        )


def _topics(corpus: Corpus, by_topic: bool) -> dict[str, list[ConceptKey]]:
    if not by_topic:
        return {ALL: list(corpus.concepts)}
    found: dict[str, list[ConceptKey]] = {}
    for key in corpus.concepts:
        found.setdefault(key.topic, []).append(key)
    return found


def _concept_counts(corpus: Corpus, key: ConceptKey) -> WordCounts:
    texts = corpus.texts(key)
    encoded = encode(texts.texts, tokenizer_for(corpus.language, lower="before"))
    places = {identity: place for place, identity in enumerate(corpus.identities)}
    members = np.array([places[identity] for identity in texts.identities], np.int64)
    return count_words(encoded, texts.groups, len(texts.identities)).spread(members, len(corpus.identities))
