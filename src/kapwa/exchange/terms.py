"""What exports and imports of every format share: words, what tells items apart, how damaged samples are refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import polars as pl

from kapwa.errors import DataError, KapwaError
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


@contextmanager
def reading_samples() -> Iterator[None]:
    """Turn whatever another tool's samples of a task of ours are wrong in into DataError."""
    try:
        yield
    except DataError:
        raise
    except KapwaError as error:
        raise DataError(error.message, hint=error.hint) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"its samples are not as Kapwa's tasks write them ({type(error).__name__}).") from None
