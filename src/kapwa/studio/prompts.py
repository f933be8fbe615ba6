"""Prompts across cultures (EECC): reading rows that people paste, how each prompt reads, and what is wrong with it.

A prompt is a cell of a grid: a template with a concept and an identity. A grid of 60 concepts and 200 identities has
12,000 cells a template, but what is wrong with a cell comes from its template alone, with its concept, or with its
identity. So a grid is checked in as many steps as it has rows and columns, and only the cells of a page are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from kapwa.datasets.packs import DataSet
from kapwa.datasets.rows import CellProblem, Origin
from kapwa.datasets.tables import Record, Table
from kapwa.errors import DataError, UsageError
from kapwa.languages.codes import has_script, scripts_of
from kapwa.languages.places import PLACE_ATTRIBUTES
from kapwa.studio.fields import tidy
from kapwa.studio.models import Project, PromptPart
from kapwa.studio.projections.prompts import CONCEPT, IDENTITY, NAMES, PLURALS, TEMPLATE
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

_DASH = "–"  # stands in a place that is not looked at; no rule says anything of it
# A whole word between two places: then no rule looks at both at once.
_WORD_BETWEEN = re.compile(r"\W\w+\W")
_PLACES = re.compile(r"\{(?:concept|identity)\}")
_ARTICLE = re.compile(r"(?<![\w'’/-])(an?|(?<![^.!?\n] )An?)\s+(?=([^\W_]+))")
_TWO_ARTICLES = re.compile(r"(?<![\w'’-])(?:an?|the)\s+(?:an?|the)\b(?![-'’])", re.IGNORECASE)
_ARTICLE_ELSEWHERE = re.compile(r"\{(?:article|vowel)\}(?!\s+\{identity\})")
_OPEN_ARTICLE = re.compile(r"\ba/an\b|\ba\(n\)", re.IGNORECASE)
_ARTICLE_BEFORE = re.compile(r"(?:\{article\}|\{vowel\}|\ban?|\bthe|\w['’])\s*\{identity\}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:^|(?<=\w\w[.!?])\s+)[\"'“‘(¿¡]*([^\W\d_]|\{concept\})")


class _Draft(Template):
    """A template on its way: what is wrong with its places shows in the preview, and keeps it from being agreed to."""

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield nothing."""
        yield from ()


MODELS: dict[str, Any] = {CONCEPT: Concept, IDENTITY: identity_model(IDENTITY), TEMPLATE: _Draft}


class Fault(NamedTuple):
    """Something to look at in a prompt: of which kind it is, and what."""

    kind: str
    message: str


def as_row(role: str, fields: Mapping[str, str]) -> Any:
    """Return a part's columns as the suite's own row, which says how it is written and how a prompt of it reads."""
    return MODELS[role].model_validate({**fields, "origin": Origin(Path(role), 0)})


def checked_attribute(name: str) -> str:
    """Return what identities are; raise UsageError where that cannot name their column in the perturbation form."""
    clean = name.strip()
    try:
        return attribute_of(Table(Path(IDENTITY), (clean,), [], []))
    except DataError:
        hint = _("A word in small letters, such as nationality, religion or city.")
        raise UsageError(_("“%(text)s” cannot name what identities are.") % {"text": clean}, hint=hint) from None


def read_table(role: str, table: Table, project: Project) -> tuple[list[tuple[int, dict[str, str]]], list[DataError]]:
    """Return (row, columns) of each sound row of a table in the perturbation form, and what is wrong with the others.

    What it says of a language that the project does not name is read, too.
    """
    found = DataSet(role, None, problems=list(table.problems))
    if role == IDENTITY and table.header:
        try:
            own = attribute_of(table)
        except DataError as error:
            return [], [error]
        header = tuple(IDENTITY if name == own else name for name in table.header)
        records = [
            Record(row, {IDENTITY if k == own else k: v for k, v in cells.items()}) for row, cells in table.records
        ]
        table = table._replace(header=header, records=records)
    defaults = {"culture": project.culture, "language": project.language, "name": DEFAULT_TEMPLATE}
    rows = found.read(table, MODELS[role], defaults if role == TEMPLATE else None, what=f"a table of {PLURALS[role]}")
    problems, sound = list(found.problems), []
    for row in rows:
        try:
            cells = {name: tidy(str(text)) for name, text in row.model_dump(by_alias=True, exclude={"origin"}).items()}
            tidy(cells[NAMES[role]], 200)
        except UsageError as error:
            problems.append(DataError(error.summary, path=table.path, row=row.origin.row, hint=error.hint))
        else:
            sound.append((row.origin.row, {name: text for name, text in cells.items() if text}))
    return sound, problems


def prompt_faults(
    template: Template, concept: Concept, identity: Identity, main: str, attribute: str
) -> Iterator[Fault]:
    """Yield what is to be looked at in one prompt; the definition that :class:`Grid` takes apart.

    ``main``: the language that names of concepts and identities are in; ``attribute``: what identities are.
    """
    yield from _of_template(template)
    yield from _of_concept(template, concept, main)
    yield from _of_identity(template, identity, main, attribute)
    yield from _of_text(template, template.render(concept, identity), identity)


def _of_template(template: Template) -> Iterator[Fault]:
    for _field, message, hint in Template.contradictions(template):
        yield Fault("place", f"{message} {hint or ''}".strip())
    if template.is_english and (found := _OPEN_ARTICLE.search(template.text)):
        yield Fault("article", _("“%(text)s” stands as it is: write {article}.") % {"text": found[0]})
    if _ARTICLE_ELSEWHERE.search(template.text):
        yield Fault("article", _("{article} is the article of {identity}, and stands elsewhere."))


def _of_concept(template: Template, concept: Concept, main: str) -> Iterator[Fault]:
    yield from _of_language(template, concept, main, "language")
    written = concept.written_in(template.language)
    begins = any(one[1] == "{concept}" for one in _SENTENCE.finditer(template.text))
    if template.is_english and not begins and needless_capital(written):
        yield Fault("capital", _("“%(text)s” stands with a capital inside a sentence.") % {"text": written})


def _of_identity(template: Template, identity: Identity, main: str, attribute: str) -> Iterator[Fault]:
    yield from _of_language(template, identity, main, "agreement form")
    written = identity.written_in(template.language)
    if not template.is_english:
        return
    if attribute in PLACE_ATTRIBUTES and written[:1].islower():
        yield Fault("capital", _("“%(text)s” begins with a small letter.") % {"text": written})
    if takes_the(written) and not _ARTICLE_BEFORE.search(template.text):
        yield Fault("definite article", _("“the” belongs before “%(text)s”.") % {"text": written})


def _of_language(template: Template, one: Concept | Identity, main: str, kind: str) -> Iterator[Fault]:
    tag, written = template.language, one.written_in(template.language)
    base, scripts = tag.partition("-")[0], scripts_of(tag)
    if base != main.partition("-")[0] and not {tag, base, ""} & one.texts.keys():
        message = _("“%(text)s” has no form in %(language)s, so that its name stands there.")
        yield Fault(kind, message % {"text": one.name, "language": tag})
    elif scripts and not has_script(written, scripts):
        message = _("“%(text)s” is not in the script of %(language)s.")
        yield Fault("language", message % {"text": written, "language": tag})


def _of_text(template: Template, text: str, identity: Identity) -> Iterator[Fault]:
    if re.search(r"\s{2,}", text):
        yield Fault("spaces", _("Two spaces follow one another."))
    for found in _SENTENCE.finditer(text):
        if found[1].islower():
            word = re.match(r"\w+", text[found.start(1) :])
            message = _("A sentence begins with a small letter: “%(text)s”.")
            yield Fault("capital", message % {"text": word[0] if word else found[1]})
    if not template.is_english:
        return
    for found in _ARTICLE.finditer(text):
        rest, own = text[found.end() :], identity.article and identity.written_in(template.language)
        right = identity.article if own and rest.startswith(own) else article(rest)
        if found[1].lower() != right:
            names = {"text": f"{found[1]} {found[2]}", "right": f"{right} {found[2]}"}
            yield Fault("article", _("“%(text)s”: it is “%(right)s”.") % names)
    for found in _TWO_ARTICLES.finditer(text):
        kind = "definite article" if "the" in found[0].lower() else "article"
        yield Fault(kind, _("Two articles follow one another: “%(text)s”.") % {"text": found[0]})


class Cell(NamedTuple):
    """A prompt by the places of its template, concept and identity in the grid's lists."""

    template: int
    concept: int
    identity: int


class Cause(NamedTuple):
    """A fault and the part it comes from, which is where it is mended; ``cells``: how many prompts have it."""

    part: PromptPart
    template: PromptPart
    fault: Fault
    cells: int


class Grid:
    """Every prompt of a project, checked; ``parts[role]`` are its rows and columns, in order."""

    def __init__(self, project: Project, parts: Iterable[PromptPart]) -> None:
        self.parts: dict[str, list[PromptPart]] = {CONCEPT: [], IDENTITY: [], TEMPLATE: []}
        for one in parts:
            self.parts[one.role].append(one)
        self.rows = {role: [as_row(role, one.fields) for one in found] for role, found in self.parts.items()}
        self._main, self._attribute = project.language, project.attribute
        nothing = (as_row(CONCEPT, {"topic": _DASH, "concept": _DASH}), as_row(IDENTITY, {"identity": _DASH}))
        # Faults of each template, and by concept and identity those that come with them.
        self._own: list[dict[Fault, None]] = []
        self._with: dict[str, list[list[dict[Fault, None]]]] = {CONCEPT: [], IDENTITY: []}
        self._whole: dict[int, dict[Cell, list[Fault]]] = {}
        for place, template in enumerate(self.rows[TEMPLATE]):
            own = dict.fromkeys((*_of_template(template), *_of_text(template, template.render(*nothing), nothing[1])))
            self._own.append(own)
            for role in (CONCEPT, IDENTITY):
                self._with[role].append([self._marginal(template, role, row, nothing, own) for row in self.rows[role]])
            if not _apart(template):
                found = ((cell, self._checked(cell)) for cell in self._cells_of(place))
                self._whole[place] = {cell: faults for cell, faults in found if faults}

    def _marginal(self, template: Any, role: str, row: Any, nothing: Any, own: Any) -> dict[Fault, None]:
        concept, identity = (row, nothing[1]) if role == CONCEPT else (nothing[0], row)
        language = (
            _of_concept(template, row, self._main)
            if role == CONCEPT
            else _of_identity(template, row, self._main, self._attribute)
        )
        found = (*language, *_of_text(template, template.render(concept, identity), identity))
        return dict.fromkeys(one for one in found if one not in own)

    def _cells_of(self, template: int) -> Iterator[Cell]:
        for concept, identity in product(range(len(self.rows[CONCEPT])), range(len(self.rows[IDENTITY]))):
            yield Cell(template, concept, identity)

    def _checked(self, cell: Cell) -> list[Fault]:
        found = prompt_faults(*self._rows_of(cell), self._main, self._attribute)
        return list(dict.fromkeys(found))

    def _rows_of(self, cell: Cell) -> tuple[Any, Any, Any]:
        return (
            self.rows[TEMPLATE][cell.template],
            self.rows[CONCEPT][cell.concept],
            self.rows[IDENTITY][cell.identity],
        )

    def prompt(self, cell: Cell) -> str:
        """Return how a cell reads."""
        template, concept, identity = self._rows_of(cell)
        return str(template.render(concept, identity))

    def faults(self, cell: Cell) -> list[Fault]:
        """Return what is to be looked at in a cell."""
        if cell.template in self._whole:
            return self._whole[cell.template].get(cell, [])
        by_concept = self._with[CONCEPT][cell.template][cell.concept]
        by_identity = self._with[IDENTITY][cell.template][cell.identity]
        return list({**self._own[cell.template], **by_concept, **by_identity})

    def cells(self, *, faulty: bool) -> Iterator[Cell]:
        """Yield the cells that have something to look at, or those that have nothing."""
        for place in range(len(self.rows[TEMPLATE])):
            if place in self._whole:
                yield from (cell for cell in self._cells_of(place) if (cell in self._whole[place]) == faulty)
                continue
            bad = {role: [bool(self._own[place] or found) for found in self._with[role][place]] for role in self._with}
            for cell in self._cells_of(place):
                if (bad[CONCEPT][cell.concept] or bad[IDENTITY][cell.identity]) == faulty:
                    yield cell

    def causes(self) -> list[Cause]:
        """Return each fault once by the part that it comes from, those of the most prompts first."""
        n = {role: len(found) for role, found in self.rows.items()}
        causes = []
        for place, template in enumerate(self.parts[TEMPLATE]):
            causes += [Cause(template, template, one, n[CONCEPT] * n[IDENTITY]) for one in self._own[place]]
            for role, other in ((CONCEPT, IDENTITY), (IDENTITY, CONCEPT)):
                for part, faults in zip(self.parts[role], self._with[role][place], strict=True):
                    causes += [Cause(part, template, one, n[other]) for one in faults]
        return sorted(causes, key=lambda cause: -cause.cells)


def _apart(template: Template) -> bool:
    """Whether a whole word stands between any two places of a template, so that no rule looks at both at once."""
    if _ARTICLE_ELSEWHERE.search(template.text):
        return False
    pieces = _PLACES.split(template.text)[1:-1]
    return all(_WORD_BETWEEN.search(re.sub(r"\{\w+\}", "", piece)) for piece in pieces)
