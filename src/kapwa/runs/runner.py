"""Ask, judge, write: one task, one model, one run directory. Run again, it goes on where it stopped."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kapwa.errors import KapwaError, ModelError, RunError, UsageError
from kapwa.files import in_the_way
from kapwa.models.base import Model, check_capabilities
from kapwa.records import Floor
from kapwa.runs import manifest as manifests
from kapwa.runs.directory import JOURNAL, brief_model, open_journal, run_lock, slug
from kapwa.runs.execute import KINDS, Execution
from kapwa.runs.outputs import results, write_results
from kapwa.runs.progress import Meter, Progress, showing
from kapwa.runs.requests import AnswerReader, RequestIndex
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Task

log = logging.getLogger(__name__)

_RESUME = "Run again with the same command to resume."


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after everything that came was made durable; ``str()`` says how to go on.

    A KeyboardInterrupt still: what treats one rightly treats this rightly.
    """


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

    Memory: the requests of a run up to 50,000, or 16 bytes a request of a longer one while a served model is asked;
    all requests of a local model, to plan its batches; while judging, what the task keeps of the answers.

    Raises UsageError (nothing selected), ModelError (the model cannot do it, or failed; answers that came
    are kept), RunError (the directory is in use, damaged, of another run, or cannot be written; the
    cache is none), and RunInterrupted on Ctrl-C.
    """
    check_capabilities(model, task.needs, task.name)
    items = task.items()
    if not items:
        raise UsageError(f"{task.name} has no items to ask about.", hint="Loosen --where or --variant.")
    index = RequestIndex(task, items, model.fingerprint)
    name = f"{slug(task.name)}-{slug(brief_model(model.id))}-{index.identity[:8]}"
    folder = Path(path) if path is not None else Path(out) / name
    notes = []
    if unused := model.unused(index):
        from kapwa.runs.responses import unused_note

        notes.append(unused_note(unused, model, items))
        log.warning("%s", notes[0])
    # Described before anything is written: this proves that the task's options hold.
    described = manifests.describe(task, model, items, seed=seed)
    with ExitStack() as opened:
        shared = None
        if cache is not None:
            from kapwa.runs.cache import AnswerCache

            shared = AnswerCache(cache, model)
            opened.callback(shared.close)
        if not folder.exists() and (other := manifests.elsewhere(folder, described)):
            log.warning("%s", other)
        _prepare(folder)
        opened.enter_context(run_lock(folder))
        store = opened.enter_context(open_journal(folder, identity=index.identity))
        show = opened.enter_context(showing(progress))
        meter = Meter(show, f"{task.name} {brief_model(model.id)}", index.distinct_total)
        with _writable(folder):
            for part in folder.glob(".*.part*"):  # half-written files that a killed process left
                part.unlink(missing_ok=True)
            earlier = manifests.read_manifest(folder)
            if earlier is None:
                manifests.write_manifest(folder, described)
        with _resumable(store, folder):
            execution = Execution(model, store, meter, shared)
            for kind in KINDS:
                if kind in index.kinds:
                    execution.execute(kind, index.distinct(kind))
            meter.enter("judging")
            # A model may tell more after it was asked; of older answers, the run that asked for them has told.
            described = (
                manifests.describe(task, model, items, seed=seed)
                if meter.state.asked
                else manifests.asked_by(described, earlier)
            )
            described["notes"] = [*notes, *(shared.notes if shared else ())]
            found = results(task, items, task.score(items, AnswerReader(index, store)), described, ceilings)
            with _writable(folder):
                # Nobody reads half-renewed tables: the manifest that vouches for them comes last.
                if earlier is not None and earlier.get("status") != "running":
                    manifests.write_manifest(folder, described)
                write_results(folder, found)
                origin = shared.origin if shared else None
                done = manifests.finished(described, items, index, store, list(found.all_tables()), origin)
                manifests.write_manifest(folder, done)
                sync_folder(folder)
        meter.enter("done")
    return folder


def check_places(out: Path, cache: Path | None = None) -> None:
    """Raise RunError where runs cannot be written to ``out``, or ``cache`` can be no cache; nothing is made."""
    # A run that is there already may go on in a folder in which no new one can be made.
    if not any(out.glob("*/run.json")) and (why := in_the_way(out)):
        hint = "Name another folder with --out, or mend its permissions."
        raise RunError(f"{out} cannot be written: {why}.", hint=hint)
    if cache is not None:
        from kapwa.runs.cache import check_cache

        check_cache(cache)


@contextmanager
def _resumable(store: AnswerStore, folder: Path) -> Iterator[None]:
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
