"""Many systems on one page: heat tables in place of dots, two of them chosen and compared, all numbers in one table.

Beyond eight systems no chart of dots can be read. The page keeps the board, a square for each system and culture (and
topic), and the tests of every two systems for its script; answers and numbers lie in files beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.board import MARKS, board_cell, marks_of
from kapwa.report.charts import HeatChart
from kapwa.report.comparisons import language_facts
from kapwa.report.heat import heat_chart, square_of
from kapwa.report.labels import estimate_over, labels_of
from kapwa.report.marks import Estimate
from kapwa.report.overview import direction, model_rows, place_of, topic_means
from kapwa.report.table import NONE
from kapwa.report.tables import score_cell
from kapwa.report.view import TaskView
from kapwa.report.wording import label_text, pack
from kapwa.stats.families import is_clear

_DIGITS = {True: 1, False: 3}  # of a share in per cent, and of another measure


def crowd_charts(view: TaskView) -> dict[str, list[HeatChart]]:
    """Squares of many systems by culture and by topic, by the part of the page that they stand in."""
    means = {name: rows[0] for name, rows in model_rows([(view, view.metric)]).items()}
    sign = direction(view, view.metric)
    order = sorted(view.labels, key=lambda name: place_of(means.get(name), sign))
    return {
        "headline": [chart for metric in view.headline for chart in culture_heat(view, metric, order)],
        "breakdown": topic_heats(view, order),
    }


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
        charts += _heat(view, view.metric, how, order, {topic: dict(rows) for topic, rows in topics.items()})
    return charts


def _heat(
    view: TaskView, metric: str, how: str, order: Sequence[str], scores: Mapping[str, Mapping[int, Estimate | None]]
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


def comparison_data(
    views: Sequence[TaskView],
    pairs: Sequence[Sequence[Mapping[str, Any]]],
    groups: Mapping[str, str],
    labelled: Sequence[int] = (),
) -> str:
    """What the page's script needs to filter the board and to set any two systems side by side, packed.

    ``pairs``: :func:`kapwa.report.board.ranking_pairs` of each view. ``groups``: of each system, where they are known.
    ``labelled``: of the board's columns of people's labels, the places of their tasks.
    Scores are words as the page writes them; differences are rounded numbers, since the script turns them around.
    """
    tasks = []
    for view, compared in zip(views, pairs, strict=True):
        info = view.metrics[view.metric]
        places = {label: place for place, label in enumerate(view.labels)}
        choices = filter_choices(view)
        tasks.append(
            {
                "task": view.title,
                "metric": view.titles[view.metric],
                "digits": _DIGITS[wording.is_share(info)],
                "systems": list(view.labels),
                "marks": list(MARKS.values()),
                "cultures": [subject.label for subject in view.subjects],
                "choices": [(kind, name, members) for kind, name, members in choices],
                "cells": chosen_cells(view, [members for _, _, members in choices]),
                "pairs": [
                    [places[row["a"]], places[row["b"]], *_tested(row, info)]
                    for row in compared
                    if wording.known(row["difference"])
                ],
            }
        )
    return pack({"tasks": tasks, "groups": dict(groups), "audited": list(labelled)})


def filter_choices(view: TaskView) -> list[tuple[str, str, list[int]]]:
    """What the board can be filtered by: every culture, the languages they were asked in, where several, and labels.

    Each with its kind, its name and the places of its cultures among ``view.subjects``.
    """
    languages: dict[str, list[int]] = {}
    for place, subject in enumerate(view.subjects):
        name = language_facts(view.language_of(subject, view.variant))[0]
        languages.setdefault(name, []).append(place)
    cultures = [("Culture", subject.label, [place]) for place, subject in enumerate(view.subjects)]
    spoken = languages.items() if len(languages) > 1 else ()
    named = Counter(label for _, label, _ in labels_of(view))
    labels = [
        ("Label", label if named[label] == 1 else f"{label} ({kind})", members)
        for kind, label, members in labels_of(view)
    ]
    return cultures + [("Language", name, members) for name, members in spoken] + labels


def chosen_cells(view: TaskView, choices: Sequence[Sequence[int]]) -> list[list[tuple[str, str]]]:
    """By choice, what the board shows of each system and then of each mark: its value, and what stands small under it.

    A choice of one culture has its estimate and marks; one of several has their mean, each counting alike, and no mark.
    """
    info = view.metrics[view.metric]
    items = [view.item_values(run, view.metric) for run in range(len(view.runs))]
    columns = []
    for places in choices:
        members = [view.subjects[place] for place in places]
        cells = [
            score_cell(estimate_over(view, run, view.metric, items[run], members), info)
            for run in range(len(view.runs))
        ]
        marks = marks_of(view, 0, members[0]) if len(members) == 1 else {}
        for name, title in MARKS.items():
            mark = marks.get(name)
            facts = None if mark is None else {**mark._asdict(), "system": title, "kind": name, "least": None}
            cells.append(NONE if facts is None else board_cell(facts, view))
        columns.append([(cell.text, cell.small) for cell in cells])
    return columns


def _tested(row: Mapping[str, Any], info: Mapping[str, Any]) -> list[float | bool | None]:
    """Difference and interval in the unit of the page, and whether it is more than noise."""
    share = wording.is_share(info)
    scale, digits = 100 if share else 1, _DIGITS[share]
    ends = (row[name] for name in ("difference", "low", "high"))
    return [*(round(scale * value, digits) if wording.known(value) else None for value in ends), is_clear(row)]
