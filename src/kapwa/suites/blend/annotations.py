"""What the people of one country answered, as the released annotation files hold it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from kapwa.datasets.findings import Finding, Severity
from kapwa.datasets.packs import DataSet
from kapwa.datasets.rows import MOST_VOTES
from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.suites.blend.questions import IDK_KEYS, AnswerGroup
from kapwa.tables.wrong_values import wrong_value

# The released folder says "annotations", what the authors' own scorer reads says "aggregated_answers".
ANSWER_KEYS = ("annotations", "aggregated_answers")
_SPACE = re.compile(r"[ \t\r\n]*")
# An object of entries by id (or an empty one); any other object is itself an entry.
_MAPPING = re.compile(r'\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*\{)')


class _Answers(BaseModel):
    """Answers that annotators meant as one."""

    model_config = ConfigDict(strict=True, extra="allow")

    answers: list[str]
    en_answers: list[str] | None = None
    count: int = Field(ge=1, le=MOST_VOTES)


class _Entry(BaseModel):
    """One question's answers; ``idks`` may hold any further keys, and None for a column that it has no use for."""

    model_config = ConfigDict(strict=True, extra="allow")

    id: str = Field("", alias="ID")
    question: str
    en_question: str
    annotations: list[_Answers] = Field(validation_alias=AliasChoices(*ANSWER_KEYS))
    idks: dict[str, Annotated[int, Field(ge=0, le=MOST_VOTES)] | None]


_ENTRY = TypeAdapter(_Entry)


class Annotation(NamedTuple):
    """One question's answers, before its topic is known; its texts under the names the file gives them."""

    id: str
    question: str
    en_question: str
    groups: tuple[AnswerGroup, ...]
    idks: Mapping[str, int]
    row: int


class _EntryLocation(NamedTuple):
    """Where an entry is, for what there is to say of it."""

    data: DataSet
    path: Path
    row: int
    name: str

    def problem(self, message: str, hint: str | None = None) -> None:
        """Note what makes the entry unusable."""
        self.data.problems.append(DataError(message, path=self.path, row=self.row, column=self.name or None, hint=hint))

    def odd(self, message: str, severity: Severity = "warning") -> None:
        """Note what is odd but readable."""
        self.data.oddities.append(Finding(severity, str(self.path), message, self.row, self.name or None))


class JsonEntry(NamedTuple):
    """One value of a file's outermost object or list; ``key`` is "" in a list and in JSON lines."""

    key: str
    value: Any
    row: int


def read_entries(path: Path) -> tuple[list[JsonEntry], list[DataError]]:
    """Read an object of entries, a list of entries, or one entry after the other; problems are returned.

    Entries before the point where the file breaks are kept. A repeated key is a problem, for an ordinary reader would
    silently keep the last.
    """
    entries: list[JsonEntry] = []
    try:
        text = read_text(path)
        for entry in _entries(text):
            entries.append(entry)
    except DataError as error:
        return [], [error]
    except json.JSONDecodeError as error:
        hint = "The file ends too early: fetch or save it again." if not text[error.pos :].strip() else None
        return entries, [DataError(f"is not valid JSON ({error.msg}).", path=path, row=error.lineno, hint=hint)]
    first: dict[str, int] = {}
    problems = [
        DataError(f"the id {entry.key!r} is already in row {first[entry.key]}.", path=path, row=entry.row, hint=_OWN_ID)
        for entry in entries
        if entry.key and first.setdefault(entry.key, entry.row) != entry.row
    ]
    return entries, problems if entries else [DataError("holds no entries.", path=path)]


_OWN_ID = "Give every question its own id."


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _entries(text: str) -> Iterator[JsonEntry]:
    """Walk over the outermost level; what lies deeper is left to the standard decoder."""
    position = _past(text, 0)
    closing = "]" if text.startswith("[", position) else "}" if _MAPPING.match(text, position) else ""
    position, counted, row = _past(text, position + len(closing)), 0, 1
    while position < len(text) and not (closing and text.startswith(closing, position)):
        row, counted, key = row + text.count("\n", counted, position), position, ""
        if closing == "}":
            key, position = _decoded(text, position)
            if not isinstance(key, str):
                raise json.JSONDecodeError("a key must be a text in quotes", text, counted)
            position = _expected(":", text, position)
        value, position = _decoded(text, position)
        yield JsonEntry(key, value, row)
        if closing and not text.startswith(closing, position):
            position = _expected(",", text, position)
            if text.startswith(closing, position):
                raise json.JSONDecodeError("a comma before the end", text, position)
    if closing and _expected(closing, text, position) < len(text):
        raise json.JSONDecodeError("it goes on after its end", text, _expected(closing, text, position))


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _decoded(text: str, position: int) -> tuple[Any, int]:
    """The value at ``position``, and where the white space after it ends."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # NaN, numbers of thousands of digits, brackets in brackets
        raise json.JSONDecodeError(str(error)[:80], text, position) from None
    return value, _past(text, end)


def _past(text: str, position: int) -> int:
    """Where the white space at ``position`` ends."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _expected(sign: str, text: str, position: int) -> int:
    """Where what follows ``sign`` begins."""
    if not text.startswith(sign, position):
        raise json.JSONDecodeError(f"expected {sign!r}", text, position)
    return _past(text, position + 1)


def read_annotations(data: DataSet, path: Path) -> list[Annotation]:
    """Read one country's answers: an object by question id, a list, or JSON lines with the key ``ID`` (the hub's).

    Blank answers are dropped, ``en_answers`` may be empty or absent, and ``idks`` may hold any further keys.
    Problems are kept in ``data``, never raised: texts or counts of the wrong type, absent keys, answers without text.
    """
    entries, problems = read_entries(path)
    data.problems += problems
    annotations: list[Annotation] = []
    first: dict[str, int] = {}
    for entry in entries:
        before = len(data.problems)
        try:
            read = _ENTRY.validate_python(entry.value)
        except ValidationError as error:
            name = entry.key or str(entry.value.get("ID", "") if isinstance(entry.value, dict) else "")
            for detail in error.errors(include_url=False):
                field, message = ".".join(map(str, detail["loc"])) or "the entry", wrong_value(detail)
                _EntryLocation(data, path, entry.row, name).problem(f"{field!r}: {message[:1].lower()}{message[1:]}")
            continue
        location = _EntryLocation(data, path, entry.row, entry.key or read.id.strip())
        annotation = _annotation(location, entry.value, read)
        if not location.name:
            location.problem("has no 'ID'.")
        if not entry.key and first.setdefault(location.name, entry.row) != entry.row:
            location.problem(f"the id {location.name!r} is already in row {first[location.name]}.", _OWN_ID)
        if len(data.problems) == before:
            annotations.append(annotation)
    return annotations


def _annotation(location: _EntryLocation, value: Mapping[str, object], read: _Entry) -> Annotation:
    annotations, aggregated = (value.get(key) for key in ANSWER_KEYS)
    if annotations is not None and aggregated is not None and annotations != aggregated:
        location.problem("has both 'annotations' and 'aggregated_answers', and they differ.", "Keep one of them.")
    for key in read.model_extra or ():
        if key not in ANSWER_KEYS:
            location.odd(f"the key {key!r} is not one of the form's and is not read", "note")
    texts = {"question": read.question, "en_question": read.en_question}
    if not any(text.strip() for text in texts.values()):
        location.problem("has no text in either language.")
    for key, text in texts.items():
        if not text.strip():
            location.odd(f"{key!r} is blank: the question cannot be asked in that language")
            texts[key] = ""
    groups = tuple(_group(location, raw) for raw in read.annotations)
    return Annotation(
        location.name, texts["question"], texts["en_question"], groups, _idks(location, read), location.row
    )


def _group(location: _EntryLocation, raw: _Answers) -> AnswerGroup:
    for key in raw.model_extra or ():
        location.odd(f"an answer's key {key!r} is not one of the form's and is not read", "note")
    sides = []
    for key, values in (("answers", raw.answers), ("en_answers", raw.en_answers or [])):
        texts = tuple(value.strip() for value in values if value.strip())
        if len(texts) < len(values):
            location.odd(f"a blank text among {key!r} (dropped; the released scorer finds it in every reply)")
        sides.append(texts)
    if not sides[0]:
        location.problem("an answer has no text in 'answers'.", "Every answer needs its text in the local language.")
    return AnswerGroup(sides[0], sides[1], raw.count)


def _idks(location: _EntryLocation, read: _Entry) -> dict[str, int]:
    counts = dict.fromkeys(IDK_KEYS, 0) | {key: count for key, count in read.idks.items() if count is not None}
    for key, count in counts.items():
        if key not in IDK_KEYS:
            shown = repr(key) if len(repr(key)) <= 60 else repr(key)[:59] + "…"
            location.odd(f"'idks' holds the free text {shown} ({count}×): only the paper's rule counts it")
    for key in IDK_KEYS:
        if key not in read.idks:
            location.odd(f"'idks' has no {key!r} (taken as 0)")
    return counts
