"""What cultures belong to: the labels of ``cultures.csv`` beside a card, several a culture; labels may have labels too.

>>> data.read_labels(["Hausa", "Yoruba"])
>>> data.labels
{"region": {"Northern Nigeria": ["Hausa"]}, "country": {"Nigeria": ["Hausa", "Yoruba"]}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from kapwa.datasets.rows import Filled, Row
from kapwa.errors import nearest

if TYPE_CHECKING:
    from kapwa.datasets.packs import DataSet

# By kind of label and label, the cultures that belong to it.
Labels = Mapping[str, Mapping[str, Sequence[str]]]


class LabelRow(Row):
    """One thing that a culture, or a label, belongs to."""

    unique = ("culture", "label")

    culture: Filled = Field(description="A culture of the data, or a label that belongs to a larger one.")
    label: Filled = Field(description="What it belongs to: a region, a country, a people, a diaspora.")
    kind: Filled = Field(description="What the label is, such as region; labels of a kind are tested together.")


def read_labels(data: DataSet, files: Sequence[Path], cultures: Collection[str], *, every: bool) -> Labels:
    """Return which of ``cultures`` belong to each label of ``files``, through however many labels, in their order.

    A culture that is a label too belongs to it. Problems are added to the data's. ``every``: whether ``cultures`` are
    all that the files may name.
    """
    rows = [row for file in files for row in data.read(file, LabelRow, what="a table of cultures and labels")]
    first: dict[str, LabelRow] = {}
    parts: dict[str, list[str]] = {}
    for row in rows:
        first.setdefault(row.label, row)
        parts.setdefault(row.label, []).append(row.culture)
    below = {label: _below(label, parts) for label in parts}
    names = [*cultures, *parts]
    for row in rows:
        kind = first[row.label].kind
        if every and row.culture not in names:
            message = f"{row.culture!r} is neither a culture of these data nor a label."
            data.problems.append(row.origin.problem(message, "culture", nearest(row.culture, names)))
        if row.label in (row.culture, *below.get(row.culture, ())):
            message = f"{row.label!r} would belong to itself: {row.culture!r} is it, or belongs to it."
            data.problems.append(row.origin.problem(message, "label", "Take out one row of the circle."))
        if row.kind != kind:
            message = f"{row.label!r} is a label of the kind {kind!r} in row {first[row.label].origin.row}."
            hint = "A label has one kind: give a group of another kind a name of its own."
            data.problems.append(row.origin.problem(message, "kind", hint))
    labels: dict[str, dict[str, list[str]]] = {}
    for label, within in below.items():
        members = [culture for culture in cultures if culture == label or culture in within]
        if members:
            labels.setdefault(first[label].kind, {})[label] = members
    return labels


def _below(label: str, parts: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all cultures and labels that belong to a label, itself among them where it is in a circle."""
    below: set[str] = set()
    waiting = [label]
    while waiting:
        new = set(parts.get(waiting.pop(), ())) - below
        below |= new
        waiting += new
    return below
