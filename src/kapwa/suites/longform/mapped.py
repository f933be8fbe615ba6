"""Somebody else's table as questions with the criteria of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapwa.datasets.rows import columns_of
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.longform.form import LongQuestion

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, MappedRow


def lay_long_question(row: MappedRow, to: Converted) -> None:
    """A question with its criteria; those of a constant are asked of every answer."""
    cells = row.cells("question")
    if not row.problems:
        to.add("longform", cells, row)


CRITERIA = MappedForm(
    fields=(*columns_of(LongQuestion), "locale"),
    needed=(("question",), ("criteria",)),
    lists=("criteria", "criteria_en", "weights"),
    numbers=("weights",),
    lay=lay_long_question,
)
