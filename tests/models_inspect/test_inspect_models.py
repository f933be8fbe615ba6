"""``inspect:`` models through real providers: mockllm, an OpenAI-compatible server, and Inspect's own hf."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from batch_server import BatchServer
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from served_tools import KEY, NAME, ask

import kapwa
import warm
from kapwa.errors import MissingDependencyError, ModelError, UsageError
from kapwa.models.base import ModelOptions
from kapwa.models.gate import gate
from kapwa.models.inspect import load, responses_of, words
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
    assert response.usage == Usage(7, 7, cached_tokens=response.usage.cached_tokens)
    assert roles == [[("system", "s"), ("user", "u"), ("assistant", "a"), ("user", "v")]]
    (config,) = seen
    asked = (config.max_tokens, config.temperature, config.top_p, config.stop_seqs, config.seed, config.num_choices)
    assert asked == (9, 0.5, 0.9, ["\n"], 42, None)
    assert (config.reasoning_effort, config.cache, config.max_connections) == ("low", False, 64)


def test_reasons_and_refusals_keep_kapwas_words() -> None:
    def one(found: ModelOutput) -> tuple[Any, ...]:
        (response,) = responses_of([ask(0)], found)
        return gate(response).text, response.finish_reason, response.error

    assert one(output("cut", "max_tokens")) == ("cut", "length", None)
    assert one(output("half of it", "content_filter")) == (None, "content_filter", None)
    assert one(output([ContentText(text="No.", refusal=True)])) == ("No.", "declined", None)
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


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"always": {"item": 401}}, ("HTTP 401", "Set STUB_API_KEY to a key")),
        ({"always": {"item": 403}}, ("HTTP 403", "may not use this model")),
        ({"always": {"item": 404}}, ("HTTP 404", "Check the model's name")),
        ({"always": {"item": "429"}, "code": "insufficient_quota"}, ("HTTP 429", "quota is used up")),
        ({"refuse": ["model"]}, ("HTTP 400", "inspect:openai-api/stub/stub")),
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


def test_a_setting_that_is_refused_is_left_out_and_told(stub, connect) -> None:
    server = stub(refuse=["temperature", "seed"])
    model = connect(server.url, concurrency=1)
    responses = list(model.generate(ask(i, seed=4) for i in range(12)))
    assert not any(response.failed for response in responses)
    assert model.description["settings_refused"] == {"temperature": 0.0, "seed": 4}
    assert "temperature: the server's own; 0 was asked." in model.description["notes"]
    assert {"temperature", "seed"}.isdisjoint(server.arrivals()[-1]["asked"])


def test_thoughts_get_room_and_the_wish_is_said_in_inspects_settings(stub, connect) -> None:
    server = stub(thinks={"tokens": 300, "by": "hidden"})
    model = connect(server.url, concurrency=1)
    responses = list(model.generate(ask(i, max_new_tokens=32) for i in range(9)))
    assert {response.finish_reason for response in responses} == {"stop"}
    assert server.arrivals()[-1]["asked"]["max_tokens"] == 32 + 8192
    assert model.description["thinking_found"]["budget"] == 8192
    asked = connect(server.url, thinking="low", thinking_tokens=500)
    assert asked.fingerprint["thinking"] == "low"
    assert asked._settings_for(ask(1, max_new_tokens=32), 1, {})["reasoning_effort"] == "low"
    assert asked._settings_for(ask(1, max_new_tokens=32), 1, {})["max_tokens"] == 532
    counted = connect(server.url, thinking="2048")
    assert counted._settings_for(ask(1), 1, {})["reasoning_tokens"] == 2048


def test_a_server_that_is_gone_ends_the_run(connect) -> None:
    with pytest.raises(ModelError, match="Check 'base_url'"):
        list(connect("http://127.0.0.1:9/v1").generate(ask(i) for i in range(5)))


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
        ("kapwa/smollm2", {}, ("circle", "model='smollm2'")),
        ("mockllm/m", {"extra": {"temprature": 1}}, ("Did you mean 'temperature'?",)),
        ("mockllm/m", {"extra": {"max_connections": 9}}, ("'concurrency'",)),
        ("mockllm/m", {"extra": {"cache": True}}, ("'cache'",)),
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


def test_a_missing_key_a_missing_package_and_an_unknown_provider_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="antropic"):
        load("antropic/claude", ModelOptions())
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


def test_a_servers_square_brackets_are_text_and_inspects_markup_is_not() -> None:
    assert words(ValueError("effort must be one of [low, high]")) == "effort must be one of [low, high]"
    assert words(PrerequisiteError("[bold]ERROR[/bold]: no [blue]KEY[/blue] is set")) == "no KEY is set"


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
    assert (max(map(len, server.jobs)), sum(map(len, server.jobs))) == (10, 25)
    assert len(server.jobs) <= 5  # a busy machine may send one before it is full
    assert server.single == 0


def test_a_run_that_may_end_early_looks_once_a_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 400 questions of two cultures it asks 100 of each, in a job, and stops; then the rest, in another."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-used-anywhere")
    ids = [f"q{i}" for i in range(400)]
    questions = [f"{name},Food,What {name}?,{'Kenya' if i % 2 else 'Peru'},en" for i, name in enumerate(ids)]
    (tmp_path / "questions.csv").write_text(
        "\n".join(["id,topic,english,culture,language", *questions]), encoding="utf-8"
    )
    answers = [f"{name},rice,rice,2" for name in ids]
    (tmp_path / "answers.csv").write_text("\n".join(["id,local,english,votes", *answers]), encoding="utf-8")
    server = BatchServer()
    batch = {"size": 1000, "max_size": 1000, "send_delay": 1.0, "tick": 0.1}
    options = {"base_url": server.url, "extra": {"batch": batch, "max_retries": 0}, "progress": False}
    asked: dict[str, Any] = {"data": tmp_path, "variant": "en/inst-4", "path": tmp_path / "run", **options}
    try:
        run = kapwa.evaluate("blend/saq", "inspect:openai/gpt-4o", until=0.12, **asked)
        looks = run.table("looks").filter(pl.col("culture").is_null())["items"].to_list()
        sent = [len(job) for job in server.jobs]
        finished = kapwa.evaluate("blend/saq", "inspect:openai/gpt-4o", **asked)
    finally:
        server.close()
    assert run.stopped
    assert looks == [200]
    assert run.manifest["counts"]["answered"] == sum(sent) == 200
    assert len(sent) <= 2  # a busy machine may send one before it is full
    assert finished.complete
    assert (sum(map(len, server.jobs)), server.single) == (400, 0)


@pytest.mark.slow
def test_the_key_is_in_nothing_that_a_run_writes_or_prints(stub, tmp_path: Path) -> None:
    server = stub(echo_auth=True, echo_in_answer=True, faults={"500": 0.3})
    command = ["run", "kalahi/open", "--data", "sample:filipino", "--json"]
    command += ["--metrics", "chrf", "--limit", "6", "--model", f"inspect:{NAME}", "--base-url", server.url]
    command += ["--concurrency", "2", "--extra", "max_retries=0", "--extra", 'model_args={"max_retries": 0}']
    done = warm.kapwa(*command, cwd=tmp_path)
    assert server.report()["seen_auth"] == [f"Bearer {KEY}"]
    (folder,) = (tmp_path / "runs").iterdir()
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    everything = written + (done.stdout + done.stderr).encode()
    for form in (KEY, json.dumps(KEY)[1:-1], KEY.replace("/", "\\/"), KEY.replace("/", "%2F")):
        assert form.encode() not in everything
    answers = kapwa.open_run(folder).table("answers")
    assert any("[key removed]" in (text or "") for text in answers["text"]), "the server did quote it"
