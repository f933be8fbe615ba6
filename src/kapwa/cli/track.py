"""``kapwa track``: the scores of a model's checkpoints, what changed and flipped between them, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json


def track(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of one model's checkpoints, or a folder of them."),
    ],
    order: Annotated[
        Literal["name", "time", "given"],
        typer.Option(
            metavar="WAY",
            help="Order of the checkpoints: by the numbers in their names, by the time they ended, or as given.",
        ),
    ] = "name",
    output: opt.PageFile = None,
    csv: opt.TablesFolder = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACKER:PLACE",
            help="Also log each checkpoint's scores to a tracker on this computer: trackio:PROJECT, mlflow:FOLDER or "
            "wandb:FOLDER; repeatable.",
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show the scores of a model's checkpoints in order, what changed, what flipped, and what it cost.

    Each checkpoint is a run of the same task on the same data. The first headline metric is shown with its 95 %
    interval. A change or a trend is stated only if its interval excludes 0; these intervals hold over all looks, so you
    may look after each checkpoint. Runs that stopped early (--until) are marked.
    """
    from rich.console import Group

    from kapwa.api import track as tracks_of
    from kapwa.files import jsonable, write_text
    from kapwa.report.page.sections import write_track
    from kapwa.report.tables.forms import render_block
    from kapwa.report.tables.track import brief_block, track_block, track_record
    from kapwa.runs.csv_and_notebook import BOM

    check_writable(output)
    check_writable(csv, folder=True)
    tracks = tracks_of(runs, order=order, to=to or ())
    if output is not None:
        note(f"Page: {write_track(tracks, output)}")
    if csv is not None:
        for each in tracks:
            block = track_block(each)
            for table in (*block.tables, *block.more):
                write_text(csv / f"{table.key}.csv", BOM + table.csv)
        note(f"Tables: {csv}")
    for tracker in to or ():
        note(f"Logged: {tracker}")
    if json:
        show_json([jsonable(track_record(each)) for each in tracks])
        return
    for each in tracks:
        block = brief_block(each)
        show(Group(*([f"{block.title}\n"] if len(tracks) > 1 else []), render_block(block)))
