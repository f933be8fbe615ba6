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
from typing import Any, Final, NamedTuple, Self, TextIO

from kapwa.errors import KapwaError, MissingDependencyError, RunError, UsageError
from kapwa.parallel.base import ONE_THREAD, Input, Output, Ray
from kapwa.parallel.local import AHEAD

log = logging.getLogger(__name__)

LOCAL: Final = "local"
# Workers that one task may lose before it is taken for the cause.
ATTEMPTS: Final = 4
# Seconds between two looks at the size of the cluster, and between two warnings.
_LOOK_EVERY = 5.0
_SAY_EVERY = 60.0
_SAME_VERSIONS = "Install the same versions of Python, ray and kapwa on every machine of the cluster as here."
_SAME_TOKENS = (
    "Set RAY_AUTH_MODE to the same (token or disabled) wherever ray and kapwa start. With tokens, copy "
    "~/.ray/auth_token from the cluster's first machine to the others."
)
_ABOUT_TOKENS = re.compile("InvalidAuthToken|Unauthenticated|AuthenticationError|authentication token")
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
        found = [node["Resources"] for node in require_ray().nodes() if node["Alive"]]
        return [Node(float(has.get("CPU", 0.0)), float(has.get("GPU", 0.0))) for has in found]

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


def require_ray() -> Any:
    """Return Ray's module; raise MissingDependencyError where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingDependencyError("ray", extra="ray", purpose="The Ray engine") from None
    return ray


class _Connection:
    """The connection of this process, which overlapping :func:`connected` blocks share."""

    def __init__(self) -> None:
        self.users, self.local, self.end = 0, False, contextlib.ExitStack()


_shared = _Connection()


@contextlib.contextmanager
def connected(settings: Ray) -> Iterator[Cluster]:
    """Be connected to the Ray that ``settings.address`` means; see :class:`kapwa.parallel.base.Ray`.

    A connection that the program made itself is used and left. Overlapping blocks share one connection, and the last
    one ends it. A Ray that was started here ends with it. What Ray prints goes to the log, never to standard output.
    Raises MissingDependencyError without Ray, UsageError for an address of Ray's client, and RunError where there is
    no cluster, where it has other versions or tokens, or where Ray cannot be started.
    """
    ray = require_ray()
    ours = _shared.users > 0 or not ray.is_initialized()
    if ours and not _shared.users:
        address = settings.address or os.environ.get("RAY_ADDRESS") or LOCAL
        _shared.end, _shared.local = _connect(ray, address), address == LOCAL
    _shared.users += ours
    try:
        yield Cluster(own=ours and _shared.local)
    finally:
        _shared.users -= ours
        if ours and not _shared.users:
            _shared.end.close()


def _connect(ray: Any, address: str) -> contextlib.ExitStack:
    """Connect, and return what undoes it."""
    _check_address(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        quiet["include_dashboard"] = False
    with contextlib.ExitStack() as undo:
        undo.enter_context(contextlib.redirect_stdout(_WithoutRay(sys.stdout)))
        if threading.current_thread() is threading.main_thread():
            # Ray replaces what SIGTERM does.
            undo.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)
        try:
            ray.init(address=address, **quiet)
        except Exception as error:  # Ray raises whatever its parts raise
            ray.shutdown()
            raise _not_connected(address, error) from error
        undo.callback(ray.shutdown)
        return undo.pop_all()


class _WithoutRay:
    """Standard output without what Ray's threads write: results go there, and Ray tells of dead workers there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
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
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, f"{getattr(error, 'strerror', None) or error}.") from None


def _not_connected(address: str, error: Exception) -> KapwaError:
    said = brief(error)
    if address == LOCAL:
        return RunError(
            f"Ray cannot be started on this machine: {said}", hint="Check the space in /tmp/ray and the memory."
        )
    if "mismatch" in said:
        return RunError(f"The Ray cluster at {address} runs other versions: {said}", hint=_SAME_VERSIONS)
    if _ABOUT_TOKENS.search(f"{type(error).__name__}: {error}") or (
        isinstance(error, ConnectionError) and ":" in address
    ):
        # Somebody listens there. A cluster that asks for a token closes the connection without a word.
        mode = os.environ.get("RAY_AUTH_MODE", "not set")
        return RunError(
            f"The Ray cluster at {address!r} does not accept this process (RAY_AUTH_MODE is {mode} here): {said}",
            hint=_SAME_TOKENS,
        )
    return _no_cluster(address, said)


def _no_cluster(address: str, why: str) -> RunError:
    return RunError(
        f"There is no Ray cluster at {address!r}: {why}",
        hint="Start one (ray start --head), name its address (--address HOST:PORT), "
        "or leave --address out to use this machine alone.",
    )


def brief(error: BaseException) -> str:
    """Return what ``error`` says, in one line."""
    return " ".join(str(error).split())[:500] or type(error).__name__


def death_reason(error: BaseException) -> str:
    """Say why a worker is gone, where Ray knows more than that it is."""
    gone = isinstance(error, require_ray().exceptions.ActorUnavailableError)
    return "its process or machine is gone." if gone else brief(error)


def lost_worker() -> tuple[type[Exception], ...]:
    """Return the errors that Ray raises where a worker, a machine, or a result that lay there is gone."""
    known = require_ray().exceptions
    return (
        known.RayActorError,
        known.NodeDiedError,
        known.WorkerCrashedError,
        known.OutOfMemoryError,
        known.ObjectLostError,
    )


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


class _Task(NamedTuple):
    """A task in flight. ``stored``: its input in Ray's store, from where it can be sent again."""

    name: str
    stored: Any
    attempt: int = 1


class RayExecutor:
    """Tasks on a Ray cluster; see :class:`kapwa.parallel.base.Executor`. Joins the cluster with the first task.

    Machines need the same Kapwa, and no folder in common. A task whose worker or machine dies is sent again, up to four
    times; Ray's own retries are off, because they never end for tasks without enough memory and name no task.
    """

    name = "ray"
    shares_files = False

    def __init__(self, settings: Ray, tasks_at_once: int | None = None) -> None:
        self._settings, self._tasks_at_once = settings, tasks_at_once
        self._cluster: Cluster | None = None
        self._end = contextlib.ExitStack()
        self._slots, self._look_at = 1, 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def map(
        self,
        work: Callable[[Input], Output],
        tasks: Iterable[Input],
        *,
        describe: Callable[[Input], str] = str,
        inline: bool = False,
    ) -> Iterator[Output]:
        """Yield ``work(task)`` for every task."""
        if inline:
            yield from map(work, tasks)
            return
        if self._cluster is None:
            self._cluster = self._end.enter_context(connected(self._settings))
        ray = require_ray()
        remote = ray.remote(num_cpus=1, max_retries=0, runtime_env={"env_vars": ONE_THREAD})(_run_task)
        waiting = iter(tasks)
        flying: dict[Any, _Task] = {}

        def send(task: _Task) -> None:
            flying[remote.remote(work, version("kapwa"), task.stored)] = task

        try:
            while True:
                with ray_errors():
                    for new in islice(waiting, max(0, self._room(self._cluster) - len(flying))):
                        send(_Task(describe(new), ray.put(new)))
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
                        send(_next_attempt(task, error))
                    else:
                        yield result
        finally:
            for reference in flying:
                # The cluster may be what failed, and that is being reported already.
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)

    def _room(self, cluster: Cluster) -> int:
        """Return how many tasks may be in flight; a cluster grows and shrinks meanwhile."""
        if self._tasks_at_once is not None:
            return self._tasks_at_once
        if time.monotonic() >= self._look_at:
            self._slots, self._look_at = AHEAD * max(1, cluster.room(1)), time.monotonic() + _LOOK_EVERY
        return self._slots


def _next_attempt(task: _Task, error: Exception) -> _Task:
    if task.attempt == ATTEMPTS:
        raise RunError(
            f"{task.name} lost its worker {ATTEMPTS} times, last by {type(error).__name__}.",
            hint="It may need more memory than a worker has: use machines with more memory for each processor, or "
            "fewer --workers. What is done is kept.",
        ) from error
    log.warning(
        "%s lost its worker (%s); attempt %d of %d.", task.name, type(error).__name__, task.attempt + 1, ATTEMPTS
    )
    return task._replace(attempt=task.attempt + 1)


def _run_task(work: Callable[[Input], Output], wanted: str, task: Input) -> Output:
    """Do one task on a machine of the cluster, where another Kapwa might come to other numbers."""
    here = version("kapwa")
    if here != wanted:
        raise RunError(
            f"A machine of the Ray cluster has kapwa {here}, this process {wanted}.",
            hint=f"Install kapwa=={wanted} on every machine.",
        )
    return work(task)
