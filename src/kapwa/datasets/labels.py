"""The labels of cultures, from ``cultures.csv`` beside a card. A culture may have several; labels may have labels too.

>>> labels_of(rows, ["Hausa", "Yoruba"], every=True)[0]
{"region": {"Northern Nigeria": ["Hausa"]}, "country": {"Nigeria": ["Hausa", "Yoruba"]}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from kapwa.datasets.rows import Filled, RowModel
from kapwa.errors import DataError, nearest


class LabelRow(RowModel):
    """One thing that a culture, or a label, belongs to."""

    unique = ("culture", "label")

    culture: Filled = Field(description="A culture of the data, or a label that belongs to a larger one.")
    label: Filled = Field(description="What it belongs to: a region, a country, a people, a diaspora.")
    kind: Filled = Field(description="What the label is, such as region; labels of a kind are tested together.")


def labels_of(
    rows: Sequence[LabelRow], cultures: Collection[str], *, every: bool
) -> tuple[dict[str, dict[str, list[str]]], list[DataError]]:
    """Return by kind and label which of ``cultures`` belong to it, directly or through other labels; and all problems.

    A culture that is also a label belongs to that label. ``every``: whether rows may name no other cultures.
    """
    first: dict[str, LabelRow] = {}
    members_of: dict[str, list[str]] = {}
    for row in rows:
        first.setdefault(row.label, row)
        members_of.setdefault(row.label, []).append(row.culture)
    below = {label: _below(label, members_of) for label in members_of}
    names = [*cultures, *members_of]
    problems = []
    for row in rows:
        if every and row.culture not in names:
            message = f"{row.culture!r} is neither a culture of these data nor a label."
            problems.append(row.origin.problem(message, "culture", nearest(row.culture, names)))
        if row.label in (row.culture, *below.get(row.culture, ())):
            message = f"{row.label!r} would belong to itself: {row.culture!r} is the same, or belongs to it."
            problems.append(row.origin.problem(message, "label", "Take out one row of the circle."))
        if row.kind != first[row.label].kind:
            message = f"{row.label!r} has the kind {first[row.label].kind!r} in row {first[row.label].origin.row}."
            hint = "A label has one kind: give a group of another kind a different name."
            problems.append(row.origin.problem(message, "kind", hint))
    labels: dict[str, dict[str, list[str]]] = {}
    for label, within in below.items():
        members = [culture for culture in cultures if culture in (label, *within)]
        if members:
            labels.setdefault(first[label].kind, {})[label] = members
    return labels, problems


def _below(label: str, members_of: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all cultures and labels that belong to a label, including itself where it is in a circle."""
    below: set[str] = set()
    waiting = [label]
    while waiting:
        new = set(members_of.get(waiting.pop(), ())) - below
        below |= new
        waiting += new
    return below
