"""Concise Rich tables for the command line: one run, or a paired comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.report import notes, numbers, words
from kapwa.report.contract import RunLike
from kapwa.report.summaries import across_sentences, loss_sentences
from kapwa.report.text import label_text, width
from kapwa.report.variants import variant_name
from kapwa.report.view import Subject, TaskView, arrange

if TYPE_CHECKING:
    from rich.console import Group, JustifyMethod, RenderableType
    from rich.table import Table


MOST_ROWS = 24
# Of more cultures than fit a screen, so many at each end are shown.
_AT_EACH_END = 5


def render_run(run: RunLike) -> Group:
    """Return a run for the terminal: headline sentences, a table of scores with floors, and what was lost.

    The table holds the headline metrics, by culture and variant, with 95 % intervals, floors and ceilings.
    """
    from rich.console import Group
    from rich.text import Text

    view = arrange([run])[0]
    lines: list[RenderableType] = [Text(label_text(sentence)) for sentence in _sentences(view)]
    lines += [Text(""), _run_table(view)]
    hidden = len(view.subjects) - len(_shown_subjects(view))
    if hidden:
        lines.append(Text(f"The highest and the lowest; {hidden} more between them in the report.", style="dim"))
    others = len(view.metrics) - (1 if view.many else len(view.headline))
    if view.many and len(view.variants) > 1:
        lines.append(
            Text(f"The variant shown: {variant_name(view.variant)}; other variants in the report.", style="dim")
        )
    if others > 0:
        lines.append(
            Text(f"{numbers.count(others, 'other metric')} in estimates.parquet and in the report.", style="dim")
        )
    lost = loss_sentences(view) if view.many else notes.losses(view)
    lines += [Text(label_text(said), style="yellow") for said in (*notes.warnings(view), *lost)]
    return Group(*lines)


def render_comparison(frame: pl.DataFrame, metrics: Mapping[str, Mapping[str, Any]] | None = None) -> Group:
    """Return paired differences (columns of ``comparisons``) as a table with a verdict in words for each.

    ``metrics``: how they read (a manifest's ``metrics``); with it shares are told in percentage points, without
    it every difference is in the metric's own unit.
    """
    from rich.console import Group
    from rich.text import Text

    if not frame.height:
        return Group(Text("The two share no items that both measured: there is nothing to compare."))
    shown = _first_metrics(frame)
    parts = _label_parts(frame)
    short = _short_names(frame)
    head = ", ".join(parts).capitalize() or "Metric"
    table = _new_table([head, "Difference", "95% interval", "p (Holm)", "Detectable", "n", "Verdict"], tight=True)
    for row in shown.iter_rows(named=True):
        label = ", ".join(_part(row, name) for name in parts) or _part(row, "metric")
        cells = [label, *_comparison_cells({**row, **short}, (metrics or {}).get(row["metric"], {}))]
        table.add_row(*map(Text, cells), style="bold" if words.is_clear(row) else None)
    note = "Detectable: the smallest true difference that this many items show four times in five."
    if shown.height < frame.height:
        note += f" {frame.height - shown.height} more differences, of other metrics, with --json."
    return Group(*(Text(line) for line in _compared(frame, short, parts)), table, Text(note, style="dim"))


# Names up to this width can stand in every row of a table; longer ones are told once, and called A and B.
_SHORT_NAME = 12


def _label_parts(frame: pl.DataFrame) -> list[str]:
    """What tells rows apart; what is the same in all of them stands once above the table."""
    pair = ["pair"] if frame.select("a", "b").n_unique() > 1 else []
    return [name for name in ("metric", "culture", "variant") if frame[name].n_unique() > 1] + pair


def _part(row: Mapping[str, Any], name: str) -> str:
    if name == "pair":
        return f"{label_text(row['a'])} − {label_text(row['b'])}"
    return label_text(row[name] or "all")


def _short_names(frame: pl.DataFrame) -> dict[str, str]:
    """Letters for the two that are compared, where all rows are of these two and their names are long."""
    first = frame.row(0, named=True)
    long = max(width(label_text(first[name])) for name in "ab") > _SHORT_NAME
    return {"a": "A", "b": "B"} if long and "pair" not in _label_parts(frame) else {}


def _compared(frame: pl.DataFrame, short: Mapping[str, str], parts: Sequence[str]) -> Iterator[str]:
    """Say what is subtracted from what, and of what, where that is the same in every row."""
    first = frame.row(0, named=True)
    for name, letter in short.items():
        yield f"{letter}: {label_text(first[name])}"
    if "pair" not in parts:
        yield f"Difference: {_part({**first, **short}, 'pair')}"
    same = [name for name in ("metric", "culture", "variant") if name not in parts]
    if parts and same:
        yield "; ".join(f"{name.capitalize()}: {_part(first, name)}" for name in same)


def _first_metrics(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the first metrics (headline ones stand first) that fit a screen; at least one metric."""
    kept: list[str] = []
    for metric in frame["metric"].unique(maintain_order=True):
        if kept and frame.filter(pl.col("metric").is_in([*kept, metric])).height > MOST_ROWS:
            break
        kept.append(metric)
    return frame.filter(pl.col("metric").is_in(kept))


def _sentences(view: TaskView) -> list[str]:
    if not view.headline:
        return []
    if view.many:
        return across_sentences(view)
    metric = view.headline[0]
    told = []
    for subject in view.subjects:
        row = view.estimate(0, subject, metric)
        if row is None:
            continue
        name = label_text(view.labels[0])
        reading = words.Reading(name, row, view.metrics[metric], view.marks(subject, metric), view.noun)
        head = f"{label_text(subject.label)}: " if len(view.subjects) > 1 else ""
        told.append(head + words.score_sentence(reading))
    return told


def _run_table(view: TaskView) -> Table:
    from rich.text import Text

    table = _new_table(["Metric", "Culture", "Variant", "Score", "95% interval", "Floor", "People", "n"])
    # Many cultures in every metric and variant would run off the screen.
    metrics, variants = (view.headline[:1], view.variants[:1]) if view.many else (view.headline, view.variants)
    for metric in metrics:
        for subject in _shown_subjects(view):
            for variant in variants:
                row = view.estimate(0, subject, metric, variant)
                if row is not None:
                    table.add_row(*map(Text, _score_cells(view, subject, metric, row)))
    return table


def _shown_subjects(view: TaskView) -> Sequence[Subject]:
    """All subjects where they fit a screen; else the highest, then the lowest, by the headline score."""
    if not view.many or len(view.subjects) <= MOST_ROWS:
        return view.subjects
    rows = [(subject, view.estimate(0, subject, view.headline[0], view.variant)) for subject in view.subjects]
    known = [(subject, row["value"]) for subject, row in rows if row is not None and row["value"] is not None]
    ranked = [subject for subject, _ in sorted(known, key=lambda pair: -pair[1])]
    return ranked if len(ranked) <= 2 * _AT_EACH_END else [*ranked[:_AT_EACH_END], *ranked[-_AT_EACH_END:]]


def _score_cells(view: TaskView, subject: Subject, metric: str, row: dict[str, Any]) -> list[str]:
    info = view.metrics[metric]
    marks = view.marks(subject, metric, row["variant"])
    base = words.base_floor(marks)
    top = next((mark for mark in marks if mark.ceiling), None)
    return [
        metric,
        label_text(subject.label),
        label_text(row["variant"]),
        numbers.amount(row["value"], info),
        numbers.interval(row["low"], row["high"], info),
        numbers.amount(base.value if base else None, info),
        numbers.amount(top.value if top else None, info),
        f"{row['n']:,}",
    ]


def _comparison_cells(row: Mapping[str, Any], info: Mapping[str, Any]) -> list[str]:
    return [
        numbers.change(row["difference"], info),
        numbers.change_interval(row["low"], row["high"], info),
        numbers.p_value(row["p_holm"]),
        numbers.detectable(row["mde"], info),
        f"{row['n']:,}",
        label_text(words.verdict_words(row)),
    ]


_NAMES = {"Metric", "Culture", "Variant", "Verdict"}


def _new_table(columns: list[str], *, tight: bool = False) -> Table:
    """A table whose names may break over lines, and whose numbers may not; ``tight`` puts its columns nearer."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    padding = (0, 1, 0, 0) if tight else (0, 1)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=padding)
    for name in columns:
        text = name in _NAMES or name == columns[0]
        justify: JustifyMethod = "left" if text else "right"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=not text, min_width=6 if text else None)
    return table
