"""The files that the authors of Kalahi released: one table a variant, prompts without labels on their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from kapwa.datasets.rows import CellProblem, Culture, Defaults, Filled, FilledTexts, Language, Row, Text, one_of
from kapwa.datasets.tables import Record, Table, shipped_card
from kapwa.files import digest
from kapwa.suites.items import grouped
from kapwa.suites.kalahi.form import PARTS, RESPONSES, SEVERAL, Entry, response_problems, situation_item
from kapwa.suites.kalahi.variants import VARIANTS

FILE_NAMES = ("filipino.csv", "filipino_partially_enriched.csv", "filipino_unenriched.csv")
# What only a released table has.
_SIGNS = ("prompt_variation_id", "prompt", "best_answer", "relevant_answers", "irrelevant_answers")

# The files call this topic otherwise than the paper's Table 3.
_TOPIC_NAMES = {"artifacts and local information": "local know-how"}

# What a row of the form and an item call the same.
_SHARED = ("id", "cluster", "category", "topic", "culture", "language")
RELEASE = "kalahi-2024"
# Hash of ids, prompts and responses of each released variant, whatever file format carries them.
_RELEASED_DIGESTS = {"full": "6c9f70c6c68b7d5e", "partial": "3772298db32314c6", "unenriched": "d7f070a788d64e1f"}

CARD = Path(__file__).with_name("released.yaml")


class ReleasedRow(Row):
    """One row of a released table, before its prompt is taken apart."""

    unique: ClassVar[tuple[str, ...]] = ("id", "variant")
    remedies: ClassVar[Mapping[str, str]] = {"relevant_answers": SEVERAL, "irrelevant_answers": SEVERAL}

    id: Filled = Field(alias="prompt_variation_id")
    cluster: Filled = Field(alias="prompt_id")
    category: Filled
    topic: Annotated[Filled, AfterValidator(lambda topic: _TOPIC_NAMES.get(topic, topic))]
    prompt: Filled
    best: Filled = Field(alias="best_answer")
    relevant: FilledTexts = Field(alias="relevant_answers")
    irrelevant: FilledTexts = Field(alias="irrelevant_answers")
    # ``base`` is in the released unenriched file; the other three let another culture use the same layout.
    base: Text = ""
    variant: Annotated[Text, AfterValidator(one_of(VARIANTS, "a variant"))] = "full"
    culture: Culture = ""
    language: Language = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The prompt's lines, stripped, without the empty ones."""
        return tuple(line.strip() for line in self.prompt.split("\n") if line.strip())

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the responses impossible to score."""
        yield from response_problems(self.best, self.relevant, self.irrelevant)


def looks_released(path: Path, header: Sequence[str]) -> bool:
    """Whether a table has the released layout rather than the situation form, by its name or its columns."""
    return path.name in FILE_NAMES or sum(name in header for name in _SIGNS) >= 3


def defaults_of(table: Table, card: Defaults) -> Defaults:
    """Return what a released table says by its file name: its variant, and whose it is where no card says."""
    name = table.path.stem.lower()
    base = "unenriched" in name or "base" in table.header
    variant = "partial" if "partial" in name else "unenriched" if base else "full"
    if name.startswith("filipino") and not card:
        card = {"culture": shipped_card(CARD).culture, "language": shipped_card(CARD).language}
    return {**card, "variant": variant}


def released_entries(rows: Sequence[ReleasedRow]) -> list[Entry]:
    """Turn rows into items, variant by variant in file order, with their prompts taken apart."""
    partial = {row.id: row.lines for row in rows if row.variant == "partial"}
    skeletons = _skeletons(rows)
    entries = []
    for variant in VARIANTS:
        release = {"release": RELEASE} if is_release(rows, variant) else {}
        for row in rows:
            if row.variant == variant:
                parts = _prompt_parts(row, partial.get(row.id), skeletons.get((row.culture, row.cluster)))
                # As released, byte for byte: stray spaces in a prompt change what a model is asked, so they stay.
                entries.append(Entry(situation_item(row, variant, row.prompt, parts, {}, **release), row.origin))
    return entries


def as_form(entries: Sequence[Entry]) -> Table:
    """Return released situations as a table of the form, those of a cluster in the fullest variant that it has."""
    fullest: dict[str, str] = {}
    records = []
    for item, origin in entries:
        if fullest.setdefault(item.cluster, item.variant) == item.variant:
            cells = {name: getattr(item, name) for name in _SHARED}
            cells |= {name: item.fields[name] for name in (*PARTS, "best", *RESPONSES)}
            records.append(Record(origin.row, cells))
    return Table(entries[0].origin.path, tuple(records[0].cells), records, [])


def _prompt_parts(row: ReleasedRow, partial: tuple[str, ...] | None, skeleton: frozenset[str] | None) -> dict[str, str]:
    """Find User, Context, Personal situation and Instruction in a prompt whose lines carry no labels.

    The rule, exact on the released files: the last line is the Instruction; what the full prompt has before
    the partial one is the User line; what the partial prompt has beyond the unenriched one of its cluster, just
    before the Instruction, is the Personal situation; the rest is the Context. Where a cluster has no
    unenriched prompt, the lines that all its variations share (``skeleton``) stand for it. Where a variant is absent
    the User line cannot be told from the Context, and stays in it.
    """
    has_user = row.variant == "full" and row.lines[1:] == partial
    user, lines = (row.lines[0], row.lines[1:]) if has_user else ("", row.lines)
    personal, instruction = "", lines[-1] if len(lines) > 1 else ""
    added = [line for line in lines[1:-1] if skeleton is not None and line not in skeleton]
    if added and added == [lines[-2]]:
        personal = lines[-2]
    context = lines[: len(lines) - bool(personal) - bool(instruction)]
    return dict(zip(PARTS, (user, "\n".join(context), personal, instruction), strict=True))


def _skeletons(rows: Sequence[ReleasedRow]) -> dict[tuple[str, str], frozenset[str]]:
    """Lines that every variation of a cluster has: the unenriched prompt, else what the variations share."""
    groups = grouped(rows, lambda row: (row.variant, (row.culture, row.cluster)))
    prompts = {key: [frozenset(row.lines) for row in group] for key, group in groups.items()}
    skeletons: dict[tuple[str, str], frozenset[str]] = {}
    for wanted in VARIANTS:  # the later, the better
        for (variant, cluster), lines in prompts.items():
            if variant == wanted and (len(lines) > 1 or variant == "unenriched"):
                skeletons[cluster] = frozenset.intersection(*lines)
    return skeletons


def is_release(rows: Sequence[ReleasedRow], variant: str) -> bool:
    """Whether ids, prompts and responses of ``variant`` are those the authors released, whatever file carried them."""
    chosen = (row for row in rows if row.variant == variant)
    texts = {row.id: "\0".join((row.prompt, row.best, *row.relevant, "", *row.irrelevant)) for row in chosen}
    return digest({name: text.encode() for name, text in texts.items()}) == _RELEASED_DIGESTS[variant]
