"""Processes over inputs: results, back-pressure, errors as themselves, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from kapwa.analysis.pool import run_all
from kapwa.errors import DataError, MissingDependencyError, RunError

sys.path.insert(0, str(Path(__file__).parent))
import pool_work


@pytest.mark.parametrize("workers", [1, 2])
def test_every_input_is_worked_on_once(workers: int) -> None:
    assert sorted(run_all(pool_work.square, range(20), workers=workers)) == [n * n for n in range(20)]


def test_workers_compute_with_one_thread_and_the_parent_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    assert set(run_all(pool_work.threads, range(3), workers=2)) == {("1", "1", "1")}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_inputs_are_read_only_a_few_ahead() -> None:
    read: list[int] = []

    def inputs() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = run_all(pool_work.square, inputs(), workers=2)
    for _ in range(5):
        next(results)
    assert len(read) < 20
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_may_bring_more_to_do(workers: int) -> None:
    waiting = deque([2, 3])

    class Growing:
        def __iter__(self) -> Growing:
            return self

        def __next__(self) -> int:
            if not waiting:
                raise StopIteration
            return waiting.popleft()

    found = []
    for result in run_all(pool_work.square, Growing(), workers=workers):
        found.append(result)
        if result < 100:
            waiting.append(result)
    assert sorted(found) == [4, 9, 16, 81, 256, 6561]


@pytest.mark.parametrize("workers", [1, 2])
def test_our_errors_come_back_as_themselves(workers: int) -> None:
    with pytest.raises(DataError, match=r"file.csv, row 4: is odd") as caught:
        list(run_all(pool_work.picky, [1, 2, 3], workers=workers))
    assert caught.value.hint == "Even it out."
    with pytest.raises(MissingDependencyError, match="which is not installed") as missing:
        list(run_all(pool_work.picky, [5], workers=workers))
    assert "pip install" in str(missing.value)


@pytest.mark.parametrize("workers", [1, 2])
def test_other_errors_are_not_swallowed(workers: int) -> None:
    with pytest.raises(ZeroDivisionError, match="number 4"):
        list(run_all(pool_work.broken, [4], workers=workers))


def test_a_worker_that_dies_is_told_with_a_remedy() -> None:
    with pytest.raises(RunError, match="ended before its work was done") as caught:
        list(run_all(pool_work.dies, [3], workers=2))
    assert "memory" in str(caught.value)


_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
import pool_work
from kapwa.analysis.pool import run_all
if __name__ == "__main__":
    try:
        list(run_all(pool_work.slow, [{marks!r}] * 4, workers=2))
    except KeyboardInterrupt:
        sys.exit(130)
"""


_UNGUARDED = """
import sys
sys.path.insert(0, {folder!r})
import pool_work
from kapwa.analysis.pool import run_all
print(sorted(run_all(pool_work.square, range(4), workers=2)), __file__ == sys.argv[0], __spec__)
"""


def test_a_script_without_a_guard_is_not_run_again_by_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_UNGUARDED.format(folder=str(Path(__file__).parent)), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 4, 9] True None\n"), done.stderr


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_leave_with_their_parent(ending: signal.Signals, code: int, tmp_path: Path) -> None:
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(_SCRIPT.format(folder=str(Path(__file__).parent), marks=str(marks)), encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)
    _wait(lambda: len(list(marks.iterdir())) == 2)
    process.send_signal(ending)
    assert process.wait(timeout=30) == code
    workers = [int(mark.name) for mark in marks.iterdir()]
    _wait(lambda: not any(_alive(pid) for pid in workers))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"


def _wait(done: object) -> None:
    limit = time.monotonic() + 30
    while not done():  # type: ignore[operator]
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.05)


def test_workers_that_cannot_start_are_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("kapwa.analysis.pool.ProcessPoolExecutor.submit", refuse)
    with pytest.raises(RunError, match="cannot be started"):
        list(run_all(pool_work.square, range(3), workers=2))
