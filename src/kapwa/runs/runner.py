"""Ask, judge, write: one task, one model, one run directory. Run again, it goes on where it stopped."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kapwa.errors import RunError
from kapwa.files import in_the_way, jsonable
from kapwa.models.base import Model, check_capabilities, former_fingerprints
from kapwa.records import Floor, Item
from kapwa.runs.asking import ask, locked_store
from kapwa.runs.cache import AnswerCache, check_cache
from kapwa.runs.external_responses import unused_note
from kapwa.runs.finished_run import brief_model, slug
from kapwa.runs.live_score import LiveScore
from kapwa.runs.manifest import (
    asked_by,
    asking_notes,
    cost_of,
    describe,
    elsewhere,
    finished,
)
from kapwa.runs.media import keep_media
from kapwa.runs.progress import Meter, showing
from kapwa.runs.request_items import NAME as REQUESTS
from kapwa.runs.request_items import write_request_items
from kapwa.runs.requests import AnswerReader, RequestIndex, requests_of
from kapwa.runs.result_folder import writing
from kapwa.runs.result_tables import estimate_tables, write_results
from kapwa.runs.sameness import SameAnswers
from kapwa.runs.schema import NAME, RUN
from kapwa.runs.settings import BegunRun, RunSettings
from kapwa.runs.signature import signatures
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.runs.thoughts import TABLE, WatchedThoughts, thoughts_note
from kapwa.suites.base import Judged, Task
from kapwa.suites.folders.warned import note_of_data
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from kapwa.models.replay import ReplayRow
    from kapwa.runs.looks import Looks
    from kapwa.runs.shorter_thinking import ShorterThinkingRun

log = logging.getLogger(__name__)
_KEPT = "Every answer committed before is kept."


def run_task(task: Task, model: Model, settings: RunSettings, *, ceilings: Sequence[Floor] = ()) -> Path:
    """Evaluate ``model`` on ``task`` and return the run directory.

    ``ceilings`` are what people score. Memory: 50,000 requests, or 16 bytes each where there are more; all requests of
    a local model, to plan its batches; what the task keeps of the answers. Raises UsageError (nothing selected),
    ModelError (the model cannot do it, or failed), RunError (the directory is in use, damaged, of another run, or
    cannot be written; the cache is none), and RunInterrupted on Ctrl-C.
    """
    check_capabilities(model, task.needs, task.name)
    retries_before = model.retries  # of other runs of the same model
    items = task.items()
    index, folder = _named_run(task, items, model, settings)
    # Described before anything is written: this proves that the task's options hold.
    manifest = _first_manifest(task, items, model, index, settings)
    unused = model.unused(index)
    notes = [_warning_of_unused(unused, model, items)] if unused else []
    notes += filter(None, [note_of_data(task.data)])
    with ExitStack() as stack:
        cache = None if settings.cache is None else AnswerCache(settings.cache, model)
        if cache is not None:
            stack.callback(cache.close)
        store = stack.enter_context(_lock_and_open_journal(folder, index.identity, manifest))
        show = stack.enter_context(showing(settings.progress))
        live_score = LiveScore(task, items, index, store)
        name = f"{task.name} {settings.label or brief_model(model.id)}"
        meter = Meter(show, name, index.distinct_total, so_far=live_score.update)
        begun = BegunRun(folder, RUN.peek(folder) or {}, index.distinct_total, model)
        looks = _looks(task, items, store, settings, begun)
        if store.counts().answered < index.distinct_total:
            with writing(folder, _KEPT):
                write_request_items(folder, items, index)
        shorter_run = _shorter_thinking_run(folder, task, model, stack) if model.continues else None
        manifest |= _manifest_as_begun(begun, store, settings)
        answers = ask(
            index,
            model,
            store,
            meter=meter,
            cache=cache,
            limits=replace(settings.limits, seed=settings.seed),
            looks=looks,
            shorter_run=shorter_run,
        )
        meter.enter("judging")
        previous_manifest = RUN.peek(folder)
        manifest |= {} if looks is None else looks.described
        manifest = _manifest_as_asked(manifest, model, previous_manifest, anew=meter.state.asked > 0)
        manifest |= {} if shorter_run is None else shorter_run.continued_in(store)
        judged, loops = _judge(task, items, answers, greedy=index.fingerprint.get("sampling") == "greedy")
        run_notes = [*asking_notes(manifest), *judged.notes, *(cache.notes if cache else ())]
        run_notes += [] if looks is None else looks.notes
        manifest |= {"notes": [*notes, *run_notes], "warnings": list(judged.warnings)}
        tables = estimate_tables(manifest, judged, items, [*task.floors(items), *ceilings], task.item_table(items))
        tables |= {} if looks is None else looks.tables
        final_manifest = finished(manifest, answers, len(items), list(tables), cache.origin if cache else None)
        final_manifest["counts"] |= {"loops": loops} if loops else {}
        retries = None if model.retries is None else model.retries - (retries_before or 0)
        final_manifest["cost"] = cost_of(
            final_manifest, store.spent(), settings.limits.prices, retries, previous_manifest
        )
        _write(folder, items, manifest, tables, final_manifest)
        (folder / REQUESTS).unlink(missing_ok=True)  # its scores tell which items were asked
        if "looks" not in tables:
            (folder / "looks.parquet").unlink(missing_ok=True)  # of a rule that the run has gone beyond
        meter.enter("done")
    return folder


def _first_manifest(
    task: Task, items: Sequence[Item], model: Model, index: RequestIndex, settings: RunSettings
) -> JsonObject:
    """Return what is known of a run before it begins; raise UsageError where it would not be what was planned."""
    manifest = describe(task, model, items, seed=settings.seed, label=settings.label)
    if settings.trained_on is not None:
        manifest["trained_on"] = settings.trained_on
    manifest["model"]["fingerprint"] = jsonable(index.fingerprint)
    if settings.plan is not None:
        _check_plan(manifest, settings)
    return manifest


def _check_plan(manifest: JsonMapping, settings: RunSettings) -> None:
    """Raise UsageError where the run would not be what was planned."""
    from kapwa.runs.plans import FrozenPlan, check_binding  # not needed by most runs

    if isinstance(settings.plan, FrozenPlan):
        rule = None if settings.rule is None else {"rule": settings.rule.rule}
        check_binding(settings.plan, {**manifest, "until": rule})


def _manifest_as_begun(begun: BegunRun, store: AnswerStore, settings: RunSettings) -> JsonObject:
    """Return what is known once the folder is open: in which order questions are asked, and under which plan.

    Where the run may end early, the order is at random, if all of it was so.
    """
    facts: JsonObject = {}
    anew = store.counts().answered == 0
    if settings.limits.spending and (anew or begun.manifest.get("order") == "random"):
        facts["order"] = "random"
    if settings.plan is not None or "plan" in begun.manifest:
        facts |= _under_plan(begun, store, settings)
    return facts


def _under_plan(begun: BegunRun, store: AnswerStore, settings: RunSettings) -> JsonObject:
    """Return what ``run.json`` says of the plan; of a run that has just begun, it says so before the first answer."""
    from kapwa.runs.plans import FrozenPlan, carried

    if not isinstance(settings.plan, FrozenPlan):
        return {"plan": begun.manifest["plan"]}
    record = {"plan": carried(settings.plan, begun.folder, begun.manifest, store.counts().answered)}
    if "plan" not in begun.manifest:
        with writing(begun.folder, _KEPT):
            RUN.write(begun.folder, {**(RUN.peek(begun.folder) or {}), **record})
    return record


def _manifest_as_asked(
    manifest: JsonMapping, model: Model, previous_manifest: JsonMapping | None, *, anew: bool
) -> JsonObject:
    """Return the manifest once all is asked, with the signatures that follow; ``anew``: the model was asked something.

    ``previous_manifest``: what the folder says of the model that was asked before, if nothing was asked now.
    """
    changed = dict(manifest)
    if anew:  # the model may tell more by now
        changed["model"] = {**manifest["model"], "description": jsonable(dict(model.description))}
    else:
        changed = asked_by(manifest, previous_manifest)
    return changed | signatures(changed)


def _judge(task: Task, items: Sequence[Item], reader: AnswerReader, *, greedy: bool) -> tuple[Judged, int]:
    """Judge answers, and see on the way whether they are alike, hold thoughts, or run in circles.

    Return what was judged, and how many answers run in circles. ``greedy``: sampling was switched off in words.
    """
    thoughts = WatchedThoughts(reader, items)
    answers = SameAnswers(thoughts)
    judged = task.judge(items, answers)
    table, loops = thoughts.table(), thoughts.loops()
    if table is not None:
        judged = replace(judged, tables={**judged.tables, TABLE: table}, notes=[*judged.notes, thoughts_note(table)])
    warnings = filter(None, [answers.warning(), loops.warning(greedy=greedy)])
    return replace(judged, warnings=[*warnings, *judged.warnings]), loops.loops


def _write(
    folder: Path,
    items: Sequence[Item],
    manifest: Mapping[str, object],
    tables: Mapping[str, pl.DataFrame],
    final_manifest: Mapping[str, object],
) -> None:
    """Write what a run found; until all of it is there, its manifest says that it is running."""
    with writing(folder, _KEPT):
        if (RUN.peek(folder) or {}).get("status") != "running":
            RUN.write(folder, {**manifest, "cost": final_manifest["cost"]})
        keep_media(items, folder)
        write_results(folder, tables, final_manifest)
        sync_folder(folder)


def _named_run(task: Task, items: Sequence[Item], model: Model, settings: RunSettings) -> tuple[RequestIndex, Path]:
    """Return the requests of a run and its folder.

    A run that an earlier Kapwa began under another fingerprint of the same model is continued.
    """
    brief, out = f"{slug(task.name)}-{slug(brief_model(model.id))}", Path(settings.out)
    indices: list[tuple[RequestIndex, Path]] = []
    begun = [Path(settings.path)] if settings.path is not None else list(out.glob(f"{glob.escape(brief)}-*"))
    former = former_fingerprints(model, filter(None, map(_fingerprint_at, begun)))
    for fingerprint in (model.fingerprint, *(former if begun else ())):
        index = requests_of(task, items, fingerprint)
        folder = Path(settings.path) if settings.path is not None else out / f"{brief}-{index.identity[:8]}"
        if indices and _identity_at(folder) == index.identity:
            return index, folder
        indices.append((index, folder))
    return indices[0]


def _shorter_thinking_run(folder: Path, task: Task, model: Model, stack: ExitStack) -> ShorterThinkingRun | None:
    """Return the answers of a run beside ``folder`` that gave thoughts less room; ``stack`` closes them."""
    from kapwa.runs.shorter_thinking import find_shorter_run  # for models that think alone

    brief = f"{slug(task.name)}-{slug(brief_model(model.id))}"
    shorter_run = find_shorter_run(model, folder, folder.parent.glob(f"{glob.escape(brief)}-*"))
    return None if shorter_run is None else stack.enter_context(shorter_run)


def _fingerprint_at(folder: Path) -> JsonMapping | None:
    """Return the fingerprint of the model whose run is in ``folder``; None where no manifest says it."""
    model = (RUN.peek(folder) or {}).get("model")
    return model.get("fingerprint") if isinstance(model, dict) else None


def _identity_at(folder: Path) -> str | None:
    """Return which run has its answers in ``folder``; None where there are none."""
    if not (folder / JOURNAL).exists():
        return None
    try:
        with closing(AnswerStore(folder / JOURNAL, mode="read")) as store:
            return store.identity
    except RunError:
        return None  # what opens it to go on says what is wrong


def _looks(
    task: Task, items: Sequence[Item], store: AnswerStore, settings: RunSettings, begun: BegunRun
) -> Looks | None:
    """Return what looks at the answers while the run is asked; None where it asks in no blocks."""
    if not (settings.rule or "blocks" in begun.manifest):
        return None
    from kapwa.runs.looks import open_looks  # not needed by most runs

    looks = open_looks(task, items, store, settings, begun)
    if looks is not None and "blocks" not in begun.manifest:
        with writing(begun.folder, _KEPT):
            RUN.write(begun.folder, {**begun.manifest, **looks.described})
    return looks


def _warning_of_unused(unused: Sequence[ReplayRow], model: Model, items: Sequence[Item]) -> str:
    """Warn of recorded answers that nothing asks for, and return the note that says so."""
    note = unused_note(unused, model, items)
    log.warning("%s", note)
    return note


def check_places(out: Path, cache: Path | None = None) -> None:
    """Raise RunError where runs cannot be written to ``out``, or ``cache`` can be no cache; nothing is made."""
    # A run that is there already may go on in a folder in which no new one can be made.
    if not any(out.glob("*/run.json")) and (why := in_the_way(out)):
        hint = "Name another folder with --out, or correct its permissions."
        raise RunError(f"{out} cannot be written: {why}.", hint=hint)
    if cache is not None:
        check_cache(cache)


@contextmanager
def _lock_and_open_journal(folder: Path, identity: str, manifest: Mapping[str, object]) -> Iterator[AnswerStore]:
    """Make the folder of a run, or refuse one that holds something else; lock it and open its journal."""
    if not folder.exists() and (other := elsewhere(folder, manifest)):
        log.warning("%s", other)
    with writing(folder, _KEPT):
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
    with locked_store(folder, JOURNAL, identity) as store:
        with writing(folder, _KEPT):
            for leftover in folder.glob(".*.part*"):  # half-written files that a killed process left
                leftover.unlink(missing_ok=True)
            if RUN.peek(folder) is None:
                RUN.write(folder, manifest)
        yield store


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable, where the system can (Windows cannot, and need not)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
