"""One replica of a model in a process of its own, and how many replicas of what size a cluster gets.

:class:`Replica` is what runs on the workers; nothing here needs Ray.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from kapwa.errors import KapwaError, ModelError, UsageError
from kapwa.models.base import Model
from kapwa.parallel.base import Ray
from kapwa.parallel.ray_cluster import Node, check_version
from kapwa.records import Capability, Kind, Request, Response
from kapwa.value_types import JsonObject, Untyped

THREADS: Final = "OMP_NUM_THREADS"
# Answers that come one by one go back in groups: seldom enough to cost little, often enough that a dead worker takes
# few of them with it.
_GROUP = 200
_INTERVAL = 0.2
# Environment variables that a model may need on another machine: keys and addresses of providers, access to the hub,
# proxies. No folders: they may not exist there.
_NEEDED = re.compile(
    r"""(?:
        .*_API_(?:KEY|BASE|VERSION)    | .*_BASE_URL      | .*_ENDPOINT
      | OPENAI_(?:ADMIN_KEY|ORG_ID|ORGANIZATION|PROJECT_ID)
      | (?:AWS|AZURE|GOOGLE|VERTEX|CLOUDFLARE)_(?!.*(?:FILE|PATH|CREDENTIALS$)).*
      | HF_TOKEN | HF_HUB_OFFLINE | TRANSFORMERS_OFFLINE
      | (?:HTTPS?|ALL|NO)_PROXY
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def needed_variables(environment: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of ``environment`` that a model may need on another machine, keys among them.

    ``named``: those that its options name.
    """
    return {name: value for name, value in environment.items() if name in named or _NEEDED.fullmatch(name)}


class Recipe(NamedTuple):
    """How a replica loads its model: ``open_model(*arguments)``, both pickled.

    ``environment``: variables the model needs, such as keys. A recipe travels as an argument of calls, because Ray
    writes these to no file. ``threads``: value of ``OMP_NUM_THREADS``; None leaves the number to the libraries.
    ``folder``: the folder of relative paths, on machines that have it.
    """

    open_model: Callable[..., Model]
    arguments: tuple[Untyped, ...]
    environment: Mapping[str, str]
    threads: str | None
    folder: str


class ReplicaFacts(NamedTuple):
    """What a model says of itself, and of the machine it runs on."""

    id: str
    revision: str
    capabilities: frozenset[Capability]
    atomic_batches: bool
    block: int
    fingerprint: JsonObject
    description: JsonObject
    environment: JsonObject


class Replica:
    """A model in a worker, loaded by the first call of its process."""

    _model: Model | None = None

    def facts(self, recipe: Recipe) -> ReplicaFacts:
        """Return what the model says of itself now."""
        model = self._load(recipe)
        known = model.capabilities  # a server is asked for them, and the description tells what it said
        described = dict(model.fingerprint), dict(model.description), dict(model.environment)
        return ReplicaFacts(model.id, model.revision, known, model.atomic_batches, model.block, *described)

    def plan(self, recipe: Recipe, requests: Sequence[Request]) -> tuple[list[list[int]], ReplicaFacts]:
        """Return the model's plan, and the facts after planning."""
        return self._load(recipe).plan(requests), self.facts(recipe)

    def answer(self, recipe: Recipe, kind: Kind, batch: Sequence[Request]) -> list[Response]:
        """Return the responses to a planned batch: one message back, where a stream of parts takes three."""
        model = self._load(recipe)
        return list(model.score(batch) if kind == "score" else model.generate(batch))

    def answer_in_parts(self, recipe: Recipe, kind: Kind, batch: Sequence[Request]) -> Iterator[list[Response]]:
        """Yield the responses to ``batch`` in groups as they come; those before an error go first."""
        model = self._load(recipe)
        group: list[Response] = []
        sent = time.monotonic()
        try:
            for response in model.score(batch) if kind == "score" else model.generate(batch):
                group.append(response)
                if len(group) >= _GROUP or time.monotonic() - sent >= _INTERVAL:
                    yield group
                    group, sent = [], time.monotonic()
        except KapwaError:
            yield group
            raise
        yield group

    def _load(self, recipe: Recipe) -> Model:
        if self._model is None:
            os.environ.update(recipe.environment)
            # Ray gives libraries as many threads as the worker reserved processors.
            os.environ.pop(THREADS, None)
            if recipe.threads is not None:
                os.environ[THREADS] = recipe.threads
            if Path(recipe.folder).is_dir():
                os.chdir(recipe.folder)
            self._model = recipe.open_model(*recipe.arguments)
        return self._model


def check_same(first: ReplicaFacts, other: ReplicaFacts) -> None:
    """Raise RunError for another Kapwa, and ModelError unless two replicas are one model under the same libraries.

    The kind of processor may differ, because few clusters have only one; the run says where there are several.
    """
    here = version("kapwa")
    check_version(other.environment.get("kapwa", here), here)
    left, right = (
        {"id": facts.id, "revision": facts.revision, **facts.fingerprint, **facts.environment, "processor": None}
        for facts in (first, other)
    )
    names = [name for name in dict.fromkeys([*left, *right]) if left.get(name) != right.get(name)]
    if names:
        differing = ", ".join(f"{name} {left.get(name)!r} and {right.get(name)!r}" for name in names)
        raise ModelError(
            f"The replicas of {first.id} differ: {differing}.",
            hint="Give every machine the same weights, versions and kind of GPU, and each replica the same number "
            "of processors (--cpus-per-replica).",
        )


class ReplicaLayout(NamedTuple):
    """``replicas`` of ``cpus`` processors and ``gpus`` GPUs each; ``threads`` None: a replica has its machine alone."""

    replicas: int
    cpus: float
    gpus: float
    threads: int | None


def lay_out(settings: Ray, nodes: Sequence[Node]) -> ReplicaLayout:
    """Return the layout that ``settings`` ask for on ``nodes``, with what they leave open filled in.

    Raises UsageError where so many replicas would have less than a processor each, and nobody said they should.
    """
    working = [node for node in nodes if node.cpus > 0]
    cpus, gpus = settings.cpus_per_replica, settings.gpus_per_replica
    if cpus is not None or gpus:
        rooms = [node.room(cpus or 1.0, gpus) for node in working]
        replicas = settings.replicas or max(1, sum(rooms))
        if cpus is not None:
            return ReplicaLayout(replicas, cpus, gpus, max(1, int(cpus)))
        # Threads do little beside a GPU, but one alone would leave the tokenizer waiting.
        shares = [node.cpus // room for node, room in zip(working, rooms, strict=True) if room]
        return ReplicaLayout(replicas, 1.0, gpus, max(1, int(min(shares))) if max(rooms, default=0) > 1 else None)
    replicas = settings.replicas or max(1, len(working))
    # The most processors that each of so many replicas can have; 1 in a cluster that has yet to grow.
    sizes = {math.floor(node.cpus / k) for node in working for k in range(1, replicas + 1)}
    share = max((n for n in sizes if n >= 1 and sum(node.room(n) for node in working) >= replicas), default=1)
    if working and sum(node.room(share) for node in working) < replicas:
        raise UsageError(
            f"{replicas} replicas of at least one processor do not fit: the Ray cluster has "
            f"{sum(node.cpus for node in working):g}.",
            hint="Ask for fewer replicas, or let them share processors (--cpus-per-replica 0.5).",
        )
    # Machines of one size give their libraries the same threads; other threads move the last digits.
    alone = all(node.room(share) <= 1 for node in working) and len({node.cpus for node in working}) <= 1
    return ReplicaLayout(replicas, float(share), 0.0, None if alone else share)
