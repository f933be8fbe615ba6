"""A Ray cluster: joining it or starting Ray here, running tasks on it, and Ray's errors in our words."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from typing import Final, NamedTuple, TextIO

from kapwa.errors import MissingDependencyError, RunError, UsageError
from kapwa.parallel.base import AHEAD, ONE_THREAD, Executor, Input, Output, Ray
from kapwa.value_types import JsonObject, Untyped

log = logging.getLogger(__name__)

LOCAL: Final = "local"
# Workers that one task may lose before it is taken for the cause.
ATTEMPTS: Final = 4
# Seconds between two looks at the size of the cluster, and between two warnings.
_LOOK_EVERY = 5.0
_SAY_EVERY = 60.0
_SAME_VERSIONS = "Install the same versions of Python, ray and kapwa on every machine of the cluster as here."
_START_ONE = (
    "Start one (ray start --head), name its address (--address HOST:PORT), or leave --address out to use this machine "
    "alone."
)
# A cluster that asks for a token closes the connection without a word.
_JOIN = (
    f"Check that it runs (ray status). {_SAME_VERSIONS} Set RAY_AUTH_MODE, which is {{mode}} here, to the same (token "
    "or disabled) wherever ray and kapwa start; with tokens, copy ~/.ray/auth_token from the cluster's first machine "
    "to the others."
)
_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")


class Node(NamedTuple):
    """The processors and GPUs of one machine of the cluster, in use or not."""

    cpus: float
    gpus: float

    def room(self, cpus: float, gpus: float = 0.0) -> int:
        """Return how many workers of ``cpus`` processors and ``gpus`` GPUs the machine holds at once."""
        fits = [int(have / want + 1e-9) for have, want in ((self.cpus, cpus), (self.gpus, gpus)) if want > 0]
        return min(fits, default=0)


class Cluster(NamedTuple):
    """The Ray this process is connected to. ``own``: started by this process, on this machine alone."""

    own: bool

    def nodes(self) -> list[Node]:
        """Return the machines that are alive now."""
        alive = [node["Resources"] for node in require_ray().nodes() if node["Alive"]]
        return [Node(float(has.get("CPU", 0.0)), float(has.get("GPU", 0.0))) for has in alive]

    def room(self, cpus: float, gpus: float = 0.0) -> int:
        """Return how many workers of this size the cluster holds at once."""
        return sum(node.room(cpus, gpus) for node in self.nodes())

    def described(self) -> str:
        """Say what the cluster has: "3 machines of 1 processor"."""
        nodes = sorted(self.nodes(), reverse=True)
        kinds = {node: nodes.count(node) for node in nodes}
        return ", ".join(f"{_count(n, 'machine')} of {size(*node)}" for node, n in kinds.items()) or "no machine"


def size(cpus: float, gpus: float = 0.0) -> str:
    """Say how large a machine or a worker is: "2 processors and 1 GPU"."""
    return _count(cpus, "processor") + (f" and {_count(gpus, 'GPU')}" if gpus else "")


def _count(n: float, what: str) -> str:
    return f"{n:g} {what}{'' if n == 1 else 's'}"


def require_ray() -> Untyped:
    """Return Ray's module; raise MissingDependencyError where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingDependencyError("ray", extra="ray", purpose="The Ray engine") from None
    return ray


class _Shared:
    """The connection of this process, which overlapping :func:`connected` blocks share."""

    users, local, end = 0, False, contextlib.ExitStack()


@contextlib.contextmanager
def connected(settings: Ray) -> Iterator[Cluster]:
    """Be connected to the Ray that ``settings.address`` means; see :class:`kapwa.parallel.base.Ray`.

    A connection that the program made itself is used and left. Overlapping blocks share one connection, and the last
    one ends it. A Ray that was started here ends with it. What Ray prints goes to the log, never to standard output.
    Raises MissingDependencyError without Ray, UsageError for an address of Ray's client, and RunError where there is
    no cluster, where it has other versions or tokens, or where Ray cannot be started.
    """
    ray = require_ray()
    ours = _Shared.users > 0 or not ray.is_initialized()
    if ours and not _Shared.users:
        address = settings.address or os.environ.get("RAY_ADDRESS") or LOCAL
        _Shared.end, _Shared.local = _connect(ray, address), address == LOCAL
    _Shared.users += ours
    try:
        yield Cluster(own=ours and _Shared.local)
    finally:
        _Shared.users -= ours
        if ours and not _Shared.users:
            _Shared.end.close()


def _connect(ray: Untyped, address: str) -> contextlib.ExitStack:
    """Connect, and return what undoes it."""
    _check_address(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: JsonObject = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        quiet["include_dashboard"] = False
    with contextlib.ExitStack() as undo:
        undo.enter_context(contextlib.redirect_stdout(_WithoutRay(sys.stdout)))
        ends = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
        try:
            _join(ray, address, quiet)
        except Exception as error:  # Ray raises whatever its parts raise
            ray.shutdown()
            raise _not_connected(address, error) from error
        finally:
            if threading.current_thread() is threading.main_thread():
                # Ray's own handler prints a dump and aborts; what Ray started ends with this process either way.
                signal.signal(signal.SIGTERM, ends)
        undo.callback(ray.shutdown)
        return undo.pop_all()


def _join(ray: Untyped, address: str, quiet: JsonObject) -> None:
    """Join a cluster, or start one here: a second time where a busy machine missed the half minute that Ray allows."""
    try:
        ray.init(address=address, **quiet)
    except Exception as error:
        if address != LOCAL or "timed out during startup" not in str(error):
            raise
        ray.shutdown()
        ray.init(address=address, **quiet)


class _WithoutRay:
    """Standard output without what Ray's threads write: results go there, and Ray tells of dead workers there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Untyped:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write ``text``, or log it where a thread of Ray writes it."""
        if not threading.current_thread().name.startswith("ray_"):
            return self._stream.write(text)
        if text.strip():
            log.info("Ray: %s", text.strip())
        return len(text)


def _check_address(address: str) -> None:
    """Raise where an address is not of a cluster itself, or nobody listens there: Ray would try for minutes."""
    if "://" in address:
        raise UsageError(
            f"The address {address} is for Ray's client, over which replicas cannot answer piece by piece.",
            hint="Start kapwa on the cluster (ray job submit), or name the cluster's own address, such as HOST:6379.",
        )
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise RunError(
                f"There is no Ray cluster at {address!r}: {getattr(error, 'strerror', None) or error}.", hint=_START_ONE
            ) from None


def _not_connected(address: str, error: Exception) -> RunError:
    if address == LOCAL:
        problem, hint = "Ray cannot be started on this machine", "Check the space in /tmp/ray and the memory."
    else:
        problem = f"The Ray cluster at {address!r} cannot be joined"
        hint = _JOIN if ":" in address else f"{_START_ONE} {_JOIN}"
    return RunError(f"{problem}: {brief(error)}", hint=hint.format(mode=os.environ.get("RAY_AUTH_MODE", "not set")))


def brief(error: BaseException) -> str:
    """Return what ``error`` says, in one line."""
    return " ".join(str(error).split())[:500] or type(error).__name__


def death_reason(error: BaseException) -> str:
    """Say why a worker is gone, where Ray knows more than that it is."""
    gone = isinstance(error, require_ray().exceptions.ActorUnavailableError)
    return "its process or machine is gone." if gone else brief(error)


def lost_worker() -> tuple[type[Exception], ...]:
    """Return the errors that Ray raises where a worker, a machine, or a result that lay there is gone."""
    names = ("RayActorError", "NodeDiedError", "WorkerCrashedError", "OutOfMemoryError", "ObjectLostError")
    return tuple(getattr(require_ray().exceptions, name) for name in names)


@contextlib.contextmanager
def ray_errors() -> Iterator[None]:
    """Turn what Ray raises while results are awaited into errors of ours, but for those of :func:`lost_worker`.

    What a task itself raised comes out as it was raised there.
    """
    known = require_ray().exceptions
    try:
        yield
    except lost_worker():
        raise
    except known.RayTaskError as error:
        raise (_no_module(error) or error.cause) from error
    except (known.RayError, ConnectionError) as error:
        raise _no_module(error) or RunError(
            f"The Ray cluster failed: {brief(error)}", hint=f"Check its head node (ray status). {_SAME_VERSIONS}"
        ) from error


def _no_module(error: Exception) -> RunError | None:
    """Return the error for a machine that cannot import something, which Ray reports in several ways."""
    missing = _MISSING_MODULE.search(str(error))
    if missing is None:
        return None
    hint = f"Install kapwa[ray]=={version('kapwa')}, and the same extras as here, on every machine."
    return RunError(f"A machine of the Ray cluster has no module {missing[1]!r}.", hint=hint)


class RayExecutor(Executor):
    """Tasks on a Ray cluster; see :class:`kapwa.parallel.base.Executor`. Joins the cluster with the first task.

    Machines need the same Kapwa, and no folder in common. A task whose worker or machine dies is sent again, up to four
    times; Ray's own retries are off, because they never end for tasks without enough memory.
    """

    name = "ray"
    shares_files = False

    def __init__(self, settings: Ray, tasks_at_once: int | None = None) -> None:
        self._settings, self._tasks_at_once = settings, tasks_at_once
        self._cluster: Cluster | None = None
        self._end = contextlib.ExitStack()

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def map(self, work: Callable[[Input], Output], tasks: Iterable[Input]) -> Iterator[Output]:
        """Yield ``work(task)`` for every task."""
        if self._cluster is None:
            self._cluster = self._end.enter_context(connected(self._settings))
        ray = require_ray()
        remote = ray.remote(num_cpus=1, max_retries=0, runtime_env={"env_vars": ONE_THREAD})(_run_task)
        source = iter(tasks)
        flying: dict[Untyped, _Task] = {}
        slots, look_at = self._tasks_at_once or 0, 0.0
        try:
            while True:
                if self._tasks_at_once is None and time.monotonic() >= look_at:  # a cluster grows and shrinks
                    slots, look_at = AHEAD * max(1, self._cluster.room(1)), time.monotonic() + _LOOK_EVERY
                with ray_errors():
                    new = [_Task(str(task), ray.put(task)) for task in islice(source, max(0, slots - len(flying)))]
                    flying |= {remote.remote(work, version("kapwa"), task.stored): task for task in new}
                    if not flying:
                        return
                    done, _ = ray.wait(list(flying), num_returns=1, timeout=_SAY_EVERY)
                if not done and not self._cluster.room(1):
                    log.warning("No machine of the Ray cluster offers a processor; waiting for one.")
                for reference in done:
                    task = flying.pop(reference)
                    try:
                        with ray_errors():
                            result = ray.get(reference)
                    except lost_worker() as error:
                        again = _next_attempt(task, error)
                        flying[remote.remote(work, version("kapwa"), again.stored)] = again
                    else:
                        yield result
        finally:
            for reference in flying:
                # The cluster may be what failed, and that is being reported already.
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)


class _Task(NamedTuple):
    """A task in flight. ``stored``: its input in Ray's store, from where it can be sent again."""

    name: str
    stored: Untyped
    attempt: int = 1


def _next_attempt(task: _Task, error: Exception) -> _Task:
    kind = type(error).__name__
    if task.attempt == ATTEMPTS:
        raise RunError(
            f"{task.name} lost its worker {ATTEMPTS} times, last by {kind}.",
            hint="It may need more memory than a worker has: use machines with more memory for each processor, or "
            "fewer --workers. Finished work is kept.",
        ) from error
    log.warning("%s lost its worker (%s); attempt %d of %d.", task.name, kind, task.attempt + 1, ATTEMPTS)
    return task._replace(attempt=task.attempt + 1)


def _run_task(work: Callable[[Input], Output], wanted: str, task: Input) -> Output:
    """Do one task on a machine of the cluster."""
    check_version(version("kapwa"), wanted)
    return work(task)


def check_version(there: str, here: str) -> None:
    """Raise RunError where a machine of the cluster has another Kapwa, which might come to other numbers."""
    if there != here:
        raise RunError(
            f"A machine of the Ray cluster has kapwa {there}, this process {here}.",
            hint=f"Install kapwa=={here} on every machine.",
        )
