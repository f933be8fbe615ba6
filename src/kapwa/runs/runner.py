"""Ask, judge, write: one task, one model, one run directory. Run again, it goes on where it stopped."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from kapwa.errors import KapwaError, ModelError, RunError
from kapwa.files import in_the_way, jsonable, write_json
from kapwa.models.base import Model, check_capabilities
from kapwa.records import Floor, Item
from kapwa.runs.cache import AnswerCache, check_cache
from kapwa.runs.directory import brief_model, results, run_lock, slug, write_results
from kapwa.runs.execute import KINDS, Execution
from kapwa.runs.manifest import asked_by, describe, elsewhere, finished, read_manifest
from kapwa.runs.media import keep_media
from kapwa.runs.progress import Meter, Progress, showing
from kapwa.runs.requests import AnswerReader, RequestIndex
from kapwa.runs.responses import unused_note
from kapwa.runs.schema import NAME
from kapwa.runs.so_far import RunningMean
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.suites.base import Task

log = logging.getLogger(__name__)

_RESUME = "Run again with the same command to resume."


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after everything that came was made durable; ``str()`` says how to go on.

    A KeyboardInterrupt still: what treats one rightly treats this rightly.
    """


def run_task(  # noqa: PLR0913 - see kapwa.api.evaluate
    task: Task,
    model: Model,
    *,
    out: str | Path = "runs",
    seed: int = 0,
    progress: Progress = None,
    path: str | Path | None = None,
    ceilings: Sequence[Floor] = (),
    cache: str | Path | None = None,
    label: str | None = None,
) -> Path:
    """Evaluate ``model`` on ``task`` and return the run directory; arguments: see :func:`kapwa.api.evaluate`.

    ``ceilings`` are what people score. Memory: 50,000 requests, or 16 bytes each where there are more; all requests of
    a local model, to plan its batches; what the task keeps of the answers. Raises UsageError (nothing selected),
    ModelError (the model cannot do it, or failed), RunError (the directory is in use, damaged, of another run, or
    cannot be written; the cache is none), and RunInterrupted on Ctrl-C.
    """
    check_capabilities(model, task.needs, task.name)
    items = task.items()
    index = RequestIndex(task, items, model.fingerprint)
    name = f"{slug(task.name)}-{slug(brief_model(model.id))}-{index.identity[:8]}"
    folder = Path(path) if path is not None else Path(out) / name
    # Described before anything is written: this proves that the task's options hold.
    described = describe(task, model, items, seed=seed, label=label)
    notes = _notes_of_unused(model, index, items)
    with ExitStack() as opened:
        shared = opened.enter_context(closing(AnswerCache(cache, model))) if cache is not None else None
        store = opened.enter_context(_opened(folder, index.identity, described))
        show = opened.enter_context(showing(progress))
        running = RunningMean(task, items, model.fingerprint, store)
        meter = Meter(show, f"{task.name} {brief_model(model.id)}", index.distinct_total, so_far=running.look)
        opened.enter_context(resumable(store, folder))
        execution = Execution(model, store, meter, shared)
        # Where batches are planned, the plan says what is asked again, and counts.
        if not model.atomic_batches and (kept := store.counts().answered):
            meter.add(kept, kept=kept)
        for kind in KINDS:
            if kind in index.kinds:
                execution.execute(kind, index.distinct(kind))
        meter.enter("judging")
        if meter.state.asked:  # the model may tell more by now
            described["model"]["description"] = jsonable(dict(model.description))
        else:
            described = asked_by(described, read_manifest(folder))
        judged = task.score(items, AnswerReader(index, store))
        described["notes"] = [*notes, *judged.notes, *(shared.notes if shared else ())]
        tables = results(described, judged, items, [*task.floors(items), *ceilings], task.item_table(items))
        done = finished(described, items, index, store, list(tables), shared.origin if shared else None)
        with _writable(folder):
            if (read_manifest(folder) or {}).get("status") != "running":
                write_json(folder / NAME, described, sort=False)
            keep_media(items, folder)
            write_results(folder, tables, done)
            sync_folder(folder)
        meter.enter("done")
    return folder


def _notes_of_unused(model: Model, index: RequestIndex, items: Sequence[Item]) -> list[str]:
    """Return a note on recorded answers that nothing asks for, after a warning of it; none where all are asked for."""
    unused = model.unused(index)
    if not unused:
        return []
    note = unused_note(unused, model, items)
    log.warning("%s", note)
    return [note]


def check_places(out: Path, cache: Path | None = None) -> None:
    """Raise RunError where runs cannot be written to ``out``, or ``cache`` can be no cache; nothing is made."""
    # A run that is there already may go on in a folder in which no new one can be made.
    if not any(out.glob("*/run.json")) and (why := in_the_way(out)):
        hint = "Name another folder with --out, or correct its permissions."
        raise RunError(f"{out} cannot be written: {why}.", hint=hint)
    if cache is not None:
        check_cache(cache)


@contextmanager
def resumable(store: AnswerStore, folder: Path) -> Iterator[None]:
    """Say, whatever ends the run early, that its answers are kept and how to go on."""

    def kept() -> str:
        n = store.counts().answered
        return f"{n} answer{'' if n == 1 else 's'} {'is' if n == 1 else 'are'} kept in {folder}. {_RESUME}"

    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(f"Stopped. {kept()}") from None
    except ModelError as error:
        error.hint = " ".join(filter(None, [error.hint, kept()]))
        raise
    except KapwaError:
        raise
    except Exception as error:
        error.add_note(kept())
        raise


@contextmanager
def _opened(folder: Path, identity: str, described: Mapping[str, Any]) -> Iterator[AnswerStore]:
    """Make the folder of a run, or refuse one that holds something else; lock it and open its journal."""
    if not folder.exists() and (other := elsewhere(folder, described)):
        log.warning("%s", other)
    with _writable(folder):
        if folder.is_dir() and not (folder / JOURNAL).exists():
            strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
            # A run killed at its very start has a run.json at most; anything else is somebody's.
            if set(strangers) - {NAME}:
                raise RunError(
                    f"{folder} holds other files ({', '.join(sorted(strangers)[:3])}) and no run.",
                    hint="Choose an empty or new folder.",
                )
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    with run_lock(folder), AnswerStore(folder / JOURNAL, identity=identity) as store:
        with _writable(folder):
            for part in folder.glob(".*.part*"):  # half-written files that a killed process left
                part.unlink(missing_ok=True)
            if read_manifest(folder) is None:
                write_json(folder / NAME, described, sort=False)
        yield store


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
