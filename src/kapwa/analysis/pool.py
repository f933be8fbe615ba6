"""Run one pure function over many inputs in several processes, with bounded memory and clean ends.

At most a few inputs wait at a time, so a producer that reads texts is held back by the workers. Workers are spawned
(threads and forks do not mix), compute with one thread each, and leave when the process that started them is gone,
however it went.
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

from kapwa.engines.guarded import ONE_THREAD, Guarded, Input, Output, Told
from kapwa.errors import RunError

# Two inputs a worker: one in work, one ready, so that nobody waits for the reader.
_AHEAD = 2


def run_all(work: Callable[[Input], Output], tasks: Iterable[Input], *, workers: int) -> Iterator[Output]:
    """Yield ``work(task)`` for every task, in order of completion; with one worker in this process, in order.

    ``work`` and the tasks must be picklable. ``tasks`` is asked for more after every result, so results may bring more
    to do. An error ends it: waiting tasks are dropped and workers stopped. Raises RunError when a worker dies (killed,
    or out of memory).
    """
    if workers == 1:
        yield from map(work, tasks)
        return
    with _one_thread_each():
        executor = ProcessPoolExecutor(
            max_workers=workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
        )
        try:
            yield from _pump(executor, Guarded(work), iter(tasks), workers * _AHEAD)
        except BrokenProcessPool as error:
            raise RunError(
                "A worker process ended before its work was done.",
                hint="It may have run out of memory: use fewer --workers. What is done is kept.",
            ) from error
        except BrokenPipeError as error:
            # A worker that could not start closed its end; the command line would take it for a reader that left.
            raise RunError("Worker processes cannot be started.", hint="Try --workers 1.") from error
        except BaseException:
            _stop(executor)
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _pump(
    executor: ProcessPoolExecutor, work: Guarded[Input, Output], tasks: Iterator[Input], ahead: int
) -> Iterator[Output]:
    waiting: set[Future[Output | Told]] = {_submit(executor, work, task) for task in islice(tasks, ahead)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            result = future.result()
            if isinstance(result, Told):
                raise result.again()
            yield result
        waiting |= {_submit(executor, work, task) for task in islice(tasks, len(done))}


def _submit(executor: ProcessPoolExecutor, work: Guarded[Input, Output], task: Input) -> Future[Output | Told]:
    """Hand in one task; a worker that this starts does not run the user's script again.

    A spawned process imports the main module, which in a script without ``if __name__ == '__main__':`` would begin the
    whole analysis anew. Work defined in other modules needs nothing of it.
    """
    main = sys.modules["__main__"]
    if work.module == "__main__":
        return executor.submit(work, task)
    names = vars(main)
    hidden: dict[str, object] = {name: names.pop(name) for name in ("__file__", "__spec__") if name in names}
    main.__spec__ = None
    try:
        return executor.submit(work, task)
    finally:
        names.update(hidden)


def _stop(executor: ProcessPoolExecutor) -> None:
    """End the workers now; what they write is written whole or not at all, so nothing is left half done."""
    for process in list((getattr(executor, "_processes", None) or {}).values()):
        process.terminate()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes started inside compute with one thread: libraries read this when they are loaded."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin() -> None:
    """Prepare a worker: Ctrl-C is the parent's to handle, and without a parent there is nobody to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)
