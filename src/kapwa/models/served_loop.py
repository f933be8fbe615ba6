"""Run many asynchronous jobs on a background thread and hand their results to ordinary, synchronous code."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class _Crew(Generic[Job, Result]):
    """Up to ``most`` workers that do jobs one after another; all but ``outcomes`` belongs to the loop's thread.

    A worker that has done its job takes up the next one at once: a task for each job, and many of them begun together,
    would keep Python's garbage collector busy. ``outcomes`` gets what each job came to, all that a turn of the loop
    brought at once: waking the caller for each costs more than the rest.
    """

    def __init__(self, work: Callable[[Job], Coroutine[Any, Any, Sequence[Result]]], most: int) -> None:
        self.outcomes: SimpleQueue[list[Sequence[Result] | BaseException]] = SimpleQueue()
        self._work, self._most = work, most
        self._jobs: deque[Job] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._finished: list[Sequence[Result] | BaseException] = []

    def add(self, jobs: Sequence[Job]) -> None:
        self._jobs.extend(jobs)
        for _ in range(min(len(jobs), self._most - len(self._workers))):
            self._workers.add(asyncio.get_running_loop().create_task(self._do_jobs()))

    async def cancel(self) -> None:
        self._jobs.clear()
        await _cancel(self._workers)

    async def _do_jobs(self) -> None:
        try:
            while self._jobs:
                outcome: Sequence[Result] | BaseException
                try:
                    outcome = await self._work(self._jobs.popleft())
                except asyncio.CancelledError:
                    raise
                except BaseException as error:  # noqa: BLE001 - carried to the caller's thread, raised there
                    outcome = error
                    self._jobs.clear()  # it ends the stream: what comes after it nobody will see
                if not self._finished:
                    asyncio.get_running_loop().call_soon(self._hand_over)
                self._finished.append(outcome)
        finally:
            # Here and not by a callback, which comes later: jobs added in between would be left to a worker that ended.
            self._workers.discard(asyncio.current_task())

    def _hand_over(self) -> None:
        self.outcomes.put(self._finished)
        self._finished = []


class BackgroundLoop:
    """An event loop on a daemon thread; started when first used, ended by :meth:`close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether the thread runs."""
        return self._loop is not None

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run one coroutine to its end and return what it returns; Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stream(
        self,
        jobs: Iterable[Job],
        work: Callable[[Job], Coroutine[Any, Any, Sequence[Result]]],
        window: int,
    ) -> Iterator[Result]:
        """Yield the results of ``work`` on every job, in the order they finish.

        ``jobs`` is consumed lazily, in the caller's thread, with at most ``window`` jobs taken and not yet yielded:
        three quarters under way, and the next at hand. The first exception that ``work`` raises is raised here, after
        the results that came before it. Closing the iterator, or an exception in the caller, cancels what is open.
        """
        loop = self._running()
        crew = _Crew(work, window - window // 4)
        waiting = iter(jobs)
        taken = 0
        more = True
        try:
            while True:
                # Refilling by eighths spares a wake-up of the loop's thread for each job.
                if more and taken <= window - max(1, window // 8):
                    batch = list(islice(waiting, window - taken))
                    more = bool(batch)
                    taken += len(batch)
                    loop.call_soon_threadsafe(crew.add, batch)
                if not taken:
                    return
                for outcome in crew.outcomes.get():
                    if isinstance(outcome, BaseException):
                        raise outcome
                    yield from outcome
                    taken -= 1
        finally:
            if not loop.is_closed():
                ending = asyncio.run_coroutine_threadsafe(crew.cancel(), loop)
                # An iterator that was forgotten may be collected on any thread, the loop's own too.
                if threading.current_thread() is not self._thread:
                    ending.result()

    def close(self) -> None:
        """Stop the loop and end its thread; harmless when never started or already closed."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        atexit.unregister(self.close)
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel(None), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="kapwa-served", daemon=True)
            self._thread.start()
            # Once Python shuts down, the thread answers nobody, and an iterator left open would wait for it for ever.
            atexit.register(self.close)
        return self._loop


async def _cancel(tasks: Iterable[asyncio.Task[Any]] | None) -> None:
    ending = [task for task in (asyncio.all_tasks() if tasks is None else tasks) if task is not asyncio.current_task()]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
