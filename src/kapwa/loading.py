"""Open tasks and models by name: what the user wrote is checked here, once, and misspellings get the nearest word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from kapwa import registry
from kapwa.engines.settings import Ray
from kapwa.errors import UsageError, nearest
from kapwa.models.base import Model, ModelOptions
from kapwa.suites.base import Selection, Suite, Task

if TYPE_CHECKING:
    from kapwa.suites.blend.judge import Judge


def load_task(
    name: str,
    *,
    data: str | Path | None = None,
    variant: str | Sequence[str] | None = None,
    limit: int | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    language: str | Sequence[str] | None = None,
    prompt: str | Sequence[str] | None = None,
    **options: Any,
) -> Task:
    """Open the task ``name`` ("suite/task") over ``data`` (None: the suite's sample packs).

    ``variant``: a prompt variant, several ("full,partial" or a list), "all", or None for the suite's default.
    ``limit``: only the first so many items of each culture and variant. ``where``: only items with these values,
    e.g. ``{"topic": "friendship"}``. ``language`` ("local", "en") and ``prompt`` (prompt ids) name variants of suites
    that are asked in several languages. ``options`` are the task's own; None leaves one at its default.
    Raises UsageError naming the nearest known word, and DataError for data that is not of the suite's form.
    """
    from kapwa.suites.folders import open_task

    suite = _suite_of(name)
    picked = _picked(suite, _names(language), _names(prompt))
    if picked and variant is not None:
        raise UsageError("Name either variants, or languages and prompts.")
    selection = Selection(
        variants=picked or _variants(variant, suite),
        limit=_limit(limit),
        where={
            column: (values,) if isinstance(values, str) else tuple(values) for column, values in (where or {}).items()
        },
    )
    return open_task(suite, name, data, selection, options)


def _suite_of(name: str) -> Suite:
    suite_name, slash, _ = name.partition("/")
    known = registry.available("suites")
    if suite_name not in known:
        raise UsageError(
            f"There is no task {name!r}: no suite is named {suite_name!r}.", hint=nearest(suite_name, known)
        )
    suite: Suite = registry.load("suites", suite_name)
    if not slash or name not in suite.tasks:
        raise UsageError(f"There is no task {name!r}.", hint=nearest(name, suite.tasks))
    return suite


def _variants(wanted: str | Sequence[str] | None, suite: Suite) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    names = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name]
    if names == ["all"]:
        return tuple(suite.variants)
    if not names:
        raise UsageError("No variant is named.", hint=nearest("", suite.variants))
    for name in names:
        if name not in suite.variants:
            raise UsageError(f"There is no variant {name!r}.", hint=nearest(name, (*suite.variants, "all")))
    return tuple(dict.fromkeys(names))


def _names(wanted: str | Sequence[str] | None) -> list[str] | None:
    if wanted is None:
        return None
    parts = wanted.split(",") if isinstance(wanted, str) else wanted
    return [part.strip() for part in parts if part.strip()] or None


def _picked(suite: Suite, languages: list[str] | None, prompts: list[str] | None) -> tuple[str, ...] | None:
    """The variants that languages and prompts name; None where neither is given."""
    if languages is None and prompts is None:
        return None
    if suite.pick_variants is None:
        raise UsageError(
            f"The suite {suite.name} is asked in one language by one prompt.", hint="Its variants: see kapwa suites."
        )
    return suite.pick_variants(languages, prompts)


def _limit(limit: int | None) -> int | None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise UsageError(f"limit is {limit!r}; it must be a whole number of at least 1.")
    return limit


def load_model(spec: str, *, engine: Ray | None = None, **options: Any) -> Model:
    """Load the model ``spec``: "smollm2", "hf:<id or folder>", "openai:<name>", "inspect:<name>", "replay:<file>".

    ``options``: the fields of :class:`kapwa.models.base.ModelOptions`; what a backend alone knows goes into
    ``extra``. ``engine``: None loads it in this process, :class:`kapwa.engines.settings.Ray` in the processes of a Ray
    cluster; its answers, and where they are kept, are the same. Close the model to end what was started.
    Raises UsageError for unknown backends and options, ModelError when the model cannot be loaded, and what
    :class:`kapwa.engines.ray_model.RayModel` raises.
    """
    backend, name, settings = _checked_spec(spec, options)
    if engine is None:
        return _open(backend, name, settings)
    from kapwa.engines.ray_model import RayModel
    from kapwa.runs.asking import without_secrets

    return RayModel(engine, _open, (backend, name, settings), guard=without_secrets)


def _open(backend: str, name: str, settings: ModelOptions) -> Model:
    """Load a model in this process, which may be a worker's."""
    model: Model = registry.load("models", backend)(name, settings)
    return model


def _checked_spec(spec: str, options: Mapping[str, Any]) -> tuple[str, str, ModelOptions]:
    backend, _, name = spec.partition(":")
    known = registry.available("models")
    if backend not in known:
        looks_local = "/" in spec or "\\" in spec or (spec != "" and Path(spec).exists())
        hint = f"Local weights and hub ids are written hf:{spec}." if looks_local else nearest(backend, known)
        raise UsageError(f"There is no model {spec!r}.", hint=hint)
    return backend, name, _model_options(options)


_AT_LEAST = {"batch_tokens": 1, "concurrency": 1, "timeout": 0.001}


def _model_options(options: Mapping[str, Any]) -> ModelOptions:
    known = {field.name for field in fields(ModelOptions)}
    hints = get_type_hints(ModelOptions)
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"Models have no option {name!r}.", hint=nearest(name, known))
        allowed = get_args(hints[name])
        if hints[name] in _CHOICES and value not in allowed:
            raise UsageError(f"{name} cannot be {value!r}.", hint=nearest(str(value), allowed))
        lowest = _AT_LEAST.get(name)
        if lowest is not None and not (isinstance(value, int | float) and value >= lowest):
            raise UsageError(f"{name} is {value!r}; it must be a number of at least {lowest:g}.")
    return ModelOptions(**options)


_CHOICES = [hint for hint in get_type_hints(ModelOptions).values() if getattr(hint, "__origin__", None) is Literal]


def load_judge(spec: str, cache: str | Path | None = None, **options: Any) -> Judge:
    """Load the model ``spec`` as one that says whether a reply means one of the expected answers.

    Give it to :func:`load_task` as the option ``judge`` of ``blend/saq``: its verdicts stand beside the headline, with
    their agreement with the matcher. ``cache``: a JSON-lines file that keeps them.
    """
    from kapwa.suites.blend.judge import Judge

    return Judge(load_model(spec, **options), cache)
