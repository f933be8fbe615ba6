"""``kapwa data``: what data there is, and whether a file is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json
from kapwa.cli.output import show, show_json

app = typer.Typer(help="List sample packs, or check data.", invoke_without_command=True)


@app.callback()
def packs(context: typer.Context) -> None:
    """List the sample packs that ship with Kapwa (illustrative, not reviewed by native speakers)."""
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table

    from kapwa.inventory import suites

    table = Table("--data", "suite", "folder", box=None, padding=(0, 2, 0, 0))
    for suite in suites():
        for name in suite.pack_names():
            table.add_row(f"sample:{name}", suite.name, str(suite.packs / name))
    show(table)
    show(
        "\nIllustrative, not reviewed by native speakers. Your own data: --data FOLDER (see: kapwa data check FOLDER)."
    )


@app.command("check")
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder, or the name of a suite you added.")],
    json: Json = False,
) -> None:
    """List every oddity of a data file or folder, with row numbers.

    Exit code 2 when a run would stop at one of them.
    """
    from kapwa.api import check_data

    found = check_data(path)
    if json:
        show_json(found.as_dict())
    else:
        from kapwa.report.terminal import render_check

        show(render_check(found))
    if any(finding.severity == "error" for finding in found.findings):
        raise typer.Exit(2)
