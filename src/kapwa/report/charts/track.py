"""The score of each checkpoint with its interval, and that of each culture."""

from __future__ import annotations

from kapwa.report import wording
from kapwa.report.charts.elements import Dot, HeatChart, Line, RowChart
from kapwa.report.charts.heat import heat_chart, square_of
from kapwa.report.charts.rows import row_chart
from kapwa.report.sentences import missing
from kapwa.report.view.track import Track, TrackedStep


def track_charts(track: Track) -> list[RowChart | HeatChart]:
    """A row a checkpoint, the earliest on top; of several cultures a heat map, a column a checkpoint."""
    view, title = track.view, track.view.titles[track.view.main_metric]
    where = "mean over cultures" if view.several_cultures else view.subjects[0].label
    return [
        *row_chart(
            view,
            view.main_metric,
            [_line(track, step) for step in track.steps],
            title=f"{title} over checkpoints",
            about=where,
            key=f"{view.slug}-track",
            subject=where,
        ),
        *_culture_squares(track),
    ]


def _line(track: Track, step: TrackedStep) -> Line:
    name, row = wording.truncate(wording.label_text(step.point.name), 40), step.estimate
    stopped = "stopped early" if step.point.run.stopped else ""
    if not step.scored or row is None:
        return Line(name, below=stopped, strong="no score", muted=True)
    below = ", ".join(filter(None, [f"n = {int(row['n']):,}", stopped, missing.missing_words(row, track.info)]))
    return Line(
        name,
        [Dot(row["value"], row["low"], row["high"])],
        below,
        wording.amount(row["value"], track.info),
        wording.interval(row["low"], row["high"], track.info),
    )


def _culture_squares(track: Track) -> list[HeatChart]:
    view = track.view
    if not view.several_cultures:
        return []
    subjects, title = view.by_score(view.main_metric), f"{view.titles[view.main_metric]} by culture and checkpoint"
    squares = [
        [square_of(view.estimate(index, subject, view.main_metric), track.info) for index in range(len(view.runs))]
        for subject in subjects
    ]
    return heat_chart(
        squares,
        track.info,
        key=f"{view.slug}-track-cultures",
        title=title,
        subject="differences between squares are no finding: see the table of changes of single cultures",
        alt=f"{title}. The table of changes has the intervals.",
        rows=[subject.label for subject in subjects],
        columns=list(view.labels),
    )
