"""Which column of a responses file holds what, and one answer of a file as the index takes it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import MAX_CELL
from kapwa.metrics.tokens import check_language

# Columns that may hold the perturbed attribute; "language" stands for metadata where another one is there too.
ATTRIBUTES = ("nationality", "identity", "culture", "country", "religion", "city", "persona", "language")
MEANT = frozenset(
    {*ATTRIBUTES, "item_id", "task", "topic", "concept", "sample", "model", "temperature", "run", "variant"}
)
DEFAULT_TASK = "texts"
_SPLITTING = ("task", "model", "temperature", "run", "variant")
_FORM = (
    "A row is: task, topic, concept, nationality (or the column named by --attribute), sample, text; "
    "or item_id (topic/concept/nationality), sample, text."
)


class ConceptKey(NamedTuple):
    """One concept of a task: its category ("moral_values") and name ("honesty")."""

    topic: str
    concept: str


class CorpusName(NamedTuple):
    """What tells one corpus from another inside files."""

    task: str
    model: str
    temperature: float | None = None
    run: str = ""
    variant: str = ""
    language: str = ""
    attribute: str = "nationality"


class Found(NamedTuple):
    """One answer of a source. ``place`` is where its text is found again; ``text`` None: the model gave none.

    ``number`` is the line (Parquet: the record, from 1), ``sample`` None where the file numbers none.
    """

    name: CorpusName
    key: ConceptKey
    identity: str
    sample: int | None
    text: str | None
    place: int
    number: int


class TextSource(Protocol):
    """A file (or run) that holds answers: walked through once, then asked for texts by place."""

    @property
    def path(self) -> Path:
        """The file or folder."""
        ...

    def answers(self) -> Iterator[Found]:
        """Yield every answer once; raise DataError naming file, row and column."""
        ...

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:
        """Return the texts at ``places``, in order; ``samples`` are the numbers that :meth:`answers` gave them."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said of the sources: the attribute, the task, and a name for what names no model."""

    attribute: str | None = None
    task: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one file. ``identity`` None: the identity is the last part of ``item_id``."""

    attribute: str
    identity: str | None
    topic: str | None
    concept: str | None
    splitting: tuple[str, ...]
    language: str | None
    sample: str | None
    error: str | None

    def placing(self) -> list[str]:
        """The columns that say of which concept a row is, at least two: itemgetter then gives a tuple."""
        if self.identity and self.concept:
            return ["topic", "concept"]
        return ["item_id", *(["topic", "concept"] if self.concept else ["item_id"])]

    def used(self) -> list[str]:
        """Every column that is read."""
        named = [self.identity, self.language, self.sample, self.error, *self.splitting]
        return list(dict.fromkeys([*self.placing(), *(name for name in named if name), "text"]))


def find_columns(names: Sequence[str], path: Path, attribute: str | None, *, row: int | None = 1) -> Columns:
    """Decide which of ``names`` holds what; raise DataError naming the missing column and its nearest name.

    ``row``: where the names stand in the file; None where they stand in no row.
    """
    if "text" not in names:
        raise _missing("text", names, path, row)
    by_id = "item_id" in names
    placed = "topic" in names and "concept" in names
    if not placed and not by_id:
        raise _missing("concept" if "topic" in names else "topic", names, path, row)
    identity = _identity_column(names, path, attribute, row)
    return Columns(
        attribute=attribute or identity or "nationality",
        identity=identity,
        topic="topic" if placed else None,
        concept="concept" if placed else None,
        splitting=tuple(name for name in _SPLITTING if name in names and name != identity),
        language="language" if "language" in names and identity != "language" else None,
        sample="sample" if "sample" in names else None,
        error=next((name for name in ("outcome", "error") if name in names), None),
    )


def _identity_column(names: Sequence[str], path: Path, attribute: str | None, row: int | None) -> str | None:
    """The attribute's column; None where the item_id tells it."""
    if attribute is not None:
        if attribute in names or "item_id" in names:
            return attribute if attribute in names else None
        raise _missing(attribute, names, path, row)
    present = [name for name in ATTRIBUTES if name in names]
    if len(present) > 1 and present[-1] == "language":
        present.pop()
    if len(present) == 1:
        return present[0]
    if "item_id" in names:
        return None
    if present:
        raise DataError(
            f"has several columns that may be the attribute: {', '.join(present)}.",
            path=path,
            row=row,
            hint=f"Name the one that was varied in the prompt, for example --attribute {present[0]}.",
        )
    raise _missing("nationality", names, path, row)


def _missing(column: str, names: Sequence[str], path: Path, row: int | None) -> DataError:
    return DataError(f"column {column!r} is missing.", path=path, row=row, hint=f"{nearest(column, names)} {_FORM}")


class RowReader:
    """Turns the records of one file into :class:`Found` answers, checking every cell.

    ``model`` names the answers of a file that has no such column.
    """

    def __init__(self, path: Path, columns: Columns, asked: Asked, model: str) -> None:
        self._path, self._columns, self._asked, self._model = path, columns, asked, model
        self._naming = (*columns.splitting, columns.language) if columns.language else columns.splitting
        self._by_temperature = "temperature" in columns.splitting
        self._last_naming: list[Any] | None = None
        self._last_name = CorpusName(DEFAULT_TASK, model)
        self._cells = itemgetter(*self._naming, *columns.placing())
        self._last_cells: tuple[Any, ...] | None = None
        self._last = (self._last_name, ConceptKey("", ""), "")
        self._clean: dict[str, str] = {}
        self._languages: set[str] = set()
        self._split_ids: dict[str, tuple[ConceptKey, str]] = {}
        self._keys: dict[tuple[str, str], ConceptKey] = {}

    def __call__(self, record: Mapping[str, Any], number: int, place: int) -> Found:
        """Return the answer in ``record``; raise DataError naming ``number`` and the column at fault."""
        # Thousands of rows in a row are of one corpus and concept: cells are compared sooner than they are read.
        cells = self._cells_of(record)
        if cells is None or cells != self._last_cells:
            self._last, self._last_cells = self._placed(record, number), cells
        name, key, identity = self._last
        if self._columns.identity is not None:
            identity = self._word(record, self._columns.identity, number)
        sample, text = self._sample(record, number), self._text(record, number)
        return Found(name, key, identity, sample, text, place, number)

    def _cells_of(self, record: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the cells that say of which corpus and concept a row is; None where the row lacks one."""
        try:
            cells: tuple[Any, ...] = self._cells(record)
        except KeyError:
            return None
        return cells

    def _placed(self, record: Mapping[str, Any], number: int) -> tuple[CorpusName, ConceptKey, str]:
        columns, identity = self._columns, ""
        if columns.identity is None or columns.concept is None:
            key, identity = self._from_id(record, number)
        if columns.concept is not None:
            key = self._key(record, number)
        return self._name(record, number), key, identity

    def _fault(self, message: str, number: int, column: str, hint: str | None = None) -> DataError:
        return DataError(message, path=self._path, row=number, column=column, hint=hint)

    def _word(self, record: Mapping[str, Any], column: str, number: int) -> str:
        value = record.get(column)
        known = self._clean.get(value) if isinstance(value, str) else None
        if known is not None:
            return known
        if value is None or value == "":
            raise self._fault("is empty.", number, column, _NEEDED)
        if not isinstance(value, str):
            raise self._fault(f"is {_kind(value)}, not text.", number, column)
        clean = unicodedata.normalize("NFC", value.strip())
        if not clean:
            raise self._fault("is blank.", number, column, _NEEDED)
        if len(clean) > 1000 or "\n" in clean:
            raise self._fault(f"is {len(clean)} characters long or has line breaks: no name.", number, column, _QUOTE)
        self._clean[value] = clean
        return clean

    def _key(self, record: Mapping[str, Any], number: int) -> ConceptKey:
        topic, concept = self._word(record, "topic", number), self._word(record, "concept", number)
        key = self._keys.get((topic, concept))
        if key is None:
            key = self._keys[topic, concept] = ConceptKey(topic, concept)
        return key

    def _from_id(self, record: Mapping[str, Any], number: int) -> tuple[ConceptKey, str]:
        item_id = self._word(record, "item_id", number)
        parts = self._split_ids.get(item_id)
        if parts is None:
            topic, _, rest = item_id.partition("/")
            concept, _, identity = rest.rpartition("/")
            if not (topic.strip() and concept.strip() and identity.strip()):
                form = f"topic/concept/{self._columns.attribute}"
                raise self._fault(f"{item_id[:60]!r} is not of the form {form}.", number, "item_id", _FORM)
            parts = self._split_ids[item_id] = (ConceptKey(topic.strip(), concept.strip()), identity.strip())
        return parts

    def _name(self, record: Mapping[str, Any], number: int) -> CorpusName:
        columns = self._columns
        # A list of cells is compared sooner than it is hashed.
        cells = [record.get(column) for column in self._naming]
        if cells == self._last_naming:
            return self._last_name
        words = {
            column: self._word(record, column, number) if cell not in (None, "") else ""
            for column, cell in zip(self._naming, cells, strict=True)
            if column != "temperature"
        }
        name = CorpusName(
            task=words.get("task") or self._asked.task or DEFAULT_TASK,
            model=words.get("model") or self._asked.label or self._model,
            temperature=self._temperature(record.get("temperature"), number) if self._by_temperature else None,
            run=words.get("run", ""),
            variant=words.get("variant", ""),
            language=self._language(words.get(columns.language or "", ""), number),
            attribute=columns.attribute,
        )
        self._last_naming, self._last_name = cells, name
        return name

    def _language(self, code: str, number: int) -> str:
        """Return ``code``; raise where nothing is known of how to cut its words, before any text is compared."""
        if code and code not in self._languages:
            try:
                check_language(code)
            except UsageError as error:
                hint = f"Write its code, such as 'en' or 'am'. {error.hint or ''}".strip()
                raise self._fault(error.message, number, "language", hint) from None
            self._languages.add(code)
        return code

    def _temperature(self, value: Any, number: int) -> float | None:
        if value is None or value == "":
            return None
        try:
            found = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not (math.isfinite(found) and found >= 0):
            raise self._fault(f"{str(value)[:40]!r} is not a number of at least 0.", number, "temperature")
        return found

    def _sample(self, record: Mapping[str, Any], number: int) -> int | None:
        if self._columns.sample is None:
            return None
        value = record.get(self._columns.sample)
        if type(value) is int and 0 <= value < 2**31:
            return value
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else value
        if isinstance(text, str) and text.isascii() and text.strip().isdigit() and len(text.strip()) < 10:
            return int(text)
        shown = "is empty" if value in (None, "") else f"{str(value)[:40]!r} is not a whole number of at least 0"
        hint = "Number the samples of an identity 0, 1, ..., or leave the column out."
        raise self._fault(f"{shown}.", number, self._columns.sample, hint)

    def _text(self, record: Mapping[str, Any], number: int) -> str | None:
        error = record.get(self._columns.error) if self._columns.error else None
        if error and (self._columns.error == "error" or error == "failed"):
            return None
        value = record.get("text")
        if value is None:
            if "text" not in record:
                raise self._fault("is missing.", number, "text", "Write null where the model gave no answer.")
            return None
        if not isinstance(value, str):
            raise self._fault(f"is {_kind(value)}, not text.", number, "text")
        if len(value) > MAX_CELL:
            message = f"holds {len(value)} characters; at most {MAX_CELL} can be one text."
            raise self._fault(message, number, "text", _TOO_LONG)
        return value


_NEEDED = "Every row needs one; leave the row out if it is not known."
_TOO_LONG = "Shorten it, or look for a missing quote before it."
_QUOTE = "Look for a missing quote, or a separator in a cell."


def _kind(value: object) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    names: Mapping[type, str] = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")


def clean_text(text: str) -> str:
    """Return ``text`` with lone surrogates, which no UTF-8 can hold, as U+FFFD (what a journal does too)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def check_attribute(attribute: str | None) -> None:
    """Raise UsageError for an attribute that no column could be named by."""
    if attribute is not None and not attribute.strip():
        raise UsageError("--attribute names no column.", hint=f"For example: {', '.join(ATTRIBUTES)}.")
