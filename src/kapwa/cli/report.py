"""``kapwa report``: one HTML page of one run or several, or of one analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import option
from kapwa.cli.output import check_place, note

Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Run folders, or one analysis folder.", show_default=False)
]
Page = Annotated[Path, option("-o --output", "FILE", "The page to write.", show_default=True)]
Figures = Annotated[Path | None, option("--figures", "FOLDER", "Also write each chart as SVG and PNG here.")]
Csv = Annotated[Path | None, option("--csv", "FOLDER", "Also write every table as CSV here.")]


def report(runs: Runs, output: Page = Path("report.html"), figures: Figures = None, csv: Csv = None) -> None:
    """Write one HTML page about runs, or about an analysis.

    The page is self-contained: it opens from disk, without a network.
    """
    from kapwa.analysis.result import is_analysis

    check_place(output)
    check_place(figures, folder=True)
    check_place(csv, folder=True)
    analyses = [path for path in runs if is_analysis(path)]
    if analyses:
        _of_analysis(analyses, runs, output, figures, csv)
    else:
        _of_runs(runs, output, figures, csv)


def _of_runs(runs: list[Path], output: Path, figures: Path | None, csv: Path | None) -> None:
    from kapwa import api
    from kapwa.report.figures import save_figures
    from kapwa.report.page import build_report

    opened = [api.open_run(path) for path in runs]
    note(f"Report: {build_report(opened, output)}")
    if figures is not None:
        for path in save_figures(opened, figures):
            note(f"Figure: {path}")
    if csv is not None:
        for run in opened:
            note(f"Tables: {api.export_csv(run, csv / run.path.name)}")


def _of_analysis(analyses: list[Path], named: list[Path], output: Path, figures: Path | None, csv: Path | None) -> None:
    from kapwa import api
    from kapwa.analysis.result import export_csv
    from kapwa.errors import UsageError
    from kapwa.report.analysis.page import build_analysis_report, save_analysis_figures

    if len(named) > 1:
        other = next(path for path in named if path != analyses[0]) if len(set(named)) > 1 else analyses[0]
        raise UsageError(
            f"{analyses[0]} is an analysis, and a page of one holds nothing else; {other} was named too.",
            hint="Write a page for each, or analyze everything together: kapwa analyze eecc RUN...",
        )
    analysis = api.open_analysis(analyses[0])
    note(f"Report: {build_analysis_report(analysis, output)}")
    if figures is not None:
        for path in save_analysis_figures(analysis, figures):
            note(f"Figure: {path}")
    if csv is not None:
        note(f"Tables: {export_csv(analysis, csv / analysis.path.name)}")
