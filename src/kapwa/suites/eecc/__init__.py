"""EECC: how a model's texts change when only the reader's identity changes.

``suite`` is what the registry loads; it holds no data and imports nothing heavy. The suite asks and keeps the texts;
what differs between them is the work of ``kapwa analyze eecc``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kapwa.suites.base import Setting, Suite, call
from kapwa.suites.eecc.variants import TASKS, VARIANTS, template_variants
from kapwa.suites.shared_settings import MAX_NEW_TOKENS, SAMPLING

SETTINGS = (
    Setting(
        "concepts",
        "Only these concepts, comma-separated, spelled as in the data, or a file with one per line. Default: all.",
        metavar="NAMES",
        kind="names",
        panel="How text changes with culture",
    ),
    Setting(
        "identities",
        "Identities to ask for: names from the data, comma-separated, 'all', or a file: one per line, or a table with "
        "a column named after the attribute. Use it for religions, languages, cities and personas, too. Default: all.",
        metavar="NAMES",
        kind="names",
        panel="How text changes with culture",
        spelled="--nationalities --identities",
    ),
    Setting("nationalities", "Another name for identities."),
    *SAMPLING,
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
    tables="templates.csv, concepts.csv and identities.csv",
    noun=("prompt", "prompts"),
    # How a text is fitted to its readers, as people of their culture see it; a yes to the last is no praise.
    rubric="eecc-adaptation",
)
