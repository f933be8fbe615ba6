"""Run one pure function over many inputs as Ray tasks, with bounded memory, on nodes that come and go.

At most a few inputs wait for each processor of the cluster, so a producer that reads texts is held back by the
workers. A task whose worker or node dies is handed out again, and after some attempts named. Results come back to the
process that asked; nodes need no common folder, only the same Kapwa.

Ray could retry by itself. It does not here, for it retries a task that runs out of memory without end, and never says
which task it was.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from typing import Any, Final, Generic, NamedTuple

from kapwa.engines.guarded import ONE_THREAD, Guarded, Input, Output, Told
from kapwa.engines.ray_cluster import Cluster, ray_errors
from kapwa.errors import RunError

log = logging.getLogger(__name__)

ATTEMPTS: Final = 4
# Two inputs a processor: one in work, one on its way.
_AHEAD = 2
# A cluster may grow and shrink meanwhile; asking how large it is takes a moment.
_LOOK_EVERY = 5.0
_SAY_EVERY = 60.0
# Ray tells in several ways that a node cannot import something; all hold Python's own words.
_MISSING = re.compile(r"No module named '([\w.]+)'")


class _Task(NamedTuple):
    """A task in flight. ``given``: its input in Ray's store, held so that it can be handed out again."""

    name: str
    given: Any
    attempt: int = 1


def run_tasks(
    work: Callable[[Input], Output],
    tasks: Iterable[Input],
    *,
    cluster: Cluster,
    name: Callable[[Input], str],
    most: int | None = None,
) -> Iterator[Output]:
    """Yield ``work(task)`` for every task, in order of completion, computed by the connected ``cluster``.

    ``work`` and the tasks must be picklable, ``work`` importable on every node. ``name`` says what a task is, for
    messages. ``most``: tasks in flight; None allows two for each processor of the cluster. ``tasks`` is asked for more
    after every result, so results may bring more to do. A task whose worker or node dies is tried up to four times. An
    error ends it: what is in flight is cancelled. Raises RunError where a task loses its worker each time, and where a
    node has another Kapwa or none; UsageError where no node has a processor.
    """
    cluster.require(1, what="a task")
    waiting = iter(tasks)
    flight: _Flight[Input, Output] = _Flight(Guarded(work), cluster, name, most)
    try:
        while flight.take(waiting):
            yield from flight.landed()
    finally:
        flight.cancel()


class _Flight(Generic[Input, Output]):
    """The tasks in flight."""

    def __init__(
        self, work: Guarded[Input, Output], cluster: Cluster, name: Callable[[Input], str], most: int | None
    ) -> None:
        import ray

        self._ray = ray
        self._work, self._cluster, self._name, self._most = work, cluster, name, most
        self._remote: Any = ray.remote(num_cpus=1, max_retries=0, runtime_env={"env_vars": ONE_THREAD})(_do)
        self._flying: dict[Any, _Task] = {}
        self._slots, self._next_look = 1, 0.0

    def take(self, tasks: Iterator[Input]) -> bool:
        """Let as many tasks off as there is room for; say whether any is in flight."""
        for task in islice(tasks, max(0, self._room() - len(self._flying))):
            with ray_errors():
                self._send(_Task(self._name(task), self._ray.put(task)))
        return bool(self._flying)

    def landed(self) -> Iterator[Output]:
        """Wait for a task to end and yield its result; one that lost its worker goes off again and yields nothing."""
        with ray_errors():
            done, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=_SAY_EVERY)
        if not done and not self._cluster.room(1):
            log.warning("No node of the Ray cluster offers a processor; waiting for one.")
        for reference in done:
            task = self._flying.pop(reference)
            try:
                result = self._result(reference)
            except self._lost() as error:
                self._again(task, error)
                continue
            if isinstance(result, Told):
                raise result.again()
            yield result

    def cancel(self) -> None:
        """Stop what is in flight; nobody waits for it any more."""
        for reference in self._flying:
            # The cluster may be what failed, and that is being told already.
            with contextlib.suppress(Exception):
                self._ray.cancel(reference, force=True)
        self._flying.clear()

    def _result(self, reference: Any) -> Output | Told:
        try:
            found: Output | Told = self._ray.get(reference)
        except self._lost():
            raise
        except self._ray.exceptions.RayError as error:
            missing = _MISSING.search(str(error))
            if missing:
                raise RunError(
                    f"A node of the Ray cluster has no module {missing[1]!r}.",
                    hint=f"Install kapwa[ray]=={version('kapwa')}, and the same extras as here, on every node.",
                ) from error
            with ray_errors():
                raise
        return found

    def _send(self, task: _Task) -> None:
        self._flying[self._remote.remote(self._work, version("kapwa"), task.given)] = task

    def _again(self, task: _Task, error: Exception) -> None:
        if task.attempt == ATTEMPTS:
            raise RunError(
                f"{task.name} lost its worker {ATTEMPTS} times, last by {type(error).__name__}.",
                hint="It may need more memory than a worker has: use nodes with more memory for each processor, or "
                "fewer --workers. What is done is kept.",
            ) from error
        log.warning(
            "%s lost its worker (%s); attempt %d of %d.", task.name, type(error).__name__, task.attempt + 1, ATTEMPTS
        )
        self._send(task._replace(attempt=task.attempt + 1))

    def _lost(self) -> tuple[type[Exception], ...]:
        """What Ray raises where a worker, a node, or a result that lay there is gone."""
        known = self._ray.exceptions
        return (known.WorkerCrashedError, known.NodeDiedError, known.OutOfMemoryError, known.ObjectLostError)

    def _room(self) -> int:
        if self._most is not None:
            return self._most
        if time.monotonic() >= self._next_look:
            self._slots = _AHEAD * max(1, self._cluster.room(1))
            self._next_look = time.monotonic() + _LOOK_EVERY
        return self._slots


def _do(work: Guarded[Input, Output], wanted: str, task: Input) -> Output | Told:
    """Do one task on a node, where another Kapwa might come to other numbers."""
    here = version("kapwa")
    if here != wanted:
        return Told(
            RunError,
            f"A node of the Ray cluster has kapwa {here}, this process {wanted}.",
            f"Install kapwa=={wanted} on every node.",
        )
    return work(task)
