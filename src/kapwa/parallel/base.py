"""What the rest of Kapwa knows of engines: their settings, executors for tasks, and models with several workers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeVar

from kapwa.errors import UsageError, check_known
from kapwa.models.base import Model
from kapwa.records import Kind, Request, Response
from kapwa.value_types import Json

Batch = Sequence[Request]
Input = TypeVar("Input")
Output = TypeVar("Output")

# Two tasks a worker: one that runs, one that waits, so that no worker waits for the reader.
AHEAD: Final = 2
# Numeric libraries read these when they are loaded. Tasks that run side by side compute with one thread each.
ONE_THREAD: Final = {
    f"{library}_THREADS": "1"
    for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMBA_NUM", "POLARS_MAX", "RAYON_NUM")
}


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
        numbers = (("replicas", 1), ("cpus_per_replica", 0.001), ("gpus_per_replica", 0), ("start_timeout", 0.001))
        for name, least in numbers:
            value = getattr(self, name)
            kind, what = (int, "a whole number") if name == "replicas" else (int | float, "a number")
            number = isinstance(value, kind) and not isinstance(value, bool)
            if value is not None and not (number and least <= value < math.inf):
                raise UsageError(f"{name} is {value!r}; it must be {what} of at least {least:g}.")


def open_engine(engine: str, **settings: Json) -> Ray | None:
    """Return the engine that the options name; None is the local engine.

    ``settings``: fields of :class:`Ray`, None where the option was not given. Raises UsageError for
    options that the local engine would ignore.
    """
    check_known(engine, ("local", "ray"), f"There is no engine {engine!r}.")
    chosen = {name: value for name, value in settings.items() if value is not None}
    if engine == "ray":
        return Ray(**chosen)
    for name in chosen:
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} is an option of the Ray engine, which is not in use.", hint="Add: --engine ray")
    return None


class Executor(ABC):
    """Runs one function over many inputs: in processes of this machine (``local``) or on a Ray cluster (``ray``).

    A context manager; leaving it frees what was started. ``shares_files``: whether tasks see this machine's folders.
    """

    name: str
    shares_files: bool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    @abstractmethod
    def map(self, work: Callable[[Input], Output], tasks: Iterable[Input]) -> Iterator[Output]:
        """Yield ``work(task)`` for every task, in order of completion.

        ``work`` and the tasks must be picklable. Only a few tasks are read ahead, and more are read after each result,
        so a result may add tasks. The first error ends it: tasks that run are stopped. Raises the error of the task
        itself, or RunError where workers die; it names the task by its ``str()``, where it is known.
        """


class DistributedModel(Model):
    """A :class:`~kapwa.models.base.Model` with several workers, which takes many batches at once."""

    @abstractmethod
    def window(self, total: int) -> int:
        """Return how many of ``total`` requests make a batch, where the model does not plan batches itself."""

    @abstractmethod
    def run_batches(
        self, kind: Kind, batches: Iterable[Batch]
    ) -> Generator[tuple[Batch, Sequence[Response]], None, None]:
        """Yield requests with their responses, as these come.

        ``batches`` is read lazily, in the caller's thread. A model with ``atomic_batches`` yields each batch once,
        whole. Another yields parts of it; requests without an answer come last, with no response. Responses are not
        checked.
        """
