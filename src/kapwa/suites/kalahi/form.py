"""The situation form: one row a variation, and the items in three variants that it stands for (Kalahi, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError
from kapwa.records import Item
from kapwa.suites.reading.cells import Home, RowReader, column_problems, read_rows, settled_home
from kapwa.suites.reading.letters import Written, written
from kapwa.suites.reading.tables import Table

SUITE = "kalahi"
CATEGORIES = ("ethics", "shared knowledge")
# Kalahi, Table 3. Another culture may name its own.
TOPICS = (
    "beauty and clothing",
    "beliefs and practices",
    "career and livelihood",
    "communication and body language",
    "dating and courtship",
    "family and marriage",
    "food and gatherings",
    "friendship",
    "health and wellness",
    "local know-how",
    "social etiquette",
)
PARTS = ("user", "context", "personal_situation", "instruction")
RESPONSES = ("relevant", "irrelevant")
REQUIRED = ("id", "cluster", "category", "topic", "context", "best", *RESPONSES)
GLOSSES = tuple(f"{name}_en" for name in (*PARTS, "best", *RESPONSES))
# ``notes`` and ``source`` are the writers' own; they are kept out of every prompt and score.
COLUMNS = (*REQUIRED, "user", "personal_situation", "instruction", "base", "culture", "language", "notes", "source")
KNOWN = (*COLUMNS, *GLOSSES)

_PARTS_OF = {"full": PARTS, "partial": PARTS[1:], "unenriched": ("context", "instruction")}

Gloss = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Situation:
    """One variation of a situation, as a row of the form gives it; texts are stripped, empty parts are ""."""

    row: int
    id: str
    cluster: str
    category: str
    topic: str
    culture: str
    language: str
    parts: Mapping[str, str]
    best: str
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]
    base: bool
    gloss: Gloss


class Entry(NamedTuple):
    """An item and the row of the file that it came from."""

    item: Item
    path: Path
    row: int


def reference_response(text: str) -> str:
    """Return ``text`` as the released loader scores it: with a "." added unless it already ends in one.

    The loader comes from TruthfulQA. In the released full file it changes 12 responses.
    """
    return text if text.endswith(".") else text + "."


def join_parts(parts: Iterable[str]) -> str:
    """Join the parts of a prompt that are not empty, one a line."""
    return "\n".join(part for part in parts if part)


def parse_situations(table: Table, home: Home) -> tuple[list[Situation], list[DataError]]:
    """Read every row of the form; return the sound ones, and every problem of the others.

    Problems: unknown or missing columns, empty cells, ids used twice, a best response that is not among
    the relevant ones, a response that is both relevant and irrelevant, glosses that do not match.
    """
    problems = column_problems(table, REQUIRED, KNOWN, "this form")
    if problems or not table.records:
        return [], problems
    home, problems = settled_home(table, home)
    readers = [RowReader(table.path, record, home, required=REQUIRED) for record in table.records]
    situations, found = read_rows(readers, _situation)
    return situations, problems + found


def written_texts(table: Table, home: Home) -> list[Written]:
    """Return every text of a table of situations with the language that it should be in."""
    texts: list[Written] = []
    for record in table.records:
        language = str(record.cells.get("language", "")).strip() or home.language
        texts += written(table.path, record, (*PARTS, "best", *RESPONSES), language)
        texts += written(table.path, record, GLOSSES, "en")
    return texts


def _situation(reader: RowReader) -> Situation:
    situation = Situation(
        row=reader.number,
        **{name: reader.text(name) for name in ("id", "cluster", "category", "topic")},
        culture=reader.home_of("culture"),
        language=reader.home_of("language"),
        parts={name: reader.text(name) for name in PARTS},
        best=reader.text("best"),
        relevant=reader.responses("relevant"),
        irrelevant=reader.responses("irrelevant"),
        base=reader.flag("base"),
        gloss={
            **{name: reader.text(f"{name}_en") for name in (*PARTS, "best")},
            **{name: reader.responses(f"{name}_en") for name in RESPONSES},
        },
    )
    reader.check_responses(situation.best, situation.relevant, situation.irrelevant)
    for name in RESPONSES:
        written, glossed = len(getattr(situation, name)), len(situation.gloss[name])
        if glossed and glossed != written:
            reader.problem(f"{name}_en", f"has {glossed} glosses for {written} responses.", "Write one for each.")
    return situation


def situation_items(situations: Sequence[Situation], path: Path) -> list[Entry]:
    """Lay out rows as items: every row full and partial, one row of each cluster unenriched.

    The unenriched row is the one marked ``base``, else the cluster's first.
    """
    bases: dict[tuple[str, str], Situation] = {}
    for situation in situations:
        key = (situation.culture, situation.cluster)
        if key not in bases or (situation.base and not bases[key].base):
            bases[key] = situation
    chosen = {"full": situations, "partial": situations, "unenriched": list(bases.values())}
    return [Entry(_item(s, variant), path, s.row) for variant, rows in chosen.items() for s in rows]


def _item(situation: Situation, variant: str) -> Item:
    kept = {name: situation.parts[name] if name in _PARTS_OF[variant] else "" for name in PARTS}
    fields = {
        "prompt": join_parts(kept.values()),
        **kept,
        "best": situation.best,
        "relevant": situation.relevant,
        "irrelevant": situation.irrelevant,
        "gloss": _variant_gloss(situation, kept),
    }
    return Item(
        id=situation.id,
        suite=SUITE,
        culture=situation.culture,
        language=situation.language,
        category=situation.category,
        topic=situation.topic,
        variant=variant,
        cluster=situation.cluster,
        fields=fields,
    )


def _variant_gloss(situation: Situation, kept: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    """English readings of what this variant shows; a prompt's gloss only when every part of it has one."""
    parts = [str(situation.gloss[name]) for name in PARTS if kept[name]]
    gloss: dict[str, str | tuple[str, ...]] = {"prompt": join_parts(parts) if all(parts) else ""}
    gloss |= {name: situation.gloss[name] for name in ("best", *RESPONSES)}
    return {name: value for name, value in gloss.items() if value}
