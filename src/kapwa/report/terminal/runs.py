"""Runs for the command line: one run, and how a second differs from a first."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import polars as pl

from kapwa.report import wording
from kapwa.report.board.ranks import RankedTask
from kapwa.report.board.table import board_table
from kapwa.report.sentences import missing, notes
from kapwa.report.sentences.cultures import items_words, over_sentences, spread_words
from kapwa.report.sentences.groups import group_sentences
from kapwa.report.sentences.scores import outcome_words
from kapwa.report.tables.differences import run_comparison_table
from kapwa.report.tables.forms import plain, terminal_table
from kapwa.report.tables.labels import label_table
from kapwa.report.view.comparisons import over_cultures, variant_name
from kapwa.report.view.reference_scores import is_unranked
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.report.wording import label_text
from kapwa.runs.finished_run import Run
from kapwa.runs.signature import FIELD_WORDS, differing
from kapwa.stats.comparison_tables import swap_sides
from kapwa.suites.base import MetricInfo

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

MOST_ROWS = 24
MOST_IN_A_LINE = 3  # cultures
# Names up to this width can stand in every row of a table; longer ones are told once, and called A and B.
_SHORT_NAME = 12
_LABELS_NOTE = (
    "The labels of one kind are one family of tests (Holm). A culture may have several labels, so the rows are not "
    "independent."
)


def render_run(run: Run) -> Group:
    """Return a run for the terminal: its row of the board, its cultures in a line, warnings, and what was lost."""
    from rich.console import Group
    from rich.text import Text

    view = arrange([run])[0]
    board = board_table([RankedTask(view, [])])
    items = board.frame["n"][0] or 0
    shown: list[RenderableType] = []
    if first := missing.first_sentence(view, 0):
        shown.append(Text(plain(first), style="bold yellow"))
    shown.append(terminal_table(board))
    if view.several_cultures and not view.ended_in_order[0]:
        shown += [Text(_cultures(view))] if items else []
        labels = label_table(view) if run.manifest["data"].get("labels") else None
        shown += [terminal_table(labels)] if labels is not None else []
    shown += [Text(plain(line)) for line in group_sentences(view)]
    shown += [Text(f"{board.note} {_measured_words(view, items)}", style="dim")] if items else []
    shown += [Text(plain(line), style="yellow") for line in notes.warnings(view)]
    # Outcomes of answers that are neither right nor wrong; failed requests are among the warnings.
    rows = [
        view.estimate(0, subject, view.main_metric, name) for subject, name in product(view.subjects, view.variants)
    ]
    if lost := outcome_words([{**row, "failed": 0} for row in rows if row is not None]):
        shown.append(Text(f"Of all answers, {lost}.", style="yellow"))
    return Group(*shown)


def _measured_words(view: TaskView, items: int) -> str:
    """Say on how many items a run was measured, and what else is in its report."""
    cultures = len({subject.culture for subject in view.subjects}) if view.several_cultures else 1
    estimates = (view.estimate(0, subject, view.main_metric) for subject in view.subjects)
    counts = [int(row["n"]) for row in estimates if row is not None] if cultures > 1 else [items]
    measured = f"Measured on {items_words(counts, view.noun)}"
    measured += f" over {cultures} cultures" if cultures > 1 else ""
    variants, metrics = len(view.variants) - 1, len(view.metrics) - 1
    measured += f"; variant: {variant_name(view.variant)}." if variants else "."
    others = [wording.count(variants, "other variant")] if variants else []
    others += [wording.count(metrics, "other metric")] if metrics else []
    return measured + (f" In the report: {' and '.join(others)}." if others else "")


def _cultures(view: TaskView) -> str:
    """The score of each culture, in a line; of many, how far they are apart."""
    if len(view.subjects) > MOST_IN_A_LINE:
        words = spread_words(view, 0).lstrip(".: ")
        return plain(words[:1].upper() + words[1:])
    info, cells = view.metrics[view.main_metric], []
    for subject in view.subjects:
        row = view.estimate(0, subject, view.main_metric) or dict.fromkeys(("value", "low", "high"))
        between = wording.interval(row["low"], row["high"], info)
        gone = missing.missing_words(row, info)
        if is_unranked(row):
            cells.append(f"{subject.label} – (no score: {gone})")
        else:
            differences = "; ".join(filter(None, (between, gone)))
            cells.append(f"{subject.label} {wording.amount(row['value'], info)} ({differences})")
    return plain(", ".join(cells))


def nothing_compared(a: Run, b: Run) -> str:
    """Say why there is nothing to compare where a run was not answered; "" where both have answers."""
    sentences = [missing.unanswered_sentence(arrange([run])[0], 0) for run in (a, b)]
    unanswered = list(filter(None, sentences))
    return plain(" ".join(["There is nothing to compare.", *unanswered])) if unanswered else ""


def render_comparison(frame: pl.DataFrame, metrics: Mapping[str, MetricInfo]) -> Group:
    """Return how a second run differs from a first (:func:`kapwa.compare`) as a table with a verdict for each row.

    ``metrics``: how they read (a manifest's ``metrics``); shares are told in percentage points.
    """
    from rich.console import Group
    from rich.text import Text

    if not frame.height:
        return Group(Text("The two share no items that both measured: there is nothing to compare."))
    first = frame.row(0, named=True)
    names = {side: label_text(first[side]) for side in ("a", "b")}
    lines = []
    if max(map(len, names.values())) > _SHORT_NAME:
        lines = [f"A: {names['a']}", f"B: {names['b']}"]
        names = {"a": "A", "b": "B"}
    lines.append(f"Difference: {names['b']} − {names['a']}")
    # Sentences tell the first side less the second.
    frame, names = swap_sides(frame), {"a": names["b"], "b": names["a"]}
    # Values that all rows share are given once, above the table.
    by_label = "label" in frame.columns
    columns = ("metric", "label" if by_label else "culture", "variant")
    by = [name for name in columns if frame[name].n_unique() > 1] or ["metric"]
    same = [f"{name.capitalize()}: {label_text(first[name] or 'all')}" for name in columns if name not in by]
    lines += ["; ".join(same)] if same else []
    lines += [_LABELS_NOTE] if by_label else _over_cultures(frame, metrics, names)
    shown = _first_metrics(frame)
    table = run_comparison_table(shown, metrics, by, names)
    note = table.note
    if shown.height < frame.height:
        note += f" {frame.height - shown.height} more differences, of other metrics, with --json or --csv."
    return Group(*map(Text, lines), terminal_table(table), Text(note, style="dim"))


def _over_cultures(frame: pl.DataFrame, metrics: Mapping[str, MetricInfo], names: Mapping[str, str]) -> list[str]:
    """The differences over cultures of the first metric, in sentences; each with its variant where several have one."""
    metric = frame["metric"][0]
    rows = over_cultures(frame.filter(metric=metric))
    sentences = over_sentences(
        [{**row, **names} for row in rows], metrics.get(metric, wording.UNDESCRIBED), ("item", "items")
    )
    heads = [f"{label_text(row['variant'])}: " if len(rows) > 1 else "" for row in rows]
    return [head + sentence for head, sentence in zip(heads, sentences, strict=True)]


def difference_lines(a: Run, b: Run) -> list[str]:
    """Name two runs by folder and label, and say in what their measurements differ, a line each."""
    lines = [f"{name}: {label_text(run.label)}, in {label_text(run.path)}" for name, run in (("A", a), ("B", b))]
    cultures = [set(run.scores["culture"].drop_nulls()) for run in (a, b)]
    for name, alone in (("A", cultures[0] - cultures[1]), ("B", cultures[1] - cultures[0])):
        if alone:
            lines.append(label_text(f"Only {name} was asked about {', '.join(sorted(alone))}: not compared."))
    pairs = differing(a.manifest, b.manifest)
    if not pairs:
        return [*lines, "The two are the same measurement: their signatures are equal."]
    lines.append("What differs between them:")
    for name, *values in pairs:
        first, second = (wording.truncate(value.replace("\n", " "), 40) or "none" for value in values)
        lines.append("  " + label_text(f"{FIELD_WORDS.get(name, name)}: {first} → {second}"))
    return lines


def missing_line(run: Run) -> str:
    """Say which of a run's answers are in no difference, and why; "" where hardly any is missing."""
    words = missing.first_sentence(arrange([run])[0], 0)
    return f"{label_text(run.label)}: {plain(words)}" if words else ""


def _first_metrics(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the first metrics (headline ones stand first) that fit a screen; at least one metric."""
    metrics = list[str]()
    rows = frame if "label" in frame.columns else frame.filter(pl.col("culture").is_not_null())
    for metric in frame["metric"].unique(maintain_order=True):
        if metrics and rows.filter(pl.col("metric").is_in([*metrics, metric])).height > MOST_ROWS:
            break
        metrics.append(metric)
    return frame.filter(pl.col("metric").is_in(metrics))
