"""What came is kept, whatever ends the asking: Ctrl-C, an error that every request would meet, a closed iterator."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from served_tools import ask

from kapwa.errors import ModelError
from kapwa.models.background import BackgroundLoop, Give, Stream
from kapwa.models.base import Model
from kapwa.records import Request, Response
from kapwa.runs.execute import Committer, Execution
from kapwa.runs.progress import Meter
from kapwa.runs.store import AnswerStore

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
CONCURRENCY = 64
RUN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import kapwa
from kapwa.errors import ModelError
from serving import Asking, connected
url, folder, seconds = sys.argv[1:]
model = connected(url, 64)
paused = []
def pause(seen):
    if seen.asked and not paused:
        paused.append(True)
        print("pausing", flush=True)
        time.sleep(float(seconds))
try:
    kapwa.evaluate(Asking(20_000), model, path=folder, progress=pause)
except (KeyboardInterrupt, ModelError) as stop:
    print(type(stop).__name__, stop)
finally:
    model.close()
"""


def started(url: str, folder: Path, pause: float) -> subprocess.Popen[str]:
    """Begin a run that stops taking answers, for ``pause`` seconds, when it has the first."""
    command = [sys.executable, "-c", RUN, url, str(folder), str(pause)]
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    return subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)


def kept_in(folder: Path) -> int:
    journal = AnswerStore(folder / "journal.sqlite", mode="read")
    try:
        return journal.counts().answered
    finally:
        journal.close()


def given(server) -> int:
    """How many answers the server has sent with status 200."""
    asked = (entry for entry in server.arrivals() if entry["path"] == "/v1/chat/completions")
    return sum("done" in entry and entry["fault"] is None for entry in asked)


def test_ctrl_c_keeps_every_answer_that_came(stub, tmp_path):
    server = stub(delay=0.05)
    process = started(server.url, tmp_path / "run", 3600)
    assert process.stdout.readline() == "pausing\n"
    still = before = 0
    while still < 5:  # until all that may be begun is answered
        assert process.poll() is None, process.communicate()
        time.sleep(0.3)
        asked = len(server.arrivals())
        still = still + 1 if 4 * CONCURRENCY <= asked == before == given(server) else 0
        before = asked
    process.send_signal(2)
    said, errors = process.communicate(timeout=300)
    assert said.startswith("RunInterrupted"), errors
    assert kept_in(tmp_path / "run") == given(server) >= before


def test_ctrl_c_amid_open_calls_keeps_all_but_these(stub, tmp_path):
    server = stub(delay=0.05)
    process = started(server.url, tmp_path / "run", 0)
    while given(server) < 1000:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(2)
    said, errors = process.communicate(timeout=300)
    assert "RunInterrupted" in said, errors
    assert given(server) - CONCURRENCY <= kept_in(tmp_path / "run") <= given(server)


def test_an_error_that_ends_the_asking_comes_after_every_answer_that_came(stub, tmp_path):
    server = stub(delay=0.05, always={'item 200"': 401})
    process = started(server.url, tmp_path / "run", 2)
    said, errors = process.communicate(timeout=300)
    assert "ModelError" in said, errors
    assert "401" in said
    assert 100 < given(server) - CONCURRENCY <= kept_in(tmp_path / "run") <= given(server)


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    async def nothing() -> None:
        pass

    made = BackgroundLoop(nothing)
    yield made
    made.close()


def test_results_of_the_turn_in_which_an_error_came_come_first(loop):
    ready = asyncio.Event()

    async def work(job: int, give: Give[int]) -> None:
        if job == 5:
            ready.set()
        await ready.wait()
        if job == 2:
            raise LookupError("third")
        give([job])

    stream = Stream(loop, range(6), work, 6, 6)
    came = [next(stream) for _ in range(5)]
    with pytest.raises(LookupError, match="third"):
        next(stream)
    assert sorted(came) == [0, 1, 3, 4, 5]


def test_after_closing_comes_what_came(loop):
    async def work(job: int, give: Give[int]) -> None:
        give([job])  # a part of what is asked for; the rest never comes
        await asyncio.sleep(0 if job < 4 else 3600)
        give([job + 100])

    stream = Stream(loop, range(8), work, 8, 16)
    taken = [next(stream), next(stream)]
    while len(came := list(stream._results)) < 11:
        time.sleep(0.01)
    stream.close()
    stream.close()
    assert list(stream) == came
    assert [one for one in taken if one in came] == taken[1:]  # the last one may not have been kept yet
    assert list(stream) == []


@pytest.mark.parametrize("added", [False, True], ids=["before it is kept", "after"])
def test_ctrl_c_as_an_answer_is_handed_over_loses_nothing(loop, added, tmp_path, monkeypatch):
    class Slow(Model):
        id = "slow"
        fingerprint: ClassVar = {}

        def generate(self, batch):
            return Stream(loop, batch, self.answer, 4, 8)

        async def answer(self, request: Request, give: Give[Response]) -> None:
            give([Response(request.key, text="yes")])
            if int(request.key, 16) == 3:
                done.set()

    def struck(committer: Committer, response: Response) -> None:
        monkeypatch.setattr(Committer, "add", add)
        done.wait(10)
        if added:
            add(committer, response)
        raise KeyboardInterrupt

    done, add = threading.Event(), Committer.add
    monkeypatch.setattr(Committer, "add", struck)
    store = AnswerStore(tmp_path / "journal.sqlite")
    execution = Execution(Slow(), store, Meter(lambda _: None, "slow", 4))
    with pytest.raises(KeyboardInterrupt):
        execution.execute("generate", [replace(ask(i), key=f"{i:032x}") for i in range(4)])
    assert store.counts().answered == 4


def test_work_that_raises_a_cancellation_ends_the_stream_with_an_error(loop):
    """Some libraries raise CancelledError when a connection breaks; nobody here has cancelled anything."""

    async def work(job: int, give: Give[int]) -> None:
        if job == 2:
            raise asyncio.CancelledError
        give([job])

    came: list[int] = []
    failed: list[BaseException] = []

    def take() -> None:
        try:
            came.extend(Stream(loop, range(5), work, 1, 8))
        except ModelError as error:
            failed.append(error)

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    taking.join(10)
    assert not taking.is_alive(), "the stream hangs"
    assert "it had not been cancelled" in str(failed)


def test_a_call_that_hangs_does_not_make_closing_wait(loop, monkeypatch):
    monkeypatch.setattr("kapwa.models.background.PATIENCE", 0.5)
    taken, hangs, closed = threading.Event(), threading.Event(), threading.Event()
    waited: list[bool] = []

    async def work(job: int, give: Give[int]) -> None:
        give([job])
        if job == 3:
            while not taken.is_set():  # what was given is handed over meanwhile
                await asyncio.sleep(0.01)
            hangs.set()
            waited.append(closed.wait(120))

    stream = Stream(loop, range(4), work, 4, 8)
    next(stream)
    taken.set()
    hangs.wait()
    stream.close()
    assert waited == []  # the call hangs still
    closed.set()
    assert list(stream) == [0, 1, 2, 3]  # the one that was taken comes again
    assert loop.call(asyncio.sleep(0, "after"), 20.0) == "after"


@pytest.mark.parametrize(("workers", "window"), [(1, 1), (3, 4), (8, 64)])
def test_every_job_is_done_once_whatever_the_window(loop, workers, window):
    open_now = most = 0

    async def work(job: int, give: Give[int]) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.001 * (job % 3))
        open_now -= 1
        give([job] * (job % 3))  # none, one or two results

    found = list(Stream(loop, iter(range(200)), work, workers, window))
    assert sorted(found) == sorted(job for job in range(200) for _ in range(job % 3))
    assert most <= workers
