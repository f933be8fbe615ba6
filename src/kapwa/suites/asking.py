"""From a task's items to its requests, and back from answers to scores, in steps that each task declares.

items → frame (what stands before every question) → wordings → samples → requests. A step wraps what comes before it:
it may change the items, what is asked of them, and how answers, floors and items read. All of it is part of each
request, and so of its key, and of the task's options, and so of the signature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from kapwa.datasets.findings import DataSource
from kapwa.errors import UsageError
from kapwa.records import Answer, Capability, Floor, Item, Request
from kapwa.suites.base import Judged, Selection, Task

if TYPE_CHECKING:
    import polars as pl

AskItems = Callable[[Sequence[Item]], Iterator[Request]]
JudgeAnswers = Callable[[Sequence[Item], Collection[Answer]], Judged]
FindFloors = Callable[[Sequence[Item]], list[Floor]]
TabulateItems = Callable[[Sequence[Item]], "pl.DataFrame"]
Inner = TypeVar("Inner", bound=Callable[..., Any])
# The names of the steps, in their order.
STEPS = ("frame", "wordings", "samples")


class Step:
    """One step between a task's items and its requests; as it stands here, it changes nothing.

    ``name``: one of :data:`STEPS`; ``title``: what messages call it. Each method gets what the task and the steps
    before it do, and the items.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @property
    def options(self) -> Mapping[str, Any]:
        """What the step adds to the task's options."""
        return {}

    @property
    def needs(self) -> frozenset[Capability]:
        """What a model must be able to do besides."""
        return frozenset()

    def items(self, items: Sequence[Item]) -> list[Item]:
        """Return the items that are asked."""
        return list(items)

    def requests(self, ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
        """Yield what to ask."""
        return ask(items)

    def score(self, judge: JudgeAnswers, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge the answers."""
        return judge(items, answers)

    def floors(self, find: FindFloors, items: Sequence[Item]) -> list[Floor]:
        """Return floors and ceilings."""
        return find(items)

    def item_table(self, tabulate: TabulateItems, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items for readers of a report."""
        return tabulate(items)


@dataclass(frozen=True, slots=True)
class SteppedTask(ABC):
    """A :class:`kapwa.suites.base.Task` that says what it asks plainly, and gets the steps it ``takes`` for it.

    ``data``, ``selection``: where its items came from, and which were chosen: ``selected``. A subclass gives the
    ``plain_…`` methods and ``kinds``: what is asked, judged and shown before any step.
    """

    data: DataSource
    selection: Selection
    selected: tuple[Item, ...]
    steps: tuple[Step, ...] = field(default=(), kw_only=True)
    takes: ClassVar[tuple[str, ...]] = STEPS

    @property
    @abstractmethod
    def kinds(self) -> frozenset[Capability]:
        """Of which kinds the plain requests are."""

    @property
    @abstractmethod
    def plain_options(self) -> Mapping[str, Any]:
        """What was set for the task itself, as plain values."""

    @abstractmethod
    def plain_requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield what to ask, item by item."""

    @abstractmethod
    def plain_score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge the answers to plain requests."""

    @abstractmethod
    def plain_floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what chance, tricks and people score."""

    @abstractmethod
    def plain_item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items for readers of a report."""

    @property
    def needs(self) -> frozenset[Capability]:
        """What a model must be able to do."""
        return self.kinds.union(*(step.needs for step in self.steps))

    @property
    def options(self) -> Mapping[str, Any]:
        """The task's own options, then those of its steps."""
        options = dict(self.plain_options)
        for step in self.steps:
            options |= step.options
        return options

    def items(self) -> list[Item]:
        """Return the selected items, in the order of the data within each variant."""
        items = list(self.selected)
        for step in self.steps:
            items = step.items(items)
        return items

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield what to ask, item by item."""
        return _around(self.plain_requests, (step.requests for step in self.steps))(items)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge the answers."""
        return _around(self.plain_score, (step.score for step in self.steps))(items, answers)

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what chance, tricks and people score."""
        return _around(self.plain_floors, (step.floors for step in self.steps))(items)

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items for readers of a report."""
        return _around(self.plain_item_table, (step.item_table for step in self.steps))(items)


def _around(plain: Inner, hooks: Iterable[Callable[..., Any]]) -> Inner:
    """Return the last of ``hooks`` around the one before it, and so on, around ``plain``."""
    for hook in hooks:
        plain = partial(hook, plain)  # type: ignore[assignment]
    return plain


def with_steps(task: Task, steps: Sequence[Step]) -> Task:
    """Return ``task`` with ``steps`` before those it has; raise UsageError for one that it does not take."""
    if not steps:
        return task
    takes = task.takes if isinstance(task, SteppedTask) else ()
    for step in steps:
        if step.name not in takes:
            hint = "Its data hold prompts of their own: write further ones there." if takes else "Leave it out."
            raise UsageError(f"{task.name} takes no {step.title}.", hint=hint)
    assert isinstance(task, SteppedTask)
    return replace(task, steps=(*steps, *task.steps))
