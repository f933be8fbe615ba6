"""Somebody else's table as questions of surveys with people's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapwa.datasets.rows import columns_of
from kapwa.datasets.tables import written_value
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.opinions.form import Opinion

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, MappedRow

_LISTS = ("options", "counts", "shares")


def lay_opinions(row: MappedRow, to: Converted) -> None:
    """A question with how people of one culture answered, or those of each (``selections``)."""
    cells = row.cells("question", "question_id")
    by_culture: Any = {cells.get("culture", ""): None}
    if "selections" in cells:
        by_culture = written_value(cells.pop("selections"))
        row.fields = {"shares": row.fields["selections"], **row.fields}  # where errors about them stand
        lists = list(by_culture.values()) if isinstance(by_culture, dict) else []
        if not lists or not all(isinstance(numbers, list) for numbers in lists):
            hint = 'Such as {"Kenya": [0.4, 0.6], "Peru": [0.5, 0.5]}.'
            row.problem("selections", "holds no list of numbers for each culture.", hint)
    if row.problems:
        return
    for culture, numbers in by_culture.items():
        shares = {} if numbers is None else {"shares": list(map(str, numbers))}
        to.add("opinions", cells | shares | ({"culture": str(culture)} if culture else {}), row)


SURVEY = MappedForm(
    # "selections" holds the numbers of every culture, by its name.
    fields=(*columns_of(Opinion), "selections", "locale"),
    needed=(("question",), ("options",), ("counts", "shares", "selections")),
    lists=_LISTS,
    numbers=_LISTS,
    lay=lay_opinions,
)
