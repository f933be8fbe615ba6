"""The adaptive limit, the waits, and the loop that carries jobs between threads."""

from __future__ import annotations

import asyncio
import email.utils
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.models.served_limit import AdaptiveLimit, Retry, retry_after
from kapwa.models.served_loop import BackgroundLoop, Give, _Crew


def test_a_date_beyond_every_calendar_is_none():
    assert retry_after({"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}) is None


def answered(limit: AdaptiveLimit, busy: bool | None, times: int) -> None:
    """Let calls end one after another."""

    async def run() -> None:
        for _ in range(times):
            limit.release(await limit.acquire(), busy)

    asyncio.run(run())


def test_the_limit_doubles_a_round_trip_until_it_has_its_most():
    limit = AdaptiveLimit(100)
    assert limit.limit == 16
    answered(limit, False, 16)
    assert limit.limit == 32
    answered(limit, None, 50)  # a failure that tells nothing of load
    assert limit.limit == 32
    answered(limit, False, 1000)
    assert limit.limit == 100


def test_after_a_congestion_the_limit_grows_by_a_sixteenth_a_round_trip():
    limit = AdaptiveLimit(512)
    answered(limit, True, 3)
    assert limit.limit < 16
    answered(limit, False, 64)  # the calls by which it is judged: they show that less is better
    begun = limit.limit
    assert begun < 16
    answered(limit, False, 16)
    assert limit.limit == pytest.approx(begun + 16 / min(16, begun), rel=0.1)


@given(st.integers(1, 40), st.lists(st.sampled_from(["ok", "busy", "neither", "cancel"]), max_size=120))
def test_places_are_never_lost_and_never_more_than_the_most(most, events):
    limit = AdaptiveLimit(most)
    seen = []

    async def one(event: str) -> None:
        place = await limit.acquire()
        busy = {"ok": False, "busy": True}.get(event)
        try:
            seen.append(limit.active)
            await asyncio.sleep(0)
        finally:
            limit.release(place, busy)

    async def run() -> None:
        tasks = [asyncio.ensure_future(one(event)) for event in events]
        await asyncio.sleep(0)
        for task, event in zip(tasks, events, strict=True):
            if event == "cancel":
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert limit.active == 0
    assert max(seen, default=0) <= most
    assert 1 <= limit.limit <= most


def test_a_place_is_given_back_when_a_call_is_cancelled_while_the_server_wants_quiet():
    limit = AdaptiveLimit(4)

    async def run() -> None:
        limit.pause(60)
        waiting = asyncio.ensure_future(limit.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(run())
    assert limit.active == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "150", "retry-after": "9"}, 0.15),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_every_form(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_date_without_the_servers_clock_is_read_against_ours():
    later = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 57 < retry_after({"retry-after": later}) <= 60


@given(st.integers(1, 10_000))
def test_waits_grow_to_a_ceiling_and_keep_half_of_it(attempt):
    wait = Retry(backoff=0.5, longest=30).wait(attempt)
    ceiling = min(30, 0.5 * 2 ** min(attempt - 1, 10))
    assert ceiling / 2 <= wait <= ceiling


@given(st.integers(0, 60), st.integers(1, 9))
def test_a_stream_gives_every_result_once_and_holds_no_more_than_its_window(n, window):
    loop = BackgroundLoop()
    open_now = most = 0

    async def work(job: int, give: Give[int]) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        give([job])
        give([-job])

    results = list(loop.stream(iter(range(n)), work, window))
    loop.close()
    assert sorted(results) == sorted([*range(n), *(-i for i in range(n))])
    assert most <= window


async def _doubled(job: int, give: Give[int]) -> None:
    await asyncio.sleep(0.001)
    give([2 * job])


def test_a_forgotten_stream_does_not_keep_python_from_ending():
    program = """
import asyncio
from kapwa.models.served_loop import BackgroundLoop
async def work(job, give):
    await asyncio.sleep(0.01)
    give([job])
loop = BackgroundLoop()
stream = loop.stream(range(1000), work, 8)
print(next(stream))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)


def test_a_forgotten_stream_may_be_collected_on_the_loops_own_thread():
    loop = BackgroundLoop()
    stream = loop.stream(range(1000), _doubled, 8)
    next(stream)

    async def collect() -> None:
        stream.close()

    collecting = threading.Thread(target=lambda: loop.call(collect()), daemon=True)
    collecting.start()
    collecting.join(30)
    assert not collecting.is_alive()
    assert sorted(loop.stream(range(3), _doubled, 2)) == [0, 2, 4]
    loop.close()


def test_an_error_comes_after_the_results_before_it_and_cancels_the_rest():
    loop = BackgroundLoop()
    cancelled = []

    async def work(job: int, give: Give[int]) -> None:
        try:
            await asyncio.sleep(0.01 * job if job < 3 else 60)
        except asyncio.CancelledError:
            cancelled.append(job)
            raise
        if job == 2:
            raise LookupError("third")
        give([job])

    stream = loop.stream(range(6), work, 6)
    assert [next(stream), next(stream)] == [0, 1]
    began = time.monotonic()
    with pytest.raises(LookupError, match="third"):
        next(stream)
    assert time.monotonic() - began < 5
    assert sorted(cancelled) == [3, 4, 5]
    loop.close()
    loop.close()


def test_after_an_error_no_further_job_is_begun():
    """A key that was refused is not shown again."""
    loop = BackgroundLoop()
    begun = []

    async def work(job: int, give: Give[int]) -> None:
        begun.append(job)
        raise LookupError("no such key")

    with pytest.raises(LookupError):
        next(loop.stream(range(100), work, 8))
    loop.close()
    assert begun == [0]


def test_a_few_workers_do_all_jobs_and_come_back_when_there_are_more():
    workers = set()

    async def work(job: int, give: Give[int]) -> None:
        workers.add(asyncio.current_task())
        await asyncio.sleep(0)
        give([job])

    async def use() -> None:
        crew = _Crew(work, 3)
        for jobs in (range(10), range(10, 20)):
            workers.clear()
            crew.add(jobs)
            done = []
            while len(done) < 10:
                await asyncio.sleep(0)
                done, crew.results = done + crew.results, []
            assert sorted(done) == list(jobs)
            assert len(workers) == 3

    asyncio.run(use())
