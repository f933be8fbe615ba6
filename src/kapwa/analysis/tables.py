"""The second stage: parts are summed up, topic by topic, and held against survey values. Cheap, so never kept.

A topic's tables need its parts alone, and a corpus' tables its topics', so all of them are made by as many workers as
compare texts. What is made elsewhere comes back to the process that began, which alone holds the texts and writes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from kapwa.analysis.concept import MOST_PERMUTED
from kapwa.analysis.correlation_tables import anchors_table, concept_taus_table, correlations_table, values_table
from kapwa.analysis.distances import Prepared, compute_again
from kapwa.analysis.schemas import SCHEMAS, empty, frame
from kapwa.analysis.settings import Settings
from kapwa.analysis.taus import ValuesOf
from kapwa.analysis.text_samples import MOST_CHARACTERS, texts_table
from kapwa.analysis.topics import Damaged, Sums, TopicSummary, TopicTask, joined_sums, summarize
from kapwa.analysis.variance_tables import (
    ALL,
    Named,
    identities_table,
    similarity_table,
    tests_table,
    variance_table,
)
from kapwa.analysis.words import log_odds_words, tfidf_words
from kapwa.analysis.words.counts import WordCounts, WordSums
from kapwa.errors import RunError
from kapwa.languages.places import Place
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show

log = logging.getLogger(__name__)
Tables = Mapping[str, pl.DataFrame]

# With fewer parts a second process costs more to start than it saves, and a cluster more to join.
_FEW = {"local": 48, "ray": 256}


class CorpusFacts(NamedTuple):
    """What a corpus says of itself, and how its tables are made: ``top`` words listed an identity."""

    name: Named
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


class TopicJob(NamedTuple):
    """A topic to sum up, and the corpus that it is of."""

    task: TopicTask
    facts: CorpusFacts

    def __str__(self) -> str:
        return f"The topic {self.task.topic} of {self.facts.name.corpus}, {self.facts.name.task},"


class TopicResult(NamedTuple):
    """A topic's sums, and the tables that need no other topic."""

    summary: TopicSummary
    tables: Tables


class CorpusJob(NamedTuple):
    """A corpus whose topics are summed up, in their order; ``corpus``: its number, ``counts``: its words."""

    corpus: int
    facts: CorpusFacts
    results: tuple[TopicResult, ...]
    counts: WordCounts

    def __str__(self) -> str:
        return f"The tables of {self.facts.name.corpus}, {self.facts.name.task},"


class CorpusResult(NamedTuple):
    """All tables of a corpus that its texts are not needed for."""

    corpus: int
    tables: Tables


def make_tables(
    prepared: Sequence[Prepared], settings: Settings, show: Show, executor: Executor
) -> dict[str, pl.DataFrame]:
    """Return every table of the analysis; corpora, and topics within them, stand in the order they were given."""
    work = Work(prepared, settings)
    meter = Meter(show, "summing up", work.jobs, stage="", unit="texts")
    few = work.parts < _FEW[executor.name]
    jobs = work if few or executor.shares_files else map(_with_parts, work)
    for result in (map if few else executor.map)(tables_of, jobs):
        work.take(result)
        meter.add(1)
    tables = {}
    for name in SCHEMAS:
        frames = [one[name] for one in work.tables if name in one]
        # In one piece: the bytes of a file must not tell who made which rows.
        tables[name] = pl.concat(frames, rechunk=True) if frames else empty(name)
    surveyed = [pair for one in prepared for pair in zip(one.matched.values, one.matched.known, strict=True)]
    return tables | {"values": values_table(surveyed), "notes": _notes(prepared)}


def _with_parts(job: TopicJob | CorpusJob) -> TopicJob | CorpusJob:
    """Send the parts of a topic along: the nodes of a cluster see no folder of ours."""
    if isinstance(job, CorpusJob):
        return job
    # What cannot be read is as damaged as a part without a byte.
    sent = tuple(path.read_bytes() if path.exists() else b"" for path in job.task.paths)
    return job._replace(task=job.task._replace(sent=sent))


class Work:
    """The jobs of the stage and what came of them.

    Iterating gives jobs, each once. The tables of a corpus can only be made of its topics, so jobs are added while
    results are taken, and go before the others: a corpus that is done is held no longer.
    """

    def __init__(self, prepared: Sequence[Prepared], settings: Settings) -> None:
        self._prepared = prepared
        self._facts = [_facts(one, settings) for one in prepared]
        self._topics: dict[tuple[int, str], TopicJob] = {}
        for number, (one, facts) in enumerate(zip(prepared, self._facts, strict=True)):
            for topic, paths in one.topics().items():
                known = facts.identities, facts.values, facts.permutations, facts.seed
                task = TopicTask(number, topic, paths, *known, drawn=bool(one.settings.pairs))
                self._topics[number, topic] = TopicJob(task, facts)
        self._waiting: deque[TopicJob | CorpusJob] = deque(self._topics.values())
        self._summed: list[dict[str, TopicResult]] = [{} for _ in prepared]
        self._words = [WordSums(len(one.corpus.identities)) for one in prepared]
        self.tables: list[Tables] = [{} for _ in prepared]
        self.jobs = len(self._topics) + len(prepared)
        self.parts = sum(len(job.task.paths) for job in self._topics.values())

    def __iter__(self) -> Iterator[TopicJob | CorpusJob]:
        return self

    def __next__(self) -> TopicJob | CorpusJob:
        # No generator: one that ended gives no more, and results bring more jobs.
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def take(self, result: TopicResult | CorpusResult | Damaged) -> None:
        """Keep what came of a job; where parts turned out damaged, compute them anew and do it again."""
        if isinstance(result, CorpusResult):
            self.tables[result.corpus] = {**self.tables[result.corpus], **result.tables}
            return
        if isinstance(result, Damaged):
            result = self._mended(result)
        number, topics = result.summary.corpus, self._summed[result.summary.corpus]
        # Words are by far the most of a topic; of all topics together they are few more.
        self._words[number].add(result.summary.words)
        topics[result.summary.topic] = result._replace(summary=replace(result.summary, words=WordSums(0).result()))
        one = self._prepared[number]
        names = one.topics()
        if len(topics) < len(names):
            return
        results = tuple(topics.pop(topic) for topic in names)
        self._waiting.appendleft(CorpusJob(number, self._facts[number], results, self._words[number].result()))
        summaries, characters = [one.summary for one in results], MOST_CHARACTERS // len(self._prepared)
        self.tables[number] = {"texts": texts_table(one.name, one.corpus, summaries, characters)}

    def _mended(self, damaged: Damaged) -> TopicResult:
        for path in damaged.paths:
            log.warning("%s cannot be read: its concept is computed again.", path)
        compute_again(self._prepared[damaged.task.corpus], damaged.paths)
        result = topic_tables(self._topics[damaged.task.corpus, damaged.task.topic])
        if isinstance(result, Damaged):
            raise RunError(
                f"{result.paths[0]} cannot be read although it was just written.",
                hint="Check the disk, or choose another folder with --out.",
            )
        return result


def _facts(one: Prepared, settings: Settings) -> CorpusFacts:
    corpus = one.corpus
    return CorpusFacts(
        name=one.name,
        model=corpus.model,
        temperature=corpus.temperature,
        attribute=corpus.attribute,
        language=corpus.language,
        identities=corpus.identities,
        places=one.matched.places,
        values=one.matched.values,
        permutations=settings.permutations,
        seed=settings.seed,
        top=settings.top,
    )


def tables_of(job: TopicJob | CorpusJob) -> TopicResult | CorpusResult | Damaged:
    """Do one job of the second stage; a pure function of picklable inputs, run anywhere."""
    return topic_tables(job) if isinstance(job, TopicJob) else CorpusResult(job.corpus, corpus_tables(job))


def topic_tables(job: TopicJob) -> TopicResult | Damaged:
    """Sum up a topic and make its tables; name the parts that cannot be read instead, where there are any."""
    facts, summary = job.facts, summarize(job.task)
    if isinstance(summary, Damaged):
        return summary
    name, topic = facts.name, summary.topic
    drawn = {"permutations": facts.permutations, "seed": facts.seed}
    tables = {
        "variance": variance_table(name, summary),
        "concept_taus": concept_taus_table(name, summary),
        "correlations": correlations_table(name, topic, [summary], facts.values, **drawn),
        "words": words_table(facts, topic, summary.words),
    }
    return TopicResult(summary, tables)


def corpus_tables(job: CorpusJob) -> dict[str, pl.DataFrame]:
    """Make all tables of a corpus from those of its topics, in the order of the topics."""
    facts, results = job.facts, job.results
    name, topics = facts.name, [result.summary for result in results]
    sums = joined_sums(topics)
    drawn = {"permutations": facts.permutations, "seed": facts.seed}
    whole = {
        "correlations": correlations_table(name, ALL, topics, facts.values, **drawn),
        "words": words_table(facts, ALL, job.counts),
    }
    by_topic = {
        table: pl.concat([*([whole[table]] if table in whole else []), *(result.tables[table] for result in results)])
        for table in results[0].tables
    }
    return by_topic | {
        "corpora": _corpus_row(facts, topics, sums),
        "tests": tests_table(name, topics),
        "anchors": anchors_table(name, topics, facts.values, sums),
        "similarity": similarity_table(name, facts.identities, sums),
        "identities": identities_table(name, facts.identities, sums, facts.places),
    }


def _corpus_row(facts: CorpusFacts, topics: Sequence[TopicSummary], sums: Sums) -> pl.DataFrame:
    prompts = sum(int(summary.concepts.identities.sum()) for summary in topics)
    texts, tokens = int(sums.samples.sum()), int(sums.tokens.sum())
    columns = {
        "model": facts.model,
        "temperature": facts.temperature,
        "attribute": facts.attribute,
        "concepts": [sum(len(summary.concepts.names) for summary in topics)],
        "identities": len(facts.identities),
        "texts": texts,
        "samples": texts / prompts,
        "tokens": tokens,
        "mean_tokens": tokens / texts,
        "empty": int(sums.empty.sum()),
    }
    return frame("corpora", {**facts.name._asdict(), **columns})


def words_table(facts: CorpusFacts, topic: str, counts: WordCounts) -> pl.DataFrame:
    """One row an identity, method and rank: the words that mark each identity's texts, by both methods."""
    rows = pl.concat(
        words(counts, facts.top, identities=facts.identities, language=facts.language).with_columns(
            method=pl.lit(method)
        )
        for method, words in (("tfidf", tfidf_words), ("logodds", log_odds_words))
    )
    same = {**facts.name._asdict(), "topic": topic}
    return rows.with_columns(pl.lit(value).alias(column) for column, value in same.items()).select(*SCHEMAS["words"])


def _notes(prepared: Sequence[Prepared]) -> pl.DataFrame:
    """What a reader should know of the data and of how they were compared, each said once."""
    found: dict[tuple[str, str], None] = {}
    for one in prepared:
        name, texts = f"{one.corpus.label}, {one.corpus.task}", [*one.corpus.notes()]
        if one.settings.pairs:
            texts.append(
                f"not all pairs of the {len(one.corpus.identities):,} identities were compared, but "
                f"{one.settings.pairs:,} drawn at random for each concept. Variance is estimated from these; single "
                "identities are not compared, with each other or with values, and names are not permuted (PERMANOVA)."
            )
        else:
            texts += _unpermuted(one)
        if one.corpus.attribute == "language":
            texts.append(
                "the texts are in several languages, and all are cut into words by the rules of one "
                f"({one.corpus.language}); in other scripts signs may stick to words."
            )
        if one.corpus.samples < 2:
            texts.append("one text an identity and concept, so nothing is known of chance within.")
        found |= dict.fromkeys([*(("warning", f"{name}: {text}") for text in texts), *one.matched.notes])
    severities, said = zip(*found, strict=True) if found else ((), ())
    return frame("notes", {"severity": list(severities), "text": list(said)})


def _unpermuted(one: Prepared) -> Iterator[str]:
    """Say which concepts have too many texts for a permutation test."""
    keys = [key for key in one.corpus.concepts if one.corpus.concepts[key].texts > MOST_PERMUTED]
    if keys:
        first, texts = keys[0], one.corpus.concepts[keys[0]].texts
        many = "1 concept" if len(keys) == 1 else f"{len(keys):,} concepts"
        yield (
            f"names were not permuted (PERMANOVA) for {many} of {len(one.corpus.concepts):,} with more than "
            f"{MOST_PERMUTED:,} texts, such as {first.topic}/{first.concept} ({texts:,}): the distances of so many "
            "texts are not kept. Columns permanova_* are empty there, and the test over concepts is of the others."
        )
