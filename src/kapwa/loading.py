"""Open tasks and models by name: what the user wrote is checked here, once, and misspellings get the nearest word."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from kapwa import registry
from kapwa.errors import UsageError, check_known, check_whole, nearest
from kapwa.models.base import Model, ModelOptions, ModelSettings
from kapwa.parallel.base import Ray
from kapwa.suites.base import Judged, Selection, Step, Suite, Task, call, given_options, with_steps

if TYPE_CHECKING:
    from kapwa.datasets.errata import ItemKey
    from kapwa.suites.blend.judge import Judge

log = logging.getLogger(__name__)
_OF_EVERY_TASK = ("language", "prompt", "wordings", "errata")


def load_task(  # noqa: PLR0913 - each is one decision of the caller; all but one have defaults
    name: str,
    *,
    data: str | Path | None = None,
    variant: str | Sequence[str] | None = None,
    limit: int | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    subset: Literal["first", "random"] = "first",
    system: str | None = None,
    shots: int = 0,
    draw_seed: int = 0,
    **options: Any,
) -> Task:
    """Open the task ``name`` ("suite/task") over ``data`` (None: the suite's sample packs).

    ``variant``: a prompt variant, several ("full,partial" or a list), "all", or None for the suite's default.
    ``limit``: only so many items of each culture and variant, the first, or with ``subset="random"`` drawn by
    ``draw_seed``. ``where``: only items with these values, e.g. ``{"topic": "friendship"}``. ``system``: a message
    before each question; ``shots``: so many answered examples (:mod:`kapwa.suites.framing`).
    ``options`` of every task: ``language`` ("local", "en") and ``prompt`` (ids) name variants of suites that are asked
    in several languages. ``errata``: a table as ``kapwa audit items`` proposes it, whose confirmed items are left out.
    ``wordings``, ``samples``, ``temperature``: see :mod:`kapwa.suites.varying`. Others are those that the task's suite
    declares (:attr:`kapwa.suites.base.Suite.options`); None: its default. Raises UsageError and DataError.
    """
    suite = suite_of(name)
    language, prompt, wordings, errata = (options.pop(option, None) for option in _OF_EVERY_TASK)
    unsaid = variant is language is prompt is None
    variants = None if unsaid else _named_variants(suite, variant, language, prompt)
    values = {column: (v,) if isinstance(v, str) else tuple(v) for column, v in (where or {}).items()}
    if limit is not None:
        check_whole("limit", limit)
    if subset not in ("first", "random"):
        raise UsageError(f"There is no subset {subset!r}.", hint=nearest(subset, ("first", "random")))
    if subset == "random" and limit is None:
        raise UsageError("A random subset needs its size.", hint="Name it with --limit.")
    declared = suite.options_of(name)
    # Every other task is drawn by a step; these draw samples as an option of their own.
    drawn = {option: options.pop(option, None) for option in ("samples", "temperature") if option not in declared}
    settings = given_options(name, options, declared)
    opened: Callable[..., Task] = suite.open_task
    if data is not None:  # which may need a mapping
        from kapwa.suites.folders.opening import open_task

        opened = partial(open_task, suite)
    if errata is not None:
        opened = partial(_open_without, errata, opened)
    task = opened(name, data, Selection(variants, limit, values, draw_seed if subset == "random" else None), settings)
    if any("group" in item.fields for item in task.selected):
        task = call("kapwa.suites.groups:with_groups", task)
    steps: list[Step] = []
    if system is not None or shots:
        of_culture = {column: names for column, names in values.items() if column == "culture"}
        everything = partial(opened, name, data, Selection(variants, where=of_culture), settings)
        steps.append(_frame(suite, task, everything, system, shots, draw_seed))
    if wordings is not None or any(value is not None for value in drawn.values()):
        steps += _variations(task, wordings, seed=draw_seed, **drawn)
    asked = with_steps(task, steps) if steps else task
    if any(item.fields.get("messages") or item.fields.get("media") for item in asked.selected):
        asked = call("kapwa.suites.conversing:with_conversations", asked)
    return asked


def _open_without(
    path: str | Path,
    opened: Callable[..., Task],
    name: str,
    data: Any,
    selection: Selection,
    settings: Mapping[str, Any],
) -> Task:
    """Open a task without the items whose fault somebody confirmed; without such items it is the very same task."""
    from kapwa.datasets.errata import errata_digest, errata_note, read_errata

    errata = read_errata(path)
    task = opened(name, data, selection, settings)
    everything = partial(opened, name, data, Selection(selection.variants), settings)
    chosen = errata.left_out(_keys(task), lambda: _keys(everything()))
    note = errata_note(errata, chosen)
    log.warning("%s", note)
    if not chosen:
        return task
    kept = [item for item in task.selected if (item.id, item.variant, item.culture) not in chosen]
    if not kept:
        raise UsageError(f"{errata.path} leaves no item of this selection.", hint="Select more, or other items.")

    def noted(*judged: Any) -> Judged:
        result = task.score(*judged)
        return replace(result, notes=[*result.notes, note])

    return replace(task, selected=kept, options={**task.options, "errata": errata_digest(chosen)}, score=noted)


def _keys(task: Task) -> list[ItemKey]:
    return [(item.id, item.variant, item.culture) for item in task.selected]


def suite_of(task: str) -> Suite:
    """Return the suite of a task ("suite/task"); raise UsageError, naming the nearest word, where there is no such."""
    suite_name = task.partition("/")[0]
    missing = f"There is no task {task!r}: no suite is named {suite_name!r}."
    suite: Suite = registry.load("suites", suite_name, missing=missing)
    check_known(task, suite.tasks, f"There is no task {task!r}.")
    return suite


def _frame(suite: Suite, task: Task, everything: Callable[[], Task], system: str | None, shots: int, seed: int) -> Step:
    """Return the step that puts a system message and answered examples, taken from ``everything``, before questions.

    Examples come from all of the data, so that they are the same whatever part of it is asked.
    """
    from kapwa.suites.framing import Frame, check_framing, examples_from

    check_framing(suite, task.name, system, shots)
    answers = suite.example_answers
    pool: Mapping[Any, Any] = {}
    if shots and answers is not None:
        pool = examples_from(everything().items(), task.items(), shots, answers)
    return Frame(system or "", shots, seed, pool, answers)


def _variations(task: Task, wordings: str | Path | None, **drawn: Any) -> list[Step]:
    """Return the steps that ask in further wordings and draw several answers."""
    from kapwa.suites.varying import Wordings, read_wordings, sampling

    samples = sampling(task, **drawn)
    texts = {} if wordings is None else read_wordings(wordings)
    return [*([Wordings(texts)] if texts else []), *([samples] if samples else [])]


def _named_variants(suite: Suite, variant: Any, language: Any, prompt: Any) -> tuple[str, ...] | None:
    """Return the variants that are named, by themselves or by languages and prompts; None: the suite's default."""
    picked = None if language is None and prompt is None else _picked(suite, language, prompt)
    if picked and variant is not None:
        raise UsageError("Name either variants, or languages and prompts.")
    return picked if variant is None else _variants(variant, suite)


def _variants(wanted: str | Sequence[str], suite: Suite) -> tuple[str, ...]:
    names = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name]
    if names == ["all"]:
        return tuple(suite.variants)
    if not names:
        raise UsageError("No variant is named.", hint=nearest("", suite.variants))
    for name in names:
        # Which prompts there are in a suite that is asked by prompts only the data knows.
        if name not in suite.variants and suite.pick_variants is None:
            raise UsageError(f"There is no variant {name!r}.", hint=nearest(name, (*suite.variants, "all")))
    return tuple(dict.fromkeys(names))


def _picked(
    suite: Suite, language: str | Sequence[str] | None, prompt: str | Sequence[str] | None
) -> tuple[str, ...] | None:
    """The variants that languages and prompts name; None where neither names any."""
    chosen = []
    for wanted in (language, prompt):
        parts = wanted.split(",") if isinstance(wanted, str) else wanted or ()
        chosen.append([part.strip() for part in parts if part.strip()] or None)
    if chosen == [None, None]:
        return None
    if suite.pick_variants is None:
        raise UsageError(
            f"The suite {suite.name} is asked in one language by one prompt.", hint="Its variants: see kapwa suites."
        )
    return suite.pick_variants(*chosen)


def load_model(spec: str, *, engine: Ray | None = None, **options: Unpack[ModelSettings]) -> Model:
    """Load the model ``spec``: "smollm2", "hf:<id or folder>", "openai:<name>", "inspect:<name>", "replay:<file>".

    ``options``: the fields of :class:`kapwa.models.base.ModelOptions`; what a backend alone knows goes into
    ``extra``. ``engine``: None loads it in this process, :class:`kapwa.parallel.base.Ray` in the processes of a Ray
    cluster; its answers, and where they are kept, are the same. Close the model to end what was started.
    Raises UsageError for unknown backends and options, ModelError when the model cannot be loaded, and what
    :class:`kapwa.parallel.ray_model.RayModel` raises.
    """
    backend, name, settings = checked_spec(spec, options)
    if engine is None:
        model: Model = registry.load("models", backend)(name, settings)
        return model
    from kapwa.parallel.ray_model import RayModel

    return RayModel(engine, _open, (backend, name, settings))


def _open(backend: str, name: str, settings: ModelOptions) -> Model:
    """Load a model in this process, which may be a worker's."""
    model: Model = registry.load("models", backend)(name, settings)
    return model


_HINTS = get_type_hints(ModelOptions)
_AT_LEAST = {"batch_tokens": 1, "concurrency": 1, "timeout": 0.001}


def checked_spec(spec: str, options: Mapping[str, Any]) -> tuple[str, str, ModelOptions]:
    """Return backend, name and options of the model ``spec``, loading nothing; raise UsageError for unknown ones."""
    backend, _, name = spec.partition(":")
    known = registry.installed("models")
    if backend not in known:
        raise UsageError(f"There is no model {spec!r}.", hint=_model_hint(spec, known))
    for option, value in options.items():
        check_known(option, _HINTS, f"Models have no option {option!r}.")
        allowed = get_args(_HINTS[option]) if get_origin(_HINTS[option]) is Literal else (value,)
        check_known(value, allowed, f"{option} cannot be {value!r}.")
        lowest = _AT_LEAST.get(option)
        if lowest is not None and not (isinstance(value, int | float) and value >= lowest):
            raise UsageError(f"{option} is {value!r}; it must be a number of at least {lowest:g}.")
        try:
            TypeAdapter(_HINTS[option]).validate_python(value, strict=option != "extra")
        except ValidationError as error:
            raise UsageError(f"{option} cannot be {value!r}: {error.errors()[0]['msg']}.") from None
    return backend, name, ModelOptions(**options)


def _model_hint(spec: str, known: Collection[str]) -> str:
    """Say how the model that somebody may have meant by ``spec`` is written."""
    if "/" in spec or "\\" in spec or (spec != "" and Path(spec).exists()):
        return f"Local weights and hub ids are written hf:{spec}."
    hint = nearest(spec.partition(":")[0], known)
    if not spec or ":" in spec or hint.startswith("Did you mean"):
        return hint
    return f"Write before its name how it is reached, such as openai:{spec} for a server; see: kapwa models"


def load_judge(spec: str, cache: str | Path | None = None, **options: Unpack[ModelSettings]) -> Judge:
    """Load the model ``spec`` as one that says whether a reply means one of the expected answers.

    Give it to :func:`load_task` as the option ``judge`` of ``blend/saq``: its verdicts stand beside the headline, with
    their agreement with the matcher. ``cache``: a file (SQLite) that keeps its answers.
    """
    from kapwa.runs.execute import StoredModel
    from kapwa.suites.blend.judge import Judge

    return Judge(StoredModel(load_model(spec, **options), Path(cache) if cache is not None else None))
