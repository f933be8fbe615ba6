"""Run many asynchronous calls on a background thread, and hand their results to ordinary code as they come."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, TypeVar

from kapwa.errors import ModelError

Job = TypeVar("Job")
Result = TypeVar("Result")
Give = Callable[[Sequence[Result]], None]
Work = Callable[[Job, Give[Result]], Coroutine[Any, Any, None]]

PATIENCE = 2.0  # seconds to wait for calls that were cancelled, and for connections that are closed


class BackgroundLoop:
    """An event loop on a daemon thread. It starts when first used; :meth:`close` ends it.

    ``at_end``: makes a coroutine that is run before the loop ends, for example to close connections.
    """

    def __init__(self, at_end: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self._at_end = at_end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether the thread runs."""
        return self._loop is not None

    def call(self, work: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run one coroutine to its end and return what it returns; Ctrl-C and ``timeout`` (seconds) cancel it."""
        future = asyncio.run_coroutine_threadsafe(work, self.running())
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what is open, run ``at_end``, stop the loop; harmless when never started or already closed.

        A thread that hangs in a call is left alone after ``PATIENCE`` seconds; it does not keep Python from ending.
        """
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        atexit.unregister(self.close)
        if loop is None or thread is None:
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(), loop)
        with suppress(Exception, CancelledError):  # what goes wrong while closing spoils no run that is done
            ending.result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        if not thread.is_alive():
            loop.close()

    async def _end(self) -> None:
        await cancel(asyncio.all_tasks())
        await self._at_end()

    def running(self) -> asyncio.AbstractEventLoop:
        """Return the loop, started if need be."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="kapwa-served", daemon=True)
            self._thread.start()
            atexit.register(self.close)  # for models that nobody closed
        return self._loop


class Stream(Generic[Job, Result]):
    """An iterator over what ``work(job, give)`` gives for all ``jobs``, in the order it comes.

    At most ``workers`` jobs are worked on at once. ``jobs`` is read lazily, in the caller's thread: never more than
    ``window`` jobs are held whose results were not taken. The first exception that the work raises ends the stream: it
    is raised after the results that had come by then. After :meth:`close` the stream yields what came and was not
    taken, and first the result that was taken last: Ctrl-C may have come before anybody kept it.
    """

    def __init__(
        self, loop: BackgroundLoop, jobs: Iterable[Job], work: Work[Job, Result], workers: int, window: int
    ) -> None:
        self._loop, self._jobs, self._work, self._most, self._window = loop, iter(jobs), work, workers, window
        self._results: deque[Result] = deque()  # the loop's thread appends, the caller's thread takes
        self._waiting: deque[Job] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._more, self._closed = True, False
        self._lent = False  # whether the first result is out of hand: it stays until the next is asked for
        self._begun = self._ended = 0  # jobs; a job has ended after its results are there
        self._error: BaseException | None = None
        # The caller is woken once for all results of a turn of the loop: once for each would cost more than the rest.
        self._news = threading.Event()
        self._waking = False

    def __iter__(self) -> Iterator[Result]:
        """Return the stream itself."""
        return self

    def __next__(self) -> Result:
        """Wait for the next result; raise what ended the work, or StopIteration after the last one."""
        if self._lent and not self._closed:
            self._lent = False
            self._results.popleft()
        while True:
            self._news.clear()
            over = self._closed or (self._ended == self._begun and not self._feed())
            if self._results:
                self._feed()
                if self._closed:
                    return self._results.popleft()
                self._lent = True
                return self._results[0]
            if self._error is not None and not self._closed:
                self.close()
                raise self._error
            if over:
                raise StopIteration
            self._feed()
            self._news.wait()

    def close(self) -> None:
        """Cancel what is open, and wait for that for at most ``PATIENCE`` seconds."""
        if not self._closed:
            self._closed = True
            if self._loop.started:
                with suppress(TimeoutError, CancelledError):
                    self._loop.call(self._cancel(), PATIENCE)

    def _feed(self) -> bool:
        """Hand jobs to the loop's thread where there is room for them; whether any were handed over."""
        room = self._window - (self._begun - self._ended) - len(self._results)
        # By eighths, so that the loop's thread is not woken for each job.
        if not self._more or self._closed or self._error is not None or room < max(1, self._window // 8):
            return False
        jobs = list(islice(self._jobs, room))
        self._more = len(jobs) == room
        self._begun += len(jobs)
        if jobs:
            self._loop.running().call_soon_threadsafe(self._add, jobs)
        return bool(jobs)

    def _add(self, jobs: Sequence[Job]) -> None:
        self._waiting.extend(jobs)
        for _ in range(min(len(jobs), self._most - len(self._workers))):
            self._workers.add(asyncio.get_running_loop().create_task(self._do_jobs()))

    async def _do_jobs(self) -> None:
        worker = asyncio.current_task()
        try:
            while self._waiting and self._error is None:
                try:
                    await self._work(self._waiting.popleft(), self._give)
                except asyncio.CancelledError:
                    if worker is None or worker.cancelling():  # by us, in close
                        raise
                    self._error = self._error or ModelError(
                        "A call to the model ended as if it had been cancelled, but it had not been cancelled.",
                        hint="If this happens again, report it to the authors of the model's backend.",
                    )
                except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                    self._error = self._error or error
                self._ended += 1
                self._deliver()
        finally:
            # Here and not in a callback, which comes later: jobs added in between would wait for a worker that ended.
            self._workers.discard(worker)

    def _give(self, results: Sequence[Result]) -> None:
        self._results.extend(results)
        self._deliver()

    def _deliver(self) -> None:
        if not self._waking:
            self._waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        self._waking = False
        self._news.set()

    async def _cancel(self) -> None:
        self._waiting.clear()
        await asyncio.sleep(0)  # a worker whose answer is here, and who has not looked yet, does so now
        await cancel(self._workers)


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel ``tasks``, but not the current one, and wait until they have ended."""
    ending = [task for task in tasks if task is not asyncio.current_task()]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
