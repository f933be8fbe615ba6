"""Inspect's batch mode: requests travel in jobs, answers come back to the requests they answer."""

from __future__ import annotations

import pytest
from batch_server import BatchServer
from served_tools import ask

from kapwa.models.base import ModelOptions
from kapwa.models.inspect import load


def test_requests_travel_in_jobs_of_the_size_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-used-anywhere")
    server = BatchServer()
    batch = {"size": 10, "max_size": 10, "send_delay": 2.0, "tick": 0.1}
    options = ModelOptions(base_url=server.url, concurrency=2, extra={"batch": batch, "max_retries": 0})
    model = load("openai/gpt-4o", options)
    try:
        responses = list(model.generate(ask(i) for i in range(25)))
    finally:
        model.close()
        server.close()
    assert {response.request_key: response.text for response in responses} == {
        f"{i}/0": f"answer to item {i}" for i in range(25)
    }
    assert sorted(map(len, server.jobs)) == [5, 10, 10]
    assert server.single == 0
