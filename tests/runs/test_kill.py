"""Runs killed with SIGKILL, resumed with the same command, compared byte by byte with a run left alone."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny_suite
from tiny_suite import TinyModel, TinyTask, run_task

import warm
from kapwa.runs.finished_run import Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
KILLS = 5  # for each way of asking
BEGIN = f"import runpy; runpy.run_path({tiny_suite.__file__!r}, run_name='__main__')"


def start(settings: dict[str, Any], *, warmed: bool = True) -> subprocess.Popen[str]:
    """Begin a run in a process of its own and return when it begins to ask (or has ended)."""
    command = [sys.executable, tiny_suite.__file__, json.dumps(settings)]
    if warmed:
        command[:2] = [str(warm.programs() / "python"), "-c", BEGIN]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def finish(settings: dict[str, Any]) -> Path:
    process = start(settings)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return Path(out.strip())


def committed(out: Path, scratch: Path) -> set[str]:
    """The keys with an answer in the journal, read from a copy so that the original is left as the kill left it."""
    shutil.rmtree(scratch, ignore_errors=True)
    folders = [folder for folder in out.glob("tiny-*") if (folder / "journal.sqlite").exists()]
    if not folders:
        return set()
    shutil.copytree(folders[0], scratch)
    with contextlib.closing(sqlite3.connect(scratch / "journal.sqlite")) as journal:
        return {key.hex() for (key,) in journal.execute("SELECT key FROM responses WHERE failed = 0")}


def asked(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def tables(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".parquet"} | {
        "estimates.json": (folder / "estimates.json").read_bytes()
    }


@pytest.mark.slow
@pytest.mark.parametrize("atomic", [False, True])
def test_kills_at_random_lose_nothing_ask_nothing_twice_and_change_nothing(tmp_path: Path, atomic: bool) -> None:
    common = {"n": 120, "shared": False, "kinds": ["generate", "score"], "atomic_batches": atomic, "variants": ["full"]}
    whole = finish({**common, "out": str(tmp_path / "whole")})
    log = tmp_path / "log"
    # 240 questions of 10 ms: no session of at most 0.3 s gets to the end, so every kill strikes a running run.
    settings = {**common, "out": str(tmp_path / "killed"), "delay": 0.01, "log": str(log)}
    randomly = random.Random(20241)
    answered: set[str] = set()
    for _ in range(KILLS):
        said = len(asked(log))
        process = start(settings)
        time.sleep(randomly.uniform(0, 0.3))
        assert process.poll() is None, "the run ended before it was killed"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not answered & set(asked(log)[said:]), "asked again what was already durable"
        now = committed(tmp_path / "killed", tmp_path / "scratch")
        assert answered <= now, "lost what was durable"
        answered = now
    assert 0 < len(answered) < 240
    said = len(asked(log))
    folder = finish(settings)
    assert set(asked(log)[said:]).isdisjoint(answered)
    assert len(asked(log)[said:]) == 240 - len(answered)
    assert tables(folder) == tables(whole)
    run = Run(folder)
    assert run.complete
    assert run.manifest["counts"]["answered"] == 240
    assert 1 <= run.manifest["sessions"] <= KILLS + 1


@pytest.mark.slow
def test_a_kill_before_any_file_is_put_in_place_is_repaired(tmp_path: Path) -> None:
    """Die just before each rename, from the making of the journal to the last manifest."""
    task = TinyTask(n=6)
    whole = run_task(task, TinyModel(), out=tmp_path / "whole", progress=False)
    for point in range(1, 100):
        out, log = tmp_path / str(point), tmp_path / f"log{point}"
        process = start({"n": 6, "out": str(out), "log": str(log), "kill_at": point})
        process.communicate(timeout=300)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        folder = run_task(task, TinyModel(log=str(log)), out=out, progress=False)
        assert tables(folder) == tables(whole)
        assert Run(folder).complete
        assert not list(folder.glob(".*.part*"))
        assert len(asked(log)) == len(set(asked(log))) == 3
    # The journal, which items each request asks, the manifest twice, six tables, one of them also as JSON.
    assert point == 1 + 1 + 2 + 7 + 1


def test_a_second_process_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = {"n": 60, "shared": False, "out": str(tmp_path / "runs"), "delay": 5, "log": str(log)}
    first = start(settings, warmed=False)
    try:
        while not asked(log):
            assert first.poll() is None
            time.sleep(0.01)
        second = start(settings)
        _, err = second.communicate(timeout=300)
        assert second.returncode != 0
        assert f"is in use by another run (process {first.pid} on" in err
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    folder = finish({**settings, "delay": 0})
    assert Run(folder).complete


def test_ctrl_c_in_a_process_of_its_own(tmp_path: Path) -> None:
    settings = {"n": 60, "shared": False, "out": str(tmp_path / "runs"), "delay": 0.1, "log": str(tmp_path / "log")}
    process = start(settings, warmed=False)
    while len(asked(tmp_path / "log")) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "Run again with the same command to resume." in err
    before = committed(tmp_path / "runs", tmp_path / "scratch")
    # All that was answered is kept; at most the question being asked at that moment is asked again.
    assert len(asked(tmp_path / "log")) - 1 <= len(before) < 60
    said = len(asked(tmp_path / "log"))
    assert Run(finish({**settings, "delay": 0})).complete
    assert not before & set(asked(tmp_path / "log")[said:])
