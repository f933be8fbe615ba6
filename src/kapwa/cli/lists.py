"""``kapwa suites``, ``models``, ``runs``: what can be measured, who can answer, what was measured; ``kapwa skill``."""

from __future__ import annotations

from pathlib import Path

from kapwa.cli.options import RUNS
from kapwa.cli.output import show, show_json, show_table, tell


def suites(json: bool = False) -> None:
    """List what can be measured."""
    from kapwa import inventory

    known = inventory.suites()
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
                for s in known
            ]
        )
        return
    show_table(("task", "measures"), [task for suite in known for task in suite.tasks.items()])
    for suite in known:
        show(f"\n{suite.title}. {suite.question}")
        packs = f"sample packs: {', '.join(suite.pack_names())}"
        data = f"the form {suite.form}, data in {suite.folder}" if suite.folder else packs
        show(f"  variants: {', '.join(suite.variants)}; {data}")


def models(json: bool = False) -> None:
    """List who can answer."""
    from kapwa import inventory

    backends = inventory.backends()
    if json:
        show_json([backend._asdict() for backend in backends])
        return
    rows = [(model.spec, model.what, "yes" if model.ready else f"no: {model.remedy}") for model in backends]
    show_table(("--model", "what it is", "ready"), rows)


def runs(folder: Path = RUNS, json: bool = False) -> None:
    """List the runs in a folder, the newest first: state, headline score with its 95 % interval, date."""
    from kapwa.report.run_list import list_runs, run_lines

    listed = list_runs(folder)
    if json:
        show_json(listed)
    else:
        for line in run_lines(listed) or [f"{folder} holds no runs. Make one with: kapwa run"]:
            tell(line)


def skill() -> None:
    """Print a page from which a coding agent uses Kapwa rightly."""
    from kapwa.files import read_text

    tell(read_text(Path(__file__).with_name("skill.md")).rstrip())
