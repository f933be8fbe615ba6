"""``kapwa items``: how runs and people answered each item, and which items should be checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json


def items(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN|ANSWERS]",
            help="Runs of one task, completed choice sheets, tables of people's answers, or folders of sheets.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK", help="The task that the items belong to, e.g. blend/saq.", show_default="that of the runs"
        ),
    ] = None,
    data: opt.Data = None,
    variant: opt.Variant = None,
    key: opt.Key = None,
    groups: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Groups of the people who answered (table: rater, group).")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A metric that is right or wrong.", show_default="the runs' first such metric"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Write every table as CSV to this folder, with proposed errata."
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Audit the items of a task with the answers of runs and people.

    Shows each item's difficulty and discrimination, which items work differently between prompts, cultures and groups
    of people, which keys people dispute, and whether people share one set of answers.

    The errata are a proposal. Fill in confirmed_by where you agree, then give the file to kapwa run, kapwa score or
    kapwa report with --errata. Unconfirmed rows change nothing.
    """
    import kapwa
    from kapwa.datasets.sheets import write_files
    from kapwa.report.tables.forms import render_block
    from kapwa.report.tables.items import items_block
    from kapwa.tables import csv_bytes

    check_writable(out, folder=True)
    task_items = None if task is None else kapwa.load_task(task, data=data, variant=variant).items()
    audit = kapwa.audit_items(sources or (), items=task_items, key=key, groups=groups, metric=metric)
    if out is not None:
        tables = {f"{name}.csv": csv_bytes(table.columns, table.iter_rows()) for name, table in audit.tables.items()}
        write_files(tables, out)
    if json:
        show_json(audit.to_dict())
    else:
        show(render_block(items_block(audit)))
    if out is not None:
        note(f"Tables: {out}")
        if audit.errata.height:
            note(f"Proposed errata to confirm: {out / 'errata.csv'}")
