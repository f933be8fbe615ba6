"""Processes of this machine and Ray tasks: the same results, errors as themselves, and nobody left behind."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from kapwa.errors import DataError, MissingDependencyError, RunError
from kapwa.parallel import ray_cluster
from kapwa.parallel.base import Executor, Ray
from kapwa.parallel.local import LocalExecutor
from kapwa.parallel.ray_cluster import RayExecutor

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]
import executor_work as work  # noqa: E402
from three_nodes import Nodes, three_nodes  # noqa: E402


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))  # nodes find the work of these tests as they find an installed Kapwa
        with three_nodes() as found:
            yield found


@pytest.fixture(scope="module")
def on_ray(nodes: Nodes) -> Iterator[RayExecutor]:
    with RayExecutor(Ray(nodes.address)) as executor:
        yield executor


@pytest.fixture(params=["one process", "two processes", pytest.param("ray", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "ray":
        found: Executor = request.getfixturevalue("on_ray")
        return found
    return LocalExecutor(1 if request.param == "one process" else 2)


def test_every_task_is_done_once(executor: Executor) -> None:
    assert sorted(executor.map(work.square, range(30))) == [n * n for n in range(30)]
    assert list(executor.map(work.square, [])) == []


def test_results_may_bring_more_to_do(executor: Executor) -> None:
    waiting = deque([2, 3])

    class Growing:
        def __iter__(self) -> "Growing":
            return self

        def __next__(self) -> int:
            if not waiting:
                raise StopIteration
            return waiting.popleft()

    found = []
    for result in executor.map(work.square, Growing()):
        found.append(result)
        if result < 100:
            waiting.append(result)
    assert sorted(found) == [4, 9, 16, 81, 256, 6561]


def test_tasks_are_read_only_a_few_ahead(executor: Executor) -> None:
    read: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = executor.map(work.square, tasks())
    for done in range(1, 20):
        next(results)
        assert len(read) <= done + 2 * 3  # two for each of three processors
    results.close()  # type: ignore[attr-defined]


def test_errors_come_back_as_themselves(executor: Executor) -> None:
    with pytest.raises(DataError, match=r"file.csv, row 4: is odd") as caught:
        list(executor.map(work.picky, [1, 2, 3]))
    assert caught.value.hint == "Even it out."
    with pytest.raises(MissingDependencyError, match="which is not installed") as missing:
        list(executor.map(work.picky, [5]))
    assert "pip install" in str(missing.value)
    with pytest.raises(ZeroDivisionError, match="number 4"):
        list(executor.map(work.broken, [4]))

    def tasks() -> Iterator[int]:
        yield 1
        raise DataError("changed.", path="texts.csv")

    with pytest.raises(DataError, match=r"texts\.csv: changed"):
        list(executor.map(work.square, tasks()))


@pytest.mark.slow
def test_tasks_compute_with_one_thread_and_the_parent_keeps_its_own(
    on_ray: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    for executor in (LocalExecutor(2), on_ray):
        assert set(executor.map(work.threads, range(3))) == {("1", "1", "1")}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_a_process_that_dies_or_cannot_start_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match=r"ended before its work was done[^$]*memory"):
        list(LocalExecutor(2).map(work.dies, [3]))

    def refuse(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("kapwa.parallel.local.ProcessPoolExecutor.submit", refuse)
    with pytest.raises(RunError, match="cannot be started"):
        list(LocalExecutor(2).map(work.square, range(3)))


@pytest.mark.slow
def test_the_number_of_tasks_at_a_time_can_be_limited(nodes: Nodes, on_ray: RayExecutor, tmp_path: Path) -> None:
    with RayExecutor(Ray(nodes.address), tasks_at_once=1) as executor:
        list(executor.map(work.waits, [(str(tmp_path), n) for n in range(4)]))
    starts = sorted(mark.stat().st_mtime for mark in tmp_path.iterdir())
    assert len(starts) == 4
    assert all(later - earlier > 0.25 for earlier, later in pairwise(starts))


@pytest.mark.slow
def test_another_kapwa_on_a_node_is_refused(on_ray: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "version", lambda _name: "99.0")
    with pytest.raises(RunError, match=r"machine of the Ray cluster has kapwa .*, this process 99\.0") as caught:
        list(on_ray.map(work.square, [1]))
    assert caught.value.hint == "Install kapwa==99.0 on every machine."


@pytest.mark.slow
def test_what_a_node_cannot_import_is_named(
    on_ray: RayExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def work(task):\n    return task\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(RunError, match="has no module 'only_here'") as caught:
        list(on_ray.map(only_here.work, [1]))
    assert "on every machine" in str(caught.value.hint)


@pytest.mark.slow
def test_a_task_whose_worker_dies_is_done_again(
    on_ray: RayExecutor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert sorted(on_ray.map(work.dies_once, [(str(tmp_path), n) for n in range(6)])) == list(range(6))
    assert "lost its worker (WorkerCrashedError); attempt 2 of 4" in caplog.text


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_named(on_ray: RayExecutor) -> None:
    with pytest.raises(RunError, match=r"^3 lost its worker 4 times, last by WorkerCrashedError") as caught:
        list(on_ray.map(work.dies_at_three, range(5)))
    assert "memory" in str(caught.value.hint)
    assert sorted(on_ray.map(work.square, range(3))) == [0, 1, 4]  # the cluster is as good as before


@pytest.mark.slow
def test_results_that_lay_on_a_lost_node_are_computed_again(on_ray: RayExecutor, nodes: Nodes) -> None:
    results, found = on_ray.map(work.heavy, range(30)), []
    for result in results:
        found.append(result[0])
        if len(found) == 4:
            time.sleep(0.5)  # all that are in flight are done by now, and lie where they were computed
            nodes.lose_node()
    nodes.add_node()
    assert sorted(found) == list(range(30))


_INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import executor_work
from kapwa.parallel.base import Ray
from kapwa.parallel.local import open_executor
if __name__ == "__main__":
    try:
        with open_executor({engine}, processes=2) as executor:
            list(executor.map(executor_work.slow, [{marks!r}] * 4))
    except KeyboardInterrupt:
        sys.exit(130)
"""
_DYING = """
import time
import executor_work
from kapwa.parallel.base import Ray
from kapwa.parallel.local import open_executor
with open_executor({engine}, processes=2) as executor:
    found = sorted(executor.map(executor_work.dies_once, [({folder!r}, n) for n in (1, 2, 3)]))
    time.sleep(2)  # Ray tells of the dead worker some time later
print(found)
"""
_UNGUARDED = """
import sys
import executor_work
from kapwa.parallel.local import LocalExecutor
print(sorted(LocalExecutor(2).map(executor_work.square, range(4))), __file__ == sys.argv[0], __spec__)
"""


def start(script: Path, code: str) -> subprocess.Popen[str]:
    script.write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_ray_writes_nothing_to_standard_output(nodes: Nodes, tmp_path: Path) -> None:
    with start(tmp_path / "script.py", _DYING.format(engine=Ray(nodes.address), folder=str(tmp_path))) as process:
        said, _ = process.communicate(timeout=300)
    assert (process.returncode, said) == (0, "[1, 2, 3]\n")


def test_a_script_without_a_guard_is_not_run_again_by_the_workers(tmp_path: Path) -> None:
    with start(tmp_path / "script.py", _UNGUARDED) as process:
        said, _ = process.communicate(timeout=300)
    assert (process.returncode, said) == (0, "[0, 1, 4, 9] True None\n")


@pytest.mark.parametrize(
    ("on", "ending", "code"),
    [
        ("local", signal.SIGINT, 130),
        ("local", signal.SIGKILL, -signal.SIGKILL),
        pytest.param("ray", signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_workers_leave_with_their_parent(
    on: str, ending: signal.Signals, code: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    engine = None if on == "local" else Ray(request.getfixturevalue("nodes").address)
    marks = tmp_path / "marks"
    marks.mkdir()
    with start(tmp_path / "script.py", _INTERRUPTED.format(engine=engine, marks=str(marks))) as process:
        _until(lambda: len(list(marks.iterdir())) >= 2)
        process.send_signal(ending)
        assert process.wait(timeout=300) == code
    _until(lambda: not any(_alive(int(mark.name)) for mark in marks.iterdir()))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true: Callable[[], Any], patience: float = 300.0) -> None:
    limit = time.monotonic() + patience
    while not true():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.05)
