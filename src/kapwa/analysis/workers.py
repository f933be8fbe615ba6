"""Who does the pieces of work of an analysis: processes of this machine, or the processors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType

from kapwa.analysis.pool import run_all
from kapwa.analysis.settings import Settings
from kapwa.engines.guarded import Input, Output
from kapwa.engines.ray_cluster import Cluster, connected
from kapwa.engines.ray_tasks import run_tasks
from kapwa.engines.settings import Ray


class Workers:
    """Both stages' workers. A cluster is joined when it is first needed, and left at the end of the block."""

    def __init__(self, settings: Settings, engine: Ray | None = None) -> None:
        """Work as ``settings`` say: in ``processes`` of this machine, or, with an ``engine``, on Ray."""
        self.processes, self.engine = settings.processes, engine
        self._most = settings.workers
        self._cluster: Cluster | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def here(self, work: Callable[[Input], Output], tasks: Iterable[Input], *, most: int) -> Iterator[Output]:
        """Yield ``work(task)`` for every task, done by at most ``most`` processes: :func:`kapwa.analysis.pool.run_all`.

        With one process, by this one.
        """
        return run_all(work, tasks, workers=max(1, min(self.processes, most)))

    def on_nodes(
        self, work: Callable[[Input], Output], tasks: Iterable[Input], *, name: Callable[[Input], str]
    ) -> Iterator[Output]:
        """Yield ``work(task)`` for every task, done on Ray: :func:`kapwa.engines.ray_tasks.run_tasks`."""
        assert self.engine is not None, "only where Ray is asked for"
        if self._cluster is None:
            self._cluster = self._stack.enter_context(connected(self.engine))
        return run_tasks(work, tasks, cluster=self._cluster, name=name, most=self._most)
