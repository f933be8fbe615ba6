"""Read somebody else's table through a mapping, and lay each row out as the form's own rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.datasets.findings import Finding, Severity
from kapwa.datasets.rows import Origin
from kapwa.errors import DataError, nearest
from kapwa.languages.codes import canonical
from kapwa.suites.folders.lists import separators_missed
from kapwa.suites.folders.locales import Locale, clashing, country_of, language_of, locale_of
from kapwa.suites.folders.mapping import JSON_LIST, OTHERS, TURNS, ColumnMapping
from kapwa.suites.folders.reading import FolderReading, MappedField, RowFields
from kapwa.tables import Cell, json_cell, written_value
from kapwa.value_types import JsonObject

TALK = ("messages", "media")
# Of the fields that a form needs; a row that lacks one has a fault.
_FEWEST_LACKING = 2


class LaidRow(NamedTuple):
    """A row of the form's own table, where it came from, and which cell gave each field."""

    cells: Mapping[str, Cell]
    origin: Origin
    fields: Mapping[str, MappedField]


# As LaidRow(...), in half the time.
laid_row = partial(tuple.__new__, LaidRow)


@dataclass
class Converted:
    """The form's tables by name, every problem and oddity on the way, and what is wrong with rows left out."""

    tables: dict[str, list[LaidRow]] = field(default_factory=dict)
    problems: list[DataError] = field(default_factory=list)
    left_out: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    rows: int = 0

    @property
    def rows_left_out(self) -> int:
        """How many rows the mapping says to leave out, for something is wrong with each."""
        return len({(problem.path, problem.row) for problem in self.left_out})

    def add(self, table: str, cells: Mapping[str, object], row: MappedRow) -> None:
        """Add a row to one of the form's tables, without lists that hold nothing."""
        laid = {
            name: value if isinstance(value, str) else json_cell(value) for name, value in cells.items() if value != []
        }
        self.add_rows(table, [laid], row)

    def add_rows(self, table: str, rows: Iterable[Mapping[str, Cell]], row: MappedRow) -> None:
        """Add the rows that one row gives, whose cells are such as tables hold."""
        laid = self.tables.setdefault(table, [])
        for cells in rows:
            laid.append(laid_row((cells, row.origin, row.fields)))


class MappedRow:
    """One row of somebody else's table, read by the names of the form's fields.

    ``languages``: the language of each culture so far and where it was said first, for a culture has one; ``locales``:
    those of all rows whose territories clash with ISO 3166-1.
    """

    __slots__ = ("fields", "languages", "locales", "mapping", "oddities", "origin", "problems")

    def __init__(
        self,
        mapping: ColumnMapping,
        origin: Origin,
        fields: RowFields,
        languages: dict[str, tuple[str, Origin]],
        locales: frozenset[Locale] = frozenset(),
    ) -> None:
        self.mapping, self.origin, self.fields = mapping, origin, fields
        self.languages, self.locales = languages, locales
        self.problems: list[DataError] = []
        self.oddities: list[Finding] = []

    def odd(self, name: str, severity: Severity, message: str) -> None:
        """Note what is odd about a field, by the cell that it comes from."""
        _, origin, column = self.fields.get(name) or MappedField("", self.origin, name)
        self.oddities.append(origin.finding(severity, message, column))

    def problem(self, name: str, message: str, hint: str | None = None) -> None:
        """Note what is wrong with a field, by the cell that it comes from."""
        _, origin, column = self.fields.get(name) or MappedField("", self.origin, name)
        self.problems.append(origin.problem(message, column, hint))

    def has(self, name: str) -> bool:
        """Whether the mapping says where the field comes from."""
        return self.fields.gives(name)

    def names(self) -> Sequence[str]:
        """Return the form's fields that the mapping says."""
        return self.fields.known(self.mapping.to.fields)

    def cells(self, question: str, id_name: str = "id") -> JsonObject:
        """Return the row by the form's fields: what it calls itself, whose it is, its texts, and those of its lists.

        ``question``: the field that a conversation goes before.
        """
        names = [name for name in self.names() if name not in ("culture", "language", "locale", *TALK)]
        texts = {name: self.items(name) if name in self.mapping.to.lists else self.text(name) for name in names}
        whose = self.culture_and_language()
        talk = self.talk([str(texts.get(question, ""))]) if "messages" in self.mapping.to.fields else {}
        return {**texts, **whose, id_name: self.own_id(id_name), **talk}

    def text(self, name: str, default: str = "") -> str:
        """Return a field's text, stripped, in the mapping's other words for it; ``default`` where there is none."""
        constant = self.mapping.constants.get(name)
        if constant is not None:
            return constant if isinstance(constant, str) else "; ".join(constant)
        cell = self.fields.cell(name)
        if cell is None:
            return default
        if isinstance(cell, tuple):
            self.problem(name, "is a list, but one text is needed.")
            return default
        text = cell.strip()
        return (self._in_words(name, text) if name in self.mapping.values else text) or default

    def _in_words(self, name: str, text: str) -> str:
        """Return a text in the mapping's other words for it."""
        words = self.mapping.values[name]
        if not text:
            return text
        others = words.get(OTHERS)
        if text not in words and others is None:
            self.problem(name, f"{text!r} is not among the values of {name!r} in the mapping.", nearest(text, words))
        return words.get(text, text if others in (None, OTHERS) else str(others))

    def needed(self, name: str) -> str:
        """Return a field's text, and note when it is empty."""
        text = self.text(name)
        if not text and self.has(name) and not self.problems:
            self.problem(name, "is empty.", "Every row needs one.")
        return text

    def items(self, name: str) -> list[str]:
        """Return the texts of a list's cell, parted as the mapping says, without the empty ones."""
        cell = self.fields.cell(name)
        cell_or_constant = self.mapping.constants.get(name, ()) if cell is None else cell
        entries = self._parts(name, cell_or_constant) if isinstance(cell_or_constant, str) else cell_or_constant
        texts = [text for entry in entries if (text := entry.strip())]
        return [self._in_words(name, text) for text in texts] if name in self.mapping.values else texts

    def _parts(self, name: str, cell: str) -> list[str]:
        """Part a list's cell; one that should be a list or object of JSON and is none is a problem."""
        sign = self.mapping.separators.get(name, ";")
        start = cell.lstrip()[:1]
        if sign != JSON_LIST and start != "{" and not (start == "[" and written_value(cell)):
            return cell.split(sign)
        parts: Any = written_value(cell) if cell.strip() else []
        if isinstance(parts, dict):  # {"A": …, "B": …}, in the order of its keys: 10 comes after 9
            numbered = all(map(str.isdecimal, parts))
            parts = [parts[key] for key in sorted(parts, key=int if numbered else str)]
        if name in self.mapping.to.numbers and isinstance(parts, list):
            parts = [str(part) if type(part) in (int, float) else part for part in parts]
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            return parts
        message = "is no JSON list or object of texts."
        self.problem(name, message, 'Such as ["tea", "coffee"]; else name its separator.')
        return []

    def culture_and_language(self) -> dict[str, str]:
        """Return culture and language as far as the row says them, by their own columns or by its locale."""
        whose_data: dict[str, str] = {}
        for name in ("culture", "language"):
            if self.has(name):
                whose_data[name] = self.needed(name)
        if self.has("locale"):
            text = self.needed("locale")
            named = self.mapping.values.get("culture", {}) if "culture" not in self.fields else {}
            language = whose_data.get("language") or language_of(text)
            culture = named.get(text) or country_of(text, language, self.locales)
            if text and not (culture and language):
                hint = f"Write under 'values: culture:' whose {text!r} is."
                if not language:
                    hint = (
                        "Locales are like 'es-MX': translate it under 'values: locale:', or take culture and language"
                    )
                    hint += " from columns."
                what = "may be of more than one" if locale_of(text, language) in self.locales else "is no"
                self.problem("locale", f"{text!r} {what} language and country that Kapwa knows.", hint)
            whose_data = {"culture": culture, "language": language, **whose_data}
            spoken = canonical(whose_data["language"])
            known, first = self.languages.setdefault(whose_data["culture"], (spoken, self.origin))
            if culture and known != spoken:
                message = f"{culture!r} is the culture of the languages {known!r} (row {first.row}) and {spoken!r}."
                self.problem("locale", message, "Give each a name of its own under 'values: culture:'.")
        return {name: value for name, value in whose_data.items() if value}

    def own_id(self, name: str = "id") -> str:
        """Return what the row calls itself; its file and number where no column says."""
        return self.needed(name) if self.has(name) else f"{self.origin.path.stem}-{self.origin.row}"

    def talk(self, questions: Iterable[str]) -> dict[str, str]:
        """The media, and the conversation before the question, perhaps of two lists whose last turn is the question."""
        talk = {name: self.text(name) for name in TALK if self.has(name)}
        if not (self.has(TURNS[0]) or self.has(TURNS[1])):
            return talk
        roles, contents = (self.items(name) for name in TURNS)
        if len(roles) != len(contents):
            message = f"has {len(contents)} texts for {len(roles)} roles."
            self.problem(TURNS[1], message, "Every turn needs both.")
        turns = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]
        if turns and turns[-1]["role"] == "user" and turns[-1]["content"] in questions:
            turns.pop()
        # Errors about the turns stand where their texts do.
        content = self.fields.get(TURNS[1]) or MappedField("", self.origin, TURNS[1])
        self.fields = self.fields.having({"messages": content})
        return {**talk, "messages": json.dumps(turns, ensure_ascii=False)}


def convert(mapping: ColumnMapping, folder: Path) -> Converted:
    """Read every table of the mapping in ``folder``, and lay its sound rows out as those of the form."""
    reading = FolderReading(mapping, folder)
    converted = Converted(problems=reading.problems, left_out=reading.left_out, oddities=reading.oddities)
    languages: dict[str, tuple[str, Origin]] = {}
    rows = list(reading.rows())
    if mapping.steps:
        rows = [(origin, at_step) for origin, fields in rows for at_step in _at_steps(mapping, origin, fields)]
    locales = _clashing_locales(mapping, rows)
    groups: dict[Origin, tuple[str, ...]] = {}
    for origin, fields in rows:
        row = MappedRow(mapping, origin, fields, languages, locales)
        mapping.to.lay(row, converted)
        for problem in row.problems and (_of_a_note(row) or row.problems):
            reading.bad_row(problem)
        if row.oddities:
            converted.oddities += row.oddities
        if row.has("group") and row.text("group"):
            groups[origin] = tuple(row.text(name) for name in ("culture", "country", "locale", "group"))
        converted.rows += 1
    if mapping.to.finish is not None:
        mapping.to.finish(converted, reading.bad_row)
    converted.oddities += separators_missed(mapping, rows)
    if mapping.skip_bad_rows:
        _leave_out_groups(groups, converted)
    if not converted.tables:  # a suite of nothing is no suite
        converted.problems += converted.left_out
    return converted


def _of_a_note(row: MappedRow) -> list[DataError]:
    """Return the one problem of a row that holds next to nothing of what others do, as notes and totals; else []."""
    read = [name for name in row.names() if name in row.fields]
    filled = [name for name in read if str(row.fields.cell(name) or "").strip()]
    having = {*filled, *row.mapping.constants}
    lacking = [names for names in row.mapping.to.needed if having.isdisjoint(names)]
    if 3 * len(filled) > len(read) or len(lacking) < _FEWEST_LACKING:
        return []
    first = row.fields[filled[0]] if filled else MappedField("", row.origin, "")
    message = f"{str(first.cell)[:60]!r} stands in a row that holds little else."
    hint = "Delete the row if it is a note or a total; else fill it in."
    return [first.origin.problem(message, first.column or None, hint)]


def _leave_out_groups(groups: Mapping[Origin, tuple[str, ...]], converted: Converted) -> None:
    """Leave out every row of a group of which one is left out: without it the rest would be scored as a whole one."""
    faulty = {Origin(Path(problem.path or ""), problem.row or 0) for problem in converted.left_out}
    broken = {group for origin, group in groups.items() if origin in faulty}
    others = {origin for origin, group in groups.items() if group in broken} - faulty
    message = "is of a group of which another row is left out."
    converted.left_out += [origin.problem(message, "group") for origin in sorted(others)]
    gone = others | (faulty & groups.keys())
    tables = {name: [row for row in rows if row.origin not in gone] for name, rows in converted.tables.items()}
    converted.tables = {name: rows for name, rows in tables.items() if rows}


def _at_steps(mapping: ColumnMapping, origin: Origin, fields: RowFields) -> Iterator[RowFields]:
    """Yield the fields of a row at each step of the mapping's ladder, a group."""
    name = fields.get("id") or MappedField(f"{origin.path.stem}-{origin.row}", origin, "id")
    for step, columns in mapping.steps.items():
        texts = {field: fields[f"{step}/{field}"] for field in columns}
        named = {"id": name._replace(cell=f"{name.cell}-{step}"), "step": name._replace(cell=step)}
        group = {} if "group" in fields else {"group": name}
        yield fields.having({**group, **texts, **named})


def _clashing_locales(mapping: ColumnMapping, rows: Iterable[tuple[Origin, RowFields]]) -> frozenset[Locale]:
    """Return the locales of all rows whose territories clash with ISO 3166-1: what one means, the others say."""
    if "locale" not in mapping.named:
        return frozenset()
    read = (MappedRow(mapping, origin, fields, {}) for origin, fields in rows)
    pairs = {(row.text("locale"), row.text("language")) for row in read if row.has("locale")}
    return clashing(filter(None, (locale_of(*pair) for pair in pairs)))
