"""Tasks in several processes of this machine, with bounded memory and clean ends.

Workers are spawned, because threads and forks do not mix. They compute with one thread each, and leave when the process
that started them is gone, even if it was killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import Final, Self

from kapwa.errors import RunError
from kapwa.parallel.base import ONE_THREAD, Executor, Input, Output, Ray

# Two tasks a worker: one that runs, one that waits, so that no worker waits for the reader.
AHEAD: Final = 2


def open_executor(engine: Ray | None, *, processes: int, tasks_at_once: int | None = None) -> Executor:
    """Return the executor for ``engine``: None means ``processes`` of this machine.

    ``tasks_at_once``: limit of tasks in flight on Ray; None allows two for each processor of the cluster.
    """
    if engine is None:
        return LocalExecutor(processes)
    from kapwa.parallel.ray_cluster import RayExecutor

    return RayExecutor(engine, tasks_at_once)


class LocalExecutor:
    """Processes of this machine; see :class:`kapwa.parallel.base.Executor`. One process means this one."""

    name = "local"
    shares_files = True

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(
        self,
        work: Callable[[Input], Output],
        tasks: Iterable[Input],
        *,
        describe: Callable[[Input], str] = str,  # noqa: ARG002 - a pool cannot tell which task killed its worker
        inline: bool = False,
    ) -> Iterator[Output]:
        """Yield ``work(task)`` for every task."""
        if inline or self.processes == 1:
            yield from map(work, tasks)
            return
        others = set(multiprocessing.active_children())
        with _environment(ONE_THREAD):
            pool = ProcessPoolExecutor(
                self.processes, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
            )
            try:
                yield from _results(pool, work, iter(tasks), self.processes * AHEAD)
            except BrokenProcessPool as error:
                raise RunError(
                    "A worker process ended before its work was done.",
                    hint="It may have run out of memory: use fewer --workers. What is done is kept.",
                ) from error
            except BrokenPipeError as error:
                # A worker that could not start closed the pipe; the command line would take it for a reader that left.
                raise RunError("Worker processes cannot be started.", hint="Try --workers 1.") from error
            except BaseException:
                # What workers write is written whole or not at all, so they can be stopped at any moment.
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _results(
    pool: ProcessPoolExecutor, work: Callable[[Input], Output], tasks: Iterator[Input], ahead: int
) -> Iterator[Output]:
    waiting: set[Future[Output]] = {_submit(pool, work, task) for task in islice(tasks, ahead)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done)
        waiting |= {_submit(pool, work, task) for task in islice(tasks, len(done))}


def _submit(pool: ProcessPoolExecutor, work: Callable[[Input], Output], task: Input) -> Future[Output]:
    """Submit one task; a worker that this starts does not run the user's script again.

    A spawned process imports the main module. A script without ``if __name__ == '__main__':`` would begin the whole
    analysis anew in each worker. Work that other modules define needs nothing of the main module.
    """
    main = sys.modules["__main__"]
    if work.__module__ == "__main__":
        return pool.submit(work, task)
    names = vars(main)
    hidden: dict[str, object] = {name: names.pop(name) for name in ("__file__", "__spec__") if name in names}
    main.__spec__ = None
    try:
        return pool.submit(work, task)
    finally:
        names.update(hidden)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that start inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start_worker() -> None:
    """Prepare a worker: the parent handles Ctrl-C, and a worker without a parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)
