"""Options that several verbs share, each written once.

Many options together stand in a dataclass, and :func:`grouped` makes a verb with a parameter of that class take each
field as an option. How help shows a field says ``options.csv``, unless its type is ``Annotated``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kapwa.errors import UsageError, nearest
from kapwa.files import read_text, table_rows

if TYPE_CHECKING:
    from kapwa.parallel.base import Ray
    from kapwa.suites.base import Setting, Task

RUNS = Path("runs")


def option(metavar: str | None, help: str, panel: str | None = None, *, names: str = "", **settings: Any) -> Any:
    """Return a typer option; ``names``: its spellings, parted by a space, where they are not the parameter's name."""
    return typer.Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **settings)


def group(help: str) -> typer.Typer:
    """Return a verb that has verbs of its own, be it only one."""
    app = typer.Typer(no_args_is_help=True)
    app.callback(help=help)(lambda: None)
    return app


def parse_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated option."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def grouped(verb: Callable[..., None], declared: type | None = None) -> Callable[..., None]:
    """Make a verb for typer of a function in which a parameter that is a dataclass stands for its fields.

    ``declared``: the dataclass of the parameter of this name, where it is made when the program starts.
    """
    flat: list[inspect.Parameter] = []
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        options = [parameter]
        kind = declared if declared is not None and parameter.name == "declared" else parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            names = {option.name for option in flat}
            options = [part for part in _options_of(kind) if part.name not in names]
            groups[parameter.name] = kind, [option.name for option in options]
        flat += [option.replace(kind=option.KEYWORD_ONLY) for option in options]

    @wraps(verb)
    def called(**values: Any) -> None:
        for name, (group, options) in groups.items():
            values[name] = group(**{option: values.pop(option) for option in options})
        verb(**values)

    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return called


def _options_of(group: type) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as options; of those that are not ``Annotated``, ``options.csv`` has a row."""
    rows = table_rows(Path(__file__).with_name("options.csv"))
    shown = {row["name"]: row for row in rows if row["group"] == group.__name__}
    options = []
    for parameter in inspect.signature(group, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not hasattr(kind, "__metadata__"):
            row = shown[parameter.name]
            limits = {end: json.loads(row[end]) for end in ("min", "max") if row[end]}
            metavar, panel = row["metavar"] or None, row["panel"] or None
            kind = Annotated[kind, option(metavar, row["help"], panel, names=row["spelled"], **limits)]
        options.append(parameter.replace(annotation=kind))
    return options


def parse_pair(option: str, pair: str, form: str, example: str, *, may_be_empty: bool = True) -> tuple[str, str]:
    """Split ``name=value``, the ``form`` that the value of an option has; whether the value after = may be empty."""
    name, equals, value = pair.partition("=")
    if not name or not equals or not (value or may_be_empty):
        raise UsageError(f"{option} {pair!r} is not of the form {form}.", hint=f"For example: {example}")
    return name, value


def parse_extra(pair: str, option: str = "--extra") -> tuple[str, Any]:
    """Turn ``name=JSON`` into name and value; a word that is no JSON is taken as text."""
    name, value = parse_pair(option, pair, "name=JSON", f"{option} attempts=3")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        if value.lstrip().startswith(("{", "[", '"')):
            raise UsageError(f"{option} {name}: {value[:40]!r} is not valid JSON, or nested too deeply.") from None
        return name, value


def parse_judge_option(pair: str) -> tuple[str, Any]:
    """Turn ``name=JSON`` into name and value, as :func:`parse_extra`."""
    return parse_extra(pair, "--judge-option")


Data = Annotated[
    str | None,
    option("DATA", "Folder, file or hub id of the data \\[default: the sample packs, which are illustrative]."),
]
Variant = Annotated[
    str | None, option("NAMES", "Prompt variants, comma-separated, or 'all' \\[default: the suite's first].")
]
Where = Annotated[
    list[str] | None,
    option(
        "COLUMN=VALUE", "Only items with this value, e.g. topic=friendship, or without it (topic=!food); repeatable."
    ),
]
Out = Annotated[Path, option("FOLDER", "Folder that holds the run folders.")]
Label = Annotated[str | None, option("NAME", "Name of this run in reports and lists \\[default: the model's name].")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON to stdout.")]
All = Annotated[bool, typer.Option("--all", help="List each finding in its own line, not one line for each kind.")]
Seed = Annotated[int, option("N", "Seed of everything random; recorded.", min=0)]
Key = Annotated[
    list[Path] | None, option("FILE", "The key file written with the forms, or a folder that holds it; repeatable.")
]

JudgeOption = Annotated[
    list[Any] | None,
    option(
        "NAME=JSON",
        "A setting of the judge, as for any model: timeout=30, concurrency=4, revision=v2, attempts=3; repeatable.",
        "Everyday knowledge",
        parser=parse_judge_option,
    ),
]


@dataclass(kw_only=True)
class TaskOptions:
    """Which items are asked, and how answers are judged: of ``kapwa run`` and ``kapwa score``."""

    data: Data = None
    variant: Variant = None
    limit: int | None = None
    subset: str = "first"
    where: Where = None
    country: Annotated[
        Any,
        option(
            "NAMES",
            "Only these cultures, comma-separated, as the data spells them; '!Japan' leaves one out.",
            parser=parse_list,
        ),
    ] = None
    language: str | None = None
    prompt: str | None = None
    matcher: str = "lexical"
    judge: str | None = None
    judge_option: JudgeOption = None
    samples: int | None = None
    wordings: Path | None = None
    errata: Path | None = None

    def open(
        self, task: str, out: Path, *, seed: int | None = None, concurrency: int | None = None, **more: Any
    ) -> Task:
        """Open ``task``; ``seed`` goes to tasks that draw samples; a judge's answers are kept in ``out``.

        ``concurrency``: as many requests as the model takes at a time, for a judge that says no other number.
        """
        from kapwa.loading import load_judge, load_task, suite_of

        settings = {**vars(self), "where": parse_where(self.where, self.country), "draw_seed": seed or 0, **more}
        del settings["country"], settings["matcher"], settings["judge_option"]
        if self.matcher not in ("lexical", "judge"):
            raise UsageError(f"There is no matcher {self.matcher!r}.", hint=nearest(self.matcher, ("lexical", "judge")))
        if (self.matcher == "judge") != (self.judge is not None):
            raise UsageError("A judge needs both: --matcher judge --judge MODEL.")
        if self.judge is not None:
            served = self.judge.startswith(("openai:", "inspect:"))
            usual = {"concurrency": concurrency} if served and concurrency is not None else {}
            kept = out / "judge-answers.sqlite"
            settings["judge"] = load_judge(self.judge, kept, **judge_settings(self.judge_option, **usual))
        elif self.judge_option:
            raise UsageError("--judge-option says how a judge is asked, but none is named.", hint="Add: --judge MODEL")
        if "seed" in suite_of(task).options_of(task):
            settings["seed"] = seed
        return load_task(task, **settings)


# How typer takes each kind of a suite's option.
_KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (str | None, {}),
    "number": (int | None, {"min": 1}),
    "names": (Any, {"parser": parse_list}),
}


def suite_options(*, asks: bool) -> type:
    """Return a dataclass, for :func:`grouped`, of the options that installed suites declare for their tasks.

    ``asks``: with those that bear on what is asked. Of one name the first suite's is shown, for all that have it; a
    name that is an option of the verb itself already stays that.
    """
    from kapwa.registry import installed

    declared: dict[str, Setting] = {}
    for _, suite in sorted(installed("suites").items()):
        try:
            tasks = suite.load().options.values()
        except Exception:  # noqa: BLE001, S112 - somebody's broken suite must not take the verb away
            continue
        for setting in chain.from_iterable(tasks):
            if setting.metavar and (asks or not setting.asks):
                declared.setdefault(setting.name, setting)
    options: list[tuple[str, Any, Any]] = []
    for name, setting in declared.items():
        kind, settings = _KINDS[setting.kind]
        shown = option(setting.metavar, setting.help, setting.panel, names=setting.spelled, **settings)
        options.append((name, Annotated[kind, shown], field(default=None)))
    return make_dataclass("SuiteOptions", options, kw_only=True)


Engine = Annotated[str, option("NAME", "local (this process), or ray.", "Where it runs")]
Address = Annotated[
    str | None,
    option(
        "ADDRESS",
        "Cluster to join: auto, or HOST:PORT \\[default: RAY_ADDRESS, else this machine alone].",
        "Where it runs",
    ),
]


@dataclass(kw_only=True)
class EngineOptions:
    """Where a model runs; :func:`open_engine` takes them."""

    engine: Engine = "local"
    address: Address = None
    replicas: int | None = None
    cpus_per_replica: float | None = None
    gpus_per_replica: float | None = None


def open_engine(engine: str, **settings: Any) -> Ray | None:
    """Return what the options of the engine mean, fields of :class:`EngineOptions`; None is the local engine.

    Raises UsageError for those that the engine ignores.
    """
    from kapwa.parallel.base import Ray

    if engine not in ("local", "ray"):
        raise UsageError(f"There is no engine {engine!r}.", hint=nearest(engine, ("local", "ray")))
    named = {name: value for name, value in settings.items() if value is not None}
    if engine == "ray":
        return Ray(**named)
    for name in named:
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} says how Ray is used, but this command does not use Ray.", hint="Add: --engine ray")
    return None


def judge_settings(pairs: list[Any] | None, **usual: Any) -> Any:
    """Turn the pairs of ``--judge-option`` into options of a model, those of one backend alone into ``extra``."""
    from kapwa.models.base import ModelOptions

    names = {field.name for field in fields(ModelOptions)} - {"extra"}
    settings = {name: value for name, value in pairs or () if name in names}
    extra = {name: value for name, value in pairs or () if name not in names}
    return {**usual, **settings, "extra": extra}


def read_at(text: str) -> str:
    """Return ``text``, or for ``@file`` what the file holds, without blanks around it."""
    return read_text(Path(text[1:])).strip() if text.startswith("@") else text


def parse_where(pairs: list[str] | None, cultures: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Turn ``column=value`` options into a selection; the same column may come several times.

    ``cultures`` is the short way to select by culture; "all" selects nothing away.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    if cultures and cultures != ("all",):
        chosen["culture"] = cultures
    for pair in pairs or ():
        column, value = parse_pair("--where", pair, "column=value", "--where topic=friendship", may_be_empty=False)
        chosen[column] = (*chosen.get(column, ()), value)
    return chosen
