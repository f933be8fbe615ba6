"""Floors and ceilings of a run as tables, with a test of the scores against those that are known item by item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.records import Floor, Item
from kapwa.runs.schema import CEILING_SCHEMA, FLOOR_SCHEMA
from kapwa.suites.items import grouped
from kapwa.value_types import Cells, JsonObject, Row

if TYPE_CHECKING:
    from kapwa.stats.missing import Ends


# What floors are called that are guessing: a score is held against these first.
GUESSING = ("chance", "no preference")


class FloorValues(NamedTuple):
    """The floors and the ceiling of a score; :class:`kapwa.report.view.reference_scores.ReferenceScores` has them."""

    base_floor: float | None = None
    highest_floor: float | None = None
    ceiling: float | None = None


def leading_floors(rows: Sequence[Row], *, low_is_good: bool) -> FloorValues:
    """Choose among rows of the table of floors: guessing (else the best trick), the best trick, what people score.

    ``low_is_good``: of a metric of which less is better, the lowest floor is the best trick.
    """
    floors = [row for row in rows if row["kind"] == "floor"]
    ceilings = sorted((row for row in rows if row["kind"] == "ceiling"), key=itemgetter("value"))
    if low_is_good:
        ceilings.reverse()
    best = (min if low_is_good else max)((row["value"] for row in floors), default=None)
    base = next((row["value"] for row in floors if row["name"] in GUESSING), best)
    top = next((row["value"] for row in ceilings if row["low"] is not None), ceilings[0]["value"] if ceilings else None)
    return FloorValues(base, best, top)


def floor_tables(
    floors: Sequence[Floor],
    items: Sequence[Item],
    scores: pl.DataFrame,
    kinds: Mapping[str, Mapping[str, bool]],
    ranges: Mapping[str, Ends] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the table of floors and ceilings, and that of what people score on each item.

    Floors that are known item by item have a test of the scores against them; what is over several cultures is a mean
    over them, each counting alike, and so is its test. The second table has a row for each item of a ceiling that is
    known item by item, and names the metric that is held against it.

    ``kinds``: of each metric, whether it is right or wrong (``binary``), and whether between 0 and 1 (``share``).
    ``ranges``: the ends of the others.
    """
    from kapwa.stats.intervals import against_marks
    from kapwa.stats.missing import against_marks_with_worst_cases, item_bounds, with_bounds
    from kapwa.stats.pooled import pooled_against_marks, pooled_mean

    cultures = {item.culture for item in items}
    tests: dict[int, Any] = {}
    means: dict[int, float | None] = {}
    # Every item once, though it be in the mark of its culture and in that over all.
    people: dict[tuple[str, ...], float] = {}
    # Each item's mean over its samples, and what it can be where answers are missing.
    bounded = with_bounds(scores, {name: kind["share"] for name, kind in kinds.items()}, ranges or {})
    by_sample = item_bounds(bounded, ("metric", "variant", "item_id"))
    values = by_sample.partition_by("metric", "variant", as_dict=True, include_key=False)
    paired = [(floor.paired_with or floor.metric, floor.variant, floor.note) for floor in floors]
    known = [n for n, floor in enumerate(floors) if floor.by_item is not None and paired[n][:2] in values]
    for (metric, variant, note), indices in grouped(known, paired.__getitem__).items():
        floor_items = [
            item for item in items if item.variant == variant and (note not in cultures or item.culture == note)
        ]
        asked_ids = pl.DataFrame({"item_id": [item.id for item in floor_items]})
        joined = asked_ids.join(values[metric, variant], on="item_id", how="left", maintain_order="left")
        scored, least, most = (joined[name].to_numpy() for name in ("value", "least", "most"))
        marks = np.array([floors[index].by_item for index in indices], dtype=np.float64).T
        item_cultures = [item.culture for item in floor_items]
        clusters = [item.cluster for item in floor_items]
        if len(set(item_cultures)) > 1:
            where: JsonObject = {"marks": marks, "cultures": item_cultures, "clusters": clusters}
            pooled = partial(pooled_against_marks, **where | dict(kinds[metric]))
            results = against_marks_with_worst_cases(scored, least, most, pooled)
            for index, mark in zip(indices, marks.T, strict=True):
                means[index] = pooled_mean(mark, item_cultures, clusters).value
        else:
            one: Cells = {"marks": marks, "clusters": clusters}
            alone = partial(against_marks, **one | dict(kinds[metric]))
            results = against_marks_with_worst_cases(scored, least, most, alone)
        tests |= dict(zip(indices, results, strict=True))
        for index, mark in zip(indices, marks.T.tolist(), strict=True):
            floor = floors[index]
            if floor.kind == "ceiling":
                keys = [(item.id, variant, floor.metric, floor.name, metric) for item in floor_items]
                people |= {key: value for key, value in zip(keys, mark, strict=True) if not math.isnan(value)}
    by_item = pl.DataFrame([(*key, value) for key, value in people.items()], schema=CEILING_SCHEMA, orient="row")
    return _floor_rows(floors, cultures, tests, means), by_item


def _floor_rows(
    floors: Sequence[Floor], cultures: set[str], tests: Mapping[int, Any], means: Mapping[int, float | None]
) -> pl.DataFrame:
    """Return the table of floors: those over several cultures are means over cultures, where these are known."""
    kind = attrgetter("metric", "variant", "name", "kind")
    by_culture = grouped([floor for floor in floors if floor.note in cultures], kind)
    rows = []
    for index, floor in enumerate(floors):
        row = floor._asdict() | (tests[index]._asdict() if index in tests else {})
        if floor.note not in cultures:
            row["value"] = means.get(index, fmean(of_one.value for of_one in by_culture.get(kind(floor), [floor])))
        rows.append({name: row.get(name) for name in FLOOR_SCHEMA})
    return pl.DataFrame(rows, schema=FLOOR_SCHEMA)
