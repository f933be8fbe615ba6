"""How alike the texts of every two identities are: a matrix, its tree, its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.report.eecc.view import AnalysisView, Corpus

Floats = npt.NDArray[np.float64]
MOST_SHOWN = 300  # identities in one picture: more cannot be told apart on a screen
LEAST_SHOWN = 3
MOST_GROUPS = 8


class Join(NamedTuple):
    """One junction of the tree: where its two branches end (row, distance), and its own distance."""

    rows: tuple[float, float]
    distances: tuple[float, float]
    distance: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """One corpus by one measure: names in the order of the tree, values between them, the tree, the groups.

    ``values``: mean BLEU, or mean WED (a distance); the diagonal is NaN. ``left_out``: identities not shown.
    """

    corpus: Corpus
    measure: str
    names: tuple[str, ...]
    values: Floats
    joins: Sequence[Join]
    groups: Sequence[tuple[str, ...]]
    left_out: int

    @property
    def closeness(self) -> Floats:
        """Values that are high where texts are alike."""
        return self.values if self.measure == "bleu" else 1.0 - self.values


def likenesses(view: AnalysisView, corpus: Corpus) -> list[Likeness]:
    """The matrices of a corpus, by BLEU and by WED, each in the order of its own tree; [] where nothing is known."""
    frame = view.table("similarity", corpus)
    every = sorted(set(frame["identity_a"]) | set(frame["identity_b"]))
    if len(every) < LEAST_SHOWN:
        return []
    names = shown_names(every)
    place = {name: i for i, name in enumerate(names)}
    kept = frame.filter(frame["identity_a"].is_in(names) & frame["identity_b"].is_in(names))
    rows = np.array([place[name] for name in kept["identity_a"]], dtype=np.int64)
    columns = np.array([place[name] for name in kept["identity_b"]], dtype=np.int64)
    found = []
    for measure in ("bleu", "wed"):
        values = np.full((len(names), len(names)), np.nan)
        values[rows, columns] = values[columns, rows] = kept[measure].cast(float).fill_null(np.nan).to_numpy()
        np.fill_diagonal(values, np.nan)
        if np.isfinite(values).any():
            found.append(_ordered(corpus, measure, names, values, len(every) - len(names)))
    return found


def shown_names(every: Sequence[str]) -> list[str]:
    """All names, or of too many every so-manieth."""
    if len(every) <= MOST_SHOWN:
        return list(every)
    return [every[k * len(every) // MOST_SHOWN] for k in range(MOST_SHOWN)]


def _ordered(corpus: Corpus, measure: str, names: Sequence[str], values: Floats, left_out: int) -> Likeness:
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    apart = 1.0 - values if measure == "bleu" else values
    # A pair without a value stands at the mean: it pulls neither way.
    apart = np.where(np.isfinite(apart), apart, np.nanmean(apart))
    np.fill_diagonal(apart, 0.0)
    tree = hierarchy.linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    order = hierarchy.leaves_list(tree)
    wanted = min(MOST_GROUPS, len(names) // 5)
    flat = hierarchy.fcluster(tree, wanted, "maxclust") if wanted > 1 else np.ones(len(names), dtype=int)
    groups: dict[int, list[str]] = {}
    for i in order:
        groups.setdefault(int(flat[i]), []).append(names[i])
    return Likeness(
        corpus=corpus,
        measure=measure,
        names=tuple(names[i] for i in order),
        values=values[np.ix_(order, order)],
        joins=_joins(tree, order),
        groups=[tuple(group) for group in groups.values()] if wanted > 1 else [],
        left_out=left_out,
    )


def _joins(tree: Floats, order: npt.NDArray[np.int32]) -> list[Join]:
    """Where each junction of a linkage falls beside the rows, from the closest to the root."""
    count = len(order)
    at = {int(leaf): (row + 0.5, 0.0) for row, leaf in enumerate(order)}
    joins = []
    for k, (left, right, distance, _) in enumerate(tree):
        one, other = sorted((at[int(left)], at[int(right)]))
        joins.append(Join((one[0], other[0]), (one[1], other[1]), float(distance)))
        at[count + k] = ((one[0] + other[0]) / 2, float(distance))
    return joins
