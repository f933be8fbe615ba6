"""What is recorded of a dataset, by question of its datasheet: facts with their sources, counts, a pack's card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kapwa.tables import printable
from kapwa.value_types import JsonMapping

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"\bhttps?://|\bwww\.", re.IGNORECASE)
_SHOWN = 12


@dataclass(slots=True)
class DatasetFacts:
    """What is known of one dataset.

    ``kind`` says in words what it is; ``about`` are lines for the head of the sheet. ``lines`` hold what is known of a
    question, by its id; ``settled`` the questions that need no more than that.
    """

    name: str
    kind: str
    about: list[str] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)

    def add_fact(self, question: str, text: str, source: str, *, settled: bool = False) -> None:
        """Add what is known of ``question``, and where it is from; ``settled``: people need add nothing."""
        self.lines.setdefault(question, []).append(f"{flat(text)} *({flat(source)})*")
        if settled:
            self.settled.add(question)

    def table(self, question: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Add a table to what is known of ``question``."""
        lines = [header, ["---"] * len(header), *rows]
        text = "\n".join("| " + " | ".join(flat(cell) for cell in line) + " |" for line in lines)
        self.lines.setdefault(question, []).append(text)


def flat(value: object) -> str:
    """Return ``value`` as text of one line that Markdown shows as it is."""
    text = " ".join(printable(str(value)).split())
    return text if text == "---" else re.sub(r"([|<>*_`\[\]\\])", r"\\\1", text)


def listed(values: Sequence[object]) -> str:
    """Name a few of ``values``, and how many there are."""
    shown = ", ".join(str(value) for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}, … ({len(values)} in all)"


@dataclass(slots=True)
class TextCounts:
    """Counts over texts, gathered group by group (a group holds what may be compared: the texts of one concept)."""

    texts: int = 0
    empty: int = 0
    copies: int = 0
    own_copies: int = 0
    emails: int = 0
    addresses: int = 0

    def add(self, texts: Sequence[str], owners: Sequence[object]) -> None:
        """Count the texts of one group; ``owners`` say whose each is."""
        self.texts += len(texts)
        self.empty += sum(not text.strip() for text in texts)
        self.copies += len(texts) - len(set(texts))
        self.own_copies += len(texts) - len(set(zip(owners, texts, strict=True)))
        self.emails += sum("@" in text and _EMAIL.search(text) is not None for text in texts)
        self.addresses += sum(_ADDRESS.search(text) is not None for text in texts)

    def add_to(self, facts: DatasetFacts, *, group: str, owner: str) -> None:
        """Tell what was counted; ``group`` and ``owner`` are what texts were compared within."""
        facts.add_fact("composition.noise", f"Empty or blank texts: {self.empty:,}", "counted")
        copies = f"Texts that repeat another of the same {group} letter by letter: {self.copies:,}"
        facts.add_fact(
            "composition.noise", f"{copies}; of the same {group} and {owner}: {self.own_copies:,}", "counted"
        )
        source = "counted by pattern"
        facts.add_fact("composition.external", f"Texts with a web address: {self.addresses:,}", source)
        facts.add_fact("composition.identifiable", f"Texts with an e-mail address: {self.emails:,}", source)


def tell_card(facts: DatasetFacts, card: JsonMapping, *, of_prompts: bool) -> None:
    """Tell what a pack's card says; ``of_prompts``: the card is of the data a run asked with, not of its answers."""
    if "packs" in card:
        for pack in card["packs"]:
            tell_card(facts, pack, of_prompts=of_prompts)
        return
    if not card:
        return
    title = str(card.get("title", ""))
    source = f"card of {title!r}, whose prompts were asked" if of_prompts else f"card of {title!r}"

    def add_fact(question: str, words: str, name: str, *, settled: bool = False) -> None:
        value = card.get(name)
        if value not in (None, "", []):
            text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
            facts.add_fact(question, f"{words}{text}", source, settled=settled and not of_prompts)

    add_fact("motivation.creators", "Authors: ", "authors")
    add_fact("composition.subpopulations", "Culture: ", "culture")
    add_fact("composition.instances", "Language: ", "language")
    add_fact("collection.acquired", "", "collected")
    add_fact("collection.consent", "", "consent")
    add_fact("uses.repository", "To be cited as: ", "citation")
    add_fact("distribution.licence", "Licence: ", "licence", settled=True)
    add_fact("maintenance.versions", "This is version ", "version")
    for limit in card.get("limits", []):
        facts.add_fact("uses.consequences", str(limit), source)
    if "reviewed_by_native_speakers" in card:
        reviewed = "was" if card["reviewed_by_native_speakers"] else "was not"
        facts.add_fact("preprocessing.done", f"It {reviewed} reviewed by native speakers.", source)
    if card.get("illustrative"):
        facts.add_fact("uses.unfit", "Illustrative: it only shows the form; its numbers measure nothing.", source)
