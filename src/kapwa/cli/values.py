"""``kapwa values``: surveys of cultural values, and whether a table of one can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json, option
from kapwa.cli.output import show, show_json

app = typer.Typer(
    help="Check tables of cultural values (Hofstede, World Values Survey, your own).", no_args_is_help=True
)


@app.callback()
def values() -> None:
    """Check tables of cultural values."""


@app.command("check")
def check(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table: one row a country, one column a question, any file kind.")
    ],
    identities: Annotated[
        Path | None,
        option("--identities", "FILE", "Say which of these nationalities have values (one a line).", show_default=True),
    ] = None,
    country: Annotated[
        str | None,
        option(
            "--country-column --country", "COLUMN", "The column that names the row, where its header does not say so."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a table of cultural values holds, and list every oddity with row numbers.

    Columns, scales, codes among the answers, missing cells, names that match no country. Exit code 2 when an analysis
    would stop at one of them.
    """
    from kapwa.analysis.values.check import check_values, read_identities

    named = None if identities is None else read_identities(identities)
    found = check_values(path, identities=named, country=country)
    if json:
        show_json(found.as_dict())
    else:
        from kapwa.report.terminal import render_check

        show(render_check(found.report))
    if any(finding.severity == "error" for finding in found.report.findings):
        raise typer.Exit(2)
