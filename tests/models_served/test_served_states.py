"""What servers make of answers, end to end: each reply is in its state, each score is what it should be."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import warm
from kapwa.models.thinking import FAMILIES
from kapwa.runs.finished_run import Run
from kapwa.runs.store import AnswerStore

CARD = """culture: Kenya
language: en
title: Stirring
version: "1.0"
licence: CC0-1.0
authors: [test]
collected: made up
consent: none needed
reviewed_by_native_speakers: false
limits: [made up]
"""
HEAD = "id,country,question_id,topic,question,option_A,option_B,option_C,option_D,answer,variant\n"
THOUGHT = "The user wants one letter. It might be B, for rice is common. No."


def message(content: Any, finish: str | None = "stop", **more: Any) -> list[Any]:
    """A reply of the server: its status and its body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}
    return [200, {"choices": [choice]}]


def broken(content: str) -> list[Any]:
    status, body = message(content, "error")
    body["choices"][0]["error"] = {"code": 502, "message": "Upstream overloaded"}
    return [status, body]


def refused(text: str, status: int = 400, code: str | None = None) -> list[Any]:
    return [status, {"error": {"message": text, "type": code, "param": "prompt", "code": code}}]


KILLED = """
import os, signal
from kapwa.cli import main
from kapwa.runs.store import AnswerStore
left, real = [3], AnswerStore.commit
def commit(*args):
    done = real(*args)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
AnswerStore.commit = commit
main.run()
"""
TEXT = {"type": "text", "text": "A"}
# What a server says, then: value, outcome and state of the row, and how often it is asked (None: not told).
CASES: dict[str, tuple[list[Any], float | None, str, str, int | None]] = {
    "plain": ([message("A")], 1.0, "right", "answered", 1),
    "wrong": ([message("B")], 0.0, "wrong", "answered", 1),
    "cut answer": ([message("A. maize fl", "length")], 1.0, "right", "unfinished", 1),
    "parted thought": ([message("A", reasoning_content=THOUGHT)], 1.0, "right", "answered", 1),
    "other field": ([message("A", reasoning=THOUGHT)], 1.0, "right", "answered", 1),
    "typed parts": (
        [
            message(
                [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": "A"}]
            )
        ],
        *(1.0, "right", "answered", 1),
    ),
    "thought in text": ([message(f"<think>{THOUGHT}</think>A")], 1.0, "right", "answered", 1),
    "opened by the prompt": ([message(f"{THOUGHT}\n</think>\n\nA")], 1.0, "right", "answered", 1),
    "cut thought": ([message(f"<think>{THOUGHT}", "length")], None, "unfinished", "unfinished", 1),
    "cut parted thought": ([message(None, "length", reasoning_content=THOUGHT)], None, "unfinished", "unfinished", 1),
    "hidden thought": ([message("", "length")], None, "unfinished", "unfinished", 1),
    "null": ([message(None)], 0.0, "empty", "empty", 1),
    "nothing": ([message("")], 0.0, "empty", "empty", 1),
    "null after a thought": ([message(None, reasoning_content=THOUGHT)], 0.0, "empty", "empty", 1),
    "nothing after a thought": ([message("", reasoning_content=THOUGHT)], 0.0, "empty", "empty", 1),
    "filed under the thought": ([message(None, reasoning_content="A")], 1.0, "right", "answered", 1),
    "declined": ([message(None, refusal="I will not say A.")], 0.0, "refused", "declined", 1),
    "refused in words": ([message("I'm sorry, but I can't help with that.")], 0.0, "refused", "answered", 1),
    "error, then an answer": ([broken("The ans"), message("A")], 1.0, "right", "answered", 2),
    "error for ever": ([broken("")], None, "failed", "failed", 3),
    "half an answer": ([broken("The answer is B")], None, "failed", "failed", 3),
    "refusal among parts": ([message([{"type": "refusal", "refusal": "No."}])], 0.0, "refused", "declined", 1),
    "parts without types": ([message(["A"])], 1.0, "right", "answered", 1),
    "an object": ([message({"answer": "A"})], None, "failed", "failed", 3),
    "a number": ([message(1)], None, "failed", "failed", 3),
    "malformed call": ([message("", "MALFORMED_FUNCTION_CALL")], None, "failed", "failed", 3),
    "out of time": ([message("A", "time_limit")], 1.0, "right", "unfinished", 1),
    "filtered with a hyphen": ([message("half", "content-filter")], None, "filtered", "filtered", 1),
    "filtered": ([message("half", "content_filter")], None, "filtered", "filtered", 1),
    "filtered by name": ([message(None, "content_filter: PROHIBITED_CONTENT")], None, "filtered", "filtered", 1),
    "safety": ([message(None, "SAFETY")], None, "filtered", "filtered", 1),
    "azure": ([refused("The response was filtered", code="content_filter")], None, "filtered", "filtered", 1),
    "dashscope": (
        [refused("Input data may contain inappropriate content.", code="data_inspection_failed")],
        *(None, "filtered", "filtered", 1),
    ),
    "deepseek": ([refused("Content Exists Risk", code="invalid_request_error")], None, "filtered", "filtered", 1),
    "litellm": ([refused("litellm.ContentPolicyViolationError: filtered")], None, "filtered", "filtered", 1),
    "moderated": ([refused("Your input was flagged", 403)], None, "filtered", "filtered", 1),
    "blocked": ([[200, {"promptFeedback": {"blockReason": "SAFETY"}, "choices": []}]], None, "filtered", "filtered", 1),
}


def folder_of(folder: Path, names: list[str]) -> Path:
    """Data with a question for each name, which the question says."""
    folder.mkdir()
    (folder / "card.yaml").write_text(CARD)
    rows = [
        f"Kenya/q{n}/0,Kenya,q{n},Food,In case {name.replace(',', ';')}: what is stirred into ugali?,"
        f"maize flour,rice,noodles,oats,A,0\n"
        for n, name in enumerate(names)
    ]
    (folder / "mcq.csv").write_text(HEAD + "".join(rows))
    return folder


def asked(server: Any, name: str) -> int:
    return sum(f"In case {name.replace(',', ';')}:" in str(entry["asked"]) for entry in server.arrivals())


def replies(cases: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {f"In case {name.replace(',', ';')}:": said for name, said in cases.items()}


def run(data: Path, url: str, out: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], Run]:
    line = ["run", "blend/mcq", "--data", str(data), "--model", "openai:stub", "--base-url", url, "--out", str(out)]
    # Without room for thoughts nothing is asked again because a thought is seen, whenever that is.
    options = ["--extra", "attempts=3", "--extra", "backoff=0.01", "--thinking-tokens", "0"]
    done = warm.kapwa(*line, *options, *more, cwd=data.parent)
    (folder,) = out.iterdir()
    return done, Run(folder)


def test_each_reply_is_in_its_state_and_counts_as_it_should(stub: Callable[..., Any], tmp_path: Path) -> None:
    names = list(CASES)
    server = stub(replies=replies({name: case[0] for name, case in CASES.items()}))
    data = folder_of(tmp_path / "data", names)
    done, result = run(data, server.url, tmp_path / "runs")
    rows = result.scores.filter(metric="mcq_acc").sort(pl.col("item_id").str.extract(r"q(\d+)").cast(pl.Int64))
    read = dict(zip(names, rows.select("value", "outcome", "state").rows(), strict=True))
    assert read == {name: case[1:4] for name, case in CASES.items()}, done.stderr
    assert {name: asked(server, name) for name in names} == {name: case[4] for name, case in CASES.items()}
    answers = result.answers
    assert not answers.filter(pl.col("text").str.contains("The user wants|one letter")).height
    assert answers.filter(pl.col("thought").str.contains("one letter")).height == 9
    # Judged again from the journal: only what failed is asked once more.
    _, again = run(data, server.url, tmp_path / "runs")
    assert again.scores.equals(result.scores)
    failed = [name for name, case in CASES.items() if case[2] == "failed"]
    assert {name: asked(server, name) for name in names} == {
        name: case[4] * (2 if name in failed else 1) for name, case in CASES.items()
    }


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["stub", "stub-2024-08-06"], ["stub", "stub-2024-08-06"]),
        (["org/Stub", "org/Stub"], []),
        (["stub:latest", "stub:latest"], []),
        (["stub-20240806", "stub-20240806"], []),
        (["stub-0613", "stub-0613"], []),
        (["stub-mini", "stub-mini"], ["stub-mini"]),
        (["stub-4.1", "stub-4.1"], ["stub-4.1"]),
        (["stub.1", "stub.1"], ["stub.1"]),
        (["stub", "another"], ["another", "stub"]),
    ],
)
def test_answers_by_another_model_than_was_asked_are_told(
    stub: Callable[..., Any], tmp_path: Path, names: list[str], told: list[str]
) -> None:
    """A router may send a call to another model: its scores would be read as those of the one asked."""
    said = [message("A"), message("A")]
    for (_, body), name in zip(said, names, strict=True):
        body["model"] = name
    server = stub(replies=replies({"one": said[:1], "two": said[1:]}))
    data = folder_of(tmp_path / "data", ["one", "two"])
    for _ in range(2):  # asked, and read again from what was kept
        done, result = run(data, server.url, tmp_path / "runs")
        assert (f"Answered by: {', '.join(told)}, " in " ".join(done.stderr.split())) is bool(told), done.stderr
        notes = result.manifest["model"]["description"]["notes"]
        assert any(f"Answered by: {', '.join(told)}, " in note for note in notes) is bool(told)


def test_an_answer_is_not_filed_under_the_thought_where_thinking_was_off(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    server = stub(
        replies=replies({"long": [message(None, reasoning_content="It is maize flour, so the letter is A.")]})
    )
    data = folder_of(tmp_path / "data", ["long"])
    off = 'body={"chat_template_kwargs": {"enable_thinking": false}}'
    _, result = run(data, server.url, tmp_path / "off", "--extra", off)
    assert result.scores.filter(metric="mcq_acc")["value"].to_list() == [1.0]
    _, result = run(data, server.url, tmp_path / "unsaid")
    assert result.scores.filter(metric="mcq_acc")["outcome"].to_list() == ["empty"]


def test_thoughts_that_no_mark_shows_are_told_by_the_others_of_the_run(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    said = {f"n{n}": [message(f"{THOUGHT}\n</think>\n\nA")] for n in range(4)}
    said["cut"] = [message("The user wants one letter. It is B, or perhaps", "length")]
    data = folder_of(tmp_path / "data", list(said))
    _, result = run(data, stub(replies=replies(said)).url, tmp_path / "runs")
    rows = result.scores.filter(metric="mcq_acc").sort("item_id").select("value", "state").rows()
    assert rows == [(1.0, "answered")] * 4 + [(None, "unfinished")]


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_kill_in_the_middle_asks_nothing_twice(stub: Callable[..., Any], tmp_path: Path) -> None:
    families = [row for row in FAMILIES if row.kind == "mark" and "=" not in row.opening]
    names = [f"{n} of the families" for n in range(len(families))]
    said = {name: [message(f"{row.opening}{THOUGHT}{row.closing}A")] for name, row in zip(names, families, strict=True)}
    server = stub(replies=replies(said), delay=0.05)
    data = folder_of(tmp_path / "data", names)
    line = ["run", "blend/mcq", "--data", str(data), "--model", "openai:stub", "--base-url", server.url]
    line += ["--out", str(tmp_path / "runs"), "--concurrency", "2", "--thinking-tokens", "0"]
    killed = subprocess.run([str(warm.programs() / "python"), "-c", KILLED, *line], cwd=tmp_path, check=False)
    assert killed.returncode != 0
    (folder,) = (tmp_path / "runs").iterdir()
    with AnswerStore(folder / "journal.sqlite") as store:
        durable = store.counts().answered
    before = len(server.arrivals())
    assert 0 < durable < len(names)
    _, result = run(data, server.url, tmp_path / "runs", "--concurrency", "2")
    assert result.scores.filter(metric="mcq_acc")["value"].to_list() == [1.0] * len(names)
    assert len(server.arrivals()) - before == len(names) - durable
    assert not result.answers.filter(pl.col("text").str.contains("letter")).height
