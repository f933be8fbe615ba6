"""From summaries to tables: those of one topic, made where it was summed up, and those of a whole corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from kapwa.analysis.measures import ValuesOf
from kapwa.analysis.schemas import SCHEMAS, frame
from kapwa.analysis.topics import Damaged, IdentitySums, TopicSummary, TopicTask, summarize
from kapwa.analysis.value_tables import Asked, anchors_table, concept_taus_table, correlations_table, joined_matrices
from kapwa.analysis.variance_tables import (
    ALL,
    Named,
    identities_table,
    similarity_table,
    tests_table,
    variance_table,
)
from kapwa.analysis.words import log_odds_words, tfidf_words
from kapwa.analysis.words.counts import WordCounts
from kapwa.suites.eecc.names import Place

Tables = Mapping[str, pl.DataFrame]


class WordsAsked(NamedTuple):
    """In which language words are told from fillers, and how many are listed an identity."""

    language: str
    top: int


class TopicJob(NamedTuple):
    """A topic to sum up, and what its tables are to say."""

    task: TopicTask
    name: Named
    words: WordsAsked

    def __str__(self) -> str:
        return f"The topic {self.task.topic} of {self.name.corpus}, {self.name.task},"


class TopicResult(NamedTuple):
    """A topic's sums, and the tables that need no other topic."""

    summary: TopicSummary
    tables: Tables


class CorpusFacts(NamedTuple):
    """What a corpus says of itself."""

    name: Named
    model: str
    temperature: float | None
    attribute: str
    identities: tuple[str, ...]
    places: Mapping[str, Place]
    values: tuple[ValuesOf, ...]


class CorpusJob(NamedTuple):
    """A corpus whose topics are summed up, in their order; ``corpus``: its number, ``counts``: its words."""

    corpus: int
    facts: CorpusFacts
    results: tuple[TopicResult, ...]
    counts: WordCounts
    asked: Asked
    words: WordsAsked

    def __str__(self) -> str:
        return f"The tables of {self.facts.name.corpus}, {self.facts.name.task},"


class CorpusResult(NamedTuple):
    """All tables of a corpus that its texts are not needed for."""

    corpus: int
    tables: Tables


def tables_of(job: TopicJob | CorpusJob) -> TopicResult | CorpusResult | Damaged:
    """Do one job of the second stage; a pure function of picklable inputs, run anywhere."""
    if isinstance(job, TopicJob):
        return topic_result(job)
    return CorpusResult(job.corpus, corpus_tables(job))


def topic_result(job: TopicJob) -> TopicResult | Damaged:
    """Sum up a topic and make its tables; name the parts that cannot be read instead, where there are any."""
    task, name, wanted = job
    summary = summarize(task)
    if isinstance(summary, Damaged):
        return summary
    asked = Asked(task.permutations, task.seed)
    return TopicResult(
        summary,
        {
            "variance": variance_table(name, [summary]),
            "concept_taus": concept_taus_table(name, [summary]),
            "correlations": correlations_table(name, summary.topic, [summary], task.values, asked),
            "words": words_table(name, summary.topic, summary.words, task.identities, wanted),
        },
    )


def corpus_tables(job: CorpusJob) -> dict[str, pl.DataFrame]:
    """Make all tables of a corpus from those of its topics, in the order of the topics."""
    facts, results = job.facts, job.results
    name, topics = facts.name, [result.summary for result in results]
    sums, matrices = _joined_sums(topics), joined_matrices(topics)
    tables = {table: pl.concat([result.tables[table] for result in results]) for table in results[0].tables}
    whole = {
        "correlations": correlations_table(name, ALL, topics, facts.values, job.asked),
        "words": words_table(name, ALL, job.counts, facts.identities, job.words),
    }
    return {
        "corpora": _corpus_row(facts, topics, sums),
        "tests": tests_table(name, topics),
        "anchors": anchors_table(name, topics, facts.values, matrices),
        "similarity": similarity_table(name, facts.identities, matrices),
        "identities": identities_table(name, facts.identities, sums, facts.places),
        **tables,
        **{table: pl.concat([rows, tables[table]]) for table, rows in whole.items()},
    }


def _joined_sums(topics: Sequence[TopicSummary]) -> IdentitySums:
    whole = IdentitySums.of(len(topics[0].sums.samples))
    for summary in topics:
        whole.merge(summary.sums)
    return whole


def _corpus_row(facts: CorpusFacts, topics: Sequence[TopicSummary], sums: IdentitySums) -> pl.DataFrame:
    asked = sum(int(summary.concepts.identities.sum()) for summary in topics)
    texts, tokens = int(sums.samples.sum()), int(sums.tokens.sum())
    return frame(
        "corpora",
        {
            **facts.name._asdict(),
            "model": facts.model,
            "temperature": facts.temperature,
            "attribute": facts.attribute,
            "concepts": [sum(len(summary.concepts.names) for summary in topics)],
            "identities": len(facts.identities),
            "texts": texts,
            "samples": texts / asked,
            "tokens": tokens,
            "mean_tokens": tokens / texts,
            "empty": int(sums.empty.sum()),
        },
    )


def words_table(
    name: Named, topic: str, counts: WordCounts, identities: Sequence[str], wanted: WordsAsked
) -> pl.DataFrame:
    """One row an identity, method and rank: the words that mark each identity's texts, by both methods."""
    language, top = wanted
    found = {
        "tfidf": tfidf_words(counts, top, identities=identities, language=language),
        "logodds": log_odds_words(counts, top, identities=identities, language=language),
    }
    rows = pl.concat([one.with_columns(method=pl.lit(method)) for method, one in found.items()])
    same = {**name._asdict(), "topic": topic}
    return rows.with_columns(pl.lit(value).alias(column) for column, value in same.items()).select(*SCHEMAS["words"])
