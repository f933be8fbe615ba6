"""``kapwa report``: an HTML page about runs or an analysis; ``kapwa compare``: what changed between two runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json
from kapwa.errors import UsageError
from kapwa.value_types import JsonObject

if TYPE_CHECKING:
    from kapwa.runs.plans import FrozenPlan

REGRESSION = "Regression check"


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, or one analysis folder.")],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER",
            help="The page to write; or a folder (a name without an extension), which also gets every answer and "
            "score.",
        ),
    ] = Path("report.html"),
    people: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Completed forms with their keys or sample: choices, ratings and labels to report; repeatable.",
        ),
    ] = None,
    answers: Annotated[
        str,
        typer.Option(
            metavar="N", help="Number of questions per task to include in search, with every answer; or 'all'."
        ),
    ] = "1000",
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also write each chart as SVG and PNG to this folder.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write every table as CSV to this folder: people's labels to people/, errata to errata/, "
            "what was planned to plan/.",
        ),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RUN,RUN", help="Treat these runs of different tasks as one system with this name; repeatable."
        ),
    ] = None,
    equal_within: opt.EqualWithin = None,
    errata: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also show scores without the items confirmed as faulty in this table (see kapwa items).",
        ),
    ] = None,
    plan: opt.Plan = None,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost", help="Also show the cost of 1,000 items on the board, at the prices given when each run was made."
        ),
    ] = False,
    table: Annotated[
        Literal["text", "markdown", "latex"] | None,
        typer.Option(metavar="FORM", help="Also print the board, with every system and task: text, markdown or latex."),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Print a table of a paper instead of the board: kalahi-5, -10 to -15, -f, blend-10, -11, -r, eecc-3.",
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Groups of systems, to filter the page by and to show in that table (table: system, group).",
        ),
    ] = None,
) -> None:
    """Write an HTML page about runs, or about an analysis.

    The page is self-contained: it opens from disk, without a network. With --plan, it says what was planned, what was
    looked at afterwards, and where what was done departs from the plan.
    """
    import kapwa
    from kapwa.report.board.paper import paper_table
    from kapwa.report.writing import open_sources, write_report
    from kapwa.runs.systems import parse_same

    if not re.fullmatch(r"all|\d{1,9}", answers):
        raise UsageError(f"--answers is a number of questions, or 'all', not {answers[:40]!r}.")
    check_writable(output, folder=not output.suffix)
    for folder in (figures, csv):
        check_writable(folder, folder=True)
    sources = open_sources(runs, note)
    forms = people or ()
    systems = parse_same(same or ())
    printed = None
    if table is not None or paper is not None:
        printed = paper_table(sources, paper, systems, groups if paper else None, forms)
    if csv is not None:
        _table_folders(sources, csv)
    page = write_report(
        sources,
        output,
        people=forms,
        answers=None if answers == "all" else int(answers),
        same=systems,
        equal_within=equal_within,
        groups=groups,
        errata=errata,
        cost=cost,
        plan=plan,
    )
    note(f"Report: {page}")
    if figures is not None:
        _write_figures(sources, figures, systems)
    if csv is not None:
        _write_tables(sources, csv, forms, systems, errata)
        if plan is not None:
            _write_planned(sources, csv / "plan", kapwa.read_plan(plan), systems, equal_within)
    if printed is not None:
        _print_table(printed, table or "text")


def _print_table(table: Any, form: Literal["text", "markdown", "latex"]) -> None:
    """Print a table; its note is part of it in Markdown and LaTeX."""
    from kapwa.report.tables.forms import in_form

    show(in_form(table, form))
    if form == "text":
        note(table.note)


def _write_tables(sources: Any, csv: Path, people: Sequence[Path], same: Any, errata: Path | None) -> None:
    """Write the tables of each run or of the analysis to its folder, and those of people's forms and errata."""
    import kapwa
    from kapwa.analysis.result import Analysis
    from kapwa.files import write_text
    from kapwa.report.board.audit import audits_of, blocks_of
    from kapwa.report.tables.errata import errata_sections
    from kapwa.report.tables.people import export_people_csv
    from kapwa.report.view.tasks import arrange
    from kapwa.runs.csv_and_notebook import BOM

    folders = _table_folders(sources, csv)
    for folder, source in folders.items():
        note(f"Tables: {kapwa.export_csv(source, folder)}")
    if isinstance(sources, Analysis):
        return
    if people:
        more = blocks_of(audits_of(sources, people))
        note(f"Tables: {export_people_csv(sources, people, csv / 'people', same, more)}")
    if errata is not None:
        for slug, section in errata_sections(arrange(sources, same), errata).items():
            write_text(csv / "errata" / f"{slug}.csv", BOM + section.table.csv)
        note(f"Tables: {csv / 'errata'}")


def _write_planned(sources: Any, folder: Path, plan: FrozenPlan, same: Any, equal_within: float | None) -> None:
    """Write the planned comparisons, and what is said of the plan, to a folder."""
    from kapwa.files import write_text
    from kapwa.report.board.planned import planned_tables
    from kapwa.report.view.tasks import arrange
    from kapwa.runs.csv_and_notebook import BOM
    from kapwa.tables import csv_text

    for name, table in planned_tables(plan, arrange(sources, same), equal_within).items():
        write_text(folder / f"{name}.csv", BOM + csv_text(table.columns, table.iter_rows()))
    note(f"Tables: {folder}")


def _write_figures(sources: Any, folder: Path, same: Any) -> None:
    """Write each chart of the runs or of the analysis as SVG and PNG."""
    from kapwa.analysis.result import Analysis
    from kapwa.report.charts.files import save_figures
    from kapwa.report.page.analysis import save_analysis_figures

    of_analysis = isinstance(sources, Analysis)
    for path in save_analysis_figures(sources, folder) if of_analysis else save_figures(sources, folder, same):
        note(f"Figure: {path}")


def _table_folders(sources: Any, csv: Path) -> dict[Path, Any]:
    """Return each source by the folder in ``csv`` for its tables; raise UsageError if two would share one."""
    from kapwa.analysis.result import Analysis

    folders: dict[Path, Any] = {}
    for source in [sources] if isinstance(sources, Analysis) else sources:
        folder = csv / source.path.name
        other = folders.setdefault(folder, source)
        if other.path != source.path:
            raise UsageError(
                f"The tables of {other.path} and {source.path} would be written to the same folder in {csv}.",
                hint="Rename one of the two run folders, or write the tables of each with 'kapwa export'.",
            )
    return folders


@dataclass(frozen=True, kw_only=True)
class RegressionGate:
    """Whether the second run lost more than a margin against the first, and what follows from that."""

    margin: float | None
    max_missing: float
    fail_on: Literal["regression"] | None
    strict: bool
    junit: Path | None
    markdown: Path | None

    def check(self, equal_within: float | None) -> None:
        """Raise UsageError for options that contradict each other, and for files that cannot be written."""
        from kapwa.stats.families import check_margin

        check_margin(self.margin, {})
        if self.margin is None and any((self.fail_on, self.strict, self.junit, self.markdown, self.max_missing)):
            raise UsageError("A regression needs a margin, but none is given.", hint="Add, for example: --margin 0.02")
        if self.margin is not None and equal_within is not None:
            raise UsageError("--margin and --equal-within exclude each other.", hint="Use one of them at a time.")
        check_writable(self.junit)
        check_writable(self.markdown)

    def exit_code(self, judgement: Any) -> int:
        """Return 0 unless --fail-on or --strict is given; a proven loss takes precedence over missing answers."""
        if not (self.fail_on or self.strict):
            return 0
        if judgement.outcome == "regression":
            return 3
        if judgement.incomplete:
            return 1
        return 4 if self.strict and judgement.outcome != "no regression" else 0

    def write(self, judgement: Any) -> None:
        """Write the requested files."""
        from kapwa.files import write_text
        from kapwa.report.tables.forms import markdown_table

        junit, markdown = judgement.junit(strict=self.strict), markdown_table(judgement.table)
        for path, text in ((self.junit, junit), (self.markdown, markdown)):
            if path is not None:
                write_text(path, text)
                note(f"Written: {path}")


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another run folder of the same task.")],
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=REGRESSION,
            help="Largest acceptable loss of RUN_B against RUN_A: 0.02 is 2 percentage points.",
        ),
    ] = None,
    max_missing: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            rich_help_panel=REGRESSION,
            help="Share of a run's answers that may be missing before --fail-on and --strict exit with 1: 0.02 is "
            "2 in 100.",
        ),
    ] = 0.0,
    fail_on: Annotated[
        Literal["regression"] | None,
        typer.Option(metavar="OUTCOME", rich_help_panel=REGRESSION, help="Exit with 3 on a regression."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", rich_help_panel=REGRESSION, help="Exit with 3 on a regression, with 4 if inconclusive."
        ),
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=REGRESSION, help="Write a JUnit file with one test case per culture."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=REGRESSION, help="Write a Markdown table for a job summary or a comment."
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the differences in all metrics as CSV.")
    ] = None,
    mid_p: Annotated[
        bool,
        typer.Option(
            "--mid-p",
            help="Use mid-p-values: less strict if few answers differ; the error rate may slightly exceed 5 %.",
        ),
    ] = False,
    equal_within: opt.EqualWithin = None,
    by: Annotated[
        Literal["culture", "label"],
        typer.Option(
            metavar="WHAT",
            help="Compare by culture, or by the labels of cultures in cultures.csv beside the data's card.",
        ),
    ] = "culture",
    plan: opt.Plan = None,
    json: opt.Json = False,
) -> None:
    """Compare two runs, paired item by item: first over all cultures, then in each.

    Shows how the two measurements differ (their signatures), then difference, interval, p-value, and the true
    difference that these items detect with 80 % power. With --json: "a" and "b" (path, label, signature), "differ"
    (what differs, with both values) and "comparisons". For one model with and without thinking, it also shows the
    effect of thinking in each culture (--json: "thinking").

    With --margin, RUN_A is the old run and RUN_B the new one. Shows in one sentence whether the new run lost more than
    the margin on the first metric, on average over cultures, and for each culture which loss is excluded (--json: also
    "regression"). The exit code is 0; with --fail-on regression, 3 for a regression; with --strict, also 4 if the
    result is inconclusive. With either, it is 1 if more answers are missing than --max-missing allows.

    A difference is always RUN_B − RUN_A. A conclusion is drawn only if it holds whatever the missing answers are.

    With --plan, shows first what was planned, what departs from it, and which comparisons are exploratory (--json:
    "plan"; --csv: the column "planned").
    """
    import kapwa
    from kapwa.files import write_text
    from kapwa.report.board.planned import against_plan
    from kapwa.report.tables.regression import judge
    from kapwa.report.tables.thinking import thinking_sentence
    from kapwa.report.terminal.runs import difference_lines, missing_line, nothing_compared, render_comparison
    from kapwa.runs.csv_and_notebook import BOM
    from kapwa.runs.signature import differing
    from kapwa.tables import csv_text

    check_writable(csv)
    gate = RegressionGate(
        margin=margin, max_missing=max_missing, fail_on=fail_on, strict=strict, junit=junit, markdown=markdown
    )
    gate.check(equal_within)
    if margin is not None and by == "label":
        raise UsageError("A regression is tested by culture, not by label.", hint="Leave out --by or --margin.")
    first, second = kapwa.open_run(run_a), kapwa.open_run(run_b)
    planned = None if plan is None else against_plan(kapwa.read_plan(plan), first, second, margin or equal_within)
    frame = kapwa.compare(first, second, mid_p=mid_p, equal_within=margin or equal_within, by=by)
    judgement = None if margin is None else judge(first, second, frame, margin, max_missing)
    if judgement is not None:
        gate.write(judgement)
    if csv is not None:
        comparisons = frame if planned is None else planned.marked(frame)
        write_text(csv, BOM + csv_text(comparisons.columns, comparisons.iter_rows()))
        note(f"Table: {csv}")
    thinking = thinking_sentence(first, second, frame)
    nothing = nothing_compared(first, second)
    if json:
        runs: JsonObject = {
            name: {"path": str(run.path), "label": run.label, "signature": run.manifest["signature"]}
            for name, run in (("a", first), ("b", second))
        }
        differ = [{"name": name, "a": a, "b": b} for name, a, b in differing(first.manifest, second.manifest)]
        more: JsonObject = {} if judgement is None else {"regression": judgement.as_dict()}
        more |= {"thinking": thinking} if thinking else {}
        more |= {"plan": planned.as_dict()} if planned else {}
        more |= {"nothing_compared": nothing} if nothing else {}
        show_json({**runs, "differ": differ, **more, "comparisons": frame.to_dicts()})
    else:
        if planned is not None:
            show(planned.terminal())
        lost = [words for run in (first, second) if (words := missing_line(run))]
        show("\n".join([*difference_lines(first, second), *lost, *filter(None, [thinking]), ""]))
        shown = render_comparison(frame, first.metrics) if judgement is None else judgement.terminal()
        show(nothing if nothing and judgement is None else shown)
    if judgement is not None:
        if judgement.outcome == "inconclusive":
            again = shlex.join(["kapwa", "plan", str(run_a), str(run_b), "--difference", f"{margin:g}"])
            note(f"More questions would settle it. To see how many: {again}")
        raise typer.Exit(gate.exit_code(judgement))
