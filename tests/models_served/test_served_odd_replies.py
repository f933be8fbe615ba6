"""Whatever JSON a server replies with is an answer or a fault of that one call, never an error of our own."""

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

from kapwa.models import openai_chat, openai_scoring
from kapwa.models.openai_client import CallError, Client

CLIENT = Client("http://127.0.0.1:1/v1", timeout=1)
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
    *("error", "detail", "code", "param", "tokens", "prompt", "text", "data"),
    choices=VALUES | st.lists(CHOICES, min_size=1, max_size=3),
    usage=COUNTS,
    meta_info=VALUES | maps(input_token_logprobs=st.lists(st.tuples(VALUES, ODD).map(list), min_size=2, max_size=2)),
)


def replying(reply: Any) -> Any:
    async def call(_path: str, _body: Any, parse: Callable[[Any], Any]) -> Any:
        return parse(reply)

    return SimpleNamespace(call=call, root="")


def listed(reply: Any) -> list[str]:
    client = Client("http://127.0.0.1:1/v1", timeout=1)

    async def exchange(*_: Any) -> Any:
        return reply

    client._exchange = exchange  # type: ignore[method-assign]
    return asyncio.run(client.models())


READERS: dict[str, Callable[[Any], Any]] = {
    "answers": lambda reply: openai_chat._answers([ask(1, 0), ask(1, 1)], CLIENT, reply),
    "failure": lambda reply: CLIENT._status_fault(400, {}, json.dumps(reply).encode()),
    "listing": listed,
    "vllm": lambda reply: asyncio.run(openai_scoring.vllm_logprobs(replying(reply), "m", [1, 2], 1)),
    "sglang": lambda reply: asyncio.run(openai_scoring.sglang_logprobs(replying(reply), "m", [1, 2], 1)),
    "echo": lambda reply: asyncio.run(openai_scoring.echoed(replying(reply), "m", "ab")),
    "tokens": openai_scoring.token_ids,
    "text": openai_scoring.decoded_text,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(deadline=None, max_examples=100)
@given(reply=REPLIES)
def test_any_json_is_an_answer_or_a_fault(reader, reply):
    with contextlib.suppress(CallError):
        reader(reply)


@pytest.mark.parametrize("count", [10**400, 2**53 + 1, -1, True, 2.5, "7", None])
def test_a_count_of_tokens_that_is_none_is_unknown(count):
    assert openai_chat.counted(count) == 0
    assert openai_chat.counted(2**53) == 2**53


def test_names_of_models_steer_no_terminal():
    assert listed({"data": [{"id": "good"}, {"id": "bad\x1b[2J"}, {}, "none"]}) == ["good", "bad\ufffd[2J", "None"]
    assert listed({"data": 5}) == []
