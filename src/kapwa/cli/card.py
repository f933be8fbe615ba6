"""``kapwa card``: documents that travel with a dataset."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import option
from kapwa.cli.output import note

app = typer.Typer(help="Write documents that travel with a dataset.", no_args_is_help=True)


@app.callback()
def card() -> None:
    """Write documents that travel with a dataset."""


@app.command("datasheet")
def datasheet(
    path: Annotated[
        Path, typer.Argument(metavar="RUN_OR_FOLDER", help="A run, a data pack of any suite, or a folder of responses.")
    ],
    out: Annotated[Path | None, option("-o --out", "FILE.md", "Write here, not to standard output.")] = None,
    attribute: Annotated[
        str | None, option("--attribute", "COLUMN", "Responses: the column of what was varied, where several might be.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.md, and what people wrote in it.")
    ] = False,
) -> None:
    """Write a datasheet: the questions of Gebru et al. (2021), answered as far as files can.

    What was counted or recorded stands with its source. What only people know is left as a marked question; nothing is
    made up.
    """
    from kapwa.analysis.datasheet import TO_ANSWER, datasheet, write_datasheet

    if out is None:
        sys.stdout.write(datasheet(path, attribute=attribute))
        return
    written = write_datasheet(path, out, attribute=attribute, overwrite=overwrite)
    open_ones = written.read_text(encoding="utf-8").count(f"> **{TO_ANSWER}:**")
    note(f"{written}: {open_ones} questions are left for people to answer.")
