"""Somebody else's table as situations with their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapwa.datasets.rows import columns_of
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.items import NO_TOPIC
from kapwa.suites.kalahi.form import RESPONSES, Situation

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, MappedRow

_LISTS = (*RESPONSES, *(f"{name}_en" for name in RESPONSES))


def lay_situation(row: MappedRow, to: Converted) -> None:
    """A situation with its responses; a row without cluster is a cluster of its own."""
    single = [name for name in row.names() if name not in (*_LISTS, "locale", "culture", "language")]
    cells: dict[str, object] = {name: row.text(name) for name in single}
    cells |= {name: row.items(name) for name in _LISTS if row.has(name)}
    cells |= row.culture_and_language()
    cells |= row.talk([str(cells["context"])])
    cells["id"] = row.own_id()
    cells.setdefault("cluster", cells["id"])
    cells.setdefault("category", NO_TOPIC)
    cells.setdefault("topic", NO_TOPIC)
    if not row.problems:
        to.add("situations", cells, row)


SITUATIONS = MappedForm(
    fields=(*columns_of(Situation), "locale"),
    needed=tuple((name,) for name in ("context", "best", *RESPONSES)),
    lists=_LISTS,
    lay=lay_situation,
)
