"""The rule by which a run ends once its score is known well enough, and the blocks in which it then asks its items.

A block is the next few clusters of one culture, in that culture's own random order. Which blocks there are follows from
the data, the seed and a block's least size alone, so a run that goes on later asks what one would have asked that never
stopped, in the same batches.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from kapwa.errors import UsageError
from kapwa.records import Item
from kapwa.stats.clusters import IntArray
from kapwa.stats.sequential import LEAST_STEP, look_points, seeded_order
from kapwa.value_types import JsonMapping

MEAN, DECIDED = "mean", "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """When a run has learnt enough, as ``--until`` says it.

    ``width``: once the 95 % interval of the score on these items reaches so far to either side, in the metric's unit:
    of each culture, or of the mean over cultures (``mean``). ``decided``: instead, once a loss above ``margin`` against
    this earlier run is shown or excluded, over cultures. ``control``: an earlier run on the same items, whose answers
    make the interval narrower (with ``decided`` it is that run).
    """

    width: float | None = None
    mean: bool = False
    decided: Path | None = None
    margin: float | None = None
    control: Path | None = None

    @classmethod
    def parse(cls, rule: str | float, *, margin: float | None = None, control: str | Path | None = None) -> Until:
        """Read a rule: ``0.05``, "0.05", "0.02:mean" or "decided:FOLDER"; raise UsageError for another."""
        text = str(rule)
        known = None if control is None else Path(control)
        if text.startswith(f"{DECIDED}:"):
            if margin is None or not 0 < margin < math.inf:
                hint = "Such as --margin 0.02, the largest loss that you allow: 2 points of a share."
                raise UsageError(f"--until {text} needs a margin above 0.", hint=hint)
            if known is not None:
                raise UsageError("With --until decided:RUN, that run is the control.", hint="Leave out --control.")
            return cls(decided=Path(text.partition(":")[2]), margin=margin)
        if margin is not None:
            raise UsageError("A margin goes with --until decided:RUN.", hint="Leave out --margin, or name the old run.")
        number, colon, over = text.partition(":")
        try:
            width = float(number)
        except ValueError:
            width = math.nan
        if not 0 < width < 1 or (colon and over != MEAN):
            hint = "Write 0.05 (each culture to ±5 points), 0.02:mean (the mean over cultures) or decided:RUN."
            raise UsageError(f"--until {text} is no rule to stop by: a width is a share between 0 and 1.", hint=hint)
        return cls(width=width, mean=over == MEAN, control=known)

    @property
    def each(self) -> bool:
        """Whether each culture ends by itself, once its own score is known."""
        return self.decided is None and not self.mean

    @property
    def rule(self) -> str:
        """The rule in one word, as a signature has it: "0.05", "0.02:mean", "decided:0.02"."""
        if self.decided is not None:
            return f"{DECIDED}:{self.margin:g}"
        return f"{self.width:g}{f':{MEAN}' if self.mean else ''}"


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """What the blocks of a run follow from, beside its items: ``seed``, and the fewest items in a block.

    It stands in the run's manifest under "blocks", and holds for the run as long as it goes on.
    """

    seed: int
    least: int

    @classmethod
    def of(cls, manifest: JsonMapping | None) -> BlockOrder | None:
        """Return the order that a run was begun in; None for one that asks in no blocks."""
        blocks = (manifest or {}).get("blocks")
        return None if blocks is None else cls(int(blocks["seed"]), int(blocks["least"]))


@dataclass(frozen=True, slots=True)
class Layout:
    """One culture's items in the order of asking.

    ``blocks``: the items asked before each look, of all variants. ``ids``, ``codes``: of the items looked at, those of
    the run's first variant, and their clusters, numbered in the order of asking. ``points``: how many of these clusters
    were asked at each look. ``language``: of these items.
    """

    culture: str
    language: str
    blocks: Sequence[Sequence[Item]]
    ids: Sequence[str]
    codes: IntArray
    points: Sequence[int]


def layouts(items: Sequence[Item], variant: str, order: BlockOrder) -> list[Layout]:
    """Lay out the items of every culture that has some of ``variant``; a cluster is asked whole, in all variants."""
    by_culture: defaultdict[str, defaultdict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        by_culture[item.culture][item.cluster].append(item)
    return [_layout(culture, clusters, variant, order) for culture, clusters in by_culture.items()]


def _layout(culture: str, clusters: Mapping[str, Sequence[Item]], variant: str, order: BlockOrder) -> Layout:
    """Lay out one culture; clusters without an item of ``variant`` tell nothing of its score and come last."""
    labels = seeded_order(list(clusters), culture, order.seed)
    looked_at = {label: [item for item in clusters[label] if item.variant == variant] for label in labels}
    labels.sort(key=lambda label: not looked_at[label])
    telling = [label for label in labels if looked_at[label]]
    sizes = np.array([len(looked_at[label]) for label in telling], dtype=np.intp)
    items_each = sum(map(len, clusters.values())) / len(clusters)
    points = look_points(sizes, max(LEAST_STEP, math.ceil(order.least / items_each)))
    cuts = [0, *points[:-1], len(labels)]
    return Layout(
        culture=culture,
        language=looked_at[telling[0]][0].language if telling else "",
        blocks=[[item for label in labels[begin:end] for item in clusters[label]] for begin, end in pairwise(cuts)],
        ids=[item.id for label in telling for item in looked_at[label]],
        codes=np.repeat(np.arange(len(sizes)), sizes),
        points=points,
    )
