"""Ranks of systems: intervals, by paired tests of every two systems on the same items.

A system stands below those that score higher by more than noise, and above those that score lower so (Holm over all
pairs of a task). Hence all ranks of a column hold together in 95 of 100 boards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kapwa.report.view.reference_scores import is_unranked
from kapwa.report.view.tasks import TaskView
from kapwa.stats.every_pair import every_pair
from kapwa.stats.families import is_clear
from kapwa.value_types import Row


class RankedTask(NamedTuple):
    """A task in one of its prompt variants, and the comparisons that rank systems in it (:func:`ranked_task`)."""

    view: TaskView
    pairs: Sequence[Row]


def ranked_task(view: TaskView) -> RankedTask:
    """Compare every two systems on the first headline metric, over all cultures; one system has no comparisons."""
    if len(view.runs) < 2:
        return RankedTask(view, [])
    items = [view.item_scores(run, view.main_metric) for run in range(len(view.runs))]
    binary = bool(view.metrics[view.main_metric].binary)
    compared = every_pair(items, view.labels, view.main_metric, view.variant, binary=binary)
    return RankedTask(view, compared.to_dicts())


def ranks(labels: Sequence[str], pairs: Sequence[Row], sign: int = 1) -> dict[str, tuple[int, int]]:
    """The interval of each system's rank: from 1 + those that are better, to all but those that are worse.

    ``labels``: the systems that have a rank. ``sign``: -1 where a lower score is better.
    """
    better, worse = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0)
    for row in pairs:
        if is_clear(row) and row["a"] in better and row["b"] in better:
            first, second = (row["a"], row["b"]) if sign * row["difference"] > 0 else (row["b"], row["a"])
            worse[first] += 1
            better[second] += 1
    return {label: (1 + better[label], len(labels) - worse[label]) for label in labels}


def ranked_labels(
    view: TaskView, estimates: Mapping[str, Sequence[Mapping[str, object] | None]], task_index: int = 0
) -> list[str]:
    """The systems of a task that have a rank: not too many of their answers are missing.

    ``estimates``: of each system its scores (:func:`scores_by_system`); ``task_index``: that of the task among them.
    """
    return [name for name in view.labels if not is_unranked(estimates.get(name, {task_index: None})[task_index])]


def in_variants(task: RankedTask) -> list[RankedTask]:
    """Return a task once for each of its prompt variants; [] for one variant, one system, or no scores.

    Systems are compared on each variant that two or more cultures, or the only one, were asked.
    """
    view = task.view
    if len(view.variants) < 2 or len(view.runs) < 2 or view.needs_verdicts:
        return []
    return [task if name == view.variant else ranked_task(view.of_variant(name)) for name in view.variants]
