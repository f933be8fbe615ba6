"""What came is kept, whatever ends the asking: Ctrl-C, an error that every request would meet, a closed iterator."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kapwa.models.served_loop import PATIENCE, BackgroundLoop, Give
from kapwa.runs.journal import Journal

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
    journal = Journal.reading(folder / "journal.sqlite")
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
    before = -1
    while before < (before := given(server)) or before < 4 * CONCURRENCY:  # until all that may be begun is answered
        assert process.poll() is None, process.communicate()
        time.sleep(0.3)
    process.send_signal(2)
    said, errors = process.communicate(timeout=60)
    assert said.startswith("RunInterrupted"), errors
    assert kept_in(tmp_path / "run") == given(server) >= before


def test_ctrl_c_amid_open_calls_keeps_all_but_these(stub, tmp_path):
    server = stub(delay=0.05)
    process = started(server.url, tmp_path / "run", 0)
    while given(server) < 1000:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(2)
    said, errors = process.communicate(timeout=60)
    assert "RunInterrupted" in said, errors
    assert given(server) - CONCURRENCY <= kept_in(tmp_path / "run") <= given(server)


def test_an_error_that_ends_the_asking_comes_after_every_answer_that_came(stub, tmp_path):
    server = stub(delay=0.05, always={'item 200"': 401})
    process = started(server.url, tmp_path / "run", 2)
    said, errors = process.communicate(timeout=60)
    assert "ModelError" in said, errors
    assert "401" in said
    assert 100 < given(server) - CONCURRENCY <= kept_in(tmp_path / "run") <= given(server)


def test_results_of_the_turn_in_which_an_error_came_come_first():
    loop = BackgroundLoop()
    ready = asyncio.Event()

    async def work(job: int, give: Give[int]) -> None:
        if job == 5:
            ready.set()
        await ready.wait()
        if job == 2:
            raise LookupError("third")
        give([job])

    stream = loop.stream(range(6), work, 9)
    came = [next(stream) for _ in range(5)]
    with pytest.raises(LookupError, match="third"):
        next(stream)
    loop.close()
    assert sorted(came) == [0, 1, 3, 4, 5]


def test_closing_returns_what_came_and_the_result_that_was_handed_out_last():
    loop = BackgroundLoop()

    async def work(job: int, give: Give[int]) -> None:
        give([job])  # a part of what is asked for; the rest never comes
        await asyncio.sleep(0 if job < 4 else 3600)
        give([job + 100])

    stream = loop.stream(range(8), work, 16)
    taken = {next(stream)}
    while len(loop_seen := set(stream._crew.results)) < 12:
        time.sleep(0.01)
    last = max(taken)
    rest = stream.close()
    assert taken | set(rest) == loop_seen
    assert last in rest
    assert stream.close() == rest
    loop.close()


def test_a_call_that_hangs_does_not_make_closing_wait():
    loop = BackgroundLoop()

    async def work(job: int, give: Give[int]) -> None:
        give([job])
        if job == 3:
            time.sleep(4 * PATIENCE)

    stream = loop.stream(range(4), work, 8)
    next(stream)
    began = time.monotonic()
    rest = stream.close()
    assert time.monotonic() - began < 2 * PATIENCE  # bounded, not fast
    assert rest == [0, 1, 2, 3]
    assert loop.call(asyncio.sleep(0, "after"), 10 * PATIENCE) == "after"
    loop.close()
