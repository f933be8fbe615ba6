"""What precedes every question of a run: a system message, and answered examples ("shots") from other items.

Both are part of each request, and so of its key, and options of the task, and so of the signature. The examples of an
item are of its culture, language and variant, of clusters other than its own, each of another one; items of one cluster
have the same examples, whatever part of the data is asked. They come as turns of a conversation: the question as the
task asks it, then a right answer (the best response, people's commonest answer, the right letter).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from kapwa.errors import UsageError, check_whole
from kapwa.records import Item, Message, Request
from kapwa.suites.base import AskItems, Step, Suite, Task


def check_framing(suite: Suite, task: str, system: str | None, shots: int) -> None:
    """Raise UsageError for a system message without a word, and for examples of what has no right answer."""
    if system is not None and not system.strip():
        raise UsageError("The system message is empty.", hint="Leave it out, or write one.")
    check_whole("shots", shots, 0)
    if shots and suite.example_answers is None:
        what = f"{task} has no right answers, so its questions cannot follow answered examples."
        raise UsageError(what, hint="Leave --shots out, or ask a task that has right answers, such as kalahi/open.")


@dataclass(frozen=True)
class Frame(Step):
    """A system message, and ``shots`` answered examples drawn by ``seed``, before every question.

    ``pool``: the items that examples come from, by culture, language and variant, then by cluster; ``answers``: the
    right answers to each request for an item.
    """

    name: ClassVar[str] = "frame"
    title: ClassVar[str] = "system message or answered examples"

    system: str = ""
    shots: int = 0
    seed: int = 0
    pool: Mapping[Any, Mapping[str, Sequence[Item]]] = field(default_factory=dict, repr=False)
    answers: Callable[[Item], Sequence[str]] | None = None

    def applied_to(self, task: Task) -> Task:
        """Return ``task`` with messages before each of its questions."""
        system = {"system": self.system} if self.system else {}
        shots = {"shots": self.shots, "shots_seed": self.seed} if self.shots else {}
        options = {**task.options, **system, **shots}
        return replace(task, options=options, requests=partial(self.requests, task.requests))

    def requests(self, ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the task's requests with the same messages before each; several of one item have each its own."""
        system = (Message("system", self.system),) if self.system else ()
        for item in items:
            shown = [list(self._turns(ask, example)) for example in self._examples(item)]
            for index, request in enumerate(ask([item])):
                turns = [turn for example in shown for turn in example[index]]
                yield replace(request, messages=(*system, *turns, *request.messages))

    def _examples(self, item: Item) -> Iterator[Item]:
        if not self.shots:
            return
        clusters = self.pool[_kind(item)]
        # From the cluster's name alone: in every language and variant that has the same clusters, the same are drawn.
        draw = random.Random(f"{self.seed}\0{item.culture}\0{item.cluster}")  # noqa: S311 - no secret
        drawn = draw.sample(sorted(clusters), min(self.shots + 1, len(clusters)))
        for cluster in [name for name in drawn if name != item.cluster][: self.shots]:
            yield draw.choice(clusters[cluster])

    def _turns(self, ask: AskItems, item: Item) -> Iterator[tuple[Message, ...]]:
        assert self.answers is not None  # see check_framing
        for request, answer in zip(ask([item]), self.answers(item), strict=True):
            yield (*request.messages, Message("assistant", answer))


def examples_from(
    pool: Sequence[Item], items: Sequence[Item], shots: int, answers: Callable[[Item], Sequence[str]]
) -> Mapping[Any, Mapping[str, Sequence[Item]]]:
    """Return the items of ``pool`` that have right answers, as :class:`Frame` takes them.

    Raises UsageError where one of ``items`` has fewer than ``shots`` clusters of other items to draw from.
    """
    by_cluster: defaultdict[Any, defaultdict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in pool:
        if answers(item):  # people's answers may lack an English one
            by_cluster[_kind(item)][item.cluster].append(item)
    for item in items:
        others = len(by_cluster[_kind(item)].keys() - {item.cluster})
        if others < shots:
            raise UsageError(
                f"{shots} examples for item {item.id!r} need as many others that are independent of it; of its "
                f"culture and variant ({item.culture}, {item.variant}) there are {others}.",
                hint=f"Ask with --shots {others}, or with more data." if others else "Leave --shots out.",
            )
    return by_cluster


def _kind(item: Item) -> tuple[str, str, str]:
    return item.culture, item.language, item.variant
