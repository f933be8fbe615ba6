"""Somebody else's table as situations with their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapwa.datasets.rows import columns_of
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.items import NO_TOPIC
from kapwa.suites.kalahi.form import RESPONSES, SituationRow

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, MappedRow


def lay_situation(row: MappedRow, to: Converted) -> None:
    """A situation with its responses; a row without cluster is a cluster of its own."""
    cells = row.cells("context")
    if not row.problems:
        to.add("situations", {"cluster": cells["id"], "category": NO_TOPIC, "topic": NO_TOPIC} | cells, row)


SITUATIONS = MappedForm(
    fields=(*columns_of(SituationRow), "locale"),
    needed=tuple((name,) for name in ("context", "best", *RESPONSES)),
    lists=(*RESPONSES, *(f"{name}_en" for name in RESPONSES)),
    lay=lay_situation,
)
