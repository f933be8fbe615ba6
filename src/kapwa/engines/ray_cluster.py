"""Join a Ray cluster or start Ray here, and say in our words what Ray complains of.

Everything that talks to Ray goes through :func:`connected`, and through :func:`ray_errors` where it waits for results.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from kapwa.engines.ray_tokens import about_tokens, agreed, disagreement
from kapwa.engines.settings import Ray
from kapwa.errors import KapwaError, MissingDependencyError, RunError, UsageError

log = logging.getLogger(__name__)

ADDRESS = "RAY_ADDRESS"
LOCAL = "local"
_KNOCK = 10.0  # seconds a cluster has to accept a connection
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
_SAME_VERSIONS = "Install the same versions of Python, ray and kapwa on every machine of the cluster as here."


class Node(NamedTuple):
    """What one machine of the cluster offers to work, in use or not."""

    cpus: float
    gpus: float

    def room(self, cpus: float, gpus: float = 0.0) -> int:
        """Return how many pieces of work of ``cpus`` processors and ``gpus`` GPUs the machine holds at once."""
        fits = [int(have / want + 1e-9) for have, want in ((self.cpus, cpus), (self.gpus, gpus)) if want > 0]
        return min(fits, default=0)


class Cluster(NamedTuple):
    """The Ray this process is connected to. ``own``: started here."""

    own: bool

    def nodes(self) -> list[Node]:
        """Return the machines that are alive now."""
        import ray

        return [
            Node(float(node["Resources"].get("CPU", 0.0)), float(node["Resources"].get("GPU", 0.0)))
            for node in _nodes(ray)
            if node["Alive"]
        ]

    def room(self, cpus: float, gpus: float = 0.0) -> int:
        """Return how many pieces of work of this size the cluster holds at once, none of them across machines."""
        return sum(node.room(cpus, gpus) for node in self.nodes())

    def require(self, cpus: float, gpus: float = 0.0, *, what: str = "a replica") -> int:
        """Return the room for work of this size; raise UsageError where no machine could ever hold one piece.

        A cluster that grows on demand may lack the machine now and get it: then it is no error.
        """
        found = self.room(cpus, gpus)
        if found or _may_grow(cpus, gpus):
            return found
        raise UsageError(
            f"No machine of the Ray cluster holds {what} of {size(cpus, gpus)}. It has {self.described()}.",
            hint="Ask for less (--cpus-per-replica, --gpus-per-replica), or add a machine that has as much.",
        )

    def described(self) -> str:
        """Say what the cluster has, for people: "3 machines of 1 processor"."""
        nodes = sorted(self.nodes(), reverse=True)
        kinds = {node: nodes.count(node) for node in nodes}
        return ", ".join(_machines(node, n) for node, n in kinds.items()) or "no machine"


def _nodes(ray: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ray.nodes()
    return found


def _machines(node: Node, n: int) -> str:
    return f"{_count(n, 'machine')} of {size(node.cpus, node.gpus)}"


def size(cpus: float, gpus: float = 0.0) -> str:
    """Say how large a machine or a piece of work is: "2 processors and 1 GPU"."""
    return _count(cpus, "processor") + (f" and {_count(gpus, 'GPU')}" if gpus else "")


def _count(n: float, what: str) -> str:
    return f"{n:g} {what}{'' if n == 1 else 's'}"


def _may_grow(cpus: float, gpus: float) -> bool:
    """Whether an autoscaler says that it could add machines with as much; False where none says anything."""
    import ray

    try:
        most = ray._private.state.state.get_max_resources_from_cluster_config() or {}
    except Exception:  # noqa: BLE001 - a private call: where it is not to be had, the cluster counts as it is
        return False
    return all(float(most.get(name, 0.0)) >= want for name, want in (("CPU", cpus), ("GPU", gpus)) if want > 0)


@contextlib.contextmanager
def connected(settings: Ray) -> Iterator[Cluster]:
    """Be connected to the Ray that ``settings.address`` means; see :class:`kapwa.engines.settings.Ray`.

    Where the program is connected already, that connection is used and left. Blocks may overlap: they share one
    connection, and the last one ends it. A Ray started here ends with it; a cluster that was there stays. Ray's
    messages go to the log, never to standard output.
    Raises MissingDependencyError without Ray, UsageError for an address that is not of a cluster itself, RunError where
    there is no cluster at the address, where its versions differ from these, where it asks for another token than there
    is here, or where Ray cannot be started here.
    """
    ray = require_ray()
    shared = _ours.enter(ray, settings.address or os.environ.get(ADDRESS) or LOCAL)
    try:
        yield Cluster(own=shared and _ours.local)
    finally:
        if shared:
            _ours.leave()


class _Connection:
    """The connection that the blocks of this process share, unless the program had one of its own."""

    def __init__(self) -> None:
        self.local = False
        self._users = 0
        self._lock = threading.Lock()
        self._end = contextlib.ExitStack()

    def enter(self, ray: Any, address: str) -> bool:
        """Be connected; say whether that is this connection, which :meth:`leave` must be told of."""
        with self._lock:
            if not ray.is_initialized():
                self._begin(ray, address)
            elif not self._users:
                return False
            self._users += 1
            return True

    def leave(self) -> None:
        """End the connection, if this was its last user."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._end.close()

    def _begin(self, ray: Any, address: str) -> None:
        with contextlib.ExitStack() as undo:
            undo.enter_context(_own_signals())
            undo.enter_context(_own_output())
            _check(address)
            undo.enter_context(agreed(address, own=address == LOCAL))
            _join(ray, address)
            undo.callback(ray.shutdown)
            self._end = undo.pop_all()
        self.local = address == LOCAL


_ours = _Connection()


def require_ray() -> Any:
    """Return Ray's module; raise MissingDependencyError where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingDependencyError("ray", extra="ray", purpose="The Ray engine") from None
    return ray


def _check(address: str) -> None:
    """Raise where an address is not of a cluster itself, or nobody listens at it."""
    if "://" in address:
        raise UsageError(
            f"The address {address} is for Ray's client, over which replicas cannot answer piece by piece.",
            hint="Start kapwa on the cluster (ray job submit), or name the cluster's own address, such as HOST:6379.",
        )
    _knock(address)


def _join(ray: Any, address: str) -> None:
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        quiet["include_dashboard"] = False
    try:
        with _environment(_QUIET):
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray raises whatever its parts raise
        ray.shutdown()
        raise _not_joined(address, error) from error


def _not_joined(address: str, error: Exception) -> KapwaError:
    said = brief(error)
    if address != LOCAL and about_tokens(error):
        return disagreement(address)
    if "mismatch" in said:
        return RunError(f"The Ray cluster at {address} runs other versions: {said}", hint=_SAME_VERSIONS)
    if address == LOCAL:
        return RunError(
            f"Ray cannot be started on this machine: {said}", hint="Check the space in /tmp/ray and the memory."
        )
    return _no_cluster(address, said)


def _no_cluster(address: str, why: str) -> RunError:
    return RunError(
        f"There is no Ray cluster at {address!r}: {why}",
        hint="Start one (ray start --head), name its address (--address HOST:PORT), "
        "or leave --address out to use this machine alone.",
    )


def _knock(address: str) -> None:
    """Raise RunError where nobody listens; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, f"{getattr(error, 'strerror', None) or error}.") from None


def brief(error: BaseException) -> str:
    """Return what ``error`` says, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:500] or type(error).__name__


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables that are not set, for the processes that start meanwhile."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Give the program back its way of taking SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


@contextlib.contextmanager
def _own_output() -> Iterator[None]:
    """Log what Ray would print: it writes of workers' deaths to standard output, where results belong."""
    from ray._private import worker

    before = getattr(worker, "print_to_stdstream", None)

    def tell(data: dict[str, Any], *_: Any, **__: Any) -> None:
        log.info("Ray: %s", " ".join(str(line) for line in data.get("lines", ())))

    worker.print_to_stdstream = tell
    try:
        yield
    finally:
        if before is not None:
            worker.print_to_stdstream = before


@contextlib.contextmanager
def ray_errors(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what Ray raises while results are awaited into errors of ours, but for those that are ``passing``.

    What a task itself raised comes out as it was raised there.
    """
    ray = require_ray()
    try:
        yield
    except passing:
        raise
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.OutOfMemoryError as error:
        raise RunError(
            f"A machine of the Ray cluster ran out of memory: {brief(error)}",
            hint="Give each piece of work more of a machine: fewer replicas, or more --cpus-per-replica.",
        ) from error
    except ray.exceptions.RuntimeEnvSetupError as error:
        raise RunError(f"A worker of the Ray cluster cannot be set up: {brief(error)}", hint=_SAME_VERSIONS) from error
    except (ray.exceptions.RaySystemError, ray.exceptions.RpcError, ConnectionError) as error:
        raise RunError(
            f"The Ray cluster failed: {brief(error)}", hint="Check that its head node is alive (ray status)."
        ) from error
    except ray.exceptions.RayError as error:
        raise RunError(f"The Ray cluster lost work: {brief(error)}", hint=_SAME_VERSIONS) from error
