"""Responses in files (JSON lines, CSV, TSV, Parquet) as tables with the same columns, every cell checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

from kapwa.errors import DataError, UsageError, nearest, raise_first
from kapwa.metrics.tokens import check_language
from kapwa.models.gate import text_of
from kapwa.records import CROSS
from kapwa.tables import MAX_CELL, WORKBOOKS, json_objects, open_table, parquet_batches, parquet_schema, warn_of
from kapwa.value_types import Row

# Columns that may hold the varied attribute; beside another of these, "language" is the language of the texts.
ATTRIBUTES: Final = ("nationality", "identity", "culture", "country", "religion", "city", "persona", "language")
JSON_LINES, SEPARATED, PARQUET = (".jsonl", ".ndjson"), (".csv", ".tsv", ".tab"), (".parquet", ".pq")
SUFFIXES: Final = (*JSON_LINES, *SEPARATED, *WORKBOOKS, *PARQUET)
DEFAULT_TASK: Final = "texts"
BATCH: Final = 20_000
_NUMBERS = ("sample", "temperature")
_FORM = (
    "A row is: task, topic, concept, nationality (or the column named by --attribute), sample, text; "
    "or item_id (topic/concept/nationality), sample, text."
)
_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
_TEXT = frozenset((str, type(None)))
Value = TypeVar("Value")


class ConceptKey(NamedTuple):
    """One concept of a task: its category ("moral_values") and name ("honesty")."""

    topic: str
    concept: str


class CorpusName(NamedTuple):
    """The columns that distinguish corpora within files."""

    task: str
    model: str
    temperature: float | None
    run: str
    variant: str
    language: str
    attribute: str


# The columns of every source, one row for each answer. ``text`` null: the model gave no answer. ``sample`` null: the
# file does not number samples. ``row``: as spreadsheets count (JSON lines: the line; Parquet, run: the record, from 1).
COLUMNS: Final = (*CorpusName._fields, *ConceptKey._fields, "identity", "sample", "text", "row")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The user's options for sources: the attribute, the task, and a label for files that name no model."""

    attribute: str | None = None
    task: str | None = None
    label: str | None = None


def batches(values: Iterable[Value]) -> Iterator[list[Value]]:
    """Yield ``values`` in lists of at most :data:`BATCH`."""
    iterator = iter(values)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def file_tables(path: Path, options: SourceOptions) -> Iterator[pl.DataFrame]:
    """Return the answers of a file as tables with :data:`COLUMNS`; reading them raises DataError naming the row.

    Raises UsageError for an ending that is not known.
    """
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return _parquet_tables(path, options)
    if suffix in JSON_LINES:
        return _text_tables(path, options, json_objects(path))
    if suffix in (*SEPARATED, *WORKBOOKS):
        return _text_tables(path, options, _table_rows(path))
    raise UsageError(f"{path} is not a file of responses.", hint=f"Known endings: {', '.join(SUFFIXES)}.")


def _table_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield each row of a table with its number, as spreadsheets count; raise DataError at the first faulty one."""
    table = open_table(path)
    raise_first(table.noted.problems)
    for number, cells in table.records:
        raise_first(table.noted.problems)
        yield number, cells
    raise_first(table.noted.problems)
    warn_of(path, table.noted.remarks)


def _text_tables(
    path: Path, options: SourceOptions, rows: Iterator[tuple[int, Mapping[str, object]]]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a text file as tables of strings; the first row determines the columns."""
    first = next(rows, None)
    if first is None:
        return
    columns = _find_columns(list(first[1]), path, options)
    for batch in batches(_cells(path, columns, chain([first], rows))):
        numbers, *values = zip(*batch, strict=True)
        cells: dict[str, Sequence[str | None]] = {}
        for name, column in zip(columns.used, values, strict=True):
            cells[name] = column if set(map(type, column)) <= _TEXT else _as_text(column, name, path, numbers)
        schema = dict.fromkeys(cells, pl.String)
        try:
            frame = pl.DataFrame(cells, schema=schema)
        except UnicodeEncodeError:
            # Lone surrogates, which UTF-8 cannot encode, become U+FFFD, as in a journal.
            frame = pl.DataFrame({name: [*map(_whole_text, column)] for name, column in cells.items()}, schema=schema)
        yield _checked(frame.with_columns(row=pl.Series(numbers)), path, columns, options)


def _whole_text(text: str | None) -> str | None:
    return text and text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cells(path: Path, columns: Columns, rows: Iterable[tuple[int, Mapping[str, object]]]) -> Iterator[tuple[Any, ...]]:
    """Yield number and cells of each row, as tuples, because dicts would slow the garbage collector down."""
    late = _MEANT - columns.present
    for number, record in rows:
        if "text" not in record:
            hint = "Write null where the model gave no answer."
            raise DataError("is missing.", path=path, row=number, column="text", hint=hint)
        if not late.isdisjoint(record):
            name = next(name for name in record if name in late)
            hint = "Write it in every row."
            raise DataError("is not in the first row.", path=path, row=number, column=name, hint=hint)
        yield (number, *map(record.get, columns.used))


def _as_text(column: Sequence[object], name: str, path: Path, rows: Sequence[int]) -> list[str | None]:
    """Write the numbers of a column as text; raise DataError for the first value of a column that must be text."""
    if name in _NUMBERS:
        return [None if value is None else str(value) for value in column]
    if name == "error":
        return [str(value) if value else None for value in column]
    row, value = next((row, value) for row, value in zip(rows, column, strict=True) if type(value) not in _TEXT)
    kind = "NaN" if str(value) == "nan" else _KINDS.get(type(value), f"a {type(value).__name__}")
    raise DataError(f"is {kind}, not text.", path=path, row=row, column=name)


def _parquet_tables(path: Path, options: SourceOptions) -> Iterator[pl.DataFrame]:
    schema = parquet_schema(path)
    columns = _find_columns(list(schema), path, options)
    for name in columns.used:
        kind, number = schema[name], name in _NUMBERS
        text = kind in (pl.String, pl.Categorical, pl.Enum) or (kind == pl.Null and name != "text")
        if not (text or (number and kind.is_numeric())):
            wanted = "numbers" if number else "text"
            raise DataError(f"is {kind}, not {wanted}.", path=path, column=name, hint=f"Write it as {wanted}.")
    row = 1
    for batch in parquet_batches(path, columns.used, BATCH):
        numbers = pl.int_range(row, row + batch.height, dtype=pl.Int64).alias("row")
        yield _checked(batch.cast(pl.String).with_columns(numbers), path, columns, options)
        row += batch.height


# -- columns --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one file.

    ``identity``: those of the identity; several are crossed; (): it is the last component of ``item_id``.
    ``present``: all columns; ``used``: those that are read; ``others``: those of them without the attribute.
    """

    attribute: str
    identity: tuple[str, ...]
    error: str | None
    present: frozenset[str]
    used: tuple[str, ...]
    others: frozenset[str]


_OPTIONAL = ("task", "model", "temperature", "run", "variant", "language")
_MEANT = frozenset({*ATTRIBUTES, *_OPTIONAL, "item_id", "topic", "concept", "sample"})


def _find_columns(names: Sequence[str], path: Path, options: SourceOptions) -> Columns:
    """Find the role of each of ``names``; raise DataError naming a missing column and its nearest name."""
    row = None if path.suffix.lower() in PARQUET else 1

    def missing(column: str) -> DataError:
        hint = f"{nearest(column, names)} {_FORM}"
        return DataError(f"column {column!r} is missing.", path=path, row=row, hint=hint)

    if "text" not in names:
        raise missing("text")
    by_id, has_topic = "item_id" in names, "topic" in names and "concept" in names
    if not has_topic and not by_id:
        raise missing("concept" if "topic" in names else "topic")
    candidates = [name for name in ATTRIBUTES if name in names]
    if len(candidates) > 1 and candidates[-1] == "language":
        candidates.pop()
    # The option names one column, or several with commas between (crossed).
    listed = (name.strip() for name in (options.attribute or "").replace(CROSS, ",").split(","))
    crossed = tuple(dict.fromkeys(filter(None, listed)))
    if crossed:
        candidates = [name for name in crossed if name in names]
        if len(crossed) > 1 and len(candidates) < len(crossed):
            raise missing(next(name for name in crossed if name not in names))
    if not candidates and not by_id:
        raise missing(options.attribute or "nationality")
    if len(candidates) > 1 and not by_id and not crossed:
        message = f"has several columns that may be the attribute: {', '.join(candidates)}."
        hint = f"Name the one that was varied in the prompt, for example --attribute {candidates[0]}"
        hint += f"; or all that were varied together: --attribute {','.join(candidates)}."
        raise DataError(message, path=path, row=row, hint=hint)
    identity = tuple(candidates) if crossed or len(candidates) == 1 else ()
    # A line of JSON may have a key "error" that the first line lacks.
    known = (*names, "error") if path.suffix.lower() in JSON_LINES else names
    error = next((name for name in ("outcome", "error") if name in known), None)
    wanted = {*_OPTIONAL, "sample", "text", *(("topic", "concept") if has_topic else ())} & set(names)
    wanted |= {name for name in (*identity, error) if name} | ({"item_id"} if not (has_topic and identity) else set())
    attribute = CROSS.join(crossed or identity or ("nationality",))
    others = frozenset(wanted.difference(identity))
    return Columns(attribute, identity, error, frozenset(names), tuple(sorted(wanted)), others)


# A check of cells: the condition for a faulty cell, its column, the message on its value, and the remedy.
Check = tuple[pl.Expr, str, str | Callable[[str], str], str | None]


def _checked(frame: pl.DataFrame, path: Path, columns: Columns, options: SourceOptions) -> pl.DataFrame:
    """Return a batch of strings as a table with :data:`COLUMNS`; raise DataError for the first faulty cell."""
    numbers = [name for name in _NUMBERS if name in columns.others]
    words = [name for name in columns.used if name not in (*numbers, "text", columns.error)]
    frame = frame.with_columns(*(_normal(frame[name]) for name in words), pl.col(numbers).str.strip_chars())
    if "item_id" in columns.used:
        pieces = pl.col("item_id").str.extract_groups(r"^([^/]*[^/\s][^/]*)/(.*\S.*)/([^/]*[^/\s][^/]*)$")
        frame = frame.with_columns(pieces.struct.rename_fields(["_topic", "_concept", "_identity"]).struct.unnest())
    checks = list(_checks(frame, columns, words))
    any_wrong = frame.select(wrong.any().alias(str(number)) for number, (wrong, *_) in enumerate(checks)).row(0)
    for (wrong, column, message, hint), refused in zip(checks, any_wrong, strict=True):
        if refused:
            row, value = frame.filter(wrong).select("row", column).row(0)
            text = message if isinstance(message, str) else message(value)
            raise DataError(text, path=path, row=row, column=column, hint=hint)

    def named(name: str, default: str) -> pl.Expr:
        cell = pl.when(pl.col(name) != "").then(name) if name in columns.others else pl.lit(None)
        return pl.coalesce(cell, pl.lit(default)).alias(name)

    def number(name: str, kind: type[pl.DataType]) -> pl.Expr:
        cell = pl.col(name).cast(pl.Float64, strict=False) if name in numbers else pl.lit(None)
        return cell.cast(kind).alias(name)

    has_topic = "topic" in columns.used
    identity = pl.concat_str(columns.identity, separator=CROSS) if columns.identity else pl.col("_identity")
    identity = identity.str.strip_chars()
    written = frame.select(pl.when(~_failed(columns)).then("text"))["text"]
    # Without the thought before the answer; a text that ends within its thought has no answer.
    answers = pl.Series("text", [text and text_of(text) for text in written], dtype=pl.String)
    return frame.with_columns(answers).select(
        named("task", options.task or DEFAULT_TASK),
        named("model", options.label or path.stem),
        number("temperature", pl.Float64),
        *(named(name, "") for name in ("run", "variant", "language")),
        pl.lit(columns.attribute).alias("attribute"),
        (pl.col("topic") if has_topic else pl.col("_topic").str.strip_chars()).alias("topic"),
        (pl.col("concept") if has_topic else pl.col("_concept").str.strip_chars()).alias("concept"),
        identity.alias("identity"),
        number("sample", pl.Int64),
        "text",
        "row",
    )


def _normal(cells: pl.Series) -> pl.Series:
    """Return names in NFC and without blanks around them; each is computed once, since a column repeats few names."""
    names = cells.unique()
    return cells.replace(names, names.str.normalize("NFC").str.strip_chars())


def _failed(columns: Columns) -> pl.Expr:
    """Whether a row says that there is no answer."""
    if columns.error is None:
        return pl.lit(value=False)
    reason = pl.col(columns.error).fill_null("")
    return reason == "failed" if columns.error == "outcome" else reason != ""


def _checks(frame: pl.DataFrame, columns: Columns, words: Sequence[str]) -> Iterator[Check]:
    """Yield the checks of the cells of a batch, in the order in which their errors are reported."""
    for name in words:
        cell = pl.col(name)
        if name not in _OPTIONAL or name in columns.identity:
            hint = "Every row needs one; leave the row out if it is not known."
            yield cell.fill_null("") == "", name, "is empty.", hint
        yield (
            (cell.str.len_chars() > 1000) | cell.str.contains("\n", literal=True),
            name,
            lambda value: f"is {len(value)} characters long or has line breaks: this is not a name.",
            "Look for a missing quote, or a separator in a cell.",
        )
    for language in frame["language"].drop_nulls().unique() if "language" in columns.others else ():
        try:
            check_language(language or "en")
        except UsageError as error:
            hint = f"Write its code, such as 'en' or 'am'. {error.hint or ''}".strip()
            yield pl.col("language") == language, "language", error.message, hint
    yield (
        ~_failed(columns) & (pl.col("text").str.len_chars() > MAX_CELL),
        "text",
        lambda value: f"holds {len(value)} characters; a text can have at most {MAX_CELL}.",
        "Shorten it, or look for a missing quote before it.",
    )
    for name in _NUMBERS:
        if name not in columns.others:
            continue
        number = pl.col(name).cast(pl.Float64, strict=False)
        known = (number.is_finite() & (number >= 0)).fill_null(value=False)
        if name == "temperature":
            wrong = ~known & (pl.col(name).fill_null("") != "")
            yield wrong, name, lambda value: f"{value[:40]!r} is not a number of at least 0.", None
        else:
            yield (
                ~(known & (number < 2**31) & (number == number.floor())).fill_null(value=False),
                name,
                lambda value: f"{value[:40]!r} is not a whole number of at least 0." if value else "is empty.",
                "Number the samples of an identity 0, 1, ..., or leave the column out.",
            )
    if "item_id" in columns.used:
        form = f"topic/concept/{columns.attribute}"
        yield pl.col("_topic").is_null(), "item_id", lambda value: f"{value[:60]!r} is not of the form {form}.", _FORM
