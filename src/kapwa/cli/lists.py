"""``kapwa suites``, ``models``, ``runs``: what can be measured, asked, and was run; ``kapwa skill``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import show, show_json, show_table, show_text


def suites(json: opt.Json = False) -> None:
    """List the tasks that can be measured."""
    from kapwa import inventory

    installed = inventory.suites()
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
                for s in installed
            ]
        )
        return
    show_table(("task", "measures"), [task for suite in installed for task in suite.tasks.items()])
    for suite in installed:
        show(f"\n{suite.title}. {suite.question}")
        packs = f"sample packs: {', '.join(suite.pack_names())}"
        data = f"the form {suite.form}, data in {suite.folder}" if suite.folder else packs
        show(f"  variants: {', '.join(suite.variants)}; {data}")


def models(json: opt.Json = False) -> None:
    """List the kinds of models that can be asked."""
    from kapwa import inventory

    backends = inventory.backends()
    if json:
        show_json([backend._asdict() for backend in backends])
        return
    rows = [(model.spec, model.what, "yes" if model.ready else f"no: {model.remedy}") for model in backends]
    show_table(("--model", "what it is", "ready"), rows)


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that contains the run folders.")] = opt.RUNS,
    json: opt.Json = False,
) -> None:
    """List the runs in a folder, newest first: state, headline score with its 95 % interval, date."""
    from kapwa.report.terminal.run_list import list_runs, run_lines

    listed = list_runs(folder)
    if json:
        show_json(listed)
    else:
        for line in run_lines(listed) or [f"{folder} contains no runs. Make one with: kapwa run"]:
            show_text(line)


def skill() -> None:
    """Print instructions for coding agents."""
    from kapwa.files import read_text

    show_text(read_text(Path(__file__).with_name("skill.md")).rstrip())
