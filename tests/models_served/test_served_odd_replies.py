"""Whatever JSON a server replies with is an answer or a fault of that one call, never an error of our own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served_tools import ask

from kapwa.models import served_chat, served_tokens
from kapwa.models.served_client import Client
from kapwa.models.served_fault import CallError
from kapwa.models.served_limit import Retry
from kapwa.models.served_wire import Reply

CLIENT = Client("http://127.0.0.1:1/v1", timeout=1, concurrency=1, retry=Retry())
ODD = st.sampled_from([None, True, -1, 0, 1, 2, -0.5, float("inf"), float("nan"), 10**400, "", "ab", "\ud800"])
VALUES = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["message", "1", "text"]), inner),
    max_leaves=6,
)


def maps(*names: str, **given_: Any) -> Any:
    return st.fixed_dictionaries(given_, optional={name: VALUES for name in names if name not in given_})


COUNTS = VALUES | maps("prompt_tokens", "completion_tokens", prompt_tokens=st.just(2))
CHOICES = maps(
    *("index", "message", "finish_reason", "text", "prompt_logprobs"),
    text=VALUES | st.just("ab"),
    logprobs=VALUES | st.fixed_dictionaries({"tokens": st.lists(VALUES), "token_logprobs": st.lists(VALUES)}),
    prompt_logprobs=VALUES | st.tuples(st.none(), maps("2", **{"2": maps(logprob=VALUES)})).map(list),
)
REPLIES = VALUES | maps(
    *("error", "detail", "code", "param", "tokens", "prompt", "text"),
    choices=VALUES | st.lists(CHOICES, min_size=1, max_size=3),
    usage=COUNTS,
    meta_info=VALUES | maps(input_token_logprobs=st.lists(st.tuples(VALUES, ODD).map(list), min_size=2, max_size=2)),
)


def replying(reply: Any) -> Any:
    async def call(_path: str, _body: Any, parse: Callable[[Any], Any]) -> Any:
        return parse(reply)

    return SimpleNamespace(call=call, root="")


READERS: dict[str, Callable[[Any], Any]] = {
    "answers": lambda reply: served_chat._answers([ask(1, 0), ask(1, 1)], CLIENT, reply),
    "failure": lambda reply: CLIENT._status_fault(Reply(400, {}, json.dumps(reply).encode())),
    "vllm": lambda reply: asyncio.run(served_tokens.vllm_logprobs(replying(reply), "m", [1, 2], 1)),
    "sglang": lambda reply: asyncio.run(served_tokens.sglang_logprobs(replying(reply), "m", [1, 2], 1)),
    "echo": lambda reply: asyncio.run(served_tokens.echoed(replying(reply), "m", "ab")),
    "tokens": served_tokens._token_ids,
    "text": served_tokens._decoded_text,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(deadline=None, max_examples=150)
@given(reply=REPLIES)
def test_any_json_is_an_answer_or_a_fault(reader, reply):
    with contextlib.suppress(CallError):
        reader(reply)


@pytest.mark.parametrize("depth", [100, 900, 990, 5000, 100_000])
@pytest.mark.parametrize("form", ["%s", '{"error": {"message": %s}}', '{"error": {"code": %s}}'])
def test_json_of_any_depth_is_a_fault(depth, form):
    raw = (form % ("[" * depth + "]" * depth)).encode()
    assert CLIENT._status_fault(Reply(400, {}, raw)).status == 400


@pytest.mark.parametrize("data", [5, True, {"id": "x"}, "names", None])
def test_a_listing_that_is_none_names_no_model(monkeypatch, data):
    class Listing:
        async def exchange(self, *_: Any) -> Reply:
            return Reply(200, {}, json.dumps({"data": data}).encode())

    monkeypatch.setattr(CLIENT, "_transport", Listing())
    assert asyncio.run(CLIENT.models()) == []


@pytest.mark.parametrize("count", [10**400, 2**53 + 1, -1, True, 2.5, "7", None])
def test_a_count_of_tokens_that_is_none_is_unknown(count):
    usage = {"prompt_tokens": count, "completion_tokens": count}
    (shared,) = served_chat._shares(usage, 1)
    assert (shared.prompt_tokens, shared.completion_tokens) == (0, 0)
    assert served_chat._shares({**usage, "completion_tokens": 2**53}, 1)[0].completion_tokens == 2**53


def test_names_of_models_steer_no_terminal(monkeypatch):
    class Listing:
        async def exchange(self, *_: Any) -> Reply:
            return Reply(200, {}, json.dumps({"data": [{"id": "good"}, {"id": "bad\x1b[2J"}, {}, "none"]}).encode())

    monkeypatch.setattr(CLIENT, "_transport", Listing())
    assert asyncio.run(CLIENT.models()) == ["good", "bad\ufffd[2J", "None"]
