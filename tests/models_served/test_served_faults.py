"""Against a server that misbehaves: nothing lost, nothing twice, limits kept, and the key never shown."""

import asyncio
import contextlib
import json
import socket
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served_tools import ask

import kapwa
from kapwa.errors import ModelError
from kapwa.models import openai_chat, openai_scoring
from kapwa.models.gate import token_count
from kapwa.models.openai_client import CallError, Client
from kapwa.runs.store import AnswerStore

MIXED = {
    "429": 0.06,
    "500": 0.05,
    "timeout": 0.02,
    "cut": 0.04,
    "reset": 0.03,
    "badjson": 0.04,
    "empty": 0.03,
}


def test_mixed_faults_lose_and_double_nothing(stub, connect):
    server = stub(delay=0.01, faults=MIXED, retry_after=0.2, seed=3)
    model = connect(server.url, concurrency=24, timeout=5)  # a busy machine may take a second for so many
    responses = list(model.generate(ask(i) for i in range(400)))
    assert sorted(r.request_key for r in responses) == sorted(f"{i}/0" for i in range(400))
    for response in responses:
        number = response.request_key.split("/")[0]
        assert response.error or response.text == f"answer to item {number} seed None choice 0"
    # 30 % faults and 8 attempts: 0.3 ** 8 is 7 in 100,000.
    assert sum(r.failed for r in responses) <= 2
    report = server.report()
    seen = {entry["fault"] for entry in report["log"]}
    assert seen == {None, *MIXED}, "every kind of fault was met"
    # Calls that were given up may be open at the server for a moment longer.
    assert report["most_open"] <= 2 * 24


def test_what_never_works_is_reported_with_the_reason(stub, connect):
    server = stub(always={"item 1": "badjson", "item 2": "empty", "item 3": 500, "item 4": "cut", "item 5": "none"})
    model = connect(server.url, extra={"attempts": 3})
    errors = {r.request_key: r.error for r in model.generate([ask(i) for i in range(6)])}
    assert errors == {
        "0/0": None,
        "1/0": "the answer is not valid JSON (after 3 attempts)",
        "2/0": "the answer holds no choices (after 3 attempts)",
        "3/0": "HTTP 500: made up 500 (after 3 attempts)",
        "4/0": "the connection was cut before the answer was complete (after 3 attempts)",
        "5/0": None,  # null content is an answer without a text
    }
    assert sum("item 3" in str(entry["asked"]) for entry in server.arrivals()) == 3


@pytest.mark.parametrize("status", [400, 422])
def test_a_bad_request_fails_its_item_at_once(stub, connect, status):
    server = stub(always={"item 7": status})
    done = {r.request_key: r for r in connect(server.url).generate([ask(i) for i in (6, 7, 8)])}
    assert done["7/0"].error == f"HTTP {status}: made up {status}"
    assert done["6/0"].text
    assert done["8/0"].text
    assert len(server.arrivals()) == 3


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "OPENAI_API_KEY"), (403, "permissions"), (404, "no model 'stubb'.*'stub'")]
)
def test_what_no_request_survives_ends_the_call(stub, connect, status, remedy):
    server = stub(always={"item 30": status}, delay=0.01)
    model = connect(server.url, name="stubb", concurrency=4)
    answered = []
    with pytest.raises(ModelError, match=f"HTTP {status}(?s:.)*{remedy}"):
        answered += [answered.append(r) for r in model.generate(ask(i) for i in range(200))]
    assert len(server.arrivals()) < 60
    # What was answered before the end was handed over, not thrown away.
    assert len(answered) >= sum(e["fault"] is None and "done" in e for e in server.arrivals()[:20])


def test_a_used_up_quota_ends_the_call_at_once(stub, connect):
    server = stub(always={"item": 429}, code="insufficient_quota")
    with pytest.raises(ModelError, match="quota is used up"):
        list(connect(server.url).generate([ask(1)]))
    assert len(server.arrivals()) == 1


@pytest.mark.parametrize("kind", ["429", "429date"])
def test_retry_after_is_obeyed(stub, connect, kind):
    wait = 2 if kind == "429date" else 1.2  # dates have whole seconds
    server = stub(faults={kind: 0.15}, retry_after=wait, seed=3)
    done = list(connect(server.url, concurrency=4).generate(ask(i) for i in range(20)))
    assert all(r.text for r in done)
    log = server.arrivals()
    refused = [e for e in log if e["fault"] == kind]
    assert refused
    for entry in refused:
        # Nobody, not only the refused request, sends anything new while the server asked for quiet.
        # Half a second is for news to travel on a busy machine.
        early = [e for e in log if entry["done"] + 0.5 < e["t"] < entry["done"] + wait - 0.1]
        assert not early


def test_a_wait_beyond_patience_ends_the_call(stub, connect):
    with pytest.raises(ModelError, match=r"asks to wait 7200 s(?s:.)*Wait that long"):
        list(connect(stub(always={"item": "429"}, retry_after=7200).url).generate([ask(1)]))


def test_no_more_calls_are_open_than_were_allowed(stub, connect):
    server = stub(delay=0.05, faults={"500": 0.2}, seed=2)
    assert len(list(connect(server.url, concurrency=20).generate(ask(i) for i in range(300)))) == 300
    assert 5 < server.report()["most_open"] <= 20


def test_what_a_server_says_steers_no_terminal():
    client = Client("http://127.0.0.1:1/v1", timeout=1)
    assert client.quoted("a\x1b[2J\x9bb\ud800\n\tc" + "d" * 1000) == "a\ufffd[2J\ufffdb\ufffd c" + "d" * 290


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(connect, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-can\nary")
    with pytest.raises(ModelError, match="no key has") as caught:
        connect("http://127.0.0.1:1/v1")
    assert "ary" not in str(caught.value).replace("Copy", "")


def closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_a_server_that_is_down_is_named_with_the_remedy(connect):
    url = f"http://127.0.0.1:{closed_port()}/v1"
    with pytest.raises(ModelError, match=f"{url}: cannot connect(?s:.)*'base_url'"):
        connect(url)


def test_a_server_that_dies_during_a_run_ends_the_call(stub, connect):
    server = stub(delay=0.01)
    model = connect(server.url, concurrency=8, extra={"attempts": 3})
    answers = model.generate(ask(i) for i in range(5000))
    got = [next(answers) for _ in range(50)]
    server.stop()
    with pytest.raises(ModelError, match="cannot connect"):
        got += [got.append(r) for r in answers]
    answered = [r for r in got if r is not None]
    assert 50 <= len(answered) < 200


def test_a_lone_surrogate_fails_its_item_only(stub, connect):
    done = {r.request_key: r for r in connect(stub().url).generate([ask(1, text="bad \ud800"), ask(2)])}
    assert "lone surrogate" in done["1/0"].error
    assert done["2/0"].text


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FAULTS = dict.fromkeys(("429", "500", "reset", "timeout", "garbage"), 0.1)
N = 5_000


def counts(url: str) -> dict:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{url.removesuffix('/v1')}/count") as reply:
        return json.load(reply)


@pytest.mark.slow
def test_half_of_all_requests_fail_at_first_and_every_one_is_answered_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import serving

    with serving.stub(delay=0.02, faults=FAULTS, first=True) as url:
        model = serving.connected(url, 512, timeout=5)  # a busy machine takes a second for so many
        run = kapwa.evaluate(serving.Asking(N), model, path=tmp_path / "run", progress=False)
        seen = counts(url)
        again = kapwa.evaluate(serving.Asking(N), model, path=tmp_path / "run", progress=False)
        model.close()
        assert counts(url)["calls"] == seen["calls"], "a second run asks nothing"
    scores = run.table("scores")
    assert Counter(scores["item_id"]) == Counter(map(str, range(N)))
    assert scores["value"].to_list() == [1.0] * N, "every answer is the one to its own question"
    assert run.manifest["status"] == again.manifest["status"] == "complete"
    journal = AnswerStore(tmp_path / "run" / "journal.sqlite", mode="read")
    assert journal.counts() == (N, 0)
    journal.close()
    assert seen["items"] == N
    assert set(seen["dealt"]) == set(FAULTS)
    for kind, times in seen["dealt"].items():
        assert 0.08 * N < times < 0.12 * N, kind
    assert seen["most_open"] <= 512


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
@settings(deadline=None, max_examples=50)
@given(reply=REPLIES)
def test_any_json_is_an_answer_or_a_fault(reader, reply):
    with contextlib.suppress(CallError):
        reader(reply)


@pytest.mark.parametrize("count", [10**400, 2**53 + 1, -1, True, 2.5, "7", None])
def test_a_count_of_tokens_that_is_none_is_unknown(count):
    assert token_count(count) is None
    assert token_count(2**53) == 2**53


def test_names_of_models_steer_no_terminal():
    assert listed({"data": [{"id": "good"}, {"id": "bad\x1b[2J"}, {}, "none"]}) == ["good", "bad\ufffd[2J", "None"]
    assert listed({"data": 5}) == []
