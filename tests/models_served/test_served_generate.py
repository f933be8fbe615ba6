"""Plain generation over HTTP: parameters, answers, samples, order, laziness, cancelling."""

import time
from collections.abc import Iterator

import pytest
from served_tools import ask

from kapwa.errors import ModelError, UsageError
from kapwa.models.base import Model, ModelOptions
from kapwa.models.openai import AHEAD, load
from kapwa.records import Message, Params, Request, Usage


def by_key(responses):
    done = list(responses)
    keyed = {response.request_key: response for response in done}
    assert len(keyed) == len(done), "a request was answered twice"
    return keyed


def soon(true, seconds=120):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_every_request_is_answered_with_its_own_text_and_usage(stub, connect):
    model = connect(stub().url)
    assert isinstance(model, Model)
    done = by_key(model.generate([ask(i) for i in range(40)]))
    assert {key: r.text for key, r in done.items()} == {
        f"{i}/0": f"answer to item {i} seed None choice 0" for i in range(40)
    }
    assert done["3/0"].usage == Usage(7, 4)
    assert done["3/0"].finish_reason == "stop"
    assert done["3/0"].error is None


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        (True, "Bearer [key removed]"),
        ("percent", "[key removed]"),
        ("base64", "c2stY2FuYXJ5LzhjMWYrNTVhYS1uZXZlci1zaG93"),
    ],
)
def test_a_key_in_an_answer_is_known_in_the_spellings_that_the_threat_model_names(
    stub, connect, monkeypatch, spelling, said
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary/8c1f+55aa-never-show")
    (response,) = connect(stub(echo_in_answer=spelling).url).generate([ask(0)])
    assert response.text.endswith(f" (you sent {said})")


def test_parameters_arrive_as_the_api_names_them(stub, connect):
    server = stub()
    model = connect(server.url, extra={"body": {"reasoning_effort": "low", "top_p": None}})
    params = Params(max_new_tokens=9, temperature=0.7, top_p=0.9, stop=("\n", "###"), seed=11)
    messages = (Message("system", "be brief"), Message("user", "hi"))
    list(model.generate([Request("i", "full", "generate", messages, params=params, sample=2, key="k")]))
    assert server.arrivals()[0]["asked"] == {
        "model": "stub",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "temperature": 0.7,
        "stop": ["\n", "###"],
        "seed": 13,
        "reasoning_effort": "low",
    }


def test_the_plain_template_uses_completions(stub, connect):
    server = stub()
    done = list(connect(server.url, template="plain").generate([ask(1)]))
    assert server.arrivals()[0]["path"] == "/v1/completions"
    assert server.arrivals()[0]["asked"]["prompt"] == "item 1\n"
    assert done[0].text == "answer to item 1\n seed None choice 0"


@pytest.mark.parametrize("refused", ["max_tokens", "max_completion_tokens"])
def test_the_name_of_the_length_limit_is_learnt_once(stub, connect, refused):
    server = stub(refuse=[refused])
    model = connect(server.url, concurrency=1)
    assert all(r.text for r in model.generate([ask(i, max_new_tokens=5) for i in range(20)]))
    sent = [entry["asked"] for entry in server.arrivals()]
    # Each call under way may meet the refusal once; no later one does.
    assert len(sent) <= (20 + AHEAD if refused == "max_tokens" else 20)
    assert refused not in sent[-1]


@pytest.mark.parametrize(
    ("fault", "text", "reason"),
    [
        ("filtered", "x", "content_filter"),
        ("refusal", "I will not.", "declined"),
        ("none", "", "stop"),
        ("reasoning", "four", "stop"),
        ("unfinished", "", "length"),
    ],
)
def test_unusual_answers_keep_their_meaning(stub, connect, fault, text, reason):
    [response] = connect(stub(always={"item": fault}).url).generate([ask(1)])
    assert (response.text, response.finish_reason, response.error) == (text, reason, None)


def test_samples_of_one_prompt_are_one_call(stub, connect):
    server = stub()
    requests = [ask(i, s, temperature=1.0, seed=100) for i in range(3) for s in range(4)]
    done = by_key(connect(server.url).generate(requests))
    assert [entry["asked"]["n"] for entry in server.arrivals()] == [4, 4, 4]
    assert {key: r.text for key, r in done.items()} == {
        f"{i}/{s}": f"answer to item {i} seed 100 choice {s}" for i in range(3) for s in range(4)
    }
    # The call's own counts (7 read, 13 written) are shared out, not multiplied.
    usages = [done[f"0/{s}"].usage for s in range(4)]
    assert sum(u.prompt_tokens for u in usages) == 7
    assert sum(u.completion_tokens for u in usages) == 13


def test_missing_choices_are_asked_for_one_by_one(stub, connect):
    server = stub(choices=2)
    requests = [ask(i, s, temperature=1.0, seed=100) for i in range(2) for s in range(5)]
    done = by_key(connect(server.url, concurrency=1).generate(requests))
    assert len(done) == 10
    assert all(r.text for r in done.values())
    assert done["0/1"].text == "answer to item 0 seed 100 choice 1"
    assert done["0/3"].text == "answer to item 0 seed 103 choice 0"  # its own seed: not a copy of sample 0
    asked = [entry["asked"].get("n") for entry in server.arrivals() if "item 0" in str(entry["asked"])]
    assert asked == [5, None, None, None]


def test_a_server_that_refuses_n_is_asked_singly(stub, connect):
    server = stub(always={'"n"': 400}, refuse=["n"])
    done = by_key(connect(server.url).generate([ask(1, s, temperature=1.0) for s in range(3)]))
    assert [done[f"1/{s}"].error for s in range(3)] == [None] * 3
    assert sum("n" in entry["asked"] for entry in server.arrivals()) == 1


def test_twenty_thousand_requests_are_taken_lazily(stub, connect):
    taken = finished = most = 0

    def requests() -> Iterator[Request]:
        nonlocal taken, most
        for i in range(20_000):
            taken += 1
            most = max(most, taken - finished)
            yield ask(i)

    model = connect(stub().url, concurrency=64)
    answers = model.generate(requests())
    assert taken == 0
    for _ in answers:
        finished += 1
        if finished == 3000:
            break
    answers.close()
    # One more than may be under way: the grouping looks ahead to it.
    assert most <= AHEAD * 64 + 1
    assert taken <= 3000 + AHEAD * 64 + 1


def test_closing_the_iterator_cancels_open_calls(stub, connect):
    server = stub(always={"item 0": None, "item": "timeout"})
    model = connect(server.url)
    answers = model.generate([ask(i) for i in (0, *range(11, 19))])
    assert next(answers).request_key == "0/0"
    soon(lambda: len(server.arrivals()) == 9)
    began = time.monotonic()
    answers.close()
    assert time.monotonic() - began < 60  # a call would go on for an hour
    soon(lambda: sum(bool(e.get("left")) for e in server.arrivals()) == 8)  # the server saw every call hang up
    assert next(model.generate([ask(0)])).text  # and the model is still usable


def test_a_failing_source_of_requests_is_heard_and_nothing_hangs(stub, connect):
    def requests() -> Iterator[Request]:
        yield ask(1)
        raise LookupError("the source broke")

    with pytest.raises(LookupError, match="the source broke"):
        list(connect(stub().url).generate(requests()))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8000", "not an http"),
        ("http://me:secret@host/v1", "must not hold a user"),
        ("http://host/v1?key=secret", "must not hold a user"),
        ("http://host/v1/chat/completions", "names an endpoint"),
        ("http://host:99999/v1", "not a valid address"),
    ],
)
def test_addresses_that_cannot_work_are_refused_without_showing_secrets(url, message):
    with pytest.raises(UsageError, match=message) as caught:
        load("m", ModelOptions(base_url=url))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"extra": {"attemps": 3}}, "no option 'attemps'"),
        ({"extra": {"attempts": "many"}}, "must be numbers"),
        ({"extra": {"attempts": 0}}, "at least 1"),
        ({"extra": {"body": []}}, "mapping"),
        ({"extra": {"body": {"top_p": float("nan")}}}, "JSON cannot"),
        ({"extra": {"body": {"stop": {1, 2}}}}, "JSON cannot"),
        ({"extra": {"body": {"messages": []}}}, "cannot set 'messages'"),
        ({"extra": {"body": {"extra": [{"api_key": "sk-1"}]}}}, "cannot hold 'api_key'"),
    ],
)
def test_options_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        load("m", ModelOptions(base_url="http://127.0.0.1:1/v1", **settings))


def test_a_missing_name_or_key_is_refused_before_any_call():
    with pytest.raises(UsageError, match="needs the name"):
        load(" ", ModelOptions(base_url="http://127.0.0.1:1/v1"))
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set"):
        load("gpt", ModelOptions())


def test_the_address_may_come_from_the_environment(stub, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", stub().url + "/")
    model = load("stub", ModelOptions())
    assert next(model.generate([ask(1)])).text
    assert not model.fingerprint["base_url"].endswith("/")
    model.close()
