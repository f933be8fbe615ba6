"""Scores by what cultures belong to: the labels of the data, each with its cultures, which several may share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from kapwa.report.tables.columns import text_column
from kapwa.report.tables.scores import models_across, score_cell
from kapwa.report.tables.table import Column, Table
from kapwa.report.view.reference_scores import EstimateRow
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import label_text
from kapwa.stats.missing import pooled_mean_with_bounds
from kapwa.suites.base import holds_shares

_NUMBERS = ("value", "se", "low", "high", "n", "clusters", "method", "asked", "missing", "least", "most")
_LABEL_TABLE_NOTE = (
    "A label’s score is the mean over its cultures, each counting alike. A culture may have several labels."
)


def labels_of(view: TaskView) -> Iterator[tuple[str, str, list[int]]]:
    """Yield each label with its kind, its name and the places of its cultures among ``view.subjects``.

    Labels of which no culture was asked are left out.
    """
    for kind, labels in view.manifest.get("data", {}).get("labels", {}).items():
        for label, cultures in labels.items():
            indices = [index for index, subject in enumerate(view.subjects) if subject.culture in cultures]
            if indices:
                yield label_text(kind), label_text(label), indices


def estimate_over(
    view: TaskView, run: int, metric: str, items: pl.DataFrame, subjects: Sequence[Subject]
) -> EstimateRow | None:
    """Return the estimate of one culture, or the mean over several, each counting alike; None without a value.

    ``items``: what the run scored on each item it was asked (:meth:`TaskView.item_scores`).
    """
    if len(subjects) == 1:
        return view.estimate(run, subjects[0], metric)
    rows = [(subject.culture, view.language_of(subject, view.variant)) for subject in subjects]
    wanted = pl.DataFrame(rows, schema=["culture", "language"], orient="row")
    of_subjects = items.join(wanted, on=["culture", "language"], how="semi", maintain_order="left")
    if not of_subjects.height:
        return None
    info = view.metrics[metric]
    share = holds_shares(info, of_subjects["value"])
    mean = pooled_mean_with_bounds(of_subjects, share=share, ends=(info.low, info.high))
    return {**mean, "ended_in_order": view.ended_in_order[run]}


def label_table(view: TaskView) -> Table | None:
    """The first headline metric by label, the mean over its cultures, each counting alike; the CSV holds every one.

    None where the data have no labels.
    """
    labels, rows = list(labels_of(view)), []
    for metric, (run, model) in product(view.headline if labels else (), enumerate(view.labels)):
        items = view.item_scores(run, metric)
        for kind, label, indices in labels:
            subjects = [view.subjects[index] for index in indices]
            row = estimate_over(view, run, metric, items, subjects)
            if row is not None:
                cultures = "; ".join(subject.label for subject in subjects)
                facts = {"task": view.task, "kind": kind, "label": label, "cultures": cultures, "variant": view.variant}
                rows.append({**facts, "metric": metric, "model": model, **{name: row[name] for name in _NUMBERS}})
    if not rows:
        return None
    frame, info = pl.DataFrame(rows, infer_schema_length=None), view.metrics[view.main_metric]
    return Table(
        key=f"{view.slug}-labels",
        caption=f"{view.titles[view.main_metric]} by label{view.variant_words}",
        frame=frame,
        columns=[
            text_column("Label", "label", "kind"),
            text_column("Cultures", "cultures"),
            Column("", lambda row: score_cell(row, info, strong=True), spread=True),
        ],
        shown=frame.filter(metric=view.main_metric),
        by=["kind", "label"],
        across=models_across(view),
        note=_LABEL_TABLE_NOTE,
    )
