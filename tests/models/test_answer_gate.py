"""Each answer is in one state, whatever a server says of its end; text and thought are told apart."""

from pathlib import Path

import pytest
import yaml

from kapwa.models.gate import (
    ending_of,
    finish_of_state,
    gate,
    gated,
    is_filter,
    is_within_thought,
    opening_share,
    text_of,
    thinking_is_off,
)
from kapwa.records import STATES, Answer, Request, Response, Usage
from kapwa.runs.store import AnswerStore, decode, encode

ENDED = yaml.safe_load(Path(__file__).with_name("ended_texts.yaml").read_text(encoding="utf-8"))
THOUGHT = "The user asks for a drink; coffee perhaps, or tea? I shall say tea."


def read(text=None, finish="stop", **fields):
    """The state, text and thought of a response."""
    answer = gate(Response("00" * 16, text=text, finish_reason=finish, **fields))
    return answer.state, answer.text, answer.thought


@pytest.mark.parametrize(
    ("given", "state", "text", "thought"),
    [
        ({"text": "tea"}, "answered", "tea", None),
        ({"text": "tea", "finish": "length"}, "unfinished", "tea", None),
        ({"text": "tea", "finish": None}, "unknown", "tea", None),
        ({"text": "tea", "finish": "replayed"}, "unknown", "tea", None),
        ({"text": ""}, "empty", "", None),
        ({"text": " \n"}, "empty", " \n", None),
        ({"text": "", "finish": None}, "empty", "", None),
        ({"text": "", "finish": "length"}, "unfinished", None, None),
        ({"text": "\n\n", "finish": "length"}, "unfinished", "\n\n", None),
        ({"text": f"<think>{THOUGHT}</think>tea"}, "answered", "tea", THOUGHT),
        ({"text": f"<think>{THOUGHT}"}, "empty", "", THOUGHT),
        ({"text": f"<think>{THOUGHT}", "finish": "length"}, "unfinished", None, THOUGHT),
        ({"text": f"<think>{THOUGHT}", "finish": None}, "unfinished", None, THOUGHT),
        ({"text": "<think>", "finish": "length"}, "unfinished", None, None),
        ({"text": f"<think>{THOUGHT}</think>", "finish": "length"}, "unfinished", None, THOUGHT),
        ({"text": f"<think>{THOUGHT}</think>te", "finish": "length"}, "unfinished", "te", THOUGHT),
        ({"text": f"<think>{THOUGHT}</think>"}, "empty", "", THOUGHT),
        ({"text": "tea", "thought": THOUGHT}, "answered", "tea", THOUGHT),
        ({"text": "", "thought": THOUGHT}, "empty", "", THOUGHT),
        ({"text": None, "thought": THOUGHT}, "empty", "", THOUGHT),
        ({"text": None, "thought": THOUGHT, "finish": "length"}, "unfinished", None, THOUGHT),
        ({"text": "", "thought": THOUGHT, "finish": None}, "unfinished", None, THOUGHT),
        ({"text": None, "thought": "tea"}, "answered", "tea", None),
        ({"text": "", "thought": "tea"}, "answered", "tea", None),  # servers that write "" for null
        ({"text": None, "thought": THOUGHT, "usage": Usage(9, 20, 0)}, "answered", THOUGHT, None),
        ({"text": None, "thought": "tea", "usage": Usage(9, 20, 20)}, "empty", "", "tea"),
        ({"text": THOUGHT, "thought_opened": True, "finish": "length"}, "unfinished", None, THOUGHT),
        ({"text": THOUGHT, "thought_opened": True}, "empty", "", THOUGHT),
        ({"text": f"{THOUGHT}</think>tea", "thought_opened": True}, "answered", "tea", THOUGHT),
        ({"text": "No, I cannot.", "finish": "declined"}, "declined", "No, I cannot.", None),
        ({"text": "", "finish": "declined"}, "declined", "", None),
        ({"text": "No, I cannot.", "finish": "refusal"}, "declined", "No, I cannot.", None),
        ({"text": "", "finish": "refusal"}, "filtered", None, None),
        ({"text": "half of it", "finish": "content_filter"}, "filtered", None, None),
        ({"text": "half", "finish": "error"}, "failed", None, None),
        ({"error": "HTTP 500", "finish": None}, "failed", None, None),
    ],
)
def test_one_state_each(given, state, text, thought):
    assert read(**given) == (state, text, thought)
    assert state in STATES


@pytest.mark.parametrize(
    ("said", "means"),
    [("STOP", "stop"), ("end_turn", "stop"), ("FINISH_REASON_STOP", "stop"), ("FinishReason.STOP", "stop"),
     ("MAX_TOKENS", "length"), ("model_length", "length"), ("content_filter: PROHIBITED_CONTENT", "filtered"),
     ("SAFETY", "filtered"), ("FinishReason.RECITATION", "filtered"), ("sensitive", "filtered"),
     ("guardrail_intervened", "filtered"), ("error", "error"), ("insufficient_system_resource", "error"),
     ("abort", "error"), ("tool_calls", "stop"), ("", "unknown"), (None, "unknown"), ("odd", "unknown")],
)  # fmt: skip
def test_words_for_the_end(said, means):
    assert ending_of(said) == means


@pytest.mark.parametrize(
    "said",
    [
        '{"error": {"code": "content_filter", "message": "The response was filtered"}}',
        '{"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}',
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        '{"code": "data_inspection_failed"}',
        "Output data may contain inappropriate content.",
        "Content Exists Risk",
        "litellm.ContentPolicyViolationError: filtered",
        '{"promptFeedback": {"blockReason": "SAFETY"}}',
        "content_filter: PROHIBITED_CONTENT",
        "Output blocked by content filtering policy",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "The request was rejected because it was considered high risk",
        '{"code": "InputTextSensitiveContentDetected"}',
        "系统检测到输入或生成内容可能包含不安全或敏感内容",
    ],
)
def test_errors_of_filters(said):
    assert is_filter(said)


@pytest.mark.parametrize(
    "said", ["Unsupported value: 'temperature'", "model not found", "rate limit", "context length"]
)
def test_errors_of_no_filter(said):
    assert not is_filter(said)


def test_a_source_whose_prompts_open_thoughts_tells_which_answers_end_within_one():
    closed = [Response(f"{n:032x}", text=f"{THOUGHT}\n</think>\n\ntea", finish_reason="stop") for n in range(3)]
    cut = Response("f" * 32, text="The user asks for a drink; coffee", finish_reason="length")
    assert opening_share([*closed, cut]) == 1
    assert [answer.state for answer in gated([*closed, cut])] == ["answered"] * 3 + ["unfinished"]
    assert gated([*closed, cut])[-1].text is None
    plain = [Response(f"{n:032x}", text="tea", finish_reason="stop") for n in range(3)]
    assert gated([*plain, cut])[-1].text == cut.text  # an answer that was cut off is judged as it stands
    assert not opening_share([Response("0" * 32, text=f"<think>{THOUGHT}</think>tea", finish_reason="stop")])
    # Recorded answers and logs do not say how a text ended.
    recorded = [Response(f"{n:032x}", text=answer.text) for n, answer in enumerate([*closed, cut])]
    assert [answer.state for answer in gated(recorded)] == ["unknown"] * 3 + ["unfinished"]
    assert not is_within_thought(gate(closed[0]), 1)


def test_a_model_that_ends_by_itself_within_its_thought_gave_an_empty_answer():
    closed = [Response(f"{n:032x}", text=f"{THOUGHT}\n</think>\n\ntea", finish_reason="stop") for n in range(19)]
    ended = Response("f" * 32, text=THOUGHT, finish_reason="stop")
    short = Response("e" * 32, text="Green tea.", finish_reason="stop")
    answers = gated([*closed, ended])
    assert (answers[-1].state, answers[-1].text, answers[-1].thought) == ("empty", "", THOUGHT)
    assert gated([*closed, short])[-1].text == "Green tea."  # no model thinks for two words
    # Where others answer without a thought, so may this one have done.
    assert gated([*closed[:9], short, ended])[-1].text == THOUGHT
    with AnswerStore(None) as store:
        store.commit([*closed, ended])
        (answer,) = store.read_gated([ended.request_key])
    assert (answer.state, answer.text) == ("empty", "")


def test_the_journal_keeps_what_came_and_reads_it_through_the_gate():
    came = [
        Response("00" * 16, text=f"{THOUGHT}</think>tea", finish_reason="stop", usage=Usage(7, 30, 20, 5)),
        Response("11" * 16, text=None, thought=THOUGHT, finish_reason="length"),
        Response("22" * 16, text="coffee, or", finish_reason="length"),
        Response("33" * 16, text="tea", finish_reason="stop", thought_opened=True),
    ]
    for response in came:
        assert decode(*encode(response)) == response
    with AnswerStore(None) as store:
        store.commit(came)
        answers = list(store.read_gated(response.request_key for response in came))
        assert store.find(["00" * 16]) == {"00" * 16: came[0]}  # a cache copies what came
    assert [(answer.state, answer.text) for answer in answers] == [
        ("answered", "tea"),
        ("unfinished", None),
        ("unfinished", None),  # the first closes a thought that its prompt opened
        ("empty", ""),
    ]
    with pytest.raises(ValueError, match="as the model gave"):
        encode(answers[0])


def test_journals_of_before_have_two_counts_and_no_thought():
    old = encode(Response("00" * 16, text="<think>hm</think>tea", finish_reason="stop", usage=Usage(7, 3)))
    assert '"usage":[7,3]' in old[2]
    assert "thought" not in old[2]
    assert gate(decode(*old)).text == "tea"


def test_nothing_can_be_judged_that_did_not_pass():
    request = Request("a", "full", "generate", ())
    with pytest.raises(ValueError, match="gate"):
        Answer(request, Response("k", text="tea"))
    once = gate(Response("k", text="<think>x</think>tea"))
    assert Answer(request, once).response is gate(once)


def test_states_of_exports_and_texts_of_tables():
    assert [finish_of_state(state) is None for state in STATES] == [
        state in ("failed", "not asked") for state in STATES
    ]
    with pytest.raises(KeyError):
        finish_of_state("lost")
    assert text_of("<think>x</think>tea") == "tea"
    assert text_of("<think>x") is None
    assert text_of("") == ""


@pytest.mark.parametrize(
    ("body", "off"),
    [
        ({"chat_template_kwargs": {"enable_thinking": False}}, True),
        ({"chat_template_kwargs": {"thinking": False}}, True),
        ({"thinking": {"type": "disabled"}}, True),
        ({"reasoning_effort": "none"}, True),
        ({"reasoning": {"enabled": False}}, True),
        ({"think": False}, True),
        ({"reasoning_effort": "low"}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}}, False),
        ({}, False),
    ],
)
def test_whether_thinking_was_switched_off(body, off):
    assert thinking_is_off(body) is off


@pytest.mark.parametrize(("text", "finish", "answer", "state"), ENDED)
def test_texts_of_every_family_are_parted_however_they_end(text, finish, answer, state):
    assert read(text, finish)[:2] == (state, answer)
