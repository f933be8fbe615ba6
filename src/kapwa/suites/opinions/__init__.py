"""Opinions: does the model answer survey questions as people of each culture answered them?

``suite`` is what the registry loads; it holds no data and imports nothing heavy.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kapwa.suites.base import Setting, Suite, call, floor_words
from kapwa.suites.opinions.variants import VARIANTS, prompt_variants
from kapwa.suites.shared_settings import MAX_NEW_TOKENS, SEED

SETTINGS = (
    Setting("samples", "With how=samples, replies sampled for each prompt. Default: 20.", kind="number"),
    Setting("temperature", "With how=samples, sampling temperature of the replies. Default: 1.", kind="number"),
    SEED,
    MAX_NEW_TOKENS,
    Setting(
        "how",
        "How survey questions are put: likelihood (of the letters), samples (the share of replies) or stated "
        "(percentages that the model writes).",
        metavar="WAY",
        panel="Opinions",
    ),
)

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
    options={"survey": SETTINGS},
    tables="opinions.csv",
    mapped={"opinions/survey": "kapwa.suites.opinions.mapped:SURVEY"},
    noun=("question", "questions"),
    unit=("question", "questions"),
    floor_words=floor_words("opinions"),
)
