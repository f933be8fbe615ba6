"""Ray tasks over inputs: results, back-pressure, errors as themselves, and workers and nodes that die."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from kapwa.engines import ray_tasks
from kapwa.engines.ray_cluster import Cluster, connected
from kapwa.engines.settings import Ray
from kapwa.errors import DataError, MissingDependencyError, RunError

WORK = Path(__file__).parents[1] / "analysis"
sys.path[:0] = [str(Path(__file__).parent), str(WORK)]
import pool_work  # noqa: E402
from three_nodes import Nodes, three_nodes  # noqa: E402

Run = Callable[..., Iterator[Any]]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(WORK))  # nodes find the work of these tests as they find an installed Kapwa
        with three_nodes() as found:
            yield found


@pytest.fixture(scope="module")
def cluster(nodes: Nodes) -> Iterator[Cluster]:
    with connected(Ray(address=nodes.address)) as found:
        yield found


@pytest.fixture
def run(cluster: Cluster) -> Run:
    def run(work: Callable[[Any], Any], tasks: Any, most: int | None = None) -> Iterator[Any]:
        return ray_tasks.run_tasks(work, tasks, cluster=cluster, name=lambda task: f"Task {task}", most=most)

    return run


def test_every_task_is_done_once_on_the_nodes(run: Run) -> None:
    assert sorted(run(pool_work.square, range(40))) == [n * n for n in range(40)]
    assert list(run(pool_work.square, [])) == []


def test_tasks_compute_with_one_thread(run: Run) -> None:
    assert set(run(pool_work.threads, range(3))) == {("1", "1", "1")}


def test_tasks_are_read_only_a_few_ahead(run: Run) -> None:
    read: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = run(pool_work.square, tasks())
    for done in range(1, 30):
        next(results)
        assert len(read) <= done + 2 * 3  # two for each of three processors
    results.close()  # type: ignore[attr-defined]


def test_the_number_of_tasks_at_a_time_can_be_told(run: Run, tmp_path: Path) -> None:
    list(run(pool_work.waits, [(str(tmp_path), n) for n in range(4)], most=1))
    starts = sorted(mark.stat().st_mtime for mark in tmp_path.iterdir())
    assert len(starts) == 4
    assert all(later - earlier > 0.25 for earlier, later in pairwise(starts))


def test_our_errors_come_back_as_themselves(run: Run) -> None:
    with pytest.raises(DataError, match=r"file.csv, row 4: is odd") as caught:
        list(run(pool_work.picky, [1, 2, 3]))
    assert caught.value.hint == "Even it out."
    with pytest.raises(MissingDependencyError, match="which is not installed"):
        list(run(pool_work.picky, [5]))
    with pytest.raises(ZeroDivisionError, match="number 4"):
        list(run(pool_work.broken, [4]))


def test_an_error_of_the_producer_ends_it(run: Run) -> None:
    def tasks() -> Iterator[int]:
        yield 1
        raise DataError("changed.", path="texts.csv")

    with pytest.raises(DataError, match=r"texts\.csv: changed"):
        list(run(pool_work.square, tasks()))


def test_another_kapwa_on_a_node_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_tasks, "version", lambda _name: "99.0")
    with pytest.raises(RunError, match=r"node of the Ray cluster has kapwa .*, this process 99\.0") as caught:
        list(run(pool_work.square, [1]))
    assert caught.value.hint == "Install kapwa==99.0 on every node."


def test_what_a_node_cannot_import_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_here.py").write_text("def work(task):\n    return task\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(RunError, match="has no module 'only_here'") as caught:
        list(run(only_here.work, [1]))
    assert "on every node" in str(caught.value.hint)


def test_a_task_whose_worker_dies_is_done_again(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert sorted(run(pool_work.dies_once, [(str(tmp_path), n) for n in range(6)])) == list(range(6))
    assert "lost its worker (WorkerCrashedError); attempt 2 of 4" in caplog.text


def test_a_task_that_kills_every_worker_is_named(run: Run) -> None:
    done = []
    with pytest.raises(RunError, match="Task 3 lost its worker 4 times, last by WorkerCrashedError") as caught:
        done += run(pool_work.dies_at_three, range(5))
    assert "memory" in str(caught.value.hint)
    assert sorted(run(pool_work.square, range(3))) == [0, 1, 4]  # the cluster is as good as before


def test_results_that_lay_on_a_lost_node_are_computed_again(run: Run, nodes: Nodes) -> None:
    results, found = run(pool_work.heavy, range(30)), []
    for result in results:
        found.append(result[0])
        if len(found) == 4:
            time.sleep(0.5)  # all that are in flight are done by now, and lie where they were computed
            nodes.lose_node()
    nodes.add_node()
    assert sorted(found) == list(range(30))


_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pool_work
from kapwa.engines.ray_cluster import connected
from kapwa.engines.ray_tasks import run_tasks
from kapwa.engines.settings import Ray
try:
    with connected(Ray(address={address!r})) as cluster:
        list(run_tasks(pool_work.slow, [{marks!r}] * 9, cluster=cluster, name=str))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_stops_the_tasks_on_the_nodes_at_once(nodes: Nodes, tmp_path: Path) -> None:
    script = _SCRIPT.format(address=nodes.address, marks=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(WORK)}
    with subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE) as process:
        _until(lambda: any(tmp_path.iterdir()))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said.decode()
    _until(lambda: not any(_alive(int(mark.name)) for mark in tmp_path.iterdir()))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true: Callable[[], bool], patience: float = 120.0) -> None:
    limit = time.monotonic() + patience
    while not true():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.05)
