"""``kapwa copy``: folders of results to another disk, a bucket or a server, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show_json
from kapwa.errors import UsageError


def copy(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FOLDER...", help="Folders of runs, analyses or judgings, or addresses of them."),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="FOLDER|ADDRESS", help="Where they go: a folder, or an address such as s3://bucket/runs."
        ),
    ],
    json: opt.Json = False,
) -> None:
    """Copy results to another disk, a bucket or a server, or back.

    Addresses are those of fsspec, and a library of its own opens each kind (s3fs for s3://). It reads keys from the
    environment or a file of its own. A record such as run.json is copied last, so an interrupted copy is not taken
    for a whole one.
    """
    from kapwa.exchange.copies import copy_results, in_memory

    if in_memory(to):
        raise UsageError(
            f"{to} is in the memory of this command, and gone when it ends.",
            hint="Copy to a folder of another disk, or to an address that lasts, such as s3://bucket/runs.",
        )
    copies = copy_results(sources, to)
    for copy in copies:
        note(f"Copied: {copy}")
    if json:
        show_json({"copied": copies})
