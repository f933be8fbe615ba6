"""What is said while a provider gives no answer, and when nothing is."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_tools import KEY
from served_tools import ask

from kapwa.errors import ModelError
from kapwa.models import inspect_waiting
from kapwa.models.inspect_waiting import Waiting


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_waiting, "PATIENCE", 0.1)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == inspect_waiting.__name__]


def test_who_waits_for_a_server_that_is_gone_is_told_once(connect: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = connect("http://127.0.0.1:9/v1", extra={"max_retries": 1})
    with pytest.raises(ModelError, match="after 2 attempts"):
        list(model.generate(ask(i) for i in range(5)))
    (said,) = told(caplog)
    assert said.startswith("inspect:openai-api/stub/stub has given no answer for ")
    assert "Connect call failed" in said
    assert "2 times for each question" in said
    assert said.endswith("--extra max_retries=2")
    assert KEY not in said


def test_a_call_that_is_not_made_again_is_not_waited_for(connect: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = connect("http://127.0.0.1:9/v1")
    with pytest.raises(ModelError):
        list(model.generate([ask(0)]))
    assert told(caplog) == []


def watched(retries: int | None = 7) -> tuple[Any, Waiting]:
    model: Any = SimpleNamespace(should_retry=lambda error: not isinstance(error, ValueError))
    return model, Waiting(model, "a/b", retries, str)


def test_nothing_is_said_where_answers_come_or_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    async def calls() -> None:
        model, waiting = watched()
        with waiting.call():
            assert model.should_retry(OSError("once"))
            waiting.answered()
            await asyncio.sleep(0.2)
            assert not model.should_retry(ValueError("refused"))
            await asyncio.sleep(0.2)
            assert model.should_retry(OSError("the last"))
        await asyncio.sleep(0.2)

    asyncio.run(calls())
    assert told(caplog) == []


def test_each_time_without_answers_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def calls() -> None:
        model, waiting = watched(None)
        with waiting.call():
            for error in ("first", "second"):
                model.should_retry(OSError(error))
                await asyncio.sleep(0.2)
            assert len(told(caplog)) == 1
            waiting.answered()
            model.should_retry(OSError("third"))
            await asyncio.sleep(0.2)

    asyncio.run(calls())
    first, third = told(caplog)
    assert "first" in first
    assert "third" in third
    assert "without end" in third
