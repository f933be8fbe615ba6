"""A model whose replicas answer on Ray; to everything else it is a model like any other."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kapwa.engines.base import Batch
from kapwa.engines.environment import passed_on
from kapwa.engines.fleet import AHEAD, Fleet
from kapwa.engines.guarded import Told
from kapwa.engines.layout import Layout, lay_out
from kapwa.engines.ray_cluster import Cluster, connected
from kapwa.engines.replica import THREADS, Facts, Guard, Recipe
from kapwa.engines.settings import Ray
from kapwa.errors import ModelError
from kapwa.models.base import Model
from kapwa.records import Capability, Kind, Request, Response

# Requests in one call to a replica of a served model: long enough that waiting for the last of them costs little.
WINDOW: Final = 2000

log = logging.getLogger(__name__)


class RayModel:
    """``open_model(*arguments)``, loaded by replicas on Ray; see :class:`kapwa.engines.base.ManyAtOnce`.

    Its id, revision, fingerprint and plan are those a replica gives, so that a run begun here goes on there and the
    other way round. This process needs neither weights nor their libraries.
    Raises what :func:`kapwa.engines.ray_cluster.connected` and loading the model raise, UsageError where no machine
    holds a replica, and ModelError where none becomes ready, or where replicas are not alike.
    """

    id: str
    revision: str
    capabilities: frozenset[Capability]
    atomic_batches: bool

    def __init__(
        self, settings: Ray, open_model: Callable[..., Model], arguments: tuple[Any, ...], *, guard: Guard = list
    ) -> None:
        self._open_model, self._arguments = open_model, arguments
        self._end = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            cluster = undo.enter_context(connected(settings))
            self._layout = lay_out(settings, cluster.nodes())
            _require(cluster, self._layout)
            recipe = Recipe(
                open_model, arguments, guard, passed_on(os.environ), _threads(self._layout), str(Path.cwd())
            )
            self._fleet = Fleet(cluster, recipe, self._layout, start_timeout=settings.start_timeout)
            undo.callback(self._fleet.stop)
            facts = self._fleet.start(settings.replicas or 1)
            self._take(facts)
            if facts.atomic_batches and not self._layout.gpus and any(node.gpus for node in cluster.nodes()):
                log.warning("No replica reserves one of the cluster's GPUs (--gpus-per-replica 1); %s.", self._where())
            # A server answers as fast through one replica; local weights get all the room there is.
            if settings.replicas is None and facts.atomic_batches:
                self._fleet.start(self._layout.replicas - 1)
            self._end = undo.pop_all()

    def _take(self, facts: Facts) -> None:
        self._facts = facts
        self.id, self.revision = facts.id, facts.revision
        self.capabilities, self.atomic_batches = facts.capabilities, facts.atomic_batches

    def _where(self) -> str:
        return f"the first computes on {self._facts.description.get('device', 'what it finds')}"

    @property
    def recorded(self) -> Model:
        """Return the model, opened here, where its answers are recorded ones; else this."""
        return self._open_model(*self._arguments) if self.fingerprint.get("by_item") else self

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """The model's own; the engine changes no answer."""
        return self._facts.fingerprint

    @property
    def description(self) -> Mapping[str, Any]:
        """What a replica says of the model, and how many of them there are on what."""
        import ray

        engine = {
            "name": "ray",
            "ray": ray.__version__,
            "replicas": self._fleet.size,
            "cpus_per_replica": self._layout.cpus,
            "gpus_per_replica": self._layout.gpus,
            "processors": sorted(self._fleet.processors),
        }
        return {**self._facts.description, "engine": engine}

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return the plan of a replica; a deterministic function of the whole list."""
        planned, facts = self._fleet.call(lambda actor: actor.plan.remote(requests))
        self._renew(facts)
        found: list[list[int]] = planned
        return found

    def window(self, total: int) -> int:
        """Return how many of ``total`` requests go to a replica at once: two windows for each, if they are few."""
        return max(1, min(WINDOW, -(-total // (AHEAD * max(1, self._fleet.size)))))

    def answer_all(self, kind: Kind, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield what was asked and what came; see :meth:`kapwa.engines.base.ManyAtOnce.answer_all`."""
        yield from self._fleet.answer(kind, batches, whole=self.atomic_batches)
        # Servers tell more once they were asked; a local model tells it when it plans, and only where it planned.
        if not self.atomic_batches and self._fleet.ready:
            try:
                self._renew(self._fleet.call(lambda actor: actor.facts.remote()))
            except ModelError as error:
                # The answers are all here; what was known of the model before stands.
                log.warning("The replicas could not be asked about the model again: %s", error.message)

    def _renew(self, facts: Facts | Told) -> None:
        if isinstance(facts, Told):
            raise facts.again()
        self._take(facts)

    def score(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield, for each request, the log-probabilities of its given continuations."""
        return self._one("score", batch)

    def generate(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield, for each request, a text."""
        return self._one("generate", batch)

    def _one(self, kind: Kind, batch: Sequence[Request]) -> Iterator[Response]:
        for _, responses in self._fleet.answer(kind, [batch], whole=self.atomic_batches):
            yield from responses

    def close(self) -> None:
        """End the replicas, and the Ray that was started for them."""
        self._end.close()


def _require(cluster: Cluster, layout: Layout) -> None:
    room = cluster.require(layout.cpus, layout.gpus)
    if room < layout.replicas:
        log.warning(
            "The Ray cluster (%s) holds %d of %d replicas of %s at once; the others start when there is room.",
            cluster.described(),
            room,
            layout.replicas,
            layout.described(),
        )


def _threads(layout: Layout) -> str | None:
    return os.environ.get(THREADS) if layout.threads is None else str(layout.threads)
