"""``kapwa report``: one HTML page of runs or of an analysis; ``kapwa compare``: what changed between two runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

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


@dataclass(kw_only=True)
class Besides:
    """What is written beside the page: charts, and tables as CSV."""

    figures: Path | None = None
    csv: Path | None = None

    def write(self, sources: Any, people: Sequence[Path], same: Any, errata: Path | None) -> None:
        """Write what was asked for of runs, or of an analysis, and say where."""
        if self.figures is not None:
            _write_figures(sources, self.figures, same)
        if self.csv is not None:
            _write_tables(sources, self.csv, people, same, errata)


def report(
    runs: list[Path],
    output: Path = Path("report.html"),
    people: list[Path] | None = None,
    answers: str = "1000",
    *,
    besides: Besides,
    same: list[str] | None = None,
    equal_within: float | None = None,
    errata: Path | None = None,
    printed: PrintedTable,
) -> None:
    """Write one HTML page about runs, or about an analysis.

    The page is self-contained: it opens from disk, without a network.
    """
    from kapwa.report.writing import opened, write_report
    from kapwa.runs.systems import parse_same

    if not re.fullmatch(r"all|\d{1,9}", answers):
        raise UsageError(f"--answers is a number of questions, or 'all', not {answers[:40]!r}.")
    check_place(output, folder=not output.suffix)
    for folder in (besides.figures, besides.csv):
        check_place(folder, folder=True)
    sources, forms = opened(runs, note), people or ()
    named = parse_same(same or ())
    made = printed.make(sources, named, forms)
    if besides.csv is not None:
        _table_folders(sources, besides.csv)
    margins: dict[str, Any] = {"same": named, "equal_within": equal_within, "groups": printed.groups, "errata": errata}
    most = None if answers == "all" else int(answers)
    note(f"Report: {write_report(sources, output, people=forms, answers=most, **margins)}")
    besides.write(sources, forms, named, errata)
    printed.write(made)


def _write_tables(sources: Any, csv: Path, people: Sequence[Path], same: Any, errata: Path | None) -> None:
    """Write the tables of runs, or of an analysis, each into its folder, and those of people's forms and errata."""
    import kapwa
    from kapwa.analysis.result import Analysis
    from kapwa.files import write_text
    from kapwa.report.audit import audits_of, blocks_of
    from kapwa.report.errata import errata_parts
    from kapwa.report.people import export_people_csv
    from kapwa.report.view import arrange
    from kapwa.runs.outputs import BOM

    folders = _table_folders(sources, csv)
    for folder, source in folders.items():
        note(f"Tables: {kapwa.export_csv(source, folder)}")
    if isinstance(sources, Analysis):
        return
    if people:
        more = blocks_of(audits_of(sources, people))
        note(f"Tables: {export_people_csv(sources, people, csv / 'people', same, more)}")
    if errata is not None:
        for slug, part in errata_parts(arrange(sources, same), errata).items():
            write_text(csv / "errata" / f"{slug}.csv", BOM + part["table"].csv)
        note(f"Tables: {csv / 'errata'}")


def _write_figures(sources: Any, folder: Path, same: Any) -> None:
    """Write each chart of runs, or of an analysis, as SVG and PNG, and say where."""
    from kapwa.analysis.result import Analysis
    from kapwa.report.analysis.page import save_analysis_figures
    from kapwa.report.figures import save_figures

    of_analysis = isinstance(sources, Analysis)
    for path in save_analysis_figures(sources, folder) if of_analysis else save_figures(sources, folder, same):
        note(f"Figure: {path}")


def _table_folders(sources: Any, csv: Path) -> dict[Path, Any]:
    """Return each source by the folder within ``csv`` of its tables; raise UsageError where two would share one."""
    from kapwa.analysis.result import Analysis

    folders: dict[Path, Any] = {}
    for source in [sources] if isinstance(sources, Analysis) else sources:
        folder = csv / source.path.name
        other = folders.setdefault(folder, source)
        if other.path != source.path:
            raise UsageError(
                f"The tables of {other.path} and {source.path} would be written into one folder of {csv}.",
                hint="Rename one of the two run folders, or write the tables of each by 'kapwa export'.",
            )
    return folders


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
    equal_within: float | None = None,
    by: Literal["culture", "label"] = "culture",
    json: bool = False,
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
    from kapwa.runs.outputs import BOM
    from kapwa.tables_io import csv_text

    check_place(csv)
    gate.check(equal_within)
    if gate.margin is not None and by == "label":
        raise UsageError("A regression is judged over cultures.", hint="Leave out --by, or --margin.")
    first, second = kapwa.open_run(run_a), kapwa.open_run(run_b)
    frame = kapwa.compare(first, second, mid_p=mid_p, equal_within=gate.margin or equal_within, by=by)
    judgement = None if gate.margin is None else judge(first, second, frame, gate.margin)
    if judgement is not None:
        gate.write(judgement)
    if csv is not None:
        write_text(csv, BOM + csv_text(frame.columns, frame.iter_rows()))
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
        if judgement.outcome == "inconclusive":
            again = shlex.join(["kapwa", "plan", str(run_a), str(run_b), "--difference", f"{gate.margin:g}"])
            note(f"More questions would tell. How many: {again}")
        codes = {"regression": 3 if gate.fail_on or gate.strict else 0, "inconclusive": 4 if gate.strict else 0}
        raise typer.Exit(codes.get(judgement.outcome, 0))
