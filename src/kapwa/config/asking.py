"""Run several tasks with several models, one run each; a failure does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from kapwa.api import evaluate_opened
from kapwa.errors import KapwaError
from kapwa.loading import load_model
from kapwa.models.base import ModelOptions
from kapwa.parallel.base import Ray
from kapwa.runs.costs import Prices
from kapwa.runs.finished_run import Run
from kapwa.runs.progress import Progress
from kapwa.runs.settings import RunSettings
from kapwa.suites.base import Task
from kapwa.suites.folders.warned import warn_of_data


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model as a user names it, how it is loaded or reached, and the settings of its runs, one for each task.

    ``engine``: None loads it in this process. ``prices``: None where they are not known.
    """

    spec: str
    options: ModelOptions
    settings: Sequence[RunSettings]
    engine: Ray | None = None
    prices: Prices | None = None

    @property
    def name(self) -> str:
        """Its name in messages: its label, else its spec."""
        return self.settings[0].label or self.spec


class RunOutcome(NamedTuple):
    """A run that was made, or the error that prevented it.

    ``what``: which run it is, in words. ``task``: None where a model could not be loaded.
    """

    what: str
    task: Task | None
    run: Run | KapwaError


def each_run(tasks: Sequence[Task], models: Sequence[ConfiguredModel], progress: Progress) -> Iterator[RunOutcome]:
    """Load each model once, run each task with it, and yield the outcomes; first warn once of the data of all."""
    for task in tasks:
        warn_of_data(task.data)
    for model in models:
        try:
            loaded = load_model(model.spec, model.options, engine=model.engine)
        except KapwaError as error:
            yield RunOutcome(model.name, None, error)
            continue
        with closing(loaded):
            for task, settings in zip(tasks, model.settings, strict=True):
                what = model.name if len(tasks) == 1 else f"{task.name} on {task.data.name} by {model.name}"
                try:
                    run = evaluate_opened(task, loaded, replace(settings, progress=progress))
                except KapwaError as error:
                    yield RunOutcome(what, task, error)
                else:
                    yield RunOutcome(what, task, run)
