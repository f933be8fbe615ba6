"""Run many asynchronous jobs on a background thread and hand their results to ordinary, synchronous code."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


PATIENCE = 2.0  # seconds that calls which were cancelled, or connections that are closed, are waited for

Give = Callable[[Sequence[Result]], None]
Work = Callable[[Job, Give[Result]], Coroutine[Any, Any, None]]


class _Crew(Generic[Job, Result]):
    """Up to ``most`` workers that do jobs one after another, on the loop's thread.

    A worker that has done its job takes up the next one at once: a task for each job, and many of them begun together,
    would keep Python's garbage collector busy. ``results`` holds what came, in the order it came, from the moment it
    came; the other thread reads and shortens it, and ``turns`` wakes it once for all that a turn of the loop brought:
    waking it for each costs more than the rest. ``ended`` counts the jobs that are done, after their results are there.
    """

    def __init__(self, work: Work[Job, Result], most: int) -> None:
        self.results: list[Result] = []
        self.ended = 0
        self.error: BaseException | None = None
        self.turns: SimpleQueue[None] = SimpleQueue()
        self._work, self._most = work, most
        self._jobs: deque[Job] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._telling = False

    def add(self, jobs: Sequence[Job]) -> None:
        if self.error is not None:
            return
        self._jobs.extend(jobs)
        for _ in range(min(len(jobs), self._most - len(self._workers))):
            self._workers.add(asyncio.get_running_loop().create_task(self._do_jobs()))

    async def cancel(self) -> None:
        self._jobs.clear()
        await asyncio.sleep(0)  # a worker whose answer is here, and who has not looked yet, does so now
        await _cancel(self._workers)

    async def _do_jobs(self) -> None:
        try:
            while self._jobs:
                try:
                    await self._work(self._jobs.popleft(), self._give)
                except asyncio.CancelledError:
                    raise
                except BaseException as error:  # noqa: BLE001 - carried to the caller's thread, raised there
                    self.error = self.error or error
                    self._jobs.clear()  # it ends the stream
                self.ended += 1
                self._tell()
        finally:
            # Here and not by a callback, which comes later: jobs added in between would be left to a worker that ended.
            self._workers.discard(asyncio.current_task())

    def _give(self, results: Sequence[Result]) -> None:
        self.results.extend(results)
        self._tell()

    def _tell(self) -> None:
        if not self._telling:
            self._telling = True
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        self._telling = False
        if self.turns.empty():  # else the other thread has yet to look
            self.turns.put(None)


class Stream(Iterator[Result], Generic[Job, Result]):
    """The results of many jobs, in the order they come; made by :meth:`BackgroundLoop.stream`.

    Nothing that came is lost, wherever Ctrl-C hits: a result stays in the crew's list until the one after it is asked
    for, and :meth:`close` returns what is in that list.
    """

    def __init__(
        self,
        crew: _Crew[Job, Result],
        jobs: Iterable[Job],
        window: int,
        send: Callable[[Sequence[Job]], object],
        stop: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._crew, self._jobs, self._window = crew, iter(jobs), window
        self._send, self._stop = send, stop
        self._next = self._until = 0  # places in the crew's list: of the next result, and of the last one seen there
        # Jobs that were begun, that had ended when last looked, and those of them whose results were all taken.
        self._begun = self._seen = self._done = 0
        self._more, self._open = True, True

    def __next__(self) -> Result:
        at = self._next
        if at == self._until:
            self._look()
            at = 0
        self._next = at + 1
        return self._crew.results[at]

    def close(self) -> list[Result]:
        """Cancel what is open, and return what came and was not asked for, with the last result that was handed out.

        That one is among them because nobody but the caller can know whether it arrived there. Calls that do not end
        when they are cancelled are left to themselves after ``PATIENCE`` seconds. Harmless when repeated.
        """
        self._end()
        last = max(0, self._next - 1)
        return self._crew.results[last:]

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self._end()

    def _end(self) -> None:
        if self._open:
            self._stop(self._crew.cancel())
            self._open = False

    def _look(self) -> None:
        """Forget what was taken, and wait until there is more; raise what ended the asking once there is none."""
        crew, seen = self._crew, self._until
        self._next = self._until = 0  # before the list is shortened: a stop in between may only repeat results
        del crew.results[:seen]
        self._done = self._seen
        while True:
            error = crew.error
            if error is not None:
                self._end()
            self._seen = crew.ended  # asked first: what ends now has put its results there before
            self._until = len(crew.results)
            if not self._until:
                self._done = self._seen
            if error is None and self._open:
                self._feed()
            if self._until:
                return
            if error is not None:
                raise error
            if not self._open or self._begun == self._seen:
                raise StopIteration
            crew.turns.get()

    def _feed(self) -> None:
        # Refilling by eighths spares a wake-up of the loop's thread for each job.
        taken = self._begun - self._done
        if self._more and taken <= self._window - max(1, self._window // 8):
            batch = list(islice(self._jobs, self._window - taken))
            self._more = bool(batch)
            self._begun += len(batch)
            self._send(batch)


class BackgroundLoop:
    """An event loop on a daemon thread; started when first used, ended by :meth:`close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether the thread runs."""
        return self._loop is not None

    def call(self, work: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run one coroutine to its end and return what it returns; Ctrl-C and ``timeout`` (seconds) cancel it."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    def stream(self, jobs: Iterable[Job], work: Work[Job, Result], window: int) -> Stream[Job, Result]:
        """Return an iterator over what ``work(job, give)`` gives for every job, in the order it comes.

        ``jobs`` is consumed lazily, in the caller's thread, with at most ``window`` jobs whose results are not all
        taken: three quarters under way, and the next at hand. The first exception that ``work`` raises cancels what is
        open; it is raised here after every result that had come by then. Closing the iterator, or an exception in the
        caller, cancels what is open: see :meth:`Stream.close`.
        """
        loop = self._running()
        crew = _Crew(work, window - window // 4)
        return Stream(crew, jobs, window, lambda batch: loop.call_soon_threadsafe(crew.add, batch), self._finish)

    def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run one coroutine to its end, unless the loop is closed or too busy."""
        loop = self._loop
        if loop is None or loop.is_closed():
            work.close()
            return
        ending = asyncio.run_coroutine_threadsafe(work, loop)
        # An iterator that was forgotten may be collected on any thread, the loop's own too.
        if threading.current_thread() is not self._thread:
            with suppress(TimeoutError, CancelledError):
                ending.result(PATIENCE)

    def close(self) -> None:
        """Stop the loop and end its thread; harmless when never started or already closed.

        A thread that hangs in a call is left to itself after ``PATIENCE`` seconds; it does not keep Python from ending.
        """
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        atexit.unregister(self.close)
        if loop is not None and thread is not None:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(_cancel(None), loop).result(PATIENCE)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            if not thread.is_alive():
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
