"""What was planned and what was done: the comparisons of a frozen plan, what departs from it, what is exploratory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.missing import is_recorded
from kapwa.report.sentences.notes import some_names
from kapwa.report.tables.columns import p_column
from kapwa.report.tables.forms import plain, render_block
from kapwa.report.tables.table import Cell, Column, PageSection, Table, frame_of
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import clean, culture_name, isolate
from kapwa.runs.finished_run import Run
from kapwa.runs.plans import FAMILIES, INTERVALS, FrozenPlan, PlannedTask, departures
from kapwa.runs.systems import system_names
from kapwa.stats.families import ALPHA, is_clear, is_equal
from kapwa.stats.states import not_asked_rows
from kapwa.stats.these_items import OnTheseItems, difference_on_these_items
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonObject, Row

if TYPE_CHECKING:
    from rich.console import Group

LIKE_THESE, ON_THESE = (words[0].upper() + words[1:] for words in INTERVALS.values())
_NOTE = (
    f"“{LIKE_THESE}”: what new items of this kind would show; 95% interval, clustered, p by Holm’s method over the "
    f"plan’s family. “{ON_THESE}”: the difference on the planned items themselves, without an interval where all of "
    "them were asked and answered; missing answers count against it, and items that were not asked are estimated from "
    "those that were."
)


class PlannedRow(NamedTuple):
    """A comparison that was planned: ``a`` − ``b`` on a task, over cultures or in one ``culture``.

    ``low`` to ``high``: for items like these; ``here_low`` to ``here_high``: on these items, of which ``pairs`` were
    asked of both. ``verdict``: what the interval that decides says; ``decides`` names it.
    """

    task: str | None
    data: str | None
    metric: str | None
    variant: str | None
    culture: str | None
    a: str | None
    b: str | None
    difference: float | None
    low: float | None
    high: float | None
    p_holm: float | None
    here: float | None
    here_low: float | None
    here_high: float | None
    pairs: int | None
    items: int | None
    margin: float | None
    decides: str | None
    verdict: str | None
    task_index: int | None


def planned_section(plan: FrozenPlan, views: Sequence[TaskView], margin: float | None = None) -> PageSection:
    """Say what was planned, whether runs are bound by it, what departs from it, and what it found.

    ``margin``: within which the rest of the page shows what is equal.
    """
    rows = [row for task_index, view in enumerate(views) for row in planned_rows(plan, view, task_index)]
    tables = [_table(rows, views)] if rows else []
    return PageSection("What was planned", planned_sentences(plan, views, margin), tables)


def planned_tables(plan: FrozenPlan, views: Sequence[TaskView], margin: float | None = None) -> dict[str, pl.DataFrame]:
    """Return, for CSV, the planned comparisons, and the statements about the plan: one row each, with its ``kind``."""
    rows = [row for task_index, view in enumerate(views) for row in planned_rows(plan, view, task_index)]
    sentences = zip(("plan", "runs", "departures", "exploratory"), planned_sentences(plan, views, margin), strict=True)
    statements = pl.DataFrame(
        [(kind, plain(text)) for kind, text in sentences], schema=["kind", "statement"], orient="row"
    )
    return {"planned": frame_of(PlannedRow, rows).drop("task_index"), "statements": statements}


def planned_sentences(plan: FrozenPlan, views: Sequence[TaskView], margin: float | None = None) -> list[str]:
    """Say what was planned, how far runs are bound by it, what departs from it, and what is exploratory."""
    unbound = _by_reason(views, ((view, number, _unbound(plan, view.runs[number])) for view, number in _runs(views)))
    departed = list(_departures(plan, views, margin))
    sentences = [_lead(plan)]
    if unbound:
        sentences.append(f"Not bound by the plan: {'; '.join(unbound)}.")
    else:
        sentences.append("Every run carries the hash of the plan from before its first answer.")
    sentences.append(f"Departs from the plan: {'; '.join(departed)}." if departed else "Nothing departs from the plan.")
    return [*sentences, _exploratory(plan, views)]


def _lead(plan: FrozenPlan) -> str:
    planned_tasks = [f"{planned.metric} on {planned.task}" for planned in plan.tasks]
    systems = some_names([isolate(clean(system)) for system in plan.systems])
    decided = f"the interval {INTERVALS[plan.interval]} decides; family of tests: {FAMILIES[plan.family]} (Holm)"
    equal = "" if plan.margin is None else f"; equal within {plan.margin:g}"
    until = "" if plan.until is None else f"; runs stop by --until {plan.until}"
    return (
        f"Plan {plan.short}, frozen {plan.frozen_words}: {some_names(planned_tasks)}, between {systems}; "
        f"{decided}{equal}{until}."
    )


def _runs(views: Sequence[TaskView]) -> Iterator[tuple[TaskView, int]]:
    return ((view, run) for view in views for run in range(len(view.runs)))


def _by_reason(views: Sequence[TaskView], reasons: Iterable[tuple[TaskView, int, str]]) -> list[str]:
    """A sentence for all runs with the same statement: "A and B: were not run under it"."""
    names: dict[str, list[str]] = {}
    for view, run, why in reasons:
        task = f" ({view.title})" if len(views) > 1 else ""
        if why:
            names.setdefault(why, []).append(f"{isolate(clean(view.labels[run]))}{task}")
    return [f"{some_names(runs)}: {why}" for why, runs in names.items()]


def _unbound(plan: FrozenPlan, run: Run) -> str:
    """Why the plan does not bind a run; "" where it does."""
    carried = run.manifest.get("plan")
    if carried is None:
        return "was not run under it"
    if carried["hash"] != plan.hash:
        return f"was run under another plan ({clean(carried['hash'])[7:19]})"
    if carried["answers_before"]:
        return f"had {wording.count(carried['answers_before'], 'answer')} before it came under the plan"
    return _older_answers(plan, run)


def _older_answers(plan: FrozenPlan, run: Run) -> str:
    """Why a run's answers may be older than the plan; "" where they are not."""
    if is_recorded(run.manifest):
        return "has recorded answers, which may be older than the plan"
    started = run.manifest.get("started")
    if started is None:
        return "does not say when it was first answered"
    before = datetime.fromisoformat(started) < plan.frozen
    return f"was first answered at {clean(started)}, before the plan was frozen" if before else ""


def _departures(plan: FrozenPlan, views: Sequence[TaskView], margin: float | None) -> Iterator[str]:
    """Departures from the plan: missing tasks and systems, items, data, ends of runs, the margin."""
    for planned in plan.tasks:
        runs = [run for view in views if view.task == planned.task for run in view.runs]
        have = {plan.system(run.manifest) for run in runs}
        lacking = [isolate(clean(system)) for system in plan.systems if system not in have]
        if not runs:
            yield f"there is no run of {planned.task}"
        elif lacking:
            yield f"there is no run of {some_names(lacking)} on {planned.task}"
    departed = (
        (view, number, clean(what))
        for view, number in _runs(views)
        if plan.task(view.runs[number].manifest) and plan.system(view.runs[number].manifest)
        for what in departures(plan, view.runs[number].manifest)
    )
    yield from _by_reason(views, departed)
    if margin is not None and margin != plan.margin:
        wanted = "no margin" if plan.margin is None else f"{plan.margin:g}"
        yield f"elsewhere here equality is shown within {margin:g}, planned {wanted}"


def _exploratory(plan: FrozenPlan, views: Sequence[TaskView]) -> str:
    """What was examined besides the plan."""
    known = {planned.task for planned in plan.tasks}
    others = (
        [f"other tasks ({some_names(names)})"]
        if (names := [view.title for view in views if view.task not in known])
        else []
    )
    unplanned = [
        isolate(clean(view.labels[run])) for view, run in _runs(views) if plan.system(view.runs[run].manifest) is None
    ]
    others += [f"other systems ({some_names(list(dict.fromkeys(unplanned)))})"] if unplanned else []
    metrics = dict.fromkeys(
        name for view in views if (planned := _planned(plan, view)) for name in view.metrics if name != planned.metric
    )
    others += [f"other metrics ({some_names(list(metrics))})"] if metrics else []
    if any(view.several_cultures for view in views):
        others += ["single cultures" if plan.family == "mean" else "means over cultures"]
    others += ["other variants"] if any(len(view.variants) > 1 for view in views) else []
    return f"All else was looked at afterwards and is exploratory: {', '.join([*others, 'parts of the items'])}."


# --- the planned comparisons -----------------------------------------------------------------------------------------


def _planned(plan: FrozenPlan, view: TaskView) -> PlannedTask | None:
    """The plan for a task and its data."""
    planned = plan.task({"task": view.task})
    if planned is None or str(view.manifest["data"]["digest"]) != planned.data_digest:
        return None
    return planned if planned.metric in view.metrics and planned.variant in view.variants else None


def planned_rows(plan: FrozenPlan, view: TaskView, task_index: int = 0) -> list[PlannedRow]:
    """Compare the planned systems on a task as planned; [] where nothing is planned of it, or too few have a run."""
    planned = _planned(plan, view)
    chosen = [run for run in range(len(view.runs)) if plan.system(view.runs[run].manifest) is not None]
    if planned is None or len(chosen) < 2:
        return []
    labels = [view.labels[run] for run in chosen]
    only = TaskView(view.task, [view.runs[run] for run in chosen], labels, view.names).of_variant(planned.variant)
    pairs = run_pairs(only, plan.margin, [planned.metric])
    if plan.family == "mean":
        several = pairs.filter(pl.col("cultures") > 1)
        pairs = several if several.height else pairs
    else:
        pairs = pairs.filter(pl.col("culture").is_not_null())
    # The decision on these items allows for the whole family, too.
    strict = 1 - ALPHA / max(pairs.height, 1)
    return [_row(plan, planned, only, row, strict, task_index) for row in pairs.to_dicts()]


def _row(
    plan: FrozenPlan, planned: PlannedTask, view: TaskView, row: Row, strict: float, task_index: int
) -> PlannedRow:  # fmt: skip
    here = _on_these_items(planned, view, row, 0.95)
    verdict = like_these_verdict(row)
    if plan.interval == "these-items":
        verdict = these_items_verdict(_on_these_items(planned, view, row, strict), row, plan.margin)
    return PlannedRow(
        task=view.task,
        data=planned.data,
        metric=planned.metric,
        variant=planned.variant,
        **{name: row[name] for name in ("culture", "a", "b", "difference", "low", "high", "p_holm")},
        here=here and here.value,
        here_low=here and here.low,
        here_high=here and here.high,
        pairs=here and here.pairs,
        items=here and here.items,
        margin=plan.margin,
        decides=plan.interval,
        verdict=verdict,
        task_index=task_index,
    )


def like_these_verdict(row: Row) -> str:
    """The conclusion from the interval for items like these, with the family allowed for."""
    if is_equal(row):
        return "equal within the margin"
    return f"{row['a' if row['difference'] > 0 else 'b']} scores higher" if is_clear(row) else "not decided"


def these_items_verdict(here: OnTheseItems | None, row: Row, margin: float | None) -> str:
    """The conclusion from the interval on these items."""
    if here is None:
        return "not decided"
    if margin is not None and -margin <= here.low and here.high <= margin:
        return "equal within the margin"
    if here.low > 0 or here.high < 0:
        return f"{row['a' if here.low > 0 else 'b']} scores higher"
    return "not decided"


def _on_these_items(planned: PlannedTask, view: TaskView, row: Row, level: float) -> OnTheseItems | None:
    """The difference on the planned items; None where other items were asked, or first ones in the data's order."""
    chosen = [view.labels.index(row[side]) for side in ("a", "b")]
    for run in chosen:
        digests = view.runs[run].manifest["selection"].get("digests") or {}
        if digests.get(planned.variant) != planned.item_digests.get(planned.variant) or view.ended_in_order[run]:
            return None
    a, b = (_of_row(view.item_scores(run, planned.metric), row) for run in chosen)
    left = [
        _of_row(view.runs[run].scores.filter(not_asked_rows(), metric=planned.metric, variant=planned.variant), row)
        for run in chosen
    ]
    columns = ["culture", "language", "item_id", "cluster"]
    return difference_on_these_items(a, b, pl.concat([items.select(columns) for items in left]), level=level)


def _of_row(items: pl.DataFrame, row: Row) -> pl.DataFrame:
    """The items that a comparison is of."""
    return items if row["culture"] is None else items.filter(culture=row["culture"], language=row["language"])


def _table(rows: Sequence[PlannedRow], views: Sequence[TaskView]) -> Table:
    """The planned comparisons, each with its two intervals."""
    frame = frame_of(PlannedRow, rows)

    def info(row: Row) -> MetricInfo:
        return views[row["task_index"]].metrics[row["metric"]]

    def pair(row: Row) -> Cell:
        where = [isolate(culture_name(row["culture"]))] if row["culture"] else []
        where += [f"{views[row['task_index']].titles[row['metric']].split(':')[0]}, {views[row['task_index']].title}"]
        return Cell(f"{isolate(clean(row['a']))} − {isolate(clean(row['b']))}", ", ".join(where))

    def like_these(row: Row) -> Cell:
        between = wording.change_interval(row["low"], row["high"], info(row))
        return Cell(wording.change(row["difference"], info(row)), between, number=True)

    def on_these(row: Row) -> Cell:
        if row["here"] is None:
            return Cell("not known", "other items, or in the data’s order")
        if row["here_low"] == row["here_high"]:
            every = wording.of_all(row["items"], row["items"], "item")
            return Cell(wording.change(row["here"], info(row)), every, number=True)
        between = wording.change_interval(row["here_low"], row["here_high"], info(row))
        return Cell(
            wording.change(row["here"], info(row)), f"{between}; {row['pairs']:,} of {row['items']:,}", number=True
        )

    columns = [
        Column("Planned comparison", pair),
        Column(LIKE_THESE, like_these),
        Column(ON_THESE, on_these),
        p_column("p (Holm)", "p_holm"),
        Column("Verdict", lambda row: Cell(isolate(clean(row["verdict"])), strong=row["verdict"] != "not decided")),
    ]
    return Table("planned", "The planned comparisons", frame.drop("task_index"), columns, _NOTE, frame)


# --- two runs against a plan -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedComparison:
    """Two runs against a plan: its section, and the rows that were planned."""

    plan: FrozenPlan
    section: PageSection
    rows: Sequence[PlannedRow]

    def terminal(self) -> Group:
        """The first lines of ``kapwa compare --plan``."""
        return render_block(self.section)

    def marked(self, compared: pl.DataFrame) -> pl.DataFrame:
        """Add ``planned`` to a table of comparisons: "yes" where the plan has it, else "no": it is exploratory."""
        keys = ["metric", "variant", "culture"]
        known = {tuple(getattr(row, name) for name in keys) for row in self.rows}
        marks = ["yes" if row in known else "no" for row in compared.select(keys).iter_rows()]
        return compared.with_columns(planned=pl.Series(marks, dtype=pl.String))

    def as_dict(self) -> JsonObject:
        """The same for programs."""
        planned = [{name: value for name, value in row._asdict().items() if name != "task_index"} for row in self.rows]
        sentences = [plain(sentence) for sentence in self.section.sentences]
        return {"hash": self.plan.hash, "frozen": self.plan.frozen.isoformat(), "told": sentences, "planned": planned}


def against_plan(plan: FrozenPlan, a: Run, b: Run, margin: float | None = None) -> PlannedComparison:
    """Compare two runs of one task with what was planned of it; differences are ``b`` − ``a``, as in ``compare``."""
    names = system_names([b, a])
    view = TaskView(str(a.manifest["task"]), [b, a], [names[id(b)], names[id(a)]])
    return PlannedComparison(plan, planned_section(plan, [view], margin), planned_rows(plan, view))
