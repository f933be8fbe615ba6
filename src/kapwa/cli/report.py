"""``kapwa report``: one HTML page of runs or of an analysis; ``kapwa compare``: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json, option
from kapwa.cli.output import check_place, note, show, show_json


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, or one analysis folder.")],
    output: Annotated[Path, option("FILE", "The page to write.", names="-o --output")] = Path("report.html"),
    people: Annotated[
        list[Path] | None,
        option(
            "FOLDER",
            "Forms that people filled in, with their keys: what they chose, rated and remarked; repeatable.",
        ),
    ] = None,
    figures: Annotated[Path | None, option("FOLDER", "Also write each chart as SVG and PNG here.")] = None,
    csv: Annotated[Path | None, option("FOLDER", "Also write every table as CSV here.")] = None,
) -> None:
    """Write one HTML page about runs, or about an analysis.

    The page is self-contained: it opens from disk, without a network.
    """
    import kapwa
    from kapwa.analysis.result import export_csv, is_analysis
    from kapwa.errors import UnfinishedRunError, UsageError
    from kapwa.report.analysis.page import build_analysis_report, save_analysis_figures
    from kapwa.report.figures import save_figures
    from kapwa.report.page import build_report

    check_place(output)
    check_place(figures, folder=True)
    check_place(csv, folder=True)
    analyses = [path for path in runs if is_analysis(path)]
    if not analyses:
        opened = []
        unfinished: list[UnfinishedRunError] = []
        for path in runs:
            try:
                opened.append(kapwa.open_run(path))
            except UnfinishedRunError as error:
                unfinished.append(error)
        if not opened:
            raise unfinished[0]
        for one in unfinished:
            note(f"Left out: {one.summary}")
        note(f"Report: {build_report(opened, output, people=people or ())}")
        for path in save_figures(opened, figures) if figures is not None else ():
            note(f"Figure: {path}")
        if csv is not None:
            for run in opened:
                note(f"Tables: {kapwa.export_csv(run, csv / run.path.name)}")
        return
    if people:
        raise UsageError("Forms are about the answers of runs; this is an analysis.", hint="Leave --people out.")
    if len(runs) > 1:
        other = next((path for path in runs if path != analyses[0]), analyses[0])
        raise UsageError(
            f"{analyses[0]} is an analysis, and a page of one holds nothing else; {other} was named too.",
            hint="Write a page for each, or analyze everything together: kapwa analyze eecc RUN...",
        )
    analysis = kapwa.open_analysis(analyses[0])
    note(f"Report: {build_analysis_report(analysis, output)}")
    for path in save_analysis_figures(analysis, figures) if figures is not None else ():
        note(f"Figure: {path}")
    if csv is not None:
        note(f"Tables: {export_csv(analysis, csv / analysis.path.name)}")


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another run folder of the same task.")],
    json: Json = False,
) -> None:
    """Compare two runs, paired item by item.

    Says in what the two differ as measurements (their signatures), then shows difference, interval, p-value, and the
    smallest difference these items could have shown.
    """
    import kapwa
    from kapwa.report.terminal import difference_lines, render_comparison

    first, second = kapwa.open_run(run_a), kapwa.open_run(run_b)
    frame = kapwa.compare(first, second)
    if json:
        show_json(frame.to_dicts())
    else:
        show("\n".join([*difference_lines(first, second), ""]))
        show(render_comparison(frame, first.manifest["metrics"]))
