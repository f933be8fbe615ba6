"""What stands before every question of a run: a system message, and answered examples ("shots") from other items.

Both are part of each request, and so of its key, and options of the task, and so of the signature. The examples of an
item are of its culture, language and variant, of clusters other than its own, each of another one; items of one cluster
have the same examples, whatever part of the data is asked. They come as turns of a conversation: the question as the
task asks it, then a right answer (the best response, people's commonest answer, the right letter).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from kapwa.errors import UsageError, check_whole
from kapwa.records import Item, Message, Request
from kapwa.suites.base import Suite, Task


def check_framing(suite: Suite, task: str, system: str | None, shots: int) -> None:
    """Raise UsageError for a system message without a word, and for examples of what has no right answer."""
    if system is not None and not system.strip():
        raise UsageError("The system message is empty.", hint="Leave it out, or write one.")
    check_whole("shots", shots, 0)
    if shots and suite.example_answers is None:
        what = f"{task} has no right answers, so no answered examples can stand before its questions."
        raise UsageError(what, hint="Leave --shots out, or ask a task that has right answers, such as kalahi/open.")


def framed(
    suite: Suite, task: Task, *, system: str = "", shots: int = 0, pool: Sequence[Item] = (), seed: int = 0
) -> Task:
    """Return ``task`` with what stands before its questions; examples are drawn from ``pool`` by ``seed``.

    Raises UsageError where a culture has too few clusters to draw from.
    """
    if not system and not shots:
        return task
    return cast("Task", _Framed(suite, task, system, shots, pool, seed))


class _Framed:
    """A task with messages before each of its requests; in everything else it is that task."""

    def __init__(self, suite: Suite, task: Task, system: str, shots: int, pool: Sequence[Item], seed: int) -> None:
        self._suite, self._task, self._system, self._shots, self._seed = suite, task, system, shots, seed
        # By whose, in which language and variant, then by cluster.
        self._pool: defaultdict[Any, defaultdict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
        for item in pool:
            if suite.example_answers and suite.example_answers(item):  # people's answers may lack an English one
                self._pool[_kind(item)][item.cluster].append(item)
        for item in task.items() if shots else ():
            others = len(self._pool[_kind(item)].keys() - {item.cluster})
            if others < shots:
                raise UsageError(
                    f"{shots} examples for item {item.id!r} need as many others that are independent of it; of its "
                    f"culture and variant ({item.culture}, {item.variant}) there are {others}.",
                    hint=f"Ask with --shots {others}, or with more data." if others else "Leave --shots out.",
                )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    @property
    def options(self) -> Mapping[str, Any]:
        """The task's options, and what stands before its questions."""
        system = {"system": self._system} if self._system else {}
        shots = {"shots": self._shots, "shots_seed": self._seed} if self._shots else {}
        return {**self._task.options, **system, **shots}

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the task's requests with the same messages before each; several of one item have each its own."""
        system = (Message("system", self._system),) if self._system else ()
        for item in items:
            shown = [list(self._turns(example)) for example in self._examples(item)]
            for place, request in enumerate(self._task.requests([item])):
                turns = [turn for example in shown for turn in example[place]]
                yield replace(request, messages=(*system, *turns, *request.messages))

    def _examples(self, item: Item) -> Iterator[Item]:
        if not self._shots:
            return
        clusters = self._pool[_kind(item)]
        # From the cluster's name alone: in every language and variant that has the same clusters, the same are drawn.
        draw = random.Random(f"{self._seed}\0{item.culture}\0{item.cluster}")  # noqa: S311 - no secret
        drawn = draw.sample(sorted(clusters), min(self._shots + 1, len(clusters)))
        for cluster in [name for name in drawn if name != item.cluster][: self._shots]:
            yield draw.choice(clusters[cluster])

    def _turns(self, item: Item) -> Iterable[tuple[Message, ...]]:
        assert self._suite.example_answers is not None  # see check_framing
        for request, answer in zip(self._task.requests([item]), self._suite.example_answers(item), strict=True):
            yield (*request.messages, Message("assistant", answer))


def _kind(item: Item) -> tuple[str, str, str]:
    return item.culture, item.language, item.variant
