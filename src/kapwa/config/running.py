"""Make the runs that a run file describes, and the one report on all of them."""

from __future__ import annotations

import logging
from pathlib import Path

from kapwa.config.asking import each_run
from kapwa.config.environment import variables_set
from kapwa.config.reading import read_config
from kapwa.errors import RunError, speaking_of
from kapwa.runs.finished_run import Run
from kapwa.runs.progress import Progress

log = logging.getLogger(__name__)


def run_config(path: str | Path, *, progress: Progress = None) -> list[Run]:
    """Make the runs that the file at ``path`` describes, each task by each model, and return them.

    The keys of the file are the fields of :class:`kapwa.loading.TaskSettings`, :class:`kapwa.models.base.ModelOptions`
    and :class:`kapwa.runs.settings.RunSettings`. Where it names a ``report``, that page about all runs is written.
    Variables of a file ``.env`` beside it are set in the environment during the runs, unless they are set already.
    ``progress``: as in :class:`kapwa.runs.settings.RunSettings`. The same call resumes where it stopped. Raises
    DataError for problems of the file, before any model is loaded, and RunError where some runs failed, after
    all others were made.
    """
    config = read_config(path)
    config.check_keys()
    with variables_set(config.variables), speaking_of("file"):
        outcomes = list(each_run(config.open_tasks(), config.models, progress))
    runs = [outcome.run for outcome in outcomes if isinstance(outcome.run, Run)]
    if config.report is not None and runs:
        from kapwa.report.writing import write_report

        write_report(runs, config.report)
    with speaking_of("file"):
        failed = [f"{outcome.what}: {outcome.run}" for outcome in outcomes if not isinstance(outcome.run, Run)]
    if failed:
        hint = f"The same call retries them; the other {len(runs)} runs are in {config.out}."
        raise RunError(f"{len(failed)} of {len(outcomes)} runs failed. {' '.join(failed)}", hint=hint)
    return runs
