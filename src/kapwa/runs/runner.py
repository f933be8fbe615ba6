"""Ask, judge, write: one task, one model, one run directory. Run again, it goes on where it stopped."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kapwa import files, registry
from kapwa.errors import KapwaError, ModelError, RunError, UsageError
from kapwa.models.base import Model, check_capabilities
from kapwa.records import Floor, Item
from kapwa.runs import manifest as manifests
from kapwa.runs.asking import ask_missing
from kapwa.runs.cache import AnswerCache
from kapwa.runs.journal import Journal
from kapwa.runs.lock import run_lock
from kapwa.runs.outputs import Results, results, write_results
from kapwa.runs.progress import Meter, Progress, showing
from kapwa.runs.requests import RequestBook
from kapwa.runs.responses import brief_unused, unused_rows
from kapwa.runs.stored import StoredAnswers
from kapwa.suites.base import Task

log = logging.getLogger(__name__)

JOURNAL = "journal.sqlite"
_SLUG_LENGTH = 40


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after everything that came was made durable; ``str()`` says how to go on.

    A KeyboardInterrupt still: what treats one rightly treats this rightly.
    """


@dataclass(frozen=True, slots=True)
class _Job:
    """One run as it will be: who is asked what, and where it is written."""

    task: Task
    model: Model
    items: Sequence[Item]
    book: RequestBook
    folder: Path
    seed: int
    ceilings: Sequence[Floor]
    notes: Sequence[str]
    cache: AnswerCache | None = None

    @property
    def label(self) -> str:
        return f"{self.task.name} {brief_model(self.model.id)}"

    @property
    def cached_in(self) -> str | None:
        return self.cache.origin if self.cache is not None else None

    def described(self) -> dict[str, Any]:
        """What is known now: a model may tell more after it was asked."""
        notes = [*self.notes, *(self.cache.notes if self.cache is not None else ())]
        return {**manifests.describe(self.task, self.model, self.items, seed=self.seed), "notes": notes}


def run_task(
    task: Task,
    model: Model,
    *,
    out: str | Path = "runs",
    seed: int = 0,
    progress: Progress = None,
    path: str | Path | None = None,
    ceilings: Sequence[Floor] = (),
    cache: str | Path | None = None,
) -> Path:
    """Evaluate ``model`` on ``task`` and return the run directory.

    The directory is ``path``, or one in ``out`` whose name follows from task, options, selection, data and
    model: the same call finds its earlier answers, asks only what is missing (failed items again), and
    writes the same tables. ``ceilings`` are what people score, beside the task's own. ``cache``: a folder of answers
    that runs share, made if need be; see :mod:`kapwa.runs.cache` for what is taken from it.

    Memory: 16 bytes a request while a served model is asked; all requests of a local model, to plan its
    batches; while judging, what the task keeps of the answers it walks through.

    Raises UsageError (nothing selected), ModelError (the model cannot do it, or failed; answers that came
    are kept), RunError (the directory is in use, damaged, of another run, or cannot be written; the
    cache is none), and RunInterrupted on Ctrl-C.
    """
    check_capabilities(model, task.needs, task.name)
    items = task.items()
    if not items:
        raise UsageError(f"{task.name} has no items to ask about.", hint="Loosen --where or --variant.")
    book = RequestBook(task, items, model.fingerprint)
    folder = Path(path) if path is not None else Path(out) / _folder_name(task, model, book.identity())
    notes = _notes(model, book, items)
    with _opened(cache, model) as shared:
        job = _Job(task, model, items, book, folder, seed, ceilings, notes, shared)
        _run_locked(job, progress)
    return folder


@contextmanager
def _opened(cache: str | Path | None, model: Model) -> Iterator[AnswerCache | None]:
    if cache is None:
        yield None
        return
    with closing(AnswerCache.open(cache, model)) as shared:
        yield shared


def _run_locked(job: _Job, progress: Progress) -> None:
    opening = job.described()  # also proves, before anything is written, that the task's options hold
    folder, book = job.folder, job.book
    if not folder.exists() and (other := manifests.elsewhere(folder, opening)):
        log.warning("%s", other)
    _prepare(folder)
    with (
        run_lock(folder),
        Journal.open(folder / JOURNAL, identity=book.identity()) as journal,
        showing(progress) as show,
    ):
        _run(job, opening, journal, Meter(show, job.label, total=book.distinct_total))


def _run(job: _Job, opening: Mapping[str, Any], journal: Journal, meter: Meter) -> None:
    before = _earlier(job.folder)
    with _writable(job.folder):
        _sweep(job.folder)
        if before is None:
            manifests.write_manifest(job.folder, opening)
    with _resumable(journal):
        ask_missing(job.book, job.model, journal, meter, job.cache)
        meter.enter("judging")
        described = job.described()
        if before is not None and not meter.asked:
            # How the answers came about was told by the run that asked for them.
            described = manifests.asked_by(described, before)
        judged = job.task.score(job.items, StoredAnswers(job.book, journal))
        found = results(job.task, job.items, judged, described, job.ceilings)
        with _writable(job.folder):
            _publish(job, journal, described, found)
    meter.enter("done")


def _notes(model: Model, book: RequestBook, items: Sequence[Item]) -> list[str]:
    """Return what readers of the run should know: rows of a replayed file that fit nothing."""
    # A file of recorded answers is at hand wherever its replicas are.
    unused = unused_rows(getattr(model, "recorded", model), book, items)
    if not unused:
        return []
    note = brief_unused(unused, model.id)
    log.warning("%s", note)
    return [note]


def _earlier(folder: Path) -> dict[str, Any] | None:
    """Return the manifest an earlier run left; None where there is none, or none that can be read."""
    try:
        found = json.loads((folder / manifests.NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _publish(job: _Job, journal: Journal, described: Mapping[str, Any], found: Results) -> None:
    """Write the tables, and last the manifest that vouches for them."""
    manifests.write_manifest(job.folder, described)  # status "running": nobody reads half-renewed tables
    write_results(job.folder, found)
    tables = list(found.all_tables())
    manifests.write_manifest(
        job.folder, manifests.finished(described, job.items, job.book, journal, tables, job.cached_in)
    )
    sync_folder(job.folder)


@contextmanager
def _resumable(journal: Journal) -> Iterator[None]:
    """Say, whatever ends the run early, that its answers are kept and how to go on."""
    again = "Run again with the same command to resume."
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(f"Stopped. {_kept(journal)} {again}") from None
    except ModelError as error:
        error.hint = " ".join(filter(None, [error.hint, _kept(journal), again]))
        raise
    except KapwaError:
        raise
    except Exception as error:
        error.add_note(f"{_kept(journal)} {again}")
        raise


def _kept(journal: Journal) -> str:
    n = journal.counts().answered
    return f"{n} answer{'' if n == 1 else 's'} {'is' if n == 1 else 'are'} kept in {journal.path.parent}."


def _prepare(folder: Path) -> None:
    """Make the folder; refuse one that holds something else."""
    with _writable(folder):
        if folder.is_dir() and not (folder / JOURNAL).exists():
            strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
            # A run killed at its very start has a run.json at most; anything else is somebody's.
            if set(strangers) - {manifests.NAME}:
                raise RunError(
                    f"{folder} holds other files ({', '.join(sorted(strangers)[:3])}) and no run.",
                    hint="Choose an empty or new folder.",
                )
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)


def _sweep(folder: Path) -> None:
    """Remove half-written files that a killed process left; under the lock nobody else is writing any."""
    for part in folder.glob(".*.part*"):
        part.unlink(missing_ok=True)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise RunError(
            f"{where} cannot be written: {error.strerror or error}. Every answer committed before is kept.",
            hint="Check the disk's space and the folder's permissions, then run again with the same command.",
        ) from error


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable, where the system can (Windows cannot, and need not)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _folder_name(task: Task, model: Model, identity: str) -> str:
    return f"{slug(task.name)}-{slug(brief_model(model.id))}-{identity[:8]}"


def slug(text: str) -> str:
    """Return ``text`` as part of a run's name, in which the dots of a model's version stay."""
    return files.slug(text, keep=".", longest=_SLUG_LENGTH, empty="unnamed")


def brief_model(model_id: str) -> str:
    """Return the last part of a model's id: what people call it."""
    backend, _, name = model_id.partition(":")
    if name and backend in registry.available("models"):
        model_id = name
    return re.split(r"[/\\]", model_id.rstrip("/\\"))[-1] or model_id
