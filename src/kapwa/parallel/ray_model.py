"""A model whose replicas answer on Ray; to everything else it is a model like any other.

The driver holds every batch until its answers are here. A worker or machine that dies takes at most the batches it was
given; they go to another replica, or to the same one after its restart. One call is open for a batch at any time, so
nothing is answered twice. A few batches are in flight for each replica, and no more are read before answers come back.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kapwa.errors import KapwaError, ModelError, UsageError
from kapwa.models.base import Model, ModelOptions, Responses
from kapwa.parallel.base import AHEAD, Batch, DistributedModel, Ray
from kapwa.parallel.ray_cluster import connected, death_reason, lost_worker, ray_errors, require_ray, size
from kapwa.parallel.replica import THREADS, Recipe, Replica, ReplicaFacts, check_same, lay_out, needed_variables
from kapwa.records import Capability, Kind, Request, Response
from kapwa.value_types import JsonMapping, Untyped

log = logging.getLogger(__name__)

# Requests in one call to a replica of a served model: so many that waiting for the last of them costs little.
WINDOW: Final = 2000
# Restarts of one replica before it is given up, and workers that one batch may kill before it is taken for the cause.
MAX_RESTARTS: Final = 5
MAX_DEATHS: Final = 3
_PATIENCE = 5.0
_MEMORY = "They may have run out of memory: use fewer replicas for each machine, or a smaller --batch-tokens."


@dataclass(eq=False, slots=True)
class _Batch:
    """A batch: its requests without a response so far, by key, and how many workers died at it."""

    kind: Kind
    open: dict[str, Request]
    deaths: int = 0


@dataclass(eq=False, slots=True)
class _Worker:
    """The driver's view of one replica.

    ``loading``: the call that loads the model; None once it is loaded. ``pending``: batches it was given and has not
    answered. ``lives``: how often it was started.
    """

    number: int
    actor: Untyped
    loading: Untyped = None
    pending: int = 0
    lives: int = 1


class _Call(NamedTuple):
    """A batch at a replica; ``life``: the one of the replica in which it was given."""

    worker: _Worker
    job: _Batch
    life: int


class RayModel(DistributedModel):
    """``open_model(*arguments)``, loaded by replicas on Ray; see :class:`kapwa.parallel.base.DistributedModel`.

    Its id, revision, fingerprint and plan are those of a replica, so that a run begun here goes on there and the other
    way round. This process needs neither weights nor their libraries.
    Raises what :func:`kapwa.parallel.ray_cluster.connected` and loading the model raise, UsageError where no machine
    holds a replica, and ModelError where none becomes ready in time, or where replicas differ.
    """

    capabilities: frozenset[Capability] = frozenset()
    fingerprint: JsonMapping = MappingProxyType({})
    _facts: ReplicaFacts

    def __init__(self, settings: Ray, open_model: Callable[..., Model], arguments: tuple[object, ...]) -> None:
        self._timeout = settings.start_timeout
        self._workers: list[_Worker] = []
        self._first: ReplicaFacts | None = None
        self._waiting: deque[_Batch] = deque()
        self._calls: dict[Untyped, _Call] = {}  # in the order they were made, which is the order of work
        self._processors: set[str] = set()
        self._idle_since = time.monotonic()
        with contextlib.ExitStack() as undo:
            self._cluster = undo.enter_context(connected(settings))
            nodes = self._cluster.nodes()
            self._layout = layout = lay_out(settings, nodes)
            self._check_room()
            threads = os.environ.get(THREADS) if layout.threads is None else str(layout.threads)
            named = [each.key_variable for each in arguments if isinstance(each, ModelOptions) and each.key_variable]
            variables = needed_variables(os.environ, named)
            self._recipe = Recipe(open_model, arguments, variables, threads, str(Path.cwd()))
            undo.callback(self._kill_all)
            self._start(settings.replicas or 1)
            self._wait_ready()
            if self.atomic_batches and not layout.gpus and any(node.gpus for node in nodes):
                log.warning("No replica reserves one of the cluster's GPUs (--gpus-per-replica 1).")
            # A server answers as fast through one replica; local weights get all the room there is.
            if settings.replicas is None and self.atomic_batches:
                self._start(layout.replicas - 1)
            self._end = undo.pop_all()

    def _check_room(self) -> None:
        """Warn where not all replicas have room; a cluster that was joined may grow, one that was started may not."""
        layout, cluster = self._layout, self._cluster
        room, each = cluster.room(layout.cpus, layout.gpus), size(layout.cpus, layout.gpus)
        if not room and cluster.own:
            raise UsageError(
                f"No machine of the Ray cluster holds a replica of {each}. It has {cluster.described()}.",
                hint="Ask for less (--cpus-per-replica, --gpus-per-replica), or add a machine that has as much.",
            )
        if room < layout.replicas:
            message = "The Ray cluster (%s) holds %d of %d replicas of %s at once; the others start when there is room."
            log.warning(message, cluster.described(), room, layout.replicas, each)

    # -- what a model says of itself --------------------------------------------------------------------

    def unused(self, requests: Iterable[Request]) -> Sequence[Any]:
        """Return the rows of a file of answers that none of ``requests`` asks for: the file is at hand here, too."""
        recipe = self._recipe
        return recipe.open_model(*recipe.arguments).unused(requests) if self.fingerprint.get("by_item") else ()

    @property
    def environment(self) -> JsonMapping:
        """A replica's own, with the processors of all of them."""
        facts = self._facts.environment
        return facts | {"processor": "; ".join(sorted(self._processors))} if "processor" in facts else facts

    @property
    def description(self) -> JsonMapping:
        """What a replica says of the model, and how many replicas there are on what."""
        engine = {
            "name": "ray",
            "ray": require_ray().__version__,
            "replicas": len(self._workers),
            "cpus_per_replica": self._layout.cpus,
            "gpus_per_replica": self._layout.gpus,
            "processors": sorted(self._processors),
        }
        return {**self._facts.description, "engine": engine}

    def _take(self, facts: ReplicaFacts) -> None:
        self._facts = facts
        self.id, self.revision, self.fingerprint = facts.id, facts.revision, facts.fingerprint
        self.capabilities, self.atomic_batches = facts.capabilities, facts.atomic_batches

    @property
    def block(self) -> int:
        """What a replica says of the model."""
        return self._facts.block

    # -- asking ---------------------------------------------------------------------------------------

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return the plan of a replica; a deterministic function of the whole list."""
        self._wait_ready()
        # Ray repeats the call where the replica restarts meanwhile.
        plan = self._ready()[0].actor.plan.options(max_task_retries=MAX_RESTARTS)
        try:
            with ray_errors():
                planned, facts = require_ray().get(plan.remote(self._recipe, requests))
        except lost_worker() as error:
            what = f"The workers of the model died while it planned: {death_reason(error)}"
            raise ModelError(what, hint=_MEMORY) from error
        self._take(facts)
        batches: list[list[int]] = planned
        return batches

    def window(self, total: int) -> int:
        """Return how many of ``total`` requests go to a replica at once: two windows for each, if they are few."""
        return max(1, min(WINDOW, -(-total // (AHEAD * max(1, len(self._workers))))))

    def run_batches(
        self, kind: Kind, batches: Iterable[Batch]
    ) -> Generator[tuple[Batch, Sequence[Response]], None, None]:
        """Yield requests with their responses; see :class:`kapwa.parallel.base.DistributedModel`."""
        source = (_Batch(kind, {request.key: request for request in batch}) for batch in batches)
        try:
            while True:
                self._hand_out(source)
                if not self._waiting and not self._calls:
                    # Nothing is open: nothing is left, or no replica is ready.
                    job = next(source, None)
                    if job is None:
                        break
                    self._waiting.append(job)
                for call in self._wait():
                    yield from self._collect(call)
        except (KeyboardInterrupt, ModelError):
            yield from self._arrived()
            raise
        finally:
            # The caller may have stopped early (an error, Ctrl-C): nobody takes what comes now.
            for call, call_job in self._calls.items():
                call_job.worker.pending = 0
                # The cluster may be what failed, and that is being reported already.
                with contextlib.suppress(Exception):
                    require_ray().cancel(call)
            self._calls.clear()
            self._waiting.clear()

    def score(self, batch: Iterable[Request]) -> Responses:
        """Yield, for each request, the log-probabilities of its given continuations."""
        return (response for _, responses in self.run_batches("score", [list(batch)]) for response in responses)

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield, for each request, a text."""
        return (response for _, responses in self.run_batches("generate", [list(batch)]) for response in responses)

    def close(self) -> None:
        """End the replicas, and the Ray that was started for them."""
        self._end.close()

    def _hand_out(self, source: Iterator[_Batch]) -> None:
        """Give every ready replica as much as it may hold, first one batch each."""
        for depth in range(1, AHEAD + 1):
            for worker in self._ready():
                if worker.pending < depth:
                    job = self._waiting.popleft() if self._waiting else next(source, None)
                    if job is None:
                        return
                    actor = worker.actor
                    stream = actor.answer_in_parts.options(num_returns="streaming") if not self.atomic_batches else None
                    call = (stream or actor.answer).remote(self._recipe, job.kind, [*job.open.values()])
                    self._calls[call] = _Call(worker, job, worker.lives)
                    worker.pending += 1

    def _collect(self, call: Untyped) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield what a call has brought."""
        job = self._calls[call].job
        try:
            with ray_errors():
                reference = call if self.atomic_batches else next(call, None)
                responses = [] if reference is None else require_ray().get(reference)
        except lost_worker() as error:
            self._lost(self._taken(call), death_reason(error))
            return
        if reference is None or self.atomic_batches:
            # All that is left: a whole batch with its responses, or requests that got none.
            self._taken(call)
            left, job.open = list(job.open.values()), {}
            if left:
                yield left, responses
        elif responses:
            yield (
                [job.open.pop(response.request_key) for response in responses if response.request_key in job.open],
                responses,
            )

    def _arrived(self) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield the responses that are here and were not taken, after Ctrl-C or an error ended the asking."""
        for call in list(self._calls):
            with contextlib.suppress(Exception):  # why the asking ended is being reported already
                while call in self._calls and require_ray().wait([call], num_returns=1, timeout=0)[0]:
                    yield from (pair for pair in self._collect(call) if pair[1])

    def _taken(self, call: object) -> _Call:
        """Forget a call that has ended, and return what it was."""
        ended = self._calls.pop(call)
        ended.worker.pending -= 1
        return ended

    # -- replicas that come and go ----------------------------------------------------------------------

    def _start(self, replicas: int) -> None:
        """Start so many replicas more."""
        self._idle_since = time.monotonic()
        actor = (
            require_ray()
            .remote(Replica)
            .options(
                num_cpus=self._layout.cpus,
                num_gpus=self._layout.gpus,
                max_restarts=MAX_RESTARTS,
                scheduling_strategy="SPREAD",
            )
        )
        for _ in range(replicas):
            self._workers.append(_Worker(len(self._workers) + 1, actor.remote()))
            self._load(self._workers[-1])

    def _load(self, worker: _Worker) -> None:
        """Have a replica load the model. Ray holds this call, and repeats it, until the process is there."""
        worker.loading = worker.actor.facts.options(max_task_retries=MAX_RESTARTS).remote(self._recipe)
        if not self._ready():
            self._idle_since = time.monotonic()

    def _ready(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.loading is None]

    def _wait_ready(self) -> None:
        while not self._ready():
            self._wait()

    def _wait(self) -> list[Untyped]:
        """Wait until something happens, and see to a replica that has loaded; return another call that has news.

        Raises ModelError where no replica was ready for too long.
        """
        loading = {worker.loading: worker for worker in self._workers if worker.loading is not None}
        with ray_errors():
            done, _ = require_ray().wait([*loading, *self._calls], num_returns=1, timeout=min(_PATIENCE, self._timeout))
        if not done and not self._ready() and time.monotonic() - self._idle_since >= self._timeout:
            raise ModelError(
                f"No replica of the model became ready in {self._timeout:g} seconds. The Ray cluster has "
                f"{self._cluster.described()}; a replica asks for {size(self._layout.cpus, self._layout.gpus)}.",
                hint="Others may hold what it needs (ray status), or loading takes longer: see start_timeout.",
            )
        for call in done:
            if call in loading:
                self._loaded(loading[call])
        return [call for call in done if call not in loading]

    def _loaded(self, worker: _Worker) -> None:
        try:
            with ray_errors():
                facts: ReplicaFacts = require_ray().get(worker.loading)
        except lost_worker() as error:
            same = f"kapwa[ray]=={version('kapwa')}"
            hint = f"Its machine may have too little memory, no {same}, or another RAY_AUTH_MODE than this process."
            self._give_up(worker, ModelError(f"A worker could not load the model: {death_reason(error)}", hint=hint))
            return
        except KapwaError as error:
            self._give_up(worker, error)
            return
        self._processors.update([facts.environment["processor"]] if "processor" in facts.environment else [])
        if self._first is None:
            self._first = facts
            self._take(facts)
        check_same(self._first, facts)
        worker.loading = None

    def _lost(self, call: _Call, why: str) -> None:
        """Have a batch answered elsewhere whose replica died.

        The first batch that a death took was in work, and answers for it. Others may have been answered before.
        """
        worker, job, life = call
        if job.open:
            self._waiting.append(job)
        if life != worker.lives:
            return
        worker.lives += 1
        log.warning("Replica %d died; its batches go to others while it starts again: %s", worker.number, why)
        self._load(worker)
        job.deaths += bool(job.open)
        if job.deaths >= MAX_DEATHS:
            names = list(dict.fromkeys(f"{request.item_id!r} ({request.variant})" for request in job.open.values()))
            named = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            what = f"{job.deaths} workers in a row died while they answered item {named}: {why}"
            raise ModelError(what, hint=_MEMORY)

    def _give_up(self, worker: _Worker, reason: KapwaError) -> None:
        """Go on without a replica that cannot load the model; raise the reason where it was the last."""
        self._workers.remove(worker)
        require_ray().kill(worker.actor)
        if not self._workers:
            raise reason
        log.warning("Replica %d is given up: %s %d left.", worker.number, reason.message, len(self._workers))

    def _kill_all(self) -> None:
        for worker in self._workers:
            # A replica is gone with its cluster.
            with contextlib.suppress(Exception):
                require_ray().kill(worker.actor)
        self._workers.clear()
