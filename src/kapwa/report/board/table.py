"""The board: a row for each system, a column for each task; below the systems guessing, the best trick, the ceiling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import polars as pl

from kapwa.languages.codes import name_of
from kapwa.report import wording
from kapwa.report.board.ranks import RankedTask, ranked_labels, ranks
from kapwa.report.board.verdicts import LabelColumn
from kapwa.report.sentences import missing
from kapwa.report.tables.scores import of_ceiling, score_cell
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.comparisons import variant_name
from kapwa.report.view.means import direction, rank_key, scores_by_system
from kapwa.report.view.reference_scores import GUESSING, EstimateRow, ReferenceScore, is_first_items_only, is_unranked
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import SHARE
from kapwa.runs.costs import amount
from kapwa.value_types import JsonObject, Row

UNKNOWN = "unknown"  # whether a model was trained on what it is asked, where nobody says it
_SAME = 1e-9  # marks of two runs that are no further apart are the same
_RANKS_NOTE = (
    "Ranks are by paired tests of every pair of systems on the same items (Holm over all pairs of a task); bold "
    "scores are of systems that may be the best."
)
_GROUPS_NOTE = (
    "Where items form groups, the board scores and ranks single items; how many groups are all right is another "
    "metric (all_right), and the one that authors of such sets publish."
)
_LABELS_NOTE = (
    "“As people label it” is what people say of a random sample (the share that is right, or of their criteria that "
    "answers meet), by their labels and the scorer together (corrected) or by labels alone (people). It changes no "
    "rank."
)
_COST_NOTE = "Costs are of 1,000 items at the prices named when a run was made, in their currency; “–” where none were."
# Rows below those of systems: by kind what each is called. See ``references_of`` for the score that each shows.
REFERENCE_ROWS = {"base": "Guessing", "best": "Best trick", "top": "Ceiling"}


class BoardRow(NamedTuple):
    """A number of the board: of a system, or of a mark (:data:`REFERENCE_ROWS`), in one of its columns.

    ``least``, ``most``: of a mark that is not the same in all runs; ``bound_low``, ``bound_high``: of a score, what it
    can be once every missing answer is there. ``words``: what a mark is, or why a score lacks.
    """

    system: str | None
    kind: str | None
    task: str | None = None
    data: str | None = None
    metric: str | None = None
    variant: str | None = None
    language: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    cultures: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    asked: int | None = None
    missing: int | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    of_ceiling: float | None = None
    of_ceiling_low: float | None = None
    of_ceiling_high: float | None = None
    of_ceiling_metric: str | None = None
    words: str | None = None
    least: float | None = None
    most: float | None = None
    cost_per_1000_items: float | None = None
    draw: str | None = None
    rubric: str | None = None
    use: str | None = None
    signature: str | None = None
    trained_on: str | None = None
    column_index: int | None = None


# Columns that a board without costs, and one without labels, does not have.
_OF_COST = ("cost_per_1000_items",)
_OF_TRAINING = ("trained_on",)
_OF_LABELS = ("draw", "rubric", "use", "signature")


def board_table(
    tasks: Sequence[RankedTask],
    labelled: Sequence[LabelColumn] = (),
    *,
    cost: bool = False,
    key: str = "board",
    caption: str = "The board",
) -> Table:
    """Build the board: a row for each system and a column for each task, with the task's first headline metric.

    Columns of people's labels follow (``labelled``); they do not change ranks. With ``cost``, the last columns show
    what 1,000 items cost, for each task with a run that says so. Tasks may be one task in several prompt variants.
    """
    views = [task.view for task in tasks]
    estimates = scores_by_system([(view, view.main_metric) for view in views])
    signs = [direction(view, view.main_metric) for view in views]
    order = sorted(estimates, key=lambda name: list(map(rank_key, estimates[name], signs)))
    rows = _rows(tasks, {name: estimates[name] for name in order}, cost=cost)
    rows += _label_rows(views, labelled, estimates) if labelled else ()
    is_trained_on_known = any(run.manifest.get("trained_on") for view in views for run in view.runs)
    training = _trained_on(views) if is_trained_on_known else {}
    frame = frame_of(BoardRow, rows).drop(
        *(() if cost else _OF_COST), *(() if labelled else _OF_LABELS), *(() if training else _OF_TRAINING)
    )
    first_cost, priced = len(views) + len(labelled), cost_columns(views) if cost else []
    heads = [
        *(_head(view, column_index, estimates.values()) for column_index, view in enumerate(views)),
        *(f"As people label it ({views[one.task_index].title}, {one.draw}, {one.rubric})" for one in labelled),
        *(" ".join(filter(None, [f"Cost of 1,000 items ({views[k].task})", views[k].source])) for k in priced),
    ]
    thinking, early = _thinking(views), _stopped_early(views)
    ranked = any(not view.needs_verdicts and len(view.runs) > 1 for view in views)
    # Where nothing but people's labels gives a score, a column of no scores beside them says nothing.
    hidden = {column.task_index for column in labelled if views[column.task_index].needs_verdicts}

    def cell(row: Row) -> Cell:
        if row["column_index"] >= first_cost:
            return Cell(amount(row["cost_per_1000_items"]), number=True)
        return _label_cell(row) if row["column_index"] >= len(views) else board_cell(row, views[row["column_index"]])

    def system(row: Row) -> Cell:
        notes = "; ".join(filter(None, [of.get(row["system"]) for of in (thinking, early, training)]))
        return Cell(row["system"], notes, muted=row["kind"] != "system")

    # Columns of costs show the systems with a cost; they stand after the tasks.
    priced_rows = pl.col("cost_per_1000_items").is_not_null()
    costs = [
        frame.filter(priced_rows, column_index=task).with_columns(column_index=pl.lit(column, pl.Int64))
        for column, task in enumerate(priced, start=first_cost)
    ]
    return Table(
        key=key,
        caption=caption,
        frame=frame.drop("column_index"),
        columns=[Column("System", system), Column("", cell, spread=True)],
        shown=pl.concat([frame.filter(~pl.col("column_index").is_in(hidden)), *costs]),
        by=["kind", "system"],
        across=(
            "column_index",
            {column_index: head for column_index, head in enumerate(heads) if column_index not in hidden},
        ),
        note=_note(views, labelled, ranked=ranked, cost=cost),
    )


def _rows(
    tasks: Sequence[RankedTask],
    estimates: Mapping[str, Sequence[EstimateRow | None]],
    *,
    cost: bool,
) -> list[BoardRow]:
    """The rows of systems, in the order of ``estimates``, and below them those of marks."""
    columns = []
    for column_index, (view, compared) in enumerate(tasks):
        intervals: Mapping[str, tuple[int, int]] = {}
        if len(view.runs) > 1:
            intervals = ranks(ranked_labels(view, estimates, column_index), compared, direction(view, view.main_metric))
        marks = [references_of(view, run) for run in range(len(view.runs))]
        columns.append(_TaskColumn(column_index, view, marks, intervals, _costs(view) if cost else {}))
    rows = [
        column.system_row(system, estimate)
        for system, of_system in estimates.items()
        for column, estimate in zip(columns, of_system, strict=True)
    ]
    return rows + [
        row for kind in REFERENCE_ROWS for column in columns if (row := column.reference_row(kind)) is not None
    ]


class _TaskColumn(NamedTuple):
    """A column of the board: a task with the marks of each of its runs, and the ranks and costs of its systems."""

    column_index: int
    view: TaskView
    marks: Sequence[Mapping[str, ReferenceScore]]
    ranks: Mapping[str, tuple[int, int]]
    costs: Mapping[str, float]

    @property
    def task_facts(self) -> JsonObject:
        """The fields that all rows of the column share."""
        view = self.view
        facts = {"task": view.task, "data": view.source, "metric": view.main_metric, "variant": view.variant}
        return {**facts, "language": languages_asked(view), "column_index": self.column_index}

    def system_row(self, system: str, estimate: EstimateRow | None) -> BoardRow:
        """The row of one system, empty where it has no run of the task."""
        cost = self.costs.get(system)
        row = BoardRow(system, "system", cultures=self.view.cultures, cost_per_1000_items=cost, **self.task_facts)
        if estimate is None:
            return row
        trained_on = self.view.runs[estimate["run"]].manifest.get("trained_on") or UNKNOWN
        row = row._replace(n=estimate["n"], asked=estimate["asked"], trained_on=trained_on)
        if is_first_items_only(estimate):
            return row._replace(words=missing.unranked_words(estimate, wording.UNDESCRIBED))
        low, high = self.ranks.get(system, (None, None))
        return row._replace(
            **{name: estimate[name] for name in ("value", "low", "high", "missing")},
            bound_low=estimate["least"],
            bound_high=estimate["most"],
            rank_low=low,
            rank_high=high,
            **of_ceiling(self.marks[estimate["run"]].get("top"), self.view.main_metric),
        )

    def reference_row(self, kind: str) -> BoardRow | None:
        """The row of a mark: that of the first run, and how far those of others differ; None without one."""
        mark = self.marks[0].get(kind)
        if mark is None:
            return None
        row = BoardRow(
            REFERENCE_ROWS[kind],
            kind,
            value=mark.value,
            low=mark.low,
            high=mark.high,
            words=mark.words,
            **self.task_facts,
        )
        values = sorted(of_run[kind].value for of_run in self.marks if kind in of_run)
        if values[-1] - values[0] > _SAME:
            row = row._replace(least=values[0], most=values[-1])
        return row


def _costs(view: TaskView) -> dict[str, float]:
    """The cost of 1,000 items by system, for runs that record it."""
    cost_of = {label: run.manifest.get("cost") for label, run in zip(view.labels, view.runs, strict=True)}
    costs = {label: (cost or {}).get("cost_per_1000_items") for label, cost in cost_of.items()}
    return {label: float(cost) for label, cost in costs.items() if wording.known(cost)}


def cost_columns(views: Sequence[TaskView]) -> list[int]:
    """The indices of the tasks with a run that says what 1,000 items cost: the board's columns of costs, in order."""
    return [column_index for column_index, view in enumerate(views) if _costs(view)]


def _head(view: TaskView, column_index: int, estimates: Iterable[Sequence[Row | None]]) -> str:
    """The head of a task's column: its metric, task and data, then variant, language and how many items."""
    metric = view.titles[view.main_metric].partition(":")[0]
    name = " ".join(filter(None, [metric, f"({view.task})", view.source]))
    rows = [row for system in estimates if (row := system[column_index]) is not None]
    counts = sorted({int(row["n"]) for row in rows if row["n"]})
    items = wording.count(counts[-1], *view.noun) if counts else ""
    items = f"{counts[0]:,} to {items}" if len(counts) > 1 else items
    # A variant that not every culture was asked is a mean over fewer.
    every = len({subject.culture for subject in view.subjects})
    fewer = wording.count(view.cultures, "culture") if view.cultures < every else ""
    return "; ".join(filter(None, [name, variant_name(view.variant), languages_asked(view), fewer, items]))


def languages_asked(view: TaskView) -> str:
    """The language in which a variant was asked, or how many: "Amharic", "16 languages"."""
    cultures = view.asked_cultures
    subjects = (subject for subject in view.subjects if subject.culture in cultures)
    # The code's own name: what a language's file says besides need not be read for a row on the terminal.
    names = list(dict.fromkeys(wording.label_text(name_of(view.language_of(s, view.variant))) for s in subjects))
    return names[0] if len(names) == 1 else wording.count(len(names), "language")


def _thinking(views: Sequence[TaskView]) -> dict[str, str]:
    """Notes on the names of systems: which of them think; {} if all do, or none."""
    runs = [pair for view in views for pair in zip(view.labels, view.runs, strict=True)]
    thinks = {label: missing.thinks(run.manifest) for label, run in runs}
    if len(set(thinks.values())) < 2:
        return {}
    return {label: "thinks before it answers" if does else "does not think" for label, does in thinks.items()}


def _trained_on(views: Sequence[TaskView]) -> dict[str, str]:
    """Notes on the names of systems: whether they were trained on a task's questions, if this is recorded for one.

    Scores cannot show it, so it is what the people who trained a model state, and unknown for other models.
    """
    of_systems: dict[str, dict[str, str]] = {}
    for view in views:
        for label, run in zip(view.labels, view.runs, strict=True):
            of_systems.setdefault(label, {})[view.title] = str(run.manifest.get("trained_on") or UNKNOWN)
    words = {}
    for label, of_tasks in of_systems.items():
        alike = len(set(of_tasks.values())) == 1
        phrases = [f"{word}" if alike else f"{task} {word}" for task, word in of_tasks.items()]
        words[label] = f"trained on it: {phrases[0] if alike else ', '.join(phrases)}"
    return words


def _stopped_early(views: Sequence[TaskView]) -> dict[str, str]:
    """Notes on the names of systems that were not asked everything, so that each such score is marked."""
    early: dict[str, list[str]] = {}
    for view in views:
        for label, run in zip(view.labels, view.runs, strict=True):
            if run.manifest.get("status") == "stopped":
                counts = run.manifest["counts"]
                requests = f"{counts['unique'] - counts['not_asked']:,} of {counts['unique']:,} requests"
                early.setdefault(label, []).append(f"{requests} of {view.task}")
    return {label: f"stopped early: {', '.join(reasons)}" for label, reasons in early.items()}


def _label_rows(
    views: Sequence[TaskView], labelled: Sequence[LabelColumn], systems: Iterable[str]
) -> Iterator[BoardRow]:
    """The rows of people's labels: a system and draw each, in columns after those of the tasks."""
    for (column_index, column), system in product(enumerate(labelled, start=len(views)), systems):
        if row := column.scores.get(system):
            view = views[column.task_index]
            yield BoardRow(
                system,
                "system",
                task=view.task,
                data=view.source,
                metric=row["metric"],
                value=row["shown"],
                low=row["shown_low"],
                high=row["shown_high"],
                n=row["labelled"],
                cultures=view.cultures,
                draw=column.draw,
                rubric=column.rubric,
                use=row["use"],
                signature=row["signature"],
                column_index=column_index,
            )


def _label_cell(row: Row) -> Cell:
    """A system's share of right answers as people label them; it has no rank."""
    if not wording.known(row["value"]):
        return NONE._replace(small="no labels")
    low, high = row["low"], row["high"]
    small = f"{wording.interval(low, high, SHARE)}; {row['use']}"
    bar = (max(low, 0.0), min(high, 1.0)) if wording.known(low) else None
    return Cell(wording.amount(row["value"], SHARE), small, number=True, bar=bar)


def references_of(view: TaskView, run: int, subject: Subject | None = None) -> dict[str, ReferenceScore]:
    """Scores for the rows below the systems (:data:`REFERENCE_ROWS`); ``subject`` None: the only culture, or all."""
    every = view.marks(subject or view.only_culture, view.main_metric, run=run)
    by_kind = {"base": every.baseline, "best": every.best_trick, "top": every.ceiling}
    # A task without guessing has its highest trick at the base: marks of other names there are tricks.
    return {
        kind: mark
        for kind, mark in by_kind.items()
        if mark is not None and (kind == "top" or (mark.name in GUESSING) == (kind == "base"))
    }


def board_cell(row: Row, view: TaskView) -> Cell:
    """A system's score, or a mark with what it is; where runs differ in a mark, it is the first run's and says so."""
    info = view.metrics[view.main_metric]
    bar = None
    if wording.is_share(info) and wording.known(row["value"]):
        low, high = (row[end] if wording.known(row[end]) else row["value"] for end in ("low", "high"))
        bar = (max(low, 0.0), min(high, 1.0))
    if row["kind"] == "system" and row["words"] is not None:
        return NONE._replace(small=f"no score, no rank: {row['words']}")
    if row["kind"] == "system":
        bounded = {**row, "least": row["bound_low"], "most": row["bound_high"]}
        cell = score_cell(bounded, info, strong=row["rank_low"] in (1, None), headline=True)
        return cell if is_unranked(row) else cell._replace(bar=bar)
    small = [row["words"]] if row["words"] != row["system"].lower() else []
    small += [wording.interval(row["low"], row["high"], info)] if wording.known(row["low"]) else []
    if wording.known(row["least"]):
        small.append(f"of the first run; {wording.interval(row['least'], row['most'], info)} over all runs")
    return Cell(wording.amount(row["value"], info), ", ".join(small), number=True, muted=True, bar=bar)


def _note(views: Sequence[TaskView], labelled: Sequence[LabelColumn], *, ranked: bool, cost: bool) -> str:
    """The note below the board, on what it contains."""
    notes = ["Under each score is its 95% interval."]
    if any(view.several_cultures for view in views):
        notes.append("Scores are means over cultures, each with the same weight.")
    if ranked:
        notes.append(_RANKS_NOTE)
    if any("all_right" in view.metrics for view in views):
        notes.append(_GROUPS_NOTE)
    if labelled:
        notes.append(_LABELS_NOTE)
    if cost:
        notes.append(_COST_NOTE)
    return " ".join(notes)
