"""The whole board: its table, the same in each prompt variant, sentences, and what the page's script needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapwa.report.board.filters import comparison_data
from kapwa.report.board.ranks import RankedTask, ranked_task
from kapwa.report.board.table import board_table, cost_columns
from kapwa.report.board.verdicts import LabelColumn
from kapwa.report.sentences.missing import first_sentences
from kapwa.report.tables.table import Table
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import Named


@dataclass(frozen=True, slots=True)
class Board:
    """Every system on every task.

    Attributes:
        variants: By the index of a task, its board in each prompt variant.
        sentences: What is missing, and a verdict on each task.
        data: What the script needs to filter the board and to compare two systems; None where it does neither.
        several: Whether readers can choose two systems among more.
    """

    table: Table
    variants: Mapping[int, Table]
    sentences: Sequence[str]
    data: str | None
    several: bool


def whole_board(
    tasks: Sequence[RankedTask],
    variants: Sequence[Sequence[RankedTask]],
    labelled: Sequence[LabelColumn],
    verdicts: Sequence[str],
    groups: Mapping[str, str],
    *,
    cost: bool,
) -> Board:
    """Build the board of a page.

    ``variants``: each task in its prompt variants (:func:`kapwa.report.board.ranks.in_variants`). ``verdicts``: a
    sentence on each task, or "". ``groups``: the group of each system, where known; readers filter by it. ``cost``:
    whether the board shows costs.
    """
    views = [task.view for task in tasks]
    several = max(len(view.runs) for view in views) > 2
    by_variant = {index: _variant_table(each) for index, each in enumerate(variants) if each}
    # Columns of labels and of costs are of all cultures together: no filter changes them.
    unfiltered = [column.task_index for column in labelled] + (cost_columns(views) if cost else [])
    return Board(
        table=board_table(tasks, labelled, cost=cost),
        variants=by_variant,
        sentences=[*first_sentences(views), *filter(None, verdicts)],
        data=comparison_data(tasks, groups, unfiltered, variants) if several or by_variant else None,
        several=several,
    )


def _variant_table(variants: Sequence[RankedTask]) -> Table:
    """A column for each prompt variant of a task, with the ranks of the systems in it."""
    view = variants[0].view
    return board_table(variants, key=f"{view.slug}-variants-board", caption=f"The board by variant ({view.title})")


def board_of(runs: Sequence[Run], same: Named | None = None, people: Sequence[Path] = ()) -> Table:
    """The table of the board of ``runs``; see :func:`kapwa.report.page.runs.build_report`."""
    from kapwa.report.board.audit import audits_of, label_columns

    views = arrange(runs, same)
    labelled = label_columns(views, audits_of(runs, people)) if people else []
    return board_table(list(map(ranked_task, views)), labelled)
