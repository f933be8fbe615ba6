"""``kapwa shown``: which items were shown to which models, where and when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json, show_table


def shown(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER...]", help="Runs, or folders that contain them.", show_default="runs"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a row for each item and run that asked it.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """List which items were shown to which models, where and when.

    Reads the runs and the folders of judging models (kapwa judge) in the folders named, and in folders within these.
    Shows for each model where it ran (on this computer, in your own network, at a provider), how many items it was
    shown, how many of them belong to the private part of a release, and from when to when. With --json or --csv: every
    item.

    An item that was not asked because a run ended early is not listed; one whose request failed is. Of a run that is
    not finished, the items with an answer or an error so far are listed, and a line says so: others that were under way
    when it was stopped may have been shown, too. A run that is going on at this moment cannot be read, and is named.
    """
    from kapwa.files import write_text
    from kapwa.report.view.shown import shown_items
    from kapwa.runs.csv_and_notebook import BOM
    from kapwa.tables import csv_text

    check_writable(csv)
    listed = shown_items(folders or [opt.RUNS])
    if csv is not None:
        write_text(csv, BOM + csv_text(listed.items.columns, listed.items.iter_rows()))
        note(f"Table: {csv}")
    if json:
        show_json({"items": listed.items.to_dicts(), "notes": list(listed.notes)})
        return
    rows = [tuple(map(str, row)) for row in listed.by_model.iter_rows()]
    show_table(("system", "asked", "host", "items", "private", "first", "last"), rows)
    n_private = listed.by_model.filter(place="provider")["private"].sum()
    if n_private:
        show(
            f"\nPrivate items were shown to providers ({n_private:,}): take them as published, and keep others private."
        )
    for line in listed.notes:
        note(line)
