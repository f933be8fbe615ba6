"""What a run that stops early would ask: its looks are gone through with answers that are assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.models.base import LOCAL_BACKENDS, LOCAL_BLOCK
from kapwa.records import Item
from kapwa.runs.directory import Run
from kapwa.runs.looks import Looks
from kapwa.runs.requests import RequestIndex, requests_of
from kapwa.runs.store import AnswerStore
from kapwa.runs.until import BlockOrder, Until
from kapwa.suites.base import Task

# Without a pilot, half of the answers are taken as right: of shares, these need the most items.
_UNKNOWN = 0.5


@dataclass(frozen=True, slots=True)
class PlannedCulture:
    """How many of a culture's items a run would ask before it stops."""

    culture: str
    asked: int
    items: int


@dataclass(frozen=True, slots=True)
class UntilPlan:
    """What a run that stops early would ask.

    ``requests``: how many, of ``all_requests`` different ones. ``reason``: why it would stop; None where it would ask
    everything. ``grounds``: what was assumed of the answers.
    """

    task: str
    rule: str
    cultures: tuple[PlannedCulture, ...]
    requests: int
    all_requests: int
    looks: int
    reason: str | None
    grounds: str

    @property
    def share(self) -> float:
        """The part of the requests that would be asked."""
        return self.requests / self.all_requests


class AssumedLooks(Looks):
    """Looks at answers that are assumed: what a pilot scored on each item, else draws of its culture's mean."""

    def __init__(self, task: Task, items: Sequence[Item], order: BlockOrder, until: Until, pilot: Run | None) -> None:
        """Raises UsageError where the pilot, or an earlier run that is named, is of other questions."""
        super().__init__(task, items, AnswerStore(None), order, until)
        self._random = np.random.default_rng([order.seed, 40])
        self._known: Mapping[tuple[str, str], float | None] = {}
        self._means: Mapping[str, float] = {}
        if pilot is not None:
            self._known = self.values_of(pilot)
            rows = pl.DataFrame(
                [(culture, value) for (culture, _), value in self._known.items()],
                schema={"culture": pl.String, "value": pl.Float64},
                orient="row",
            )
            self._means = dict(rows.group_by("culture").agg(pl.col("value").mean()).drop_nulls().rows())

    def scores_of(self, items: Sequence[Item], block: RequestIndex) -> pl.DataFrame:  # noqa: ARG002 - as of Looks
        """Return rows of scores that are assumed."""
        rows = [(item.id, self._assumed(item), "scored") for item in items if item.variant == self.variant]
        schema = {"item_id": pl.String, "value": pl.Float64, "outcome": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(metric=pl.lit(self.metric))

    def _assumed(self, item: Item) -> float:
        known = self._known.get((item.culture, item.id))
        if known is not None:
            return known
        return float(self._random.random() < self._means.get(item.culture, _UNKNOWN))


def block_of(specs: Sequence[str]) -> int:
    """Return how many items of a culture a run of these models asks between two looks at least, as far as names tell.

    A provider's batch interface, which is switched on by an option of the run, does not show in a name.
    """
    local = any(spec.partition(":")[0] in LOCAL_BACKENDS for spec in specs)
    return LOCAL_BLOCK if local else 1


def plan_until(task: Task, until: Until, *, pilot: Run | None = None, seed: int = 0, look_every: int = 1) -> UntilPlan:
    """Plan a run that stops early: what it would ask if its model answered as ``pilot`` did.

    Without a pilot, half of the answers are taken as right, at random: of shares, the most that could be needed.
    ``look_every``: how many items of a culture are asked between two looks at least. Raises UsageError for a decision
    against an earlier run, or a control, without a pilot: how alike the two models are is what such a plan rests on.
    """
    if pilot is None and (until.decided or until.control) is not None:
        hint = "Name a run of a model like the new one with --pilot, such as another checkpoint's."
        raise UsageError("How alike the answers of two models are is not known without a pilot.", hint=hint)
    items = task.items()
    looks = AssumedLooks(task, items, BlockOrder(seed, look_every), until, pilot)
    if not looks.share and pilot is None:
        hint = "Name a run with --pilot."
        raise UsageError(f"{looks.metric} is no share, so how much it varies is not known without a pilot.", hint=hint)
    requests = sum(block.distinct_total for blocks in looks.rounds({}) for block in blocks)
    return UntilPlan(
        task=task.name,
        rule=until.rule,
        cultures=tuple(
            PlannedCulture(culture.layout.culture, culture.items, len(culture.layout.ids)) for culture in looks.cultures
        ),
        requests=requests,
        all_requests=requests_of(task, items, {}).distinct_total,
        looks=looks.taken,
        reason=looks.reason,
        grounds=_grounds(pilot),
    )


def _grounds(pilot: Run | None) -> str:
    """Say what was assumed."""
    if pilot is None:
        return "Assumed: half of the answers are right, which takes the most items."
    return f"Assumed: the model answers as {pilot.path.name} did."
