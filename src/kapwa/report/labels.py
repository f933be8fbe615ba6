"""Scores by what cultures belong to: the labels of the data, each with its cultures, which several may share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from kapwa.report.marks import Estimate
from kapwa.report.table import Cell, Column, Row, Table
from kapwa.report.tables import models_across, score_cell
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import isolate, label_text
from kapwa.stats.pooled import pooled_mean
from kapwa.suites.base import holds_shares

SCHEMA = {
    **dict.fromkeys(("task", "kind", "label", "cultures", "variant", "metric", "model"), pl.String),
    **dict.fromkeys(("value", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters"), pl.Int64),
    "method": pl.String,
}


def labels_of(view: TaskView) -> Iterator[tuple[str, str, list[int]]]:
    """Yield each label with its kind, its name and the places of its cultures among ``view.subjects``.

    Labels of which no culture was asked are left out.
    """
    for kind, labels in view.manifest.get("data", {}).get("labels", {}).items():
        for label, cultures in labels.items():
            places = [place for place, subject in enumerate(view.subjects) if subject.culture in cultures]
            if places:
                yield label_text(kind), label_text(label), places


def estimate_over(
    view: TaskView, run: int, metric: str, items: pl.DataFrame, subjects: Sequence[Subject]
) -> Estimate | None:
    """Return the estimate of one culture, or the mean over several, each counting alike; None without a value.

    ``items``: what the run scored on each item (:meth:`TaskView.item_values`).
    """
    if len(subjects) == 1:
        return view.estimate(run, subjects[0], metric)
    rows = [(subject.culture, view.language_of(subject, view.variant)) for subject in subjects]
    places = pl.DataFrame(rows, schema=["culture", "language"], orient="row")
    kept = items.join(places, on=["culture", "language"], how="semi", maintain_order="left")
    if not kept.height:
        return None
    share = holds_shares(view.metrics[metric], kept["value"])
    return pooled_mean(kept["value"].to_numpy(), kept["culture"], kept["cluster"], binary=share)._asdict()


def label_table(view: TaskView) -> Table | None:
    """The first headline metric by label, the mean over its cultures, each counting alike; the CSV holds every one.

    None where the data have no labels.
    """
    frame = _every_score(view)
    if not frame.height:
        return None
    info = view.metrics[view.metric]
    names = {
        label: ", ".join(isolate(view.subjects[place].label) for place in places)
        for _, label, places in labels_of(view)
    }

    def score(row: Row) -> Cell:
        return score_cell(row, info, strong=True)

    return Table(
        key=f"{view.slug}-labels",
        caption=f"{view.titles[view.metric]} by label{view.variant_words}",
        frame=frame,
        columns=[
            Column("Label", lambda row: Cell(row["label"], row["kind"])),
            Column("Cultures", lambda row: Cell(names[row["label"]])),
            Column("", score, spread=True),
        ],
        shown=frame.filter(metric=view.metric),
        by=["label"],
        across=models_across(view),
        note="A label’s score is the mean over its cultures, each counting alike. A culture may have several labels.",
    )


def _every_score(view: TaskView) -> pl.DataFrame:
    """Every headline metric of every system by label: a table of :data:`SCHEMA`."""
    rows = []
    labels = list(labels_of(view))
    for metric, (run, model) in product(view.headline if labels else (), enumerate(view.labels)):
        items = view.item_values(run, metric)
        for kind, label, places in labels:
            subjects = [view.subjects[place] for place in places]
            row = estimate_over(view, run, metric, items, subjects)
            if row is not None:
                facts = {name: row[name] for name in SCHEMA if name in row}
                facts |= {"kind": kind, "label": label, "metric": metric, "model": model}
                facts |= {"task": view.task, "variant": view.variant}
                facts["cultures"] = "; ".join(dict.fromkeys(subject.culture for subject in subjects))
                rows.append(facts)
    return pl.DataFrame(rows, schema=SCHEMA)
