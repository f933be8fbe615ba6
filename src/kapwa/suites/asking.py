"""A task as a value, and the steps that change what it asks and how its answers read.

items → frame (what stands before every question) → wordings → samples → requests. A step wraps what comes before it:
it may change the items, what is asked of them, and how answers, floors and items read. All of it is part of each
request, and so of its key, and of the task's options, and so of the signature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kapwa.datasets.findings import DataSource
from kapwa.errors import UsageError
from kapwa.records import Answer, Capability, Floor, Item, Request
from kapwa.suites.base import Judged, MetricInfo, Selection, Task

if TYPE_CHECKING:
    import polars as pl

AskItems = Callable[[Sequence[Item]], Iterator[Request]]
JudgeAnswers = Callable[[Sequence[Item], Collection[Answer]], Judged]
FindFloors = Callable[[Sequence[Item]], list[Floor]]
TabulateItems = Callable[[Sequence[Item]], "pl.DataFrame"]
# The names of the steps, in their order.
STEPS = ("frame", "wordings", "samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedTask:
    """A :class:`kapwa.suites.base.Task` as a value, which steps change field by field; ``takes`` names those it takes.

    ``data``, ``selection``: where its items came from, and which were chosen: ``selected``.
    """

    name: str
    data: DataSource
    selection: Selection
    selected: Sequence[Item]
    needs: frozenset[Capability]
    headline: tuple[str, ...]
    groups: tuple[str, ...] = ()
    metrics: Mapping[str, MetricInfo]
    options: Mapping[str, Any]
    requests: AskItems
    score: JudgeAnswers
    floors: FindFloors
    item_table: TabulateItems
    takes: tuple[str, ...] = STEPS

    @property
    def suite(self) -> str:
        """Name of the suite whose form the data have."""
        return self.name.partition("/")[0]

    def items(self) -> list[Item]:
        """Return the selected items, in the order of the data within each variant."""
        return list(self.selected)


class Step(ABC):
    """One step between a task's items and its requests.

    ``name``: one of :data:`STEPS`; ``title``: what messages call it.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def around(self, task: SteppedTask) -> SteppedTask:
        """Return ``task`` as this step changes it."""


def with_steps(task: Task, steps: Sequence[Step]) -> Task:
    """Return ``task`` with ``steps`` around it, the first innermost; raise UsageError for one that it does not take."""
    for step in steps:
        if not isinstance(task, SteppedTask) or step.name not in task.takes:
            own_prompts = "Its data hold prompts of their own: write further ones there."
            hint = own_prompts if isinstance(task, SteppedTask) else "Leave it out."
            raise UsageError(f"{task.name} takes no {step.title}.", hint=hint)
        task = step.around(task)
    return task
