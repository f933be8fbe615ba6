"""Run many asynchronous jobs on a background thread and hand their results to ordinary, synchronous code."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


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

        ``jobs`` is consumed lazily, in the caller's thread, with at most ``window`` jobs taken and not
        yet yielded. The first exception that ``work`` raises is raised here, after the results that
        came before it. Closing the iterator, or an exception in the caller, cancels what is open.
        """
        loop = self._running()
        results: SimpleQueue[list[Sequence[Result] | BaseException]] = SimpleQueue()
        tasks: set[asyncio.Task[None]] = set()  # this and the next are touched on the loop's thread only
        finished: list[Sequence[Result] | BaseException] = []

        async def run(job: Job) -> None:
            outcome: Sequence[Result] | BaseException
            try:
                outcome = await work(job)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - carried to the caller's thread, raised there
                outcome = error
            if not finished:
                loop.call_soon(hand_over)
            finished.append(outcome)

        def hand_over() -> None:
            # All that a turn of the loop brought at once: waking the caller for each costs more than the rest.
            results.put(finished.copy())
            finished.clear()

        def start(batch: Sequence[Job]) -> None:
            for job in batch:
                task = loop.create_task(run(job))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        waiting = iter(jobs)
        taken = 0
        more = True
        try:
            while True:
                # Refilling by quarters spares a wake-up of the loop's thread for each job.
                if more and taken <= window - max(1, window // 4):
                    batch = list(islice(waiting, window - taken))
                    more = bool(batch)
                    taken += len(batch)
                    loop.call_soon_threadsafe(start, batch)
                if not taken:
                    return
                for outcome in results.get():
                    if isinstance(outcome, BaseException):
                        raise outcome
                    yield from outcome
                    taken -= 1
        finally:
            if not loop.is_closed():
                ending = asyncio.run_coroutine_threadsafe(_cancel(tasks), loop)
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
