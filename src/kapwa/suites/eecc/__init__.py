"""EECC: how a model's texts change when only the reader's identity changes.

``suite`` is what the registry loads; it holds no data and imports nothing heavy. The suite asks and keeps the texts;
what differs between them is the work of ``kapwa analyze eecc``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.datasets.findings import CheckReport
from kapwa.errors import UsageError
from kapwa.suites.base import Selection, Suite

if TYPE_CHECKING:
    import polars as pl

    from kapwa.suites.base import Task

VARIANTS = ("direct", "direct_reference")
TASKS = {
    "eecc/qa": "explanations: one concept explained to people of every identity, several samples each",
    "eecc/stories": "stories: one children's story for every identity, several samples each",
}


def template_variants(languages: Sequence[str] | None = None, prompts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the variants of the templates named ``prompts``; which there are only the data knows.

    Raises UsageError for languages: a template has one, so naming it says both.
    """
    if languages:
        raise UsageError(
            "Texts are asked for in the language of a template.",
            hint="Name templates with --prompt, or choose by language with --where language=…",
        )
    return tuple(dict.fromkeys(prompts or ()))


def open_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Read templates, concepts and identities, choose among them, and return the task called ``name``."""
    from kapwa.suites.eecc.task import open_eecc_task

    return open_eecc_task(name, data, selection, options)


def check(path: Path) -> CheckReport | None:
    """List every oddity of templates, concepts and identities; None when it is not data of this form."""
    from kapwa.suites.eecc.check import check as check_prompts

    return check_prompts(path)


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has concepts and templates for."""
    from kapwa.suites.eecc.data import task_folders

    return tuple(task.partition("/")[2] for task, _ in task_folders(folder))


def reopen(manifest: Mapping[str, Any], items: pl.DataFrame) -> Task:
    """Return the task of a run as its manifest and its table of items tell: it asks the same requests again."""
    from kapwa.suites.eecc.task import reopen_task

    return reopen_task(manifest, items)


suite = Suite(
    name="eecc",
    title="EECC: texts across cultures",
    question="How do the model's texts change with the reader's culture?",
    tasks=TASKS,
    variants=VARIANTS,
    packs=Path(__file__).parent / "packs",
    open_task=open_task,
    check=check,
    tasks_of=tasks_of,
    pick_variants=template_variants,
    draws_samples=True,
    reopen=reopen,
    next_step="How the texts differ from identity to identity: kapwa analyze eecc {run}",
    noun=("prompt", "prompts"),
)
