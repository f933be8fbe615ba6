"""The second stage: parts are summed up, topic by topic, and held against survey values. Cheap, so never kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from kapwa.analysis.corpus import ConceptKey
from kapwa.analysis.first_stage import Prepared, compute_again
from kapwa.analysis.pool import run_all
from kapwa.analysis.progress import Meter, Show
from kapwa.analysis.readings import MOST_CHARACTERS, texts_table
from kapwa.analysis.schemas import SCHEMAS, empty, frame
from kapwa.analysis.settings import Settings
from kapwa.analysis.tables import CorpusFacts, TopicJob, TopicResult, WordsAsked, corpus_tables, topic_result
from kapwa.analysis.topics import Damaged, TopicTask
from kapwa.analysis.unit import MOST_PERMUTED
from kapwa.analysis.value_tables import Asked, values_table
from kapwa.errors import RunError

# With fewer parts a second process costs more to start than it saves.
_WORTH_PROCESSES = 48


def make_tables(prepared: Sequence[Prepared], settings: Settings, show: Show) -> dict[str, pl.DataFrame]:
    """Return every table of the analysis; corpora, and topics within them, stand in the order they were given."""
    jobs = [job for number, one in enumerate(prepared) for job in _topic_jobs(number, one, settings)]
    parts = sum(len(job.task.paths) for job in jobs)
    workers = min(settings.processes, len(jobs)) if parts >= _WORTH_PROCESSES else 1
    meter = Meter(show, "summing up", len(jobs))
    done: list[dict[str, pl.DataFrame]] = [{} for _ in prepared]
    results: list[dict[str, TopicResult]] = [{} for _ in prepared]
    for result in _whole(run_all(topic_result, jobs, workers=workers), jobs, prepared):
        number = result.summary.corpus
        results[number][result.summary.topic] = result
        meter.add()
        topics = list(prepared[number].topics())
        if len(results[number]) == len(topics):
            ordered = [results[number].pop(topic) for topic in topics]
            done[number] = _corpus_tables(prepared[number], ordered, settings, MOST_CHARACTERS // len(prepared))
    tables = {name: _concatenated(name, [one[name] for one in done if name in one]) for name in SCHEMAS}
    surveyed = [pair for one in prepared for pair in zip(one.matched.values, one.matched.known, strict=True)]
    return tables | {"values": values_table(surveyed), "notes": _notes(prepared)}


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


def _whole(
    results: Iterable[TopicResult | Damaged], jobs: Sequence[TopicJob], prepared: Sequence[Prepared]
) -> Iterator[TopicResult]:
    """Yield results; where parts turned out damaged, compute them anew and sum their topic up again."""
    for result in results:
        if isinstance(result, Damaged):
            compute_again(prepared[result.task.corpus], result.paths)
            job = next(job for job in jobs if job.task[:2] == result.task[:2])
            again = topic_result(job)
            if isinstance(again, Damaged):
                raise RunError(
                    f"{again.paths[0]} cannot be read although it was just written.",
                    hint="Check the disk, or choose another folder with --out.",
                )
            yield again
        else:
            yield result


def _corpus_tables(
    one: Prepared, results: Sequence[TopicResult], settings: Settings, characters: int
) -> dict[str, pl.DataFrame]:
    corpus = one.corpus
    facts = CorpusFacts(
        one.name,
        corpus.model,
        corpus.temperature,
        corpus.attribute,
        corpus.identities,
        one.matched.places,
        one.matched.values,
    )
    asked = Asked(settings.permutations, settings.seed)
    tables = corpus_tables(facts, results, asked, WordsAsked(corpus.language, settings.top))
    return tables | {"texts": texts_table(one.name, corpus, [result.summary for result in results], characters)}


def _concatenated(name: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames) if frames else empty(name)


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
