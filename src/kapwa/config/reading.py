"""Read a run file; problems are reported with their location and remedy, before any model is loaded."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kapwa.config.asking import ConfiguredModel
from kapwa.config.environment import NAME, read_variables
from kapwa.config.schema import PRICES, FileKeys, paths_of
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, KapwaError, RunError, UsageError, nearest, speaking_of, worded
from kapwa.loading import (
    ASKS_CULTURES,
    ASKS_KEYS,
    TaskSettings,
    checked_spec,
    load_judge,
    load_task_with_seed,
    options_dict,
    our_word,
    suite_of,
    tasks_of_set,
)
from kapwa.models.base import ModelOptions, refuse_secrets
from kapwa.models.openai_client import checked_url
from kapwa.parallel.base import Ray, open_engine
from kapwa.runs.costs import Prices, Pricing
from kapwa.runs.finished_run import brief_model
from kapwa.runs.runner import check_folders
from kapwa.runs.settings import RunSettings
from kapwa.runs.stopping import Limits
from kapwa.suites.base import Setting, Task
from kapwa.tables.yaml_files import KeyPath, Located, load_yaml
from kapwa.value_types import JsonMapping, JsonObject, Keywords

_WHAT, _SEE = "run file", "see docs/how-to/run-a-file.md."
# What a message names: the words in its quotation marks, and what "is …" is said of at its beginning.
_NAMED = re.compile(r"'([^']+?)(?:: [^']*)?'|^(\w+) (?:is|cannot) ")
_OLD_RUN = "decided:"
_NO_KEY = "Never write a key into the file: key_variable names the variable of the environment that holds it."
# The key for a table of prices.
_TABLE = "prices"
# The types that an option of a task may have in a file, and their names, by its kind.
_KINDS: dict[str, tuple[Any, str]] = {
    "number": ((int, float), "a number"),
    "text": (str, "a text"),
    "names": ((str, list), "a list of names"),
}


@dataclass(frozen=True, slots=True)
class ConfiguredTask:
    """A task that a run file names in its entry ``number``, not yet opened: its settings, and ``judge``, a model."""

    name: str
    number: int
    settings: TaskSettings
    seed: int
    judge: tuple[str, ModelOptions] | None = None


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The checked content of a run file; nothing is opened, loaded or written yet.

    ``models``: each with the settings of its run of each of ``tasks``. ``out``: the folder of runs. ``report``: the
    page about all runs, if one is wanted. ``variables``: those of ``.env`` beside the file, which are never shown.
    """

    path: Path
    tasks: Sequence[ConfiguredTask]
    models: Sequence[ConfiguredModel]
    out: Path
    report: Path | None
    variables: Mapping[str, str] = field(repr=False)
    _lines: Located = field(repr=False)

    def open_tasks(self) -> list[Task]:
        """Read the data of all tasks; raise DataError, naming the row of the file, for a task that cannot be run."""
        with speaking_of("file"):
            return [self._opened(task) for task in self.tasks]

    def _opened(self, task: ConfiguredTask) -> Task:
        settings = task.settings
        try:
            if task.judge is not None:
                spec, options = task.judge
                judge = load_judge(spec, self.out / "judge-answers.sqlite", **options_dict(options))
                settings = replace(settings, options={**settings.options, "judge": judge})
            return load_task_with_seed(task.name, settings, task.seed)
        except UsageError as error:
            raise _located_error(error, self.path, self._lines, ("tasks", task.number)) from None
        except DataError as error:
            raise _naming_key(error, self.path, self._lines) from None

    def unset_keys(self) -> list[str]:
        """Return the variables for keys of models that are set neither in the environment nor in ``.env``."""
        models = [model.options for model in self.models]
        judges = [task.judge[1] for task in self.tasks if task.judge is not None]
        named = dict.fromkeys(each.key_variable for each in [*models, *judges] if each.key_variable)
        return [name for name in named if not (os.environ.get(name) or self.variables.get(name))]

    def check_keys(self) -> None:
        """Raise UsageError where the variable of a model's key is not set."""
        for name in self.unset_keys():
            keys = next((keys for keys in self._lines.lines if self._names_variable(keys, name)), ())
            model = next((model.name for model in self.models if model.options.key_variable == name), "a judge")
            where = f"{self.path}, row {self._lines.line(keys)}, key 'key_variable'"
            hint = f"Set it in the environment, or write a line {name}=… into {self.path.with_name(NAME)}."
            raise UsageError(f"{where}: {name}, the variable for the key of {model}, is not set.", hint=hint)

    def _names_variable(self, keys: KeyPath, name: str) -> bool:
        return bool(keys) and keys[-1] == "key_variable" and self._lines.value_at(keys) == name


def read_config(path: str | Path) -> RunConfig:
    """Read a run file and the ``.env`` beside it; raise DataError naming file, row, key and remedy.

    Paths in it are relative to its own folder. Checks that need the data are made when tasks are opened.
    """
    with speaking_of("file"):
        return _read(Path(path))


def _read(file: Path) -> RunConfig:
    located = load_yaml(file)
    keys: Any
    keys, problems = read_model(file, FileKeys, _WHAT, _SEE, located=located, hint=_key_hint)
    _raise(problems)
    reading = _Reading(file, located, file.parent)
    named = [each for number, task in enumerate(keys.tasks) for each in reading.each_task(number, task)]
    keys = keys.model_copy(update={"tasks": [task for _, task in named]})
    tasks = [reading.task(number, task, keys) for number, task in named]
    try:
        models = [reading.model(number, model, keys) for number, model in enumerate(keys.models)]
    except DataError as error:
        raise _naming_key(error, file, located) from None
    _raise(reading.problems)
    out = file.parent / (keys.out or RunSettings().out)
    try:
        check_folders(out, None if keys.cache is None else file.parent / keys.cache)
    except RunError as error:
        raise _located_error(error, file, located, ()) from None
    report = None if keys.report is None else file.parent / keys.report
    return RunConfig(
        file,
        [task for task in tasks if task is not None],
        [model for model in models if model is not None],
        out,
        report,
        variables=read_variables(file.with_name(NAME)),
        _lines=located,
    )


@dataclass(slots=True)
class _Reading:
    """The state of reading a file: its lines, the folder to which its paths are relative, and its problems."""

    path: Path
    located: Located
    base: Path
    problems: list[DataError] = field(default_factory=list)

    def each_task(self, number: int, keys: Any) -> list[tuple[int, Any]]:
        """Return an entry with its index for each task that it names: one, or those of a suite or set."""
        key_path: KeyPath = ("tasks", number)
        if (keys.task is None) == (keys.suite is None):
            self._note("names either a 'task' or a 'suite'.", key_path, "For example: - task: kalahi/mc")
            return []
        if keys.suite is None:
            return [(number, keys)]
        try:
            names = tasks_of_set(keys.suite, keys.data)
        except UsageError as error:
            self._refuse(error, (*key_path, "suite"))
            return []
        return [(number, keys.model_copy(update={"task": name, "suite": None})) for name in names]

    def task(self, number: int, keys: Any, whole: Any) -> ConfiguredTask | None:
        """Return one of the tasks; None where it is not valid, which adds a problem."""
        key_path: KeyPath = ("tasks", number)
        try:
            declared = suite_of(keys.task).options_of(keys.task)
        except KapwaError as error:
            self._refuse(error, (*key_path, "task"))
            return None
        settings = self.paths(TaskSettings, keys.values_for(TaskSettings))
        options = {name: value for name, value in (keys.model_extra or {}).items() if value is not None}
        for name, value in options.items():
            if name not in declared:
                known = [*declared, *type(keys).model_fields]
                self._note(f"is not a key of the task {keys.task!r}.", (*key_path, name), _key_hint(name, known))
            else:
                options[name] = self._option(declared[name], value, (*key_path, name))
        seed = keys.seed if keys.seed is not None else whole.seed or 0
        judge = None
        if keys.judge is not None and "judge" not in declared:
            self._note(f"is not a key of the task {keys.task!r}.", (*key_path, "judge"), "Leave it out.")
        elif keys.judge is not None:
            judge = self._checked(keys.judge, (*key_path, "judge"))
        settings = {"draw_seed": seed, **settings, "options": options}
        return ConfiguredTask(keys.task, number, TaskSettings(**settings), seed, judge)

    def _option(self, setting: Setting, value: Any, key_path: KeyPath) -> Any:
        """Return the value of an option as the task's suite takes it; None and a problem where it is not valid."""
        kind, what = _KINDS[setting.kind]
        if isinstance(value, bool) or not isinstance(value, kind):
            self._note(f"is {value!r}; it must be {what}.", key_path, setting.help)
            return None
        if setting.kind == "names":
            names = value.split(",") if isinstance(value, str) else [str(entry) for entry in value]
            return tuple(self._beside_file(name.strip()) for name in names if name.strip())
        return self._beside_file(value) if isinstance(value, str) else value

    def model(self, number: int, keys: Any, whole: Any) -> ConfiguredModel | None:
        """Return one of the models, with the settings of its run of each task; None where it is not valid."""
        key_path: KeyPath = ("models", number)
        checked = self._checked(keys, key_path)
        try:
            prices = self._pricing(keys, whole).of(keys.model)
            settings = [self._run_settings(task, keys, whole, prices) for task in whole.tasks]
            engine = self._engine(keys, whole)
        except UsageError as error:
            self._refuse(error, key_path)
            return None
        if checked is None:
            return None
        spec, options = checked
        names = Counter(each.label or brief_model(each.model) for each in whole.models)
        name = keys.label or brief_model(keys.model)
        if names[name] > 1:
            hint = "Give each its own 'label:', so that reports and lists can distinguish them."
            self._note(f"{names[name]} models are called {name!r}.", key_path, hint)
        return ConfiguredModel(spec, options, settings, engine, prices)

    def _checked(self, keys: Any, key_path: KeyPath) -> tuple[str, ModelOptions] | None:
        """Return a model's name (with a path in it made relative to the file) and its options; None if not valid."""
        backend, colon, name = keys.model.partition(":")
        spec = f"{backend}:{self._beside_file(name)}" if colon else keys.model
        try:
            _, _, options = checked_spec(spec, keys.values_for(ModelOptions))
            refuse_secrets("extra", options.extra, _NO_KEY)
        except UsageError as error:
            self._refuse(error, key_path)
            return None
        try:
            if options.base_url:
                checked_url(options.base_url)
        except UsageError as error:
            self._refuse(error, (*key_path, "base_url"))
            return None
        return spec, options

    def _pricing(self, keys: Any, whole: Any) -> Pricing:
        table = None if whole.prices is None else self.base / whole.prices
        own_prices = {name: getattr(keys, name) for name in PRICES if getattr(keys, name) is not None}
        return Pricing(**{**whole.values_for(Pricing), _TABLE: table, **own_prices})

    def _run_settings(self, task: Any, model: Any, whole: Any, prices: Prices | None) -> RunSettings:
        """Return the settings of the run of a task by a model: those of the file, of the task, of the model."""
        levels = (whole, task, model)
        limits: Keywords = {}
        for keys in levels:
            limits |= {name: value for name, value in keys.values_for(Limits).items() if name != _TABLE}
        settings: Keywords = {"out": self.base / RunSettings().out}
        for keys in levels:
            settings |= self.paths(RunSettings, keys.values_for(RunSettings))
        until = settings.get("until")
        if isinstance(until, str) and until.startswith(_OLD_RUN):
            settings["until"] = f"{_OLD_RUN}{self.base / until.removeprefix(_OLD_RUN)}"
        return RunSettings(**settings, limits=Limits(**limits, prices=prices))

    def _engine(self, keys: Any, whole: Any) -> Ray | None:
        names = ["engine", *(each.name for each in fields(Ray))]
        return open_engine(**{name: getattr(keys if name in keys.model_fields_set else whole, name) for name in names})

    def paths(self, settings: type, keys: JsonMapping) -> JsonObject:
        """Return ``keys`` with paths relative to the working folder; "data" may be a name where no such path exists."""
        moved = dict(keys)
        for name in paths_of(settings):
            value = keys.get(name)
            if isinstance(value, list):
                moved[name] = [self.base / path for path in value]
            elif value is not None:
                moved[name] = self._beside_file(value) if name == "data" else self.base / value
        return moved

    def _beside_file(self, name: str) -> str:
        """Return ``name``, or its path where a file or folder of that name is beside the run file."""
        there = self.base / name
        return str(there) if self.base != Path() and name and there.exists() else name

    def _refuse(self, error: KapwaError, key_path: KeyPath) -> None:
        self.problems.append(_located_error(error, self.path, self.located, key_path))

    def _note(self, message: str, key_path: KeyPath, hint: str) -> None:
        self._refuse(UsageError(message, hint=hint), key_path)


def _located_error(error: KapwaError, path: Path, located: Located, entry: KeyPath) -> DataError:
    """Return an error of options as one of the file: with its location, and with keys instead of options.

    ``entry``: where the error arose. It is located at the key that it names, there or elsewhere in the file.
    """
    message, hint = (worded(text, "file") for text in (error.summary, error.hint or ""))
    key_path = _named_key(message, located, entry) or _named_key(hint, located, entry, by_value=False) or entry
    column = ".".join(key for key in key_path if isinstance(key, str))
    return DataError(message, path=path, row=located.line(key_path), column=column, hint=hint or None)


def _naming_key(error: DataError, path: Path, located: Located) -> DataError:
    """Return an error of a file that a run file names, with the row and key that name it."""
    for keys in located.lines if error.path is not None else ():
        value = located.value_at(keys)
        if isinstance(value, str) and Path(str(error.path)) in (Path(value), path.parent / value):
            named = f"It is named in {path}, row {located.line(keys)}, key {str(keys[-1])!r}."
            error.hint = f"{error.hint} {named}" if error.hint else named
            break
    return error


def _named_key(text: str, located: Located, entry: KeyPath, *, by_value: bool = True) -> KeyPath | None:
    """Return the key that a message names, or (``by_value``) whose value it quotes; None where it does neither.

    Keys of the entry come first, then those at the top, then those of other entries: a run takes settings of all. Where
    the entry is a key itself, only those within it are meant.
    """
    of_entry = [keys for keys in located.lines if keys[: len(entry)] == entry]
    at_top = [keys for keys in located.lines if len(keys) == 1]
    is_key = bool(entry) and isinstance(entry[-1], str)
    candidates = of_entry if is_key else list(dict.fromkeys([*of_entry, *at_top, *located.lines]))
    named = {word for quoted, begins in _NAMED.findall(text) for word in (quoted, begins) if word}
    for keys in candidates:
        if keys and keys[-1] in named:
            return keys
    for keys in candidates if by_value else ():
        if keys and any(_is_value(word, located.value_at(keys)) for word in named):
            return keys
    return None


def _is_value(word: str, value: object) -> bool:
    """Whether a message that quotes ``word`` is of a value: the whole, one of several, or what follows "sample:"."""
    return isinstance(value, str) and word in (value, value.partition(":")[2], *value.split(","))


def _key_hint(name: str, known: Collection[str]) -> str:
    """Return a hint on the key that may be meant: ours for another tool's word, else the nearest."""
    ours = our_word(name)
    if name in ASKS_KEYS and "base_url" in known:
        return _NO_KEY
    if name in ASKS_CULTURES and "where" in known:
        return "Choose cultures by the column: 'where: {culture: [Kenya, Peru]}'."
    return f"In Kapwa it is called {ours!r}." if ours in known else nearest(name, known)


def _first_sentence(text: str | None) -> str:
    sentence, mark, _ = (text or "").partition("? ")
    return sentence + mark.strip()


def _distinct(problems: Sequence[DataError]) -> list[DataError]:
    errors_by_cell: dict[tuple[int | None, str | None], DataError] = {}
    for each in problems:
        errors_by_cell.setdefault((each.row, each.column), each)
    return list(errors_by_cell.values())


def _raise(problems: Sequence[DataError]) -> None:
    """Raise the first problem, with the others after its remedy."""
    if not problems:
        return
    # For a value that may have several types, there is a problem for each of them.
    first, *others = _distinct(problems)
    if others:
        lines = [
            first.hint or "",
            "Also wrong:",
            *(f"  {each.summary} {_first_sentence(each.hint)}" for each in others),
        ]
        first.hint = "\n  ".join(lines)
    raise first
