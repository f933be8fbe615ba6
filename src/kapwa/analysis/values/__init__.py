"""Surveys of cultural values: tables of countries by questions, and how far apart countries lie in them.

``table`` reads them; ``distance`` matches rows with identities, leaves out columns that are not answers on a scale, and
computes distances; ``check`` reports oddities; ``controls`` are other distances between countries.
"""

from __future__ import annotations

from kapwa.analysis.values.distance import cultural_distance, nominal_columns
from kapwa.analysis.values.table import read_values

__all__ = ["cultural_distance", "nominal_columns", "read_values"]
