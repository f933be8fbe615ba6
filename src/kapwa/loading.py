"""Open tasks and models by name: what the user wrote is checked here, once, and misspellings get the nearest word."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, Unpack, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from kapwa import registry
from kapwa.catalog import entries
from kapwa.catalog.lookup import fetched_benchmarks
from kapwa.errors import UsageError, check_known, check_whole, nearest
from kapwa.models.base import Model, ModelKeywords, ModelOptions
from kapwa.parallel.base import Ray
from kapwa.suites.base import Judged, Selection, Step, Suite, Task, call, given_options, with_steps
from kapwa.tables.wrong_values import wrong_value
from kapwa.user_suites import registered
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from kapwa.datasets.errata import ItemKey
    from kapwa.runs.settings import RunSettings
    from kapwa.suites.blend.judge import Judge

log = logging.getLogger(__name__)
# What other tools call our keywords.
_ELSEWHERE = {
    "limit": "max_items num_items n_items max_samples num_examples size",
    "max_new_tokens": "max_tokens max_completion_tokens max_gen_toks max_length max_output_tokens",
    "samples": "n num_samples repeats num_repeats epochs k",
    "temperature": "temp",
    "shots": "num_fewshot fewshot few_shot n_shots k_shot",
    "system": "system_prompt system_message instructions",
    "concurrency": "max_connections workers num_concurrent max_workers parallel num_workers",
    "batch_tokens": "batch_size batch max_batch_size",
    "dtype": "torch_dtype precision quantization",
    "base_url": "api_base endpoint url host server",
    "out": "output output_dir output_path output_dir_name folder dir save_dir",
}
ASKS_CULTURES = {"culture", "country", "countries", "cultures", "nationality"}
ASKS_KEYS = {"key", "api_key", "token", "hf_token", "access_token", "secret"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """Which items of a task are asked, and how: the keywords of :func:`load_task`.

    ``data``: a file or folder, the name of what was fetched, or None for the suite's sample packs. ``variant``: a
    prompt variant, several ("full,partial" or a list), "all", or None for the suite's default. ``limit``: only so many
    items of each culture and variant, the first, or with ``subset="random"`` drawn by ``draw_seed``. ``where``: only
    items with these values, e.g. ``{"topic": "friendship"}``. ``system``: a message before each question; ``shots``: so
    many answered examples (:mod:`kapwa.suites.framing`). ``language`` ("local", "en") and ``prompt`` (ids) name
    variants of suites that are asked in several languages. ``wordings``, ``samples``, ``temperature``: see
    :mod:`kapwa.suites.varying`. ``errata``: a table as ``kapwa items`` proposes it, whose confirmed items are
    left out. ``options``: what the task's suite declares besides (:attr:`kapwa.suites.base.Suite.options`); as keywords
    they stand beside the others.
    """

    data: str | Path | None = None
    variant: str | Sequence[str] | None = None
    limit: int | None = None
    where: Mapping[str, str | Sequence[str]] | None = None
    subset: Literal["first", "random"] = "first"
    system: str | None = None
    shots: int = 0
    draw_seed: int = 0
    language: str | Sequence[str] | None = None
    prompt: str | Sequence[str] | None = None
    wordings: str | Path | None = None
    errata: str | Path | None = None
    samples: int | None = None
    temperature: float | None = None
    options: JsonMapping = field(default_factory=dict)

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of ``where`` by column, also where one alone is named."""
        return {column: (v,) if isinstance(v, str) else tuple(v) for column, v in (self.where or {}).items()}


class TaskKeywords(TypedDict, total=False):
    """The fields of :class:`TaskSettings` as keywords, for checkers of types and editors."""

    data: str | Path | None
    variant: str | Sequence[str] | None
    limit: int | None
    where: Mapping[str, str | Sequence[str]] | None
    subset: Literal["first", "random"]
    system: str | None
    shots: int
    draw_seed: int
    language: str | Sequence[str] | None
    prompt: str | Sequence[str] | None
    wordings: str | Path | None
    errata: str | Path | None
    samples: int | None
    temperature: float | None
    options: JsonMapping


def field_names(settings: type[TaskSettings | ModelOptions | RunSettings]) -> tuple[str, ...]:
    """Return the keywords that a class of settings declares."""
    return tuple(field.name for field in fields(settings) if field.init)


def our_word(name: str) -> str | None:
    """Return what Kapwa calls a setting that other tools call ``name``; None where nothing is known of it."""
    return next((word for word, others in _ELSEWHERE.items() if name in (word, *others.split())), None)


def refuse_keyword(name: str, taker: str, known: Collection[str]) -> NoReturn:
    """Raise UsageError for a keyword that ``taker`` (such as "kalahi/mc") does not have, with a suggestion.

    ``known``: the keywords it has. The suggestion is ours for another tool's word; else the nearest of ``known``; else
    the nearest keyword of the functions that open tasks and models.
    """
    from kapwa.runs.settings import RunSettings  # opening a task takes nothing of it

    takers = dict.fromkeys(field_names(RunSettings), "kapwa.evaluate")
    takers |= dict.fromkeys(field_names(ModelOptions), "kapwa.load_model")
    takers |= dict.fromkeys(field_names(TaskSettings), "kapwa.load_task")
    ours = our_word(name)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    near = difflib.get_close_matches(name, takers, n=1, cutoff=0.7)
    if name in ASKS_CULTURES:
        hint = "Choose cultures with where={'culture': ['Kenya', 'Peru']} of kapwa.load_task."
    elif name in ASKS_KEYS:
        hint = "API keys are read from environment variables such as OPENAI_API_KEY or HF_TOKEN, never from code."
    elif ours is not None:
        hint = f"In Kapwa, use {ours}=… of {takers.get(ours, 'kapwa.load_task')}."
    elif close:
        hint = f"Did you mean {close[0]!r}?"
    elif near:
        hint = f"Did you mean {near[0]!r} of {takers[near[0]]}?"
    else:
        hint = f"Available: {', '.join(sorted(known))}."
    raise UsageError(f"{taker} has no option {name!r}.", hint=hint)


def load_task(name: str, settings: TaskSettings | None = None, **keywords: Any) -> Task:
    """Open the task ``name`` ("suite/task", or a published benchmark).

    ``settings``: which items, and how they are asked; ``keywords``: the same, one by one: the fields of
    :class:`TaskSettings` and what the task's suite declares besides (None: its default), before those of ``settings``.
    Raises UsageError and DataError.
    """
    task_settings = settings or TaskSettings()
    if "/" not in name:
        name, data = asked_by_name(name, keywords.pop("data", task_settings.data))
        task_settings = replace(task_settings, data=data)
    suite = suite_of(name)
    task_settings = _with_keywords(task_settings, keywords, name, suite.options_of(name))
    selection = _selection(suite, task_settings)
    open_suite_task = _opener(suite, name, task_settings)
    task = open_suite_task(name, task_settings.data, selection, task_settings.options)
    if any("group" in item.fields for item in task.selected):
        task = call("kapwa.suites.groups:with_groups", task)
    steps: list[Step] = []
    if task_settings.system is not None or task_settings.shots:
        of_culture = {column: names for column, names in task_settings.values.items() if column == "culture"}
        whole = Selection(selection.variants, where=of_culture)
        steps.append(
            _frame(
                suite,
                task,
                partial(open_suite_task, name, task_settings.data, whole, task_settings.options),
                task_settings,
            )
        )
    if any(value is not None for value in (task_settings.wordings, task_settings.samples, task_settings.temperature)):
        steps += _variations(task, task_settings)
    framed = with_steps(task, steps) if steps else task
    if any(item.fields.get("messages") or item.fields.get("media") for item in framed.selected):
        framed = call("kapwa.suites.conversing:with_conversations", framed)
    return framed


def load_task_with_seed(name: str, settings: TaskSettings, seed: int | None = None) -> Task:
    """Open the task ``name``; ``seed``: for tasks that sample."""
    samples = "seed" in suite_of(name).options_of(name)
    return load_task(name, settings, **({"seed": seed} if samples else {}))


def _with_keywords(settings: TaskSettings, keywords: JsonMapping, task: str, declared: Collection[str]) -> TaskSettings:
    """Return ``settings`` with ``keywords``, those that the suite ``declared`` for the task among its options.

    Raises UsageError for one that the task does not have.
    """
    names = field_names(TaskSettings)
    common = {name: value for name, value in keywords.items() if name in names and name not in declared}
    merged = replace(settings, **common)
    where: object = merged.where
    if where is not None and not isinstance(where, Mapping):
        hint = "Name columns and values: where={'culture': ['Kenya', 'Peru']}."
        raise UsageError(f"where is {where!r}, but must be a dictionary.", hint=hint)
    options = {**merged.options, **{name: value for name, value in keywords.items() if name not in common}}
    # Every other task is drawn by a step; these draw as an option of their own.
    if "samples" in declared and merged.samples is not None:
        options["samples"], merged = merged.samples, replace(merged, samples=None)
    if "temperature" in declared and merged.temperature is not None:
        options["temperature"], merged = merged.temperature, replace(merged, temperature=None)
    for option, value in options.items():
        if value is not None and option not in declared:
            refuse_keyword(option, task, [*declared, *names])
    return replace(merged, options=given_options(task, options, declared))


def _selection(suite: Suite, settings: TaskSettings) -> Selection:
    """Return which items are asked for; raise UsageError for variants, a limit or a subset that cannot be."""
    named = (settings.variant, settings.language, settings.prompt)
    variants = None if named == (None, None, None) else _named_variants(suite, *named)
    if settings.limit is not None:
        check_whole("limit", settings.limit)
    check_whole("draw_seed", settings.draw_seed, least=0)
    check_known(settings.subset, ("first", "random"), f"There is no subset {settings.subset!r}.")
    if settings.subset == "random" and settings.limit is None:
        raise UsageError("A random subset needs its size (--subset random).", hint="Name it with --limit.")
    return Selection(
        variants, settings.limit, settings.values, settings.draw_seed if settings.subset == "random" else None
    )


def _opener(suite: Suite, name: str, settings: TaskSettings) -> Callable[..., Task]:
    """Return what opens a task of ``suite`` over its data, without the items that errata leave out."""
    if settings.data is None and not suite.form and suite.name in fetched_benchmarks():
        hint = "%s asks the sample packs, which are illustrative. What you fetched: --data %s"
        log.warning(hint, name, suite.name)
    open_suite_task: Callable[..., Task] = suite.open_task
    if settings.data is not None:  # which may need a mapping
        from kapwa.suites.folders.opening import open_with_mapping

        open_suite_task = partial(open_with_mapping, suite)
    return open_suite_task if settings.errata is None else partial(_open_without, settings.errata, open_suite_task)


def _open_without(
    path: str | Path,
    open_suite_task: Callable[..., Task],
    name: str,
    data: Any,
    selection: Selection,
    settings: JsonMapping,
) -> Task:
    """Open a task without the items whose fault somebody confirmed; without such items it is the very same task."""
    from kapwa.datasets.errata import errata_digest, errata_note, read_errata

    errata = read_errata(path)
    task = open_suite_task(name, data, selection, settings)
    everything = partial(open_suite_task, name, data, Selection(selection.variants), settings)
    chosen = errata.left_out(_keys(task), lambda: _keys(everything()))
    note = errata_note(errata, chosen)
    log.warning("%s", note)
    if not chosen:
        return task
    remaining = [item for item in task.selected if (item.id, item.variant, item.culture) not in chosen]
    if not remaining:
        raise UsageError(f"{errata.path} leaves no item of this selection.", hint="Select more, or other items.")

    def noted(*judged: Any) -> Judged:
        result = task.score(*judged)
        return replace(result, notes=[*result.notes, note])

    return replace(task, selected=remaining, options={**task.options, "errata": errata_digest(chosen)}, score=noted)


def _keys(task: Task) -> list[ItemKey]:
    return [(item.id, item.variant, item.culture) for item in task.selected]


def asked_by_name(name: str, data: str | Path | None) -> tuple[str, str | Path | None]:
    """Return task and data where ``name`` is a benchmark of the catalog, or a suite of one task; else both as they are.

    A benchmark whose data have a form of Kapwa's own as they are ("blend") is that form's task over the data fetched.
    """
    if name in registered() or (name in entries.names() and entries.entry(name).mapping is not None):
        tasks = registry.load("suites", name).tasks
        return (next(iter(tasks)) if len(tasks) == 1 else name), data
    if name not in entries.names():
        return name, data
    task = entries.entry(name).task
    if data is None and name not in fetched_benchmarks() and name in registry.installed("suites"):
        suite: Suite = registry.load("suites", name)
        hint = f"{nearest(name, suite.tasks)} For the published data: kapwa fetch {name}"
        raise UsageError(f"There is no task {name!r}, and the benchmark of that name was not fetched yet.", hint=hint)
    if data is None and Path(name).exists():  # of which data of this name would be taken, when they are named as data
        hint = f"For what lies there: {task} --data {name}. For the benchmark: the same command in another folder."
        raise UsageError(f"{name!r} is a benchmark, and a file or folder here.", hint=hint)
    return task, name if data is None else data


def suite_of(task: str) -> Suite:
    """Return the suite of a task ("suite/task"); raise UsageError, naming the nearest word, where there is no such."""
    if "/" not in task:
        task, _ = asked_by_name(task, None)
    suite_name = task.partition("/")[0]
    missing = f"There is no task {task!r}: no suite is named {suite_name!r}."
    suite: Suite = registry.load("suites", suite_name, missing=missing)
    check_known(task, suite.tasks, f"There is no task {task!r}.")
    return suite


def tasks_of_set(name: str, data: str | Path | None) -> list[str]:
    """Return the tasks of a set of published benchmarks, such as "cultural-core", or of a suite, such as "kalahi".

    ``data``: what a suite's tasks are to ask. Raises UsageError where there is no such, for a set with benchmarks that
    are not fetched, and for a set with data, as it has its own.
    """
    if name not in entries.set_names():
        known = [*entries.set_names(), *registry.available("suites")]
        check_known(name, known, f"There is no suite or set of benchmarks {name!r}.")
        suite: Suite = registry.load("suites", name)
        return list(suite.tasks)
    if data is not None:
        raise UsageError(f"The benchmarks of {name} have their own data.", hint="Leave out data.")
    names = entries.chosen(name).benchmarks
    fetched = fetched_benchmarks()
    absent = [each for each in names if each not in fetched or fetched[each].missing]
    if absent:
        message = f"{len(absent)} of the {len(names)} benchmarks of {name} are not fetched: {', '.join(absent)}."
        raise UsageError(message, hint=f"Fetch them: kapwa fetch {name}")
    return list(names)


def _frame(suite: Suite, task: Task, everything: Callable[[], Task], settings: TaskSettings) -> Step:
    """Return the step that puts a system message and answered examples, taken from ``everything``, before questions.

    Examples come from all of the data, so that they are the same whatever part of it is asked.
    """
    from kapwa.suites.framing import Frame, check_framing, examples_from

    check_framing(suite, task.name, settings.system, settings.shots)
    answers = suite.example_answers
    pool: Mapping[Any, Any] = {}
    if settings.shots and answers is not None:
        pool = examples_from(everything().items(), task.items(), settings.shots, answers)
    return Frame(settings.system or "", settings.shots, settings.draw_seed, pool, answers)


def _variations(task: Task, settings: TaskSettings) -> list[Step]:
    """Return the steps that ask in further wordings and draw several answers."""
    from kapwa.suites.varying import Wordings, read_wordings, sampling

    samples = sampling(task, seed=settings.draw_seed, samples=settings.samples, temperature=settings.temperature)
    texts = {} if settings.wordings is None else read_wordings(settings.wordings)
    return [*([Wordings(texts)] if texts else []), *([samples] if samples else [])]


def _named_variants(suite: Suite, variant: Any, language: Any, prompt: Any) -> tuple[str, ...] | None:
    """Return the variants that are named, by themselves or by languages and prompts; None: the suite's default."""
    picked = None if language is None and prompt is None else _picked(suite, language, prompt)
    if picked and variant is not None:
        raise UsageError("Name either variants, or languages and prompts.")
    return picked if variant is None else _variants(variant, suite)


def _variants(wanted: str | Sequence[str], suite: Suite) -> tuple[str, ...]:
    names = [wanted_name.strip() for wanted_name in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
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
        values = wanted.split(",") if isinstance(wanted, str) else wanted or ()
        chosen.append([value.strip() for value in values if value.strip()] or None)
    if chosen == [None, None]:
        return None
    if suite.pick_variants is None:
        raise UsageError(
            f"The suite {suite.name} takes neither --language nor --prompt: it is asked in one language by one prompt.",
            hint="Its variants: see kapwa suites.",
        )
    return suite.pick_variants(*chosen)


def load_model(
    spec: str, options: ModelOptions | None = None, *, engine: Ray | None = None, **keywords: Unpack[ModelKeywords]
) -> Model:
    """Load the model ``spec``: "smollm2", "hf:<id or folder>", "openai:<name>", "inspect:<name>", "replay:<file>".

    ``options``: how it is loaded or reached; ``keywords``: the same, one by one: the fields of
    :class:`kapwa.models.base.ModelOptions`, before those of ``options``. What a backend alone knows goes into
    ``extra``. ``engine``: None loads it in this process, :class:`kapwa.parallel.base.Ray` in the processes of a Ray
    cluster; its answers, and where they are kept, are the same. Close the model to end what was started.
    Raises UsageError for unknown backends and options, ModelError when the model cannot be loaded, and what
    :class:`kapwa.parallel.ray_model.RayModel` raises.
    """
    backend, name, settings = checked_spec(spec, {**options_dict(options), **keywords})
    if engine is None:
        model: Model = registry.load("models", backend)(name, settings)
        return model
    from kapwa.parallel.ray_model import RayModel

    return RayModel(engine, _open, (backend, name, settings))


def options_dict(options: ModelOptions | Mapping[str, object] | None) -> JsonObject:
    """Return how a model is loaded as keywords of :func:`load_model`."""
    if isinstance(options, ModelOptions):
        return {name: getattr(options, name) for name in field_names(ModelOptions)}
    return dict(options or {})


def _open(backend: str, name: str, settings: ModelOptions) -> Model:
    """Load a model in this process, which may be a worker's."""
    model: Model = registry.load("models", backend)(name, settings)
    return model


_HINTS = get_type_hints(ModelOptions)
_AT_LEAST = {"batch_tokens": 1, "concurrency": 1, "timeout": 0.001}


def checked_spec(spec: str, options: JsonMapping) -> tuple[str, str, ModelOptions]:
    """Return backend, name and options of the model ``spec``, loading nothing; raise UsageError for unknown ones."""
    backend, _, name = spec.partition(":")
    known = registry.installed("models")
    if backend not in known:
        raise UsageError(f"There is no model {spec!r}.", hint=_model_hint(spec, known))
    for option, value in options.items():
        if option not in _HINTS:
            refuse_keyword(option, "A model", _HINTS)
        allowed = get_args(_HINTS[option]) if get_origin(_HINTS[option]) is Literal else (value,)
        check_known(value, allowed, f"{option} cannot be {value!r}.")
        lowest = _AT_LEAST.get(option)
        if lowest is not None and not (isinstance(value, int | float) and value >= lowest):
            raise UsageError(f"{option} is {value!r}; it must be a number of at least {lowest:g}.")
        try:
            TypeAdapter(_HINTS[option]).validate_python(value, strict=option != "extra")
        except ValidationError as error:
            raise UsageError(f"{option} {wrong_value(error.errors()[0])}") from None
    return backend, name, ModelOptions(**options)


def _model_hint(spec: str, known: Collection[str]) -> str:
    """Say how the model that somebody may have meant by ``spec`` is written."""
    if "/" in spec or "\\" in spec or (spec != "" and Path(spec).exists()):
        return f"Local weights and hub ids are written hf:{spec}."
    hint = nearest(spec.partition(":")[0], known)
    if not spec or ":" in spec or hint.startswith("Did you mean"):
        return hint
    return f"Write before its name how it is reached, such as openai:{spec} for a server; see: kapwa models"


def load_judge(spec: str, cache: str | Path | None = None, **options: Any) -> Judge:
    """Load the model ``spec``, as :func:`load_model` does, to say whether a reply means one of the expected answers.

    Give it to :func:`load_task` as the option ``judge`` of ``blend/saq``: its verdicts stand beside the headline, with
    their agreement with the matcher. ``cache``: a file (SQLite) that keeps its answers.
    """
    from kapwa.runs.asking import StoredModel
    from kapwa.suites.blend.judge import Judge

    return Judge(StoredModel(load_model(spec, **options), Path(cache) if cache is not None else None))
