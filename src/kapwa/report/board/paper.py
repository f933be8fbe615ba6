"""The tables of the papers whose tasks Kapwa has, of any runs: rows and columns as printed there, with intervals.

Which columns a table has, of which task, variant and metric, stands in ``paper_tables.csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.result import Analysis
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import table_rows
from kapwa.report import wording
from kapwa.report.board.paper_texts import levels_table, responses_table
from kapwa.report.board.whole import board_of
from kapwa.report.tables.columns import text_column
from kapwa.report.tables.correlations import FEW, LEAST, coefficient_cell
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.means import model_average, scores_by_system
from kapwa.report.view.reference_scores import GUESSING, PEOPLE, EstimateRow
from kapwa.report.view.tasks import Subject, TaskView, arrange
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import Named
from kapwa.stats.clusters import FloatArray
from kapwa.stats.correlation import pearson
from kapwa.stats.families import ALPHA
from kapwa.stats.missing import cut_at_range
from kapwa.stats.pooled import mean_of_items
from kapwa.suites.base import holds_shares
from kapwa.tables import read_table
from kapwa.value_types import Cells, JsonObject, Row

_LAYOUTS = table_rows(Path(__file__).with_name("paper_tables.csv"))
PAPER_TABLES = tuple(dict.fromkeys(line["name"] for line in _LAYOUTS))
_UNGROUPED = (None, "kalahi-15", "kalahi-f", "blend-r", "eecc-3")
# Decimals of a share in per cent: the papers print four of a share.
_DIGITS = 2
_NUMBERS = ("value", "low", "high")
_TESTS_NOTE = (
    "The released code estimates variance within and across identities in two ways, so that its test rejects where "
    "texts do not differ. The paired test has one estimate for both, on the same concepts."
)
_MEAN_R = "Mean r"
# Rows of marks: what the papers call them, and the marks that they are of.
_BASELINES = {"guessing": ("Random baseline", GUESSING), "people": ("Human baseline", PEOPLE)}
Groups = Mapping[str, str]  # by system the name of its group, in the order of the table
_BLEND_R_NOTE = (
    "Of each system: across cultures, the mean of its short answers in the local language and in English, and "
    "multiple choice; then the mean of these r. r of means: across systems, the mean over cultures of short answers "
    "in English, and of multiple choice. Small: 95% intervals, which treat cultures and systems as independent "
    "samples."
)


class PaperRow(NamedTuple):
    """A number of a table: its row and column, what it is of, and where its column stands among the others."""

    row: str | None
    kind: str | None
    group: str | None = None
    column: str | None = None
    task: str | None = None
    data: str | None = None
    variant: str | None = None
    metric: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    column_index: int | None = None


class PaperColumn(NamedTuple):
    """A column of a layout: the runs of its task, the variant that it is of, its metric and its head."""

    view: TaskView
    variant: str
    metric: str
    head: str


def paper_table(
    sources: Analysis | Sequence[Run],
    name: str | None,
    same: Named | None = None,
    groups: Path | None = None,
    people: Sequence[Path] = (),
) -> Table:
    """The table ``name`` (one of :data:`PAPER_TABLES`) of runs, or of an analysis ("eecc-3"); None: the board.

    ``same``, ``people`` (for the board): see :func:`kapwa.report.page.runs.build_report`. ``groups``: a table file with
    the columns ``system`` and ``group``; systems stand in its order, those of one group together. The frame has a row
    for each number, with its 95% interval where there is one; shares are fractions. "kalahi-15" and "kalahi-f" are of
    texts (:mod:`kapwa.report.board.paper_texts`).
    Raises UsageError for an unknown name and where ``sources`` hold nothing of what a table needs, DataError for a
    file of groups that names no system of the runs.
    """
    if name is not None and name not in PAPER_TABLES:
        raise UsageError(f"There is no table named {name!r}.", hint=nearest(name, PAPER_TABLES))
    if groups is not None and name in _UNGROUPED:
        raise UsageError("Groups of systems are shown in the tables of Kalahi and BLEnD.", hint="Add: --paper kalahi-5")
    layout = [line for line in _LAYOUTS if line["name"] == name]
    if isinstance(sources, Analysis):
        if name != "eecc-3":
            raise UsageError("An analysis has one table of a paper, and no board.", hint="Name it: --paper eecc-3")
        return _of_analysis(sources, layout[0]["caption"])
    if name == "eecc-3":
        raise UsageError("The table eecc-3 is of an analysis.", hint="Make one, and name it: kapwa analyze eecc RUN...")
    if name is None:
        return board_of(sources, same, people)
    views = arrange(sources, same)
    columns, caption = [_column_of_runs(views, line) for line in layout], layout[0]["caption"]
    if name == "kalahi-15":
        return levels_table(columns[0].view, {one.variant: one.head for one in columns}, caption)
    if name == "kalahi-f":
        return responses_table(columns[0].view, columns[0].variant, caption)
    return _correlations(columns, caption) if name == "blend-r" else _of_scores(columns, layout, groups)


def _of_scores(columns: Sequence[PaperColumn], layout: Sequence[Mapping[str, str]], groups: Path | None) -> Table:
    """The table of a layout: systems by metric, or cultures and topics by system."""
    by_culture = layout[0]["task"] == "blend/saq"
    labels = list(dict.fromkeys(label for column in columns for label in column.view.labels))
    by_system = read_groups(groups, labels)
    rows = frame_of(PaperRow, (_of_cultures if by_culture else _of_systems)(columns, by_system))
    heads = dict(
        rows.filter(pl.col("column_index").is_not_null())
        .sort("column_index")
        .select("column_index", "column")
        .iter_rows()
    )
    note = f"Under each value is its 95% interval. Prompts: {', '.join(dict.fromkeys(one.variant for one in columns))}."
    if by_culture:
        note += " In means over cultures, which those of topics are too, each culture has the same weight."
    lacking: dict[str, list[str]] = {}
    for line, column in zip(layout, columns, strict=True):
        if column.metric not in column.view.metrics:
            lacking.setdefault(_command(line), []).append(line["head"])
    absent = "; ".join(f"{', '.join(names)} ({command})" for command, names in lacking.items())
    return Table(
        key=layout[0]["name"],
        caption=layout[0]["caption"],
        frame=rows.filter(pl.col("kind") != "group").drop("column_index"),
        columns=[
            Column("Culture or topic" if by_culture else "System", _row_head),
            Column("", partial(_cell, columns), spread=True, none=Cell("", number=True)),
        ],
        note=note + (f" Measured in no run: {absent}." if absent else ""),
        shown=rows,
        by=["kind", "row"],
        across=("column_index", heads),
    )


def _column_of_runs(views: Sequence[TaskView], line: Mapping[str, str]) -> PaperColumn:
    """Find the runs and the variant of a column."""
    of_task = [view for view in views if view.task == line["task"]]
    if len(of_task) > 1:
        sources = " and ".join(f"{view.manifest['data']['name']} ({view.runs[0].path})" for view in of_task)
        raise UsageError(
            f"The table {line['name']} is of one set of data, and these are several: {sources}.",
            hint="Name the runs of one.",
        )
    if not of_task:
        raise UsageError(
            f"The table {line['name']} needs a run of {line['task']}, and none is named.",
            hint=f"Make one: {_command(line)}",
        )
    view = of_task[0]
    variant = next((name for name in view.variants if fnmatchcase(name, line["variant"])), None)
    if variant is None:
        raise UsageError(
            f"The table {line['name']} needs the prompts {line['variant']!r} of {line['task']}, and the runs have "
            f"{', '.join(view.variants)}.",
            hint=f"Make a run with them: {_command(line)}",
        )
    return PaperColumn(view, variant, line["metric"] or view.main_metric, line["head"])


def _command(line: Mapping[str, str]) -> str:
    return f"kapwa run {line['task']} --model MODEL {line['options']}".rstrip()


def read_groups(path: Path | None, labels: Sequence[str]) -> Groups:
    """Read the group of each system; those that the file leaves out come last."""
    groups = {}
    for number, cells in [] if path is None else read_table(path, required=("system", "group")):
        if cells["system"] not in labels:
            message = f"{cells['system']!r} is not a system of these runs."
            raise DataError(message, path=path, row=number, column="system", hint=nearest(cells["system"], labels))
        groups[cells["system"]] = cells["group"]
    order = list(dict.fromkeys(groups.values()))
    groups = dict(sorted(groups.items(), key=lambda pair: order.index(pair[1])))
    rest = "Other systems" if groups else ""
    return groups | {label: rest for label in labels if label not in groups}


def _mark(column: PaperColumn, subject: Subject | None, names: Sequence[str]) -> JsonObject:
    """The score of guessing or of people in one culture (None: in all)."""
    marks = column.view.marks(subject, column.metric, column.variant).every
    return next((mark._asdict() for mark in marks if mark.name in names), {})


def _facts(column: PaperColumn, column_index: int, head: str, estimate: Mapping[str, object] | None) -> JsonObject:
    """The fields of a number in the frame."""
    known = {name: (estimate or {}).get(name) for name in _NUMBERS}
    data = str(column.view.manifest["data"]["name"])
    measured = {"task": column.view.task, "data": data, "variant": column.variant, "metric": column.metric}
    return {"column_index": column_index, "column": head, **measured, **known}


def _of_systems(columns: Sequence[PaperColumn], groups: Groups) -> Iterator[PaperRow]:
    """A row for each system, below that of its group, and those of guessing and people above all; a column a metric."""
    for kind, (title, names) in _BASELINES.items():
        marks = [_mark(column, column.view.only_culture, names) for column in columns]
        for column_index, (column, mark) in enumerate(zip(columns, marks, strict=True)):
            if any(marks):
                yield PaperRow(title, kind, **_facts(column, column_index, column.head, mark))
    estimates = [scores_by_system([(column.view, column.metric)], column.variant) for column in columns]
    above = ""
    for system, group in groups.items():
        if group != above:
            yield PaperRow(group, "group")
        above = group
        for column_index, column in enumerate(columns):
            row = estimates[column_index].get(system, [None])[0]
            yield PaperRow(system, "system", group, **_facts(column, column_index, column.head, row))


def _variant_for(column: PaperColumn, subject: Subject) -> str:
    """The variant that a culture was asked in: those that speak English have the questions in English only once."""
    view, prompt = column.view, column.variant.removeprefix("en/")
    measured = any(view.estimate(i, subject, column.metric, column.variant) for i in range(len(view.runs)))
    english = view.language_of(subject, f"local/{prompt}").partition("-")[0] == "en"
    return f"local/{prompt}" if english and not measured and prompt != column.variant else column.variant


def _of_cultures(columns: Sequence[PaperColumn], groups: Groups) -> Iterator[PaperRow]:
    """A row for each culture, their mean and each topic; a column for each system, their mean and people."""
    (column,) = columns
    view, runs = column.view, range(len(column.view.runs))
    column_of = {subject: column._replace(variant=_variant_for(column, subject)) for subject in view.subjects}
    people = {subject: _mark(one, subject, PEOPLE) for subject, one in column_of.items()}
    items = [
        pl.concat(
            view.answered_item_scores(i, column.metric, one.variant).filter(culture=subject.culture)
            for subject, one in column_of.items()
        )
        for i in runs
    ]
    titles = {name: f"{name} ({group})" if group else name for name, group in groups.items()}

    def row(
        name: str, kind: str, of: PaperColumn, chosen: Any, scores: Sequence[Any], human: Any
    ) -> Iterator[PaperRow]:
        values_of_row = [values.filter(chosen) for values in items]
        each = scores or [_mean(column, [values]) for values in values_of_row]
        cells = [(title, each[view.labels.index(system)]) for system, title in titles.items()]
        cells += [("Mean of systems", _mean(column, values_of_row))] if len(runs) > 1 else []
        cells += [(_BASELINES["people"][0], human)] if any(people.values()) else []
        for column_index, (head, estimate) in enumerate(cells):
            yield PaperRow(name, kind, **_facts(of, column_index, head, estimate))

    for subject, one in column_of.items():
        scores = [view.estimate(i, subject, one.metric, one.variant) or {} for i in runs]
        yield from row(subject.label, "culture", one, pl.col("culture") == subject.culture, scores, people[subject])
    if len(column_of) > 1:
        human = _mark(column, None, PEOPLE)
        if {one.variant for one in column_of.values()} != {column.variant} and all(people.values()):
            human = {"value": sum(mark["value"] for mark in people.values()) / len(people)}
        yield from row("Mean over cultures", "mean", column, True, (), human)
    for group in view.groups:
        for topic in sorted({name for values in items for name in values[group].drop_nulls()}):
            yield from row(topic, "topic", column, pl.col(group) == topic, (), None)


def _mean(column: PaperColumn, items: Sequence[pl.DataFrame]) -> EstimateRow | None:
    """The mean over systems, then over cultures, each culture counting alike."""
    means, info = model_average(items), column.view.metrics[column.metric]
    share, ends = holds_shares(info, means["value"]), (info.low, info.high)
    if not means.height:
        return None
    labels = means["culture"].to_list(), means["cluster"].to_list()
    estimate = mean_of_items(means["value"].to_numpy(), *labels, share=share)
    return cut_at_range(estimate._asdict(), ends)


def _row_head(row: Row) -> Cell:
    strong = row["kind"] in ("group", "mean")
    return Cell(wording.isolate(wording.clean(row["row"])), strong=strong, muted=row["kind"] in _BASELINES)


def _cell(columns: Sequence[PaperColumn], row: Row) -> Cell:
    """A number with as many digits as the papers print, its interval below."""
    column = next(one for one in columns if (one.view.task, one.metric) == (row["task"], row["metric"]))
    info = column.view.metrics.get(row["metric"], wording.UNDESCRIBED)
    if not wording.known(row["value"]):
        return NONE
    small = wording.interval(row["low"], row["high"], info, _DIGITS) if wording.known(row["low"]) else ""
    return Cell(wording.amount(row["value"], info, _DIGITS), small, number=True, muted=row["kind"] in _BASELINES)


def _correlations(columns: Sequence[PaperColumn], caption: str) -> Table:
    """Each system's r across cultures, the mean of these, and r across systems of their means over cultures."""
    answered, _, chose = (column.view for column in columns)
    systems = [label for label in answered.labels if label in chose.labels]
    cultures = [s.culture for s in answered.subjects if s.culture in {one.culture for one in chose.subjects}]

    def scores(column: PaperColumn, system: str) -> FloatArray:
        subjects = {subject.culture: subject for subject in column.view.subjects}
        run = column.view.labels.index(system)
        rows = [
            column.view.estimate(run, subjects[name], column.metric, _variant_for(column, subjects[name]))
            for name in cultures
        ]
        return np.array([np.nan if row is None or row["value"] is None else row["value"] for row in rows])

    by_system = {one: [scores(column, one) for column in columns] for one in systems}
    across_cultures = [pearson((local + english) / 2, choices) for local, english, choices in by_system.values()]
    known = [r.value for r in across_cultures if r.value is not None]
    means = np.array([[values.mean() for values in each] for each in by_system.values()]).reshape(-1, len(columns))
    rows: list[Cells] = [
        {"row": one, "over": "cultures", **r._asdict()} for one, r in zip(systems, across_cultures, strict=True)
    ]
    rows.append({"row": _MEAN_R, "over": "systems", "value": np.mean(known) if known else None, "n": len(known)})
    rows.append({"row": "r of means", "over": "systems", **pearson(means[:, 1], means[:, 2])._asdict()})

    def coefficient(row: Row) -> Cell:
        if row["row"] == _MEAN_R:
            return Cell(wording.decimal(row["value"], 2), number=True)
        return coefficient_cell(row, FEW if row["n"] < LEAST else "all on one line")

    return Table(
        key="blend-r",
        caption=caption,
        frame=pl.DataFrame(rows, infer_schema_length=None),
        columns=[
            Column("Across", lambda row: Cell(wording.isolate(row["row"]), f"{row['n']} {row['over']}")),
            Column("Pearson r", coefficient),
        ],
        note=_BLEND_R_NOTE,
    )


def _of_analysis(analysis: Analysis, caption: str) -> Table:
    """A row for each task and model: the one-way ANOVA of the released code, and the paired test beside it."""
    every = analysis.tests.filter(pl.col("topic") == "all")
    paired = every.filter(pl.col("test") == "paired").select("corpus", "task", paired_p="p")
    released = every.filter(pl.col("test") == "anova_reference")

    def exact(name: str, digits: str) -> Callable[[Row], Cell]:
        return lambda row: NONE if row[name] is None else Cell(format(row[name], digits), number=True)

    def rejected(row: Row) -> Cell:
        return NONE if row["p"] is None else Cell("Yes" if row["p"] < ALPHA else "No")

    return Table(
        key="eecc-3",
        caption=caption,
        frame=released.join(paired, on=["corpus", "task"], how="left", maintain_order="left"),
        columns=[
            text_column("Task", "task"),
            text_column("Model", "corpus"),
            Column("F-statistic", exact("statistic", ".4f")),
            Column("p-value", exact("p", ".3g")),
            Column("Reject H0", rejected),
            Column("Paired test: p-value", exact("paired_p", ".3g")),
        ],
        note=_TESTS_NOTE,
    )
