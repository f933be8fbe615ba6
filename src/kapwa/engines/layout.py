"""How many replicas of what size a cluster gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kapwa.engines.ray_cluster import Node, size
from kapwa.engines.settings import Ray
from kapwa.errors import UsageError


class Layout(NamedTuple):
    """``replicas`` of ``cpus`` processors and ``gpus`` GPUs each; ``threads`` None: a replica has its machine alone."""

    replicas: int
    cpus: float
    gpus: float
    threads: int | None

    def described(self) -> str:
        """Say the size of a replica, for people."""
        return size(self.cpus, self.gpus)


def lay_out(settings: Ray, nodes: Sequence[Node]) -> Layout:
    """Return the layout that ``settings`` ask for on ``nodes``, with what they leave open filled in.

    Raises UsageError where so many replicas would have less than a processor each, and nobody said they should.
    """
    working = [node for node in nodes if node.cpus > 0]
    if settings.gpus_per_replica:
        return _with_gpus(settings, working)
    if settings.cpus_per_replica is not None:
        cpus = settings.cpus_per_replica
        room = sum(node.room(cpus) for node in working)
        return Layout(settings.replicas or max(1, room), cpus, 0.0, _whole(cpus))
    replicas = settings.replicas or max(1, len(working))
    cpus = _share(replicas, working)
    # Machines of one size give their libraries the same threads, and these move the last digits.
    alone = all(node.room(cpus) <= 1 for node in working) and len({node.cpus for node in working}) <= 1
    return Layout(replicas, cpus, 0.0, None if alone else _whole(cpus))


def _with_gpus(settings: Ray, nodes: Sequence[Node]) -> Layout:
    gpus = settings.gpus_per_replica
    cpus = settings.cpus_per_replica or 1.0
    rooms = [node.room(cpus, gpus) for node in nodes]
    replicas = settings.replicas or max(1, sum(rooms))
    if settings.cpus_per_replica is not None:
        return Layout(replicas, cpus, gpus, _whole(cpus))
    # Threads do little beside a GPU, but one alone would leave the tokenizer waiting.
    shares = [node.cpus // room for node, room in zip(nodes, rooms, strict=True) if room]
    return Layout(replicas, cpus, gpus, _whole(min(shares)) if max(rooms, default=0) > 1 else None)


def _share(replicas: int, nodes: Sequence[Node]) -> float:
    """Return the most processors each of ``replicas`` can have on ``nodes``."""
    if not nodes:
        return 1.0  # a cluster that has yet to grow
    sizes = {math.floor(node.cpus / k) for node in nodes for k in range(1, replicas + 1)}
    fitting = [size for size in sizes if size >= 1 and sum(node.room(size) for node in nodes) >= replicas]
    if fitting:
        return float(max(fitting))
    processors = sum(node.cpus for node in nodes)
    raise UsageError(
        f"{replicas} replicas of at least one processor do not fit: the Ray cluster has {processors:g}.",
        hint="Ask for fewer replicas, or let them share processors (--cpus-per-replica 0.5).",
    )


def _whole(cpus: float) -> int:
    return max(1, int(cpus))
