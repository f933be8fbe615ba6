"""The options of verbs: how help shows each and what reads it says ``options.csv``, unless its type is ``Annotated``.

A row's group is the verb as people write it ("suite add"), or a dataclass: :func:`grouped` makes a verb with a
parameter of such a class take each of its fields as an option. Rows without a group are of options that verbs share.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import partial, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kapwa.errors import UsageError, check_known
from kapwa.files import read_text, table_rows

if TYPE_CHECKING:
    from kapwa.parallel.base import Ray
    from kapwa.suites.base import Setting, Task

RUNS = Path("runs")
_TEXTS = ("base_url", "device", "dtype", "revision")  # settings of a model that are texts
_ROWS = {(row["group"], row["name"]): row for row in table_rows(Path(__file__).with_name("options.csv"))}


def group(help: str) -> typer.Typer:
    """Return a verb that has verbs of its own, be it only one."""
    app = typer.Typer(no_args_is_help=True)
    app.callback(help=help)(lambda: None)
    return app


def parse_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated option."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def grouped(verb: Callable[..., None], declared: type | None = None, *, name: str = "") -> Callable[..., None]:
    """Make a verb for typer of a function in which a parameter that is a dataclass stands for its fields.

    ``declared``: the dataclass of the parameter of this name, where it is made when the program starts. ``name``: the
    verb as people write it, under which ``options.csv`` has its other parameters; without, these stay as they are.
    """
    flat: list[inspect.Parameter] = []
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        kind = declared if declared is not None and parameter.name == "declared" else parameter.annotation
        named_under = name
        options = [parameter]
        if isinstance(kind, type) and is_dataclass(kind):
            named_under = kind.__name__
            names = {option.name for option in flat}
            parts = inspect.signature(kind, eval_str=True).parameters.values()
            options = [part for part in parts if part.name not in names]
            groups[parameter.name] = kind, [option.name for option in options]
        for option in options:
            shown = option.annotation
            if named_under and not hasattr(shown, "__metadata__"):
                shown = Annotated[shown, described(option.name, named_under)]
            flat.append(option.replace(kind=option.KEYWORD_ONLY, annotation=shown))

    @wraps(verb)
    def called(**values: Any) -> None:
        for place, (group, options) in groups.items():
            values[place] = group(**{option: values.pop(option) for option in options})
        verb(**values)

    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return called


def described(name: str, group: str = "") -> Any:
    """Return what typer shows of an option, or of an argument, and how it is read, as ``options.csv`` says."""
    row = _ROWS.get((group, name)) or _ROWS["", name]
    if row["argument"]:
        return typer.Argument(metavar=row["metavar"], help=row["help"])
    shown: dict[str, Any] = {"metavar": row["metavar"], "help": row["help"], "rich_help_panel": row["panel"] or None}
    shown |= {end: json.loads(row[end]) for end in ("min", "max") if row[end]}
    if row["parser"]:
        shown["parser"] = _PARSERS[row["parser"]]
    return typer.Option(*row["spelled"].split(), **shown)


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
        read = json.loads(value)
        # A version that looks like a number is a text all the same: 1.10 is not 1.1.
        return name, read if name not in _TEXTS or isinstance(read, str) else value
    except (ValueError, RecursionError):
        if value.lstrip().startswith(("{", "[", '"')):
            raise UsageError(f"{option} {name}: {value[:40]!r} is not valid JSON, or nested too deeply.") from None
        return name, value


def parse_choice(pair: str) -> tuple[str, str]:
    """Turn ``name=code`` into what a name means."""
    name, code = parse_pair("--choose", pair, "name=code", "Congolese=COD")
    return name.strip(), code.strip()


# How a row of ``options.csv`` names what reads each value of its option.
_PARSERS: dict[str, Callable[[str], Any]] = {
    "choice": parse_choice,
    "judge setting": partial(parse_extra, option="--judge-option"),
    "names": parse_list,
    "setting": parse_extra,
}


@dataclass(kw_only=True)
class TaskOptions:
    """Which items are asked, and how answers are judged: of ``kapwa run`` and ``kapwa score``."""

    data: str | None = None
    variant: str | None = None
    limit: int | None = None
    subset: str = "first"
    where: list[str] | None = None
    country: Any = None
    language: str | None = None
    prompt: str | None = None
    matcher: str = "lexical"
    judge: str | None = None
    judge_option: list[Any] | None = None
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
        check_known(self.matcher, ("lexical", "judge"), f"There is no matcher {self.matcher!r}.")
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
        shown = {"metavar": setting.metavar, "help": setting.help, "rich_help_panel": setting.panel, **settings}
        option = typer.Option(*setting.spelled.split(), **shown)
        options.append((name, Annotated[kind, option], field(default=None)))
    return make_dataclass("SuiteOptions", options, kw_only=True)


@dataclass(kw_only=True)
class EngineOptions:
    """Where a model runs; :func:`open_engine` takes them."""

    engine: str = "local"
    address: str | None = None
    replicas: int | None = None
    cpus_per_replica: float | None = None
    gpus_per_replica: float | None = None


def open_engine(engine: str, **settings: Any) -> Ray | None:
    """Return what the options of the engine mean, fields of :class:`EngineOptions`; None is the local engine.

    Raises UsageError for those that the engine ignores.
    """
    from kapwa.parallel.base import Ray

    check_known(engine, ("local", "ray"), f"There is no engine {engine!r}.")
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
