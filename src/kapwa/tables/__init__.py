"""Read and write users' tables: CSV, TSV, XLSX, ODS, JSON, JSON lines, Parquet and YAML, with exact row numbers.

Every table that Kapwa reads is read here, and every sheet that people fill in is written by this package's rules for
safe cells. The callers decide which columns a table must have (:mod:`kapwa.datasets.rows`).
"""

from kapwa.tables.cells import (
    FORMULA_ERRORS,
    disarm,
    json_cell,
    json_in,
    printable,
    rearm,
    refuse_half,
    refuse_nul,
    without_nul,
    written_value,
)
from kapwa.tables.json_files import json_objects
from kapwa.tables.parquet_files import holds_bytes, parquet_batches, parquet_schema
from kapwa.tables.reading import (
    TABLE_SUFFIXES,
    WORKBOOKS,
    InMemory,
    in_memory,
    open_table,
    peek_header,
    read_records,
    read_sheet,
    read_table,
    read_with_problems,
    reading_from_memory,
    warn_of,
    words_for,
)
from kapwa.tables.separated import separator_of
from kapwa.tables.table import (
    CUT_OFF,
    MAX_CELL,
    NO_ROWS,
    Cell,
    Most,
    Record,
    Remark,
    RowError,
    TextRow,
    TextTable,
    record,
)
from kapwa.tables.writing import csv_bytes, csv_text, schema_of

__all__ = [
    "CUT_OFF",
    "FORMULA_ERRORS",
    "MAX_CELL",
    "NO_ROWS",
    "TABLE_SUFFIXES",
    "WORKBOOKS",
    "Cell",
    "InMemory",
    "Most",
    "Record",
    "Remark",
    "RowError",
    "TextRow",
    "TextTable",
    "csv_bytes",
    "csv_text",
    "disarm",
    "holds_bytes",
    "in_memory",
    "json_cell",
    "json_in",
    "json_objects",
    "open_table",
    "parquet_batches",
    "parquet_schema",
    "peek_header",
    "printable",
    "read_records",
    "read_sheet",
    "read_table",
    "read_with_problems",
    "reading_from_memory",
    "rearm",
    "record",
    "refuse_half",
    "refuse_nul",
    "schema_of",
    "separator_of",
    "warn_of",
    "without_nul",
    "words_for",
    "written_value",
]
