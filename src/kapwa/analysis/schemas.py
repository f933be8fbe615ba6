"""The columns of every table of an analysis, in one place: who writes them and who draws them both read this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

Schema = Mapping[str, pl.DataType]

# A column's name has one type in every table; what stands in neither list is text.
_REAL: Final = frozenset(
    (
        *("temperature", "samples", "mean_tokens", "within", "across", "within_low", "within_high", "across_low"),
        *("across_high", "permanova_f", "permanova_r2", "permanova_p", "estimate", "low", "high", "statistic"),
        *("df1", "df2", "p", "p_adjusted", "tau", "significant", "floor_low", "floor_high", "tau_pooled"),
        *("wed", "bleu", "score", "z"),
    )
)
_WHOLE: Final = frozenset(
    (
        *("concepts", "identities", "texts", "tokens", "empty", "anchors", "countries", "n", "rank", "count", "df"),
        *("sample", "questions_known"),
    )
)

# A corpus is known by its label (corpus) and its task together. NaN is never written: what cannot be told is null.
_COLUMNS: Final = {
    # One row a corpus. samples: texts an identity and concept have (mean); tokens: of all its texts.
    "corpora": "corpus task model temperature attribute concepts identities texts samples tokens mean_tokens empty",
    # One row a concept and estimator ("corrected" | "reference"); the permutation test stands in both rows. The bounds
    # are null where every two texts were compared: 95 % of what a variance estimated from drawn pairs may be.
    "variance": (
        "corpus task topic concept estimator within across permanova_f permanova_r2 permanova_p identities texts "
        "within_low within_high across_low across_high"
    ),
    # One row a topic (or "all") and test. "paired": mean across − within, Student's t; "permanova": mean R², Fisher's
    # −2 Σ ln p with df1 = 2 × concepts; "anova_reference": mean across − within as released, F.
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
    # over concepts; mantel: on the matrices averaged over concepts. p, floor: permuted labels. n: countries.
    "correlations": "corpus task topic values measure method controls estimate low high p floor_low floor_high n",
    # One row a pair of identities (upper triangle), means over concepts. wed: a distance; bleu: a similarity.
    "similarity": "corpus task identity_a identity_b wed bleu",
    # One row an identity; within, across: means over concepts of the corrected estimate; tokens, empty: counts.
    "identities": "corpus task identity country iso2 iso3 within across tokens empty",
    # One row a topic (or "all"), identity, method ("tfidf" | "logodds") and rank from 1. z: log-odds only.
    "words": "corpus task topic identity method rank word score z count df",
    # A bounded choice of texts for readers.
    "texts": "corpus task topic concept identity sample text",
    # One row a values table and identity that has values in it.
    "values": "values identity country iso3 questions_known",
    # What a reader should know. severity: "warning" | "info".
    "notes": "severity text",
}
SCHEMAS: Final[Mapping[str, Schema]] = {
    table: {
        name: pl.Float64() if name in _REAL else pl.Int64() if name in _WHOLE else pl.String()
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
    listed = {column: isinstance(value, list | tuple | np.ndarray) for column, value in columns.items()}
    lengths = {len(value) for column, value in columns.items() if listed[column]}
    if len(lengths) != 1:
        raise ValueError(f"The columns of {name} have different lengths: {sorted(lengths)}.")
    (height,) = lengths
    series = {}
    for column, kind in schema.items():
        cells = columns[column] if listed[column] else [columns[column]] * height
        one = pl.Series(column, cells, dtype=kind)
        series[column] = one.fill_nan(None) if kind.is_float() else one
    return pl.DataFrame(series)
