"""List every oddity of templates, concepts and identities, with file and row, and the figures that describe them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from kapwa.suites.base import CheckReport, Finding
from kapwa.suites.eecc import names
from kapwa.suites.eecc.articles import article, article_reference
from kapwa.suites.eecc.data import Reading, read_folder, task_folders
from kapwa.suites.eecc.parts import Concept, Identity, written_in
from kapwa.suites.eecc.reading import ROLES
from kapwa.suites.eecc.spelling import slips
from kapwa.suites.reading.card import card_findings
from kapwa.suites.reading.oddities import cell_oddities

SUITE = "eecc"
_SIGNS = re.compile(r"[\W_]+")


def check(path: Path) -> CheckReport | None:
    """Read a folder and report on it; None when it is not data of this form.

    What stops a run is an "error", what may change a number a "warning", the rest a "note". Reading goes on
    after an error wherever it can, so that one check shows as much as possible.
    """
    root = path.parent if path.is_file() and path.stem in ROLES else path
    found = dict(task_folders(root)) if root.is_dir() else {}
    if not found:
        return None
    counts: dict[str, int | float | str] = {}
    findings: list[Finding] = []
    for tasks, task in _by_folder(found).items():
        reading = read_folder(root, root.resolve().name, task)
        counts |= _counts(reading, tasks)
        findings += _findings(reading)
    # Tasks share their identities, and what is odd about those is said once.
    return CheckReport(SUITE, str(path), counts, list(dict.fromkeys(findings)))


def _by_folder(found: Mapping[str, Path]) -> dict[str, str]:
    """Name the tasks of each folder, and one of them: a flat folder serves every task with the same prompts."""
    named: dict[str, str] = {}
    for folder in dict.fromkeys(found.values()):
        tasks = [task for task, place in found.items() if place == folder]
        named[" or ".join(tasks)] = tasks[0]
    return named


def _findings(reading: Reading) -> Iterator[Finding]:
    yield from (Finding.of(problem, reading.folder) for problem in reading.problems)
    yield from reading.parts.oddities
    for table in reading.tables.values():
        for record in table.records:
            for column, cell in record.cells.items():
                for oddity in cell_oddities(cell) if isinstance(cell, str) else ():
                    yield Finding(oddity.severity, str(table.path), oddity.message, record.row, column)
    yield from _concept_findings(reading)
    yield from _identity_findings(reading)
    yield from _card_findings(reading)


def _concept_findings(reading: Reading) -> Iterator[Finding]:
    """Concepts that are nearly one another, stand in two topics, or look misspelt."""
    if "concepts" not in reading.tables:
        return
    path = str(reading.tables["concepts"].path)
    alike: dict[str, Concept] = {}
    english = any(template.is_english for template in reading.parts.templates)
    for concept in reading.parts.concepts:
        first = alike.setdefault(_folded(concept.name), concept)
        if first.name != concept.name:
            message = f"{concept.name!r} is nearly {first.name!r} of row {first.row}: perhaps they are one concept"
            yield Finding("warning", path, message, concept.row, "concept")
        elif first is not concept:
            message = f"{concept.name!r} is also a concept of {first.topic!r} (row {first.row})"
            yield Finding("note", path, message, concept.row, "concept")
        for slip in slips(written_in(concept, "en")) if english else ():
            message = f"no English word list has {slip.word!r}; did you mean {slip.known!r}?"
            yield Finding("note" if slip.is_name else "warning", path, message, concept.row, "concept")


def _folded(name: str) -> str:
    """``name`` without what makes no other concept of it: capitals, signs, a plural s."""
    words = _SIGNS.sub(" ", name.casefold()).split()
    return " ".join(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _identity_findings(reading: Reading) -> Iterator[Finding]:
    """Identities that name no place or several, and those whose article is not a matter of the first letter."""
    if "identities" not in reading.tables:
        return
    path, attribute = str(reading.tables["identities"].path), reading.parts.attribute
    articles = any(template.has_article for template in reading.parts.templates)
    for one in reading.parts.identities:
        for severity, message in _place_oddities(one, attribute):
            yield Finding(severity, path, message, one.row, attribute)
        written = written_in(one, "en")
        right = one.article or article(written)
        if articles and right != article_reference(written):
            message = f"{right} {written}: by its first letter alone it would be {article_reference(written)!r}"
            yield Finding("note", path, message, one.row, attribute)


def _place_oddities(one: Identity, attribute: str) -> Iterator[tuple[Literal["warning", "note"], str]]:
    if attribute not in names.PLACE_ATTRIBUTES:
        return
    place = names.resolve(one.country or one.name)
    if place is None:
        suggestion = names.suggestion(one.country or one.name)
        message = f"no country is known for {one.country or one.name!r}: it goes with no table of values"
        yield "warning", f"{message}. {suggestion}".strip()
    elif isinstance(place, names.Ambiguous):
        yield "warning", f"{place}: it goes with no table of values unless a column 'country' says which"


def _card_findings(reading: Reading) -> Iterator[Finding]:
    if not reading.card:
        text = "no card.yaml: licence, authors, consent and limits are not stated"
        yield Finding("note", str(reading.path), text)
    elif reading.card_path is not None:
        # A citation is asked of what may be published, and prompts alone seldom are.
        found = card_findings([reading.card], [reading.card_path])
        yield from (finding for finding in found if finding.severity == "warning")


def _counts(reading: Reading, tasks: str) -> dict[str, int | float | str]:
    parts = reading.parts
    if not parts.rows:
        return {}
    n = {"templates": len(parts.templates), "concepts": len(parts.concepts), "identities": len(parts.identities)}
    counts: dict[str, int | float | str] = {}
    for role, number in n.items():
        rows = parts.rows.get(role, 0)
        label = f"{role} ({parts.attribute})" if role == "identities" else role
        counts[f"{tasks} {label}"] = number if rows == number else f"{number} ({rows} rows)"
    counts[f"{tasks} prompts"] = n["templates"] * n["concepts"] * n["identities"]
    languages = sorted({template.language for template in parts.templates})
    counts[f"{tasks} languages"] = ", ".join(languages)
    topics = Counter(concept.topic for concept in parts.concepts)
    return counts | {f"{tasks} topic {topic}": number for topic, number in topics.most_common()}
