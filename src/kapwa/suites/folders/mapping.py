"""Read ``mapping.yaml``: which columns of somebody else's table are which fields of a form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from kapwa.errors import DataError, nearest
from kapwa.suites.blend.form import QUESTION_COLUMNS
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS
from kapwa.suites.kalahi.form import KNOWN, RESPONSES
from kapwa.suites.reading.yamlfile import Located, load_yaml

MAPPING_NAME = "mapping.yaml"
Form = Literal["kalahi", "blend/saq", "blend/mcq"]
HowAnswered = Literal["letter", "number from 0", "number from 1", "text"]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]

LETTERS = tuple(f"option_{letter}" for letter in "ABCD")
_OWN = ("culture", "notes", "source")
# Besides the form's own: "locale" is language and country in one ("es-MX"), "answers" and "options" are lists.
FIELDS: dict[Form, tuple[str, ...]] = {
    "kalahi": (*KNOWN, "locale"),
    "blend/saq": (
        *(name for name in QUESTION_COLUMNS if name not in _OWN),
        "culture",
        "locale",
        "answers",
        "answers_en",
    ),
    "blend/mcq": (*(name for name in MCQ_COLUMNS if name != "variant"), "options", "locale"),
}
# Each must be in ``columns`` or ``constants``; of several in one entry, one.
NEEDED: dict[Form, tuple[tuple[str, ...], ...]] = {
    "kalahi": tuple((name,) for name in ("context", "best", *RESPONSES)),
    "blend/saq": (("local", "english"), ("answers",)),
    "blend/mcq": (("question",), ("options", "option_A"), ("answer",), ("country", "locale")),
}
LISTS: dict[Form, tuple[str, ...]] = {
    "kalahi": (*RESPONSES, *(f"{name}_en" for name in RESPONSES)),
    "blend/saq": ("answers", "answers_en"),
    "blend/mcq": ("options",),
}
JSON_LIST = "json"


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


class ColumnMapping(BaseModel):
    """What ``mapping.yaml`` holds; see docs/reference/forms.md."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    form: Form
    table: Word | list[Word]
    columns: dict[str, Word]
    constants: dict[str, Word] = Field(default_factory=dict)
    values: dict[str, dict[str, Word]] = Field(default_factory=dict)
    separators: dict[str, Annotated[str, StringConstraints(min_length=1, max_length=20)]] = Field(default_factory=dict)
    answer_is: HowAnswered = "letter"
    prompts: list[PromptEntry] = Field(default_factory=list)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, which may hold ``*``."""
        return (self.table,) if isinstance(self.table, str) else tuple(self.table)

    @field_validator("table")
    @classmethod
    def _inside(cls, table: str | list[str]) -> str | list[str]:
        for name in [table] if isinstance(table, str) else table:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise ValueError(f"{name!r} is not in the folder; name tables from the folder on")
        return table

    @model_validator(mode="after")
    def _fits(self) -> ColumnMapping:
        known = FIELDS[self.form]
        for part, allowed in (
            ("columns", known),
            ("constants", known),
            ("values", known),
            ("separators", LISTS[self.form]),
        ):
            for name in getattr(self, part):
                if name not in allowed:
                    raise ValueError(f"{part}: {name!r} is not a field of {self.form}. {nearest(name, allowed)}")
        given = {**self.columns, **self.constants}
        for names in NEEDED[self.form]:
            if not any(name in given for name in names):
                raise ValueError(f"columns: {' or '.join(names)} is missing; {self.form} needs it")
        twice = next((name for name in self.columns if name in self.constants), None)
        if twice:
            raise ValueError(f"constants: {twice!r} is in columns too; keep one")
        if self.form != "blend/saq" and self.prompts:
            raise ValueError("prompts: only blend/saq has prompts of its own")
        return self


def find_mapping(data: str | Path | None) -> Path | None:
    """Return the mapping in the folder ``data``, or ``data`` itself where it is one; else None."""
    if data is None:
        return None
    try:
        path = Path(data)
        own = path if path.name == MAPPING_NAME else path / MAPPING_NAME
        return own if own.is_file() else None
    except (OSError, ValueError):  # no path at all: a name too long, or with a NUL
        return None


def read_mapping(path: Path) -> ColumnMapping:
    """Read a mapping; raise DataError naming file, row, field and remedy for the first thing wrong with it."""
    located = load_yaml(path)
    if not isinstance(located.value, dict):
        raise DataError("is not a mapping.", path=path, row=1, hint=_SEE)
    try:
        return ColumnMapping.model_validate(located.value)
    except ValidationError as error:
        raise _mapping_error(path, located, dict(error.errors()[0])) from None


_SEE = "Write 'form: …', 'table: …' and 'columns:' lines; see docs/reference/forms.md."


def _mapping_error(path: Path, located: Located, detail: dict[str, Any]) -> DataError:
    message = str(detail["msg"]).removeprefix("Value error, ")
    part, colon, rest = message.partition(": ")
    # A validator over the whole file names its part of it, and the field in quotes, in the message.
    place = tuple(detail["loc"]) or ((part,) if colon and part in ColumnMapping.model_fields else ())
    if not detail["loc"] and place:
        message = rest
        word = rest.split("'")[1] if rest.startswith("'") else ""
        place = (*place, word) if word else place
    column = ".".join(str(step) for step in place) or None
    row = located.line(place)
    if detail["type"] == "missing":
        return DataError("is missing from the mapping.", path=path, column=column, hint=_SEE)
    if detail["type"] == "extra_forbidden":
        hint = nearest(str(place[-1]), ColumnMapping.model_fields)
        return DataError("is not a part of a mapping.", path=path, row=row, column=column, hint=hint)
    hint = "Put the value in quotes." if detail["type"] == "string_type" else _SEE
    return DataError(f"{message.rstrip('.')}.", path=path, row=row, column=column, hint=hint)
