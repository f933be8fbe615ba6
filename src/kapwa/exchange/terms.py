"""Words that exports and imports of every format share: what tells items apart, what is not told, what was expected."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from kapwa.records import SCORE_COLUMNS

# What other tools do not know of an item: whose it is, and (BCP 47) in which language.
UNKNOWN, UNDETERMINED = "unknown", "und"
# Other tools report one number for each of these together.
BLOCK = ("culture", "language", "variant")
# The column of the items that holds what was expected, by suite; the first that a task has. Imports have "target".
TARGETS = ("best", "answer", "answers", "target")
SCORES = {name: {"value": pl.Float64, "sample": pl.Int64}.get(name, pl.String) for name in SCORE_COLUMNS}


class About(NamedTuple):
    """Whose culture and which language the user says an import is about."""

    culture: str = UNKNOWN
    language: str = UNDETERMINED

    @property
    def told(self) -> list[str]:
        """What the user says of these."""
        return [name for name, value in self._asdict().items() if value != self._field_defaults[name]]
