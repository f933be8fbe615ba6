"""List every oddity of templates, concepts and identities, with file and row, and the figures that describe them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kapwa.datasets.card import card_findings
from kapwa.datasets.findings import CheckReport, Finding
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, repeated_questions
from kapwa.datasets.text_checks import table_oddities
from kapwa.datasets.withdrawn import withdrawn_findings
from kapwa.languages import places as names
from kapwa.suites.eecc.data import ROLES, Prompts, read_folder, task_folders
from kapwa.suites.eecc.form import Concept, Identity, Template, article, article_reference, slips

SUITE = "eecc"
_SIGNS = re.compile(r"[\W_]+")


def check(path: Path) -> CheckReport | None:
    """Read a folder and report on it; None when it is not data of this form.

    What stops a run is an "error", what may change a number a "warning", the rest a "note". Reading goes on
    after an error wherever it can, so that one check shows as much as possible.
    """
    root = path.parent if path.is_file() and path.stem in ROLES else path
    folders = dict(task_folders(root)) if root.is_dir() else {}
    if not folders:
        return None
    counts: dict[str, int | float | str] = {}
    findings: list[Finding] = []
    # A flat folder serves every task with the same prompts, and is described once.
    for folder in dict.fromkeys(folders.values()):
        tasks = [task for task, task_folder in folders.items() if task_folder == folder]
        reading = read_folder(root, root.resolve().name, tasks[0])
        counts |= _counts(reading, " or ".join(tasks))
        findings += [Finding.of(problem, reading.folder) for problem in reading.problems]
        findings += reading.oddities
        findings += [row for table in reading.by_role.values() for row in table_oddities(table)]
        findings += [*_concept_findings(reading), *_identity_findings(reading)]
        findings += repeated_questions(map(_question_identity, reading.templates))
        if reading.attribute in names.PLACE_ATTRIBUTES:
            named = [(identity.name, identity.origin) for identity in reading.identities]
            findings += doubtful_cultures(named, reading.attribute)
        # A list of withdrawn rows names them by what they are and their name, for prompts have no ids.
        rows: list[Template | Concept | Identity] = [*reading.templates, *reading.concepts, *reading.identities]
        kinds = {Template: "template", Concept: "concept"}
        findings += withdrawn_findings((f"{kinds.get(type(row), 'identity')}/{row.name}", *row.origin) for row in rows)
        if not reading.cards:
            text = "no card.yaml: licence, authors, consent and limits are not stated"
            findings.append(Finding("note", str(reading.path), text))
        elif reading.card_paths:
            # A citation is asked of what may be published, and prompts alone seldom are.
            of_cards = card_findings(reading.cards, reading.card_paths)
            findings += [finding for finding in of_cards if finding.severity == "warning"]
    # Tasks share their identities, so an oddity of these is reported once.
    return CheckReport(SUITE, str(path), counts, list(dict.fromkeys(findings)))


def _question_identity(template: Template) -> QuestionIdentity:
    """Return what identifies a template, to find others that ask the same."""
    return QuestionIdentity(template.origin, "template", "", template.language, template.text, ())


def _concept_findings(reading: Prompts) -> Iterator[Finding]:
    """Concepts that are nearly the same, belong to two topics, or look misspelt."""
    by_name: dict[str, Concept] = {}
    english = any(template.is_english for template in reading.templates)
    for concept in reading.concepts:
        first = by_name.setdefault(_folded(concept.name), concept)
        if first.name != concept.name:
            message = f"{concept.name!r} is nearly {first.name!r} of row {first.origin.row}"
            yield concept.origin.finding("warning", f"{message}: perhaps they are one concept", "concept")
        elif first is not concept:
            message = f"{concept.name!r} is also a concept of {first.topic!r} (row {first.origin.row})"
            yield concept.origin.finding("note", message, "concept")
        for slip in slips(concept.written_in("en")) if english else ():
            message = f"no English word list has {slip.word!r}; did you mean {slip.known!r}?"
            # A word with a capital may be a name that no list holds.
            yield concept.origin.finding("warning" if slip.word == slip.word.lower() else "note", message, "concept")


def _folded(name: str) -> str:
    """``name`` without what makes no other concept of it: capitals, signs, a plural s."""
    words = _SIGNS.sub(" ", name.casefold()).split()
    return " ".join(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _identity_findings(reading: Prompts) -> Iterator[Finding]:
    """Identities that name no place or several, and those whose article is not a matter of the first letter."""
    attribute = reading.attribute
    articles = any(template.has_article for template in reading.templates)
    for identity in reading.identities:
        message = _place_oddity(identity.country or identity.name) if attribute in names.PLACE_ATTRIBUTES else ""
        if message:
            yield identity.origin.finding("warning", message, attribute)
        written = identity.written_in("en")
        right = identity.article or article(written)
        if articles and right != article_reference(written):
            message = f"{right} {written}: by its first letter alone it would be {article_reference(written)!r}"
            yield identity.origin.finding("note", message, attribute)


def _place_oddity(name: str) -> str:
    """What is odd about the name of a place; "" if it means exactly one."""
    resolved = names.resolve(name)
    if resolved is None:
        message = f"no country is known for {name!r}: no table of values can be used with it"
        return f"{message}. {names.suggestion(name)}".strip()
    if isinstance(resolved, names.Ambiguous):
        return f"{resolved}: no table of values can be used with it, unless a column 'country' says which"
    return ""


def _counts(reading: Prompts, tasks: str) -> dict[str, int | float | str]:
    if not any(table.records for table in reading.by_role.values()):
        return {}
    n = {"templates": len(reading.templates), "concepts": len(reading.concepts), "identities": len(reading.identities)}
    counts: dict[str, int | float | str] = {}
    for role, number in n.items():
        rows = len(reading.by_role[role].records) if role in reading.by_role else 0
        label = f"{role} ({reading.attribute})" if role == "identities" else role
        counts[f"{tasks} {label}"] = number if rows == number else f"{number} ({rows} rows)"
    counts[f"{tasks} prompts"] = n["templates"] * n["concepts"] * n["identities"]
    counts[f"{tasks} languages"] = ", ".join(sorted({template.language for template in reading.templates}))
    topics = Counter(concept.topic for concept in reading.concepts)
    return counts | {f"{tasks} topic {topic}": number for topic, number in topics.most_common()}
