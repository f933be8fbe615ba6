"""Data of the board for the page's script: the scores by each filter, and the tests of every two systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kapwa.report import wording
from kapwa.report.board.ranks import RankedTask
from kapwa.report.board.table import REFERENCE_ROWS, board_cell, references_of
from kapwa.report.tables.labels import estimate_over, labels_of
from kapwa.report.tables.scores import score_cell
from kapwa.report.tables.table import NONE
from kapwa.report.view.comparisons import language_facts, variant_name
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import pack
from kapwa.stats.families import is_clear, is_undecided, missing_share
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonObject, Row

_DIGITS = {True: 1, False: 3}  # of a share in per cent, and of another measure


def comparison_data(
    tasks: Sequence[RankedTask],
    groups: Mapping[str, str],
    unfiltered: Sequence[int] = (),
    variants: Sequence[Sequence[RankedTask]] = (),
) -> str:
    """Return the data with which the page's script filters the board and compares any two systems, packed.

    ``groups``: the group of each system, where known. ``unfiltered``: for each column after those of tasks (people's
    labels, costs), the index of its task. ``variants``: of each task (:func:`kapwa.report.board.ranks.in_variants`):
    readers choose the one in which a task is shown.
    Scores are words as the page writes them; differences are rounded numbers, since the script turns them around.
    """
    columns = []
    for task, each in zip(tasks, variants or [()] * len(tasks), strict=True):
        # ``at``: its column in the board by variant, from which the script takes scores and ranks.
        others = [
            {**_script_data(one), "at": at}
            for at, one in enumerate(each, start=1)
            if one.view.variant != task.view.variant
        ]
        columns.append({**_script_data(task), "others": others})
    return pack({"tasks": columns, "groups": dict(groups), "audited": list(unfiltered)})


def _script_data(task: RankedTask) -> JsonObject:
    """The data for the script about a task in one variant."""
    view = task.view
    info = view.metrics[view.main_metric]
    index_of = {label: index for index, label in enumerate(view.labels)}
    choices = filter_choices(view)
    return {
        "task": view.title,
        "variant": variant_name(view.variant),
        "metric": view.titles[view.main_metric],
        "digits": _DIGITS[wording.is_share(info)],
        "systems": list(view.labels),
        "marks": list(REFERENCE_ROWS.values()),
        "cultures": [subject.label for subject in view.subjects],
        "choices": [(kind, name, members) for kind, name, members in choices],
        "cells": chosen_cells(view, [members for _, _, members in choices]),
        "pairs": [
            [index_of[row["a"]], index_of[row["b"]], *_tested(row, info)]
            for row in task.pairs
            if wording.known(row["difference"])
        ],
    }


def filter_choices(view: TaskView) -> list[tuple[str, str, list[int]]]:
    """Return the filters of the board: cultures, the languages in which they were asked (if several), and labels.

    Each with its kind, its name and the places of its cultures among ``view.subjects``.
    """
    languages: dict[str, list[int]] = {}
    for index, subject in enumerate(view.subjects):
        name = language_facts(view.language_of(subject, view.variant))[0]
        languages.setdefault(name, []).append(index)
    cultures = [("Culture", subject.label, [index]) for index, subject in enumerate(view.subjects)]
    spoken = languages.items() if len(languages) > 1 else ()
    named = Counter(label for _, label, _ in labels_of(view))
    labels = [
        ("Label", label if named[label] == 1 else f"{label} ({kind})", members)
        for kind, label, members in labels_of(view)
    ]
    return cultures + [("Language", name, members) for name, members in spoken] + labels


def chosen_cells(view: TaskView, choices: Sequence[Sequence[int]]) -> list[list[tuple[str, str]]]:
    """For each filter, the cells of all systems and then of all marks: a value, and the small text under it.

    A choice of one culture has its estimate and marks; one of several has their mean, each counting alike, and no mark.
    """
    info = view.metrics[view.main_metric]
    items = [view.item_scores(run, view.main_metric) for run in range(len(view.runs))]
    columns = []
    for indices in choices:
        members = [view.subjects[index] for index in indices]
        cells = [
            score_cell(estimate_over(view, run, view.main_metric, items[run], members), info, headline=True)
            for run in range(len(view.runs))
        ]
        marks = references_of(view, 0, members[0]) if len(members) == 1 else {}
        for name, title in REFERENCE_ROWS.items():
            mark = marks.get(name)
            facts = None if mark is None else {**mark._asdict(), "system": title, "kind": name, "least": None}
            cells.append(NONE if facts is None else board_cell(facts, view))
        columns.append([(cell.text, cell.small) for cell in cells])
    return columns


def _tested(row: Row, info: MetricInfo) -> list[float | bool | str | None]:
    """Difference and interval in the unit of the page, whether it is more than noise, and what keeps that open."""
    share = wording.is_share(info)
    scale, digits = 100 if share else 1, _DIGITS[share]
    ends = (row[name] for name in ("difference", "low", "high"))
    return [
        *(round(scale * value, digits) if wording.known(value) else None for value in ends),
        is_clear(row),
        wording.tidy_share(missing_share(row)) if is_undecided(row) else "",
    ]
