"""Judged runs and analyses on a Ray of this machine, of which the driver is killed on the way."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("ray")

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "analysis"), str(TESTS / "models_served")]
import corpus_samples as texts  # noqa: E402
from served_tools import StubProcess  # noqa: E402

import warm  # noqa: E402

pytestmark = [
    pytest.mark.slow(60),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes there"),
]
RAY = ("--engine", "ray", "--address", "local")
BEGIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from kapwa.cli.main import run; run()"
PATIENCE = 400.0
PARTS = 15  # of an analysis, one a concept


@pytest.fixture
def ray_folder() -> Iterator[str]:
    """Where Ray keeps its sessions; a socket's path has a hundred characters at most, and tmp_path is too long."""
    with tempfile.TemporaryDirectory(prefix="ray") as short:
        yield short


def started(folder: Path, ray_folder: str, url: str, *words: str) -> subprocess.Popen[str]:
    """Begin a command in a session of its own; a shell's background would ignore Ctrl-C."""
    own = {**os.environ, "RAY_TMPDIR": ray_folder, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN, *words],
        cwd=folder,
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(folder: Path, url: str, *words: str) -> Any:
    """What a command says that is left alone, and is not for Ray."""
    folder.mkdir(exist_ok=True)
    done = warm.kapwa(*words, cwd=folder, OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_until(true: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    limit = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < limit
        assert process is None or process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


def processes(part: str) -> list[int]:
    """The processes whose command line holds ``part``."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if part in _command(int(path.name))]


def replicas(driver: int) -> list[int]:
    """The processes below the driver's that hold its model: Ray writes what they are into their title."""
    below, todo = [], [driver]
    while todo:
        children: list[int] = []
        with suppress(OSError):
            for path in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
                children += map(int, path.read_text(encoding="ascii").split())
        below += children
        todo += children
    return [pid for pid in below if "ray::Replica" in _command(pid)]


def keys(store: Path) -> set[str]:
    """The keys of the answers that a store holds for good, read from a copy so that it stays as the kill left it."""
    if not store.exists():
        return set()
    with tempfile.TemporaryDirectory() as folder:
        for file in store.parent.glob(f"{store.name}*"):
            (Path(folder) / file.name).write_bytes(file.read_bytes())
        with closing(sqlite3.connect(Path(folder) / store.name)) as copy, suppress(sqlite3.OperationalError):
            return {key.hex() for (key,) in copy.execute("SELECT key FROM responses WHERE NOT failed")}
    return set()


def stores(folder: Path) -> tuple[set[str], set[str]]:
    """The answers of the model and of the judge."""
    journals = [keys(path) for path in folder.glob("runs/*/journal.sqlite")]
    return set().union(*journals), keys(folder / "runs" / "judge-answers.sqlite")


def tables(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.glob("*.parquet")}


JUDGED = ("run", "blend/saq", "--limit", "10", "--model", "openai:stub", "--concurrency", "2", "--json")
JUDGED = (*JUDGED, "--matcher", "judge", "--judge", "openai:other", "--out", "runs")


@pytest.fixture(scope="module")
def server() -> Iterator[StubProcess]:
    """A server for all runs: its address is part of their signature."""
    process = StubProcess({"delay": 0.15})
    yield process
    process.stop()


@pytest.fixture(scope="module")
def judged(server: StubProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables of the judged run where nothing is killed."""
    folder = tmp_path_factory.mktemp("judged")
    return tables(folder / finished(folder, server.url, *JUDGED)["path"])


def test_a_judged_run_on_ray_outlives_its_driver(
    tmp_path: Path, ray_folder: str, server: StubProcess, judged: dict[str, bytes]
) -> None:
    """Killed while the judge is asked; test_ray_runs kills replicas, and test_ray_jobs has SIGTERM."""

    def asked() -> int:
        return sum(one["asked"]["model"] == "other" for one in server.arrivals())

    before = asked()
    process = started(tmp_path, ray_folder, server.url, *JUDGED, *RAY)
    wait_until(lambda: asked() >= before + 6, process)
    wait_until(lambda: all(stores(tmp_path)), process)  # a busy machine may take long to hand over the first answers
    there = replicas(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == -signal.SIGKILL, said
    assert "Traceback" not in said
    wait_until(lambda: not processes(ray_folder))  # what Ray started ends with who started it
    wait_until(lambda: not any(_command(pid) for pid in there))  # and asks until it has noticed
    kept, kept_verdicts = stores(tmp_path)
    assert kept
    assert kept_verdicts
    before = len(server.arrivals())
    made = finished(tmp_path, server.url, *JUDGED)
    answers, verdicts = stores(tmp_path)
    assert kept <= answers
    assert kept_verdicts <= verdicts
    assert len(server.arrivals()) - before == len(answers - kept) + len(verdicts - kept_verdicts), "asked twice"
    assert made["manifest"]["status"] == "complete"
    assert tables(tmp_path / made["path"]) == judged


def parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "analyses" / "parts").glob("*/*.npz")}


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[str, ...], Path, Path]:
    """A command, the folder where nothing is killed, and its analysis there."""
    folder = tmp_path_factory.mktemp("analysed")
    many = [texts.rows(seed=k, samples=45).with_columns(pl.col("concept") + f" {k}") for k in range(PARTS // 5)]
    answers = texts.write(folder / "answers.parquet", pl.concat(many))
    words = ("analyze", "eecc", str(answers), "--permutations", "99", "--json")
    return words, folder, folder / finished(folder, "", *words, "--workers", "1")["path"]


def test_an_analysis_on_ray_outlives_its_driver_and_goes_on_there(
    tmp_path: Path, ray_folder: str, analysed: tuple[tuple[str, ...], Path, Path]
) -> None:
    words, whole_folder, whole = analysed
    process = started(tmp_path, ray_folder, "", *words, *RAY)
    wait_until(lambda: len(parts(tmp_path)) >= 3, process)
    os.kill(process.pid, signal.SIGKILL)
    said = process.communicate(timeout=PATIENCE)[1]
    kept = parts(tmp_path)
    assert process.returncode == -signal.SIGKILL, said
    assert "Traceback" not in said
    assert 3 <= len(kept) < PARTS
    wait_until(lambda: not processes(ray_folder))
    process = started(tmp_path, ray_folder, "", *words, *RAY)
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert f"comparing texts: {PARTS}/{PARTS}" in said
    made = json.loads(out)
    assert made["manifest"]["engine"] == "ray"
    assert made["manifest"]["parts"] == {"kept": len(kept), "computed": PARTS - len(kept)}
    assert kept.items() <= parts(tmp_path).items()
    assert parts(tmp_path) == parts(whole_folder)
    assert tables(tmp_path / made["path"]) == tables(whole)
