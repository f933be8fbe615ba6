"""Responses in files: JSON lines, CSV and TSV read in place by byte offset; Parquet by way of a temporary file."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kapwa.analysis.corpus.heap import TextHeap
from kapwa.analysis.corpus.rows import MEANT, Asked, Found, RowReader, find_columns
from kapwa.errors import DataError, UsageError
from kapwa.files import MAX_CELL

JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", ".tab")
PARQUET = (".parquet", ".pq")
SUFFIXES = (*JSON_LINES, *TABLES, *PARQUET)
# A line longer than this is a file without line breaks, not an answer.
MAX_LINE = 16 * MAX_CELL
_BATCH = 20_000
_UTF8_MARK = b"\xef\xbb\xbf"
_SAVE_UTF8 = "Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8') and try again."


class Line(NamedTuple):
    """One line of a file: its number from 1, its first byte, its bytes (line break included)."""

    number: int
    start: int
    raw: bytes


class LineFile:
    """A file read by lines, and again from any line; it must not change in between."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = file_state(path)

    def lines(self) -> Iterator[Line]:
        """Yield every line; raise DataError for what is not UTF-8 text in lines."""
        with self.path.open("rb") as file:
            start = 0
            for number, raw in enumerate(_raw_lines(file), start=1):
                if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError("is UTF-16, not UTF-8.", path=self.path, hint=_SAVE_UTF8)
                if len(raw) >= MAX_LINE:
                    hint = "Is it of another format, or are its line breaks lost?"
                    raise DataError(f"is longer than {MAX_LINE} bytes.", path=self.path, row=number, hint=hint)
                mark = len(_UTF8_MARK) if number == 1 and raw.startswith(_UTF8_MARK) else 0
                yield Line(number, start + mark, raw[mark:])
                start += len(raw)

    def decode(self, raw: bytes, number: int) -> str:
        """Return the line as text; raise DataError naming the first bad byte."""
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            message = f"byte 0x{raw[error.start]:02x} is not UTF-8."
            raise DataError(message, path=self.path, row=number, hint=_SAVE_UTF8) from None
        if "\0" in text:
            raise DataError("holds a NUL byte.", path=self.path, row=number, hint="The file is damaged or not text.")
        return text

    def reopened(self) -> BinaryIO:
        """Open the file for reading at places found before; raise DataError where it changed since."""
        if file_state(self.path) != self._state:
            raise DataError("changed while it was read.", path=self.path, hint="Let it be written whole, then go on.")
        return self.path.open("rb")


def file_state(path: Path) -> tuple[int, int]:
    """Return what changes when a file does: its size and its time; raise DataError where it cannot be read."""
    try:
        with path.open("rb"):
            state = path.stat()
    except FileNotFoundError:
        raise DataError("no such file.", path=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}.", path=path) from None
    return state.st_size, state.st_mtime_ns


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    while raw := file.readline(MAX_LINE):
        yield raw


class JsonLines:
    """One JSON object a line."""

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path = path
        self._asked, self._file = asked, LineFile(path)

    def answers(self) -> Iterator[Found]:
        """Yield every answer; the columns are those of the first row."""
        reader: RowReader | None = None
        first: Collection[str] = ()
        for number, start, raw in self._file.lines():
            if not raw.strip():
                continue
            record = self._record(raw, number)
            if reader is None:
                first = record.keys()
                columns = find_columns(list(record), self.path, self._asked.attribute)
                # What failed may say so in a key that other rows have not.
                columns = replace(columns, error=columns.error or "error")
                reader = RowReader(self.path, columns, self._asked, self.path.stem)
            elif record.keys() != first:
                self._check_new(record, first, number)
            yield reader(record, number, start)

    def _check_new(self, record: Mapping[str, Any], first: Collection[str], number: int) -> None:
        """Refuse a key that matters and that the first row has not: it would be passed over in silence."""
        for name in record:
            if name in MEANT and name not in first and name != "error":
                message = "is not in the first row."
                raise DataError(message, path=self.path, row=number, column=name, hint="Write it in every row.")

    def _record(self, raw: bytes, number: int) -> dict[str, Any]:
        text = self._file.decode(raw, number)
        try:
            record = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            cut = "" if text.endswith("\n") else "The file may be cut off here: its last line does not end."
            raise DataError(f"is not valid JSON ({reason}).", path=self.path, row=number, hint=cut or None) from None
        if not isinstance(record, dict):
            raise DataError("is not a JSON object.", path=self.path, row=number)
        return record

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:  # noqa: ARG002 - one text a line
        """Read the lines again."""
        found = []
        with self._file.reopened() as file:
            for place in places:
                file.seek(place)
                found.append(json.loads(file.readline(MAX_LINE))["text"])
        return found


class TableFile:
    """CSV or TSV with a header; cells may be quoted and hold line breaks. An empty text is an empty answer."""

    def __init__(self, path: Path, asked: Asked, delimiter: str) -> None:
        self.path = path
        self._asked, self._delimiter, self._file = asked, delimiter, LineFile(path)
        self._text_at = 0

    def answers(self) -> Iterator[Found]:
        """Yield every answer, with the line its record starts on."""
        header: list[str] = []
        reader: RowReader | None = None
        for number, start, cells in self._records():
            if not cells:
                continue
            if reader is None:
                header = _checked_header(cells, self.path, number)
                reader = RowReader(
                    self.path, find_columns(header, self.path, self._asked.attribute), self._asked, self.path.stem
                )
                self._text_at = header.index("text")
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"has {len(cells)} cells, the header has {len(header)}.",
                    path=self.path,
                    row=number,
                    hint="Quote cells that contain the separator or a line break.",
                )
            yield reader(dict(zip(header, cells, strict=True)), number, start)

    def _records(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield line number, first byte and cells of each record."""
        csv.field_size_limit(MAX_CELL)
        last = Line(0, 0, b"")

        def taken() -> Iterator[str]:
            # The reader takes exactly the lines a record needs: the last one taken ends it.
            nonlocal last
            for last in self._file.lines():
                yield self._file.decode(last.raw, last.number)

        records = csv.reader(taken(), delimiter=self._delimiter, strict=True)
        number, start = 1, 0
        while True:
            try:
                cells = next(records, None)
            except csv.Error as error:
                raise DataError(
                    f"is not valid CSV ({error}).",
                    path=self.path,
                    row=number,
                    hint="Look for a missing closing quote, a lone line break, or a truncated file.",
                ) from None
            if cells is None:
                return
            yield number, start, cells
            number, start = last.number + 1, last.start + len(last.raw)

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:  # noqa: ARG002 - one text a record
        """Read the records again."""
        csv.field_size_limit(MAX_CELL)
        found = []
        with self._file.reopened() as file:
            for place in places:
                file.seek(place)
                lines = (raw.decode() for raw in _raw_lines(file))
                found.append(next(csv.reader(lines, delimiter=self._delimiter, strict=True))[self._text_at])
        return found


def _checked_header(cells: Sequence[str], path: Path, number: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    for i, name in enumerate(header):
        if name in header[:i]:
            raise DataError("appears twice in the header.", path=path, row=number, column=name)
    return header


class ParquetFile:
    """A Parquet file: read in batches once, its texts laid out in a temporary file for reading by concept.

    A Parquet reader takes whole row groups apart, so that reading a concept's texts from the middle costs as much as
    reading a large part of the file; hence the one copy.
    """

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path = path
        self._asked, self._heap = asked, TextHeap()

    def answers(self) -> Iterator[Found]:
        """Yield every answer; numbers count records from 1."""
        schema = parquet_schema(self.path)
        columns = find_columns(list(schema), self.path, self._asked.attribute, row=None)
        _check_types(self.path, schema, columns.used())
        reader = RowReader(self.path, columns, self._asked, self.path.stem)
        for number, record in enumerate(parquet_records(self.path, columns.used()), start=1):
            text = record["text"]
            yield reader(record, number, 0 if text is None else self._heap.append(text))
        self._heap.close()

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:  # noqa: ARG002 - one text a record
        """Read from the temporary file."""
        return self._heap.texts(places)


def parquet_schema(path: Path) -> dict[str, Any]:
    """Return column names and types of a Parquet file; raise DataError for a damaged or truncated one."""
    import polars as pl

    file_state(path)
    try:
        return dict(pl.scan_parquet(path).collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _bad_parquet(path, error) from None


def parquet_records(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a Parquet file, some thousands read at a time; categories come as text."""
    import polars as pl

    names = [
        pl.col(name).cast(pl.String) if kind in (pl.Categorical, pl.Enum) else pl.col(name)
        for name, kind in parquet_schema(path).items()
        if name in columns
    ]
    try:
        for batch in pl.scan_parquet(path).select(names).collect_batches(chunk_size=_BATCH, maintain_order=True):
            yield from batch.iter_rows(named=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _bad_parquet(path, error) from None


def _bad_parquet(path: Path, error: Exception) -> DataError:
    return DataError(
        f"cannot be read as Parquet ({type(error).__name__}).",
        path=path,
        hint="The file is cut off, damaged, or of another format; write it anew.",
    )


def _check_types(path: Path, schema: Mapping[str, Any], columns: Sequence[str]) -> None:
    import polars as pl

    for name in columns:
        kind = schema[name]
        number = name in ("sample", "temperature") and (kind.is_numeric() or kind == pl.Null)
        if not (number or kind in (pl.String, pl.Categorical, pl.Enum) or (kind == pl.Null and name != "text")):
            wanted = "numbers" if name in ("sample", "temperature") else "text"
            raise DataError(f"is {kind}, not {wanted}.", path=path, column=name, hint=f"Write it as {wanted}.")


def file_source(path: Path, asked: Asked) -> JsonLines | TableFile | ParquetFile:
    """Return the reader for a file, by its ending; raise UsageError for an ending that has none."""
    suffix = path.suffix.lower()
    if suffix in JSON_LINES:
        return JsonLines(path, asked)
    if suffix in TABLES:
        return TableFile(path, asked, "," if suffix == ".csv" else "\t")
    if suffix in PARQUET:
        return ParquetFile(path, asked)
    raise UsageError(f"{path} is not a file of responses.", hint=f"Known endings: {', '.join(SUFFIXES)}.")
