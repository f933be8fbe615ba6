"""Runs of one model's checkpoints, put in order: a series for each task and data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from kapwa.errors import UsageError, check_known
from kapwa.runs.finished_run import Run
from kapwa.runs.signature import differing
from kapwa.suites.items import grouped

Order = Literal["name", "time", "given"]
_NUMBER = re.compile(r"(\d+)")
# Fields of a signature by which checkpoints of one model differ, or in which a run that stopped early differs.
_EXPECTED = ("model", "n", "asked", "until", "culture")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One run of a series: what it is called, and its step: the number in its name, or its place from 1."""

    run: Run
    name: str
    step: int

    @property
    def not_asked(self) -> int:
        """How many requests were saved because the run stopped early."""
        return int(self.run.manifest["counts"].get("not_asked", 0)) if self.run.stopped else 0

    @property
    def requests(self) -> int:
        """How many different requests the whole task has."""
        return int(self.run.manifest["counts"]["unique"])

    def spent(self, name: str) -> float | None:
        """Return what the run cost, as run.json says it: requests, read, written, seconds, cost; None if not known."""
        record = self.run.manifest.get("cost", {})
        is_partial = name in ("read", "written") and record.get("uncounted")
        return None if is_partial or record.get(name) is None else float(record[name])


@dataclass(frozen=True, slots=True)
class Series:
    """The checkpoints of one task and data, the earliest first; ``differences``: what besides weights differs."""

    task: str
    checkpoints: tuple[Checkpoint, ...]
    differences: tuple[str, ...]


def series_of(runs: Sequence[Run], order: Order = "name") -> list[Series]:
    """Return a series for each task and data, in the order of their first runs.

    ``order``: "name", by the numbers in the names of runs ("step 500" before "step 1000"); "time", by when they ended;
    or "given". Raises UsageError where names do not tell an order, or the runs of a task measure different things.
    """
    check_known(order, get_args(Order), f"There is no order {order!r}.")
    by_task = grouped(runs, lambda run: (str(run.manifest["task"]), str(run.manifest["data"]["digest"])))
    return [_series(members, order) for members in by_task.values()]


def _series(runs: Sequence[Run], order: Order) -> Series:
    """Order the runs of one task and data."""
    _check_alike(runs)
    names = [run.label for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.label} ({run.path.name})" for run in runs]
    numbers = [[int(number) for number in _NUMBER.findall(run.label)] for run in runs]
    indices = list(range(len(runs)))
    if order == "name":
        _check_numbers(runs, numbers)
        indices.sort(key=lambda index: _natural(runs[index].label))
    elif order == "time":
        indices.sort(key=lambda index: str(runs[index].manifest.get("finished") or ""))
    steps = _steps([numbers[index] for index in indices])
    checkpoints = [Checkpoint(runs[index], names[index], step) for index, step in zip(indices, steps, strict=True)]
    first = checkpoints[0].run.manifest
    unlike = {
        name
        for point in checkpoints[1:]
        for name, _, _ in differing(first, point.run.manifest)
        if name not in _EXPECTED
    }
    return Series(str(first["task"]), tuple(checkpoints), tuple(sorted(unlike)))


def _check_alike(runs: Sequence[Run]) -> None:
    """Raise UsageError where runs of one task lead with different metrics or variants, or one is named twice."""
    first, seen = runs[0], set()
    for run in runs:
        path = run.path.resolve()
        if path in seen:
            raise UsageError(f"{run.path} is named twice.", hint="Name each run once.")
        seen.add(path)
        for what, value in _leading(run).items():
            if value != _leading(first)[what]:
                raise UsageError(
                    f"The first {what} of {first.path} is {_leading(first)[what]!r}, of {run.path} {value!r}.",
                    hint="A series is of one metric and one prompt variant; name the runs that share them.",
                )


def _leading(run: Run) -> dict[str, str]:
    return {"metric": run.manifest["headline"][0], "variant": run.manifest["selection"]["variants"][0]}


def _check_numbers(runs: Sequence[Run], numbers: Sequence[Sequence[int]]) -> None:
    """Raise UsageError where names have no number, or two the same ones, so that they tell no order."""
    labels = [run.label for run in runs]
    if len(runs) < 2 or (all(numbers) and len(set(labels)) == len(labels)):
        return
    named = ", ".join(repr(label) for label in dict.fromkeys(labels))
    raise UsageError(
        f"The names of these runs tell no order: {named}.",
        hint="Order them by time (--order time) or as named (--order given); or make runs with --label 'step 500'.",
    )


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A key by which numbers within texts count as numbers."""
    # Every second part is a number.
    return [(0, int(piece), "") if number % 2 else (1, 0, piece) for number, piece in enumerate(_NUMBER.split(text))]


def _steps(numbers: Sequence[Sequence[int]]) -> list[int]:
    """The one number by which names differ, where it rises (of a single name its last); else places from 1."""
    if len(numbers) == 1 and numbers[0]:
        return [numbers[0][-1]]
    width = min(map(len, numbers), default=0)
    columns = [[row[k] for row in numbers] for k in range(width)] if len(set(map(len, numbers))) == 1 else []
    differing_columns = [column for column in columns if len(set(column)) > 1]
    if len(differing_columns) == 1 and all(a < b for a, b in pairwise(differing_columns[0])):
        return differing_columns[0]
    return list(range(1, len(numbers) + 1))


def scores_to_log(run: Run, prefix: str) -> Iterator[tuple[str, float]]:
    """Yield names and values for a tracker: the headline score with its interval, then each culture's.

    Names are ``prefix``, the metric, and where they differ the culture and the end of the interval: "kalahi/mc/mc1",
    "kalahi/mc/mc1_low", "kalahi/mc/mc1_Filipino". Nothing of a run whose score is no headline.
    """
    leading = run.headline
    if leading is None:
        return
    metric, variant = leading["metric"], leading["variant"]
    every = run.estimates.filter(group="all", metric=metric, variant=variant).iter_rows(named=True)
    for name, row in [("", leading), *((f"_{row['culture']}", row) for row in every if row["culture"])]:
        for end in ("value", "low", "high"):
            if row[end] is not None:
                yield f"{prefix}{metric}{name}{'' if end == 'value' else f'_{end}'}", row[end]
