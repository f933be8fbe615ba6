"""The first stage: every concept that has no part yet is computed and kept. All that takes long happens here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.inputs import Matched, Surveys, match
from kapwa.analysis.parts import packed, part_key, part_path, write_part
from kapwa.analysis.progress import Meter, Show
from kapwa.analysis.settings import Settings, UnitSettings
from kapwa.analysis.unit import Unit, concept_part, depends_on
from kapwa.analysis.variance_tables import Named
from kapwa.analysis.workers import Workers


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A corpus with all that is known before anything is computed; ``paths``: where the part of each concept lies."""

    corpus: Corpus
    settings: UnitSettings
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

    unit: Unit
    path: Path


class _Done(NamedTuple):
    """A part as the bytes of its file, where it goes, and how many texts it is of."""

    part: bytes
    path: Path
    texts: int


def prepare(corpus: Corpus, surveys: Surveys, store: Path, settings: Settings) -> Prepared:
    """Name the parts of a corpus, whose folder is ``store``, and match its identities with the surveys."""
    unit = settings.unit(corpus.language, len(corpus.identities))
    depends = depends_on(unit)
    paths = {key: part_path(store, part_key(corpus.digest_of(key), depends)) for key in corpus.concepts}
    return Prepared(corpus, unit, paths, match(surveys, corpus))


def compute_parts(prepared: Sequence[Prepared], show: Show, workers: Workers) -> Counted:
    """Compute every part that is not there yet, over as many processes as asked, or on Ray."""
    # Two corpora may hold the same texts of a concept: one part serves both.
    wanted = {path: (one, key) for one in prepared for key, path in one.paths.items()}
    missing = {path: found for path, found in wanted.items() if not path.exists()}
    counted = Counted(len(wanted) - len(missing), len(missing), "ray" if workers.engine else "local")
    meter = Meter(show, "comparing texts", len(wanted))
    meter.kept(counted.kept)
    jobs = (_Job(Unit(one.corpus.texts(key), one.settings), path) for path, (one, key) in missing.items())
    for texts in _computing(jobs, len(missing), workers):
        meter.add(texts)
    return counted


def _computing(jobs: Iterator[_Job], count: int, workers: Workers) -> Iterator[int]:
    """Compute and keep parts, and yield how many texts each is of."""
    if not count:
        return
    if workers.engine is None:
        # Each process writes its own parts: a hundred of them would wait long for one that writes for all.
        yield from workers.here(_compute, jobs, most=count)
        return
    # The nodes of a cluster see no folder of ours: parts come back, and are written here.
    for done in workers.on_nodes(_computed, jobs, name=_named):
        write_part(done.path, done.part)
        yield done.texts


def compute_again(prepared: Prepared, paths: Sequence[Path]) -> None:
    """Compute parts anew that were found damaged."""
    for key, path in prepared.paths.items():
        if path in paths:
            _compute(_Job(Unit(prepared.corpus.texts(key), prepared.settings), path))


def _compute(job: _Job) -> int:
    """Compute one part and keep it; return how many texts it is of."""
    done = _computed(job)
    write_part(done.path, done.part)
    return done.texts


def _named(job: _Job) -> str:
    return f"The concept {'/'.join(job.unit.texts.key)}"


def _computed(job: _Job) -> _Done:
    return _Done(packed(concept_part(job.unit)), job.path, len(job.unit.texts.texts))
