"""The second stage: parts are summed up, topic by topic, and held against survey values. Cheap, so never kept.

A topic's tables need its parts alone, and a corpus' tables its topics', so all of them are made by as many workers as
compare texts. What is made elsewhere comes back to the process that asked, which alone holds the texts and writes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from kapwa.analysis.corpus import ConceptKey
from kapwa.analysis.first_stage import Prepared, compute_again
from kapwa.analysis.progress import Meter, Show
from kapwa.analysis.readings import MOST_CHARACTERS, texts_table
from kapwa.analysis.schemas import SCHEMAS, empty, frame
from kapwa.analysis.settings import Settings
from kapwa.analysis.tables import (
    CorpusFacts,
    CorpusJob,
    CorpusResult,
    Tables,
    TopicJob,
    TopicResult,
    WordsAsked,
    tables_of,
    topic_result,
)
from kapwa.analysis.topics import Damaged, TopicTask
from kapwa.analysis.unit import MOST_PERMUTED
from kapwa.analysis.value_tables import Asked, values_table
from kapwa.analysis.words.counts import WordSums
from kapwa.analysis.workers import Workers
from kapwa.errors import RunError

log = logging.getLogger(__name__)

# With fewer parts a second process costs more to start than it saves, and a cluster more to join.
_WORTH_PROCESSES = 48
_WORTH_RAY = 256


def make_tables(
    prepared: Sequence[Prepared], settings: Settings, show: Show, workers: Workers
) -> dict[str, pl.DataFrame]:
    """Return every table of the analysis; corpora, and topics within them, stand in the order they were given."""
    work = Work(prepared, settings)
    meter = Meter(show, "summing up", work.jobs)
    for result in _results(work, workers):
        work.take(result)
        meter.add()
    tables = {name: _concatenated(name, [one[name] for one in work.tables if name in one]) for name in SCHEMAS}
    surveyed = [pair for one in prepared for pair in zip(one.matched.values, one.matched.known, strict=True)]
    return tables | {"values": values_table(surveyed), "notes": _notes(prepared)}


def _results(work: Work, workers: Workers) -> Iterator[TopicResult | CorpusResult | Damaged]:
    if workers.engine is not None and work.parts >= _WORTH_RAY:
        return workers.on_nodes(tables_of, map(_sent, work), name=str)
    return workers.here(tables_of, work, most=work.jobs if work.parts >= _WORTH_PROCESSES else 1)


def _sent(job: TopicJob | CorpusJob) -> TopicJob | CorpusJob:
    """Send the parts of a topic along: the nodes of a cluster see no folder of ours."""
    if isinstance(job, CorpusJob):
        return job
    return job._replace(task=job.task._replace(sent=tuple(_bytes(path) for path in job.task.paths)))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # as damaged as any other


class Work:
    """The jobs of the stage and what came of them.

    Iterating gives jobs, each once. The tables of a corpus can only be made of its topics, so jobs are added while
    results are taken, and go before the others: a corpus that is done is held no longer.
    """

    def __init__(self, prepared: Sequence[Prepared], settings: Settings) -> None:
        self._prepared, self._settings = prepared, settings
        self._topics = [job for number, one in enumerate(prepared) for job in _topic_jobs(number, one, settings)]
        self._waiting: deque[TopicJob | CorpusJob] = deque(self._topics)
        self._summed: list[dict[str, TopicResult]] = [{} for _ in prepared]
        self._words = {number: WordSums(len(one.corpus.identities)) for number, one in enumerate(prepared)}
        self.tables: list[Tables] = [{} for _ in prepared]
        self.jobs = len(self._topics) + len(prepared)
        self.parts = sum(len(job.task.paths) for job in self._topics)

    def __iter__(self) -> Iterator[TopicJob | CorpusJob]:
        return self

    def __next__(self) -> TopicJob | CorpusJob:
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
        number = result.summary.corpus
        summed, topics = self._summed[number], self._prepared[number].topics()
        # Words are by far the most of a topic; of all topics together they are few more.
        self._words[number].add(result.summary.words)
        summed[result.summary.topic] = result._replace(summary=result.summary.without_words())
        if len(summed) == len(topics):
            self._whole(number, tuple(summed.pop(topic) for topic in topics))

    def _mended(self, damaged: Damaged) -> TopicResult:
        one = self._prepared[damaged.task.corpus]
        for path in damaged.paths:
            log.warning("%s cannot be read: its concept is computed again.", path)
        compute_again(one, damaged.paths)
        job = next(job for job in self._topics if job.task[:2] == damaged.task[:2])
        again = topic_result(job)
        if isinstance(again, Damaged):
            raise RunError(
                f"{again.paths[0]} cannot be read although it was just written.",
                hint="Check the disk, or choose another folder with --out.",
            )
        return again

    def _whole(self, number: int, results: tuple[TopicResult, ...]) -> None:
        """Let the tables of a corpus be made, all of whose topics are summed up."""
        one, settings = self._prepared[number], self._settings
        asked, words = Asked(settings.permutations, settings.seed), WordsAsked(one.corpus.language, settings.top)
        counts = self._words.pop(number).result()
        self._waiting.appendleft(CorpusJob(number, _facts(one), results, counts, asked, words))
        characters = MOST_CHARACTERS // len(self._prepared)
        summaries = [result.summary for result in results]
        self.tables[number] = {"texts": texts_table(one.name, one.corpus, summaries, characters)}


def _topic_jobs(number: int, one: Prepared, settings: Settings) -> Iterator[TopicJob]:
    for topic, paths in one.topics().items():
        task = TopicTask(
            corpus=number,
            topic=topic,
            paths=paths,
            identities=one.corpus.identities,
            values=one.matched.values,
            permutations=settings.permutations,
            seed=settings.seed,
            drawn=bool(one.settings.pairs),
        )
        yield TopicJob(task, one.name, WordsAsked(one.corpus.language, settings.top))


def _facts(one: Prepared) -> CorpusFacts:
    corpus = one.corpus
    return CorpusFacts(
        one.name,
        corpus.model,
        corpus.temperature,
        corpus.attribute,
        corpus.identities,
        one.matched.places,
        one.matched.values,
    )


def _concatenated(name: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    # In one piece: the bytes of a file must not tell who made which rows.
    return pl.concat(frames, rechunk=True) if frames else empty(name)


_ONE_CUT = (
    "the texts are in several languages, and all are cut into words by the rules of one ({language}); in other scripts "
    "signs may stick to words."
)


def _notes(prepared: Sequence[Prepared]) -> pl.DataFrame:
    """What a reader should know of the data and of how they were compared, each said once."""
    found: dict[tuple[str, str], None] = {}
    for one in prepared:
        name = f"{one.corpus.label}, {one.corpus.task}"
        for note in one.corpus.notes():
            found["warning", f"{name}: {note}"] = None
        if one.settings.pairs:
            found["warning", _drawn(name, one)] = None
        elif _unpermuted(one):
            found["warning", f"{name}: {_left_out(one)}"] = None
        if one.corpus.attribute == "language":
            found["warning", f"{name}: {_ONE_CUT.format(language=one.corpus.language)}"] = None
        if one.corpus.samples < 2:
            found["warning", f"{name}: one text an identity and concept, so nothing is known of chance within."] = None
        found |= dict.fromkeys(one.matched.notes)
    columns = list(zip(*found, strict=True)) or [(), ()]
    return frame("notes", {"severity": list(columns[0]), "text": list(columns[1])})


def _drawn(name: str, one: Prepared) -> str:
    return (
        f"{name}: not all pairs of the {len(one.corpus.identities):,} identities were compared, but "
        f"{one.settings.pairs:,} drawn at random for each concept. Variance is estimated from these; single identities "
        "are not compared, with each other or with values, and names are not permuted (PERMANOVA)."
    )


def _unpermuted(one: Prepared) -> list[ConceptKey]:
    """Concepts with too many texts for a permutation test."""
    return [key for key in one.corpus.concepts if one.corpus.size_of(key) > MOST_PERMUTED]


def _left_out(one: Prepared) -> str:
    keys = _unpermuted(one)
    first, texts = keys[0], one.corpus.size_of(keys[0])
    many = "1 concept" if len(keys) == 1 else f"{len(keys):,} concepts"
    return (
        f"names were not permuted (PERMANOVA) for {many} of {len(one.corpus.concepts):,} with more than "
        f"{MOST_PERMUTED:,} texts, such as {first.topic}/{first.concept} ({texts:,}): the distances of so many texts "
        "are not kept. Columns permanova_* are empty there, and the test over concepts is of the others."
    )
