"""What a user says about the engine that runs the work. Needs neither Ray nor torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kapwa.errors import UsageError

__all__ = ["Ray"]


@dataclass(frozen=True, slots=True)
class Ray:
    """Run on Ray: on this machine's processors, or on a cluster's.

    ``address``: None joins the cluster that ``RAY_ADDRESS`` names (as it does inside ``ray job submit``), and else
    starts Ray on this machine for as long as the work takes; "auto" joins the cluster that runs on this machine;
    "host:port" joins another. ``replicas``: copies of the model; None: one for each machine, or
    for each share of one that ``cpus_per_replica`` and ``gpus_per_replica`` name; of a served model, one.
    ``cpus_per_replica``: processors each reserves, and threads it computes with; None: an even share of a machine, and
    with a machine to itself the threads the local engine would use. ``gpus_per_replica``: GPUs each reserves.
    ``start_timeout``: seconds until some replica must be ready, loading included, before the run gives up.
    """

    address: str | None = None
    replicas: int | None = None
    cpus_per_replica: float | None = None
    gpus_per_replica: float = 0.0
    start_timeout: float = 600.0

    def __post_init__(self) -> None:
        if self.address is not None and not self.address.strip():
            raise UsageError("The address of the Ray cluster is empty.", hint="For example: auto, or 10.0.0.5:6379")
        _check("replicas", self.replicas, whole=True, least=1)
        _check("cpus_per_replica", self.cpus_per_replica, least=0.001)
        _check("gpus_per_replica", self.gpus_per_replica, least=0.0)
        _check("start_timeout", self.start_timeout, least=0.001)


def _check(name: str, value: float | None, *, least: float, whole: bool = False) -> None:
    if value is None:
        return
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value) or value < least:
        number = "a whole number" if whole else "a number"
        raise UsageError(f"{name} is {value!r}; it must be {number} of at least {least:g}.")
