"""Runs of ``inspect:`` models through the command line: free of keys, and stopped by one message."""

from __future__ import annotations

import json
import subprocess
import sys
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
    assert any("[key removed]" in (text or "") for text in answers["text"]), "the server did quote it"
