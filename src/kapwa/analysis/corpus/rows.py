"""Responses in files (JSON lines, CSV, TSV, Parquet) as tables with the same columns, every cell checked."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.metrics.tokens import check_language
from kapwa.tables_io import MAX_CELL

# Columns that may hold the varied attribute; beside another of these, "language" is the language of the texts.
ATTRIBUTES: Final = ("nationality", "identity", "culture", "country", "religion", "city", "persona", "language")
JSON_LINES, TABLES, PARQUET = (".jsonl", ".ndjson"), (".csv", ".tsv", ".tab"), (".parquet", ".pq")
SUFFIXES: Final = (*JSON_LINES, *TABLES, *PARQUET)
DEFAULT_TASK: Final = "texts"
BATCH: Final = 20_000
_NUMBERS = ("sample", "temperature")
_SAVE_UTF8 = "Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8') and try again."
_FORM = (
    "A row is: task, topic, concept, nationality (or the column named by --attribute), sample, text; "
    "or item_id (topic/concept/nationality), sample, text."
)
_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
Value = TypeVar("Value")


class ConceptKey(NamedTuple):
    """One concept of a task: its category ("moral_values") and name ("honesty")."""

    topic: str
    concept: str


class CorpusName(NamedTuple):
    """What tells one corpus from another inside files."""

    task: str
    model: str
    temperature: float | None
    run: str
    variant: str
    language: str
    attribute: str


# What every source gives, one row an answer. ``text`` null: the model gave none. ``sample`` null: the file numbers
# none. ``row``: the line of the file (Parquet, run: the record, from 1).
COLUMNS: Final = (*CorpusName._fields, *ConceptKey._fields, "identity", "sample", "text", "row")


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said of the sources: the attribute, the task, and a name for what names no model."""

    attribute: str | None = None
    task: str | None = None
    label: str | None = None


def batches(values: Iterable[Value]) -> Iterator[list[Value]]:
    """Yield ``values`` in lists of at most :data:`BATCH`."""
    iterator = iter(values)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def file_tables(path: Path, options: Options) -> Iterator[pl.DataFrame]:
    """Return the answers of a file as tables with :data:`COLUMNS`; reading them raises DataError naming the row.

    Raises UsageError for an ending that is not known.
    """
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return _parquet_tables(path, options)
    if suffix in JSON_LINES:
        return _text_tables(path, options, _json_rows(path))
    if suffix in TABLES:
        return _text_tables(path, options, _csv_rows(path, "," if suffix == ".csv" else "\t"))
    raise UsageError(f"{path} is not a file of responses.", hint=f"Known endings: {', '.join(SUFFIXES)}.")


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line with its number from 1; raise DataError for what is not UTF-8 text in lines."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}.", path=path) from None
    with file:
        for number, raw in enumerate(file, start=1):
            if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise DataError("is UTF-16, not UTF-8.", path=path, hint=_SAVE_UTF8)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                message = f"byte 0x{raw[error.start]:02x} is not UTF-8."
                raise DataError(message, path=path, row=number, hint=_SAVE_UTF8) from None
            if "\0" in line:
                hint = "The file is damaged or not text."
                raise DataError("holds a NUL byte.", path=path, row=number, hint=hint)
            yield number, line


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            cut = None if line.endswith("\n") else "The file may be cut off here: its last line does not end."
            raise DataError(f"is not valid JSON ({reason}).", path=path, row=number, hint=cut) from None
        if not isinstance(record, dict):
            raise DataError("is not a JSON object.", path=path, row=number)
        yield number, record


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record with the line it starts on; cells may be quoted and hold line breaks."""
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader((line for _, line in lines_of(path)), delimiter=delimiter, strict=True)
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            number, start = start, reader.line_num + 1
            if header and cells and len(cells) != len(header):
                hint = "Quote cells that contain the separator or a line break."
                message = f"has {len(cells)} cells, the header has {len(header)}."
                raise DataError(message, path=path, row=number, hint=hint)
            if header and cells:
                yield number, dict(zip(header, cells, strict=True))
            elif cells:
                header = [cell.strip() for cell in cells]
                twice = next((name for i, name in enumerate(header) if name in header[:i]), None)
                if twice is not None:
                    raise DataError("appears twice in the header.", path=path, row=number, column=twice)
    except csv.Error as error:
        hint = "Look for a missing closing quote, a lone line break, or a truncated file."
        raise DataError(f"is not valid CSV ({error}).", path=path, row=start, hint=hint) from None


def _text_tables(path: Path, options: Options, rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a text file as tables of strings; the first row says which columns there are."""
    columns: Columns | None = None
    for batch in batches(rows):
        by_key = path.suffix.lower() in JSON_LINES
        columns = columns or find_columns(list(batch[0][1]), path, options, fails_by_key=by_key)
        cells: dict[str, list[str | None]] = {name: [] for name in columns.used}
        for number, record in batch:
            if "text" not in record:
                hint = "Write null where the model gave no answer."
                raise DataError("is missing.", path=path, row=number, column="text", hint=hint)
            late = next((name for name in record if name in _MEANT and name not in columns.present), None)
            if late is not None:
                hint = "Write it in every row."
                raise DataError("is not in the first row.", path=path, row=number, column=late, hint=hint)
            for name, column in cells.items():
                value = record.get(name)
                if name == "error" and not value:
                    value = None
                elif value is not None and not isinstance(value, str):
                    if name not in (*_NUMBERS, "error"):
                        kind = "NaN" if str(value) == "nan" else _KINDS.get(type(value), f"a {type(value).__name__}")
                        raise DataError(f"is {kind}, not text.", path=path, row=number, column=name)
                    value = str(value)
                column.append(value)
        try:
            frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))
        except UnicodeEncodeError:
            # Lone surrogates, which no UTF-8 can hold, become U+FFFD, as in a journal.
            clean = {
                name: [one and one.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for one in column]
                for name, column in cells.items()
            }
            frame = pl.DataFrame(clean, schema=dict.fromkeys(cells, pl.String))
        yield _checked(frame.with_columns(row=pl.Series([number for number, _ in batch])), path, columns, options)


def _parquet_tables(path: Path, options: Options) -> Iterator[pl.DataFrame]:
    try:
        scan = pl.scan_parquet(path)
        schema = dict(scan.collect_schema())
        columns = find_columns(list(schema), path, options, row=None)
        for name in columns.used:
            kind, number = schema[name], name in _NUMBERS
            text = kind in (pl.String, pl.Categorical, pl.Enum) or (kind == pl.Null and name != "text")
            if not (text or (number and kind.is_numeric())):
                wanted = "numbers" if number else "text"
                raise DataError(f"is {kind}, not {wanted}.", path=path, column=name, hint=f"Write it as {wanted}.")
        row = 1
        for batch in scan.select(columns.used).collect_batches(chunk_size=BATCH, maintain_order=True):
            if batch.height:
                numbers = pl.int_range(row, row + batch.height, dtype=pl.Int64).alias("row")
                yield _checked(batch.cast(pl.String).with_columns(numbers), path, columns, options)
                row += batch.height
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"cannot be read as Parquet ({type(error).__name__}).",
            path=path,
            hint="The file is cut off, damaged, or of another format; write it anew.",
        ) from None


# -- columns --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one file. ``identity`` None: the identity is the last part of ``item_id``.

    ``present``: all; ``used``: those that are read; ``others``: those of them that do not hold the attribute.
    """

    attribute: str
    identity: str | None
    error: str | None
    present: frozenset[str]
    used: tuple[str, ...]
    others: frozenset[str]


_OPTIONAL = ("task", "model", "temperature", "run", "variant", "language")
_MEANT = frozenset({*ATTRIBUTES, *_OPTIONAL, "item_id", "topic", "concept", "sample"})


def find_columns(
    names: Sequence[str], path: Path, options: Options, *, row: int | None = 1, fails_by_key: bool = False
) -> Columns:
    """Decide which of ``names`` holds what; raise DataError naming the missing column and its nearest name.

    ``row``: where the names stand in the file. ``fails_by_key``: whether a row may have a key ``error`` of its own.
    """

    def missing(column: str) -> DataError:
        hint = f"{nearest(column, names)} {_FORM}"
        return DataError(f"column {column!r} is missing.", path=path, row=row, hint=hint)

    if "text" not in names:
        raise missing("text")
    by_id, placed = "item_id" in names, "topic" in names and "concept" in names
    if not placed and not by_id:
        raise missing("concept" if "topic" in names else "topic")
    candidates = [name for name in ATTRIBUTES if name in names]
    if len(candidates) > 1 and candidates[-1] == "language":
        candidates.pop()
    if options.attribute is not None:
        candidates = [name for name in (options.attribute,) if name in names]
    if not candidates and not by_id:
        raise missing(options.attribute or "nationality")
    if len(candidates) > 1 and not by_id:
        raise DataError(
            f"has several columns that may be the attribute: {', '.join(candidates)}.",
            path=path,
            row=row,
            hint=f"Name the one that was varied in the prompt, for example --attribute {candidates[0]}.",
        )
    identity = candidates[0] if len(candidates) == 1 else None
    error = next((name for name in ("outcome", "error") if name in names), "error" if fails_by_key else None)
    wanted = {*_OPTIONAL, "sample", "text", *(("topic", "concept") if placed else ())} & set(names)
    wanted |= {name for name in (identity, error) if name} | ({"item_id"} if not (placed and identity) else set())
    attribute = options.attribute or identity or "nationality"
    others = frozenset(wanted - {identity})
    return Columns(attribute, identity, error, frozenset(names), tuple(sorted(wanted)), others)


def _checked(frame: pl.DataFrame, path: Path, columns: Columns, options: Options) -> pl.DataFrame:
    """Return a batch of strings as a table with :data:`COLUMNS`; raise DataError for the first cell that is wrong."""

    def refuse(wrong: pl.Expr, column: str, message: Callable[[Any], str], hint: str | None = None) -> None:
        found = frame.filter(wrong).head(1)
        if found.height:
            row = int(found["row"][0])
            raise DataError(message(found[column][0]), path=path, row=row, column=column, hint=hint)

    required = [name for name in ("item_id", "topic", "concept", columns.identity) if name and name in columns.used]
    words = [*required, *(name for name in _OPTIONAL if name in columns.others and name != "temperature")]
    frame = frame.with_columns(pl.col(words).str.normalize("NFC").str.strip_chars())
    for name in words:
        cell = pl.col(name)
        if name in required:
            hint = "Every row needs one; leave the row out if it is not known."
            refuse(cell.is_null() | (cell == ""), name, lambda _: "is empty.", hint)
        refuse(
            (cell.str.len_chars() > 1000) | cell.str.contains("\n", literal=True),
            name,
            lambda value: f"is {len(value)} characters long or has line breaks: no name.",
            "Look for a missing quote, or a separator in a cell.",
        )
    if "language" in columns.others:
        for language in frame["language"].drop_nulls().unique():
            try:
                check_language(language or "en")
            except UsageError as error:
                said, hint = error.message, f"Write its code, such as 'en' or 'am'. {error.hint or ''}".strip()
                refuse(pl.col("language") == language, "language", lambda _: said, hint)  # noqa: B023 - called at once
    failed = pl.lit(False)
    if columns.error is not None:
        reason = pl.col(columns.error).fill_null("")
        failed = (reason != "") if columns.error == "error" else reason == "failed"
    too_long = pl.col("text").str.len_chars() > MAX_CELL
    refuse(
        ~failed & too_long,
        "text",
        lambda value: f"holds {len(value)} characters; at most {MAX_CELL} can be one text.",
        "Shorten it, or look for a missing quote before it.",
    )
    temperature = sample = pl.lit(None)
    if "temperature" in columns.others:
        empty = pl.col("temperature").fill_null("") == ""
        temperature = pl.col("temperature").cast(pl.Float64, strict=False)
        wrong = ~empty & ~(temperature.is_finite() & (temperature >= 0)).fill_null(False)
        refuse(wrong, "temperature", lambda value: f"{value[:40]!r} is not a number of at least 0.")
    if "sample" in columns.others:
        sample = pl.col("sample").str.strip_chars().cast(pl.Float64, strict=False)
        whole = sample.is_finite() & (sample >= 0) & (sample < 2**31) & (sample == sample.floor())
        refuse(
            ~whole.fill_null(False),
            "sample",
            lambda value: f"{value[:40]!r} is not a whole number of at least 0." if value else "is empty.",
            "Number the samples of an identity 0, 1, ..., or leave the column out.",
        )
    if "item_id" in columns.used:
        parts = pl.col("item_id").str.extract_groups(r"^([^/]*[^/\s][^/]*)/(.*\S.*)/([^/]*[^/\s][^/]*)$")
        frame = frame.with_columns(parts.struct.rename_fields(["_topic", "_concept", "_identity"]).struct.unnest())
        form = f"topic/concept/{columns.attribute}"
        refuse(
            pl.col("_topic").is_null(),
            "item_id",
            lambda value: f"{value[:60]!r} is not of the form {form}.",
            _FORM,
        )

    def named(name: str, default: str) -> pl.Expr:
        if name not in columns.others:
            return pl.lit(default).alias(name)
        return pl.when(pl.col(name).fill_null("") == "").then(pl.lit(default)).otherwise(pl.col(name)).alias(name)

    placed = "topic" in columns.used
    return frame.select(
        named("task", options.task or DEFAULT_TASK),
        named("model", options.label or path.stem),
        temperature.cast(pl.Float64).alias("temperature"),
        named("run", ""),
        named("variant", ""),
        named("language", ""),
        pl.lit(columns.attribute).alias("attribute"),
        (pl.col("topic") if placed else pl.col("_topic").str.strip_chars()).alias("topic"),
        (pl.col("concept") if placed else pl.col("_concept").str.strip_chars()).alias("concept"),
        (pl.col(columns.identity) if columns.identity else pl.col("_identity").str.strip_chars()).alias("identity"),
        sample.cast(pl.Int64).alias("sample"),
        pl.when(~failed).then(pl.col("text")).alias("text"),
        pl.col("row"),
    )
