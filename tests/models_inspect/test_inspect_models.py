"""``inspect:`` models through real providers: mockllm, an OpenAI-compatible server, and Inspect's own hf."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import gaierror
from typing import Any

import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_tools import KEY
from served_tools import ask

import kapwa
from kapwa.errors import MissingDependencyError, ModelError, UsageError
from kapwa.models.base import ModelOptions
from kapwa.models.inspect import load, responses_of
from kapwa.models.inspect_faults import Fault, trouble, words
from kapwa.records import Message, Params, Request, Usage

USAGE = ModelUsage(input_tokens=5, input_tokens_cache_read=2, output_tokens=7, total_tokens=14)


def output(text: Any, reason: Any = "stop", usage: ModelUsage | None = USAGE) -> ModelOutput:
    found = ModelOutput.from_content("m", text, stop_reason=reason)
    found.usage = usage
    return found


def known(answer: Callable[[str, GenerateConfig], Any]) -> dict[str, Any]:
    """The mockllm provider that answers a prompt with what ``answer`` says."""

    def custom(messages: Any, _tools: Any, _choice: Any, config: GenerateConfig) -> ModelOutput:
        found = answer(messages[-1].text, config)
        return found if isinstance(found, ModelOutput) else output(found)

    return {"name": "mockllm/model", "extra": {"model_args": {"custom_outputs": custom}}}


def test_everything_a_request_says_is_sent(connect) -> None:
    seen: list[Any] = []
    roles: list[Any] = []

    def custom(messages: Any, _tools: Any, _choice: Any, config: GenerateConfig) -> ModelOutput:
        roles.append([(message.role, message.text) for message in messages])
        seen.append(config)
        return output("fine")

    model = connect(name="mockllm/model", extra={"model_args": {"custom_outputs": custom}, "reasoning_effort": "low"})
    turns = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    params = Params(max_new_tokens=9, temperature=0.5, top_p=0.9, stop=("\n",), seed=40)
    (response,) = model.generate([Request("i", "full", "generate", turns, params=params, sample=2, key="k")])
    assert (response.request_key, response.text, response.finish_reason) == ("k", "fine", "stop")
    assert response.usage == Usage(7, 7)
    assert roles == [[("system", "s"), ("user", "u"), ("assistant", "a"), ("user", "v")]]
    (config,) = seen
    asked = (config.max_tokens, config.temperature, config.top_p, config.stop_seqs, config.seed, config.num_choices)
    assert asked == (9, 0.5, 0.9, ["\n"], 42, None)
    assert (config.reasoning_effort, config.cache, config.max_connections) == ("low", False, 64)


def test_a_setting_goes_before_the_requests_and_null_leaves_it_to_the_provider(connect) -> None:
    seen: list[GenerateConfig] = []
    mock = known(lambda _, config: seen.append(config) or "x")
    mock["extra"] |= {"max_tokens": 4000, "temperature": None}
    list(connect(**mock).generate([ask(0, max_new_tokens=5)]))
    assert (seen[0].max_tokens, seen[0].temperature) == (4000, None)


def test_only_the_text_of_a_reasoning_model_is_its_answer(connect) -> None:
    thought = [ContentReasoning(reasoning="two and two"), ContentText(text="four")]
    model = connect(**known(lambda *_: output(thought)))
    assert [response.text for response in model.generate([ask(0)])] == ["four"]


def test_reasons_and_refusals_keep_kapwas_words() -> None:
    def one(found: ModelOutput) -> tuple[Any, ...]:
        (response,) = responses_of([ask(0)], found)
        return response.text, response.finish_reason, response.error

    assert one(output("cut", "max_tokens")) == ("cut", "length", None)
    assert one(output("half of it", "content_filter")) == ("", "content_filter", None)
    assert one(output([ContentText(text="No.", refusal=True)])) == ("No.", "refusal", None)
    assert one(output("full", "model_length")) == ("full", "length", None)
    too_long = one(output("maximum context length is 10", "model_length", usage=None))
    assert too_long[:2] == (None, None)
    assert "too long for the model: maximum context length is 10" in too_long[2]
    assert "holds no text" in one(ModelOutput(model="m"))[2]


def test_a_calls_tokens_are_shared_among_its_samples() -> None:
    choices = [ChatCompletionChoice(message=ChatMessageAssistant(content=text)) for text in "abc"]
    found = ModelOutput(model="m", choices=choices, usage=USAGE)
    responses = responses_of([ask(0, sample) for sample in range(3)], found)
    assert [response.text for response in responses] == ["a", "b", "c"]
    usages = [response.usage for response in responses]
    assert sum(usage.prompt_tokens for usage in usages if usage) == 7
    assert sum(usage.completion_tokens for usage in usages if usage) == 7


def test_answers_come_from_a_server_as_they_finish(stub, connect) -> None:
    server = stub(always={"item 0": "timeout"})
    answers = connect(server.url, concurrency=4).generate(ask(i) for i in range(20))
    first = list(itertools.islice(answers, 19))
    assert {response.request_key for response in first} == {f"{i}/0" for i in range(1, 20)}
    assert all("answer to item" in (response.text or "") for response in first)
    answers.close()
    left = [entry for entry in _until(server, lambda log: any(entry.get("left") for entry in log)) if entry.get("left")]
    assert len(left) == 1, "closing hangs up on what is open"


def _until(server: Any, done: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    import time

    for _ in range(100):
        log = server.arrivals()
        if done(log):
            return log
        time.sleep(0.05)
    raise AssertionError(log)


def test_concurrency_bounds_open_calls_and_requests_are_taken_lazily(stub, connect) -> None:
    taken = 0

    def requests() -> Iterator[Request]:
        nonlocal taken
        for i in range(60):
            taken += 1
            yield ask(i)

    server = stub(delay=0.02)
    answers = connect(server.url, concurrency=3).generate(requests())
    next(answers)
    assert taken <= 12
    assert len(list(answers)) == 59
    assert 1 < server.report()["most_open"] <= 6  # the server counts a call a little longer than the client


def test_samples_are_asked_for_together_where_the_provider_can(stub, connect) -> None:
    server = stub()
    asked = [ask(0, sample, temperature=0.7, seed=10) for sample in range(4)]
    responses = list(connect(server.url).generate(asked))
    assert [response.request_key for response in responses] == ["0/0", "0/1", "0/2", "0/3"]
    assert len({response.text for response in responses}) == 4
    (arrival,) = server.arrivals()
    assert arrival["asked"]["n"] == 4


def test_samples_are_asked_for_one_by_one_where_it_cannot(stub, connect) -> None:
    server = stub(choices=1)
    asked = [ask(i, sample, temperature=0.7, seed=10) for i in range(2) for sample in range(3)]
    responses = list(connect(server.url, concurrency=1).generate(asked))
    assert sorted(response.request_key for response in responses) == sorted(request.key for request in asked)
    seeds = [entry["asked"]["seed"] for entry in server.arrivals() if "item 0" in json.dumps(entry["asked"])]
    assert sorted(seeds) == [10, 11, 12]


def test_an_item_that_fails_is_an_error_of_its_own_and_the_rest_goes_on(stub, connect) -> None:
    server = stub(always={"item 1": "500", "item 2": 400})
    found = {response.request_key: response for response in connect(server.url).generate(ask(i) for i in range(4))}
    assert found["0/0"].text
    assert found["3/0"].text
    assert "HTTP 500" in (found["1/0"].error or "")
    assert "HTTP 400" in (found["2/0"].error or "")
    assert len(found["1/0"].error or "") < 350


def test_no_answer_in_time_is_an_error(stub, connect) -> None:
    server = stub(always={"item 1": "timeout"})
    found = {response.request_key: response for response in connect(server.url, timeout=3).generate([ask(0), ask(1)])}
    assert found["0/0"].text
    assert "attempt_timeout '3' exceeded" in (found["1/0"].error or "")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"always": {"item": 401}}, ("HTTP 401", "Set STUB_API_KEY to a key")),
        ({"always": {"item": 403}}, ("HTTP 403", "may not use this model")),
        ({"always": {"item": 404}}, ("HTTP 404", "Check the model's name")),
        ({"always": {"item": "429"}, "code": "insufficient_quota"}, ("HTTP 429", "quota is used up")),
        ({"refuse": ["temperature"]}, ("HTTP 400", "inspect:openai-api/stub/stub")),
    ],
)
def test_what_every_request_would_meet_ends_the_run(stub, connect, config, words) -> None:
    server = stub(echo_auth=True, **config)
    with pytest.raises(ModelError) as failure:
        list(connect(server.url, concurrency=2).generate(ask(i) for i in range(50)))
    for word in words:
        assert word in str(failure.value)
    assert KEY not in str(failure.value)
    assert len(server.arrivals()) < 50


def test_a_server_that_is_gone_ends_the_run(connect) -> None:
    with pytest.raises(ModelError, match="Check --base-url"):
        list(connect("http://127.0.0.1:9/v1").generate(ask(i) for i in range(5)))


def test_a_table_that_cannot_be_downloaded_is_no_fault_of_the_models_server(
    connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests
    import tiktoken.load
    import tiktoken.registry

    def away(url: str) -> None:
        raise requests.ConnectionError("no route", request=requests.Request("GET", url).prepare()) from gaierror(
            -2, "?"
        )

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(requests, "get", away)
    with pytest.raises(
        ModelError, match=r"cannot be downloaded from openaipublic\.blob\.core\.windows\.net"
    ) as failure:
        list(connect(name="mockllm/model").generate([ask(0)]))
    assert "base-url" not in str(failure.value)
    assert "TIKTOKEN_CACHE_DIR" in str(failure.value.hint)


def test_a_name_that_inspect_knows_is_not_suggested_for_itself() -> None:
    def hint(name: str) -> str:
        return str(trouble(Fault("HTTP 404: not found", status=404), name, ()).hint)

    assert "Did you mean" not in hint("openai/gpt-4o")
    assert "openai/gpt-4o" not in hint("openai/gpt-4o")
    assert "--base-url" in hint("openai/gpt-4o")
    assert "Did you mean 'openai/gpt-4o'?" in hint("openai/gpt-4oo")


def test_the_key_is_in_no_error_and_nothing_the_model_says_of_itself(stub, connect) -> None:
    server = stub(echo_auth=True, faults={"500": 1.0})
    model = connect(server.url, extra={"extra_headers": {"X-Team": "secret-team-header"}})
    (response,) = model.generate([ask(0)])
    assert server.report()["seen_auth"] == [f"Bearer {KEY}"]
    said = json.dumps([response.error, model.fingerprint, model.description, model.id])
    assert KEY not in said
    assert "secret-team-header" not in said
    assert "X-Team" in said


def test_another_header_makes_another_run_and_another_key_does_not(stub, connect) -> None:
    url = stub().url

    def asked_with(**headers: str) -> object:
        return connect(url, extra={"extra_headers": headers}).fingerprint["settings"]

    assert asked_with(beta="a") == asked_with(beta="a") != asked_with(beta="b")
    assert asked_with(Authorization="first key") == asked_with(Authorization="second key")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("gpt-4o", {}, ("names no provider",)),
        ("openai/", {}, ("names no provider",)),
        ("antropic/claude", {}, ("no provider 'antropic'", "Did you mean 'anthropic'?")),
        ("kapwa/smollm2", {}, ("circle", "--model smollm2")),
        ("mockllm/m", {"extra": {"temprature": 1}}, ("Did you mean 'temperature'?",)),
        ("mockllm/m", {"extra": {"max_connections": 9}}, ("--concurrency",)),
        ("mockllm/m", {"extra": {"cache": True}}, ("--cache",)),
        ("mockllm/m", {"extra": {"system_message": "x"}}, ("every prompt",)),
        ("mockllm/m", {"extra": {"reasoning_effort": "lots"}}, ("'reasoning_effort'",)),
        ("mockllm/m", {"extra": {"model_args": {"api_key": "k"}}}, ("recorded with the results",)),
        ("mockllm/m", {"extra": {"model_args": {"headers": [{"Authorization": "k"}]}}}, ("extra_headers",)),
        ("mockllm/m", {"extra": {"extra_body": {"user": {"api_key": "k"}}}}, ("extra_body cannot hold 'api_key'",)),
        ("mockllm/m", {"extra": {"model_args": 3}}, ("must be a mapping",)),
        ("mockllm/m", {"template": "plain"}, ("no plain template",)),
        ("openai-api/stub/m", {"base_url": "http://user:pw@host/v1"}, ("must not hold a user",)),
    ],
)
def test_a_slip_is_told_before_anything_is_asked(name: str, settings: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as failure:
        load(name, ModelOptions(**settings))
    for word in words:
        assert word in str(failure.value)


def test_a_missing_key_and_a_missing_package_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        load("openai/gpt-4o", ModelOptions())
    with pytest.raises(ModelError, match="anthropic"):
        load("anthropic/claude-sonnet-4-5", ModelOptions())
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'kapwa\[inspect\]'"):
        load("openai/gpt-4o", ModelOptions())


def test_what_is_fetched_how_is_not_the_models_identity_but_what_is_asked_is(stub, connect) -> None:
    server = stub()
    plain = connect(server.url).fingerprint
    assert connect(server.url, concurrency=2, timeout=5, extra={"batch": True, "max_retries": 3}).fingerprint == plain
    assert connect(server.url, extra={"reasoning_effort": "low"}).fingerprint != plain
    assert connect(server.url, revision="2026-11").fingerprint != plain
    assert json.loads(json.dumps(plain)) == plain


def test_what_only_sounds_like_a_secret_may_be_set() -> None:
    extra = {"model_args": {"tokenizer": "x", "max_tokens": "9"}, "extra_body": {"schema": {"key": {"type": "string"}}}}
    load("mockllm/model", ModelOptions(extra=extra)).close()


def test_waiting_without_end_is_possible() -> None:
    model = load("mockllm/model", ModelOptions(timeout=math.inf))
    assert model.description["fetching"]["attempt_timeout"] is None
    model.close()


@pytest.mark.parametrize(("batch", "batched"), [("no", False), (False, False), ("yes", True), ({"size": 5}, True)])
def test_batch_mode_is_what_inspect_takes_for_it(batch: object, batched: bool) -> None:
    model = load("mockllm/model", ModelOptions(extra={"batch": batch}))
    assert ("attempt_timeout" in model.description["fetching"]) is not batched
    assert (model.description["concurrency"] is None) is batched
    model.close()


def test_a_servers_square_brackets_are_text_and_inspects_markup_is_not() -> None:
    assert words(ValueError("effort must be one of [low, high]")) == "effort must be one of [low, high]"
    assert words(PrerequisiteError("[bold]ERROR[/bold]: no [blue]KEY[/blue] is set")) == "no KEY is set"
    assert words(PrerequisiteError("a stray [/tag]")) == "a stray [/tag]"


def test_loading_leaves_the_programs_own_way_of_showing_errors() -> None:
    hook = sys.excepthook
    load("mockllm/model", ModelOptions()).close()
    assert sys.excepthook is hook


def test_nothing_can_be_scored_and_why() -> None:
    with pytest.raises(ModelError, match="no log-probability of a given text"):
        kapwa.evaluate(kapwa.load_task("kalahi/mc", limit=1), kapwa.load_model("inspect:mockllm/model"))


def test_memory_is_bounded_in_long_runs(connect) -> None:
    """Inspect keeps a record of each call; none may stay."""
    import gc

    from inspect_ai.event import ModelEvent

    model = connect(**known(lambda text, _: text))
    answers = model.generate(ask(i) for i in range(1200))
    for _ in range(900):
        next(answers)
    gc.collect()
    held = sum(type(one) is ModelEvent for one in gc.get_objects())
    assert held <= 300
    assert sum(1 for _ in answers) == 300
