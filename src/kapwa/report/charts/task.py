"""The charts of one task, by the sections of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from kapwa.report.charts.crowd import culture_heat, systems_in_order, topic_heats
from kapwa.report.charts.elements import Chart, HeatChart
from kapwa.report.charts.heat import confusion_chart, stratum_charts
from kapwa.report.charts.rows import contrast_charts, culture_charts, headline_charts, topic_charts
from kapwa.report.charts.wordings import wordings_chart
from kapwa.report.view.comparisons import Axis
from kapwa.report.view.tasks import TaskView


@dataclass(frozen=True, slots=True)
class TaskCharts:
    """Charts in reading order.

    Attributes:
        headline: The headline metrics by model, or by culture where there are several.
        topics: The first headline metric by topic.
        breakdown: Squares of culture × topic, or of system × topic.
        contrasts: Pairs of variants that differ in the language asked in, and in the prompt.
        wordings: How scores move with the wording of the prompt.
        confusions: Whose answers a model gives where it is wrong.
    """

    headline: Sequence[Chart] = ()
    topics: Sequence[Chart] = ()
    breakdown: Sequence[HeatChart] = ()
    contrasts: Mapping[Axis, Sequence[Chart]] = field(default_factory=dict)
    wordings: Sequence[Chart] = ()
    confusions: Sequence[HeatChart] = ()

    @property
    def every(self) -> list[Chart]:
        """All of them, in reading order."""
        contrasts = [chart for charts in self.contrasts.values() for chart in charts]
        return [*self.headline, *self.topics, *self.breakdown, *contrasts, *self.wordings, *self.confusions]

    @property
    def has_brackets(self) -> bool:
        """Whether a square rests on so few items that its number stands in brackets."""
        squares = (square for chart in self.breakdown for row in chart.squares for square in row)
        return any(square is not None and square.text.startswith("(") for square in squares)


def charts_of(view: TaskView, contrasts: Mapping[Axis, pl.DataFrame]) -> TaskCharts:
    """The charts of a task; ``contrasts``: those of its variants, by axis. Of many systems each has a square."""
    if view.crowded:
        order = systems_in_order(view)
        headline = [chart for metric in view.headline for chart in culture_heat(view, metric, order)]
        return TaskCharts(headline=headline, breakdown=topic_heats(view, order))
    draw = culture_charts if view.several_cultures else headline_charts
    return TaskCharts(
        headline=[chart for metric in view.headline for chart in draw(view, metric)],
        topics=topic_charts(view),
        breakdown=stratum_charts(view) if view.several_cultures else [],
        contrasts={axis: contrast_charts(view, frame) for axis, frame in contrasts.items()},
        wordings=wordings_chart(view) if len(view.variants) > 1 else [],
        confusions=[chart for one in view.confusions() for chart in confusion_chart(view, one)],
    )
