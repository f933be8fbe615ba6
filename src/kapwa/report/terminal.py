"""Concise Rich tables for the command line: one run, a paired comparison, what a check of data found."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.datasets.findings import CheckReport, Severity, kinds_of
from kapwa.report import notes, sentences, wording
from kapwa.report.comparisons import over_cultures, variant_name
from kapwa.report.render import new_table
from kapwa.report.summaries import across_sentences, over_sentences
from kapwa.report.view import arrange
from kapwa.report.wording import label_text
from kapwa.runs.directory import Run
from kapwa.runs.manifest import differing
from kapwa.stats.families import is_clear

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

MOST_ROWS = 24
# Of more cultures than fit a screen, so many at each end are shown.
_AT_EACH_END = 5
# Names up to this width can stand in every row of a table; longer ones are told once, and called A and B.
_SHORT_NAME = 12
_SHARE = {"low": 0, "high": 1}


def render_run(run: Run) -> Group:
    """Return a run for the terminal: headline sentences, a table of scores, and what was lost.

    The table holds the headline metrics, by culture and variant, with 95 % intervals, the best trick that takes no
    cultural knowledge, and the ceiling.
    """
    from rich.console import Group
    from rich.text import Text

    view = arrange([run])[0]
    subjects = view.subjects
    if view.many and len(subjects) > MOST_ROWS:
        ranked = view.by_score(view.metric)
        subjects = ranked if len(ranked) <= 2 * _AT_EACH_END else [*ranked[:_AT_EACH_END], *ranked[-_AT_EACH_END:]]
    # Many cultures in every metric and variant would run off the screen.
    metrics, variants = ([view.metric], view.variants[:1]) if view.many else (view.headline, view.variants)
    told = across_sentences(view) if view.many else []
    for subject in [] if view.many else subjects:
        head = f"{subject.label}: " if len(subjects) > 1 else ""
        told += [head + sentences.score_sentence(reading) for reading in sentences.readings(view, subject)]
    rows, sizes = [], {"Metric": len(metrics), "Culture": len(subjects), "Variant": len(variants)}
    # What is the same in all rows stands once above the table: names and numbers have to fit 80 columns.
    parts = [name for name, size in sizes.items() if size > 1]
    for metric, subject, variant in product(metrics, subjects, variants):
        row = view.estimate(0, subject, metric, variant)
        if row is None:
            continue
        info, (_, _, best, top, _) = view.metrics[metric], view.marks(subject, metric, variant)
        names = {"Metric": metric, "Culture": label_text(subject.label), "Variant": label_text(variant)}
        cells = [*(names[part] for part in parts), wording.amount(row["value"], info)]
        cells += [wording.interval(row["low"], row["high"], info)]
        cells += [wording.amount(mark.value if mark else None, info) for mark in (best, top)]
        share = wording.NOTHING if top is None else wording.amount(top.relative, _SHARE, 0)
        rows.append([*cells, share, f"{row['n']:,}"])
    same = "; ".join(f"{name}: {names[name]}" for name in sizes if rows and name not in parts)
    columns = [*parts, "Score", "95% interval", "Best trick", "Ceiling", "Of ceiling", "n"]
    if all(row[-2] == wording.NOTHING for row in rows):
        columns, rows = [*columns[:-2], "n"], [[*row[:-2], row[-1]] for row in rows]
    table = new_table(columns, rows, names=parts)
    under, others = [], len(view.metrics) - len(metrics)
    if len(subjects) < len(view.subjects):
        hidden = len(view.subjects) - len(subjects)
        compared = view.compared(view.metric)
        by = "" if compared.top is None else f" by the {compared.words}"
        under.append(f"The highest and the lowest{by}; {hidden} more between them in the report.")
    # What is divided need not be the score in the row: people are judged by keys without one person, say.
    under += filter(None, [sentences.of_people_note(view, metrics, "Of ceiling")] if "Of ceiling" in columns else [])
    if len(variants) < len(view.variants):
        under.append(f"The variant shown: {variant_name(view.variant)}; other variants in the report.")
    if others > 0:
        under.append(f"{wording.count(others, 'other metric')} in estimates.parquet and in the report.")
    warned = (*notes.warnings(view), *sentences.loss_sentences(view))
    return Group(
        *(Text(label_text(sentence)) for sentence in told),
        Text(""),
        *([Text(same)] if same else []),
        table,
        *(Text(line, style="dim") for line in under),
        *(Text(label_text(said), style="yellow") for said in warned),
    )


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
    names = ("metric", "culture", "variant")
    parts = [name for name in names if frame[name].n_unique() > 1] or ["metric"]
    same = [f"{name.capitalize()}: {label_text(first[name] or 'all')}" for name in names if name not in parts]
    told += ["; ".join(same)] if same else []
    over = over_cultures(frame.filter(metric=first["metric"]))
    said = over_sentences([{**row, **short} for row in over], metrics.get(first["metric"], {}), ("item", "items"))
    heads = [f"{label_text(row['variant'])}: " if len(over) > 1 else "" for row in over]
    told += [head + sentence for head, sentence in zip(heads, said, strict=True)]
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
    kept, own = list[str](), frame.filter(pl.col("culture").is_not_null())
    for metric in frame["metric"].unique(maintain_order=True):
        if kept and own.filter(pl.col("metric").is_in([*kept, metric])).height > MOST_ROWS:
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
