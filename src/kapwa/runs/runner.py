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
from kapwa.runs.asking import answers_in, ask
from kapwa.runs.cache import AnswerCache, check_cache
from kapwa.runs.directory import brief_model, slug
from kapwa.runs.folder import writing
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
from kapwa.runs.responses import unused_note
from kapwa.runs.results import results, write_results
from kapwa.runs.sameness import SameAnswers
from kapwa.runs.schema import NAME, RUN
from kapwa.runs.settings import BegunRun, RunSettings
from kapwa.runs.signature import signatures
from kapwa.runs.so_far import RunningMean
from kapwa.runs.stopping import Limits
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.runs.thoughts import TABLE, WatchedThoughts, thoughts_note
from kapwa.suites.base import Judged, Task
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from kapwa.runs.earlier import EarlierAnswers
    from kapwa.runs.looks import Looks

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
    items = task.items()
    index, folder = _named_run(task, items, model, settings)
    # Described before anything is written: this proves that the task's options hold.
    described = describe(task, model, items, seed=settings.seed, label=settings.label)
    if settings.trained_on is not None:
        described["trained_on"] = settings.trained_on
    described["model"]["fingerprint"] = jsonable(index.fingerprint)
    if settings.plan is not None:
        _check_plan(described, settings)
    notes = _notes_of_unused(model, index, items)
    with ExitStack() as opened:
        cache = None if settings.cache is None else AnswerCache(settings.cache, model)
        if cache is not None:
            opened.callback(cache.close)
        store = opened.enter_context(_opened(folder, index.identity, described))
        show = opened.enter_context(showing(settings.progress))
        running = RunningMean(task, items, index, store)
        meter = Meter(
            show, f"{task.name} {settings.label or brief_model(model.id)}", index.distinct_total, so_far=running.look
        )
        described |= _order(store, RUN.peek(folder), settings.limits)
        begun = BegunRun(folder, RUN.peek(folder) or {}, index.distinct_total, model)
        looks = _looks(task, items, store, settings, begun)
        if store.counts().answered < index.distinct_total:
            with writing(folder, _KEPT):
                write_request_items(folder, items, index)
        shorter = _earlier(folder, task, model, opened) if model.continues else None
        if settings.plan is not None or "plan" in begun.manifest:
            described |= _under_plan(begun, store, settings)
        described |= {} if looks is None else looks.described
        answers = ask(
            index,
            model,
            store,
            meter=meter,
            cache=cache,
            limits=replace(settings.limits, seed=settings.seed),
            looks=looks,
            earlier=shorter,
        )
        meter.enter("judging")
        earlier = RUN.peek(folder)
        described |= {} if looks is None else looks.described
        described |= _as_asked(described, model, earlier, anew=meter.state.asked > 0)
        described |= {} if shorter is None else shorter.continued_in(store)
        judged, loops = _judge(task, items, answers, greedy=index.fingerprint.get("sampling") == "greedy")
        run_notes = [*asking_notes(described), *judged.notes, *(cache.notes if cache else ())]
        run_notes += [] if looks is None else looks.notes
        described |= {"notes": [*notes, *run_notes], "warnings": list(judged.warnings)}
        tables = results(described, judged, items, [*task.floors(items), *ceilings], task.item_table(items))
        tables |= {} if looks is None else looks.tables
        done = finished(described, answers, len(items), list(tables), cache.origin if cache else None)
        done["counts"] |= {"loops": loops} if loops else {}
        done["cost"] = cost_of(done, store.spent(), settings.limits.prices, model.retries, earlier)
        _write(folder, items, described, tables, done)
        (folder / REQUESTS).unlink(missing_ok=True)  # its scores tell which items were asked
        if "looks" not in tables:
            (folder / "looks.parquet").unlink(missing_ok=True)  # of a rule that the run has gone beyond
        meter.enter("done")
    return folder


def _check_plan(described: Mapping[str, object], settings: RunSettings) -> None:
    """Raise UsageError where the run would not be what was planned."""
    from kapwa.runs.plans import FrozenPlan, check_binding  # not needed by most runs

    if isinstance(settings.plan, FrozenPlan):
        rule = None if settings.rule is None else {"rule": settings.rule.rule}
        check_binding(settings.plan, {**described, "until": rule})


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


def _as_asked(described: JsonMapping, model: Model, earlier: JsonMapping | None, *, anew: bool) -> JsonObject:
    """Return what is known of the model by now, with the signatures that follow; ``anew``: it was asked something."""
    changed = dict(described)
    if anew:  # the model may tell more by now
        changed["model"] = {**described["model"], "description": jsonable(dict(model.description))}
    else:
        changed = asked_by(described, earlier)
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
    described: Mapping[str, object],
    tables: Mapping[str, pl.DataFrame],
    done: Mapping[str, object],
) -> None:
    """Write what a run found; until all of it is there, its manifest says that it is running."""
    with writing(folder, _KEPT):
        if (RUN.peek(folder) or {}).get("status") != "running":
            RUN.write(folder, {**described, "cost": done["cost"]})
        keep_media(items, folder)
        write_results(folder, tables, done)
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


def _earlier(folder: Path, task: Task, model: Model, opened: ExitStack) -> EarlierAnswers | None:
    """Return the answers of a run beside ``folder`` that gave thoughts less room; ``opened`` closes them."""
    from kapwa.runs.earlier import earlier_answers  # for models that think alone

    brief = f"{slug(task.name)}-{slug(brief_model(model.id))}"
    earlier = earlier_answers(model, folder, folder.parent.glob(f"{glob.escape(brief)}-*"))
    return None if earlier is None else opened.enter_context(earlier)


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


def _order(store: AnswerStore, earlier: Mapping[str, object] | None, limits: Limits) -> dict[str, str]:
    """Return in which order questions are asked, where the run may end early: at random, if all of it was so."""
    begun = store.counts().answered > 0
    at_random = limits.spending and (not begun or (earlier or {}).get("order") == "random")
    return {"order": "random"} if at_random else {}


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
def _opened(folder: Path, identity: str, described: Mapping[str, object]) -> Iterator[AnswerStore]:
    """Make the folder of a run, or refuse one that holds something else; lock it and open its journal."""
    if not folder.exists() and (other := elsewhere(folder, described)):
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
    with answers_in(folder, JOURNAL, identity) as store:
        with writing(folder, _KEPT):
            for leftover in folder.glob(".*.part*"):  # half-written files that a killed process left
                leftover.unlink(missing_ok=True)
            if RUN.peek(folder) is None:
                RUN.write(folder, described)
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
