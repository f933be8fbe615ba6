"""List every oddity of situation data, with row numbers, and the figures that show whether it can measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from kapwa.datasets.conversations import in_conversation
from kapwa.datasets.findings import CheckReport, Finding, Severity
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, doubtful_languages, repeated_questions
from kapwa.datasets.rows import TRUE_WORDS, split_texts
from kapwa.datasets.text_checks import joined_otherwise, lacks_final_sign, table_oddities
from kapwa.datasets.withdrawn import withdrawn_findings
from kapwa.records import Item
from kapwa.suites.kalahi import released
from kapwa.suites.kalahi.data import Situations, is_situation_data, load_path
from kapwa.suites.kalahi.form import CATEGORIES, SUITE, SituationEntry, reference_response
from kapwa.suites.kalahi.mc import by_length, chance_mc1
from kapwa.suites.kalahi.variants import VARIANTS
from kapwa.tables import TextTable

FEWEST_RESPONSES = 3
_RESPONSE_COLUMNS = ("relevant", "irrelevant", "relevant_answers", "irrelevant_answers")
# Two-sided 95 %: a share further above chance than this is no accident of the wording.
_Z = 1.96


def check(path: Path) -> CheckReport | None:
    """Read a file or folder and report on it; None when it is not situation data.

    What stops a run is an "error", what may change a number a "warning", the rest a "note". Reading goes on
    after an error wherever it can, so that one check shows as much as possible.
    """
    if not is_situation_data(path):
        return None
    reading = load_path(path)
    # One entry a row of a file: the items of a row share its responses.
    rows = list({entry.origin: entry for entry in reversed(reading.entries)}.values())[::-1]
    findings = list(reading.findings(path))
    findings += [finding for table in reading.tables for finding in _table_findings(table)]
    findings += [finding for entry in rows for finding in _item_findings(entry)]
    findings += withdrawn_findings((entry.item.id, *entry.origin) for entry in rows)
    findings += [*_variant_findings(reading.entries), *_length_findings(reading, path)]
    findings += doubtful_cultures(((entry.item.culture, entry.origin) for entry in rows), "culture")
    findings += doubtful_languages((entry.item.culture, entry.item.language, entry.origin) for entry in rows)
    return CheckReport(SUITE, str(path), _counts(reading, rows), findings)


def _table_findings(table: TextTable) -> Iterator[Finding]:
    path = str(table.path)
    yield from table_oddities(table)
    for record in table.records:
        for column in _RESPONSE_COLUMNS:
            for severity, message in _response_findings(split_texts(record.cells.get(column, ""))):
                yield Finding(severity, path, message, record.row, column)
    # Only one row of a cluster can stand for it without its personal situation.
    first: dict[object, int] = {}
    for record in table.records:
        base, cluster = str(record.cells.get("base", "")).strip().lower(), record.cells.get("cluster")
        if cluster and base in TRUE_WORDS and first.setdefault(cluster, record.row) != record.row:
            message = f"cluster {cluster!r} already has its base in row {first[cluster]}; this mark is ignored"
            yield Finding("warning", path, message, record.row, "base")
    ids = [name for name in ("id", "cluster", "prompt_variation_id", "prompt_id") if name in table.header]
    written = [tuple(str(record.cells.get(name, "")) for name in ids[:2]) for record in table.records if ids]
    widths = {len(names[0]) for names in written}
    numbers = table.path.suffix == ".parquet" and len(widths) > 1
    if numbers and all(len(names) == 2 and released.situation_of(*names) for names in written):
        message = "ids lost the zeros before them: they are read with ten digits, the first eight being the situation"
        yield Finding("note", path, message, column=ids[0])
    elif numbers:
        message = "ids differ in width; if they were numbers, their leading zeros are lost"
        yield Finding("warning", path, message, column=ids[0])


def _response_findings(responses: Sequence[str]) -> Iterator[tuple[Severity, str]]:
    for number, response in enumerate(responses, start=1):
        if lacks_final_sign(response):
            yield "warning", f"response {number} has no final punctuation (the *_reference scores add a period)"
        elif reference_response(response) != response:
            yield "note", f"response {number} does not end in a period (the *_reference scores add one)"
        if response in responses[: number - 1]:
            yield "warning", f"response {number} repeats an earlier one"
    if 0 < len(responses) < FEWEST_RESPONSES:
        yield "warning", f"only {len(responses)} response{'s' * (len(responses) > 1)}; the form asks for at least three"
        sign = joined_otherwise(" ".join(responses))
        if sign:
            yield "warning", f"holds {sign!r}: responses are separated by ';' only"


def _item_findings(entry: SituationEntry) -> Iterator[Finding]:
    item, origin = entry
    if item.category not in CATEGORIES:
        message = f"the category {item.category!r} is neither of the paper's (ethics, shared knowledge)"
        yield origin.finding("note", message, "category")
    relevant, irrelevant = len(item.fields["relevant"]), len(item.fields["irrelevant"])
    if relevant != irrelevant:
        message = f"{relevant} relevant and {irrelevant} irrelevant responses: MC2 of no preference is not 0.5"
        yield origin.finding("note", message)
    if item.fields["gloss"] and "prompt" not in item.fields["gloss"]:
        yield origin.finding("note", "some parts of the prompt have no English gloss")


def _variant_findings(entries: Sequence[SituationEntry]) -> Iterator[Finding]:
    yield from repeated_questions(map(_question_identity, entries))
    yield from _unlinked(entries)
    ids: dict[str, SituationEntry] = {}
    for entry in entries:
        item, origin = ids.setdefault(entry.item.id, entry)
        if _answers(item) != _answers(entry.item):
            message = f"responses, topic or category differ from those of {item.variant!r} (row {origin.row})"
            yield entry.origin.finding("warning", message)


def _question_identity(entry: SituationEntry) -> QuestionIdentity:
    """Return what identifies a situation in one variant, to find others that ask the same."""
    item = entry.item
    prompt = in_conversation(item, item.fields["prompt"])
    best = (item.fields["best"],)
    return QuestionIdentity(entry.origin, "context", item.culture, item.language, prompt, best, variant=item.variant)


def _answers(item: Item) -> tuple[object, ...]:
    return (*(item.fields[name] for name in ("best", "relevant", "irrelevant")), item.topic, item.category)


def _unlinked(entries: Sequence[SituationEntry]) -> Iterator[Finding]:
    """Rows whose twin in another variant, or whose cluster's unenriched prompt, is not there."""
    variants = {entry.item.variant for entry in entries}
    ids = {variant: {e.item.id for e in entries if e.item.variant == variant} for variant in variants}
    bases = {entry.item.cluster for entry in entries if entry.item.variant == "unenriched"}
    reported: set[str] = set()
    for item, origin in entries:
        for other in ("full", "partial"):
            if item.variant in ("full", "partial") and other in variants and item.id not in ids[other]:
                yield origin.finding("warning", f"{item.id!r} has no {other} prompt")
        if bases and item.cluster not in bases | reported:
            reported.add(item.cluster)
            yield origin.finding("note", f"cluster {item.cluster!r} has no unenriched prompt")


def _main_items(reading: Situations) -> list[Item]:
    """Items of the richest variant there is: the one that counts and length figures describe."""
    variants = {entry.item.variant for entry in reading.entries}
    richest = next((variant for variant in VARIANTS if variant in variants), "")
    return [entry.item for entry in reading.entries if entry.item.variant == richest]


def _length_findings(reading: Situations, path: Path) -> Iterator[Finding]:
    items = _main_items(reading)
    for culture in dict.fromkeys(item.culture for item in items):
        of_culture = [item for item in items if item.culture == culture]
        for name, sign in (("longest", 1), ("shortest", -1)):
            trick = length_trick(of_culture, sign)
            message = f"{culture}: choosing the {name} response is right for {trick.share:.1%} of {trick.n} items"
            chance = f"(chance {trick.chance:.1%}, 95% of chance within ±{trick.margin:.1%})"
            yield Finding("warning" if trick.above else "note", str(path), f"{message} {chance}")


class LengthTrick(NamedTuple):
    """What choosing by length scores over ``n`` items, and a blind choice; 95 % of those are within ``margin``."""

    share: float
    chance: float
    margin: float
    n: int

    @property
    def above(self) -> bool:
        """Whether the share is more than accidents of wording explain."""
        return self.share > self.chance + self.margin


def length_trick(items: Sequence[Item], sign: int) -> LengthTrick:
    """Return what always choosing the longest (``sign`` 1) or shortest (-1) response scores over ``items``."""
    chances = [chance_mc1(item) for item in items]
    margin = _Z * math.sqrt(sum(p * (1 - p) for p in chances)) / len(items)
    return LengthTrick(fmean(by_length(item, sign) for item in items), fmean(chances), margin, len(items))


def _counts(reading: Situations, rows: Sequence[SituationEntry]) -> dict[str, int | float | str]:
    """Rows and items there are; responses, chance and length figures are those of the richest variant."""
    if not reading.entries:
        return {}
    main = _main_items(reading)
    items = [entry.item for entry in reading.entries]
    counts: dict[str, int | float | str] = {"rows": len(rows)}
    for variant in VARIANTS:
        of_variant = [item for item in items if item.variant == variant]
        counts[f"{variant} prompts"] = len(of_variant)
        counts[f"{variant} clusters"] = len({(item.culture, item.cluster) for item in of_variant})
        counts[f"{variant} unique prompts"] = len({item.fields["prompt"] for item in of_variant})
    counts["cultures"] = ", ".join(sorted({item.culture for item in items}))
    counts["languages"] = ", ".join(sorted({item.language for item in items}))
    counts["categories"] = len({item.category for item in items})
    counts["topics"] = len({item.topic for item in items})
    counts["responses"] = sum(len(item.fields["relevant"]) + len(item.fields["irrelevant"]) for item in main)
    if main:
        counts["chance MC1"] = fmean(map(chance_mc1, main))
        counts["longest"] = fmean(by_length(item, 1) for item in main)
        counts["shortest"] = fmean(by_length(item, -1) for item in main)
    if any("release" in item.fields for item in items):
        counts["release"] = released.RELEASE
    return counts
