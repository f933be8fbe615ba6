"""Language or culture: what asking in another language changes, and what is left between cultures in one language."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.comparisons import Contrast, axis_names, axis_words, contrasts
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import clean, isolate
from kapwa.stats.clusters import FloatArray, none_if_nan
from kapwa.stats.culture_means import codes_of, means_of_valid
from kapwa.stats.intervals import Estimate
from kapwa.stats.pooled import pooled_mean
from kapwa.stats.spread import spread_of
from kapwa.value_types import Row

_PLACE = ("culture", "item_id", "cluster")
LEAST = 3  # cultures: of fewer, no spread has an interval that says anything
_NOTE = (
    "The same questions of the same cultures, asked in two languages. “Language”: the mean over cultures of the first "
    "less the second. “Language × culture”: the standard deviation of that difference between cultures. “Cultures”: "
    "that of their scores, or shares, where all are asked so. Standard deviations are without the error of questions, "
    "with 95% intervals; bold where more than noise."
)


class LanguageRow(NamedTuple):
    """Main effects and interaction of language and culture for one system, by the score or by the share of people's.

    ``first`` and ``second``: the variants, of which the first less the second is ``effect``.
    """

    model: str | None
    metric: str | None
    measure: str | None
    first: str | None
    second: str | None
    cultures: int | None
    items: int | None
    effect: float | None
    low: float | None
    high: float | None
    interaction_sd: float | None
    interaction_low: float | None
    interaction_high: float | None
    p_interaction: float | None
    first_sd: float | None
    first_low: float | None
    first_high: float | None
    second_sd: float | None
    second_low: float | None
    second_high: float | None


class Spread(NamedTuple):
    """The standard deviation of true means between cultures with its interval, and p of their being equal."""

    sd: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


class Effects(NamedTuple):
    """The mean effect of the language, how it varies between cultures, and how cultures differ in each language."""

    language: Estimate
    interaction: Spread
    first: Spread
    second: Spread


def effects(both: pl.DataFrame) -> Effects:
    """Take language and culture apart in items asked in two languages: the first less the second, cultures alike.

    ``both``: a row an item, with culture, cluster and its values ``first`` and ``second``. The mean over cultures is
    that of :func:`kapwa.stats.pooled.pooled_mean`, standard deviations those of
    :func:`kapwa.stats.spread.culture_spread`.
    """
    cultures, clusters = both["culture"].to_list(), both["cluster"].to_list()
    first, second = (both[name].to_numpy() for name in ("first", "second"))
    change = first - second
    return Effects(
        pooled_mean(change, cultures, clusters),
        *(_spread(values, cultures, clusters) for values in (change, first, second)),
    )


def language_or_culture_table(view: TaskView) -> Table | None:
    """A row a system and measure: the effect of language, of culture, and of both; None where one was not varied."""
    if view.crowded or not view.several_cultures:
        return None
    rows = [
        row
        for contrast in contrasts(view.variants, "asked")
        if view.variant in contrast[:2]
        for run in range(len(view.runs))
        for row in _rows(view, run, contrast)
    ]
    if not rows:
        return None
    info = view.metrics[view.main_metric]

    def system(row: Row) -> Cell:
        prompt = axis_words(row["first"].partition("/")[2])
        names = [isolate(clean(row["model"]))] if len(view.runs) > 1 else []
        # A name in a script that runs to the left stands last, so that it turns nothing around.
        small = [f"{prompt}, {wording.count(row['cultures'], 'culture')}", *names]
        return Cell(row["measure"], "; ".join(small))

    def effect(row: Row) -> Cell:
        between = wording.change_interval(row["low"], row["high"], info)
        clear = row["low"] is not None and not row["low"] <= 0 <= row["high"]
        return Cell(wording.change(row["effect"], info), between, number=True, strong=clear)

    def spread(name: str, row: Row) -> Cell:
        if row[f"{name}_sd"] is None:
            return NONE
        number, low, high = (wording.points(row[f"{name}_{end}"], info, 1) for end in ("sd", "low", "high"))
        between = f"{low.removesuffix(' points')} to {high}"
        return Cell(number, between, number=True, strong=row[f"{name}_low"] > 0)

    shown = frame_of(LanguageRow, rows)
    first, second = axis_names({"a": shown["first"][0], "b": shown["second"][0]}, "asked")
    return Table(
        key=f"{view.slug}-language-or-culture",
        caption=f"Language or culture ({first} − {second}): {view.titles[view.main_metric]}",
        frame=shown,
        columns=[
            Column("Measure", system),
            Column("Language", effect),
            Column("Language × culture", partial(spread, "interaction")),
            Column(f"Cultures, {second}", partial(spread, "second")),
            Column(f"Cultures, {first}", partial(spread, "first")),
        ],
        note=_NOTE,
    )


def _rows(view: TaskView, run: int, contrast: Contrast) -> Iterator[LanguageRow]:
    """Differences by the score, and by the share of people's score if this is known for both variants."""
    sides = [view if name == view.variant else view.of_variant(name) for name in (contrast.first, contrast.second)]
    scores: list[pl.DataFrame | None] = [side.answered_item_scores(run, view.main_metric) for side in sides]
    shares = [side.shares_of_people(run, view.main_metric) for side in sides]
    for measure, (first, second) in (("score", scores), ("share of what people score", shares)):
        if first is not None and second is not None:
            both = _both(view, contrast, first, second)
            if both["culture"].n_unique() >= LEAST:
                yield _row(view, run, contrast, measure, both)


def _both(view: TaskView, contrast: Contrast, first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """The items of cultures that were asked in two languages, with both values."""
    wanted = [
        subject.culture
        for subject in view.subjects
        if view.language_of(subject, contrast.first) != view.language_of(subject, contrast.second)
    ]
    scored = first.filter(pl.col("culture").is_in(wanted)).select(*_PLACE, first="value")
    return scored.join(second.select(*_PLACE, second="value"), on=_PLACE).sort(_PLACE)


def _row(view: TaskView, run: int, contrast: Contrast, measure: str, both: pl.DataFrame) -> LanguageRow:
    effect_sizes = effects(both)
    return LanguageRow(
        model=view.labels[run],
        metric=view.main_metric,
        measure=measure,
        first=contrast.first,
        second=contrast.second,
        cultures=both["culture"].n_unique(),
        items=both.height,
        effect=effect_sizes.language.value,
        low=effect_sizes.language.low,
        high=effect_sizes.language.high,
        interaction_sd=effect_sizes.interaction.sd,
        interaction_low=effect_sizes.interaction.low,
        interaction_high=effect_sizes.interaction.high,
        p_interaction=effect_sizes.interaction.p,
        first_sd=effect_sizes.first.sd,
        first_low=effect_sizes.first.low,
        first_high=effect_sizes.first.high,
        second_sd=effect_sizes.second.sd,
        second_low=effect_sizes.second.low,
        second_high=effect_sizes.second.high,
    )


def _spread(values: FloatArray, cultures: list[str], clusters: list[str]) -> Spread:
    variation = spread_of(
        means_of_valid(values, codes_of(values, cultures, clusters)), tuple(sorted(set(cultures))), seed=0, ranked=False
    )
    if variation is None:
        return Spread()
    sd, low, high = variation.deviation
    return Spread(sd, low, high, none_if_nan(variation.p_value))
