"""``kapwa suites``, ``kapwa models``, ``kapwa languages``: what can be measured, who can answer, what is known."""

from __future__ import annotations

from kapwa.cli.options import Json
from kapwa.cli.output import show, show_json


def suites(json: Json = False) -> None:
    """List what can be measured."""
    from rich.table import Table

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
    table = Table("task", "measures", box=None, padding=(0, 2, 0, 0))
    for suite in found:
        for name, what in suite.tasks.items():
            table.add_row(name, what)
    show(table)
    for suite in found:
        show(f"\n{suite.title}. {suite.question}")
        packs = f"sample packs: {', '.join(suite.pack_names())}"
        data = f"the form {suite.form}, data in {suite.folder}" if suite.folder else packs
        show(f"  variants: {', '.join(suite.variants)}; {data}")


def models(json: Json = False) -> None:
    """List who can answer."""
    from rich.table import Table

    from kapwa import inventory

    found = inventory.backends()
    if json:
        show_json([backend._asdict() for backend in found])
        return
    table = Table("--model", "what it is", "ready", box=None, padding=(0, 2, 0, 0))
    for backend in found:
        table.add_row(backend.spec, backend.what, "yes" if backend.ready else f"no: {backend.remedy}")
    show(table)


def languages(json: Json = False) -> None:
    """List the languages and what normalises them."""
    from dataclasses import asdict

    from rich.table import Table

    from kapwa import inventory

    found = inventory.languages()
    if json:
        show_json([asdict(info) for info in found])
        return
    table = Table("code", "language", "reviewed by a native speaker", "tools", box=None, padding=(0, 2, 0, 0))
    for info in found:
        tools = ", ".join(f"{tool.name} {tool.version} ({tool.licence})" for tool in info.tools)
        table.add_row(info.code, info.name, "yes" if info.reviewed else "no", tools)
    show(table)
    show("\nNotes on each language: --json, and the reference in the documentation.")
