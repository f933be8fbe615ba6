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

from kapwa.errors import RunError
from kapwa.parallel.base import AHEAD, ONE_THREAD, Executor, Input, Output, Ray


def open_executor(engine: Ray | None, *, processes: int, tasks_at_once: int | None = None) -> Executor:
    """Return the executor for ``engine``: None means ``processes`` of this machine.

    ``tasks_at_once``: limit of tasks in flight on Ray; None allows two for each processor of the cluster.
    """
    if engine is None:
        return LocalExecutor(processes)
    from kapwa.parallel.ray_cluster import RayExecutor

    return RayExecutor(engine, tasks_at_once)


class LocalExecutor(Executor):
    """Processes of this machine; see :class:`kapwa.parallel.base.Executor`. One process means this one."""

    name = "local"
    shares_files = True

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def map(self, work: Callable[[Input], Output], tasks: Iterable[Input]) -> Iterator[Output]:
        """Yield ``work(task)`` for every task."""
        if self.processes == 1:
            yield from map(work, tasks)
            return
        others = set(multiprocessing.active_children())
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.processes, mp_context=spawn, initializer=_start_worker)
        source, waiting = iter(tasks), set[Future[Output]]()
        try:
            while True:
                new = list(islice(source, self.processes * AHEAD - len(waiting)))
                with _spawning():
                    waiting |= {pool.submit(work, task) for task in new}
                if not waiting:
                    break
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            raise RunError(
                "A worker process ended before its work was done.",
                hint="It may have run out of memory: use fewer --workers. Finished work is kept.",
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


@contextlib.contextmanager
def _spawning() -> Iterator[None]:
    """Let processes that start inside compute with one thread each, and not run the user's script again.

    A spawned process imports the main module: a script without ``if __name__ == '__main__':`` would begin the whole
    analysis again in each worker. What Kapwa runs in workers needs nothing of that module.
    """
    main = vars(sys.modules["__main__"])
    hidden: dict[str, object] = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main["__spec__"] = None
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        main.update(hidden)
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


def _start_worker() -> None:
    """Prepare a worker: the parent handles Ctrl-C, and a worker without a parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)
