"""Scores with and without the items whose fault somebody confirmed (:mod:`kapwa.datasets.errata`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.errata import ItemKey, errata_note, read_errata
from kapwa.errors import UsageError
from kapwa.report import wording
from kapwa.report.tables.columns import amount_column, change_column, count_column, text_column
from kapwa.report.tables.table import Table, frame_of
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import clean, isolate
from kapwa.suites.base import LEADING
from kapwa.value_types import JsonMapping

OVER_ALL = "mean over cultures"


class ErrataRow(NamedTuple):
    """A metric of a system in a culture with all items, and without those in the errata."""

    task: str | None
    model: str | None
    metric: str | None
    culture: str | None
    value: float | None
    value_without: float | None
    difference: float | None
    n: int | None
    n_without: int | None


class ErrataSection(NamedTuple):
    """The scores of a task without the items in the errata, for a page."""

    sentences: Sequence[str]
    table: Table
    note: str


def errata_sections(views: Sequence[TaskView], path: Path) -> dict[str, ErrataSection]:
    """Return, by the slug of each view that is touched, what a page says of a table of errata: sentences and a table.

    Raises DataError for a line on an item that none of the runs asked, unless one of them was asked a part of its data,
    and UsageError where nothing is left out: there is no other number to show then.
    """
    errata = read_errata(path)
    keys = {view.slug: list(dict.fromkeys(_keys(view))) for view in views}
    everything = [key for keys_of_reason in keys.values() for key in keys_of_reason]
    partly = any(_is_selection(run.manifest) for view in views for run in view.runs)
    chosen = errata.left_out(everything, None if partly else lambda: everything)
    note = errata_note(errata, chosen)
    if not chosen:
        remedy = "Fill in the column confirmed_by" if errata.unconfirmed else "Name the errata of these runs' items"
        raise UsageError(note, hint=f"{remedy}, or leave --errata out.")
    sections = {}
    for view in views:
        left = {item_id for item_id, variant, _ in chosen if variant == view.variant}
        cultures = {key[2] for key in keys[view.slug] if key in chosen and key[1] == view.variant}
        if cultures:
            frame = frame_of(ErrataRow, _rows(view, left, cultures))
            sections[view.slug] = ErrataSection(_sentences(view, frame), _table(view, frame), note)
    if not sections:
        raise UsageError(f"{note} None of them was asked in the variant that a report leads with.")
    return sections


def _keys(view: TaskView) -> Iterator[ItemKey]:
    for run in view.runs:
        yield from run.scores.select("item_id", "variant", "culture").unique(maintain_order=True).iter_rows()


def _is_selection(manifest: JsonMapping) -> bool:
    selection = manifest.get("selection", {})
    return bool(selection.get("limit") or selection.get("where") or manifest["options"].get("errata"))


def _rows(view: TaskView, left: Collection[str], cultures: Collection[str]) -> Iterator[ErrataRow]:
    """Yield each system's headline metrics in the cultures touched, and over all: with all items, and without some."""
    remaining = ~pl.col("item_id").is_in(list(left))
    # Without one of its items a group is none.
    for metric in (name for name in view.headline if not name.startswith(LEADING)):
        for i, label in enumerate(view.labels):
            items = view.answered_item_scores(i, metric)
            values = [
                subset.group_by("culture", maintain_order=True).agg(pl.col("value").mean(), n=pl.len())
                for subset in (items, items.filter(remaining))
            ]
            shown = [(culture, [subset.filter(culture=culture) for subset in values]) for culture in sorted(cultures)]
            if items["culture"].n_unique() > 1:
                shown.append((OVER_ALL, values))
            for culture, subsets in shown:
                before, after = (subset.select(pl.col("value").mean()).item() for subset in subsets)
                difference = None if before is None or after is None else after - before
                counts = [int(subset["n"].sum()) for subset in subsets]
                yield ErrataRow(
                    task=view.task,
                    model=label,
                    metric=metric,
                    culture=culture,
                    value=before,
                    value_without=after,
                    difference=difference,
                    n=counts[0],
                    n_without=counts[1],
                )


def _sentences(view: TaskView, frame: pl.DataFrame) -> list[str]:
    """Tell each system's first headline metric, over all cultures where there are several."""
    info = view.metrics[view.main_metric]
    rows = frame.filter(metric=view.main_metric).unique("model", keep="last", maintain_order=True)
    sentences = []
    for row in rows.iter_rows(named=True):
        before, after = (wording.amount(row[name], info, 1) for name in ("value", "value_without"))
        gone = wording.count(row["n"] - row["n_without"], *view.noun)
        sentences.append(
            f"{isolate(clean(row['model']))}: {before} with {wording.count(row['n'], *view.noun)}, {after} without "
            f"{gone} of the errata: {wording.change(row['difference'], info, 1)} "
            f"{'points' if wording.is_share(info) else ''}".rstrip()
            + "."
        )
    return sentences


def _table(view: TaskView, frame: pl.DataFrame) -> Table:
    return Table(
        key=f"{view.slug}-errata",
        caption=f"Scores with and without the items in the errata ({view.title})",
        frame=frame,
        columns=[
            text_column("Model and metric", "model", "metric"),
            text_column("Culture", "culture"),
            amount_column("All items", "value", lambda row: view.metrics[row["metric"]]),
            amount_column("Without", "value_without", lambda row: view.metrics[row["metric"]]),
            change_column("Difference", "difference", lambda row: view.metrics[row["metric"]]),
            count_column("Items", "n"),
            count_column("Items kept", "n_without"),
        ],
        note="Both numbers are of the same answers. All other numbers of this page are of all items.",
    )
