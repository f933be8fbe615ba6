"""The system under test: a model and everything of a run's signature that is neither task nor data nor culture.

Whatever stands side by side in a table, a chart or a test is a system: one model asked in one way. Runs of several
tasks are of one system where the model and the way of asking are the same, or where the user says so: an explicit label
is an identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import UsageError, nearest
from kapwa.runs.finished_run import Run, brief_model
from kapwa.runs.signature import measurement, unnamed_settings
from kapwa.suites.items import grouped

Named = Mapping[str, Sequence[Run | str | Path]]
# Fields of a signature that say which model answered, and options that say how it was asked whatever the task.
_MODEL = (
    *("model", "backend", "dtype", "template", "scoring", "with"),
    *("thinking", "thinking_tokens", "thinking_scored", "sampling"),
)
_ASKING = ("system", "shots", "shots_seed", "wordings", "asked_with")
# How answers were drawn and asked for: every task has a default of its own, so these tell two runs of one task apart,
# not two tasks.
_DRAWS = ("how", "shuffle", "temperature", "samples", "seed")
# What a field of a signature is called where it tells two systems apart.
_WORDS = {
    "base_url": "server",
    "body": "extra",
    "asked": "items",
    "n": "number of items",
    "system": "system message",
    "thinking_tokens": "thinking tokens",
}
_LONGEST = 40
_ADDRESS = re.compile(r"\w+://")
_LEAD = 12  # characters that two long values share and that are still shown
_HOW_TO_NAME = "Give each run a name of its own (--label when it is made, or --same 'NAME=RUN' now), or leave one out."


class System(NamedTuple):
    """One model asked in one way: ``name``, which no other has, and its ``runs``, at most one of a task and data."""

    name: str
    runs: tuple[Run, ...]


def systems_of(runs: Sequence[Run], same: Named | None = None) -> list[System]:
    """Return the systems that ``runs`` are of, in the order of their first runs.

    ``same``: names of systems and their runs (or the folders of these), where runs do not say it themselves. Raises
    UsageError for two runs of one system, task and data, which no table could hold, for a folder in ``same`` that is
    none of the runs, and for a run that stands there twice.
    """
    if len(runs) == 1 and not same:
        return [System(runs[0].label, tuple(runs))]
    labels = {id(run): str(run.manifest.get("label") or "") for run in runs} | _user_names(runs, same or {})
    systems: list[tuple[str, list[Run]]] = []
    for (label, _), members in grouped(runs, lambda run: _identity(run, labels[id(run)])).items():
        for group in [members] if label else _split_by_draws(members):
            _check_once(label, group)
            systems.append((label, group))
    systems.sort(key=lambda group: runs.index(group[1][0]))
    return [System(name, tuple(group)) for name, (_, group) in zip(_names(systems), systems, strict=True)]


def system_names(runs: Sequence[Run]) -> dict[int, str]:
    """The name of each run's system by the identity of the run; of runs that no table could hold together, with more.

    For tables that have a row or a column a run: two runs of one system and task are told apart by their folders.
    """
    try:
        return {id(run): system.name for system in systems_of(runs) for run in system.runs}
    except UsageError:
        names = [f"{run.label} ({run.path.name})" for run in runs]
        return {
            id(run): name if names.count(name) == 1 else str(run.path.resolve())
            for run, name in zip(runs, names, strict=True)
        }


def _user_names(runs: Sequence[Run], same: Named) -> dict[int, str]:
    """The names that the user gives to runs, by the identity of the run."""
    names: dict[int, str] = {}
    for name, members in same.items():
        for member in members:
            path = member.path if isinstance(member, Run) else Path(member)
            exact = [run for run in runs if run.path.resolve() == path.resolve()]
            candidates = exact[:1] or [run for run in runs if run.path.name == str(member)]
            if len(candidates) > 1:
                both = " and ".join(str(run.path) for run in candidates[:2])
                raise UsageError(f"{member}, which is to be called {name!r}, is {both}.", hint="Name the whole path.")
            if not candidates:
                hint = nearest(path.name, [run.path.name for run in runs])
                raise UsageError(f"{path}, which is to be called {name!r}, is not one of the named runs.", hint=hint)
            run = candidates[0]
            if id(run) in names:
                raise UsageError(f"{run.path} is named in --same twice.", hint="A run is of one system.")
            names[id(run)] = name
    return names


def parse_same(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Read ``NAME=RUN,RUN``, once or several times; raise UsageError for another form or a repeated name."""
    same: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, folders = pair.partition("=")
        members = [folder for folder in folders.split(",") if folder]
        if not name.strip() or not equals or not members:
            hint = "For example: --same 'my model=runs/kalahi-mc-a-0f3c,runs/kalahi-open-b-77d1'"
            raise UsageError(f"--same {pair!r} is not of the form NAME=RUN,RUN.", hint=hint)
        if name.strip() in same:
            raise UsageError(f"--same names {name.strip()!r} twice.", hint="Name all its runs together.")
        same[name.strip()] = members
    return same


def _fields(run: Run, names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """What a run's numbers depend on, or those of it that are ``names``."""
    fields = measurement(run.manifest)
    return tuple((name, fields[name]) for name in names or sorted(fields) if fields.get(name))


def _identity(run: Run, label: str) -> tuple[str, Hashable]:
    """What runs of one system share: its label, else which model was asked, and how, whatever the task."""
    return label, None if label else _fields(run, (*_MODEL, *_ASKING))


def _measurement(run: Run) -> tuple[str, str]:
    """Task and data: a cell of a table that one run of a system can fill."""
    return str(run.manifest["task"]), str(run.manifest["data"]["digest"])


def _split_by_draws(runs: Sequence[Run]) -> list[list[Run]]:
    """Part runs of one model asked in one way where a task was run more than once: by the draws, then by all else."""
    by_task = grouped(runs, _measurement).values()
    if all(len(members) == 1 for members in by_task):
        return [list(runs)]
    by_draws = grouped(runs, lambda run: _fields(run, _DRAWS)).values()
    if len(by_draws) > 1:
        return [group for members in by_draws for group in _split_by_draws(members)]
    repeated = [run for members in by_task if len(members) > 1 for run in members]
    once = [members[0] for members in by_task if len(members) == 1]
    return [*grouped(repeated, _fields).values(), *([once] if once else [])]


def _check_once(label: str, runs: Sequence[Run]) -> None:
    for members in grouped(runs, _measurement).values():
        if len(members) > 1:
            first, second = (run.path for run in members[:2])
            task = members[0].manifest["task"]
            what = f"are both called {label!r}" if label else "are of one model asked in one way"
            raise UsageError(f"{first} and {second} are two runs of {task} and {what}.", hint=_HOW_TO_NAME)


def _names(systems: Sequence[tuple[str, Sequence[Run]]]) -> list[str]:
    """The shortest names that tell systems apart: label or last part of the id, whole id, revision, what differs."""
    labels = [label for label, _ in systems]
    runs = [members[0] for _, members in systems]
    models = [str(run.manifest["model"]["id"]).rstrip("/\\") for run in runs]
    revisions = [str(run.manifest["model"].get("revision") or "?")[:8] for run in runs]
    short = [label or brief_model(model) for label, model in zip(labels, models, strict=True)]
    # Each is tried on the systems that the one before leaves with one name.
    longer: Sequence[Callable[[int, Sequence[Run]], str]] = (
        lambda index, _: labels[index] or models[index],
        lambda index, _: labels[index] or f"{short[index]} @ {revisions[index]}",
        lambda index, rivals: _with_words(short[index], _differences(runs[index], rivals)),
        lambda index, _: f"{short[index]} ({runs[index].path.name})",
        lambda index, _: f"{short[index]} ({runs[index].path.resolve()})",
    )
    names = short
    for name_of in longer:
        rivals = grouped(range(len(runs)), names.__getitem__)
        clashing = {index: [runs[i] for i in same] for same in rivals.values() if len(same) > 1 for index in same}
        names = [name_of(index, clashing[index]) if index in clashing else name for index, name in enumerate(names)]
    return names


def _with_words(name: str, words: str) -> str:
    """A name with what tells it apart; the one that has nothing said of it is the plain one."""
    return f"{name} ({words})" if words else name


def _differences(run: Run, rivals: Sequence[Run]) -> str:
    """What tells a run apart from its rivals, in a few words: what it has; what only rivals have stands with them."""
    facts = {id(rival): _facts(rival) for rival in rivals}
    names = dict.fromkeys(name for fields in facts.values() for name in fields)
    values = {name: [fields.get(name, "") for fields in facts.values()] for name in names}
    differing = [name for name in names if len(set(values[name])) > 1]
    first = {*_MODEL, *_ASKING, *_DRAWS, *(name for rival in rivals for name in unnamed_settings(rival.manifest))}
    words = []
    for name in [name for name in differing if name in first] or differing:
        value, word = facts[id(run)].get(name, ""), _WORDS.get(name, name.replace("_", " "))
        if name == "base_url" or _ADDRESS.search("".join(values[name])):
            # An address is nobody's name: which is which, the settings of each system say.
            words.append(f"{word} {1 + list(dict.fromkeys(values[name])).index(value)}")
        elif value:
            words.append(f"{word} {_shortened(value, values[name])}")
    return ", ".join(words)


def _facts(run: Run) -> dict[str, str]:
    """What a run's numbers depend on, with the model's other settings by value, not as a digest of them all."""
    fields = measurement(run.manifest)
    fields.pop("with", None)
    return fields | {name: str(value) for name, value in unnamed_settings(run.manifest).items()}


def _shortened(value: str, values: Sequence[str]) -> str:
    """A long value from shortly before the place where the values part."""
    if len(value) <= _LONGEST:
        return value
    columns = enumerate(zip_longest(*filter(None, values)))
    begin = max(0, next((position for position, letters in columns if len(set(letters)) > 1), 0) - _LEAD)
    shown = value[begin : begin + _LONGEST - 1]
    return f"{'…' if begin else ''}{shown}{'…' if begin + len(shown) < len(value) else ''}"
