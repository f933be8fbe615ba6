"""Opinions: does the model answer survey questions as people of each culture answered them?

``suite`` is what the registry loads; it holds no data and imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kapwa.errors import UsageError
from kapwa.suites.base import Suite, call, floor_words, settings_of

# Ids of the prompts in ``prompts.csv``; data may bring others.
VARIANTS = ("person", "person-2", "plain")


def prompt_variants(languages: Sequence[str] | None = None, prompts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the variants of the prompts named; raise UsageError for languages, for a question has one."""
    if languages:
        raise UsageError("Survey questions are asked in their own language.", hint="Choose with --where language=…")
    return tuple(dict.fromkeys(prompts or ()))


suite = Suite(
    name="opinions",
    title="Opinions: answers to surveys",
    question="Does the model answer as people of each culture answered?",
    tasks={"opinions/survey": "survey questions: how near is the model to the shares of people who chose each option?"},
    variants=VARIANTS,
    packs=Path(__file__).parent / "packs",
    open_task=partial(call, "kapwa.suites.opinions.task:open_survey"),
    check=partial(call, "kapwa.suites.opinions.data:check"),
    tasks_of=partial(call, "kapwa.suites.opinions.data:tasks_of"),
    pick_variants=prompt_variants,
    options=settings_of("opinions"),
    noun=("question", "questions"),
    unit=("question", "questions"),
    floor_words=floor_words("opinions"),
)
