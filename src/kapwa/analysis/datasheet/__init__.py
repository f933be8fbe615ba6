"""A datasheet of a run, a data pack or a set of responses: what is recorded, and what people are asked to add.

The questions are those of Gebru et al. (2021) in words of our own; ``questions.csv`` beside this module holds them.
An answer is only ever what a manifest, a card or a count says, with its source; everything else stays a marked
question.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.analysis.corpus.sources import is_run
from kapwa.errors import DataError, UsageError
from kapwa.files import write_text
from kapwa.tables_io import printable

TO_ANSWER = "To be answered by people"
_SOURCE = "Gebru et al. (2021), Datasheets for Datasets, Communications of the ACM 64(12)"


class Question(NamedTuple):
    """One question: ``ask`` is what people are asked to say where what is recorded does not settle it."""

    section: str
    id: str
    text: str
    ask: str


_TEXT = resources.files("kapwa.analysis.datasheet").joinpath("questions.csv").read_text(encoding="utf-8")
QUESTIONS: tuple[Question, ...] = tuple(Question(*row) for row in list(csv.reader(_TEXT.splitlines()))[1:])


def datasheet(path: str | Path, *, attribute: str | None = None) -> str:
    """Return the datasheet of ``path`` as Markdown: a run folder, a data pack of any suite, or responses.

    ``attribute``: the column of the perturbed attribute, for responses that have several. The same input gives the same
    text.
    Raises DataError and RunError for what cannot be read.
    """
    return render(gather(Path(path), attribute))


def write_datasheet(
    path: str | Path, out: str | Path, *, attribute: str | None = None, overwrite: bool = False
) -> Path:
    """Write :func:`datasheet` to ``out`` and return it.

    Raises UsageError where ``out`` exists, for people may have written answers in it, unless ``overwrite``.
    """
    target = Path(out)
    if target.exists() and not overwrite:
        raise UsageError(
            f"{target} exists, and people may have written answers in it.",
            hint="Name another file, or say --overwrite.",
        )
    write_text(target, datasheet(path, attribute=attribute))
    return target


def gather(path: Path, attribute: str | None = None) -> Facts:
    """Return what is recorded of ``path``, whatever kind of dataset it is."""
    from kapwa.analysis.datasheet.sources import pack_facts, responses_facts, run_facts

    if not path.exists():
        raise DataError("no such file or folder.", path=path)
    if is_run(path):
        return run_facts(path)
    return pack_facts(path) or responses_facts(path, attribute)


def render(facts: Facts) -> str:
    """Return the sheet: every question once, what is known of it, and what people are asked to add."""
    lines = [f"# Datasheet: {flat(facts.name)}", "", flat(facts.kind), ""]
    lines += [*(f"- {line}" for line in facts.about), ""]
    lines += [
        f"The questions follow {_SOURCE}. What stands under one was read from files or counted, and says where. "
        f"What files cannot tell is marked **{TO_ANSWER}**: write the answer there, or that there is none.",
        "",
    ]
    for section, questions in groupby(QUESTIONS, key=lambda question: question.section):
        lines += [f"## {section}", ""]
        for question in questions:
            lines += _answered(question, facts)
    return "\n".join(lines).rstrip() + "\n"


def _answered(question: Question, facts: Facts) -> list[str]:
    lines = [f"### {question.text}", ""]
    for line in facts.lines.get(question.id, ()):
        if line.startswith("|"):  # a table needs an empty line on both sides
            lines += [line, ""] if not lines[-1] else ["", line, ""]
        else:
            lines.append(f"- {line}")
    if lines[-1]:
        lines.append("")
    if question.id not in facts.settled:
        lines += [f"> **{TO_ANSWER}:** {question.ask}", ""]
    return lines


# -- what is recorded of a dataset, by question ---------------------------------------------------------

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"\bhttps?://|\bwww\.", re.IGNORECASE)
_SHOWN = 12


@dataclass(slots=True)
class Facts:
    """What is known of one dataset.

    ``kind`` says in words what it is; ``about`` are lines for the head of the sheet. ``lines`` hold what is known of a
    question, by its id; ``settled`` the questions that need no more than that.
    """

    name: str
    kind: str
    about: list[str] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)

    def tell(self, question: str, text: str, source: str, *, settled: bool = False) -> None:
        """Add what is known of ``question``, and where it is from; ``settled``: people need add nothing."""
        self.lines.setdefault(question, []).append(f"{flat(text)} *({flat(source)})*")
        if settled:
            self.settled.add(question)

    def table(self, question: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table to what is known of ``question``."""
        lines = [header, ["---"] * len(header), *rows]
        text = "\n".join("| " + " | ".join(flat(cell) for cell in line) + " |" for line in lines)
        self.lines.setdefault(question, []).append(text)


def flat(value: Any) -> str:
    """Return ``value`` as text of one line that Markdown shows as it is."""
    text = " ".join(printable(str(value)).split())
    return text if text == "---" else re.sub(r"([|<>*_`\[\]\\])", r"\\\1", text)


def listed(values: Sequence[Any]) -> str:
    """Name a few of ``values``, and how many there are."""
    shown = ", ".join(str(value) for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}, … ({len(values)} in all)"


def count(number: int, noun: str) -> str:
    """Say a number of things: "1 text", "1,234 texts"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(slots=True)
class TextCounts:
    """Counts over texts, gathered group by group (a group holds what may be compared: the texts of one concept)."""

    texts: int = 0
    empty: int = 0
    copies: int = 0
    own_copies: int = 0
    emails: int = 0
    addresses: int = 0

    def add(self, texts: Sequence[str], owners: Sequence[Any]) -> None:
        """Count the texts of one group; ``owners`` say whose each is."""
        self.texts += len(texts)
        self.empty += sum(not text.strip() for text in texts)
        self.copies += len(texts) - len(set(texts))
        self.own_copies += len(texts) - len(set(zip(owners, texts, strict=True)))
        self.emails += sum("@" in text and _EMAIL.search(text) is not None for text in texts)
        self.addresses += sum(_ADDRESS.search(text) is not None for text in texts)

    def tell(self, facts: Facts, *, group: str, owner: str) -> None:
        """Tell what was counted; ``group`` and ``owner`` are what texts were compared within."""
        source = "counted"
        facts.tell("composition.noise", f"Empty or blank texts: {self.empty:,}", source)
        facts.tell(
            "composition.noise",
            f"Texts that repeat another of the same {group} letter by letter: {self.copies:,}; of the same {group} and "
            f"{owner}: {self.own_copies:,}",
            source,
        )
        source = "counted by pattern"
        facts.tell("composition.external", f"Texts with a web address: {self.addresses:,}", source)
        facts.tell("composition.identifiable", f"Texts with an e-mail address: {self.emails:,}", source)


def tell_card(facts: Facts, card: Mapping[str, Any], *, of_prompts: bool) -> None:
    """Tell what a pack's card says; ``of_prompts``: the card is of the data a run asked with, not of its answers."""
    if "packs" in card:
        for one in card["packs"]:
            tell_card(facts, one, of_prompts=of_prompts)
        return
    if not card:
        return
    title = str(card.get("title", ""))
    source = f"card of {title!r}, whose prompts were asked" if of_prompts else f"card of {title!r}"

    def tell(question: str, words: str, name: str, *, settled: bool = False) -> None:
        value = card.get(name)
        if value not in (None, "", []):
            text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
            facts.tell(question, f"{words}{text}", source, settled=settled and not of_prompts)

    tell("motivation.creators", "Authors: ", "authors")
    tell("composition.subpopulations", "Culture: ", "culture")
    tell("composition.instances", "Language: ", "language")
    tell("collection.acquired", "", "collected")
    tell("collection.consent", "", "consent")
    tell("uses.repository", "To be cited as: ", "citation")
    tell("distribution.licence", "Licence: ", "licence", settled=True)
    tell("maintenance.versions", "This is version ", "version")
    for limit in card.get("limits", []):
        facts.tell("uses.consequences", str(limit), source)
    if "reviewed_by_native_speakers" in card:
        reviewed = "was" if card["reviewed_by_native_speakers"] else "was not"
        facts.tell("preprocessing.done", f"It {reviewed} reviewed by native speakers.", source)
    if card.get("illustrative"):
        facts.tell("uses.unfit", "Illustrative: it shows a form, and no figure on it measures anything.", source)
