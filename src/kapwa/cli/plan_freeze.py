"""``kapwa plan TASK --freeze FILE``: what is printed of a plan that was frozen; what it says of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.cli.output import note, show_json, show_text

if TYPE_CHECKING:
    from kapwa.runs.plans import FrozenPlan


def show_frozen_plan(plan: FrozenPlan, path: Path, *, json: bool) -> None:
    """Print a plan that was frozen to ``path``."""
    from kapwa.runs.plans import FAMILIES, INTERVALS

    if json:
        show_json({**plan.contents(), "hash": plan.hash})
        return
    lines = [
        f"{planned.task}: {planned.metric}, variant {planned.variant}, {sum(planned.items.values()):,} items of "
        f"{planned.data} ({planned.data_digest[:6]})"
        for planned in plan.tasks
    ]
    lines += [
        f"Systems: {', '.join(plan.systems)}",
        f"Family of tests: {FAMILIES[plan.family]} (Holm)",
        f"Interval that decides: {INTERVALS[plan.interval]}",
        f"Equal within: {'no margin' if plan.margin is None else f'{plan.margin:g}'}",
        f"Runs stop: {'after every item' if plan.until is None else f'by --until {plan.until}'}",
        f"Hash: {plan.hash}",
    ]
    show_text("\n".join(lines) + "\n")
    note(f"Frozen: {path}. Publish the hash, or commit the file, before the first run.")
