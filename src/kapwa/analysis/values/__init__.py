"""Surveys of cultural values: tables of countries by questions, and how far apart countries lie in them.

The public face of this folder: reading (:func:`read_values`), distances (:func:`cultural_distance`),
which columns are codes rather than answers (:func:`nominal_columns`), and which rows belong to which identity
(:func:`match_identities`).
"""

from __future__ import annotations

from kapwa.analysis.values.distance import CulturalDistance, cultural_distance
from kapwa.analysis.values.matches import Match, Matches, match_identities
from kapwa.analysis.values.nominal import WVS7, nominal_columns
from kapwa.analysis.values.table import ValuesReading, ValuesRow, ValuesTable, read_values, scan_values
from kapwa.analysis.values.usable import nothing_left, problem_of

__all__ = [
    "WVS7",
    "CulturalDistance",
    "Match",
    "Matches",
    "ValuesReading",
    "ValuesRow",
    "ValuesTable",
    "cultural_distance",
    "match_identities",
    "nominal_columns",
    "nothing_left",
    "problem_of",
    "read_values",
    "scan_values",
]
