"""The keys of a run file: the fields of the settings that functions take, under the same names, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from kapwa.loading import TaskSettings
from kapwa.models.base import ModelOptions
from kapwa.parallel.base import Ray
from kapwa.runs.costs import Pricing
from kapwa.runs.settings import RunSettings
from kapwa.runs.stopping import Limits
from kapwa.value_types import JsonObject

# Settings of runs that only calls in a program have, and those that are written field by field.
_NOT_IN_FILES = ("path", "progress", "limits", "prices")
# Settings of the run of a task or a model; the others are those of all runs.
OF_A_TASK = ("seed", "validators", "key", "until", "margin", "control", "look_every", "plan")
OF_A_MODEL = ("label",)
LIMITS = ("max_failed", "max_tokens", "max_cost")
PRICES = ("price_in", "price_out")


def _fields(settings: type, names: Collection[str] = (), *, without: Collection[str] = ()) -> JsonObject:
    """Return the fields of a class of settings for a pydantic model: all, or those in ``names``."""
    hints = _hints(settings)
    known = [field.name for field in fields(settings) if field.init and field.name not in without]
    return {name: (_written(hints[name]), None) for name in known if not names or name in names}


def _hints(settings: type) -> JsonObject:
    """Return the types of the fields of a class of settings; objects that a file can only name are texts."""
    return get_type_hints(settings, localns={"FrozenPlan": str, "Until": str})


def _written(hint: object) -> Any:
    """Return the type of a value in a file, where a path is a text."""
    return hint | str if Path in _nested_types(hint) else hint


def _nested_types(hint: object) -> Iterator[Any]:
    yield hint
    for nested in get_args(hint):
        yield from _nested_types(nested)


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def values_for(self, settings: type) -> JsonObject:
        """Return the keys in the file that are fields of ``settings``, with their values."""
        names = {field.name for field in fields(settings)}
        return {name: getattr(self, name) for name in self.model_fields_set if name in names}


class _OpenKeys(_Keys):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


def _name_alone(key: str) -> BeforeValidator:
    """Read a text as an entry that has only its name."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _field(kind: object, default: object = None) -> Any:
    return (kind, default)


_ENGINE: JsonObject = {"engine": (str, "local"), **_fields(Ray)}
_OPTIONS = _fields(ModelOptions)

JudgeKeys: Any = create_model("JudgeKeys", __base__=_Keys, model=(str, ...), **_OPTIONS)
ModelKeys: Any = create_model(
    "ModelKeys",
    __base__=_Keys,
    model=(str, ...),
    **_OPTIONS,
    **_ENGINE,
    **_fields(RunSettings, OF_A_MODEL),
    **_fields(Limits, LIMITS),
    **_fields(Pricing, PRICES),
)
# Further keys that the task's suite declares are checked when the task is known.
TaskKeys: Any = create_model(
    "TaskKeys",
    __base__=_OpenKeys,
    task=(str | None, None),
    suite=(str | None, None),
    judge=_field(Annotated[JudgeKeys, _name_alone("model")] | None),
    **_fields(TaskSettings, without=("options",)),
    **_fields(RunSettings, OF_A_TASK),
    **_fields(Limits, LIMITS),
)
FileKeys: Any = create_model(
    "FileKeys",
    __base__=_Keys,
    tasks=_field(Annotated[list[Annotated[TaskKeys, _name_alone("task")]], Field(min_length=1)], ...),
    models=_field(Annotated[list[Annotated[ModelKeys, _name_alone("model")]], Field(min_length=1)], ...),
    report=(str | None, None),
    **_ENGINE,
    **_fields(RunSettings, without=(*_NOT_IN_FILES, *OF_A_MODEL)),
    **_fields(Limits, LIMITS),
    **_fields(Pricing),
)


def paths_of(settings: type) -> Iterator[str]:
    """Yield the fields of a class of settings whose values are paths."""
    for name, hint in _hints(settings).items():
        if Path in _nested_types(hint):
            yield name
