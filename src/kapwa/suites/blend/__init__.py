"""BLEnD: does the model know a culture's everyday life?

``suite`` is what the registry loads; it holds no data and imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.suites.base import Selection, Setting, Suite, call, floor_words
from kapwa.suites.blend.variants import MCQ_VARIANTS, SAQ_VARIANTS, VARIANTS, saq_variants
from kapwa.suites.shared_settings import MAX_NEW_TOKENS, SIMILARITY

if TYPE_CHECKING:
    from kapwa.records import Item
    from kapwa.suites.base import Task

TASKS = {
    "blend/saq": "short answers: does the reply give an answer that people there gave?",
    "blend/mcq": "multiple choice: which of the options, two to twenty, is right?",
}
SETTINGS = {
    "mcq": (
        Setting(
            "how",
            "How questions are put. Multiple choice: generate (the model writes a letter), paper (the same in the "
            "words of BLEnD's paper) or likelihood; opinions: likelihood, samples or stated.",
            metavar="WAY",
            panel="Everyday knowledge",
            asks=True,
        ),
        Setting(
            "shuffle",
            "Shuffle the options of each question and culture with this seed. Default: the order in the data.",
            metavar="SEED",
            kind="number",
        ),
        Setting(
            "per_question",
            "Multiple choice: at most N sets of options per question and culture, drawn with a fixed seed. Default: "
            "all; the released file has hundreds.",
            metavar="N",
            kind="number",
            panel="Everyday knowledge",
            asks=True,
        ),
        MAX_NEW_TOKENS,
    ),
    "saq": (
        *SIMILARITY,
        MAX_NEW_TOKENS,
        Setting(
            "max_answers",
            "If a reply lists more answers than this, only its first answer is judged.",
            kind="number",
        ),
        Setting("prompts", "A prompt file or folder to use instead of the data's prompts."),
        Setting("judge", "A judging model in addition to the matcher, as returned by kapwa.load_judge."),
    ),
}


def open_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, object]) -> Task:
    """Read the questions, select among them, and return the task called ``name``."""
    if selection.variants == VARIANTS:  # "all" of this task, not of its neighbour
        selection = dataclasses.replace(selection, variants=MCQ_VARIANTS if name == "blend/mcq" else SAQ_VARIANTS)
    if name == "blend/mcq":
        from kapwa.suites.blend.mcq_task import open_mcq_task

        return open_mcq_task(data, selection, options)
    from kapwa.suites.blend.saq_task import open_saq_task

    return open_saq_task(data, selection, options)


def sample_data(task: str, folder: Path) -> bool:
    """Build the questions of ``blend/mcq`` from the sample packs in ``folder``; no pack holds any."""
    if task != "blend/mcq":
        return False
    from kapwa.suites.blend.data import read_data
    from kapwa.suites.blend.mcq_build import build_mcq

    read = read_data(None)
    build_mcq(read.questions, folder, source=read.source)
    return True


def example_answers(item: Item) -> tuple[str, ...]:
    """Return the right letter as the prompt wants it, the right option and its letter, or people's commonest answer."""
    fields = item.fields
    if item.variant in ("generate", "paper"):
        return (json.dumps({"answer_choice": fields["answer"].partition(",")[0]}),)
    if item.variant == "likelihood":
        letter = fields["answer"].partition(",")[0]
        return fields["options"][fields["letters"].index(letter)], letter
    english = fields["asked_in"] == "en"
    groups = sorted(fields["answers"], key=lambda group: -group.votes)
    texts = (text for group in groups for text in (group.en if english else group.local))
    return tuple(itertools.islice(texts, 1))


suite = Suite(
    name="blend",
    title="BLEnD: everyday knowledge",
    question="Does the model know a culture's everyday life?",
    tasks=TASKS,
    variants=VARIANTS,
    packs=Path(__file__).parent / "packs",
    open_task=open_task,
    check=partial(call, "kapwa.suites.blend.check:check"),
    tasks_of=partial(call, "kapwa.suites.blend.check:tasks_of"),
    pick_variants=saq_variants,
    options=SETTINGS,
    sample_data=sample_data,
    example_answers=example_answers,
    tables="questions.csv and answers.csv or mcq.csv",
    mapped={
        "blend/saq": "kapwa.suites.blend.mapped:SHORT_ANSWERS",
        "blend/mcq": "kapwa.suites.blend.mapped:CHOICES",
    },
    noun=("question", "questions"),
    floor_words=floor_words("blend"),
    # The classes of wrong answers of the human evaluation (section 5). Unlike in Kalahi, a yes is no praise: it means
    # that the answer is of the class; it may be of several, or of none.
    rubric="blend-errors",
    choices={"mcq": "mcq_"},
)
