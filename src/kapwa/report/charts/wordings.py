"""How far the ranking of models moves with the wording of the prompt."""

from __future__ import annotations

from kapwa.report import wording
from kapwa.report.charts.elements import SERIES, Dot, Line, RowChart
from kapwa.report.charts.rows import row_chart
from kapwa.report.view.means import direction
from kapwa.report.view.tasks import TaskView
from kapwa.report.view.wordings import wording_means, wordings_of
from kapwa.report.wording import label_text


def wordings_chart(view: TaskView) -> list[RowChart]:
    """Every model a row, every wording a dot, its ranks beside: how far the ranking moves; [] for one wording."""
    variants = wordings_of(view)
    means = wording_means(view, variants)
    if not means or len(variants) < 2:
        return []
    sign = direction(view, view.main_metric)
    ranks = {
        i: [1 + sum(sign * (other[k] - one[k]) > 0 for other in means.values()) for k in range(len(variants))]
        for i, one in means.items()
    }
    distinguishable = len(variants) <= len(SERIES)
    lines = [
        Line(
            wording.truncate(view.labels[i], 32),
            [Dot(value, series=k if distinguishable else 0) for k, value in enumerate(means[i])],
            strong=wording.rank(min(ranks[i]), max(ranks[i])) if len(means) > 1 else "",
            beside=wording.interval(min(means[i]), max(means[i]), view.metrics[view.main_metric]),
            joined=True,
        )
        for i in sorted(means, key=lambda i: -sign * sum(means[i]))
    ]
    title = f"{view.titles[view.main_metric]}, by wording of the prompt"
    about = f"{wording.count(len(means), 'model')} in {len(variants)} wordings. Beside each its lowest and highest"
    about += ", and its ranks" if len(means) > 1 else ""
    series = [label_text(name) for name in variants] if distinguishable else []
    return row_chart(
        view,
        view.main_metric,
        lines,
        title=title,
        about=about,
        key=f"{view.slug}-wordings",
        subject=view.task,
        series=series,
    )
