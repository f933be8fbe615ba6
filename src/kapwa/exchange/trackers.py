"""Log scores of checkpoints to experiment trackers on this computer: Trackio, MLflow, W&B's offline files.

A tracker is a function ``log(destination, scores) -> int`` under the entry points ``kapwa.trackers``: it adds the
points of ``scores`` that ``destination`` does not have yet, and returns how many it added. Other packages can add
trackers. Nothing is sent to a server.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from kapwa import registry
from kapwa.errors import UsageError
from kapwa.runs.checkpoints import Checkpoint, Series, scores_to_log
from kapwa.value_types import Untyped

PROJECT = "kapwa"
# The module and the package that each tracker of Kapwa's own needs.
_PACKAGES = {"trackio": ("trackio", "trackio"), "mlflow": ("mlflow.tracking", "mlflow"), "wandb": ("wandb", "wandb")}
# Signs that not every tracker accepts in a name; they become "_".
_UNSAFE = re.compile(r"[^\w.\- /]")


@dataclass(frozen=True, slots=True)
class LoggedPoint:
    """The logged values of one checkpoint: numbers by name, at a step."""

    step: int
    checkpoint: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LoggedSeries:
    """The logged data of a series: ``name`` is for readers; ``key`` identifies the series."""

    name: str
    key: str
    points: Sequence[LoggedPoint]
    facts: Mapping[str, str]


class Tracker(Protocol):
    """A tracker that stores scores at ``destination``."""

    def __call__(self, destination: str, scores: LoggedSeries) -> int:
        """Add the new points, and return their number."""
        ...


def log_series(series: Sequence[Series], to: str) -> int:
    """Log series to the tracker that ``to`` names, "NAME:PLACE", and return how many checkpoints were new there.

    Raises UsageError for an unknown tracker, one whose package is not installed, and a destination that is not
    writable.
    """
    log, destination = find_tracker(to)
    return sum(log(destination, _logged(each)) for each in series)


def find_tracker(to: str) -> tuple[Tracker, str]:
    """Return the tracker and the destination of "NAME:PLACE".

    Raises UsageError for another form or name, and for a tracker of Kapwa's own whose package is not installed.
    """
    name, colon, destination = to.partition(":")
    if not name or not colon or not destination:
        hint = "For example: trackio:my-project, mlflow:mlruns or wandb:wandb"
        raise UsageError(f"--to {to!r} is not of the form TRACKER:PLACE.", hint=hint)
    if "://" in destination:
        raise UsageError(
            f"--to {to!r} names a server; Kapwa logs to files on this computer only.",
            hint="Name a folder or a file, and let the tracker send it.",
        )
    tracker: Tracker = registry.load("trackers", name)
    if name in _PACKAGES:
        tracker_package(*_PACKAGES[name])
    return tracker, destination


def tracker_package(module: str, package: str) -> Untyped:
    """Import a tracker's package; raise UsageError where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"The tracker needs the package {package!r}, which is not installed.", hint=f"pip install {package}"
        ) from error


def _logged(series: Series) -> LoggedSeries:
    first = series.checkpoints[0].run.manifest
    identity = "\0".join((series.task, str(first["data"]["digest"]), series.checkpoints[0].run.label))
    facts = {"task": series.task, "data": str(first["data"]["name"]), "kapwa": str(first["kapwa"])}
    return LoggedSeries(
        name=series.task,
        key=hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
        points=[_point(series.task, each) for each in series.checkpoints],
        facts=facts,
    )


def _point(task: str, checkpoint: Checkpoint) -> LoggedPoint:
    values = dict(scores_to_log(checkpoint.run, f"{task}/"))
    for name in ("requests", "read", "written", "seconds"):
        if (spent := checkpoint.spent(name)) is not None:
            values[f"{task}/cost_{name}"] = spent
    values[f"{task}/not_asked"] = float(checkpoint.not_asked)
    return LoggedPoint(
        checkpoint.step, checkpoint.name, {_UNSAFE.sub("_", name): value for name, value in values.items()}
    )
