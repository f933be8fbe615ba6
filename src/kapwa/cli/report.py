"""``kapwa report``: one HTML page of runs or of an analysis; ``kapwa compare``: what changed between two runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from kapwa.cli import options as opt
from kapwa.cli.output import check_place, note, show, show_json
from kapwa.errors import UsageError


@dataclass(kw_only=True)
class PrintedTable:
    """Which table is printed besides, and in which form."""

    table: Literal["text", "markdown", "latex"] | None = None
    paper: str | None = None
    groups: Path | None = None

    def make(self, sources: Any, same: Any, people: Sequence[Path] = ()) -> Any:
        """Return the table, or None where none was asked for; raise UsageError where it cannot be made."""
        from kapwa.report.paper_tables import paper_table

        if self.table is None and self.paper is None:
            return None
        return paper_table(sources, self.paper, same, self.groups if self.paper else None, people)

    def write(self, made: Any) -> None:
        """Print the table (None: none was asked for); its note stands within in Markdown and in LaTeX."""
        from kapwa.report.render import in_form

        if made is None:
            return
        show(in_form(made, self.table or "text"))
        if self.table in (None, "text"):
            note(made.note)


def report(
    runs: list[Path],
    output: Path = Path("report.html"),
    people: list[Path] | None = None,
    answers: str = "1000",
    figures: Path | None = None,
    csv: Path | None = None,
    same: list[str] | None = None,
    equal_within: opt.EqualWithin = None,
    errata: Path | None = None,
    *,
    printed: PrintedTable,
) -> None:
    """Write one HTML page about runs, or about an analysis.

    The page is self-contained: it opens from disk, without a network.
    """
    from kapwa.analysis.result import Analysis
    from kapwa.report.writing import opened, write_report
    from kapwa.runs.systems import parse_same

    if not re.fullmatch(r"all|\d{1,9}", answers):
        raise UsageError(f"--answers is a number of questions, or 'all', not {answers[:40]!r}.")
    check_place(output, folder=not output.suffix)
    for folder in (figures, csv):
        check_place(folder, folder=True)
    sources = opened(runs, note)
    named = parse_same(same or ())
    made = printed.make(sources, named, people or ())
    most = None if answers == "all" else int(answers)
    members = [sources] if isinstance(sources, Analysis) else sources
    folders = {} if csv is None else _table_folders([member.path for member in members], csv)
    margins: dict[str, Any] = {"same": named, "equal_within": equal_within}
    margins |= {"groups": printed.groups, "errata": errata}
    note(f"Report: {write_report(sources, output, people=people or (), answers=most, **margins)}")
    if figures is not None:
        _write_figures(sources, figures, named)
    if csv is not None:
        _write_tables(members, folders, people or (), csv / "people", named)
    printed.write(made)


def _write_tables(
    members: Sequence[Any], folders: dict[Path, Path], people: Sequence[Path], people_folder: Path, same: Any
) -> None:
    """Write the tables of runs, or of an analysis, each into its folder; those of people into ``people_folder``."""
    import kapwa
    from kapwa.analysis.result import Analysis
    from kapwa.report.audit import audits_of, blocks_of
    from kapwa.report.people import export_people_csv

    for member in members:
        note(f"Tables: {kapwa.export_csv(member, folders[member.path])}")
    if people and not isinstance(members[0], Analysis):
        more = blocks_of(audits_of(members, people))
        note(f"Tables: {export_people_csv(members, people, people_folder, same, more)}")


def _write_figures(sources: Any, folder: Path, same: Any) -> None:
    """Write each chart of runs, or of an analysis, as SVG and PNG, and say where."""
    from kapwa.analysis.result import Analysis
    from kapwa.report.analysis.page import save_analysis_figures
    from kapwa.report.figures import save_figures

    of_analysis = isinstance(sources, Analysis)
    for path in save_analysis_figures(sources, folder) if of_analysis else save_figures(sources, folder, same):
        note(f"Figure: {path}")


def _table_folders(sources: Sequence[Path], csv: Path) -> dict[Path, Path]:
    """Return the folder within ``csv`` of each source's tables; raise UsageError where two would share one."""
    names: dict[str, Path] = {}
    for source in sources:
        other = names.setdefault(source.name, source)
        if other != source:
            raise UsageError(
                f"The tables of {other} and {source} would be written into one folder of {csv}.",
                hint="Rename one of the two run folders, or write the tables of each by 'kapwa export'.",
            )
    return {source: csv / source.name for source in sources}


@dataclass(kw_only=True)
class RegressionOptions:
    """Whether the second run lost more than a margin against the first, and what is made of that."""

    margin: float | None = None
    fail_on: Literal["regression"] | None = None
    strict: bool = False
    junit: Path | None = None
    markdown: Path | None = None

    def check(self, equal_within: float | None) -> None:
        """Raise UsageError for options that do not go together, and for places that cannot be written."""
        from kapwa.stats.families import check_margin

        check_margin(self.margin, {})
        if self.margin is None and any((self.fail_on, self.strict, self.junit, self.markdown)):
            raise UsageError("What a regression is depends on a margin, but none is named.", hint="Add: --margin 0.02")
        if self.margin is not None and equal_within is not None:
            raise UsageError("--margin and --equal-within are two questions.", hint="Ask one at a time.")
        check_place(self.junit)
        check_place(self.markdown)

    def write(self, judgement: Any) -> None:
        """Write the files that were asked for."""
        from kapwa.files import write_text
        from kapwa.report.render import markdown_table

        junit, markdown = judgement.junit(strict=self.strict), markdown_table(judgement.table)
        for path, text in ((self.junit, junit), (self.markdown, markdown)):
            if path is not None:
                write_text(path, text)
                note(f"Written: {path}")


def compare(
    run_a: Path,
    run_b: Path,
    gate: RegressionOptions,
    csv: Path | None = None,
    mid_p: bool = False,
    equal_within: opt.EqualWithin = None,
    json: opt.Json = False,
) -> None:
    """Compare two runs, paired item by item: over all cultures together first, then in each.

    Says how the two differ as measurements (their signatures), then shows difference, interval, p-value, and how
    large a true difference these items show four times in five. With --json: "a" and "b" (path, label, signature),
    "differ" (what differs, with both values) and "comparisons".

    With --margin: RUN_A is the old run, RUN_B the new one. Says in one sentence whether the new one lost more than the
    margin on the first metric, its mean over cultures, and of each culture which loss is excluded (--json: also
    "regression"). The exit code is 0; with --fail-on regression 3 for a regression, with --strict also 4 where the
    data leave it open.
    """
    import kapwa
    from kapwa.files import write_text
    from kapwa.report.regression import judge
    from kapwa.report.terminal import difference_lines, render_comparison
    from kapwa.runs.manifest import differing
    from kapwa.tables_io import csv_text

    check_place(csv)
    gate.check(equal_within)
    first, second = kapwa.open_run(run_a), kapwa.open_run(run_b)
    frame = kapwa.compare(first, second, mid_p=mid_p, equal_within=gate.margin or equal_within)
    judgement = None if gate.margin is None else judge(first, second, frame, gate.margin)
    if judgement is not None:
        gate.write(judgement)
    if csv is not None:
        write_text(csv, csv_text(frame.columns, frame.iter_rows()))
        note(f"Table: {csv}")
    if json:
        runs: dict[str, Any] = {
            name: {"path": str(run.path), "label": run.label, "signature": run.manifest["signature"]}
            for name, run in (("a", first), ("b", second))
        }
        differ = [{"name": name, "a": a, "b": b} for name, a, b in differing(first.manifest, second.manifest)]
        lost = {} if judgement is None else {"regression": judgement.as_dict()}
        show_json({**runs, "differ": differ, **lost, "comparisons": frame.to_dicts()})
    else:
        show("\n".join([*difference_lines(first, second), ""]))
        show(render_comparison(frame, first.manifest["metrics"]) if judgement is None else judgement.terminal())
    if judgement is not None:
        codes = {"regression": 3 if gate.fail_on or gate.strict else 0, "inconclusive": 4 if gate.strict else 0}
        raise typer.Exit(codes.get(judgement.outcome, 0))
