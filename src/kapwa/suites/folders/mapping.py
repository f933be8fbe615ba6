"""The fields of ``mapping.yaml``, which describes somebody else's table."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from kapwa.catalog.entries import named_by
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, nearest
from kapwa.suites.folders.forms import MappedForm, form_names, form_of
from kapwa.tables import read_records

HowAnswered = Literal["letter", "number from 0", "number from 1", "text"]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]

# The conversation before a question as two lists, where a table has no turns of the form's own keys and roles.
TURNS = ("message_roles", "message_contents")
JSON_LIST = "json"
# Among the words of ``values``: every word that is not listed, as itself where this stands for it too.
OTHERS = "*"
# What a guessed mapping contains where the column could not be guessed.
UNKNOWN = "???"


class PromptEntry(BaseModel):
    """How questions are put to a model: a template with ``{q}`` in English, in the local language, or both."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: Word
    english: str = ""
    local: str = ""
    culture: str = ""

    @model_validator(mode="after")
    def _asks(self) -> PromptEntry:
        if "{q}" not in self.english and "{q}" not in self.local:
            raise ValueError("has no {q}, the place of the question, so it would ask nothing")
        return self


# Which rows are read: a column, and the words (or one) that its cell may hold; "!x" is all but x.
Only = dict[str, Word | list[Word]]


class Join(BaseModel):
    """Another table (or the same again) whose rows belong to those of the first, and which fields it gives.

    ``on``: the columns that both have in common; or for each column of the first table the one of the other.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    table: Word
    on: Word | Annotated[list[Word], Field(min_length=1)] | Annotated[dict[Word, Word], Field(min_length=1)]
    columns: dict[str, Word]
    only: Only = Field(default_factory=dict)

    @property
    def pairs(self) -> dict[str, str]:
        """Columns of the first table and those of the other that hold the same."""
        names = [self.on] if isinstance(self.on, str) else self.on
        return dict(names) if isinstance(names, dict) else {name: name for name in names}

    def within(self, mapping: ColumnMapping) -> bool:
        """Whether rows of one table are put together."""
        return self.table in mapping.tables


class Unpivot(BaseModel):
    """Columns whose every filled cell becomes a row: ``name`` is the new column of their names, ``value`` of cells."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    columns: Annotated[list[Word], Field(min_length=1)]
    name: Word
    value: Word

    @model_validator(mode="after")
    def _apart(self) -> Unpivot:
        twice = next((column for column in self.columns if self.columns.count(column) > 1), None)
        if twice is not None:
            raise ValueError(f"columns: {twice!r} appears twice")
        if self.name == self.value:
            raise ValueError("'name' and 'value' need names of their own")
        return self


class Cycle(BaseModel):
    """A new column ``name`` whose words the rows take in turn: those with a filled cell in the column ``of``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Word
    words: Annotated[list[Word], Field(min_length=2)]
    of: Word


def _known(form: str) -> str:
    known = form_names()
    if form not in known:
        raise ValueError(f"{form!r} is no form. {nearest(form, known)}")
    return form


class ColumnMapping(BaseModel):
    """What ``mapping.yaml`` holds; see docs/reference/forms.md."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    form: Annotated[str, AfterValidator(_known)]
    table: Word | list[Word]
    columns: dict[str, Word]
    constants: dict[str, Word | list[Word]] = Field(default_factory=dict)
    values: dict[str, dict[str, Word]] = Field(default_factory=dict)
    value_tables: dict[str, Word] = Field(default_factory=dict)
    separators: dict[str, Annotated[str, StringConstraints(min_length=1, max_length=20)]] = Field(default_factory=dict)
    parts: dict[str, Word] = Field(default_factory=dict)
    unpivot: Unpivot | None = None
    cycle: Cycle | None = None
    only: Only = Field(default_factory=dict)
    join: Join | list[Join] = Field(default_factory=list)
    steps: dict[Word, dict[str, Word]] = Field(default_factory=dict)
    non_answers: list[Word] = Field(default_factory=list)
    answer_is: HowAnswered = "letter"
    skip_bad_rows: bool = False
    prompts: list[PromptEntry] = Field(default_factory=list)

    @cached_property
    def to(self) -> MappedForm:
        """The form that rows are laid out in."""
        return form_of(self.form)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, which may hold ``*``."""
        return (self.table,) if isinstance(self.table, str) else tuple(self.table)

    @property
    def joins(self) -> tuple[Join, ...]:
        """The tables that rows are put together with."""
        return (self.join,) if isinstance(self.join, Join) else tuple(self.join)

    @property
    def every_column(self) -> dict[str, str]:
        """The column of each field, of those that a step gives by "step/field"."""
        named = {f"{step}/{name}": column for step, fields in self.steps.items() for name, column in fields.items()}
        return {**self.columns, **named}

    @property
    def named(self) -> set[str]:
        """The fields that some column or constant gives."""
        stepped = [name for fields in self.steps.values() for name in fields]
        return {*self.columns, *self.constants, *stepped, *(name for join in self.joins for name in join.columns)}

    @field_validator("parts")
    @classmethod
    def _named(cls, patterns: dict[str, str]) -> dict[str, str]:
        for form in patterns.values():
            names = re.findall(r"\{(\w+)\}", form)
            if not names or len(set(names)) < len(names) or not all(map(str.isidentifier, names)) or "}{" in form:
                raise ValueError(
                    f"{form!r} needs parts with names of their own and a sign between them: {{locale}}_{{n}}"
                )
        return patterns

    @field_validator("table", "join", "value_tables")
    @classmethod
    def _inside(cls, named: str | list[Any] | dict[str, str] | Join) -> str | list[Any] | dict[str, str] | Join:
        entries = list(named.values()) if isinstance(named, dict) else named if isinstance(named, list) else [named]
        for entry in entries:
            name = entry.table if isinstance(entry, Join) else entry
            if not name.isprintable():
                raise ValueError(f"{name!r} holds a character that no file's name has")
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise ValueError(f"{name!r} is not in the folder; name tables from the folder on")
            if any("**" in segment and segment != "**" for segment in Path(name).parts):
                raise ValueError(f"{name!r} has '**' beside other letters; write it alone, such as 'a/**/*.csv'")
        return named

    @model_validator(mode="after")
    def _fits(self) -> ColumnMapping:
        form, known = self.to, (*self.to.fields, *TURNS)
        joined = [name for join in self.joins for name in join.columns]
        stepped = list(dict.fromkeys(name for fields in self.steps.values() for name in fields))
        for section, names, allowed in (
            ("columns", self.columns, known),
            ("join", joined, known),
            ("steps", stepped, known),
            ("constants", self.constants, known),
            ("values", self.values, known),
            ("value_tables", self.value_tables, known),
            ("separators", self.separators, form.lists),
        ):
            for name in names:
                if name not in allowed:
                    raise ValueError(f"{section}: {name!r} is not a field of {self.form}. {nearest(name, allowed)}")
        if self.steps and "group" not in form.fields:
            raise ValueError(f"steps: rows of {self.form} have no groups")
        fields = [*self.columns, *self.constants, *joined, *stepped]
        for needed in form.needed:
            if not any(name in fields for name in needed):
                raise ValueError(f"columns: {' or '.join(needed)} is missing; {self.form} needs it")
        listed = next((name for name, value in self.constants.items() if isinstance(value, list)), None)
        if listed is not None and listed not in form.lists:
            raise ValueError(f"constants: {listed!r} is a list, but one text is needed")
        twice = next((name for name in self.constants if name in self.columns), None)
        twice = twice or next((name for name in (*joined, *stepped) if fields.count(name) > 1), None)
        if twice:
            section = "constants" if twice in self.constants else "steps" if twice in stepped else "join"
            raise ValueError(f"{section}: {twice!r} is in columns too; keep one")
        for section in ("prompts", "non_answers"):
            if section not in form.parts and getattr(self, section):
                having = " and ".join(name for name in form_names() if section in form_of(name).parts)
                raise ValueError(f"{section}: only {having} has {section.replace('_', '-')} of its own")
        return self


def read_mapping(path: Path) -> ColumnMapping:
    """Read a mapping, and the tables of words that it names, as values of its own.

    ``path``: a mapping's file, or that of a benchmark of the catalog. Raises DataError naming file, row, field and
    remedy for the first thing wrong with them.
    """
    benchmark = named_by(path)
    if benchmark is not None:
        return _with_words(ColumnMapping.model_validate(benchmark.mapping), path.parent)
    mapping, problems = read_model(path, ColumnMapping, "mapping", "see docs/reference/forms.md.")
    if mapping is None:
        raise problems[0]
    return _with_words(mapping, path.parent)


def _with_words(mapping: ColumnMapping, folder: Path) -> ColumnMapping:
    """Return a mapping in which the tables of words that it names are values, too."""
    read = {name: _words_in(folder / table) for name, table in mapping.value_tables.items()}
    words = {name: read.get(name, {}) | mapping.values.get(name, {}) for name in (*read, *mapping.values)}
    return mapping.model_copy(update={"values": words})


def _words_in(path: Path) -> dict[str, str]:
    """Read words from a table beside the mapping: in its first column theirs, in its second ours."""
    hint = "A table of values (value_tables) has two columns: their word, each once, and ours."
    table = read_records(path)
    if table.problems:
        raise table.problems[0]
    if len(table.header) != 2:
        raise DataError(f"has {len(table.header)} columns, not two.", path=path, row=1, hint=hint)
    words: dict[str, str] = {}
    for row, cells in table.records:
        theirs, ours = (str(cells.get(column, "")).strip() for column in table.header)
        column = table.header[0] if not theirs or theirs in words else table.header[1]
        if not theirs or not ours or theirs in words:
            message = f"{theirs!r} appears twice." if theirs in words else "is empty."
            raise DataError(message, path=path, row=row, column=column, hint=hint)
        words[theirs] = ours
    return words
