"""Runs through replicas on a cluster of three nodes: the same tables as here, whatever dies meanwhile."""

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

HERE = Path(__file__).parent
RUNS = HERE.parent / "runs"
sys.path[:0] = [str(HERE), str(RUNS), str(HERE.parent / "models")]
from ray_models import make  # noqa: E402
from test_until import Tasked  # noqa: E402
from three_nodes import Nodes, three_nodes  # noqa: E402
from tiny_suite import TinyTask, run_task  # noqa: E402

import kapwa  # noqa: E402
from kapwa.errors import ModelError  # noqa: E402
from kapwa.parallel import ray_model  # noqa: E402
from kapwa.parallel.base import Ray  # noqa: E402
from kapwa.parallel.ray_model import RayModel  # noqa: E402
from kapwa.runs.asking import RunInterrupted  # noqa: E402
from kapwa.runs.progress import Snapshot  # noqa: E402

pytestmark = pytest.mark.slow
KEY = "sk-canary-0123456789abcdef"
AGAIN = "Run again with the same command to resume."
ONE = {"replicas": 1}
TWO = {"replicas": 2}
TABLES = ("scores.parquet", "estimates.parquet", "comparisons.parquet", "answers.parquet", "items.parquet")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{HERE}:{RUNS}")  # nodes find the tests' models as they find an installed Kapwa
        with three_nodes() as found:
            yield found


Start = Callable[..., RayModel]


@pytest.fixture
def start(nodes: Nodes) -> Iterator[Start]:
    """Load a model of the tests on the cluster; ended with the test."""
    started: list[RayModel] = []

    def start(kind: str = "TinyModel", engine: dict[str, Any] | None = None, **settings: Any) -> RayModel:
        ray = Ray(nodes.address, **{"replicas": 3, "cpus_per_replica": 1, **(engine or {})})
        started.append(RayModel(ray, make, (kind, settings)))
        return started[-1]

    yield start
    for model in started:
        model.close()


def same_tables(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in TABLES)


def answered(run: Path) -> Counter[str]:
    """How often each request was answered, by the record of the journal."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as journal:
        return Counter(key for (key,) in journal.execute("select hex(key) from responses"))


def killing(nodes: Nodes, worker_at: int, node_at: int) -> tuple[list[str], Callable[[Snapshot], None]]:
    """A progress function that kills a worker, then a node, when so many answers are there; and what it killed."""
    deaths: list[str] = []

    def kill(snapshot: Snapshot) -> None:
        if snapshot.done >= worker_at and not deaths:
            deaths.extend(["worker"] * nodes.kill_worker("Replica.answer"))
        if snapshot.done >= node_at and len(deaths) == 1:
            deaths.extend(["node"] * nodes.lose_node_at("Replica.answer"))

    return deaths, kill


@pytest.mark.parametrize("atomic", [True, False])
def test_a_worker_and_then_a_node_die_and_nothing_is_lost_or_told_twice(
    tmp_path: Path, nodes: Nodes, start: Start, atomic: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task = TinyTask(n=60, shared=False, kinds=("score", "generate") if atomic else ("generate",))
    local = run_task(task, make("TinyModel", {"atomic_batches": atomic}), path=tmp_path / "local", progress=False)
    deaths, kill = killing(nodes, 9, 21)
    model = start(atomic_batches=atomic, delay=0.03)
    with caplog.at_level(logging.WARNING):
        run = run_task(task, model, path=tmp_path / "ray", progress=kill)
    nodes.add_node()
    assert len(deaths) == 2
    assert "starts again" in caplog.text
    assert same_tables(run, local)
    wanted = 120 if atomic else 60
    assert sorted(answered(run).values()) == [1] * wanted == sorted(answered(local).values())
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["counts"]["answered"] == wanted
    assert manifest["model"]["fingerprint"] == dict(make("TinyModel", {}).fingerprint)


def test_recorded_answers_are_told_of_as_they_are_here(tmp_path: Path, nodes: Nodes) -> None:
    task = kapwa.load_task("kalahi/open", variant="full", limit=3)
    rows = [{"item_id": item.id, "text": f"Sagot {item.id}"} for item in task.items()]
    table = tmp_path / "answers.jsonl"
    table.write_text("\n".join(json.dumps(row) for row in [*rows, {"item_id": "nobody", "text": "?"}]) + "\n")
    local = kapwa.evaluate(task, kapwa.load_model(f"replay:{table}"), path=tmp_path / "local", progress=False)
    model = kapwa.load_model(f"replay:{table}", engine=Ray(nodes.address))
    try:
        run = kapwa.evaluate(task, model, path=tmp_path / "ray", progress=False)
    finally:
        model.close()
    assert run.manifest["notes"] == local.manifest["notes"] != []
    assert run.manifest["model"]["description"]["engine"]["replicas"] == 1
    for name in local.manifest["tables"]:
        assert (run.path / f"{name}.parquet").read_bytes() == (local.path / f"{name}.parquet").read_bytes(), name


def test_local_weights_answer_as_they_do_here(
    tmp_path: Path, nodes: Nodes, needs_torch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_models import save_model

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    weights = save_model(tmp_path / "tiny", max_position_embeddings=4096)
    task = kapwa.load_task("kalahi/mc", variant="full", limit=2)
    runs = []
    for place, engine in (("local", None), ("ray", Ray(nodes.address, replicas=1, cpus_per_replica=1))):
        model = kapwa.load_model(f"hf:{weights}", engine=engine)
        runs.append(kapwa.evaluate(task, model, path=tmp_path / place, progress=False))
        model.close()
    local, ray = runs
    for name in local.manifest["tables"]:
        assert (ray.path / f"{name}.parquet").read_bytes() == (local.path / f"{name}.parquet").read_bytes(), name
    described = ray.manifest["model"]["description"]
    assert (described["engine"]["replicas"], described["threads"]) == (1, 1)


def test_a_replica_that_is_gone_for_good_is_done_without(
    tmp_path: Path, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    import ray

    task = TinyTask(n=60, shared=False)
    local = run_task(task, make("TinyModel", {"atomic_batches": True}), path=tmp_path / "local", progress=False)
    model = start(engine={"replicas": 2}, atomic_batches=True, delay=0.02)
    ended = []

    def end(snapshot: Snapshot) -> None:
        if snapshot.done >= 9 and not ended:
            ended.append(True)
            ray.kill(model._workers[0].actor)

    with caplog.at_level(logging.WARNING):
        run = run_task(task, model, path=tmp_path / "ray", progress=end)
    assert "is given up" in caplog.text
    assert same_tables(run, local)
    assert sorted(answered(run).values()) == [1] * 60


def test_nobody_is_waited_for_when_nothing_is_left_to_ask(start: Start) -> None:
    import ray

    model = start("TinyModel", ONE, atomic_batches=True)
    worker = model._workers[0]
    model._load(worker)  # as after a death
    ray.kill(worker.actor, no_restart=False)
    assert list(model.run_batches("generate", [])) == []
    assert not model._ready()


def test_a_run_goes_on_where_the_other_engine_stopped(tmp_path: Path, start: Start) -> None:
    task = TinyTask(n=24, shared=False)
    plain = run_task(task, make("TinyModel", {"atomic_batches": True}), out=tmp_path / "a", progress=False)
    log = tmp_path / "log"

    def stop(snapshot: Snapshot) -> None:
        if snapshot.done >= 9:
            raise KeyboardInterrupt

    here = make("TinyModel", {"atomic_batches": True, "log": str(log)})
    there = start("TinyModel", TWO, atomic_batches=True, log=str(log), delay=0.02)
    for first, second in ((here, there), (there, here)):
        log.write_text("")
        out = tmp_path / type(first).__name__
        with pytest.raises(RunInterrupted, match=r"answers are kept .* Run again with the same command to resume"):
            run_task(task, first, out=out, progress=stop)
        kept = {key for key, n in answered(next(out.iterdir())).items() if n}
        assert 9 <= len(kept) < 24
        before = log.read_text().split()
        run = run_task(task, second, out=out, progress=False)
        assert run.name == plain.name
        assert same_tables(run, plain)
        assert not kept & {key.upper() for key in log.read_text().split()[len(before) :]}


def test_no_more_is_made_than_replicas_have_room_for(tmp_path: Path, start: Start) -> None:
    task = TinyTask(n=300, shared=False)
    items = task.items()
    made = most = 0
    done = 0

    def requests() -> Iterator[Any]:
        nonlocal made
        for number, request in enumerate(task.requests(items)):
            made += 1
            yield [replace(request, key=f"{number:032x}")]

    model = start(engine={"replicas": 2}, atomic_batches=True, delay=0.002)
    for batch, responses in model.run_batches("generate", requests()):
        assert [response.request_key for response in responses] == [batch[0].key]
        most = max(most, made - done)
        done += 1
    assert done == 300
    assert most <= 2 * 2


def test_a_batch_that_kills_its_workers_is_named_and_the_rest_is_kept(tmp_path: Path, start: Start) -> None:
    task = TinyTask(n=12, shared=False)
    model = start("Deadly", TWO, atomic_batches=True, batch=1, fails="of 7?", delay=0.01)
    with pytest.raises(ModelError) as caught:
        run_task(task, model, path=tmp_path / "run", progress=False)
    assert "3 workers in a row died while they answered item '007' (full)" in caught.value.message
    assert "memory" in str(caught.value.hint)
    assert "Run again with the same command to resume." in str(caught.value.hint)
    kept = answered(tmp_path / "run")
    assert 0 < len(kept) < 12
    assert set(kept.values()) == {1}


def test_what_a_replica_answered_before_it_died_is_kept(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    log = tmp_path / "log"
    model = start("Deadly", ONE, atomic_batches=True, batch=1, fails="of 1?", log=str(log))
    wait = model._wait

    def late() -> list[Any]:
        """Tell of all calls at once, and of the newest first."""
        ray.wait(list(model._calls), num_returns=len(model._calls), timeout=300) if model._calls else None
        return list(reversed(model._calls)) or wait()

    monkeypatch.setattr(model, "_wait", late)
    with pytest.raises(ModelError, match=r"3 workers in a row died while they answered item '001' \(full\)"):
        run_task(TinyTask(n=2, shared=False), model, path=tmp_path / "run", progress=False)
    assert len(answered(tmp_path / "run")) == 1
    assert sorted(Counter(log.read_text().split()).values()) == [1, 3]


@pytest.mark.parametrize(("atomic", "ends"), [(True, KeyboardInterrupt), (False, ModelError)])
def test_what_is_here_when_the_asking_ends_is_kept(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch, atomic: bool, ends: type[BaseException]
) -> None:
    import ray

    log = tmp_path / "log"
    task, model = TinyTask(n=12, shared=False), start("TinyModel", ONE, atomic_batches=atomic, log=str(log), delay=0.05)
    wait = model._wait

    def stopped() -> list[Any]:
        """Ctrl-C, or an error of another replica, when both batches have news of which nobody was told yet."""
        if not model._calls:
            return wait()
        assert len(ray.wait(list(model._calls), num_returns=2, timeout=300)[0]) == 2
        raise ends("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(model, "_wait", stopped)
        with pytest.raises((RunInterrupted, ModelError)):
            run_task(task, model, path=tmp_path / "run", progress=False)
    kept = answered(tmp_path / "run")
    assert len(kept) >= 6  # all of the first batch, or of the first two where they are planned
    run_task(task, model, path=tmp_path / "run", progress=False)
    asked = Counter(log.read_text().upper().split())
    assert {asked[key] for key in kept} == {1}
    assert set(answered(tmp_path / "run")) == set(asked)
    assert len(asked) == 12


def test_errors_of_the_model_come_out_as_they_are(tmp_path: Path, start: Start) -> None:
    task = TinyTask(n=12, shared=False)
    for atomic in (True, False):
        refusing = start("Refusing", ONE, atomic_batches=atomic, fails="of 7?")
        with pytest.raises(ModelError, match=r"refused the key") as caught:
            run_task(task, refusing, path=tmp_path / f"refusing{atomic}", progress=False)
        assert str(caught.value.hint).startswith("Name another. ")
        if not atomic:
            assert len(answered(tmp_path / "refusingFalse")) == 7  # those that came before it
    broken = start("Broken", ONE, atomic_batches=True, fails="of 7?")
    with pytest.raises(ZeroDivisionError, match="a bug") as bug:
        run_task(task, broken, path=tmp_path / "broken", progress=False)
    assert "to resume" in bug.value.__notes__[-1]


def test_a_model_that_cannot_be_loaded(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_model, "MAX_RESTARTS", 1)
    with pytest.raises(ModelError, match="no such weights") as caught:
        start("Unloadable", ONE)
    assert caught.value.hint == "Name others."
    with pytest.raises(ModelError, match="A worker could not load the model"):
        start("DeadOnLoading", ONE)


def test_replicas_that_differ_are_refused(tmp_path: Path, start: Start) -> None:
    import ray

    model = start("Skewed", TWO, atomic_batches=True)
    # On a busy machine the first replica would answer everything before the second is there to differ.
    loading = [worker.loading for worker in model._workers if worker.loading is not None]
    assert len(ray.wait(loading, num_returns=len(loading), timeout=300)[1]) == 0
    with pytest.raises(ModelError, match=r"The replicas of test/tiny differ: weights \d+ and \d+"):
        run_task(TinyTask(n=60, shared=False), model, path=tmp_path / "run", progress=False)


def test_replicas_without_room_are_waited_for_only_so_long(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    start()  # takes every processor
    for engine, room, size in (
        ({"gpus_per_replica": 1}, "0 of 1", "1 processor and 1 GPU"),
        ({"replicas": 4}, "3 of 4", "1 processor"),
    ):
        cluster = r"The Ray cluster has 3 machines of 1 processor"
        with pytest.raises(ModelError, match=rf"No replica .* in 1 seconds\. {cluster}; a replica asks for {size}\."):
            start(engine={"replicas": 1, "start_timeout": 1.0, **engine})
        assert f"holds {room} replicas of {size} at once" in caplog.text


def test_keys_reach_the_model_and_nothing_that_is_written(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", KEY)
    model = start("Telling", ONE, log="CANARY_API_KEY", id="test/telling")
    run = run_task(TinyTask(n=4, shared=False), model, path=tmp_path / "run", progress=False)
    told = set(kapwa.open_run(run).table("answers")["text"])
    assert told == {f"CANARY_API_KEY is {KEY[::-1]}"}
    session = Path(_session())
    files = [path for folder in (run, session) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def _session() -> str:
    import ray

    return str(ray._private.worker._global_node.get_session_dir_path())


def test_threads_are_those_that_a_replica_reserves(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    whole, share = {"replicas": 1, "cpus_per_replica": None}, {"replicas": 1, "cpus_per_replica": 1}
    for engine, threads in ((whole, 5), (share, 1)):
        model = start("Telling", engine, log="OMP_NUM_THREADS")
        run = run_task(TinyTask(n=2), model, path=tmp_path / str(threads), progress=False)
        assert set(kapwa.open_run(run).table("answers")["text"]) == {f"OMP_NUM_THREADS is {threads}"}
        model.close()


def test_the_cache_gives_and_takes(tmp_path: Path, start: Start) -> None:
    task = TinyTask(n=24, shared=False)
    here, there = make("TinyModel", {}), start("TinyModel", ONE)
    runs = []
    for i, (first, second) in enumerate(((here, there), (there, here))):
        cache = tmp_path / f"cache{i}"
        for name, model in (("first", first), ("second", second)):
            runs.append(run_task(task, model, path=tmp_path / f"{name}{i}", cache=cache, progress=False))
        assert kapwa.open_run(runs[-1]).manifest["cache"]["answers"] == 24
    assert all(same_tables(run, runs[0]) for run in runs)


def test_a_submitted_job_finds_its_cluster_and_leaves_it(tmp_path: Path, nodes: Nodes) -> None:
    """What ``ray job submit`` does: it sets RAY_ADDRESS and starts the command on the head node."""
    table = tmp_path / "answers.jsonl"
    items = kapwa.load_task("kalahi/open", variant="full", limit=2).items()
    table.write_text("\n".join(json.dumps({"item_id": item.id, "text": "Oo."}) for item in items) + "\n")
    command = [sys.executable, "-m", "kapwa.cli.main", "run", "kalahi/open", "--model", f"replay:{table}"]
    command += ["--limit", "2", "--metrics", "chrf", "--engine", "ray", "--json", "--out", str(tmp_path)]
    own = {**os.environ, "RAY_ADDRESS": nodes.address, "CANARY_API_KEY": KEY}
    for _ in range(2):  # the second finds the cluster as the first found it
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        manifest = json.loads(done.stdout)["manifest"]
        engine = manifest["model"]["description"]["engine"]
        assert (engine["name"], engine["replicas"], engine["cpus_per_replica"]) == ("ray", 1, 1.0)
        assert KEY not in done.stderr + done.stdout


def test_control_c_keeps_what_came_and_ends_what_was_started(tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "interrupted_run.py"), str(tmp_path / "run")]
    own = {**os.environ, "PYTHONPATH": f"{HERE}:{RUNS}", "CANARY_API_KEY": KEY}
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        session = Path(process.stdout.readline().split()[1])
        os.killpg(process.pid, signal.SIGINT)  # a terminal tells everybody in the foreground
        said = process.stdout.read()
    assert process.returncode == 0
    kept = len(answered(tmp_path / "run"))
    assert 6 <= kept < 400
    assert said == f"Stopped. {kept} answers are kept in {tmp_path}/run. {AGAIN}\nclosed False\n"
    limit = time.monotonic() + 300  # a process of Ray's may end a moment after what started it
    while left := [path for path in _processes() if session.name in path]:
        assert time.monotonic() < limit, left
        time.sleep(0.1)
    files = [path for path in session.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def _processes() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_text(encoding="utf-8", errors="replace")


def test_replicas_get_gpus_of_their_own(
    tmp_path: Path, nodes: Nodes, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    node = nodes._cluster.add_node(num_cpus=2, num_gpus=2, object_store_memory=96 * 2**20)
    try:
        model = start(
            "Telling", {"replicas": None, "gpus_per_replica": 1}, log="CUDA_VISIBLE_DEVICES", atomic_batches=True
        )
        run = run_task(TinyTask(n=24, shared=False), model, path=tmp_path / "run", progress=False)
        told = set(kapwa.open_run(run).table("answers")["text"])
        assert told <= {f"CUDA_VISIBLE_DEVICES is {gpu}" for gpu in "01"} != set()
        engine = kapwa.open_run(run).manifest["model"]["description"]["engine"]
        assert (engine["replicas"], engine["gpus_per_replica"]) == (2, 1.0)
        assert "reserves" not in caplog.text
        start("TinyModel", ONE, atomic_batches=True)
        assert "No replica reserves one of the cluster's GPUs (--gpus-per-replica 1)" in caplog.text
    finally:
        nodes._cluster.remove_node(node)


def test_a_run_that_was_interrupted_stopped_and_finished_equals_one_that_never_stopped(
    tmp_path: Path, start: Start
) -> None:
    """Whatever the order in which replicas answer: each look waits for its block."""
    task, settings = Tasked(n=900, shared=False), {"atomic_batches": True}
    model = start("TinyModel", TWO, **settings)

    def interrupt(snapshot: Snapshot) -> None:
        if snapshot.done >= 60:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted):
        run_task(task, model, path=tmp_path / "ray", progress=interrupt, until=0.1)
    part = kapwa.open_run(run_task(task, model, path=tmp_path / "ray", progress=False, until=0.1))
    straight = run_task(task, make("TinyModel", settings), path=tmp_path / "straight", progress=False, until=0.1)
    assert part.stopped
    assert same_tables(part.path, straight)
    assert (part.path / "looks.parquet").read_bytes() == (straight / "looks.parquet").read_bytes()
    whole = run_task(task, model, path=tmp_path / "ray", progress=False)
    never = run_task(task, make("TinyModel", settings), path=tmp_path / "never", progress=False, until=1e-9)
    assert same_tables(whole, never)
    assert set(answered(whole).values()) == {1}
