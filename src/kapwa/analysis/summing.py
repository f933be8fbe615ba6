"""The second stage: sum up the results of concepts by topic and compare them with survey values. Fast, so never stored.

A topic's tables need only its concepts, and a corpus' tables only its topics', so as many workers make them as
compare texts. What is made elsewhere comes back to the process that began, which alone holds the texts and writes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from kapwa.analysis.crossed import (
    CrossedFacts,
    Labels,
    crossing_note,
    factor_levels_table,
    factor_pairs_table,
    factor_words_table,
    factors_table,
)
from kapwa.analysis.distances import MOST_PERMUTED, Prepared, compute_again
from kapwa.analysis.result import empty, frame
from kapwa.analysis.result_tables import SCHEMAS
from kapwa.analysis.tables import (
    ALL,
    MOST_CHARACTERS,
    anchors_table,
    concept_taus_table,
    corpus_table,
    correlations_table,
    identities_table,
    similarity_table,
    spread_note,
    tests_table,
    texts_table,
    values_table,
    variance_table,
    words_table,
)
from kapwa.analysis.topics import CorpusFacts, Damaged, TopicJob, TopicSummary, joined_sums, summarize
from kapwa.analysis.words.counts import WordCounts, WordSums
from kapwa.errors import RunError
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show

log = logging.getLogger(__name__)
Tables = Mapping[str, pl.DataFrame]

# With fewer concepts a second process costs more to start than it saves, and a cluster more to join.
_FEW = {"local": 48, "ray": 256}


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


def make_tables(prepared: Sequence[Prepared], show: Show, executor: Executor) -> dict[str, pl.DataFrame]:
    """Return every table of the analysis; corpora, and topics within them, are in the order they were given."""
    work = ConceptJobs(prepared)
    meter = Meter(show, "summing up", work.jobs, stage="", unit="texts")
    few = work.concepts < _FEW[executor.name]
    jobs = work if few or executor.shares_files else map(_with_results, work)
    for result in (map if few else executor.map)(tables_of, jobs):
        work.take(result)
        meter.add(1)
    tables: dict[str, pl.DataFrame] = {}
    for name in SCHEMAS:
        frames = [tables_of_topic[name] for tables_of_topic in work.tables if name in tables_of_topic]
        # In one piece: the bytes of a file must not tell who made which rows.
        tables[name] = pl.concat(frames, rechunk=True) if frames else empty(name)
    surveyed = [pair for corpus in prepared for pair in zip(corpus.matched.values, corpus.matched.known, strict=True)]
    return tables | {"values": values_table(surveyed), "notes": pl.concat([_notes(prepared), tables["notes"]])}


def _with_results(job: TopicJob | CorpusJob) -> TopicJob | CorpusJob:
    """Send the results of a topic's concepts along: the nodes of a cluster see no folder of ours."""
    if isinstance(job, CorpusJob):
        return job
    # What cannot be read is as damaged as a file without a byte.
    sent = tuple(path.read_bytes() if path.exists() else b"" for path in job.paths)
    return job._replace(sent=sent)


class ConceptJobs:
    """The jobs of the stage and what came of them.

    Iterating gives jobs, each once. The tables of a corpus can only be made of its topics, so jobs are added while
    results are taken, and go before the others: a corpus that is done is held no longer.
    """

    def __init__(self, prepared: Sequence[Prepared]) -> None:
        self._prepared = prepared
        self._topics: dict[tuple[int, str], TopicJob] = {}
        for number, one in enumerate(prepared):
            for topic in dict.fromkeys(key.topic for key in one.paths):
                paths = tuple(path for key, path in one.paths.items() if key.topic == topic)
                self._topics[number, topic] = TopicJob(number, topic, paths, one.facts)
        self._waiting: deque[TopicJob | CorpusJob] = deque(self._topics.values())
        self._summed: list[dict[str, TopicResult]] = [{} for _ in prepared]
        self._words = [WordSums(len(one.corpus.identities)) for one in prepared]
        self.tables: list[Tables] = [{} for _ in prepared]
        self.jobs = len(self._topics) + len(prepared)
        self.concepts = sum(len(job.paths) for job in self._topics.values())

    def __iter__(self) -> Iterator[TopicJob | CorpusJob]:
        return self

    def __next__(self) -> TopicJob | CorpusJob:
        # No generator: one that ended gives no more, and results bring more jobs.
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def take(self, result: TopicResult | CorpusResult | Damaged) -> None:
        """Keep what came of a job; where results turned out damaged, compute them again and repeat the job."""
        if isinstance(result, CorpusResult):
            self.tables[result.corpus] = {**self.tables[result.corpus], **result.tables}
            return
        if isinstance(result, Damaged):
            result = self._mended(result)
        number, topics = result.summary.corpus, self._summed[result.summary.corpus]
        names = [topic for corpus, topic in self._topics if corpus == number]
        # Words are by far the most of a topic; of all topics together they are few more.
        self._words[number].add(result.summary.words, names.index(result.summary.topic))
        topics[result.summary.topic] = result._replace(summary=replace(result.summary, words=WordSums(0).result()))
        if len(topics) < len(names):
            return
        one, results = self._prepared[number], tuple(topics.pop(topic) for topic in names)
        self._waiting.appendleft(CorpusJob(number, one.facts, results, self._words[number].result()))
        summaries, characters = [result.summary for result in results], MOST_CHARACTERS // len(self._prepared)
        self.tables[number] = {"texts": texts_table(one.facts.name, one.corpus, summaries, characters)}

    def _mended(self, damaged: Damaged) -> TopicResult:
        for path in damaged.paths:
            log.warning("%s cannot be read: its concept is computed again.", path)
        compute_again(self._prepared[damaged.job.corpus], damaged.paths)
        result = topic_tables(self._topics[damaged.job.corpus, damaged.job.topic])
        if isinstance(result, Damaged):
            hint = "Check the disk, or choose another folder with --out."
            raise RunError(f"{result.paths[0]} cannot be read although it was just written.", hint=hint)
        return result


def tables_of(job: TopicJob | CorpusJob) -> TopicResult | CorpusResult | Damaged:
    """Do one job of the second stage; a pure function of picklable inputs, run anywhere."""
    return topic_tables(job) if isinstance(job, TopicJob) else CorpusResult(job.corpus, corpus_tables(job))


def topic_tables(job: TopicJob) -> TopicResult | Damaged:
    """Sum up a topic and make its tables; name the results that cannot be read instead, where there are any."""
    facts, summary = job.facts, summarize(job)
    if isinstance(summary, Damaged):
        return summary
    tables = {
        "variance": variance_table(facts.name, summary),
        "concept_taus": concept_taus_table(facts.name, summary),
        "correlations": correlations_table(facts, summary.topic, [summary]),
        "words": words_table(facts, summary.topic, summary.words),
    }
    return TopicResult(summary, tables)


def corpus_tables(job: CorpusJob) -> dict[str, pl.DataFrame]:
    """Make all tables of a corpus from those of its topics, in the order of the topics."""
    facts, results = job.facts, job.results
    topics = [result.summary for result in results]
    sums = joined_sums(topics)
    whole = {"correlations": correlations_table(facts, ALL, topics), "words": words_table(facts, ALL, job.counts)}
    by_topic = {
        table: pl.concat([*([whole[table]] if table in whole else []), *(result.tables[table] for result in results)])
        for table in results[0].tables
    }
    return (
        by_topic
        | crossed_tables(facts, topics, job.counts)
        | {
            "corpora": corpus_table(facts, topics, sums),
            "tests": tests_table(facts.name, topics),
            "notes": spread_note(facts.name, topics),
            "anchors": anchors_table(facts, topics, sums),
            "similarity": similarity_table(facts, sums),
            "identities": identities_table(facts, sums),
        }
    )


def crossed_tables(facts: CorpusFacts, topics: Sequence[TopicSummary], counts: WordCounts) -> dict[str, pl.DataFrame]:
    """Make the tables of factors of a corpus whose identities are crossed, over all topics; else none."""
    complete = [topic.crossed for topic in topics if topic.crossed is not None]
    if facts.crossing is None or not complete:
        return {}
    labels, crossing, joined = Labels(*facts.name, ALL), facts.crossing, CrossedFacts.joined(complete)
    of_topics = [
        factors_table(labels._replace(topic=topic.topic), crossing, topic.crossed)
        for topic in topics
        if topic.crossed is not None
    ]
    words = factor_words_table(labels, crossing, facts.identities, counts, top=facts.top, language=facts.language)
    return {
        "factors": pl.concat([factors_table(labels, crossing, joined), *of_topics]),
        "factor_levels": factor_levels_table(labels, crossing, joined),
        "factor_pairs": factor_pairs_table(labels, crossing, joined),
        "factor_words": words,
    }


def _notes(prepared: Sequence[Prepared]) -> pl.DataFrame:
    """What a reader should know of the data and of how they were compared, each said once."""
    notes: dict[tuple[str, str], None] = {}
    for one in prepared:
        name, texts = f"{one.corpus.label}, {one.corpus.task}", [*one.corpus.notes()]
        if one.settings.pairs:
            texts.append(
                f"not all pairs of the {len(one.corpus.identities):,} identities were compared, but "
                f"{one.settings.pairs:,} drawn at random for each concept. Variance is estimated from these; its "
                "bounds are of what all pairs of these identities would give, not of what other identities like these "
                "would. Single identities are not compared, with each other or with values, and names are not permuted "
                "(PERMANOVA)."
            )
        elif many := [key for key, concept in one.corpus.concepts.items() if concept.texts > MOST_PERMUTED]:
            first, size = many[0], one.corpus.concepts[many[0]].texts
            shown = "1 concept" if len(many) == 1 else f"{len(many):,} concepts"
            texts.append(
                f"names were not permuted (PERMANOVA) for {shown} of {len(one.corpus.concepts):,} with more than "
                f"{MOST_PERMUTED:,} texts, such as {first.topic}/{first.concept} ({size:,}): the distances of so many "
                "texts are not kept. Columns permanova_* are empty there, and the test over concepts is of the others."
            )
        if one.corpus.attribute == "language":
            texts.append(
                "the texts are in several languages, and all are cut into words by the rules of one "
                f"({one.corpus.language}); in other scripts signs may stick to words."
            )
        texts += [note for note in (crossing_note(one.corpus.attribute, one.corpus.identities),) if note]
        if one.corpus.samples < 2:
            texts.append("one text an identity and concept, so nothing is known of chance within.")
        notes |= dict.fromkeys([*(("warning", f"{name}: {text}") for text in texts), *one.matched.notes])
    severities, sentences = zip(*notes, strict=True) if notes else ((), ())
    return frame("notes", {"severity": list(severities), "text": list(sentences)})
