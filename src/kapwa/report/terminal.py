"""Concise Rich tables for the command line: one run, a paired comparison, what a check of data found."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.datasets.findings import CheckReport, Severity, kinds_of
from kapwa.report import notes, sentences, wording
from kapwa.report.board import board_table
from kapwa.report.comparisons import over_cultures, variant_name
from kapwa.report.labels import label_table
from kapwa.report.overview import group_sentences
from kapwa.report.render import new_table, plain, terminal_table
from kapwa.report.sentences import outcome_words
from kapwa.report.summaries import items_words, over_sentences, spread_words
from kapwa.report.view import TaskView, arrange
from kapwa.report.wording import NOTES, label_text
from kapwa.runs.directory import Run
from kapwa.runs.manifest import differing
from kapwa.stats.families import is_clear
from kapwa.suites.base import LEADING

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

MOST_ROWS = 24
MOST_IN_A_LINE = 3  # cultures
# Names up to this width can stand in every row of a table; longer ones are told once, and called A and B.
_SHORT_NAME = 12


def render_run(run: Run) -> Group:
    """Return a run for the terminal: its row of the board, its cultures in a line, warnings, and what was lost."""
    from rich.console import Group
    from rich.text import Text

    view = arrange([run])[0]
    board = board_table([view], [()])
    rows = [view.estimate(0, subject, view.metric, name) for subject, name in product(view.subjects, view.variants)]
    # Requests that failed are among the warnings.
    lost = outcome_words([{**row, "failed": 0} for row in rows if row is not None])
    n, variants, metrics = board.frame["n"][0] or 0, len(view.variants) - 1, len(view.metrics) - 1
    labels = label_table(view) if view.many and run.manifest["data"].get("labels") else None
    cultures = len({subject.culture for subject in view.subjects}) if view.many else 1
    main = (view.estimate(0, subject, view.metric) for subject in view.subjects)
    counts = [int(row["n"]) for row in main if row is not None] if cultures > 1 else [n]
    measured = f"Measured on {items_words(counts, view.noun)}"
    measured += f" over {cultures} cultures" if cultures > 1 else ""
    measured += f"; variant: {variant_name(view.variant)}." if variants else "."
    others = [wording.count(variants, "other variant")] if variants else []
    others += [wording.count(metrics, "other metric")] if metrics else []
    measured += f" In the report: {' and '.join(others)}." if others else ""
    return Group(
        terminal_table(board),
        *([Text(_cultures(view))] if view.many and n else []),
        *([terminal_table(labels)] if labels is not None else []),
        *(
            Text(plain(line))
            for line in (group_sentences(view) if any(name.startswith(LEADING) for name in view.headline) else ())
        ),
        *([Text(f"{board.note} {measured}", style="dim")] if n else []),
        *(Text(plain(line), style="yellow") for line in notes.warnings(view)),
        *([Text(f"Of all answers, {lost}.", style="yellow")] if lost else []),
    )


def _cultures(view: TaskView) -> str:
    """The score of each culture, in a line; of many, how far they are apart."""
    if len(view.subjects) > MOST_IN_A_LINE:
        words = spread_words(view, 0).lstrip(".: ")
        return plain(words[:1].upper() + words[1:])
    info, parts = view.metrics[view.metric], []
    for subject in view.subjects:
        row = view.estimate(0, subject, view.metric) or dict.fromkeys(("value", "low", "high"))
        between = wording.interval(row["low"], row["high"], info)
        parts.append(f"{subject.label} {wording.amount(row['value'], info)} ({between})")
    return plain(", ".join(parts))


def render_comparison(frame: pl.DataFrame, metrics: Mapping[str, Mapping[str, Any]]) -> Group:
    """Return paired differences of two runs (columns of ``comparisons``) as a table with a verdict in words for each.

    ``metrics``: how they read (a manifest's ``metrics``); shares are told in percentage points.
    """
    from rich.console import Group
    from rich.text import Text

    if not frame.height:
        return Group(Text("The two share no items that both measured: there is nothing to compare."))
    first = frame.row(0, named=True)
    short = {name: label_text(first[name]) for name in ("a", "b")}
    told = []
    if max(map(len, short.values())) > _SHORT_NAME:
        told = [f"A: {short['a']}", f"B: {short['b']}"]
        short = {"a": "A", "b": "B"}
    told.append(f"Difference: {short['a']} − {short['b']}")
    # What is the same in all rows stands once above the table.
    by_label = "label" in frame.columns
    names = ("metric", "label" if by_label else "culture", "variant")
    parts = [name for name in names if frame[name].n_unique() > 1] or ["metric"]
    same = [f"{name.capitalize()}: {label_text(first[name] or 'all')}" for name in names if name not in parts]
    told += ["; ".join(same)] if same else []
    over = [] if by_label else over_cultures(frame.filter(metric=first["metric"]))
    said = over_sentences([{**row, **short} for row in over], metrics.get(first["metric"], {}), ("item", "items"))
    heads = [f"{label_text(row['variant'])}: " if len(over) > 1 else "" for row in over]
    told += [head + sentence for head, sentence in zip(heads, said, strict=True)]
    told += [NOTES["labels"]] if by_label else []
    head = ", ".join(parts).capitalize()
    columns = [head, "Difference", "95% interval", "p (Holm)", "Detectable", "n", "Verdict"]
    shown, rows = _first_metrics(frame), []
    for row in shown.iter_rows(named=True):
        info = metrics.get(row["metric"], {})
        words = (sentences.verdict_words({**row, **short}, info), sentences.falls_at(row))
        cells = [
            ", ".join(
                label_text(row[name] or ("all" if name != "culture" else f"mean of {row['cultures']}"))
                for name in parts
            ),
            wording.change(row["difference"], info),
            wording.change_interval(row["low"], row["high"], info),
            wording.p_value(row["p_holm"]),
            row.get("detectable") or wording.detectable(row["mde"], info),
            f"{row['n']:,}",
            label_text(", ".join(part for part in words if part)),
        ]
        rows.append(cells)
    bold = [k for k, row in enumerate(shown.iter_rows(named=True)) if is_clear(row)]
    table = new_table(columns, rows, names=(head, "Verdict"), bold=bold)
    note = "Detectable: a true difference of this size is found four times in five. "
    note += sentences.pair_notes(shown, "cluster", "item")
    if shown.height < frame.height:
        note += f" {frame.height - shown.height} more differences, of other metrics, with --json or --csv."
    return Group(*map(Text, told), table, Text(note, style="dim"))


_FIELDS = {"asked": "the items asked", "n": "how many items", "with": "other settings of the model"}


def difference_lines(a: Run, b: Run) -> list[str]:
    """Name two runs by folder and label, and say in what their measurements differ, a line each."""
    told = [f"{name}: {label_text(run.label)}, in {label_text(run.path)}" for name, run in (("A", a), ("B", b))]
    cultures = [set(run.scores["culture"].drop_nulls()) for run in (a, b)]
    for name, alone in (("A", cultures[0] - cultures[1]), ("B", cultures[1] - cultures[0])):
        if alone:
            told.append(label_text(f"Only {name} was asked about {', '.join(sorted(alone))}: not compared."))
    pairs = differing(a.manifest, b.manifest)
    if not pairs:
        return [*told, "They measured the same in the same way: their signatures are equal."]
    told.append("What differs between them:")
    for name, *values in pairs:
        first, second = (wording.truncate(value.replace("\n", " "), 40) or "none" for value in values)
        told.append("  " + label_text(f"{_FIELDS.get(name, name)}: {first} → {second}"))
    return told


def _first_metrics(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the first metrics (headline ones stand first) that fit a screen; at least one metric."""
    kept = list[str]()
    rows = frame if "label" in frame.columns else frame.filter(pl.col("culture").is_not_null())
    for metric in frame["metric"].unique(maintain_order=True):
        if kept and rows.filter(pl.col("metric").is_in([*kept, metric])).height > MOST_ROWS:
            break
        kept.append(metric)
    return frame.filter(pl.col("metric").is_in(kept))


_ROWS = 3  # rows of findings of one kind that are named
_ORDER: dict[Severity, tuple[str, str]] = {
    "error": ("Errors (a run would stop)", "bold red"),
    "warning": ("Warnings (a number may change)", "yellow"),
    "note": ("Notes", "dim"),
}


def render_check(report: CheckReport, *, every: bool = False) -> RenderableType:
    """Render counts, then findings with file, rows and column, by severity; those of one kind in one line.

    ``every``: each finding has a line of its own.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in report.counts.items():
        counts.add_row(name, f"{value:.6g}" if isinstance(value, float) else str(value))
    parts: list[RenderableType] = [Text(f"{report.path}: {report.suite}", style="bold")]
    if report.counts:
        parts.append(counts)
    ranks = list(_ORDER)
    ordered = sorted(report.findings, key=lambda finding: ranks.index(finding.severity))
    for severity, findings in groupby(ordered, key=lambda finding: finding.severity):
        title, style = _ORDER[severity]
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("file", "row", "column"):
            table.add_column(name, overflow="fold", no_wrap=name == "row")
        table.add_column("what", overflow="fold")
        for kind in kinds_of(list(findings), least=None if every else _ROWS + 1):
            finding, several = kind.findings[0], len(kind.findings)
            path, row = Path(finding.path), "" if finding.row is None else str(finding.row)
            message = kind.message
            if several > 1 and row:
                row = ", ".join(str(one.row) for one in kind.findings[:_ROWS]) + " …"
                message = f"{several} rows: {message}"
            # What was checked stands in the first line already; here only the part that tells files apart.
            inside = path.is_relative_to(report.path) and path != Path(report.path)
            cells = (str(path.relative_to(report.path)) if inside else path.name, row, finding.column or "")
            # Text, not markup: a finding may quote square brackets from the data.
            table.add_row(*map(Text, cells), Text(message))
        parts += [Text(f"\n{title}", style=style), table]
    if not every and len(report.findings) > len(kinds_of(report.findings, least=_ROWS + 1)):
        parts.append(Text("\nFindings of one kind share one line, with … for what differs; --all lists each."))
    if not report.findings:
        parts.append(Text("\nNo problems were found."))
    return Group(*parts)
