"""Kalahi: would the model advise what an average native would do?

``suite`` is what the registry loads; it holds no data and imports nothing heavy.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.errors import UsageError
from kapwa.suites.base import Selection, Suite, call, floor_words
from kapwa.suites.kalahi.variants import VARIANTS
from kapwa.suites.shared_settings import MAX_NEW_TOKENS, SIMILARITY
from kapwa.value_types import JsonMapping

if TYPE_CHECKING:
    from kapwa.suites.base import Task

TASKS = {
    "kalahi/mc": "multiple choice by likelihood: is the best response the likeliest?",
    "kalahi/open": "open generation: is the answer closer to relevant than to irrelevant responses?",
}


def open_kalahi_task(name: str, data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Read the situations, select among them, and return the task called ``name``."""
    from kapwa.suites.items import select
    from kapwa.suites.kalahi.data import read_situations
    from kapwa.suites.kalahi.released import lacking_variants

    situations, source = read_situations(data)
    # A file may hold only one variant: then that one is meant.
    present = [variant for variant in VARIANTS if any(item.variant == variant for item in situations)]
    absent = [variant for variant in selection.variants or () if variant in VARIANTS and variant not in present]
    where = lacking_variants(situations) if absent else ""
    if where:
        raise UsageError(f"{source.name} holds no items of the variant {absent[0]!r}.", hint=where)
    chosen = select(situations, selection, known=VARIANTS, default=present[:1])
    if name == "kalahi/mc":
        from kapwa.suites.kalahi.mc import mc_task

        return mc_task(data=source, selection=selection, selected=chosen)
    from kapwa.suites.kalahi import open as answers

    settings = answers.OpenOptions(**options)
    settings.signatures()  # a missing encoder is found now, not after every question was asked
    return answers.open_answer_task(source, selection, chosen, settings)


suite = Suite(
    name="kalahi",
    title="Kalahi: situations",
    question="Would the model advise what an average native would do?",
    tasks=TASKS,
    variants=VARIANTS,
    packs=Path(__file__).parent / "packs",
    open_task=open_kalahi_task,
    check=partial(call, "kapwa.suites.kalahi.check:check"),
    tasks_of=partial(call, "kapwa.suites.kalahi.data:tasks_of"),
    options={"open": (*SIMILARITY, MAX_NEW_TOKENS)},
    example_answers=lambda item: (item.fields["best"],),
    tables="situations.csv",
    mapped={"kalahi": "kapwa.suites.kalahi.mapped:SITUATIONS"},
    noun=("prompt", "prompts"),
    unit=("situation", "situations"),
    floor_words=floor_words("kalahi"),
    # The seven of Kalahi's human evaluation.
    choices={"mc": "mc1"},
    rubric="kalahi-criteria",
)
