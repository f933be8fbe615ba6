"""Long answers: does an answer meet the criteria that people wrote for its question?

``suite`` is what the registry loads; it holds no data and imports nothing heavy. The suite asks and keeps the answers;
whether they meet their criteria is said by people or a judging model (:mod:`kapwa.labels`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kapwa.suites.base import Suite, call
from kapwa.suites.longform.variants import VARIANT
from kapwa.suites.shared_settings import MAX_NEW_TOKENS

TASKS = {"longform/criteria": "long answers: how much of what its question's criteria ask does an answer meet?"}

suite = Suite(
    name="longform",
    title="Long answers: criteria of each question",
    question="Do the model's long answers hold what people say a good answer holds?",
    tasks=TASKS,
    variants=(VARIANT,),
    packs=Path(__file__).parent / "packs",
    open_task=partial(call, "kapwa.suites.longform.task:open_longform_task"),
    check=partial(call, "kapwa.suites.longform.data:check"),
    tasks_of=partial(call, "kapwa.suites.longform.data:tasks_of"),
    options={"criteria": (MAX_NEW_TOKENS,)},
    next_step="These answers have no score yet: they wait for verdicts on their criteria.\n"
    "By a judging model: kapwa judge {run} --judge MODEL --rubric item-criteria\n"
    "By people:          kapwa label sample {run} --rubric item-criteria -o sheets",
    tables="longform.csv",
    mapped={"longform/criteria": "kapwa.suites.longform.mapped:CRITERIA"},
    noun=("question", "questions"),
    unit=("question", "questions"),
)
