"""Runs of ``inspect:`` models through the command line: killed, resumed, and free of keys."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inspect_tools import KEY, NAME

import kapwa


def command(url: str, *more: str) -> list[str]:
    task = ("kalahi/open", "--data", "sample:filipino", "--metrics", "chrf")
    quick = ("--extra", "max_retries=0", "--extra", 'model_args={"max_retries": 0}')
    model = ("--model", f"inspect:{NAME}", "--base-url", url, "--concurrency", "2")
    return [str(Path(sys.executable).with_name("kapwa")), "run", *task, *model, *quick, *more]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_and_run_again_nothing_is_asked_twice(stub, tmp_path: Path) -> None:
    server = stub(delay=0.4)
    process = subprocess.Popen(command(server.url), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            if sum("done" in entry for entry in server.arrivals()) >= 3:
                break
            time.sleep(0.05)
        # The next two calls are open for 0.4 s; what came is committed within 0.2 s.
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    before = server.arrivals()
    answered = [entry for entry in before if "done" in entry]
    done = subprocess.run(command(server.url), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    run = kapwa.open_run(folder)
    assert run.complete
    prompts = [json.dumps(entry["asked"]["messages"]) for entry in server.arrivals()]
    total = run.manifest["counts"]["answered"]
    assert len(answered) >= 3
    assert len(set(prompts)) == total
    # Two calls were open at the kill; on a busy machine, the two before them may have come in that very moment.
    assert len(prompts) <= total + 4
    again = subprocess.run(command(server.url), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert len(server.arrivals()) == len(prompts)


@pytest.mark.slow
def test_the_key_is_in_nothing_that_a_run_writes_or_prints(stub, tmp_path: Path) -> None:
    server = stub(echo_auth=True, echo_in_answer=True, faults={"500": 0.3})
    done = subprocess.run(
        [*command(server.url, "--limit", "6", "--json")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert server.report()["seen_auth"] == [f"Bearer {KEY}"]
    (folder,) = (tmp_path / "runs").iterdir()
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    everything = written + (done.stdout + done.stderr).encode()
    for form in (KEY, json.dumps(KEY)[1:-1], KEY.replace("/", "\\/"), KEY.replace("/", "%2F")):
        assert form.encode() not in everything
    answers = kapwa.open_run(folder).table("answers")
    assert any("[hidden]" in (text or "") for text in answers["text"]), "the server did quote it"


def test_what_cannot_be_survived_is_one_message(stub, tmp_path: Path) -> None:
    server = stub(always={"": 401})
    done = subprocess.run(command(server.url), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "HTTP 401" in done.stderr
    assert "Traceback" not in done.stderr
