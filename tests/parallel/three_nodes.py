"""A cluster of three nodes of one processor each, on this machine, for tests that kill parts of it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# A node that is gone is noticed within seconds instead of half a minute.
_WATCHFUL = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
_STORE = 96 * 2**20


class Nodes:
    """The cluster, and what can befall it."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._others: list[Any] = []
        for _ in range(2):
            self.add_node()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add_node(self) -> None:
        """Let another node join."""
        self._others.append(patiently(lambda: self._cluster.add_node(num_cpus=1, object_store_memory=_STORE)))

    def lose_node(self) -> None:
        """Take a node away with everything on it, without a word to the rest."""
        self._cluster.remove_node(self._others.pop(), allow_graceful=False)

    def lose_node_at(self, doing: str) -> bool:
        """Take away a node, other than the first, that is at the task ``doing`` now; say whether there was one."""
        found = self._found(doing, self._others)
        if found is not None:
            self._others.remove(found[1])
            self._cluster.remove_node(found[1], allow_graceful=False)
        return found is not None

    def kill_worker(self, doing: str) -> bool:
        """Kill a process of the cluster that is at the task ``doing`` now; say whether there was one."""
        found = self._found(doing, [self._cluster.head_node, *self._others])
        if found is not None:
            os.kill(found[0], signal.SIGKILL)
        return found is not None

    def _found(self, doing: str, nodes: list[Any]) -> tuple[int, Any] | None:
        # Who calls holds up the run: what is not at work soon has nothing to do until the call is over.
        limit = time.monotonic() + 0.5
        while time.monotonic() < limit:
            for node in nodes:
                for pid in _workers(node):
                    if f"ray::{doing}" in _title(pid):
                        return pid, node
            time.sleep(0.002)
        return None


def _workers(node: Any) -> list[int]:
    """Return the processes that a node's raylet has started."""
    return [pid for info in node.all_processes.get("raylet", ()) for pid in _children(info.process.pid)]


def _children(pid: int) -> list[int]:
    try:
        found = [path.read_text(encoding="ascii").split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for children in found for child in children]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@contextmanager
def three_nodes() -> Iterator[Nodes]:
    """Start the cluster, and end all of it afterwards."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": _STORE, "_system_config": _WATCHFUL}
    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        yield Nodes(cluster)
    finally:
        cluster.shutdown()


def patiently(start: Callable[[], Any]) -> Any:
    """Start a part of a cluster: up to three times, for a busy machine may miss the half minute that Ray allows."""
    for _ in range(2):
        with suppress(Exception):  # Ray raises no other kind
            return start()
    return start()
