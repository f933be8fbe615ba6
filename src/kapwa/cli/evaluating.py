"""Runs that ``kapwa run`` and ``kapwa score`` make, one or several, and what is printed of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import typer

from kapwa.cli.output import note, show, show_json
from kapwa.errors import KapwaError, worded
from kapwa.registry import load

if TYPE_CHECKING:
    from kapwa.config.asking import ConfiguredModel
    from kapwa.models.base import Model
    from kapwa.runs.finished_run import Run
    from kapwa.runs.settings import RunSettings
    from kapwa.suites.base import Task


def run_and_show(task: Task, model: Model, settings: RunSettings, *, json: bool) -> Run:
    """Evaluate, close the model, write the run's report, show the result, and return the run."""
    from kapwa.api import evaluate
    from kapwa.runs.asking import RunInterrupted

    try:
        run = evaluate(task, model, settings)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    finally:
        model.close()
    show_run(run, task, json=json)
    if not (run.complete or run.stopped):
        raise typer.Exit(1)
    return run


def show_run(run: Run, task: Task, *, json: bool) -> None:
    """Write the run's report, and show the result, what was learnt of the model and what the run cost."""
    from kapwa.report.page.runs import build_report
    from kapwa.report.terminal.runs import render_run
    from kapwa.runs.manifest import asking_notes

    page = build_report([run], run.path / "report.html")
    if json:
        show_json(run.as_dict())
    else:
        show(render_run(run))
    for line in asking_notes(run.manifest):
        note(line)
    if spent := _spent(run):
        note(spent)
    note(f"Report: {page}")
    if len(list(run.path.parent.glob("*/run.json"))) > 1:
        note(f"Report on all runs in that folder: kapwa report {quote(str(run.path.parent))}/* -o report.html")
    cached = run.manifest.get("cache")
    if cached:
        note(f"From the cache: {cached['answers']} of {run.manifest['counts']['answered']} answers.")
    step = load("suites", task.suite).next_step
    if step:
        note(step.format(run=run.path))
    if run.stopped:
        note(_ended_early(run))


def _spent(run: Run) -> str:
    """Return what a run cost; "" where nothing is known of it, as of recorded answers and some servers."""
    from kapwa.runs.costs import cost_line

    cost = run.manifest.get("cost") or {}
    return cost_line(cost) if cost.get("read") or cost.get("written") or cost.get("retries") else ""


def _ended_early(run: Run) -> str:
    further = "without --until" if "until" in run.manifest else "with a larger limit"
    return f"Ended early: {run.manifest['ended']}. To continue, run the same command {further}."


def note_run(run: Run) -> None:
    """Write the report of one of several runs, and note where it is; details are there, scores in the table of all."""
    from kapwa.report.page.runs import build_report

    page = build_report([run], run.path / "report.html")
    note(" ".join(filter(None, [f"{run.manifest['task']} by {run.label}: {page}.", _spent(run)])))
    if run.stopped:
        note(worded(_ended_early(run)))


def run_each(
    tasks: Sequence[Task], models: Sequence[ConfiguredModel], page: Callable[[Sequence[Run]], str] | None, *, json: bool
) -> None:
    """Make a run of each model for each task, and one report on all of them; a failure does not stop the others.

    ``page``: what writes that report, and returns what to say of it.
    """
    from kapwa.config.asking import each_run
    from kapwa.loading import checked_spec, options_dict
    from kapwa.runs.asking import RunInterrupted

    for model in models:  # a misspelt name is reported before hours of asking another model
        checked_spec(model.spec, options_dict(model.options))

    runs: list[Run] = []
    failed: dict[str, KapwaError] = {}
    try:
        for what, task, made in each_run(tasks, models, progress=True):
            run = _noted(task, made)
            if isinstance(run, KapwaError):
                failed[what] = run
                note(f"error: {what}: {run}")
            else:
                runs.append(run)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    if json and failed and not runs:  # nothing succeeded: an error in JSON, too
        raise list(failed.values())[-1]
    _show_runs(runs, tasks, page, json=json)
    if failed:
        note(f"Failed: {', '.join(failed)}. The same command retries what is missing.")
        raise typer.Exit(2)
    if not all(run.complete or run.stopped for run in runs):
        raise typer.Exit(1)


def _show_runs(
    runs: Sequence[Run], tasks: Sequence[Task], page: Callable[[Sequence[Run]], str] | None, *, json: bool
) -> None:
    """Show what several runs gave, in one table, and write the one report on them."""
    from kapwa.report.terminal.run_table import render_runs

    if runs and not json:
        show(render_runs(runs))
    for step in dict.fromkeys(load("suites", task.suite).next_step for task in tasks) if runs else ():
        if step:
            note(step.format(run="RUN"))
    if runs and page is not None:
        note(f"Report on {page(runs)}")
    if json:
        show_json([run.as_dict() for run in runs])


def _noted(task: Task | None, made: Run | KapwaError) -> Run | KapwaError:
    """Note a run that was made; return it, or the error that prevented it or its report."""
    if isinstance(made, KapwaError) or task is None:
        return made
    try:
        note_run(made)
    except KapwaError as error:
        return error
    return made


def write_page(runs: Sequence[Run], tasks: Sequence[Task], suite: str | None) -> str:
    """Write one report on several runs beside them; return what it covers and its path.

    ``suite``: the set of benchmarks that the tasks belong to.
    """
    from kapwa.files import digest, slug
    from kapwa.report.page.runs import build_report

    out = runs[0].path.parent
    suffix = digest({run.path.name: b"" for run in runs})[:8]
    if suite is not None:
        return f"{suite}: {build_report(runs, out / f'{slug(suite)}-{suffix}.html')}"
    page = out / f"{slug(tasks[0].name)}-{len(runs)}-models-{suffix}.html"
    return f"{len(runs)} model{'s' if len(runs) > 1 else ''}: {build_report(runs, page)}"
