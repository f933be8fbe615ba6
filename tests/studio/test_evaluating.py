"""An evaluation ends with its studio and with its folder, and none that nobody started here is shown to anybody."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from filelock import FileLock, Timeout
from studio_kept import Prepared
from studio_people import People, a_situation, accepted, enter, recorded, send_to_review

from kapwa.studio import commands
from kapwa.studio.core import evaluating
from kapwa.studio.models import Situation

PATH = "releases/1.0.0/evaluation/"
# What runs until somebody ends it.
HANGS = ("http.server", "0", "--bind", "127.0.0.1")


def gone(number: int) -> bool:
    """Whether a process has ended, within a while; one that nobody waited for has, too."""
    end = time.monotonic() + 240
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up where Linux lists them")


@linux
def test_a_command_ends_with_whoever_started_it_however_that_dies(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [sys.executable, "-m", "kapwa.studio.tethered", str(tmp_path / "lock"), str(folder), *HANGS]
    code = f"""
import subprocess, sys, time
child = subprocess.Popen({words!r}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as studio:
        assert studio.stdout is not None
        number = int(studio.stdout.readline())
        wait_for_lock(tmp_path / "lock")
        studio.send_signal(signal.SIGKILL)
        assert gone(number)


@linux
def test_a_command_ends_with_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    words = [sys.executable, "-m", "kapwa.studio.tethered", str(tmp_path / "lock"), str(folder), *HANGS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as child:
        wait_for_lock(tmp_path / "lock")
        folder.rename(tmp_path / "away")
        folder.mkdir()  # another one in its place is not it
        assert gone(child.pid)


def wait_for_lock(path: Path) -> None:
    end = time.monotonic() + 240
    while time.monotonic() < end:
        try:
            if path.exists():
                FileLock(path).acquire(timeout=0)
        except Timeout:
            return
        time.sleep(0.05)
    raise AssertionError("the command did not start")


@pytest.fixture
def released(project: Any, people: People, prepared: Prepared, tmp_path: Path, monkeypatch: Any) -> People:
    """A release, and a model that answers for ever."""
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    monkeypatch.setattr(settings, "KAPWA_MODEL", "replay:answers.jsonl", raising=False)
    monkeypatch.setattr(evaluating, "command", lambda *words: list(HANGS))

    def release() -> People:
        send_to_review(people["berto"], 1, "Nena")
        accepted(people, 1, "carla", "edo")
        people["ana"].act("releases/", {"version": "1.0.0"})
        return people

    return prepared("released", project, release)


def running(people: People, home: Path) -> tuple[Any, int]:
    """Start an evaluation; return its file and its process."""
    people["ana"].act(PATH, {"task": "kalahi/mc"})
    about = home / "evaluations" / "baryo" / "1.0.0-kalahi-mc.json"
    wait_for_lock(about.with_suffix(".lock"))
    return about, json.loads(about.read_text())["process"]


@linux
def test_one_that_hangs_is_stopped_from_its_page(released: People, tmp_path: Path) -> None:
    _about, number = running(released, tmp_path)
    ana = released["ana"]
    assert "running" in ana.get(PATH)
    assert "running" in ana.post(PATH, {"task": "kalahi/mc"})  # the answer was lost, and the browser sent it again
    assert "Stop it" not in released["edo"].get(PATH)
    released["edo"].post(PATH, {"stop": "kalahi/mc"}, 403)
    page = ana.post(PATH, {"stop": "kalahi/mc"})
    assert "stopped" in page
    assert "running" not in page
    assert gone(number)
    assert "stopped an evaluation" in ana.get("log/")


@linux
@pytest.mark.parametrize("when", ["start", "withdrawal"])
def test_one_that_outlived_its_studio_is_ended(project: Any, released: People, tmp_path: Path, when: str) -> None:
    about, number = running(released, tmp_path)
    forgotten = evaluating._started.pop(about)  # as if another studio had started it
    assert "running" in released["ana"].get(PATH)
    if when == "start":
        evaluating.end_strays(project)
        assert about.exists()
    else:
        released["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
        assert not about.parent.exists()
    assert gone(number)
    forgotten.wait()
    assert forgotten.stdin is not None
    forgotten.stdin.close()


def test_a_run_that_nobody_started_is_shown_to_nobody_and_check_names_it(
    project: Any, released: People, tmp_path: Path
) -> None:
    folder = tmp_path / "evaluations" / "baryo"
    run = folder / "1.0.0-kalahi-open" / "kalahi-open-smollm2-12345678"
    run.mkdir(parents=True)
    (run / "report.html").write_text("withdrawn words")
    assert evaluating.runs_of(project) == []
    assert any("1.0.0-kalahi-open" in line for line in commands.check(["baryo"])[2])
    assert commands.clear_traces() == ""
    assert not run.exists()
    assert commands.check(["baryo"])[2] == []


def test_a_torn_file_is_no_fault_of_the_page(released: People, tmp_path: Path) -> None:
    about = tmp_path / "evaluations" / "baryo" / "1.0.0-kalahi-mc.json"
    about.parent.mkdir(parents=True)
    for torn in ("", "{", "[]", '{"task": 1}'):
        about.write_text(torn)
        assert "stopped" in released["ana"].get(PATH), torn


def test_who_judges_or_is_yet_to_vote_reads_no_evaluation(project: Any, released: People) -> None:
    for role in ("rater", "validator"):
        alone = enter(project, f"Isa {role}", role)
        also = enter(project, f"Dalawa {role}", role, "writer")
        for who in (alone, also):
            who.get(PATH, 403 if who is alone else 409)
            who.get(f"{PATH}kalahi/mc/", 403 if who is alone else 409)
            assert PATH not in who.get("")
    assert "Evaluation" in released["edo"].get(PATH)
    change = {"reason": "reword", "base": "1"}
    released["berto"].act("situations/1/edit/", {**a_situation("Nena"), **change, "user": "Guro ako."})
    released["edo"].get(PATH, 409)  # the release has the best response of what is voted on again
    released["ana"].get(PATH)


def test_who_is_yet_to_vote_reads_no_likelihoods(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1, "Nena")
    said = {"model": "modelo", "asked": "modelo", "revision": 1, "fails": True, "answer": "Ewan.", "likelihoods": {}}
    recorded(project, "situation.asked", said, actor="", subject=Situation.objects.get().id)
    assert "finds an irrelevant response" in people["berto"].get("situations/1/")
    assert "finds an irrelevant response" not in people["edo"].get("situations/1/")
    people["edo"].act("situations/1/vote/", {"round": 1, "choice": "accept", "best": "1"})
    assert "finds an irrelevant response" in people["edo"].get("situations/1/")
