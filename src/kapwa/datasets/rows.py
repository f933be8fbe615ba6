"""Rows of a form's tables: one pydantic model says which columns a table has, and reading and JSON Schemas follow.

>>> class Answer(Row):
...     local: Annotated[FilledTexts, LOCAL] = Field(description="The answers, separated by ';'.")
...     votes: Annotated[int, whole(least=1)]
>>> answers = read_rows(read_records(path), Answer, {"culture": "Thai", "language": "th"})
>>> answers.rows[0].local, answers.rows[0].origin.row, answers.problems
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from kapwa.datasets.card import Tag
from kapwa.datasets.findings import Finding, Severity
from kapwa.datasets.lost_letters import WrittenText, find_lost_letters
from kapwa.errors import DataError, nearest, raise_first
from kapwa.languages.codes import NO_TAG, scripts_of, tag_hint
from kapwa.languages.same import same_text
from kapwa.tables import Record, TextTable, read_records, written_value
from kapwa.tables.wrong_values import wrong_value
from kapwa.value_types import Cells

SEPARATOR = ";"
_OTHER_JSON = "holds JSON that is not a list of texts or numbers."
_AS_TEXTS = 'Separate texts by ";", or write a list of them: ["tea", "coffee"].'
TRUE_WORDS, _FALSE_WORDS = ("true", "yes", "1", "x"), ("", "false", "no", "0")
MOST_VOTES = 1_000_000
_SIGNS = re.compile(r"[\s_-]+")
# Programs write 3 as 3.0 where a cell of the column is empty.
_WHOLE = re.compile(r"([0-9]{1,7})(?:\.0)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# The value that a column has in rows whose cell is empty, such as {"culture": "Thai", "language": "th"} from a card.
Defaults = Mapping[str, str]
# Used instead of a bad card's values, so that its error is reported once and not for every row.
UNKNOWN_DEFAULTS: Defaults = {"culture": "unknown", "language": "und"}


class Origin(NamedTuple):
    """Where a row came from."""

    path: Path
    row: int

    @property
    def pack_file(self) -> str:
        """The file with the folder of its pack, as messages about several packs name it."""
        return f"{self.path.parent.name}/{self.path.name}"

    def problem(self, message: str, column: str | None = None, hint: str | None = None) -> DataError:
        """Return an error that stops a run: what is wrong with the row, or with a cell of it."""
        return DataError(message, path=self.path, row=self.row, column=column, hint=hint)

    def finding(self, severity: Severity, message: str, column: str | None = None) -> Finding:
        """Return a finding on the row, or on a cell of it."""
        return Finding(severity, str(self.path), message, self.row, column)


# As Origin(...), in half the time.
origin_at = cast(Callable[[tuple[Path, int]], Origin], partial(tuple.__new__, Origin))


class CellProblem(NamedTuple):
    """A problem with one cell of a row that is otherwise valid; ``field`` is the name in the model."""

    field: str
    message: str
    hint: str | None = None


def cell_error(message: str, hint: str | None = None) -> PydanticCustomError:
    """Return the error that a validator of a cell raises: what is wrong (a sentence without its subject), a remedy."""
    return PydanticCustomError("cell", "{message}", {"message": message, "hint": hint})


def split_texts(cell: Any) -> tuple[str, ...]:
    """Split a cell at ";" (or take a list, which it may write as JSON does), strip each text, drop the empty ones."""
    pieces = cell
    if isinstance(cell, str):
        value = written_value(cell) if cell.startswith(("[", "{")) else None
        listed = isinstance(value, list) and all(type(item) in (str, int, float) for item in value)
        pieces = value if listed else cell.split(SEPARATOR)
    return tuple([text for piece in pieces if (text := str(piece).strip())])


def _plain_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise cell_error(f"{text[:40]!r} is not a plain name.", "Use letters, digits, '-', '_' and '.'.")
    return text


def _yes_or_no(cell: object) -> bool:
    value = cell.strip().lower() if isinstance(cell, str) else ""
    if value not in TRUE_WORDS + _FALSE_WORDS:
        raise cell_error(f"{value!r} is neither true nor false.")
    return value in TRUE_WORDS


def _as_whole(cell: object, least: int) -> int | None:
    text = cell.strip() if isinstance(cell, str) else str(cell)
    if not text:
        return None
    whole_number = _WHOLE.fullmatch(text)
    if not whole_number or not least <= int(whole_number[1]) <= MOST_VOTES:
        shown = text if len(text) <= 40 else text[:39] + "…"
        raise cell_error(f"{shown!r} is not a whole number from {least} to {MOST_VOTES:,}.")
    return int(whole_number[1])


def whole(least: int) -> BeforeValidator:
    """Read a cell as a whole number of at least ``least``; an empty cell is None."""
    return BeforeValidator(lambda cell: _as_whole(cell, least))


def one_of(known: Sequence[str], what: str) -> Callable[[str], str]:
    """Return a validator of a cell that must be one of ``known`` (which may include "")."""

    def check(value: str) -> str:
        if value not in known:
            raise cell_error(f"{value!r} is not {what}.", nearest(value, known))
        return value

    return check


TEXT = {"type": ["string", "null"]}
_FILLED = {"type": "string", "pattern": r"\S"}
_LIST = {"type": "array", "items": {"type": ["string", "number"]}}
_FILLED_LIST = {"type": "array", "items": {"type": ["string", "number"], "pattern": r"\S"}, "minItems": 1}
_SPLIT = BeforeValidator(split_texts)
Text = Annotated[str, StringConstraints(strip_whitespace=True), WithJsonSchema(TEXT)]
Filled = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), WithJsonSchema(_FILLED)]
# An id that may be used in the name of a variant or a file.
PlainName = Annotated[Filled, AfterValidator(_plain_name)]
Texts = Annotated[tuple[str, ...], _SPLIT, WithJsonSchema({"anyOf": [TEXT, _LIST]})]
FilledTexts = Annotated[
    tuple[str, ...], Field(min_length=1), _SPLIT, WithJsonSchema({"anyOf": [_FILLED, _FILLED_LIST]})
]
YesNo = Annotated[bool, BeforeValidator(_yes_or_no), WithJsonSchema({"type": ["string", "boolean", "null"]})]
# The row's own culture or language, else the card's.
Culture = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), WithJsonSchema(TEXT)]
Language = Annotated[Tag, WithJsonSchema(TEXT)]


class WrittenIn(NamedTuple):
    """Marks a column whose texts are in one language: that of the row ("") or a given one.

    ``prose``: they must be written in its script, and are not names or numbers that may be in another.
    """

    language: str
    prose: bool = True


LOCAL, ENGLISH, NAMES = WrittenIn(""), WrittenIn("en"), WrittenIn("und", prose=False)


class RowModel(BaseModel):
    """One row of a table; subclasses declare its columns, and those without a default are required."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    # The columns whose combined values must differ between rows; the first one is named in the error.
    unique: ClassVar[tuple[str, ...]] = ()
    # Further columns that are allowed, as a regular expression, and their names in hints (see ``model_extra``).
    more_columns: ClassVar[str] = "(?!)"
    more_shown: ClassVar[tuple[str, ...]] = ()
    # What to do where a column's cell is empty, if it is not "Every row needs one.".
    remedies: ClassVar[Mapping[str, str]] = {}

    origin: SkipJsonSchema[SkipValidation[Origin]]
    canary: Text = Field("", description="The mark of a release, the same in every row; never asked or scored.")

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield problems between cells that are valid by themselves."""
        yield from ()


RowT = TypeVar("RowT", bound=RowModel)


class NotedRow(RowModel):
    """A row with columns for its writers, which are used in no prompt and no score."""

    notes: Text = Field("", description="The writers' own; never asked or scored.")
    source: Text = Field("", description="The writers' own; never asked or scored.")


class RowsRead(NamedTuple, Generic[RowT]):
    """The valid rows of a table, the problems that stop a run, and the oddities that do not."""

    rows: list[RowT]
    problems: list[DataError]
    oddities: list[Finding]


@cache
def columns_of(model: type[RowModel]) -> dict[str, bool]:
    """Return the columns of a row model by the names that files use, and whether each must be there."""
    fields = {name: field for name, field in model.model_fields.items() if name != "origin"}
    return {field.alias or name: field.is_required() for name, field in fields.items()}


def _heading(name: str) -> str:
    """Return a column's name in a form that ignores spaces and signs, and is equal for the same text."""
    return _SIGNS.sub("", same_text(name))


_ONE_NAME = "the columns {} have the same name, written in two ways: make sure that the right one is read"


def _by_heading(header: Sequence[str]) -> dict[str, list[str]]:
    """Group the names of columns that differ by case, spaces or signs alone."""
    names: dict[str, list[str]] = {}
    for name in header:
        names.setdefault(_heading(name), []).append(name)
    return names


def named_alike(table: TextTable, known: Collection[str]) -> tuple[TextTable, list[Finding]]:
    """Return ``table`` with the ``known`` names for columns that differ from them by case, spaces or signs alone.

    A note lists them. Where two columns would get the same name, neither is renamed, and a warning names both.
    """
    wanted = set(map(_heading, known))
    warnings = [
        Finding("warning", str(table.path), _ONE_NAME.format(" and ".join(map(repr, alike))), 1, alike[-1])
        for heading, alike in _by_heading(table.header).items()
        if heading in wanted and len(alike) > 1
    ]
    meant = {_heading(name): name for name in known if name not in table.header}
    names = {name: meant.get(_heading(name), name) for name in table.header}
    columns_with = Counter(names.values())
    names = {name: meant_name if columns_with[meant_name] == 1 else name for name, meant_name in names.items()}
    changed = ", ".join(f"{name!r} as {to!r}" for name, to in names.items() if name != to)
    if not changed:
        return table, warnings
    notes = [Finding("note", str(table.path), f"columns with another spelling of their names are read: {changed}")]
    notes += warnings
    return _with_columns(table, names), notes


def _with_columns(table: TextTable, names: Mapping[str, str]) -> TextTable:
    """Return ``table`` with the columns in ``names`` alone, each under its new name."""
    records = []
    for row, cells in table.records:
        records.append(Record(row, {names[name]: cell for name, cell in cells.items() if name in names}))
    return table._replace(header=tuple(names[name] for name in table.header if name in names), records=records)


def known_columns(table: TextTable, model: type[RowModel]) -> TextTable:
    """Return ``table`` without the columns that ``model`` does not have, for files with further columns."""
    names = [*columns_of(model), *(name for name in table.header if re.fullmatch(model.more_columns, name))]
    return _with_columns(table, {name: name for name in names})


def rows_of_file(path: str | Path, model: type[RowT], *, what: str) -> Sequence[RowT]:
    """Return the rows of a table that is read alone; raise the first problem of the file or of a row."""
    table = read_records(Path(path))
    read = read_rows(table, model, what=what)
    raise_first([*table.problems, *read.problems])
    return read.rows


def read_rows(
    table: TextTable,
    model: type[RowT],
    defaults: Defaults | None = None,
    *,
    what: str = "this form",
    language_of: Callable[[Record], str] | None = None,
) -> RowsRead[RowT]:
    """Read the rows of ``table`` as ``model``, and return every problem with its row, column and remedy.

    ``defaults``: values for empty cells of a column, such as culture and language of a card. ``what`` names the form in
    errors. ``language_of``: returns the language of a row's local texts, where its own column or the defaults do not
    have it. For a table with wrong columns, or whose letters were lost when it was saved, only these problems are
    returned.
    """
    known = columns_of(model)
    table, renamed = named_alike(table, known)
    problems = column_problems(table, model, what)
    if problems or not table.records:
        return RowsRead([], problems, renamed)
    values = dict(defaults or {})
    whose_data = {"culture", "language"} & set(known)
    if whose_data and not (values.get("culture") or whose_data <= set(table.header)):
        hint = "Put a card.yaml beside it (the form in docs/reference), or add the columns culture and language."
        lacking = " nor ".join(f"which {name}" for name in ("culture", "language") if name not in table.header)
        message = f"says {'neither' if ' nor ' in lacking else 'not'} {lacking} it is."
        problems = [DataError(message, path=table.path, hint=hint)]
        values |= UNKNOWN_DEFAULTS
    lost, oddities = find_lost_letters(_written_texts(table, model, values.get("language", ""), language_of))
    if lost:  # lost letters cause other errors too, which would only repeat this one
        return RowsRead([], [*problems, *lost], [*renamed, *oddities])
    usual = [name for name in values if name in known]
    cells: list[Cells] = []
    for record in table.records:
        row: Cells = {**record.cells, "origin": origin_at((table.path, record.row))}
        for name in usual:
            cell = row.get(name)
            if not cell or not str(cell).strip():
                row[name] = values[name]
        cells.append(row)
    rows, wrong = _validated(cells, model)
    if wrong:
        faulty = {problem.row for problem in wrong}
        stray = {problem.row: problem for problem in _stray_rows(table, known) if problem.row in faulty}
        wrong = [*stray.values(), *(problem for problem in wrong if problem.row not in stray)]
    return RowsRead(rows, [*problems, *wrong], [*renamed, *oddities])


def _stray_rows(table: TextTable, known: Mapping[str, bool]) -> Iterator[DataError]:
    """Yield a problem for each row with hardly any cell of the form, or with the sum of the rows above."""
    needed = [name for name, required in known.items() if required]
    sums = dict.fromkeys(table.header, 0.0)
    for index, record in enumerate(table.records):
        cells = {name: str(cell).strip() for name, cell in record.cells.items() if cell and str(cell).strip()}
        empty = [name for name in needed if name not in cells]
        numbers = {name: float(cell) for name, cell in cells.items() if re.fullmatch(r"\d+(\.\d+)?", cell)}
        summed = [name for name, number in numbers.items() if number == sums[name] > 0]
        if empty and summed and index > 2:  # a second row may equal the first by chance, and ids 1, 2, 3 add up too
            message = f"{cells[summed[0]]} is the sum of the rows above, and the row has no {empty[0]!r}."
            hint = "Delete the row if it is a total; else fill it in."
            yield DataError(message, path=table.path, row=record.row, column=summed[0], hint=hint)
            continue
        for name, number in numbers.items():
            sums[name] += number
        if not empty or len(cells) > min(len(empty), 2) or len(table.header) <= 3:
            continue
        shown = next(iter(cells.values()), "")
        more = f" and {len(empty) - 1} more that every row needs" if len(empty) > 1 else ""
        message = f"{shown[:60]!r} is in a row without {empty[0]!r}{more}."
        hint = "Delete the row if it is a note or a total (a column 'notes' is for notes); else fill it in."
        yield DataError(message, path=table.path, row=record.row, column=next(iter(cells), None), hint=hint)


def _validated(cells: Sequence[Cells], model: type[RowT]) -> tuple[list[RowT], list[DataError]]:
    """Return the valid rows, and the problems of the others in their order; pydantic validates all in one call."""
    adapter: TypeAdapter[list[RowT]] = TypeAdapter(list[model])  # type: ignore[valid-type]
    wrong: list[DataError] = []
    try:
        rows = adapter.validate_python(cells)
    except ValidationError as error:
        details = error.errors(include_url=False)
        bad = {int(detail["loc"][0]) for detail in details}
        rows = adapter.validate_python([row for i, row in enumerate(cells) if i not in bad])
        wrong = [_cell_problem(cells[int(detail["loc"][0])]["origin"], model, detail) for detail in details]
    aliases = {name: field.alias or name for name, field in model.model_fields.items()}
    columns = [aliases[name] for name in model.unique]
    first: dict[tuple[str, ...], int] = {}
    for row in cells if columns else ():
        key = tuple([str(row.get(column, "")).strip() for column in columns])
        before = first.setdefault(key, row["origin"].row)
        if before != row["origin"].row and key[0]:
            name, *others = model.unique
            same = f", which has the same {' and '.join(others)}" if others else ""
            remedy = f"Keep one of the two rows, or change its {name}." if others else f"Give every row its own {name}."
            message = f"{key[0]!r} is already the {name} of row {before}{same}."
            wrong.append(row["origin"].problem(message, columns[0], remedy))
    lists = [name for name, field in model.model_fields.items() if field.annotation == tuple[str, ...]]
    for sound in rows:
        for name in lists:
            texts = getattr(sound, name)
            if texts and texts[0][0] in "[{" and written_value(SEPARATOR.join(texts)) is not None:
                wrong.append(sound.origin.problem(_OTHER_JSON, aliases[name], _AS_TEXTS))
        for name, message, hint in sound.contradictions():
            wrong.append(sound.origin.problem(message, aliases.get(name, name), hint))
    if not wrong:
        return rows, []
    faulty = {problem.row for problem in wrong}
    return [row for row in rows if row.origin.row not in faulty], sorted(wrong, key=lambda problem: problem.row or 0)


def _cell_problem(origin: Origin, model: type[RowModel], detail: Any) -> DataError:
    column, context, kind = str(detail["loc"][1]), detail.get("ctx", {}), detail["type"]
    if kind == "string_pattern_mismatch":
        return origin.problem(NO_TAG.format(detail["input"]), column, tag_hint(detail["input"]))
    if kind == "string_too_short" and column in UNKNOWN_DEFAULTS:
        hint = "Fill it in, or put a card.yaml beside the file."
        return origin.problem("is empty, and no card.yaml says it.", column, hint)
    if kind in ("missing", "string_too_short", "too_short"):
        usual = "Separate several texts with ';'." if kind == "too_short" else "Every row needs one."
        return origin.problem("is empty.", column, model.remedies.get(column, usual))
    if kind == "string_type":
        return origin.problem("is a list, but one text is needed.", column)
    return origin.problem(str(context.get("message") or wrong_value(detail)), column, context.get("hint"))


def column_problems(table: TextTable, model: type[RowModel], what: str) -> list[DataError]:
    """Report missing columns, and columns that ``model`` does not have (a misspelt one gives both problems)."""
    header, known = table.header, columns_of(model)
    problem = partial(DataError, path=table.path, row=1)
    missing = [name for name, required in known.items() if header and required and name not in header]
    problems = [problem("is missing.", column=name, hint=nearest(name, header)) for name in missing]
    unknown = [name for name in header if name not in known and not re.fullmatch(model.more_columns, name)]
    shown = (*known, *model.more_shown)
    problems += [problem(f"is not a column of {what}.", column=name, hint=nearest(name, shown)) for name in unknown]
    return problems


def _written_texts(
    table: TextTable, model: type[RowModel], usual: str, language_of: Callable[[Record], str] | None
) -> Iterator[WrittenText]:
    """Yield every text of a marked column with the language in which it should be written."""
    fields = [(field.alias or name, field.metadata) for name, field in model.model_fields.items()]
    marked = [(name, mark) for name, marks in fields for mark in marks if isinstance(mark, WrittenIn)]
    # The name of a column such as text_fil has its language.
    more = [name for name in table.header if re.fullmatch(model.more_columns, name)]
    marked += [(name, WrittenIn(name.partition("_")[2], prose=False)) for name in more]
    english = [column for column, mark in marked if mark.language == "en"]
    # Names are only checked for question marks.
    for name, mark in [pair for pair in marked if not pair[1].prose]:
        names = [record.cells.get(name, "") for record in table.records]
        if not any("?" in (cell if isinstance(cell, str) else "".join(cell)) for cell in names):
            marked.remove((name, mark))
    for record in table.records if marked else ():
        local = language_of(record) if language_of else str(record.cells.get("language", "")).strip() or usual
        for column, mark in marked:
            cell = record.cells.get(column, "")
            text = (cell if isinstance(cell, str) else SEPARATOR.join(cell)).strip()
            language = mark.language or local
            # In a language without its own script, only a "?" before the end is a sign of lost letters.
            if text and ("?" in text[:-1] or text == "?" or scripts_of(language)):
                # A local text that is the same in English is reported by the check of texts, not here too.
                same = mark.language != "en" and any(record.cells.get(name) == cell for name in english)
                yield WrittenText(table.path, record.row, column, language, text, mark.prose and not same)
