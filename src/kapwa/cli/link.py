"""``kapwa link``: scores on two releases of a benchmark on one scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json


def link(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of one task on two releases of its data, or folders of them."),
    ],
    onto: Annotated[
        str | None,
        typer.Option(
            metavar="RELEASE",
            help="Version or name of the release whose scale is used.",
            show_default="the lower version",
        ),
    ] = None,
    output: opt.PageFile = None,
    csv: opt.TablesFolder = None,
    json: opt.Json = False,
) -> None:
    """Put scores on two releases of a benchmark on one scale.

    At least three systems must have answered both releases, and at least ten items must be in both. Shows whether the
    new release is harder, with the error of linking; every system on the scale of one release, with an interval where
    it answered only the other; and items with one id whose text, key or difficulty changed, which count as different
    items.
    """
    import kapwa
    from kapwa.files import jsonable, write_text
    from kapwa.report.tables.forms import render_block
    from kapwa.runs.outputs import BOM

    check_writable(output)
    check_writable(csv, folder=True)
    linked = kapwa.link(runs, onto=onto, out=output)
    block = linked.block
    if output is not None:
        note(f"Page: {output}")
    if csv is not None:
        for table in linked.tables:
            write_text(csv / f"{table.key}.csv", BOM + table.csv)
        note(f"Tables: {csv}")
    if json:
        show_json(jsonable(linked.as_dict()))
    else:
        show(render_block(block))
