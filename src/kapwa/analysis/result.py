"""The tables of an analysis: the columns of each, and the folder they are read from.

Reading needs neither the texts nor the kernels. Who writes the tables and who draws them both go by :data:`SCHEMAS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from kapwa.errors import RunError, UsageError, nearest
from kapwa.files import jsonable
from kapwa.runs.directory import Tables, load_manifest, read_table, table_of

FORMAT = 1
NAME = "analysis.json"
_AGAIN = "Analyze again with the same command; concepts already done are kept."
# What programs are given; the rest is long and stands in the folder's Parquet files.
_IN_DICT = ("corpora", "tests", "correlations", "notes")

Schema = Mapping[str, pl.DataType]

# A column's name has one type in every table; what stands in neither list is text.
_REAL: Final = (
    "temperature samples mean_tokens within across within_low within_high across_low across_high permanova_f "
    "permanova_r2 permanova_p permdisp_f permdisp_p estimate low high statistic df1 df2 p p_adjusted tau significant "
    "floor_low floor_high tau_pooled wed bleu score z expected p_smooth countries_low countries_high"
)
_WHOLE: Final = "concepts identities texts tokens empty anchors countries n rank count df sample questions_known"

# A corpus is known by its label (corpus) and its task together. NaN is never written: what cannot be told is null.
_COLUMNS: Final = {
    # One row a corpus. samples: texts an identity and concept have (mean); tokens: of all its texts.
    "corpora": "corpus task model temperature attribute concepts identities texts samples tokens mean_tokens empty",
    # One row a concept and estimator ("corrected" | "reference"); the permutation test stands in both rows. The bounds
    # are null where every two texts were compared: 95 % of what a variance estimated from drawn pairs may be.
    "variance": (
        "corpus task topic concept estimator within across permanova_f permanova_r2 permanova_p permdisp_f permdisp_p "
        "identities texts within_low within_high across_low across_high"
    ),
    # One row a topic (or "all") and test. "paired": mean across − within, Student's t; "permanova": mean R², Fisher's
    # −2 Σ ln p with df1 = 2 × concepts; "permdisp": no estimate, the same of spreads; "anova_reference": mean
    # across − within as released, F.
    "tests": "corpus task topic test estimate low high statistic df1 df2 p p_adjusted concepts",
    # One row a concept, values table, measure ("bleu" | "wed") and estimator. tau: mean over anchors; significant:
    # share of anchors with adjusted p < 0.05; floor: central 95 % under permuted labels ("corrected" only).
    "concept_taus": "corpus task topic concept values measure estimator tau significant anchors floor_low floor_high",
    # One row an anchor, values table, measure and estimator. tau: mean over concepts; low, high: its 95 % interval over
    # concepts; tau_pooled: on the matrix averaged over concepts, with its p and p_adjusted (Holm over anchors).
    "anchors": (
        "corpus task values measure estimator identity country iso3 tau low high tau_pooled p p_adjusted "
        "concepts countries"
    ),
    # One row a topic (or "all"), values table, measure and method ("tau" | "tau_reference" | "mantel" | "partial
    # mantel"); controls: "" or their names joined by " + ". tau: mean over concepts and anchors with its 95 % interval
    # over concepts; mantel: on the matrices averaged over concepts. p, floor: permuted labels; p_smooth: values of
    # other maps as smooth and regional; countries_low, countries_high: jackknife over countries (tau). n: countries.
    "correlations": (
        "corpus task topic values measure method controls estimate low high p floor_low floor_high p_smooth "
        "countries_low countries_high n"
    ),
    # One row a pair of identities (upper triangle), means over concepts. wed: a distance; bleu: a similarity.
    "similarity": "corpus task identity_a identity_b wed bleu",
    # One row an identity; within, across: means over concepts of the corrected estimate; tokens, empty: counts.
    "identities": "corpus task identity country iso2 iso3 within across tokens empty",
    # One row a topic (or "all"), identity, method ("tfidf" | "logodds") and rank from 1. z: log-odds only.
    # texts: the identity's with the word; expected: under names shuffled among texts of one concept and about one
    # length; p_adjusted: over all words.
    "words": "corpus task topic identity method rank word score z count df texts expected p_adjusted",
    # A bounded choice of texts for readers.
    "texts": "corpus task topic concept identity sample text",
    # One row a values table and identity that has values in it.
    "values": "values identity country iso3 questions_known",
    # What a reader should know. severity: "warning" | "info".
    "notes": "severity text",
}
SCHEMAS: Final[Mapping[str, Schema]] = {
    table: {
        name: pl.Float64() if name in _REAL.split() else pl.Int64() if name in _WHOLE.split() else pl.String()
        for name in columns.split()
    }
    for table, columns in _COLUMNS.items()
}


def empty(name: str) -> pl.DataFrame:
    """Return the table ``name`` without a row."""
    return pl.DataFrame(schema=dict(SCHEMAS[name]))


def frame(name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return ``columns`` (arrays, lists, or one value for all rows) as the table ``name``, NaN as null.

    Raises KeyError for a missing column, so that no table is written in part.
    """
    schema = SCHEMAS[name]
    return pl.DataFrame({column: columns[column] for column in schema}, schema=dict(schema)).fill_nan(None)


class Analysis:
    """What many texts say together: ``path``, ``manifest`` and ``tables`` by name (columns: :data:`SCHEMAS`)."""

    corpora: pl.DataFrame = table_of("corpora", "One row per corpus: the texts of one model configuration on one task.")
    variance: pl.DataFrame = table_of(
        "variance", "One row per concept and estimator: lexical variance within and across identities."
    )
    tests: pl.DataFrame = table_of("tests", "One row per topic (or 'all') and test of across against within.")
    concept_taus: pl.DataFrame = table_of(
        "concept_taus", "One row per concept, values table, measure and estimator: mean τ over anchors."
    )
    anchors: pl.DataFrame = table_of(
        "anchors", "One row per anchor, values table, measure and estimator: mean τ over concepts."
    )
    correlations: pl.DataFrame = table_of(
        "correlations", "One row per topic (or 'all'), values table, measure and method, with floors."
    )
    similarity: pl.DataFrame = table_of(
        "similarity", "One row per pair of identities: mean WED and BLEU over concepts."
    )
    identities: pl.DataFrame = table_of("identities", "One row per identity: its country, its variance, its tokens.")
    words: pl.DataFrame = table_of(
        "words", "One row per topic (or 'all'), identity, method and rank: the words that mark an identity."
    )
    texts: pl.DataFrame = table_of("texts", "A bounded choice of texts for readers.")
    values: pl.DataFrame = table_of("values", "One row per values table and identity that has values in it.")
    notes: pl.DataFrame = table_of("notes", "What a reader should know: severity and text.")

    def __init__(self, path: str | Path) -> None:
        """Open the analysis folder ``path``; raise RunError for a folder that is none, or of a newer format."""
        self.path = Path(path)
        self.manifest: Mapping[str, Any] = _manifest(self.path)
        self.tables = Tables(tuple(SCHEMAS), self.table)
        self._tables: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Analysis({str(self.path)!r}: {self.manifest['suite']}, {len(self.manifest['corpora'])} corpora)"

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one that no analysis has, RunError for a damaged one."""
        if name not in SCHEMAS:
            raise UsageError(f"An analysis has no table {name!r}.", hint=nearest(name, SCHEMAS))
        if name not in self._tables:
            self._tables[name] = read_table(self.path / f"{name}.parquet", list(SCHEMAS[name]), SCHEMAS[name], _AGAIN)
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


def _manifest(path: Path) -> dict[str, Any]:
    file = path / NAME
    if not path.is_dir():
        raise RunError(f"{path} is not a folder.", hint="Name an analysis' folder, such as one in analyses/.")
    if not file.exists():
        raise RunError(f"{path} is not an analysis, or not finished: it has no {NAME}.", hint=_AGAIN)
    return load_manifest(file, "analysis", FORMAT, _AGAIN)
