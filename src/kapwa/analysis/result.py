"""An analysis that was written to a folder: its manifest and its tables. Reading needs neither texts nor kernels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.analysis.result_tables import SCHEMAS, TABLES
from kapwa.errors import RunError, UsageError, nearest
from kapwa.files import jsonable
from kapwa.runs.result_folder import FolderRecord, Tables, read_table, table_of
from kapwa.value_types import JsonMapping, JsonObject

FORMAT = 1
NAME = "analysis.json"
_AGAIN = "Analyze again with the same command; concepts already done are kept."
RECORD = FolderRecord("analysis", NAME, FORMAT, _AGAIN)
# What programs are given; the rest is long and stands in the folder's Parquet files.
_IN_DICT = (
    "corpora",
    "tests",
    "correlations",
    "factors",
    "factor_pairs",
    "unmarked",
    "templates",
    "depicted_tests",
    "notes",
)
# Tables that analyses of before do not have, and the setting that theirs lack.
_LATER = {"unmarked": "markers", "templates": "markers"}
_LATER |= dict.fromkeys(("depicted", "depicted_identities", "depicted_tests"), "depicted")


def _table(name: str) -> Any:
    return table_of(name, TABLES[name].about)


def empty(name: str) -> pl.DataFrame:
    """Return the table ``name`` without a row."""
    return pl.DataFrame(schema=dict(SCHEMAS[name]))


def frame(name: str, columns: Mapping[str, object]) -> pl.DataFrame:
    """Return ``columns`` (arrays, lists, or one value for all rows) as the table ``name``, NaN as null.

    Raises KeyError for a missing column, so that no table is written in part.
    """
    schema = SCHEMAS[name]
    return pl.DataFrame({column: columns[column] for column in schema}, schema=dict(schema)).fill_nan(None)


if TYPE_CHECKING:
    import pandas as pd


class Analysis:
    """What many texts say together: ``path``, ``manifest`` and ``tables`` by name (columns: :data:`SCHEMAS`)."""

    corpora: pl.DataFrame = _table("corpora")
    variance: pl.DataFrame = _table("variance")
    tests: pl.DataFrame = _table("tests")
    concept_taus: pl.DataFrame = _table("concept_taus")
    anchors: pl.DataFrame = _table("anchors")
    correlations: pl.DataFrame = _table("correlations")
    similarity: pl.DataFrame = _table("similarity")
    identities: pl.DataFrame = _table("identities")
    words: pl.DataFrame = _table("words")
    factors: pl.DataFrame = _table("factors")
    factor_levels: pl.DataFrame = _table("factor_levels")
    factor_pairs: pl.DataFrame = _table("factor_pairs")
    factor_words: pl.DataFrame = _table("factor_words")
    unmarked: pl.DataFrame = _table("unmarked")
    templates: pl.DataFrame = _table("templates")
    depicted: pl.DataFrame = _table("depicted")
    depicted_identities: pl.DataFrame = _table("depicted_identities")
    depicted_tests: pl.DataFrame = _table("depicted_tests")
    texts: pl.DataFrame = _table("texts")
    values: pl.DataFrame = _table("values")
    notes: pl.DataFrame = _table("notes")

    def __init__(self, path: str | Path) -> None:
        """Open the analysis folder ``path``; raise RunError for any other folder, or one of a newer format."""
        self.path = Path(path)
        self.manifest: JsonMapping = _manifest(self.path)
        self.tables = Tables(tuple(SCHEMAS), self.table)
        self._tables: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Analysis({str(self.path)!r}: {self.manifest['suite']}, {len(self.manifest['corpora'])} corpora)"

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one that no analysis has, RunError for a damaged one."""
        if name not in SCHEMAS:
            raise UsageError(f"An analysis has no table {name!r}.", hint=nearest(name, SCHEMAS))
        if name in _LATER and _LATER[name] not in self.manifest.get("settings", {}):
            return empty(name)  # an older analysis
        if name not in self._tables:
            self._tables[name] = read_table(self.path / f"{name}.parquet", list(SCHEMAS[name]), SCHEMAS[name], _AGAIN)
        return self._tables[name]

    def to_pandas(self, name: str) -> pd.DataFrame:
        """Return a table as a pandas frame; see :func:`kapwa.to_pandas`."""
        from kapwa.tables.pandas_frames import to_pandas

        return to_pandas(self.table(name))

    def as_dict(self) -> JsonObject:
        """Return path, manifest and the tables that are short and say most, as plain values, for JSON."""
        return {
            "path": str(self.path),
            "manifest": dict(self.manifest),
            **{name: [jsonable(row) for row in self.table(name).iter_rows(named=True)] for name in _IN_DICT},
        }


def open_analysis(path: str | Path) -> Analysis:
    """Open an analysis folder. Raises RunError if it is not one, is unfinished, or was made by a newer Kapwa."""
    return Analysis(path)


def is_analysis(path: str | Path) -> bool:
    """Whether ``path`` is the folder of an analysis, finished by now or once."""
    folder = Path(path)
    return (folder / NAME).exists() or (folder / "concept_taus.parquet").exists()


def _manifest(path: Path) -> JsonObject:
    file = path / NAME
    if not path.is_dir():
        raise RunError(f"{path} is not a folder.", hint="Name an analysis' folder, such as one in analyses/.")
    if not file.exists():
        raise RunError(f"{path} is not an analysis, or not finished: it has no {NAME}.", hint=_AGAIN)
    return RECORD.read(path)
