"""Read the three tables of a task, in the form of a pack or as released, keeping every problem on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.suites.base import Finding
from kapwa.suites.eecc.parts import (
    NATIONALITY,
    PLACEHOLDERS,
    REFERENCE,
    Concept,
    Identity,
    Template,
)
from kapwa.suites.reading.card import is_language_tag
from kapwa.suites.reading.cells import Home, RowReader, column_problems
from kapwa.suites.reading.letters import Written, written
from kapwa.suites.reading.tables import Record, Table

ROLES = ("templates", "concepts", "identities")
DEFAULT_TEMPLATE = "direct"
MANY_LANGUAGES = "mul"
TEMPLATE_COLUMNS = ("template", "name", "language", "notes", "source")
CONCEPT_COLUMNS = ("topic", "concept", "text", "notes", "source")
# Beside these, a table of identities has one column, named after the attribute: nationality, religion, city, persona.
IDENTITY_COLUMNS = ("country", "article", "text", "notes", "source")
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_ -]{0,39}")
_OWN_TEXT = re.compile(r"text_([A-Za-z0-9-]+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
# The released files have no header: two columns (three for templates), the last of which says it all.
RELEASED_COLUMNS = {"templates": 3, "concepts": 2, "identities": 2}


@dataclass
class Parts:
    """What the tables hold, what stops a run, and what is merely odd."""

    attribute: str = NATIONALITY
    templates: list[Template] = field(default_factory=list)
    concepts: list[Concept] = field(default_factory=list)
    identities: list[Identity] = field(default_factory=list)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def is_released(role: str, header: Sequence[str]) -> bool:
    """Whether a table's first row is no header but data, as in the released files."""
    named = {"templates": "template", "concepts": "concept", "identities": ""}[role]
    return len(header) == RELEASED_COLUMNS[role] and named not in header and not _looks_like_header(role, header)


def _looks_like_header(role: str, header: Sequence[str]) -> bool:
    known = {"templates": TEMPLATE_COLUMNS, "concepts": CONCEPT_COLUMNS, "identities": IDENTITY_COLUMNS}[role]
    if role == "identities":  # "country" is a column of the form, and what the released file says in every row
        return ATTRIBUTE.fullmatch(header[0]) is not None and ATTRIBUTE.fullmatch(header[1]) is not None
    return any(name in known for name in header)


def read_templates(parts: Parts, table: Table, home: Home) -> None:
    """Add the templates of ``table``; a single one without a name is called "direct"."""
    if not _columns_hold(parts, table, ("template",), TEMPLATE_COLUMNS, "a table of templates"):
        return
    names: dict[str, int] = {}
    for record in table.records:
        reader = RowReader(table.path, record, home, required=("template",))
        template = _template(reader, alone=len(table.records) == 1)
        first = names.setdefault(template.name, record.row)
        if first != record.row:
            reader.problem("name", f"{template.name!r} is already the name of row {first}.", "Give each its own name.")
        parts.problems += reader.problems
        if not reader.problems:
            parts.templates.append(template)
    parts.rows["templates"] = len(table.records)


def _template(reader: RowReader, *, alone: bool) -> Template:
    text, name = reader.text("template"), reader.text("name")
    if not name and alone:
        name = DEFAULT_TEMPLATE
    elif not name:
        reader.problem("name", "is empty.", "Several templates need a name each: it tells their texts apart.")
    elif not _NAME.fullmatch(name):
        reader.problem("name", f"{name!r} holds signs other than letters, digits, '.', '_', '-' and '/'.")
    if name.endswith(REFERENCE):
        reader.problem("name", f"ends in {REFERENCE!r}.", "That ending marks the released article rule.")
    language = reader.home_of("language")
    if language == MANY_LANGUAGES:
        reader.problem("language", "is empty, and the card says 'mul' (several).", "Name each template's own language.")
    template = Template(name, text, language, reader.number)
    _check_places(reader, template)
    return template


def _check_places(reader: RowReader, template: Template) -> None:
    if not template.text:
        return
    for place in template.places:
        if place not in PLACEHOLDERS:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS[:3])
            reader.problem("template", f"{{{place}}} is not a place of a template.", f"Places: {known}.")
    for needed in ("concept", "identity"):
        if needed not in template.places:
            reader.problem("template", f"has no place {{{needed}}}.", "Every prompt names its concept and identity.")
    if template.has_article and not template.is_english:
        hint = "Write it in the template, or in the column 'text' of the identities."
        reader.problem(
            "template", f"asks for an article, which is known for English only, not {template.language!r}.", hint
        )


def read_concepts(parts: Parts, table: Table, home: Home) -> None:
    """Add the concepts of ``table``, those listed twice in a topic once."""
    if not _columns_hold(parts, table, ("topic", "concept"), CONCEPT_COLUMNS, "a table of concepts"):
        return
    found: list[Concept] = []
    for record in table.records:
        reader = RowReader(table.path, record, home, required=("topic", "concept"))
        concept = Concept(reader.text("topic"), reader.text("concept"), _texts(reader, record), record.row)
        parts.problems += reader.problems
        if not reader.problems:
            found.append(concept)
    parts.concepts += list(_merged(parts, table.path, found, lambda one: (one.topic, one.name), "concept"))
    parts.rows["concepts"] = len(table.records)


def read_identities(parts: Parts, table: Table, home: Home) -> None:
    """Add the identities of ``table`` and the name of the attribute: that of the one column not of the form."""
    own = [name for name in table.header if name not in IDENTITY_COLUMNS and not _OWN_TEXT.fullmatch(name)]
    if table.header and (len(own) != 1 or not ATTRIBUTE.fullmatch(own[0])):
        parts.problems.append(_no_attribute(table, own))
        return
    if not table.header:
        return
    parts.attribute = own[0] if own[0] != "identity" else NATIONALITY
    found: list[Identity] = []
    for record in table.records:
        reader = RowReader(table.path, record, home, required=own)
        one = Identity(
            reader.text(own[0]), reader.text("country"), reader.text("article"), _texts(reader, record), record.row
        )
        if one.article not in ("", "a", "an"):
            reader.problem("article", f"{one.article!r} is neither 'a' nor 'an'.", "Leave it empty for the rule.")
        parts.problems += reader.problems
        if not reader.problems:
            found.append(one)
    parts.identities += list(_merged(parts, table.path, found, lambda one: (one.name,), parts.attribute))
    parts.rows["identities"] = len(table.records)


def written_texts(role: str, table: Table, home: Home) -> Iterator[Written]:
    """Yield every text of a table with the language that it should be in, "" for names that may be in any."""
    own = [name for name in table.header if _OWN_TEXT.fullmatch(name)]
    others = [name for name in table.header if name not in (*own, "template", "notes", "source")]
    for record in table.records:
        if role == "templates":
            language = str(record.cells.get("language", "")).strip() or home.language
            yield from written(table.path, record, ["template"], language)
        else:
            yield from written(table.path, record, others, "", prose=False)
            for name in own:
                yield from written(table.path, record, [name], name.partition("_")[2], prose=False)


def _no_attribute(table: Table, own: Sequence[str]) -> DataError:
    hint = "Name one column after the attribute that changes (nationality, religion, city, persona, …)"
    hint += f"; beside it there may be {', '.join(IDENTITY_COLUMNS)} and text_<language>."
    if len(own) == 1:
        message = f"begins with {own[0]!r}, which is no header: a column's name is in small letters."
    elif own:
        message = f"has {len(own)} columns that could hold the identities ({', '.join(own[:4])})."
    else:
        message = "has no column of identities."
    return DataError(message, path=table.path, row=1, hint=hint)


def _texts(reader: RowReader, record: Record) -> Mapping[str, str]:
    """How prompts write it: the column ``text`` ("" here) for all, ``text_<language>`` for one language."""
    texts: dict[str, str] = {}
    for column in record.cells:
        match = _OWN_TEXT.fullmatch(column)
        if column != "text" and match is None:
            continue
        language = match[1] if match else ""
        if language and not is_language_tag(language):
            reader.problem(column, f"{language!r} is not a BCP-47 language tag such as 'fil' or 'ar'.")
        value = reader.text(column)
        if value:
            texts[language] = value
    return texts


PartT = TypeVar("PartT", Concept, Identity)


def _merged(
    parts: Parts, path: Path, found: Sequence[PartT], key: Callable[[PartT], tuple[str, ...]], column: str
) -> Iterator[PartT]:
    first: dict[tuple[str, ...], PartT] = {}
    for one in found:
        before = first.setdefault(key(one), one)
        if before is one:
            yield one
        elif dict(before.texts) != dict(one.texts):
            message = f"{one.name!r} is already row {before.row}, written otherwise in prompts."
            hint = "Keep one of the two rows."
            parts.problems.append(DataError(message, path=path, row=one.row, column=column, hint=hint))
        else:
            message = f"{one.name!r} is already row {before.row}: the two are merged"
            parts.oddities.append(Finding("warning", str(path), message, one.row, column))


def _columns_hold(parts: Parts, table: Table, required: Sequence[str], known: Sequence[str], form: str) -> bool:
    texts = [name for name in table.header if _OWN_TEXT.fullmatch(name)] if "text" in known else []
    problems = column_problems(table, required, (*known, *texts), form)
    parts.problems += problems
    return bool(table.header) and not problems


def read_released(role: str, path: Path) -> Table:
    """Read a released file, which has no header, into the columns of the form.

    The last cell of a line is the template, the concept or the nationality; the first of a concept's its topic.
    """
    last = {"templates": "template", "concepts": "concept", "identities": NATIONALITY}[role]
    header = ("topic", last) if role == "concepts" else (last,)
    wanted = RELEASED_COLUMNS[role]
    records: list[Record] = []
    problems: list[DataError] = []
    try:
        lines = read_text(path).split("\n")
    except DataError as error:
        return Table(path, (), (), [error])
    for row, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        if cells == [""]:
            continue
        if len(cells) != wanted:
            hint = "Parts are separated by tabs; a file with a header is read too (see docs/reference/eecc-form.md)."
            problems.append(DataError(f"has {len(cells)} parts, not {wanted}.", path=path, row=row, hint=hint))
            continue
        records.append(Record(row, dict(zip(header, (cells[0], cells[-1])[-len(header) :], strict=True))))
    return Table(path, header, records, problems)
