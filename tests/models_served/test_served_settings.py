"""What servers refuse is learnt, left out and told; answers that are streamed are read."""

import json
from typing import Any

import pytest
from served_tools import ask

from kapwa.errors import ModelError
from kapwa.models.event_stream import StreamError, assembled
from kapwa.models.openai_client import CallError
from kapwa.models.refusals import Refusals
from kapwa.records import Message, Params, Request

# A setting, what servers say of it, and what is told; each in the words of another server.
REFUSALS = [
    ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value "
     "is supported.", True, "temperature: the server's own; 0 was asked."),
    ("temperature", "temperature is deprecated for this model.", False, "temperature: the server's own; 0 was asked."),
    ("temperature", "Invalid temperature: only 1 is allowed for this model", False, "temperature: the server's own"),
    ("temperature", "`temperature` must be strictly positive", False, "temperature: the server's own"),
    ("temperature", "This model does not support the temperature parameter", False, "temperature: the server's own"),
    ("temperature", "1 validation error for Request\nbody.temperature\n  Extra inputs are not permitted", False,
     "temperature: the server's own"),
    ("temperature", "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support temperature=0. "
     "Only temperature=1 is supported.", False, "temperature: the server's own"),
    ("top_p", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", True,
     "top_p: the server's own; 0.9 was asked."),
    ("top_p", "topP is not supported by this model", False, "top_p: the server's own; 0.9 was asked."),
    ("seed", "Argument not supported on this model: seed", False, "seed: the server's own; 5 was asked."),
    ("seed", "property 'seed' is unsupported", False, "seed: the server's own; 5 was asked."),
    ("stop", "Unsupported parameter: 'stop' is not supported with this model.", True, "stop: the server's own"),
    ("stop", "Stop sequences are not supported for this model", False, "stop: the server's own; ['END'] was asked."),
    ("system", "System role not supported", False, "system message: put before the first question"),
    ("system", "Developer instruction is not enabled for models/gemma-3-27b-it", False, "system message: put before"),
    ("system", "Unsupported value: 'messages[0].role' does not support 'system' with this model.", False,
     "system message: put before the first question"),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "message", "param", "told"), REFUSALS)
def test_a_refused_setting_is_learnt_once_left_out_and_told(stub, connect, setting, message, param, told):
    server = stub(refusals=[{"setting": setting, "message": message, "param": param}])
    model = connect(server.url, concurrency=1)
    turns = (Message("system", "Be brief."), Message("user", "Which drink?"))
    params = Params(top_p=0.9, seed=5, stop=("END",), temperature=0.0)
    requests = [Request(f"i{i}", "full", "generate", turns, params=params, key=f"k{i}") for i in range(20)]
    responses = list(model.generate(requests))
    assert [response.error for response in responses] == [None] * 20
    arrivals = [entry["asked"] for entry in server.arrivals()]
    assert len(arrivals) <= 23  # those that were under way when the first was refused are asked twice
    if setting == "system":
        assert arrivals[-1]["messages"] == [{"role": "user", "content": "Be brief.\n\nWhich drink?"}]
    else:
        assert setting in arrivals[0]
        assert sum(setting in asked for asked in arrivals) <= 3
    assert {"temperature", "top_p", "seed", "stop"} - {setting} <= set(arrivals[-1])  # no other setting is given up
    assert list(model.description["settings_refused"]) == [setting]
    assert any(told in note for note in model.description["notes"])


def test_several_refused_settings_are_learnt_one_after_another(stub, connect):
    refusals = [{"setting": name, "message": f"{name} is not supported"} for name in ("temperature", "seed", "system")]
    server = stub(refusals=refusals)
    model = connect(server.url)
    turns = (Message("system", "Be brief."), Message("user", "Which drink?"))
    requests = [Request("i", "full", "generate", turns, params=Params(seed=1), key=f"k{i}") for i in range(30)]
    assert not any(response.failed for response in model.generate(requests))
    assert set(model.description["settings_refused"]) == {"temperature", "seed", "system"}


def test_no_limit_is_sent_where_both_names_of_it_are_refused(stub, connect):
    refusals = [
        {"setting": name, "message": f"Unsupported parameter: '{name}' is not supported.", "param": True}
        for name in ("max_tokens", "max_completion_tokens")
    ]
    model = connect(stub(refusals=refusals).url, concurrency=1)
    assert [response.error for response in model.generate([ask(1), ask(2)])] == [None, None]
    assert model.description["settings_refused"] == {"length": 256}


def test_a_setting_that_is_refused_though_not_sent_names_the_remedy(stub, connect):
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    # The model's name is in every request, so the server complains whatever else is sent.
    model = connect(stub(refusals=[{"setting": "model", "message": message, "param": False}]).url)
    (response,) = model.generate([ask(1)])
    assert "temperature" in response.error
    assert "settings_refused" not in model.description  # nothing got through without it, so nothing was learnt


def test_a_question_quoted_in_an_error_blames_no_setting():
    question = "The temperature setting is not supported by my oven: which dish needs seed oil?"
    fault = CallError(f"HTTP 400: invalid input: {question}", status=400)
    sent = {"model": "m", "temperature": 0, "seed": 3, "messages": [{"role": "user", "content": question}]}
    assert Refusals().blamed(fault, sent, [Message("user", question)]) is None


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
        "Input data may contain inappropriate content.",
        "Content Exists Risk",
        "The response was filtered due to the prompt triggering content management policy",
        "Invalid JSON in request body",
    ],
)
def test_other_errors_teach_nothing(message):
    sent: dict[str, Any] = {
        "model": "m",
        "temperature": 0,
        "top_p": 1,
        "seed": 3,
        "stop": ["x"],
        "n": 2,
        "max_tokens": 5,
    }
    sent["messages"] = [{"role": "system", "content": "Be brief."}]
    assert Refusals().blamed(CallError(message, status=400), sent, []) is None


@pytest.mark.parametrize(
    "message",
    ["Non-streaming is not supported for this model, please set stream=true", "stream must be set to true",
     "This model only supports streaming.", "parameter.enable_thinking must be set to false for non-streaming calls"],
)  # fmt: skip
def test_a_server_that_only_streams_is_read(stub, connect, message):
    server = stub(stream_only=message)
    model = connect(server.url, concurrency=1)
    first, second = sorted(
        model.generate([ask(1), ask(2, text="What do people drink? सत्तू")]), key=lambda r: r.request_key
    )
    assert second.text == "answer to What do people drink? सत्तू seed None choice 0"
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (7, 4)
    assert [entry["asked"].get("stream") for entry in server.arrivals()][-2:] == [True, True]
    assert "answers were streamed" in " ".join(model.description["notes"])


def test_a_stream_that_breaks_off_is_asked_again(stub, connect):
    server = stub(always={"item 1": "cut"})
    model = connect(server.url, extra={"body": {"stream_options": {}}, "attempts": 2})
    model._dialect.refusals.learnt["stream"] = False
    responses = {response.request_key: response for response in model.generate([ask(1), ask(2)])}
    assert "cut before the answer was complete" in responses["1/0"].error
    assert responses["2/0"].text.startswith("answer to item 2")


def test_events_are_put_together_as_a_server_would_have_answered():
    parts = [
        {"id": "a", "choices": [{"index": 1, "delta": {"role": "assistant", "content": "b"}}]},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "so "}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_content": "so"}}, {"index": 1, "delta": {"content": "c"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}, {"index": 1, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    ]
    raw = ": keep-alive\r\n\r\n" + "".join(f"event: x\r\ndata: {json.dumps(part)}\r\n\r\n" for part in parts)
    assert assembled(f"{raw}data: [DONE]\n\n".encode()) == {
        "id": "a",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "reasoning_content": "so so", "content": "a"},
                "finish_reason": "stop",
            },
            {"index": 1, "message": {"role": "assistant", "content": "bc"}, "finish_reason": "length"},
        ],
    }


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n', "cut before"),
        (b'data: {"error": {"message": "overloaded"}}\n\n', "overloaded"),
        (b"data: {nonsense\n\n", "not valid JSON"),
        (b"", "cut before"),
    ],
)
def test_a_stream_without_a_whole_answer_says_why(raw, says):
    with pytest.raises(StreamError, match=says):
        assembled(raw)


def test_every_request_refused_by_name_stops_the_run_with_the_remedy(stub, connect):
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    server = stub(refuse=[], refusals=[{"setting": "temperature", "message": message, "param": True}])
    model = connect(server.url, extra={"body": {"temperature": 0}})
    (response,) = model.generate([ask(1)])
    assert response.text is not None  # even what --extra body sets is left out
    assert model.description["settings_refused"] == {"temperature": 0}
    stubborn = stub(refusals=[{"setting": "model", "message": message, "param": True}])
    with pytest.raises(ModelError):
        list(connect(stubborn.url).generate([ask(1)]))
