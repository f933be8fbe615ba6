"""Prompts across cultures (EECC): reading rows that people paste, how each prompt reads, and what is wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from kapwa.datasets.packs import DataSet
from kapwa.datasets.rows import CellProblem, Origin
from kapwa.errors import DataError
from kapwa.languages.codes import has_script, scripts_of
from kapwa.languages.places import PLACE_ATTRIBUTES
from kapwa.studio.core.importing import Rows, sound_rows
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import tidy
from kapwa.studio.prompts.events import CONCEPT, IDENTITY, NAMES, PLURALS, ROLES, TEMPLATE
from kapwa.studio.prompts.tables import PromptPart
from kapwa.suites.eecc.form import (
    DEFAULT_TEMPLATE,
    Concept,
    Identity,
    Template,
    article,
    attribute_of,
    identity_model,
    needless_capital,
    takes_the,
)
from kapwa.tables import TextTable
from kapwa.value_types import JsonObject

_ARTICLE = re.compile(r"(?<![\w'’/-])(an?|(?<![^.!?\n] )An?)\s+(?=([^\W_]+))")
_TWO_ARTICLES = re.compile(r"(?<![\w'’-])(?:an?|the)\s+(?:an?|the)\b(?![-'’])", re.IGNORECASE)
_ARTICLE_ELSEWHERE = re.compile(r"\{(?:article|vowel)\}(?!\s+\{identity\})")
_OPEN_ARTICLE = re.compile(r"\ba/an\b|\ba\(n\)", re.IGNORECASE)
_ARTICLE_BEFORE = re.compile(r"(?:\{article\}|\{vowel\}|\ban?|\bthe|\w['’])\s*\{identity\}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:^|(?<=\w\w[.!?])\s+)[\"'“‘(¿¡]*([^\W\d_]\w*|\{concept\})")


class _Draft(Template):
    """A template on its way: what is wrong with its places shows in the preview, and keeps it from being agreed to."""

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield nothing."""
        yield from ()


MODELS: JsonObject = {CONCEPT: Concept, IDENTITY: identity_model(IDENTITY), TEMPLATE: _Draft}


class Fault(NamedTuple):
    """Something to look at in a prompt: what, and the role of the part in which it is mended."""

    role: str
    message: str


class FilledTemplate(NamedTuple):
    """A template with a concept and an identity, how that reads, and what is to be looked at in it."""

    template: PromptPart
    concept: PromptPart
    identity: PromptPart
    text: str
    faults: list[Fault]


def as_row(role: str, fields: Mapping[str, str]) -> Any:
    """Return a part's columns as the suite's own row, which says how it is written and how a prompt of it reads."""
    return MODELS[role].model_validate({**fields, "origin": Origin(Path(role), 0)})


def read_table(role: str, table: TextTable, project: Project) -> Rows:
    """Return the sound rows of a table in the perturbation form, each as its columns, and what is wrong with others.

    What it says of a language that the project does not name is read, too.
    """
    reader = DataSet(role, None, problems=list(table.problems))
    model, attribute = MODELS[role], IDENTITY
    if role == IDENTITY and table.header:
        try:
            attribute = attribute_of(table)
        except DataError as error:
            return Rows([], [error])
        model = identity_model(attribute)
    defaults = {"culture": project.culture, "language": project.language, "name": DEFAULT_TEMPLATE}
    rows = reader.read(table, model, defaults if role == TEMPLATE else None, what=f"a table of {PLURALS[role]}")

    def fields_of(row: Any) -> tuple[dict[str, str], dict[str, str]]:
        cells = {name: tidy(str(text)) for name, text in row.model_dump(by_alias=True, exclude={"origin"}).items()}
        fields = {IDENTITY if name == attribute else name: text for name, text in cells.items() if text}
        tidy(fields[NAMES[role]], 200)
        return fields, fields

    return sound_rows(rows, fields_of, reader.problems)


def checked_prompts(project: Project, parts: Iterable[PromptPart]) -> list[FilledTemplate]:
    """Return every prompt of ``parts``, checked: each template with each concept and each identity, in order."""
    rows: dict[str, list[tuple[PromptPart, Any]]] = {role: [] for role in ROLES}
    for part in parts:
        rows[part.role].append((part, as_row(part.role, part.fields)))
    prompts = []
    for (template, a), (concept, b), (identity, c) in product(rows[TEMPLATE], rows[CONCEPT], rows[IDENTITY]):
        text = a.render(b, c)
        faults = list(dict.fromkeys(prompt_faults(project, a, b, c, text)))
        prompts.append(FilledTemplate(template, concept, identity, text, faults))
    return prompts


def example_of(project: Project, part: PromptPart, parts: Iterable[PromptPart]) -> FilledTemplate | None:
    """Return how a prompt with ``part`` reads, with the first of ``parts`` of each other role; None without one."""
    firsts = {role: next((one for one in parts if one.role == role), None) for role in ROLES} | {part.role: part}
    return next(iter(checked_prompts(project, [one for one in firsts.values() if one is not None])), None)


def causes(prompts: Iterable[FilledTemplate]) -> list[tuple[PromptPart, PromptPart, str, int]]:
    """Return (part to mend, template, message, how many prompts have it) of each fault, the most frequent first."""
    counts: Counter[tuple[PromptPart, PromptPart, str]] = Counter()
    for prompt in prompts:
        counts.update((getattr(prompt, fault.role), prompt.template, fault.message) for fault in prompt.faults)
    return [(*cause, n) for cause, n in counts.most_common()]


def place_faults(template: Template) -> list[str]:
    """Say what is wrong with the places of a template, which nobody can agree to then."""
    return [f"{message} {hint or ''}".strip() for _field, message, hint in Template.contradictions(template)]


def prompt_faults(
    project: Project, template: Template, concept: Concept, identity: Identity, text: str
) -> Iterator[Fault]:
    """Yield what is to be looked at in a prompt that reads ``text``."""
    tag = template.language
    for message in (*place_faults(template), *_text_faults(template, text, identity)):
        yield Fault(TEMPLATE, message)
    for role, part in ((CONCEPT, concept), (IDENTITY, identity)):
        yield from (Fault(role, message) for message in _language_faults(part, tag, project.language))
    thing, who = concept.written_in(tag), identity.written_in(tag)
    for role, written in ((TEMPLATE, template.text), (CONCEPT, thing), (IDENTITY, who)):
        if re.search(r"\s{2,}", written):
            yield Fault(role, _("There are two spaces in a row."))
    if template.is_english:
        begins = any(match[1] == "{concept}" for match in _SENTENCE.finditer(template.text))
        if not begins and needless_capital(thing):
            yield Fault(CONCEPT, _("“%(text)s” begins with a capital letter inside a sentence.") % {"text": thing})
        if project.attribute in PLACE_ATTRIBUTES and who[:1].islower():
            yield Fault(IDENTITY, _("“%(text)s” begins with a small letter.") % {"text": who})
        if takes_the(who) and not _ARTICLE_BEFORE.search(template.text):
            yield Fault(IDENTITY, _("“the” belongs before “%(text)s”.") % {"text": who})


def _language_faults(part: Concept | Identity, tag: str, main: str) -> Iterator[str]:
    base, scripts = tag.partition("-")[0], scripts_of(tag)
    if base != main.partition("-")[0] and not {tag, base, ""} & part.texts.keys():
        message = _("“%(text)s” has no text in %(language)s, so the prompt shows its name instead.")
        yield message % {"text": part.name, "language": tag}
    elif scripts and not has_script(part.written_in(tag), scripts):
        message = _("“%(text)s” is not in the script of %(language)s.")
        yield message % {"text": part.written_in(tag), "language": tag}


def _text_faults(template: Template, text: str, identity: Identity) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        if match[1][0].islower():
            yield _("A sentence begins with a small letter: “%(text)s”.") % {"text": match[1]}
    if _ARTICLE_ELSEWHERE.search(template.text):
        yield _("{article} is the article of {identity}, but it does not stand directly before it.")
    if not template.is_english:
        return
    for match in _OPEN_ARTICLE.finditer(template.text):
        yield _("“%(text)s” is the same in every prompt: write {article} instead.") % {"text": match[0]}
    for match in _ARTICLE.finditer(text):
        rest = text[match.end() :]
        stated = identity.article if rest.startswith(identity.written_in(template.language)) else ""
        right = stated or article(rest)
        if match[1].lower() != right:
            names = {"text": f"{match[1]} {match[2]}", "right": f"{right} {match[2]}"}
            yield _("“%(text)s” should be “%(right)s”.") % names
    for match in _TWO_ARTICLES.finditer(text):
        yield _("There are two articles in a row: “%(text)s”.") % {"text": match[0]}
