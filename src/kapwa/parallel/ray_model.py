"""A model whose replicas answer on Ray; to everything else it is a model like any other.

The driver holds every batch until its answers are here. A worker or machine that dies takes at most the batches it was
given; they go to another replica, or to the same one after its restart. One call is open for a batch at any time, so
nothing is answered twice. A few batches are in flight for each replica, and no more are read before answers come back.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from kapwa.errors import KapwaError, ModelError, UsageError
from kapwa.models.base import Model, Responses
from kapwa.parallel.base import Batch, DistributedModel, Ray
from kapwa.parallel.local import AHEAD
from kapwa.parallel.ray_cluster import connected, death_reason, lost_worker, ray_errors, require_ray
from kapwa.parallel.replica import THREADS, Facts, Recipe, Replica, check_same, lay_out, named_items, needed_variables
from kapwa.records import Capability, Kind, Request, Response

log = logging.getLogger(__name__)

# Requests in one call to a replica of a served model: so many that waiting for the last of them costs little.
WINDOW: Final = 2000
# Restarts of one replica before it is given up, and workers that one batch may kill before it is taken for the cause.
MAX_RESTARTS: Final = 5
MAX_DEATHS: Final = 3
_PATIENCE = 5.0
_MEMORY = "They may have run out of memory: use fewer replicas for each machine, or a smaller --batch-tokens."


@dataclass(eq=False, slots=True)
class _Job:
    """A batch, and its requests without a response so far. ``whole``: all responses come together."""

    kind: Kind
    batch: Batch
    whole: bool
    open: dict[str, Request] = field(default_factory=dict)
    deaths: int = 0

    def __post_init__(self) -> None:
        self.open = {request.key: request for request in self.batch}


@dataclass(eq=False, slots=True)
class _Worker:
    """The driver's view of one replica.

    ``loading``: the call that loads the model; None once it is loaded. ``calls``: open calls in the order they were
    made, which is the order of work. ``blamed``: whether a batch answers for the last death already.
    """

    number: int
    actor: Any
    loading: Any = None
    calls: dict[Any, _Job] = field(default_factory=dict)
    blamed: bool = False


class RayModel(DistributedModel):
    """``open_model(*arguments)``, loaded by replicas on Ray; see :class:`kapwa.parallel.base.DistributedModel`.

    Its id, revision, fingerprint and plan are those of a replica, so that a run begun here goes on there and the other
    way round. This process needs neither weights nor their libraries.
    Raises what :func:`kapwa.parallel.ray_cluster.connected` and loading the model raise, UsageError where no machine
    holds a replica, and ModelError where none becomes ready in time, or where replicas differ.
    """

    capabilities: frozenset[Capability] = frozenset()
    _facts: Facts

    def __init__(self, settings: Ray, open_model: Callable[..., Model], arguments: tuple[Any, ...]) -> None:
        self._timeout = settings.start_timeout
        self._workers: list[_Worker] = []
        self._first: Facts | None = None
        self._waiting: deque[_Job] = deque()
        self._processors: set[str] = set()
        self._idle_since = time.monotonic()
        self._end = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            self._cluster = undo.enter_context(connected(settings))
            nodes = self._cluster.nodes()
            self._layout = lay_out(settings, nodes)
            self._check_room()
            layout = self._layout
            threads = os.environ.get(THREADS) if layout.threads is None else str(layout.threads)
            self._recipe = Recipe(open_model, arguments, needed_variables(os.environ), threads, str(Path.cwd()))
            undo.callback(self._kill_all)
            self._start(settings.replicas or 1)
            self._wait_ready()
            facts = self._facts
            if facts.atomic_batches and not layout.gpus and any(node.gpus for node in nodes):
                log.warning("No replica reserves one of the cluster's GPUs (--gpus-per-replica 1).")
            # A server answers as fast through one replica; local weights get all the room there is.
            if settings.replicas is None and facts.atomic_batches:
                self._start(layout.replicas - 1)
            self._end = undo.pop_all()

    def _check_room(self) -> None:
        """Warn where not all replicas have room; a cluster that was joined may grow, one that was started may not."""
        layout, cluster = self._layout, self._cluster
        room = cluster.room(layout.cpus, layout.gpus)
        if not room and cluster.own:
            raise UsageError(
                f"No machine of the Ray cluster holds a replica of {layout.described()}. It has {cluster.described()}.",
                hint="Ask for less (--cpus-per-replica, --gpus-per-replica), or add a machine that has as much.",
            )
        if room < layout.replicas:
            log.warning(
                "The Ray cluster (%s) holds %d of %d replicas of %s at once; the others start when there is room.",
                cluster.described(),
                room,
                layout.replicas,
                layout.described(),
            )

    # -- what a model says of itself --------------------------------------------------------------------

    def unused(self, requests: Iterable[Request]) -> Sequence[Any]:
        """Return the rows of a file of answers that none of ``requests`` asks for: the file is at hand here, too."""
        recipe = self._recipe
        return recipe.open_model(*recipe.arguments).unused(requests) if self.fingerprint.get("by_item") else ()

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """The model's own; the engine changes no answer."""
        return self._facts.fingerprint

    @property
    def environment(self) -> Mapping[str, Any]:
        """A replica's own, with the processors of all of them."""
        own = dict(self._facts.environment)
        return own | {"processor": "; ".join(sorted(self._processors))} if "processor" in own else own

    @property
    def description(self) -> Mapping[str, Any]:
        """What a replica says of the model, and how many replicas there are on what."""
        import ray

        engine = {
            "name": "ray",
            "ray": ray.__version__,
            "replicas": len(self._workers),
            "cpus_per_replica": self._layout.cpus,
            "gpus_per_replica": self._layout.gpus,
            "processors": sorted(self._processors),
        }
        return {**self._facts.description, "engine": engine}

    def _take(self, facts: Facts) -> None:
        self._facts = facts
        self.id, self.revision = facts.id, facts.revision
        self.capabilities, self.atomic_batches = facts.capabilities, facts.atomic_batches

    # -- asking ---------------------------------------------------------------------------------------

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return the plan of a replica; a deterministic function of the whole list."""
        planned, facts = self._call("plan", requests)
        self._take(facts)
        found: list[list[int]] = planned
        return found

    def window(self, total: int) -> int:
        """Return how many of ``total`` requests go to a replica at once: two windows for each, if they are few."""
        return max(1, min(WINDOW, -(-total // (AHEAD * max(1, len(self._workers))))))

    def run_batches(
        self, kind: Kind, batches: Iterable[Batch]
    ) -> Generator[tuple[Batch, Sequence[Response]], None, None]:
        """Yield requests with their responses; see :class:`kapwa.parallel.base.DistributedModel`."""
        source = (_Job(kind, batch, self.atomic_batches) for batch in batches)
        try:
            while True:
                self._hand_out(source)
                if not self._waiting and not any(worker.calls for worker in self._workers):
                    # Nothing is open: nothing is left, or no replica is ready.
                    job = next(source, None)
                    if job is None:
                        break
                    self._waiting.append(job)
                for call in self._wait():
                    yield from self._collect(call)
        finally:
            # The caller may have stopped early (an error, Ctrl-C): nobody takes what comes now.
            for worker in self._workers:
                for call in worker.calls:
                    # The cluster may be what failed, and that is being reported already.
                    with contextlib.suppress(Exception):
                        require_ray().cancel(call)
                worker.calls.clear()
            self._waiting.clear()
        # A served model says more once it was asked; a local one says it when it plans.
        if not self.atomic_batches and self._ready():
            try:
                self._take(self._call("facts"))
            except ModelError as error:
                log.warning("The replicas could not be asked about the model again: %s", error.message)

    def score(self, batch: Iterable[Request]) -> Responses:
        """Yield, for each request, the log-probabilities of its given continuations."""
        return (response for _, responses in self.run_batches("score", [list(batch)]) for response in responses)

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield, for each request, a text."""
        return (response for _, responses in self.run_batches("generate", [list(batch)]) for response in responses)

    def close(self) -> None:
        """End the replicas, and the Ray that was started for them."""
        self._end.close()

    def _hand_out(self, source: Iterator[_Job]) -> None:
        """Give every ready replica as much as it may hold, first one batch each."""
        for depth in range(1, AHEAD + 1):
            for worker in self._ready():
                if len(worker.calls) >= depth:
                    continue
                job = self._waiting.popleft() if self._waiting else next(source, None)
                if job is None:
                    return
                if job.whole:
                    call = worker.actor.answer.remote(self._recipe, job.kind, job.batch)
                else:
                    stream = worker.actor.stream.options(num_returns="streaming")
                    call = stream.remote(self._recipe, job.kind, [*job.open.values()])
                worker.calls[call] = job

    def _collect(self, call: Any) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield what a call has brought."""
        ray = require_ray()
        worker = next(worker for worker in self._workers if call in worker.calls)
        job = worker.calls[call]
        over = True
        try:
            with ray_errors():
                if job.whole:
                    found = ray.get(call)
                else:
                    reference = next(call, None)
                    over = reference is None
                    found = [] if over else ray.get(reference)
        except lost_worker() as error:
            self._lost(worker, call, death_reason(error))
            return
        responses = found
        if over:
            del worker.calls[call]
        if job.whole:
            yield job.batch, responses
            return
        known = [job.open.pop(response.request_key) for response in responses if response.request_key in job.open]
        if responses:
            yield known, responses
        if over and job.open:
            yield list(job.open.values()), []

    def _call(self, method: str, *arguments: Any) -> Any:
        """Return what a replica's method returns. Ray repeats the call where the replica restarts meanwhile."""
        import ray

        self._wait_ready()
        remote = getattr(self._ready()[0].actor, method).options(max_task_retries=-1)
        try:
            with ray_errors():
                return ray.get(remote.remote(self._recipe, *arguments))
        except lost_worker() as error:
            raise ModelError(
                f"The workers of the model died while it planned: {death_reason(error)}", hint=_MEMORY
            ) from error

    # -- replicas that come and go ----------------------------------------------------------------------

    def _start(self, replicas: int) -> None:
        """Start so many replicas more."""
        import ray

        self._idle_since = time.monotonic()
        actor = ray.remote(Replica).options(
            num_cpus=self._layout.cpus,
            num_gpus=self._layout.gpus,
            max_restarts=MAX_RESTARTS,
            scheduling_strategy="SPREAD",
        )
        for _ in range(replicas):
            worker = _Worker(len(self._workers) + 1, actor.remote())
            self._workers.append(worker)
            self._load(worker)

    def _load(self, worker: _Worker) -> None:
        """Have a replica load the model. Ray holds this call, and repeats it, until the process is there."""
        worker.loading = worker.actor.facts.options(max_task_retries=-1).remote(self._recipe)
        if not self._ready():
            self._idle_since = time.monotonic()

    def _ready(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.loading is None]

    def _wait_ready(self) -> None:
        while not self._ready():
            self._wait()

    def _wait(self) -> list[Any]:
        """Wait until something happens, and see to replicas that have loaded; return the other calls with news."""
        import ray

        loading = {worker.loading: worker for worker in self._workers if worker.loading is not None}
        calls = itertools.chain.from_iterable(worker.calls for worker in self._workers)
        with ray_errors():
            done, _ = ray.wait([*loading, *calls], num_returns=1, timeout=min(_PATIENCE, self._timeout))
        if not done:
            self._check_patience()
        for call in done:
            if call in loading:
                self._loaded(loading[call])
        return [call for call in done if call not in loading]

    def _loaded(self, worker: _Worker) -> None:
        import ray

        try:
            with ray_errors():
                found = ray.get(worker.loading)
        except lost_worker() as error:
            same = f"kapwa[ray]=={version('kapwa')}"
            hint = f"Its machine may have too little memory, no {same}, or another RAY_AUTH_MODE than this process."
            self._give_up(worker, ModelError(f"A worker could not load the model: {death_reason(error)}", hint=hint))
            return
        except KapwaError as error:
            self._give_up(worker, error)
            return
        self._processors.add(found.processor)
        if not self._first:
            self._first = found
            self._take(found)
        check_same(self._first, found)
        worker.loading, worker.blamed = None, False

    def _lost(self, worker: _Worker, call: Any, why: str) -> None:
        """Have a batch answered elsewhere. The one that was in work answers for the death, not those that waited."""
        in_work = next(iter(worker.calls)) == call and not worker.blamed
        job = worker.calls.pop(call)
        if in_work:
            worker.blamed = True
            job.deaths += 1
        if worker.loading is None:
            log.warning("Replica %d died; its batches go to others while it starts again: %s", worker.number, why)
            self._load(worker)
        if job.deaths >= MAX_DEATHS:
            raise ModelError(
                f"{job.deaths} workers in a row died while they answered item {named_items(job.open.values())}: {why}",
                hint=_MEMORY,
            )
        self._waiting.append(job)

    def _give_up(self, worker: _Worker, reason: KapwaError) -> None:
        """Go on without a replica that cannot load the model; raise the reason where it was the last."""
        import ray

        self._workers.remove(worker)
        # Its end may be known before that of its calls.
        self._waiting.extend(worker.calls.values())
        ray.kill(worker.actor)
        if not self._workers:
            raise reason
        log.warning("Replica %d is given up: %s %d left.", worker.number, reason.message, len(self._workers))

    def _check_patience(self) -> None:
        """Raise ModelError where no replica was ready for too long."""
        if self._ready() or time.monotonic() - self._idle_since < self._timeout:
            return
        raise ModelError(
            f"No replica of the model became ready in {self._timeout:g} seconds. The Ray cluster has "
            f"{self._cluster.described()}; a replica asks for {self._layout.described()}.",
            hint="Others may hold what it needs (ray status), or loading takes longer: see start_timeout.",
        )

    def _kill_all(self) -> None:
        import ray

        for worker in self._workers:
            # A replica is gone with its cluster.
            with contextlib.suppress(Exception):
                ray.kill(worker.actor)
        self._workers.clear()
