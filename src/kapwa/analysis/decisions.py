"""What the user decides about surveys: questions kept or left out, and what ambiguous names mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapwa.analysis.values import ValuesTable
from kapwa.errors import UsageError, nearest


@dataclass(frozen=True, slots=True)
class Decisions:
    """Questions to ``keep`` and to ``drop``, each as "question" or "table:question"; and what names mean.

    ``choose``: an identity, or the label of a survey's row, to an ISO code; "" leaves it out.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    choose: Mapping[str, str] = field(default_factory=dict)

    def of(self, table: ValuesTable, identities: Sequence[str] = ()) -> dict[str, Any]:
        """Return what concerns ``table``: keyword arguments of :func:`kapwa.analysis.values.cultural_distance`."""
        known = {*identities, *_labels(table)}
        return {
            "keep": _questions(table, self.keep),
            "drop": _questions(table, self.drop),
            "choose": {name: code for name, code in self.choose.items() if name in known},
        }

    def check(self, tables: Sequence[ValuesTable], identities: Iterable[str]) -> None:
        """Raise UsageError for a question that no table has, and a name that stands nowhere."""
        decided = (*self.keep, *self.drop, *self.choose)
        if decided and not tables:
            raise UsageError(f"{decided[0]!r} is decided about a survey, and none is named.", hint="Add --values FILE.")
        questions = {question for table in tables for question in table.questions}
        for name in (*self.keep, *self.drop):
            if not any(_questions(table, (name,)) for table in tables):
                raise UsageError(f"No survey has a question {name!r}.", hint=nearest(name, questions))
        names = {*identities, *(label for table in tables for label in _labels(table))}
        for name in self.choose:
            if name not in names:
                raise UsageError(f"{name!r} is neither an identity nor a row of a survey.", hint=nearest(name, names))


def _questions(table: ValuesTable, names: Sequence[str]) -> tuple[str, ...]:
    """Return the questions of ``table`` among ``names``, which may begin with the name of the table."""
    own = (name if name in table.questions else name.removeprefix(f"{table.name}:") for name in names)
    return tuple(dict.fromkeys(name for name in own if name in table.questions))


def _labels(table: ValuesTable) -> set[str]:
    return {label for row in table.rows for label in row.labels if label}
