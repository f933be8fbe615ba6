"""Surveys of cultural values: tables of countries by questions, and how far apart countries lie in them.

``table`` reads them, ``distance`` matches rows with identities, leaves out what is no answer on a scale, and measures;
``check`` says what is odd, ``controls`` are other distances between countries.
"""

from __future__ import annotations

from kapwa.analysis.values.distance import (
    WVS7,
    CulturalDistance,
    Matches,
    cultural_distance,
    match_identities,
    nominal_columns,
    nothing_left,
    problem_of,
)  # fmt: skip
from kapwa.analysis.values.table import ValuesRow, ValuesTable, read_values, scan_values

__all__ = [
    "WVS7", "CulturalDistance", "Matches", "ValuesRow", "ValuesTable", "cultural_distance", "match_identities",
    "nominal_columns", "nothing_left", "problem_of", "read_values", "scan_values",
]  # fmt: skip
