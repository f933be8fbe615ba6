"""The first stage: every concept that has no part yet is computed and kept. All that takes long happens here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kapwa.analysis.concept import Concept, concept_part, depends_on
from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.inputs import Matched, Surveys, match
from kapwa.analysis.parts import packed, part_key, part_path, write_part
from kapwa.analysis.settings import ConceptSettings, Settings
from kapwa.analysis.variance_tables import Named
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A corpus with all that is known before anything is computed; ``paths``: where the part of each concept lies."""

    corpus: Corpus
    settings: ConceptSettings
    paths: Mapping[ConceptKey, Path]
    matched: Matched

    @property
    def name(self) -> Named:
        """The columns that name this corpus in every table."""
        return Named(self.corpus.label, self.corpus.task)

    def topics(self) -> dict[str, tuple[Path, ...]]:
        """Paths of the parts of each topic, both in order of first appearance."""
        found: dict[str, list[Path]] = {}
        for key, path in self.paths.items():
            found.setdefault(key.topic, []).append(path)
        return {topic: tuple(paths) for topic, paths in found.items()}


class Counted(NamedTuple):
    """How many parts were there before, how many were computed now, and by which engine: "local" or "ray"."""

    kept: int
    computed: int
    engine: str


class _Job(NamedTuple):
    """One concept to compute, and where its part goes."""

    concept: Concept
    path: Path

    def __str__(self) -> str:
        return f"The concept {'/'.join(self.concept.texts.key)}"


class _Done(NamedTuple):
    """A part as the bytes of its file, where it goes, and how many texts it is of."""

    part: bytes
    path: Path
    texts: int


def prepare(corpus: Corpus, surveys: Surveys, store: Path, settings: Settings) -> Prepared:
    """Name the parts of a corpus, whose folder is ``store``, and match its identities with the surveys."""
    chosen = settings.concept(corpus.language, len(corpus.identities))
    depends = depends_on(chosen)
    paths = {key: part_path(store, part_key(corpus.concepts[key].digest, depends)) for key in corpus.concepts}
    return Prepared(corpus, chosen, paths, match(surveys, corpus))


def compute_parts(prepared: Sequence[Prepared], show: Show, executor: Executor) -> Counted:
    """Compute every part that is not there yet."""
    # Two corpora may hold the same texts of a concept: one part serves both.
    wanted = {path: (one, key) for one in prepared for key, path in one.paths.items()}
    missing = {path: found for path, found in wanted.items() if not path.exists()}
    counted = Counted(len(wanted) - len(missing), len(missing), executor.name)
    meter = Meter(show, "comparing texts", len(wanted), stage="", unit="texts")
    meter.add(counted.kept, kept=counted.kept)
    jobs = (_Job(Concept(one.corpus.texts(key), one.settings), path) for path, (one, key) in missing.items())
    # Each process writes its own parts: a hundred of them would wait long for one that writes for all. The machines of
    # a cluster see no folder of ours: their parts come back, and are written here.
    work = _compute_and_write if executor.shares_files else _compute
    for done in (map if len(missing) <= 1 else executor.map)(work, jobs):
        if not executor.shares_files:
            write_part(done.path, done.part)
        meter.add(1, amount=done.texts)
    return counted


def compute_again(prepared: Prepared, paths: Sequence[Path]) -> None:
    """Compute parts anew that were found damaged."""
    for key, path in prepared.paths.items():
        if path in paths:
            _compute_and_write(_Job(Concept(prepared.corpus.texts(key), prepared.settings), path))


def _compute(job: _Job) -> _Done:
    return _Done(packed(concept_part(job.concept)), job.path, len(job.concept.texts.texts))


def _compute_and_write(job: _Job) -> _Done:
    done = _compute(job)
    write_part(done.path, done.part)
    return done._replace(part=b"")
