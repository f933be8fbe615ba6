"""Charts of more systems than dots can tell apart: a square for each system and culture, or topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapwa.files import slug
from kapwa.report.charts.elements import HeatChart
from kapwa.report.charts.heat import heat_chart, square_of
from kapwa.report.view.means import direction, rank_key, scores_by_system, topic_means
from kapwa.report.view.reference_scores import EstimateRow
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import label_text


def systems_in_order(view: TaskView) -> list[str]:
    """The systems, those with the best scores first."""
    means = {name: rows[0] for name, rows in scores_by_system([(view, view.main_metric)]).items()}
    sign = direction(view, view.main_metric)
    return sorted(view.labels, key=lambda name: rank_key(means.get(name), sign))


def culture_heat(view: TaskView, metric: str, order: Sequence[str]) -> list[HeatChart]:
    """A row a system in ``order``, a column a culture: the score."""
    runs = range(len(view.runs))
    scores = {s.label: {run: view.estimate(run, s, metric) for run in runs} for s in view.by_score(metric)}
    return _heat(view, metric, "by culture", order, scores)


def topic_heats(view: TaskView, order: Sequence[str]) -> list[HeatChart]:
    """For each grouping, a row a system in ``order``, a column a topic: the mean over cultures."""
    charts = []
    for group, topics in topic_means(view):
        how = f"by {label_text(group).replace('_', ' ')}, mean over cultures"
        charts += _heat(view, view.main_metric, how, order, {topic: dict(rows) for topic, rows in topics.items()})
    return charts


def _heat(
    view: TaskView, metric: str, how: str, order: Sequence[str], scores: Mapping[str, Mapping[int, EstimateRow | None]]
) -> list[HeatChart]:
    """``scores``: by column, then by run."""
    info, title = view.metrics[metric], f"{view.titles[metric]}, {how}"
    runs = [view.labels.index(label) for label in order]
    return heat_chart(
        [[square_of(column.get(run), info) for column in scores.values()] for run in runs],
        info,
        key=f"{view.slug}-{slug(metric)}-{slug(how)}-systems",
        title=title,
        subject="all systems",
        alt=f"{title}: a row a system.",
        rows=list(order),
        columns=[label_text(name or "(none given)") for name in scores],
    )
