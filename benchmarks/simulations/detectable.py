"""Power at the difference that a report says is detectable: pilots whose answers differ seldom or often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import Comparison, paired_differences
from kapwa.stats.power import detectable_difference

ON_TOP = "right/wrong, more differ by the difference"


class Design(NamedTuple):
    """Clusters and items in each, the share of items on which two models differ, comparisons of one Holm family.

    ``kind``: "right/wrong", where so many differ whatever the difference is, or (``ON_TOP``) as many more as it is;
    "five answers", the mean of five right/wrong answers to each item; or "measure", differences of varying size
    (half-normal; normal where all items differ). Where a cluster has several items, one is like its cluster with
    chance ½.
    """

    clusters: int
    size: int
    differing: float
    comparisons: int = 1
    kind: str = "right/wrong"

    def __str__(self) -> str:
        """In words."""
        several = f"{self.clusters} clusters of {self.size} items" if self.size > 1 else f"{self.clusters} items"
        holm = f", Holm over {self.comparisons}" if self.comparisons > 1 else ""
        return f"{several}, {self.differing:.0%} differ, {self.kind}{holm}"


DESIGNS = (
    *(Design(30, 1, share) for share in (0.03, 0.1, 0.4)),
    *(Design(150, 1, share) for share in (0.02, 0.05, 0.2)),
    *(Design(500, 1, share) for share in (0.02, 0.2)),
    *(Design(150, 1, 0.1, comparisons) for comparisons in (4, 16)),
    Design(500, 1, 0.2, 16),
    *(Design(items, 1, share, 1, ON_TOP) for items, share in ((150, 0.1), (500, 0.2))),
    *(Design(clusters, 5, 0.2) for clusters in (10, 15, 40)),
    *(Design(86, 2, share) for share in (0.05, 0.2)),
    *(Design(150, 1, share, 1, "five answers") for share in (0.05, 0.2)),
    *(Design(clusters, 1, share, 1, "measure") for clusters, share in ((30, 0.1), (30, 1.0), (150, 0.05), (150, 0.3))),
)


def draw(random: np.random.Generator, design: Design, true: FloatArray) -> FloatArray:
    """Paired differences, (items, columns), each column with the ``true`` mean of its place."""
    shape, copies = (design.clusters * design.size, true.size), 5 if design.kind == "five answers" else 1
    share = design.differing + true if design.kind == ON_TOP else np.maximum(design.differing, true)
    drawn = np.zeros((design.clusters * design.size, true.size))
    if design.kind == "measure" and design.differing == 1:
        return random.normal(size=shape) + true
    for _ in range(copies):
        shared = np.repeat(random.random((design.clusters, true.size)), design.size, axis=0)
        alike = random.random(shape) < (0.5 if design.size > 1 else 0.0)
        place = np.where(alike, shared, random.random(shape))
        drawn += np.where(place < (share + true) / 2, 1.0, np.where(place < share, -1.0, 0.0))
    # Of a measure, a difference has one sense or the other as of right/wrong, and a size of mean 1.
    sizes = np.abs(random.normal(size=shape)) * np.sqrt(np.pi / 2) if design.kind == "measure" else 1.0
    return drawn * sizes / copies


def compared(drawn: FloatArray, design: Design, *, mid_p: bool = False) -> list[Comparison]:
    """What the library says of the columns."""
    labels, binary = np.repeat(np.arange(design.clusters), design.size), design.kind != "measure"
    sides = np.maximum(drawn, 0), np.maximum(-drawn, 0)
    return paired_differences(*sides, labels, binary=binary, permutations=1999, mid_p=mid_p)


def verdicts(rows: Sequence[Comparison], design: Design) -> FloatArray:
    """1 where A is said to be higher, −1 where B is, 0 else: interval, and Holm's p where no other test finds any."""
    signs = [
        np.sign(row.low) if row.low is not None and row.high is not None and row.low * row.high > 0 else 0.0
        for row in rows
    ]
    p = np.array([row.p_value for row in rows])
    return np.where(p * design.comparisons < 0.05, signs, 0.0)


def printed(rows: Sequence[Comparison], design: Design, *, mid_p: bool = False) -> FloatArray:
    """The detectable difference of each comparison, beside Holm's verdict."""
    given = ("n", "clusters", "difference", "se", "differing")
    alpha = {"alpha": 0.05 / design.comparisons, "binary": design.kind != "measure", "mid_p": mid_p}
    return np.array(
        [
            np.nan if row.se is None else detectable_difference(**{name: getattr(row, name) for name in given}, **alpha)
            for row in rows
        ]
    )


def cells(random: np.random.Generator, repeats: int, *, designs: Sequence[Design] = DESIGNS) -> Iterator[Cell]:
    """A pilot without a difference says what is detectable; models with just that difference are compared."""
    for design in designs:
        sizes = printed(compared(draw(random, design, np.zeros(repeats)), design), design)
        sizes = sizes[np.isfinite(sizes)]
        found = verdicts(compared(draw(random, design, sizes), design), design) > 0
        setting = f"{design}; printed: {np.median(sizes):.3f}"
        yield Cell("detectable", "power at the printed difference", setting, 100 * found.mean(), sizes.size, 75, 85)
