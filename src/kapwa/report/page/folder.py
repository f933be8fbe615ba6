"""Files beside the page of a report that is a folder: every answer, every estimate, every two systems compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from kapwa.files import slug, write_text
from kapwa.report.board.ranks import RankedTask
from kapwa.report.page.answers import browser
from kapwa.report.page.html import Download, downloads, render
from kapwa.report.tables.table import Table
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.stats.schemas import POOLED_SCHEMA

ESTIMATE_COLUMNS = (
    *("culture", "language", "variant", "metric", "value", "low", "high", "n", "clusters", "cultures"),
    *("asked", "missing", "least", "most", "least_low", "most_high"),
)
Link = tuple[str, str]  # words, and the name of a file beside the page


def write_answer_pages(view: TaskView, answer_frame: pl.DataFrame, folder: Path) -> list[Link]:
    """Write every answer of a task into pages of their own, one a culture where these are many; return their links.

    ``answer_frame``: :func:`kapwa.report.page.answers.answer_table`. Where runs keep no answers there is no page.
    """
    subjects: Sequence[Subject | None] = view.subjects if view.several_cultures else [None]
    links = []
    for number, subject in enumerate(subjects, start=1):
        table = answer_frame if subject is None else _of_subject(view, answer_frame, subject)
        answers = browser(view, table, None)
        if answers is None:
            continue
        whose = "" if subject is None else subject.label
        name = f"answers-{view.slug}{f'-{number}-{slug(whose)}' if whose else ''}.html"
        page = render(
            "answers.html.j2",
            ["report.css"],
            ["shared.js", "report.js"],
            view=view,
            whose=whose,
            answers=answers,
        )
        write_text(folder / name, page)
        links.append((whose or "All questions", name))
    return links


def _of_subject(view: TaskView, answer_frame: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """A culture's answers in all its languages, or in one of them where each is a subject of its own."""
    table = answer_frame.filter(culture=subject.culture)
    alone = sum(other.culture == subject.culture for other in view.subjects) == 1
    return table if alone else table.filter(language=subject.language)


def write_tables(tasks: Sequence[RankedTask], folder: Path) -> list[tuple[str, list[Download]]]:
    """Write all estimates over all items, and all comparisons that rank systems; return words and files of each."""
    compared = [
        pl.DataFrame(task.pairs, schema=POOLED_SCHEMA).with_columns(task=pl.lit(task.view.task)) for task in tasks
    ]
    tables = [
        Table("scores", "Every score", every_estimate([task.view for task in tasks]), []),
        Table("comparisons", "Every two systems compared", pl.concat(compared), []),
    ]
    return [(table.caption, downloads(table, folder, under="")) for table in tables]


def every_estimate(views: Sequence[TaskView]) -> pl.DataFrame:
    """Every estimate over all items of every run, one table: system, task, data, run, then :data:`ESTIMATE_COLUMNS`."""
    frames = []
    for view in views:
        for label, run in zip(view.labels, view.runs, strict=True):
            facts = {"system": label, "task": view.task, "data": str(view.manifest["data"]["name"])}
            named = [pl.lit(text).alias(name) for name, text in {**facts, "run": run.path.name}.items()]
            rows = run.estimates.filter(pl.col("group") == "all")
            frames.append(rows.select(*named, *ESTIMATE_COLUMNS))
    return pl.concat(frames)
