"""``kapwa suites``, ``models``, ``runs``: what can be measured, who can answer, what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import RUNS, Json
from kapwa.cli.output import show, show_json, show_table, tell


def suites(json: Json = False) -> None:
    """List what can be measured."""
    from kapwa import inventory

    found = inventory.suites()
    if json:
        show_json(
            [
                {
                    "name": s.name,
                    "question": s.question,
                    "tasks": dict(s.tasks),
                    "variants": s.variants,
                    "packs": s.pack_names(),
                    "form": s.form or s.name,
                    "folder": None if s.folder is None else str(s.folder),
                }
                for s in found
            ]
        )
        return
    show_table(("task", "measures"), [task for suite in found for task in suite.tasks.items()])
    for suite in found:
        show(f"\n{suite.title}. {suite.question}")
        packs = f"sample packs: {', '.join(suite.pack_names())}"
        data = f"the form {suite.form}, data in {suite.folder}" if suite.folder else packs
        show(f"  variants: {', '.join(suite.variants)}; {data}")


def models(json: Json = False) -> None:
    """List who can answer."""
    from kapwa import inventory

    found = inventory.backends()
    if json:
        show_json([backend._asdict() for backend in found])
        return
    rows = [(one.spec, one.what, "yes" if one.ready else f"no: {one.remedy}") for one in found]
    show_table(("--model", "what it is", "ready"), rows)


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that holds the run folders.")] = RUNS,
    json: Json = False,
) -> None:
    """List the runs in a folder, the newest first: state, headline score with its 95 % interval, date."""
    from kapwa.report.run_list import list_runs, run_lines

    found = list_runs(folder)
    if json:
        show_json(found)
    else:
        for line in run_lines(found) or [f"{folder} holds no runs. Make one with: kapwa run"]:
            tell(line)
