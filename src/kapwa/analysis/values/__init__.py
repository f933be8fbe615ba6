"""Surveys of cultural values: tables of countries by questions, and how far apart countries lie in them.

``table`` reads them, ``distance`` matches rows with identities, leaves out what is no answer on a scale, and measures;
``check`` says what is odd, ``controls`` are other distances between countries.
"""

from __future__ import annotations

from kapwa.analysis.values.distance import cultural_distance, nominal_columns
from kapwa.analysis.values.table import read_values

__all__ = ["cultural_distance", "nominal_columns", "read_values"]
