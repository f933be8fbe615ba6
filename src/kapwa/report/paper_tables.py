"""The tables of the papers whose tasks Kapwa has, of any runs: rows and columns as printed there, with intervals.

Which columns a table has, of which task, variant and metric, stands in ``paper_tables.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import table_rows
from kapwa.report import wording
from kapwa.report.board import board_of
from kapwa.report.marks import GUESSING, PEOPLE
from kapwa.report.overview import average_estimates, model_average, model_rows, topic_means
from kapwa.report.table import NONE, Cell, Column, Row, Table
from kapwa.report.view import Subject, TaskView, arrange
from kapwa.runs.directory import Run
from kapwa.runs.systems import Named
from kapwa.stats.pooled import pooled_mean
from kapwa.suites.base import holds_shares
from kapwa.tables_io import read_table

_LAYOUTS = table_rows(Path(__file__).with_name("paper_tables.csv"))
PAPER_TABLES = tuple(dict.fromkeys(line["name"] for line in _LAYOUTS))
# Decimals of a share in per cent: the papers print four of a share.
_DIGITS = 2
_NUMBERS = ("value", "low", "high")
_TEXTS = ("row", "kind", "group", "column", "task", "data", "variant", "metric")
_SCHEMA = {**dict.fromkeys(_TEXTS, pl.String), **dict.fromkeys(_NUMBERS, pl.Float64), "place": pl.Int64}
# Rows of marks: what the papers call them, and the marks that they are of.
_MARKS = {"guessing": ("Random baseline", GUESSING), "people": ("Human baseline", PEOPLE)}
Groups = Mapping[str, str]  # by system the name of its group, in the order of the table


class Asked(NamedTuple):
    """A column of a layout: the runs of its task, the variant that it is of, its metric and its head."""

    view: TaskView
    variant: str
    metric: str
    head: str


def table_of_systems(runs: Sequence[Run], name: str | None, same: Named | None, groups: Path | None) -> Table:
    """The table of a paper, or the board where ``name`` is None (it has no ``groups``); see :func:`paper_table`."""
    if name is not None:
        return paper_table(runs, name, same, groups)
    if groups is not None:
        raise UsageError("Groups are those of a table of a paper, and none is named.", hint="Add: --paper kalahi-5")
    return board_of(runs, same)


def paper_table(runs: Sequence[Run], name: str, same: Named | None = None, groups: Path | None = None) -> Table:
    """The table ``name`` (one of :data:`PAPER_TABLES`) of ``runs``.

    ``same``: see :func:`kapwa.report.page.build_report`. ``groups``: a table file with the columns ``system`` and
    ``group``; systems stand in its order, those of one group together. The frame has a row for each number: ``row``
    and its ``kind`` (system, guessing, people; culture, mean, topic), ``group``, ``column``, ``task``, ``data``,
    ``variant``, ``metric``, ``value`` with its 95% interval, as fractions.
    Raises UsageError for an unknown name and where ``runs`` hold nothing of what a table needs, DataError for a file
    of groups that names no system of the runs.
    """
    if name not in PAPER_TABLES:
        raise UsageError(f"There is no table named {name!r}.", hint=nearest(name, PAPER_TABLES))
    layout = [line for line in _LAYOUTS if line["name"] == name]
    views = arrange(runs, same)
    columns = [_asked(views, line) for line in layout]
    labels = list(dict.fromkeys(label for column in columns for label in column.view.labels))
    by_system = _read_groups(groups, labels)
    by_culture = name.startswith("blend")
    rows = pl.DataFrame([*(_of_cultures if by_culture else _of_systems)(columns, by_system)], schema=_SCHEMA)
    heads = dict(rows.filter(pl.col("place").is_not_null()).sort("place").select("place", "column").iter_rows())
    note = f"Under each value is its 95% interval. Prompts: {', '.join(dict.fromkeys(one.variant for one in columns))}."
    if by_culture:
        note += " In means over cultures, which those of topics are too, each culture has the same weight."
    lacking: dict[str, list[str]] = {}
    for line, column in zip(layout, columns, strict=True):
        if column.metric not in column.view.metrics:
            lacking.setdefault(_command(line), []).append(line["head"])
    absent = "; ".join(f"{', '.join(names)} ({command})" for command, names in lacking.items())
    return Table(
        key=name,
        caption=layout[0]["caption"],
        frame=rows.filter(pl.col("kind") != "group").drop("place"),
        columns=[
            Column("Culture or topic" if by_culture else "System", _row_head),
            Column("", partial(_cell, columns), spread=True, none=Cell("", number=True)),
        ],
        note=note + (f" Measured in no run: {absent}." if absent else ""),
        shown=rows,
        by=["kind", "row"],
        across=("place", heads),
    )


def _asked(views: Sequence[TaskView], line: Mapping[str, str]) -> Asked:
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
    return Asked(view, variant, line["metric"] or view.metric, line["head"])


def _command(line: Mapping[str, str]) -> str:
    return f"kapwa run {line['task']} --model MODEL {line['options']}".rstrip()


def _read_groups(path: Path | None, labels: Sequence[str]) -> Groups:
    """Read the group of each system; those that the file leaves out come last."""
    groups = {}
    for number, cells in [] if path is None else read_table(path, required=("system", "group")):
        if cells["system"] not in labels:
            message = f"{cells['system']!r} is none of the systems of these runs."
            raise DataError(message, path=path, row=number, column="system", hint=nearest(cells["system"], labels))
        groups[cells["system"]] = cells["group"]
    order = list(dict.fromkeys(groups.values()))
    groups = dict(sorted(groups.items(), key=lambda pair: order.index(pair[1])))
    rest = "Other systems" if groups else ""
    return groups | {label: rest for label in labels if label not in groups}


def _mark(column: Asked, subject: Subject | None, names: Sequence[str]) -> dict[str, Any]:
    """What guessing or people score in one culture (None: in all)."""
    marks = column.view.marks(subject, column.metric, column.variant).every
    return next((mark._asdict() for mark in marks if mark.name in names), {})


def _facts(column: Asked, place: int, head: str, estimate: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the frame says of a number."""
    known = {name: (estimate or {}).get(name) for name in _NUMBERS}
    data = str(column.view.manifest["data"]["name"])
    asked = {"task": column.view.task, "data": data, "variant": column.variant, "metric": column.metric}
    return {"place": place, "column": head, **asked, **known}


def _of_systems(columns: Sequence[Asked], groups: Groups) -> Iterator[dict[str, Any]]:
    """A row for each system, below that of its group, and those of guessing and people above all; a column a metric."""
    whose = [column.view.subjects[0] if len(column.view.subjects) == 1 else None for column in columns]
    for kind, (title, names) in _MARKS.items():
        marks = [_mark(column, subject, names) for column, subject in zip(columns, whose, strict=True)]
        for place, (column, mark) in enumerate(zip(columns, marks, strict=True)):
            if any(marks):
                yield {"row": title, "kind": kind, **_facts(column, place, column.head, mark)}
    estimates = [model_rows([(column.view, column.metric)], column.variant) for column in columns]
    above = ""
    for system, group in groups.items():
        if group != above:
            yield {"row": group, "kind": "group"}
        above = group
        for place, column in enumerate(columns):
            row = estimates[place].get(system, [None])[0]
            yield {"row": system, "kind": "system", "group": group, **_facts(column, place, column.head, row)}


def _of_cultures(columns: Sequence[Asked], groups: Groups) -> Iterator[dict[str, Any]]:
    """A row for each culture, their mean and each topic; a column for each system, their mean and people."""
    (column,) = columns
    view, variant = column.view, column.variant
    averages = average_estimates(view, variant)
    people = {subject: _mark(column, subject, PEOPLE) for subject in view.subjects}
    titles = {name: f"{name} ({group})" if group else name for name, group in groups.items()}

    def row(name: str, kind: str, scores: Mapping[int, Any], average: Any, human: Any) -> Iterator[dict[str, Any]]:
        cells = [(title, scores.get(view.labels.index(system))) for system, title in titles.items()]
        cells += [("Mean of systems", average)] if averages else []
        cells += [(_MARKS["people"][0], human)] if any(people.values()) else []
        for place, (head, estimate) in enumerate(cells):
            yield {"row": name, "kind": kind, **_facts(column, place, head, estimate)}

    for subject in view.subjects:
        scores = {i: view.estimate(i, subject, column.metric, variant) for i in range(len(view.runs))}
        yield from row(subject.label, "culture", scores, averages.get(subject.culture), people[subject])
    if len(view.subjects) > 1:
        rows = model_rows([(view, column.metric)], variant)
        means = {view.labels.index(system): estimates[0] for system, estimates in rows.items()}
        yield from row("Mean over cultures", "mean", means, _average(column), _mark(column, None, PEOPLE))
    for group, topics in topic_means(view, variant):
        for topic, of_topic in topics.items():
            yield from row(topic, "topic", dict(of_topic), _average(column, (group, topic)), None)


def _average(column: Asked, stratum: tuple[str, str] | None = None) -> dict[str, Any]:
    """The mean over systems, then over cultures, each culture counting alike; ``stratum``: of one topic."""
    view = column.view
    items = [view.item_values(i, column.metric, column.variant) for i in range(len(view.runs))]
    if stratum is not None:
        items = [values.filter(pl.col(stratum[0]) == stratum[1]) for values in items]
    means = model_average(items)
    places = means["culture"].to_list(), means["cluster"].to_list()
    share = holds_shares(view.metrics[column.metric], means["value"])
    return pooled_mean(means["value"].to_numpy(), *places, binary=share)._asdict()


def _row_head(row: Row) -> Cell:
    strong = row["kind"] in ("group", "mean")
    return Cell(wording.isolate(wording.clean(row["row"])), strong=strong, muted=row["kind"] in _MARKS)


def _cell(columns: Sequence[Asked], row: Row) -> Cell:
    """A number with as many digits as the papers print, its interval below."""
    column = next(one for one in columns if (one.view.task, one.metric) == (row["task"], row["metric"]))
    info = column.view.metrics.get(row["metric"], {})
    if not wording.known(row["value"]):
        return NONE
    small = wording.interval(row["low"], row["high"], info, _DIGITS) if wording.known(row["low"]) else ""
    return Cell(wording.amount(row["value"], info, _DIGITS), small, number=True, muted=row["kind"] in _MARKS)
