"""Scoring over HTTP against stand-ins for vLLM, SGLang, llama.cpp and old OpenAI, checked against the toy model."""

import asyncio
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import toy_lm
from served_tools import ask

from kapwa.errors import ModelError
from kapwa.models.base import check_capabilities
from kapwa.models.openai_client import CallError
from kapwa.models.openai_scoring import _finite, echoed
from kapwa.records import Message, Params, Request

MESSAGES = (Message("user", "sino ang"), Message("user", "kumusta th"))


# Plain, one that merges with the prompt's last characters, and another script.
TEXTS = (" bahay ok", "e umaga", "谢谢 ñ")


class Replying:
    """A client whose server says one thing."""

    root = "http://127.0.0.1"

    def __init__(self, reply):
        self.reply = reply

    async def call(self, _path, _body, parse):
        return parse(self.reply)


def request(texts=TEXTS, closing=False, messages=MESSAGES):
    return Request("i", "full", "score", messages, texts, Params(closing=closing), key="k")


def expected(prompt, whole):
    """The toy model's own sum over the tokens after the last one that both encodings share."""
    start = next((i for i, (a, b) in enumerate(zip(prompt, whole, strict=False)) if a != b), len(prompt))
    return sum(toy_lm.logprob(whole[:i], whole[i]) for i in range(start, len(whole))), len(whole) - start


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_chat_scores_equal_the_models_own(stub, connect, kind):
    model = connect(stub(lm=kind).url)
    assert "score" in model.capabilities
    assert model.description["cannot"] == {}
    assert kind in model.description["scoring"].lower()
    [response] = model.score([request(closing=True)])
    assert response.request_key == "k"
    turns = [{"role": m.role, "content": m.content} for m in MESSAGES]
    text = toy_lm.chat_text(turns, True)
    prompt = toy_lm.encode(text)
    for given, score in zip(TEXTS, response.logprobs, strict=True):
        total, n = expected(prompt, toy_lm.encode(text + given))
        assert score.logprob_sum == pytest.approx(total, abs=1e-9)
        assert (score.n_tokens, score.n_bytes, score.n_chars) == (n, len(given.encode()), len(given))
        assert sum(score.token_logprobs) == pytest.approx(total, abs=1e-9)
        assert score.boundary == "clean"  # the template's tag stands between prompt and answer
        whole = toy_lm.encode(toy_lm.chat_text([*turns, {"role": "assistant", "content": given}], False))
        after = sum(toy_lm.logprob(whole[:i], whole[i]) for i in range(len(prompt), len(whole)))
        assert score.logprob_sum_reference == pytest.approx(after, abs=1e-9)
        assert score.logprob_sum_reference < score.logprob_sum  # the closing token is in it


@pytest.mark.parametrize(("kind", "special"), [("vllm", True), ("sglang", True), ("echo", False)])
def test_plain_scores_split_at_the_last_shared_token(stub, connect, kind, special):
    model = connect(stub(lm=kind).url, template="plain")
    assert "score" in model.capabilities
    texts = ("ka na", " bahay", "谢谢")  # "\n" and "ka" are one token of the toy tokenizer
    [response] = model.score([request(texts, closing=True)])
    text = "sino ang\nkumusta th\n"
    prompt = toy_lm.encode(text, special)
    for given, score in zip(texts, response.logprobs, strict=True):
        total, n = expected(prompt, toy_lm.encode(text + given, special))
        assert score.logprob_sum == pytest.approx(total, abs=1e-9)
        assert score.n_tokens == n
        assert score.logprob_sum_reference is None
    assert [s.boundary for s in response.logprobs] == ["merged", "clean", "clean"]


@pytest.mark.parametrize(
    ("kind", "template", "reason"),
    [
        ("ignores", "chat", "echo: it ignores echo"),
        ("short", "chat", r"vLLM prompt_logprobs: it returned \d+ prompt log-probabilities for \d+ tokens"),
        ("echo", "chat", "only with the plain template"),
        (None, "plain", "echo"),
    ],
)
def test_a_server_that_proves_nothing_is_refused_with_the_reason(stub, connect, kind, template, reason):
    model = connect(stub(lm=kind).url, template=template, extra={"attempts": 2})
    media = {"media"} if template == "chat" else set()
    assert model.capabilities == {"generate", "n_samples", "seed"} | media
    with pytest.raises(ModelError, match=reason):
        check_capabilities(model, frozenset({"score"}), "kalahi/mc")
    with pytest.raises(ModelError, match=reason):
        model.score([request()])


def test_requests_that_cannot_be_scored_are_reported_alone(stub, connect):
    model = connect(stub(lm="vllm").url)
    good, empty, none = request(), request(texts=("",)), request(texts=())
    answers = list(model.score([good, empty, none]))
    assert sorted(r.failed for r in answers) == [False, True, True]
    assert all("to be scored" in r.error for r in answers if r.failed)


def test_who_needs_texts_alone_has_no_probe_sent(stub, connect):
    server = stub(lm="vllm")
    model = connect(server.url)
    check_capabilities(model, frozenset({"generate", "seed"}), "texts")
    assert server.arrivals() == []
    check_capabilities(model, frozenset({"score"}), "scores")
    assert server.arrivals()


@pytest.mark.parametrize(
    "value", [None, True, "-1", [], 0.5, math.nan, -math.inf, -(10**400), 10**400], ids=lambda value: str(value)[:5]
)
def test_what_is_no_log_probability_is_refused(value):
    with pytest.raises(CallError, match="where a log-probability belongs"):
        _finite(value)


@pytest.mark.parametrize(
    "usage", [[1], "2", {"prompt_tokens": "2"}, {"prompt_tokens": 2, "completion_tokens": "x"}, {"prompt_tokens": 0}]
)
def test_an_echo_without_a_count_of_tokens_is_refused(usage):
    choice = {"text": "ab", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [None, -1.0]}}
    with pytest.raises(CallError, match="without its token count"):
        asyncio.run(echoed(Replying({"choices": [choice], "usage": usage}), "m", "ab"))
    good = Replying({"choices": [choice], "usage": {"prompt_tokens": 2}})
    assert asyncio.run(echoed(good, "m", "ab")) == (("a", "b"), (-1.0,))


QUESTIONS = ("What is the capital of the Philippines?", "Name a colour.", "Say good morning.", "What is rice?")


@pytest.fixture(scope="module")
def llamacpp(smollm2_path: Path):
    command = [sys.executable, str(Path(__file__).with_name("llamacpp_server.py")), str(smollm2_path)]
    process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True, env=os.environ)
    lines = iter(process.stdout.readline, "")
    yield next(line.strip() for line in lines if line.startswith("http")) + "/v1"
    process.kill()
    process.communicate()


def test_a_real_server_answers_every_item_and_twice_the_same(llamacpp, connect):
    model = connect(llamacpp, name="smollm2", concurrency=2)
    requests = [ask(i, text=text, max_new_tokens=16) for i, text in enumerate(QUESTIONS)]
    first = {r.request_key: r for r in model.generate(requests)}
    assert sorted(first) == [f"{i}/0" for i in range(len(QUESTIONS))]
    for response in first.values():
        assert response.error is None
        assert response.text.strip()
        assert 1 <= response.usage.completion_tokens <= 16
        assert response.usage.prompt_tokens > 5
        assert response.finish_reason == ("length" if response.usage.completion_tokens == 16 else "stop")
    # One at a time is reproducible; the number of slots in use may change a greedy text.
    alone = connect(llamacpp, name="smollm2", concurrency=1)
    texts = [[r.text for r in alone.generate(requests[:1])] for _ in range(2)]
    assert texts[0] == texts[1]


def test_samples_beyond_what_the_server_takes_are_all_had(llamacpp, connect):
    # It refuses n above its number of slots (2) with a 400.
    requests = [ask(0, s, text="Say a word.", temperature=1.0, max_new_tokens=8, seed=5) for s in range(4)]
    done = list(connect(llamacpp, name="smollm2").generate(requests))
    assert sorted(r.request_key for r in done) == [f"0/{s}" for s in range(4)]
    assert not any(r.failed for r in done)
    assert len({r.text for r in done}) > 1, "samples are not copies of each other"


def test_scoring_is_refused_because_echo_is_ignored(llamacpp, connect):
    model = connect(llamacpp, name="smollm2")
    with pytest.raises(ModelError, match="ignores echo") as caught:
        check_capabilities(model, frozenset({"score"}), "kalahi/mc")
    assert "hf:<id or folder>" in str(caught.value)


def test_a_prompt_that_is_too_long_fails_alone(llamacpp, connect):
    done = {
        r.request_key: r
        for r in connect(llamacpp, name="smollm2").generate(
            [ask(0, text="word " * 4000, max_new_tokens=4), ask(1, text="Hi", max_new_tokens=4)]
        )
    }
    assert "HTTP 400" in done["0/0"].error
    assert "context" in done["0/0"].error
    assert done["1/0"].text


@pytest.mark.parametrize(("kind", "template"), [("shifted", "chat"), ("early", "plain")])
def test_a_server_whose_values_are_shifted_by_one_is_refused(stub, connect, kind, template):
    model = connect(stub(lm=kind).url, template=template, extra={"attempts": 1})
    with pytest.raises(ModelError, match="gives the first token of a prompt a log-probability"):
        check_capabilities(model, frozenset({"score"}), "kalahi/mc")


@pytest.mark.parametrize(
    ("kind", "before", "words"),
    [
        ("vllm-hybrid", "<think></think>", "off, by the template's switch"),
        ("vllm-opens", "<think></think>", "off, an empty thought"),
    ],
)
def test_no_thought_stands_before_a_given_text(stub, connect, kind, before, words):
    model = connect(stub(lm=kind).url)
    assert "thinking_scored" not in model.fingerprint
    assert "score" in model.capabilities
    assert model.fingerprint["thinking_scored"] == words
    [response] = model.score([request((" bahay ok",), closing=True)])
    turns = [{"role": m.role, "content": m.content} for m in MESSAGES]
    text = toy_lm.chat_text(turns, True, (before, before))
    prompt, joint = toy_lm.encode(text), toy_lm.encode(f"{text} bahay ok")
    (score,) = response.logprobs
    assert score.logprob_sum == pytest.approx(expected(prompt, joint)[0], abs=1e-9)
    if kind == "vllm-hybrid":  # the whole begins with the prompt, and no mark is scored
        whole = toy_lm.encode(
            toy_lm.chat_text([*turns, {"role": "assistant", "content": " bahay ok"}], False, (before, before))
        )
        after = sum(toy_lm.logprob(whole[:i], whole[i]) for i in range(len(prompt), len(whole)))
        assert score.logprob_sum_reference == pytest.approx(after, abs=1e-9)
    else:
        assert score.logprob_sum_reference is None


def test_a_model_without_thoughts_has_nothing_of_them_in_its_key(stub, connect):
    model = connect(stub(lm="vllm").url)
    assert "score" in model.capabilities
    assert "thinking_scored" not in model.fingerprint
