"""EECC: how a model's texts change when only the reader's identity changes.

``suite`` is what the registry loads; it holds no data and imports nothing heavy. The suite asks and keeps the texts;
what differs between them is the work of ``kapwa analyze eecc``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kapwa.files import table_rows
from kapwa.suites.base import Criterion, Suite, call
from kapwa.suites.eecc.variants import TASKS, VARIANTS, template_variants
from kapwa.suites.settings import MAX_NEW_TOKENS, Setting

_TEXTS = "How text changes with culture"
SETTINGS = (
    Setting(
        "concepts",
        "Only these concepts, comma-separated, as the data spells them, or a file with one per line. Default: all.",
        "NAMES",
        "names",
        _TEXTS,
    ),
    Setting(
        "identities",
        "For whom: names from the data, comma-separated, 'all', or a file that lists them: one per line, or a table "
        "with a column named after the attribute. Religions, languages, cities and personas go the same way. "
        "Default: all.",
        "NAMES",
        "names",
        _TEXTS,
        "--nationalities --identities",
    ),
    Setting("nationalities", "Another name for --identities, because most identities are nationalities."),
    Setting("samples", "Texts drawn for each prompt, 5 if not set.", kind="number"),
    Setting("temperature", "Temperature that texts are drawn at, 0.3 if not set; 0 is greedy.", kind="number"),
    Setting("seed", "Seed of the draws; each sample of each prompt gets its own.", kind="number"),
    MAX_NEW_TOKENS,
)

suite = Suite(
    name="eecc",
    title="EECC: texts across cultures",
    question="How do the model's texts change with the reader's culture?",
    tasks=TASKS,
    variants=VARIANTS,
    packs=Path(__file__).parent / "packs",
    open_task=partial(call, "kapwa.suites.eecc.task:open_eecc_task"),
    check=partial(call, "kapwa.suites.eecc.check:check"),
    tasks_of=partial(call, "kapwa.suites.eecc.data:tasks_of"),
    pick_variants=template_variants,
    options={"qa": SETTINGS, "stories": SETTINGS},
    reopen=partial(call, "kapwa.suites.eecc.task:reopen_task"),
    next_step="How the texts differ from identity to identity: kapwa analyze eecc {run}",
    noun=("prompt", "prompts"),
    # How a text is fitted to its readers, as people of their culture see it; a yes to the last is no praise.
    criteria=tuple(Criterion(**row) for row in table_rows(Path(__file__).with_name("criteria.csv"))),
    yes_means="is as the question says",
)
