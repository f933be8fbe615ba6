"""Models that think, behind servers: how they are asked to, what room their thoughts get, and what is told of it."""

import json

import pytest
from served_tools import ask

from kapwa.errors import UsageError
from kapwa.models.base import ModelOptions
from kapwa.models.thinking_settings import BUDGET, Wish, request_settings, wish_of


@pytest.mark.parametrize("by", ["field", "count", "hidden"])
def test_thoughts_get_room_beside_the_answer(stub, connect, by):
    server = stub(thinks={"tokens": 300, "by": by})
    model = connect(server.url, concurrency=2)
    responses = list(model.generate(ask(i, max_new_tokens=32) for i in range(30)))
    assert {response.finish_reason for response in responses} == {"stop"}
    assert all(response.text.startswith("answer to item") for response in responses)
    limits = [entry["asked"]["max_tokens"] for entry in server.arrivals()]
    assert limits.count(32) <= 2  # those under way when the first answer came; who waited for a place learnt of it
    assert set(limits) == {32, 32 + BUDGET}
    # What was paid for answers that were asked for again is counted, too: 7 tokens read a request.
    assert sum(response.usage.prompt_tokens for response in responses) == 7 * len(limits)
    told = model.description["thinking_found"]
    assert told == {"asked": "the model's own", "found": "thoughts", "budget": BUDGET, "budget_sent": "the sum"}
    assert f"{BUDGET:,} tokens beside the answer's" in " ".join(model.description["notes"])


def test_a_model_that_does_not_think_is_asked_as_ever(stub, connect):
    server = stub()
    model = connect(server.url)
    responses = list(model.generate(ask(i, max_new_tokens=32) for i in range(9)))
    assert {response.finish_reason for response in responses} == {"stop"}
    assert {entry["asked"]["max_tokens"] for entry in server.arrivals()} == {32}
    assert {entry["asked"]["temperature"] for entry in server.arrivals()} == {0}
    assert "thinking_found" not in model.description
    assert model.description["notes"] == []
    assert not {"thinking", "thinking_tokens", "sampling"} & model.fingerprint.keys()  # keys of earlier runs stay


def test_greedy_is_left_to_the_server_where_a_model_thinks_unless_it_was_asked_for(stub, connect):
    server = stub(thinks={"tokens": 3, "by": "field"})
    model = connect(server.url, concurrency=1)
    list(model.generate(ask(i) for i in range(12)))
    assert "temperature" not in server.arrivals()[-1]["asked"]
    assert any(note.startswith("Sampling: the server's own") for note in model.description["notes"])
    asked = connect(server.url, concurrency=1, sampling="asked")
    list(asked.generate(ask(i) for i in range(12)))
    assert server.arrivals()[-1]["asked"]["temperature"] == 0
    assert asked.fingerprint["sampling"] == "greedy"
    list(asked.generate([ask(1, temperature=0.3)]))
    assert server.arrivals()[-1]["asked"]["temperature"] == 0.3


# What each kind of server is sent: its owner in the list of models, or its address.
SENT = [
    ("off", "vllm", "http://h/v1", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    ("on", "sglang", "http://h/v1", {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
    (
        "low",
        "vllm",
        "http://h/v1",
        {
            "reasoning_effort": "low",
            "chat_template_kwargs": {"enable_thinking": True, "thinking": True, "reasoning_effort": "low"},
        },
    ),
    (
        "2048",
        "vllm",
        "http://h/v1",
        {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}, "thinking_token_budget": 2048},
    ),
    ("off", "library", "http://h:11434/v1", {"think": False, "reasoning_effort": "none"}),
    ("high", "library", "http://h:11434/v1", {"think": "high", "reasoning_effort": "high"}),
    ("off", "openai", "https://api.openai.com/v1", {"reasoning_effort": "none"}),
    ("high", "system", "https://api.openai.com/v1", {"reasoning_effort": "high"}),
    ("2048", "openai", "https://api.openai.com/v1", {"reasoning_effort": "medium"}),
    ("2048", "", "https://openrouter.ai/api/v1", {"reasoning": {"max_tokens": 2048}}),
    ("off", "", "https://openrouter.ai/api/v1", {"reasoning": {"enabled": False}}),
    (
        "2048",
        "",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        {"enable_thinking": True, "thinking_budget": 2048},
    ),
    ("off", "", "https://api.deepseek.com/v1", {"thinking": {"type": "disabled"}}),
    ("2048", "", "https://api.anthropic.com/v1", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
]


@pytest.mark.parametrize(("wish", "owner", "url", "sent"), SENT)
def test_the_wish_is_said_as_each_server_takes_it(wish, owner, url, sent):
    assert request_settings(wish_of(ModelOptions(thinking=wish)), url, [owner]) == sent


def test_a_wish_reaches_the_server_and_the_key(stub, connect):
    server = stub(owned_by="vllm", thinks={"tokens": 300, "by": "field"})
    model = connect(server.url, thinking="on", thinking_tokens=400, extra={"body": {"chat_template_kwargs": {"x": 1}}})
    (response,) = model.generate([ask(1, max_new_tokens=20)])
    (asked,) = (entry["asked"] for entry in server.arrivals())  # nothing had to be found out
    assert response.text
    assert asked["max_tokens"] == 420
    assert asked["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True, "x": 1}
    assert (model.fingerprint["thinking"], model.fingerprint["thinking_tokens"]) == ("on", 400)


def test_thinking_off_sends_no_room_and_says_so_where_it_is_ignored(stub, connect):
    off = {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
    obedient = stub(owned_by="vllm", thinks={"tokens": 300, "by": "field", "unless": off})
    model = connect(obedient.url, thinking="off")
    list(model.generate(ask(i, max_new_tokens=20) for i in range(4)))
    assert {entry["asked"]["max_tokens"] for entry in obedient.arrivals()} == {20}
    assert model.description["thinking_found"] == {"asked": "off", "found": "no thoughts"}
    deaf = connect(stub(thinks={"tokens": 300, "by": "count"}).url, thinking="off")
    assert next(iter(deaf.generate([ask(1, max_new_tokens=20)]))).text
    assert any("off was asked, but the model thinks all the same" in note for note in deaf.description["notes"])


def test_a_model_that_knows_no_such_switch_is_asked_without(stub, connect):
    message = "Unrecognized request argument supplied: reasoning_effort"
    model = connect(stub(refusals=[{"setting": "reasoning_effort", "message": message}]).url, thinking="low")
    assert next(iter(model.generate([ask(1)]))).text
    assert model.description["settings_refused"] == {"thinking": "low"}
    assert "thinking: the server's own; 'low' was asked." in model.description["notes"]


def test_where_the_server_has_no_room_for_the_budget_it_shrinks_and_is_told(stub, connect):
    server = stub(thinks={"tokens": 300, "by": "field"}, longest=2000)
    model = connect(server.url)
    responses = list(model.generate(ask(i, max_new_tokens=32) for i in range(9)))
    assert {response.finish_reason for response in responses} == {"stop"}
    assert model.description["thinking_found"]["budget"] == 1024
    assert model.description["thinking_found"]["budget_asked"] == BUDGET
    assert "no room for 8,192" in " ".join(model.description["notes"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"thinking": "much"}, "'thinking' cannot be 'much'"),
        ({"thinking": "0"}, "'thinking' cannot be '0'"),
        ({"thinking": "off", "thinking_tokens": 5}, "gives room for thoughts"),
        ({"thinking": "10", "thinking_tokens": 5}, "two budgets"),
        ({"thinking_tokens": -1}, "at least 0"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(UsageError, match=says):
        wish_of(ModelOptions(**settings))


def test_nothing_said_is_nothing_in_the_key():
    assert wish_of(ModelOptions()) == Wish()
    assert json.dumps(Wish().identity()) == "{}"


def test_what_a_server_taught_is_recalled(stub, connect):
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    config = {"thinks": {"tokens": 300, "by": "count"}, "longest": 2000}
    server = stub(**config, refusals=[{"setting": "temperature", "message": message, "param": True}])
    first = connect(server.url, concurrency=1, sampling="asked")
    list(first.generate([ask(1, max_new_tokens=32)]))
    kept = json.loads(json.dumps(first.learnt))
    assert len(server.arrivals()) > 2
    again = connect(server.url, concurrency=1, sampling="asked")
    assert again.learnt == {}
    again.recall(kept)
    before = len(server.arrivals())
    list(again.generate(ask(i, max_new_tokens=32) for i in range(2, 5)))
    assert len(server.arrivals()) == before + 3  # each once
    told = ("thinking_found", "settings_refused")
    assert [again.description[name] for name in told] == [first.description[name] for name in told]
    # Another server of the model may take what this one refused; that the model thinks holds there, too.
    other = connect(stub(**config).url, concurrency=1, sampling="asked")
    other.recall(kept)
    assert other.learnt["refused"] == {}
    assert other.learnt["thinks"]
    stranger = connect(server.url, name="another")
    for nonsense in (kept, {}, {**kept, "model": "another", "thinks": "yes"}):
        stranger.recall(nonsense)
    assert stranger.learnt == {}
