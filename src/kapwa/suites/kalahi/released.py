"""The files that the authors of Kalahi released: one table a variant, prompts without labels on their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from kapwa.datasets.rows import CellProblem, Culture, Defaults, Filled, FilledTexts, Language, RowModel, Text, one_of
from kapwa.datasets.yaml_models import shipped_card
from kapwa.files import digest
from kapwa.records import Item
from kapwa.suites.items import grouped
from kapwa.suites.kalahi.form import PARTS, RESPONSES, SEVERAL, SituationEntry, response_problems, situation_item
from kapwa.suites.kalahi.variants import VARIANTS
from kapwa.tables import Record, TextTable

FILE_NAMES = ("filipino.csv", "filipino_partially_enriched.csv", "filipino_unenriched.csv")
# What only a released table has.
_SIGNS = ("prompt_variation_id", "prompt", "best_answer", "relevant_answers", "irrelevant_answers")

# The files call this topic otherwise than the paper's Table 3.
_TOPIC_NAMES = {"artifacts and local information": "local know-how"}

# What a row of the form and an item call the same.
_SHARED = ("id", "cluster", "category", "topic", "culture", "language")
RELEASE = "kalahi-2024"
# Hash of ids, prompts and responses of each released variant, whatever file format carries them.
_RELEASED_DIGESTS = {"full": "2fc6623fc8f02208", "partial": "6fad0817b0366446", "unenriched": "7491f130f22dbac7"}
# An id of the release: eight digits of the situation, two of the variation.
_ID_DIGITS, _CLUSTER_DIGITS = 10, 8
_FEWEST_DIGITS = 9
_FILES_OF_VARIANTS = dict(zip(VARIANTS, FILE_NAMES, strict=True))

CARD = Path(__file__).with_name("released.yaml")


class ReleasedSituation(RowModel):
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


def defaults_of(table: TextTable, card: Defaults) -> Defaults:
    """Return what a released table says by its file name: its variant, and whose it is where no card says."""
    name = table.path.stem.lower()
    base = "unenriched" in name or "base" in table.header
    variant = "partial" if "partial" in name else "unenriched" if base else "full"
    if name.startswith("filipino") and not card:
        card = {"culture": shipped_card(CARD).culture, "language": shipped_card(CARD).language}
    return {**card, "variant": variant}


def lacking_variants(items: Sequence[Item]) -> str:
    """Say which variants of the release are not among items and where they are; "" where none, or for other data."""
    present = {item.variant for item in items}
    if not any("release" in item.fields for item in items) or present == set(VARIANTS):
        return ""
    absent = [variant for variant in VARIANTS if variant not in present]
    files = " and ".join(f"data/{_FILES_OF_VARIANTS[variant]}" for variant in absent)
    return (
        f"These data hold Kalahi's variant {' and '.join(sorted(present))} alone; {' and '.join(absent)}: {files} of "
        "github.com/aisingapore/kalahi (kapwa fetch kalahi-variants)."
    )


def situation_of(variation: str, prompt: str) -> tuple[str, str] | None:
    """Return id and cluster of a row of the release whose ids were read as numbers at some time; None for others.

    The hub's file has one number, without the zeros before it, as ``prompt_variation_id`` and as ``prompt_id``; of its
    ten digits the first eight name the situation. A spreadsheet leaves 9 of 10 digits, and 7 of 8.
    """
    if not (variation.isascii() and variation.isdigit() and _FEWEST_DIGITS <= len(variation) <= _ID_DIGITS):
        return None
    whole = variation.zfill(_ID_DIGITS)
    cluster = whole[:_CLUSTER_DIGITS]
    return (whole, cluster) if prompt in (variation, whole, cluster, cluster.lstrip("0")) else None


def with_zeros(rows: Sequence[ReleasedSituation]) -> list[ReleasedSituation]:
    """Return the rows of one table with the ids of the release, where all of them are :func:`situation_of` some."""
    named = [situation_of(row.id, row.cluster) for row in rows]
    if None in named:
        return list(rows)
    changes = [{"id": pair[0], "cluster": pair[1]} for pair in named if pair is not None]
    return [row.model_copy(update=change) for row, change in zip(rows, changes, strict=True)]


def released_entries(rows: Sequence[ReleasedSituation]) -> list[SituationEntry]:
    """Turn rows into items, variant by variant in file order, with their prompts taken apart."""
    partial = {row.id: row.lines for row in rows if row.variant == "partial"}
    skeletons = _skeletons(rows)
    entries = []
    for variant in VARIANTS:
        release = {"release": RELEASE} if is_release(rows, variant) else {}
        for row in rows:
            if row.variant == variant:
                prompt_parts = _prompt_parts(row, partial.get(row.id), skeletons.get((row.culture, row.cluster)))
                # As released, byte for byte: stray spaces in a prompt change what a model is asked, so they stay.
                entries.append(
                    SituationEntry(situation_item(row, variant, row.prompt, prompt_parts, {}, **release), row.origin)
                )
    return entries


def as_form(entries: Sequence[SituationEntry]) -> TextTable:
    """Return released situations as a table of the form, those of a cluster in the fullest variant that it has."""
    fullest: dict[str, str] = {}
    records = []
    for item, origin in entries:
        if fullest.setdefault(item.cluster, item.variant) == item.variant:
            cells = {name: getattr(item, name) for name in _SHARED}
            cells |= {name: item.fields[name] for name in (*PARTS, "best", *RESPONSES)}
            records.append(Record(origin.row, cells))
    return TextTable(entries[0].origin.path, tuple(records[0].cells), records, [])


def _prompt_parts(
    row: ReleasedSituation, partial: tuple[str, ...] | None, skeleton: frozenset[str] | None
) -> dict[str, str]:
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


def _skeletons(rows: Sequence[ReleasedSituation]) -> dict[tuple[str, str], frozenset[str]]:
    """Lines that every variation of a cluster has: the unenriched prompt, else what the variations share."""
    groups = grouped(rows, lambda row: (row.variant, (row.culture, row.cluster)))
    prompts = {key: [frozenset(row.lines) for row in group] for key, group in groups.items()}
    skeletons: dict[tuple[str, str], frozenset[str]] = {}
    for wanted in VARIANTS:  # the later, the better
        for (variant, cluster), lines in prompts.items():
            if variant == wanted and (len(lines) > 1 or variant == "unenriched"):
                skeletons[cluster] = frozenset.intersection(*lines)
    return skeletons


def is_release(rows: Sequence[ReleasedSituation], variant: str) -> bool:
    """Whether ids, prompts and responses of ``variant`` are those the authors released, whatever file carried them.

    Blanks and the period at the end of a response do not count: the hub's copy went through the owners' script.
    """
    chosen = (row for row in rows if row.variant == variant)
    texts = {
        row.id: "\0".join(map(_without_full_stop, (row.prompt, row.best, *row.relevant, "", *row.irrelevant)))
        for row in chosen
    }
    return digest({name: text.encode() for name, text in texts.items()}) == _RELEASED_DIGESTS[variant]


def _without_full_stop(text: str) -> str:
    return " ".join(text.split()).rstrip(".").rstrip()
