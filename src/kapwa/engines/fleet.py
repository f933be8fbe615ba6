"""The replicas of a model on Ray, and who of them answers what.

The driver holds every batch until its answers are here. A worker or machine that dies takes at most the batches it was
given; they go to another, or to the same once it is back. One reference is open for a batch at any time, so nothing is
answered twice. A few batches are in flight for each replica, and no more are made before answers come back.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

from kapwa.engines.base import Batch
from kapwa.engines.deaths import DEATHS, MEMORY, items, lost, no_process, why
from kapwa.engines.guarded import Told
from kapwa.engines.layout import Layout
from kapwa.engines.ray_cluster import Cluster, ray_errors
from kapwa.engines.replica import Facts, NotLoadedError, Recipe, Replica
from kapwa.errors import KapwaError, ModelError
from kapwa.models.circumstances import TOLD
from kapwa.records import Kind, Request, Response

log = logging.getLogger(__name__)

# One batch in work, one on its way, so that a replica never waits for the driver.
AHEAD: Final = 2
_PATIENCE = 5.0
_SAY_AFTER = 30.0


@dataclass(eq=False, slots=True)
class _Job:
    """A batch and what is still to be answered of it. ``whole``: its answers come together or not at all."""

    kind: Kind
    batch: Batch
    whole: bool
    left: dict[str, Request] = field(default_factory=dict)
    deaths: int = 0

    def __post_init__(self) -> None:
        self.left = {request.key: request for request in self.batch}

    def asked(self) -> Batch:
        return self.batch if self.whole else list(self.left.values())


@dataclass(eq=False, slots=True)
class _Worker:
    """The driver's view of one replica.

    ``given``: open references in the order they were sent, which is the order of work. ``starting``: the reference that
    resolves once the process is there, then the one that resolves once the model is loaded (``loads``: this is the
    how-manieth attempt); None while it is. ``blamed``: whether a batch answers for the last death already.
    """

    number: int
    actor: Any
    starting: Any = None
    loads: int = 0
    given: dict[Any, _Job] = field(default_factory=dict)
    blamed: bool = False


class Fleet:
    """Replicas that load the model of ``recipe`` and answer for it: :meth:`start` first, :meth:`stop` at the end."""

    def __init__(self, cluster: Cluster, recipe: Recipe, layout: Layout, *, start_timeout: float = 600.0) -> None:
        self._cluster, self._recipe, self._layout = cluster, recipe, layout
        self._start_timeout = start_timeout
        self._workers: list[_Worker] = []
        self._again: deque[_Job] = deque()
        self._idle_since = time.monotonic()
        self._said = False
        self.first: Facts | None = None
        self.processors: set[str] = set()

    @property
    def size(self) -> int:
        """How many replicas there are, ready or not."""
        return len(self._workers)

    @property
    def ready(self) -> bool:
        """Whether any replica can be asked now."""
        return bool(self._ready())

    # -- replicas that come and go ------------------------------------------------------------------

    def start(self, replicas: int) -> Facts:
        """Start so many replicas more, wait until one is ready, and return what it says.

        Raises what loading the model raises, and ModelError where none becomes ready in time.
        """
        self._idle_since = time.monotonic()
        for _ in range(replicas):
            self._hire()
        while not self._ready():
            self._wait([worker.starting for worker in self._workers])
        assert self.first is not None
        return self.first

    def _hire(self) -> None:
        import ray

        made = ray.remote(Replica).options(
            num_cpus=self._layout.cpus,
            num_gpus=self._layout.gpus,
            max_restarts=-1,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        worker = _Worker(len(self._workers) + 1, made.remote())
        self._workers.append(worker)
        self._call_in(worker)

    def _call_in(self, worker: _Worker) -> None:
        """Have a replica load the model, as soon as it has a process."""
        # Ray holds this call until the process is there, however long its machine is away.
        worker.starting = worker.actor.here.options(max_task_retries=-1).remote()
        if not self._ready():
            self._idle_since = time.monotonic()

    def _ready(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.starting is None]

    def _go_on(self, worker: _Worker) -> None:
        """Take a replica that has news of its start a step further."""
        import ray

        try:
            with ray_errors(passing=lost()):
                found = ray.get(worker.starting)
        except lost() as error:
            if worker.loads == DEATHS or isinstance(error, ray.exceptions.ActorDiedError):
                self._dismiss(worker, no_process(error))
            else:
                self._call_in(worker)
            return
        if isinstance(found, Told):
            self._dismiss(worker, found.again())
        elif isinstance(found, Facts):
            self._admit(found)
            worker.starting, worker.loads, worker.blamed = None, 0, False
        else:
            worker.loads += 1
            worker.starting = worker.actor.load.remote(self._recipe)

    def _admit(self, facts: Facts) -> None:
        """Raise ModelError unless this replica is the same model as the first, under the same libraries."""
        self.processors.add(facts.processor)
        if facts.kapwa != version("kapwa"):
            raise ModelError(
                f"A machine of the Ray cluster has kapwa {facts.kapwa}, this process {version('kapwa')}.",
                hint=f"Install kapwa=={version('kapwa')} on every machine.",
            )
        if self.first is None:
            self.first = facts
            return
        differing = _differing(self.first, facts)
        if differing:
            raise ModelError(
                f"The replicas of {facts.id} are not alike: {differing}.",
                hint="Give every machine the same weights, versions and kind of GPU, and each replica the same number "
                "of processors (--cpus-per-replica).",
            )

    def _dismiss(self, worker: _Worker, reason: KapwaError) -> None:
        """Go on without a replica that cannot load the model; raise the reason where it was the last."""
        import ray

        self._workers.remove(worker)
        # Its death may be known before the fate of what it was asked.
        self._again.extend(worker.given.values())
        ray.kill(worker.actor)
        if not self._workers:
            raise reason
        log.warning("Replica %d is given up: %s %d left.", worker.number, reason.message, len(self._workers))

    def stop(self) -> None:
        """End every replica."""
        import ray

        for worker in self._workers:
            # Gone with its cluster, it need not be ended.
            with contextlib.suppress(Exception):
                ray.kill(worker.actor)
        self._workers.clear()

    # -- questions ------------------------------------------------------------------------------------

    def call(self, ask: Callable[[Any], Any]) -> Any:
        """Return the result of one call, ``ask(actor)``, to whichever replica is ready; again where that one dies."""
        import ray

        for attempt in itertools.count(1):
            self.start(0)
            worker = self._ready()[0]
            try:
                with ray_errors(passing=lost()):
                    found = ray.get(ask(worker.actor))
            except lost() as error:
                self._call_in(worker)
                if attempt == DEATHS:
                    raise ModelError(
                        f"The worker of the model died {DEATHS} times while it planned: {why(error)}",
                        hint=MEMORY,
                    ) from error
                continue
            if isinstance(found, Told):
                if found.kind is not NotLoadedError:
                    raise found.again()
                self._call_in(worker)
                continue
            return found
        raise AssertionError

    def answer(
        self, kind: Kind, batches: Iterable[Batch], *, whole: bool
    ) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield what was asked and what came; see :meth:`kapwa.engines.base.ManyAtOnce.answer_all`."""
        source = iter(batches)
        try:
            while True:
                self._hand_out(kind, whole, source)
                if not self._again and not any(worker.given for worker in self._workers):
                    # Nothing is open: nothing is left, or there was nobody to give it to.
                    left = self._next(kind, whole, source)
                    if left is None:
                        return
                    self._again.append(left)
                for reference in self._wait(self._open()):
                    yield from self._collect(reference)
        finally:
            # The caller may have stopped listening (an error, Ctrl-C): what comes now is nobody's.
            for worker in self._workers:
                for reference in worker.given:
                    _cancel(reference)
                worker.given.clear()
            self._again.clear()

    def _hand_out(self, kind: Kind, whole: bool, source: Iterator[Batch]) -> None:
        """Give every ready replica as much as it may hold, first one batch each."""
        for depth in range(1, AHEAD + 1):
            for worker in self._ready():
                if len(worker.given) >= depth:
                    continue
                job = self._next(kind, whole, source)
                if job is None:
                    return
                self._give(worker, job)

    def _next(self, kind: Kind, whole: bool, source: Iterator[Batch]) -> _Job | None:
        if self._again:
            return self._again.popleft()
        return next((_Job(kind, batch, whole) for batch in source), None)

    def _give(self, worker: _Worker, job: _Job) -> None:
        if job.whole:
            reference = worker.actor.answer.remote(job.kind, job.asked())
        else:
            reference = worker.actor.stream.options(num_returns="streaming").remote(job.kind, job.asked())
        worker.given[reference] = job

    def _open(self) -> list[Any]:
        loading = [worker.starting for worker in self._workers if worker.starting is not None]
        return [*loading, *itertools.chain.from_iterable(worker.given for worker in self._workers)]

    def _wait(self, references: list[Any]) -> list[Any]:
        """Wait for something to happen, loading included; return the references of batches that have news."""
        import ray

        with ray_errors():
            done, _ = ray.wait(references, num_returns=1, timeout=min(_PATIENCE, self._start_timeout))
        if not done:
            self._check_patience()
        news = []
        for reference in done:
            worker = next((worker for worker in self._workers if worker.starting == reference), None)
            if worker is None:
                news.append(reference)
            else:
                self._go_on(worker)
        return news

    def _collect(self, reference: Any) -> Iterator[tuple[Batch, Sequence[Response]]]:
        worker = next(worker for worker in self._workers if reference in worker.given)
        job = worker.given[reference]
        try:
            with ray_errors(passing=lost()):
                found, over = _fetch(reference)
        except lost() as error:
            self._died(worker, reference, why(error))
            return
        if isinstance(found, Told):
            if found.kind is not NotLoadedError:
                raise found.again()
            self._died(worker, reference, found.message)
            return
        if over:
            del worker.given[reference]
        if job.whole:
            yield job.batch, found
            return
        asked = [job.left.pop(response.request_key) for response in found if response.request_key in job.left]
        if found:
            yield asked, found
        if over and job.left:
            yield list(job.left.values()), []

    def _died(self, worker: _Worker, reference: Any, why: str) -> None:
        """Have a batch answered elsewhere. The one that was in work answers for the death, not those that waited."""
        in_work = next(iter(worker.given)) == reference and not worker.blamed
        job = worker.given.pop(reference)
        if in_work:
            worker.blamed = True
            job.deaths += 1
        if worker.starting is None:
            log.warning(
                "Replica %d died; what it was asked goes to others while it starts again: %s", worker.number, why
            )
            self._call_in(worker)
        if job.deaths >= DEATHS:
            raise ModelError(
                f"{job.deaths} workers in a row died while they answered {items(job.left.values())}: {why}",
                hint=MEMORY,
            )
        self._again.append(job)

    def _check_patience(self) -> None:
        """Raise ModelError where no replica was ready for too long; say so before."""
        waited = time.monotonic() - self._idle_since
        if self._ready() or waited < min(_SAY_AFTER, self._start_timeout):
            return
        cluster = self._cluster.described()
        if waited >= self._start_timeout:
            raise ModelError(
                f"No replica of the model became ready in {self._start_timeout:g} seconds. "
                f"The Ray cluster has {cluster}; a replica asks for {self._layout.described()}.",
                hint="Others may hold what it needs (ray status), or loading takes longer: see start_timeout.",
            )
        if not self._said:
            self._said = True
            log.warning(
                "Waiting for a replica of %s to start; the Ray cluster has %s.", self._layout.described(), cluster
            )


def _fetch(reference: Any) -> tuple[Any, bool]:
    """Return what a reference that has news holds, and whether that is all."""
    import ray

    if not isinstance(reference, ray.ObjectRefGenerator):
        return ray.get(reference), True
    try:
        return ray.get(next(reference)), False
    except StopIteration:
        return [], True


def _cancel(reference: Any) -> None:
    import ray

    # The cluster may be what failed, and that is being told already.
    with contextlib.suppress(Exception):
        ray.cancel(reference)


def _differing(first: Facts, other: Facts) -> str:
    """Say in what two replicas differ that moves answers; nothing where they are alike."""
    pairs: dict[str, tuple[Any, Any]] = {"id": (first.id, other.id), "revision": (first.revision, other.revision)}
    names = {*first.fingerprint, *other.fingerprint}
    pairs |= {name: (first.fingerprint.get(name), other.fingerprint.get(name)) for name in sorted(names)}
    # The kind of processor is not required: few clusters have only one. The run says so where there are several.
    pairs |= {name: (first.description.get(name), other.description.get(name)) for name in TOLD}
    return ", ".join(f"{name} {a!r} and {b!r}" for name, (a, b) in pairs.items() if a != b)
