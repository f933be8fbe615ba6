"""``kapwa publish``: a data set or the numbers of runs on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show_json, show_table, show_text


def publish(
    sources: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="A data set folder (with card.yaml), or run folders.")
    ],
    repo: Annotated[str, typer.Option("--repo", metavar="OWNER/NAME", help="Data set repository; made if need be.")],
    public: Annotated[bool, typer.Option("--public", help="Let everybody see it; without this it is private.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go where; send nothing.")] = False,
    json: opt.Json = False,
) -> None:
    """Put a data set or the numbers of runs on the Hugging Face Hub.

    Private parts, data without a licence and changed releases are refused. Of runs, numbers go there, never the texts
    of items or answers. The token comes from 'hf auth login' or HF_TOKEN, and is shown nowhere.
    """
    from kapwa.exchange import hub_publish

    plan = hub_publish.plan_publication(sources, repo, public=public)
    seen = "private: only its owners see it" if plan.private else "public: everybody sees it"
    if not json:
        show_table(("file", "bytes"), [(name, f"{len(content):,}") for name, content in plan.files.items()], numbers=1)
        show_text(f"{len(plan.files)} files to {plan.address} ({seen}). Licence: {plan.licence}.")
    if plan.left_out:
        note(f"Left out: {', '.join(plan.left_out)}.")
    for line in plan.notes:
        note(line)
    if not dry_run:
        hub_publish.publish(plan)
        note(f"Published: {plan.address}")
    else:
        note("Nothing was sent.")
    if json:
        summary = {"address": plan.address, "private": plan.private, "licence": plan.licence, "sent": not dry_run}
        show_json({**summary, "files": {name: len(content) for name, content in plan.files.items()}})
