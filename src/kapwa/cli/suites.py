"""``kapwa suites``: what can be measured."""

from __future__ import annotations

from kapwa.cli.options import Json
from kapwa.cli.output import show, show_json


def suites(json: Json = False) -> None:
    """List what can be measured."""
    from rich.table import Table

    from kapwa.inventory import suites as all_suites

    found = all_suites()
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
    table = Table("task", "measures", box=None, padding=(0, 2, 0, 0))
    for suite in found:
        for name, what in suite.tasks.items():
            table.add_row(name, what)
    show(table)
    for suite in found:
        show(f"\n{suite.title}. {suite.question}")
        data = f"the form {suite.form}, data in {suite.folder}" if suite.folder else _packs(suite.pack_names())
        show(f"  variants: {', '.join(suite.variants)}; {data}")


def _packs(names: list[str]) -> str:
    return f"sample packs: {', '.join(names)}"
