"""What another wording or another draw of the answers would have given: variance components, and ranks by wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.charts import SERIES, Dot, Line, RowChart
from kapwa.report.comparisons import split
from kapwa.report.overview import direction
from kapwa.report.plots import row_chart
from kapwa.report.table import FRAMES, NONE, Cell, Column, Row, Table
from kapwa.report.view import TaskView
from kapwa.report.wording import WORDS, isolate, label_text
from kapwa.stats.clusters import FloatArray
from kapwa.stats.components import Decomposition, order_changes, variance_components

_WORDS = WORDS["component"]


# With fewer degrees of freedom (three wordings have two) an interval of a standard deviation spans a factor of ten.
FEWEST = 3


class Grid(NamedTuple):
    """Scores by item, wording and sample, NaN where there is none; ``units`` names each item by culture and name."""

    values: FloatArray
    units: list[tuple[str, str]]
    clusters: list[str]


def wordings_of(view: TaskView) -> list[str]:
    """The variants that differ in the prompt alone: those asked in the language of the main one."""
    asked = (split(view.variant) or ("",))[0]
    return [name for name in view.variants if (split(name) or ("",))[0] == asked]


def score_grid(view: TaskView, run: int, variants: Sequence[str]) -> Grid:
    """The first headline metric by item, variant and sample.

    Where variants ask items of other names, as Kalahi's do, the mean of a cluster stands in place of an item.
    """
    measured = (pl.col("metric") == view.metric) & pl.col("variant").is_in(variants) & pl.col("value").is_not_null()
    kept = view.runs[run].scores.filter(measured)
    asked = kept.group_by("culture", "item_id").agg(pl.col("variant").n_unique())
    unit = pl.col("item_id" if (asked["variant"] == len(variants)).sum() > 1 else "cluster").alias("unit")
    cells = kept.group_by("culture", unit, "variant", "sample", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("cluster").first()
    )
    units = cells.unique(["culture", "unit"], keep="first", maintain_order=True)
    names = list(units.select("culture", "unit").iter_rows())
    places, columns = ({name: i for i, name in enumerate(one)} for one in (names, variants))
    values = np.full((len(names), len(variants), int(cells["sample"].max() or 0) + 1), np.nan)  # type: ignore[arg-type]
    for culture, name, variant, sample, value in cells.drop("cluster").iter_rows():
        values[places[culture, name], columns[variant], sample] = value
    return Grid(values, names, units["cluster"].to_list())


def variance_table(view: TaskView) -> Table | None:
    """Where the variance of each model's scores comes from; None with one wording and one sample."""
    variants, info = wordings_of(view), view.metrics[view.metric]
    rows: list[dict[str, Any]] = []
    for i, label in enumerate(view.labels):
        grid = score_grid(view, i, variants)
        if grid.values.shape[1:] != (1, 1) and grid.units:
            found = variance_components(grid.values, [culture for culture, _ in grid.units])
            rows += _component_rows(label, found)
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema=FRAMES["variance"])
    left_out = sum(frame.unique("model")["left_out"])
    gone = f" {wording.count(left_out, 'item')} without a score in each are left out." if left_out else ""
    columns = [
        Column("Differences between", lambda row: Cell(row["named"], isolate(wording.truncate(row["model"], 32)))),
        Column("Standard deviation", lambda row: Cell(_deviation(row, info), number=True)),
        Column("95% interval", lambda row: Cell(_interval(row, info), number=True)),
        Column("Share of variance", lambda row: Cell(_share(row, "variance"), number=True)),
        Column("Share of error", lambda row: Cell(_share(row, "error"), number=True)),
    ]
    return Table(
        key=f"{view.slug}-variance",
        caption=f"Where the variance of {view.titles[view.metric]} comes from",
        frame=frame.drop("named", "freedom"),
        columns=columns,
        shown=frame.with_columns(_total("variance"), _total("error")),
        note=wording.NOTES["variance"].format(fewest=FEWEST + 1) + gone,
    )


_DESIGN = Decomposition._fields[1:]


def _component_rows(label: str, found: Decomposition) -> list[dict[str, Any]]:
    """The components that a design can tell apart."""
    known = [component for component in found.components if component.variance is not None]
    design = dict(zip(_DESIGN, found[1:], strict=True))
    rows = []
    for component in known:
        # What a design cannot tell apart from a component is part of it.
        undrawn = " (and draws)" if component is known[-1] and component.name != "sample" else ""
        facts = {"model": label, "component": component.name, "named": _WORDS[component.name] + undrawn}
        rows.append({**component._asdict(), **design, **facts})
    return rows


def _total(name: str) -> pl.Expr:
    """A model's variances or errors, those below 0 as 0, added up over its components."""
    return pl.col(name).fill_null(0.0).clip(0.0).sum().over("model").alias(f"total_{name}")


def _deviation(row: Row, info: Mapping[str, Any], end: str = "variance") -> str:
    """The standard deviation of a component, or one ``end`` of its interval."""
    if (row["freedom"] or 0) < FEWEST:
        return NONE.text
    return wording.points(sqrt(max(row[end] or 0.0, 0.0)), info, 1)


def _interval(row: Row, info: Mapping[str, Any]) -> str:
    """The interval of a standard deviation, or by what it is not told."""
    if (row["freedom"] or 0) < FEWEST:
        few = {"prompt": wording.count(row["prompts"], "wording"), "culture": wording.count(row["cultures"], "culture")}
        return f"not known from {few.get(row['component'], 'so few')}"
    low, high = (_deviation(row, info, end) for end in ("low", "high"))
    return f"{low.removesuffix(' points')} to {high}"


def _share(row: Row, name: str) -> str:
    part, total = row[name], row[f"total_{name}"]
    few = (row["freedom"] or 0) < FEWEST
    return NONE.text if few or part is None or total <= 0 else f"{100 * max(part, 0.0) / total:.0f}%"


def _means(view: TaskView, variants: Sequence[str]) -> dict[int, list[float]]:
    """By run, the mean over cultures in each wording; only runs that have all of them."""
    found = {}
    for i in range(len(view.runs)):
        rows = [[view.estimate(i, s, view.metric, name) for s in view.subjects] for name in variants]
        if all(row is not None and wording.known(row["value"]) for one in rows for row in one):
            found[i] = [float(np.mean([row["value"] for row in one if row is not None])) for one in rows]
    return found


def multiverse_chart(view: TaskView) -> list[RowChart]:
    """Every model a row, every wording a dot, its ranks beside: how far the ranking moves; [] for one wording."""
    variants = wordings_of(view)
    means = _means(view, variants)
    if not means or len(variants) < 2:
        return []
    sign = direction(view, view.metric)
    ranks = {
        i: [1 + sum(sign * (other[k] - one[k]) > 0 for other in means.values()) for k in range(len(variants))]
        for i, one in means.items()
    }
    told = len(variants) <= len(SERIES)
    lines = [
        Line(
            wording.truncate(view.labels[i], 32),
            [Dot(value, series=k if told else 0) for k, value in enumerate(means[i])],
            strong=wording.rank(min(ranks[i]), max(ranks[i])) if len(means) > 1 else "",
            beside=wording.interval(min(means[i]), max(means[i]), view.metrics[view.metric]),
            joined=True,
        )
        for i in sorted(means, key=lambda i: -sign * sum(means[i]))
    ]
    title = f"{view.titles[view.metric]}, by wording of the prompt"
    about = f"{wording.count(len(means), 'model')} in {len(variants)} wordings. Beside each its lowest and highest"
    about += ", and its ranks" if len(means) > 1 else ""
    series = [label_text(name) for name in variants] if told else []
    return row_chart(
        view,
        view.metric,
        lines,
        title=title,
        about=about,
        key=f"{view.slug}-wordings",
        subject=view.task,
        series=series,
    )


def multiverse_sentence(view: TaskView) -> str:
    """Tell how many pairs of models change order with the wording, and which by more than chance; "" for one only."""
    variants = wordings_of(view)
    means = _means(view, variants)
    if len(means) < 2 or len(variants) < 2:
        return ""
    pairs = list(combinations(means, 2))
    above = [{one > other for one, other in zip(means[a], means[b], strict=True)} for a, b in pairs]
    turned = [pair for pair, both in zip(pairs, above, strict=True) if len(both) > 1]
    grids = {i: score_grid(view, i, variants) for i in means}
    units = list(dict.fromkeys(unit for grid in grids.values() for unit in grid.units))
    clusters: Mapping[tuple[str, str], str] = {
        unit: name for grid in grids.values() for unit, name in zip(grid.units, grid.clusters, strict=True)
    }
    rows = {unit: i for i, unit in enumerate(units)}
    scores = np.full((len(grids), len(units), len(variants)), np.nan)
    for k, grid in enumerate(grids.values()):
        scores[k, [rows[unit] for unit in grid.units]] = grid.values.mean(axis=2)
    beyond = order_changes(scores, [clusters[unit] for unit in units])
    count = partial(wording.count, len(pairs))
    first = f"Asked in {len(variants)} wordings, {len(turned) or 'none'} of {count('pair')} of models "
    first += "changes order" if len(turned) < 2 else "change order"
    if not beyond:
        return f"{first}; no difference between two models changes with the wording by more than chance could make it."
    which = [
        f"{isolate(view.labels[list(means)[a]])} and {isolate(view.labels[list(means)[b]])}" for a, b in beyond[:3]
    ]
    more = f", and {len(beyond) - 3} more pairs" if len(beyond) > 3 else ""
    return f"{first}. By more than chance, the wording changes the difference between {'; '.join(which)}{more}."
