"""What the tests of served models share: a stub server process, and requests with telling keys."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kapwa.records import Message, Params, Request

# A provider of Inspect for OpenAI-compatible servers; its key is read from STUB_API_KEY.
NAME = "openai-api/stub/stub"
KEY = "sk-inspect-canary/7d2e+91-never-show"


@pytest.fixture
def stub() -> Iterator[Callable[..., "StubProcess"]]:
    """Start a stub server with each configuration that is asked for; all are ended after the test."""
    running: list[StubProcess] = []

    def start(**config: Any) -> StubProcess:
        running.append(StubProcess(config))
        return running[-1]

    yield start
    for process in running:
        process.stop()


class StubProcess:
    def __init__(self, config: dict[str, Any]) -> None:
        command = [sys.executable, str(Path(__file__).with_name("stub_server.py")), json.dumps(config)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.root = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.url = f"{self.root}/v1"

    def report(self) -> dict[str, Any]:
        return self._get("__log")

    def arrivals(self) -> list[dict[str, Any]]:
        return self.report()["log"]

    def answer_after(self, seconds: float) -> None:
        """Let the answers to what is asked from now on wait so long."""
        self._get(f"__delay/{seconds}")

    def _get(self, path: str) -> dict[str, Any]:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.root}/{path}") as reply:
            return json.load(reply)

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


def ask(i: int, sample: int = 0, text: str | None = None, **params: Any) -> Request:
    """A generation request with a key that names it."""
    message = Message("user", text or f"item {i}")
    return Request(f"i{i}", "full", "generate", (message,), params=Params(**params), sample=sample, key=f"{i}/{sample}")
