"""Judges and shared caches: what is asked once, what is durable, and no key in what is kept."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from test_canary import CANARY, contents, leaks

import kapwa
import warm

KILLS = 3  # of a verb, at random times, and one before or after an answer is written
KILLED = """
import os, signal, sys
from kapwa.cli import main
from kapwa.runs.store import AnswerStore
calls, after, real = int(sys.argv.pop(1)), int(sys.argv.pop(1)), AnswerStore.commit
def counted(*args):
    global calls
    calls -= 1
    done = real(*args) if calls or after else None
    if not calls:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
AnswerStore.commit = counted
main.run()
"""


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wrong reply to every question of the sample packs, so that each is put to the judge."""
    task = kapwa.load_task("blend/saq", variant="all")
    rows = [{"item_id": one.id, "variant": one.variant, "text": f"zzq {i}"} for i, one in enumerate(task.items())]
    path = tmp_path_factory.mktemp("replies") / "replies.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def line(verb: str, replies: Path, *killed: int) -> list[str]:
    words = ["build", "mcq", "--judge", "openai:stub", "--output", "mcq"]
    if verb == "score":
        words = ["score", "blend/saq", "--variant", "all", "--responses", str(replies), "--out", "runs"]
        words += ["--matcher", "judge", "--judge", "openai:stub"]
    begin = ["python", "-c", KILLED, *map(str, killed)] if killed else ["kapwa"]
    return [str(warm.programs() / begin[0]), *begin[1:], *words]


def settings(url: str) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": CANARY}


def kept(folder: Path) -> int:
    """How many answers of the judge are durable, read from a copy so that the file is left as it is."""
    for file in (folder / "runs" / "judge-answers.sqlite", folder / "mcq.answers.sqlite"):
        if file.exists():
            with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as store:
                return int(store.execute("SELECT count(*) FROM responses WHERE NOT failed").fetchone()[0])
    return 0


@pytest.mark.parametrize("verb", ["score", "build"])
def test_a_judge_takes_the_settings_of_a_model_and_leaves_no_key(
    verb: str, stub, replies: Path, tmp_path: Path
) -> None:
    server = stub(delay=0.05, echo_auth=True, echo_in_answer=True)
    words = [*line(verb, replies), "--judge-option", "concurrency=3", "--judge-option", f"base_url={server.url}"]
    words = [{"all": "local/inst-4"}.get(word, word) for word in words]
    done = subprocess.run(
        words, cwd=tmp_path, env=settings("http://127.0.0.1:9"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "printed.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    report = server.report()
    assert report["seen_auth"] == [f"Bearer {CANARY}"], "the key was sent, so it could have leaked"
    assert report["most_open"] == 3
    assert kept(tmp_path) > 10
    assert leaks(contents(tmp_path)) == []


def test_a_judge_has_no_more_requests_open_than_its_model(stub, replies: Path, tmp_path: Path) -> None:
    server = stub(delay=0.05)
    words = [str(warm.programs() / "kapwa"), "run", "blend/saq", "--limit", "4", "--concurrency", "2"]
    words += ["--model", "openai:stub", "--matcher", "judge", "--judge", "openai:other"]
    done = subprocess.run(words, cwd=tmp_path, env=settings(server.url), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert server.report()["most_open"] == 2


def test_settings_without_a_judge_are_refused(replies: Path, tmp_path: Path) -> None:
    words = [word for word in line("score", replies)[:-4] if word != "judge"]
    done = subprocess.run(
        [*words, "--judge-option", "attempts=3"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--judge MODEL" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("verb", ["score", "build"])
def test_a_judge_that_is_killed_is_asked_nothing_twice(verb: str, stub, replies: Path, tmp_path: Path) -> None:
    server = stub(delay=0.7)
    randomly, durable, ended = random.Random(11), 0, 0

    def start(*killed: int) -> subprocess.Popen[str]:
        words, err = line(verb, replies, *killed), subprocess.PIPE
        return subprocess.Popen(words, cwd=tmp_path, env=settings(server.url), stderr=err, text=True)

    for n in range(KILLS):
        before = len(server.arrivals())
        process = start(*((randomly.randint(1, 3), randomly.randint(0, 1)) if n % 2 else ()))
        if not n % 2:
            while process.poll() is None and len(server.arrivals()) == before:
                time.sleep(0.02)
            time.sleep(randomly.uniform(0.1, 0.9))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        ended += process.returncode != -signal.SIGKILL
        assert kept(tmp_path) >= durable, "lost what was durable"
        durable = kept(tmp_path)
    before = len(server.arrivals())
    process = start()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert len(server.arrivals()) - before == kept(tmp_path) - durable, "asked again what was durable"
    assert kept(tmp_path) > durable, "nothing was left to be asked"
    assert KILLS - ended >= KILLS // 2, "killed too seldom"
    assert durable > 0
