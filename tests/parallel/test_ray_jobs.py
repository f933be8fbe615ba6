"""``kapwa run`` as a submitted job, on a cluster with a dashboard that asks for a token: stopped midway, it goes on."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("ray.dashboard.optional_deps", reason="submitting jobs needs ray[default]")

sys.path.insert(0, str(Path(__file__).parents[1] / "models_served"))
from served_tools import StubProcess

import warm
from ports import free_ports

TOKEN = "0123456789abcdef" * 4
BIN = Path(sys.executable).parent
PORTS = ("port", "dashboard-port", "dashboard-agent-listen-port", "ray-client-server-port")


class Head(NamedTuple):
    """The head of a cluster: the address of its dashboard, and the environment it was started in."""

    dashboard: str
    environment: dict[str, str]


@pytest.fixture
def server() -> Iterator[StubProcess]:
    process = StubProcess({"delay": 0.3})
    yield process
    process.stop()


@pytest.fixture
def head(tmp_path: Path, server: StubProcess) -> Iterator[Head]:
    """A cluster of one machine with two processors, started as on the first of several, and ended with the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    own = {
        **kept,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_USAGE_STATS_ENABLED": "0",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "none",
    }
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    command = [str(BIN / "ray"), "start", "--head", "--block", "--num-cpus", "2", "--node-ip-address", "127.0.0.1"]
    command += ["--include-dashboard", "true", "--object-store-memory", str(96 * 2**20)]
    command += [word for name, port in ports.items() for word in (f"--{name}", str(port))]
    # Sockets lie in the folder, and a socket's path has a hundred characters at most: tmp_path is too long.
    with tempfile.TemporaryDirectory(prefix="ray") as short:
        process = started([*command, "--temp-dir", short], own, tmp_path / "head.log")
        try:
            yield Head(f"http://127.0.0.1:{ports['dashboard-port']}", own)
        finally:
            process.terminate()  # with --block, what it started ends with it
            process.wait(timeout=300)


def started(command: list[str], variables: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start the head; up to three times, for a busy machine may miss the half minute that Ray allows."""
    for _ in range(3):
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=variables, stdout=file, stderr=subprocess.STDOUT)
        while process.poll() is None:
            if b"Ray runtime started" in log.read_bytes():
                return process
            time.sleep(0.1)
    raise AssertionError(log.read_text("utf-8"))


def client_of(head: Head) -> Any:
    """Return a client as soon as the dashboard answers."""
    from ray.job_submission import JobSubmissionClient

    return patiently(lambda: JobSubmissionClient(head.dashboard, headers={"Authorization": f"Bearer {TOKEN}"}), OSError)


def submitted(client: Any, entrypoint: str) -> str:
    """Submit a job as soon as there is an agent to start it, which comes after the dashboard."""
    job = f"job-{uuid.uuid4()}"

    def submit() -> str:
        try:
            return str(client.submit_job(entrypoint=entrypoint, submission_id=job))
        except RuntimeError as error:
            if "already exists" in str(error):  # the answer to an earlier attempt was lost
                return job
            raise

    return str(patiently(submit, RuntimeError, OSError))


def patiently(ask: Callable[[], Any], *meanwhile: type[Exception], patience: float = 240.0) -> Any:
    """Ask until there is an answer; a dashboard that a busy machine keeps waiting hangs up on people."""
    limit = time.monotonic() + patience
    while True:
        try:
            return ask()
        except meanwhile:
            if time.monotonic() > limit:
                raise
            time.sleep(0.5)


def rows(run: Path) -> list[tuple[int, bytes]]:
    """The answers' numbers in the journal and their keys; none while there is no journal.

    A run keeps its journal to itself while it writes, so a copy is read; SQLite passes over what is half written there.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("journal.sqlite", "journal.sqlite-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(run / name, Path(folder, name))
        with closing(sqlite3.connect(Path(folder, "journal.sqlite"))) as copy:
            try:
                return copy.execute("select id, key from responses order by id").fetchall()
            except sqlite3.DatabaseError:  # its tables are being made, or it was copied while it was written
                return []


def answered_in(out: Path) -> list[tuple[int, bytes]]:
    return [row for run in out.glob("*") for row in rows(run)]


def asked(server: StubProcess) -> int:
    return sum(arrival["path"].endswith("/chat/completions") for arrival in server.arrivals())


def ended(client: Any, job: str, patience: float = 300.0) -> str:
    """Return how a job ended."""
    limit = time.monotonic() + patience
    while not (status := patiently(lambda: client.get_job_status(job), OSError)).is_terminal():
        assert time.monotonic() < limit, client.get_job_logs(job)
        time.sleep(0.2)
    return str(status.value)


@pytest.mark.slow
def test_a_submitted_job_stopped_midway_goes_on_when_it_is_submitted_again(
    tmp_path: Path, head: Head, server: StubProcess
) -> None:
    """With a served model, which holds its answers back while the first job is stopped; test_ray_runs has weights."""
    command = ["run", "blend/saq", "--limit", "20", "--model", "openai:stub", "--concurrency", "2", "--out"]
    client = client_of(head)
    out = tmp_path / "ray"
    entrypoint = " ".join(["kapwa", *command, str(out), "--engine", "ray"])
    first = submitted(client, entrypoint)
    while not answered_in(out):
        status = patiently(lambda: client.get_job_status(first), OSError)
        assert not status.is_terminal(), client.get_job_logs(first)
        time.sleep(0.05)
    server.answer_after(3600)
    patiently(lambda: client.stop_job(first), OSError)
    assert ended(client, first) == "STOPPED"
    kept = answered_in(out)
    server.answer_after(0)
    before = asked(server)
    again = submitted(client, entrypoint)
    assert ended(client, again) == "SUCCEEDED", client.get_job_logs(again)
    (run,) = out.iterdir()
    found = rows(run)
    assert found[: len(kept)] == kept
    assert len(kept) < len(found) == len({key for _, key in found})
    assert asked(server) - before == len(found) - len(kept), "asked again what was answered"

    here = {name: head.environment[name] for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    done = warm.kapwa(*command, "local", cwd=tmp_path, **here)
    assert done.returncode == 0, done.stderr
    (local,) = (tmp_path / "local").iterdir()
    assert run.name == local.name
    assert {key for _, key in found} == {key for _, key in rows(local)}
    tables = sorted(path.name for path in local.glob("*.parquet"))
    assert "scores.parquet" in tables
    for name in tables:
        assert (run / name).read_bytes() == (local / name).read_bytes(), name
