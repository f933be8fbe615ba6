"""Read an analysis: its manifest and its tables. Needs neither the texts nor the kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.analysis.schemas import SCHEMAS
from kapwa.errors import RunError, UsageError, nearest
from kapwa.files import jsonable
from kapwa.runs.outputs import write_csv

FORMAT = 1
NAME = "analysis.json"
_AGAIN = "Analyze again with the same command; concepts already done are kept."
# What programs are given; the rest is long and stands in the folder's Parquet files.
_IN_DICT = ("corpora", "tests", "correlations", "notes")


def _table(name: str, what: str) -> Any:
    """A table of an analysis, read from its folder when first looked at."""
    return property(lambda analysis: analysis.table(name), doc=what)


class Analysis:
    """What many texts say together: ``path``, ``manifest`` and tables (columns: ``kapwa.analysis.schemas``)."""

    corpora: pl.DataFrame = _table("corpora", "One row per corpus: the texts of one model configuration on one task.")
    variance: pl.DataFrame = _table(
        "variance", "One row per concept and estimator: lexical variance within and across identities."
    )
    tests: pl.DataFrame = _table("tests", "One row per topic (or 'all') and test of across against within.")
    concept_taus: pl.DataFrame = _table(
        "concept_taus", "One row per concept, values table, measure and estimator: mean τ over anchors."
    )
    anchors: pl.DataFrame = _table(
        "anchors", "One row per anchor, values table, measure and estimator: mean τ over concepts."
    )
    correlations: pl.DataFrame = _table(
        "correlations", "One row per topic (or 'all'), values table, measure and method, with floors."
    )
    similarity: pl.DataFrame = _table("similarity", "One row per pair of identities: mean WED and BLEU over concepts.")
    identities: pl.DataFrame = _table("identities", "One row per identity: its country, its variance, its tokens.")
    words: pl.DataFrame = _table(
        "words", "One row per topic (or 'all'), identity, method and rank: the words that mark an identity."
    )
    texts: pl.DataFrame = _table("texts", "A bounded choice of texts for readers.")
    values: pl.DataFrame = _table("values", "One row per values table and identity that has values in it.")
    notes: pl.DataFrame = _table("notes", "What a reader should know: severity and text.")

    def __init__(self, path: str | Path) -> None:
        """Open the analysis folder ``path``; raise RunError for a folder that is none, or of a newer format."""
        self.path = Path(path)
        self.manifest: Mapping[str, Any] = _manifest(self.path)
        self._tables: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Analysis({str(self.path)!r}: {self.manifest['suite']}, {len(self.manifest['corpora'])} corpora)"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(SCHEMAS)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one that no analysis has, RunError for a damaged one."""
        if name not in SCHEMAS:
            raise UsageError(f"An analysis has no table {name!r}.", hint=nearest(name, SCHEMAS))
        if name not in self._tables:
            self._tables[name] = _read(self.path / f"{name}.parquet", name)
        return self._tables[name]

    def as_dict(self) -> dict[str, Any]:
        """Return path, manifest and the tables that are short and say most, as plain values, for JSON."""
        return {
            "path": str(self.path),
            "manifest": dict(self.manifest),
            **{name: [jsonable(row) for row in self.table(name).iter_rows(named=True)] for name in _IN_DICT},
        }


def open_analysis(path: str | Path) -> Analysis:
    """Open an analysis folder. Raises RunError where it is none, unfinished, or made by a newer Kapwa."""
    return Analysis(path)


def is_analysis(path: str | Path) -> bool:
    """Whether ``path`` is the folder of an analysis, finished by now or once."""
    folder = Path(path)
    return (folder / NAME).exists() or (folder / "concept_taus.parquet").exists()


def export_csv(analysis: Analysis, folder: str | Path) -> Path:
    """Write every table of ``analysis`` as spreadsheet-safe CSV in ``folder``; return the folder."""
    target = Path(folder)
    write_csv({name: analysis.table(name) for name in analysis.names}, target)
    return target


def _manifest(path: Path) -> dict[str, Any]:
    file = path / NAME
    if not path.is_dir():
        raise RunError(f"{path} is not a folder.", hint="Name an analysis' folder, such as one in analyses/.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version = int(manifest["format"])
    except FileNotFoundError:
        raise RunError(f"{path} is not an analysis, or not finished: it has no {NAME}.", hint=_AGAIN) from None
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{file} is damaged.", hint=_AGAIN) from None
    if version > FORMAT:
        raise RunError(
            f"{path} has analysis format {version}; this Kapwa reads up to {FORMAT}.",
            hint="Upgrade: pip install -U kapwa",
        )
    return dict(manifest)


def _read(path: Path, name: str) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path)
    except FileNotFoundError:
        raise RunError(f"{path} is missing.", hint=_AGAIN) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RunError(f"{path} cannot be read ({type(error).__name__}).", hint=_AGAIN) from error
    missing = [column for column in SCHEMAS[name] if column not in table.columns]
    if missing:
        raise RunError(f"{path} lacks the column {missing[0]!r}.", hint=_AGAIN)
    return table
