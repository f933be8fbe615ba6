"""Thoughts that met their limit, behind servers: continued from their text where that works, else asked anew."""

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import stub_teller
from served_tools import ask
from test_served_runs import asking, data, kapwa  # noqa: F401 - fixtures

import kapwa as library
import warm

GREEDY = {"concurrency": 1, "sampling": "asked"}
LONG = {"tokens": 200, "takes": "continues"}


def continued(server: Any) -> list[dict[str, Any]]:
    """What asked the server to continue an answer."""
    asked = [entry["asked"] for entry in server.arrivals()]
    return [body for body in asked if body.get("continue_final_message") or "</" in str(body.get("prompt"))]


@pytest.mark.parametrize("owner", ["vllm", "sglang"])
def test_a_chat_server_continues_a_greedy_thought_from_its_text(stub, connect, owner):
    server = stub(owned_by=owner, teller=LONG)
    model = connect(server.url, **GREEDY)
    first, second = (next(iter(model.generate([ask(i, max_new_tokens=60)]))) for i in (1, 2))
    assert first.text == stub_teller.whole("item 1", LONG)
    assert second.text == stub_teller.whole("item 2", LONG)
    probe, own = continued(server)
    assert probe["messages"][-1]["role"] == "assistant"
    assert own["messages"][-1] == {"role": "assistant", "content": first.text[: 60 * stub_teller.WIDTH]}
    assert own["add_generation_prompt"] is False
    assert own["max_tokens"] == 8192
    # The first is paid in two calls, each token of its text once; of the second it was known that it thinks.
    n = -(-len(first.text) // stub_teller.WIDTH)
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (7 + (7 + 60), n)
    assert second.usage.prompt_tokens == 7
    assert first.begun == 0
    told = "1 answers that met their limit were continued from their text, with room for the thought."
    assert told in model.description["notes"]
    again = connect(server.url, **GREEDY)
    again.recall(json.loads(json.dumps(model.learnt)))
    assert told in again.description["notes"]


def test_a_completions_server_takes_prompt_and_text_in_one(stub, connect):
    server = stub(teller=LONG)
    model = connect(server.url, template="plain", **GREEDY)
    (response,) = model.generate([ask(1, max_new_tokens=60)])
    assert response.text == stub_teller.whole("item 1", LONG)
    first, second = (entry["asked"] for entry in server.arrivals())
    assert second["prompt"] == first["prompt"] + response.text[: 60 * stub_teller.WIDTH]


@pytest.mark.parametrize("takes", ["closes", "drops"])
def test_a_template_that_closes_or_drops_what_was_begun_is_found_out_once(stub, connect, takes):
    server = stub(owned_by="vllm", teller={**LONG, "takes": takes})
    model = connect(server.url, **GREEDY)
    texts = {
        response.request_key: response.text for response in model.generate(ask(i, max_new_tokens=60) for i in range(3))
    }
    assert texts == {f"{i}/0": stub_teller.whole(f"item {i}", LONG) for i in range(3)}
    assert len(continued(server)) == 1  # the probe
    assert model.learnt["continues"] is False


def test_a_refusal_is_learnt_and_the_answer_asked_anew(stub, connect):
    refused = {"setting": "continue_final_message", "message": "Extra inputs are not permitted"}
    server = stub(owned_by="vllm", teller=LONG, refusals=[refused])
    model = connect(server.url, **GREEDY)
    (response,) = model.generate([ask(1, max_new_tokens=60)])
    assert response.text == stub_teller.whole("item 1", LONG)
    assert len(continued(server)) == 1
    assert "settings_refused" not in model.description
    late = connect(server.url, **GREEDY)
    late.recall({**model.learnt, "thinks": False, "continues": True})  # it could once
    assert next(iter(late.generate([ask(2, max_new_tokens=60)]))).text == stub_teller.whole("item 2", LONG)
    assert late.learnt["continues"] is False


def test_no_server_of_another_kind_is_asked_to_continue_nor_any_that_samples(stub, connect):
    other = stub(owned_by="openai", teller=LONG)
    assert next(iter(connect(other.url, **GREEDY).generate([ask(1, max_new_tokens=60)]))).text
    sampled = stub(owned_by="vllm", teller=LONG)
    # The server's own sampling, and one that was asked for: the whole is drawn again.
    for settings, params in (({}, {}), ({"sampling": "asked"}, {"temperature": 0.7})):
        model = connect(sampled.url, concurrency=1, **settings)
        assert next(iter(model.generate([ask(1, max_new_tokens=60, **params)]))).text
    assert continued(other) == continued(sampled) == []
    assert [entry["asked"]["max_tokens"] for entry in sampled.arrivals()] == [60, 60 + 8192] * 2


def test_a_greedy_answer_that_ended_by_itself_stands(stub, connect):
    server = stub(owned_by="vllm", teller={**LONG, "tokens": 20})
    model = connect(server.url, **GREEDY)
    assert next(iter(model.generate([ask(1, max_new_tokens=60)]))).text == stub_teller.whole("item 1", {"tokens": 20})
    assert len(server.arrivals()) == 1


# --- runs under a larger budget ------------------------------------------------------------------------------


def runs_in(folder: Path) -> dict[int, Path]:
    """The run folders by the budget of their thoughts."""
    made = {path.parent: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("runs/*/run.json")}
    return {one["model"]["fingerprint"]["thinking_tokens"]: path for path, one in made.items()}


@pytest.mark.parametrize("template", ["chat", "plain"])
def test_a_run_under_a_larger_budget_continues_and_asks_nothing_twice(stub, kapwa, data, tmp_path, template):  # noqa: F811
    server = stub(owned_by="vllm", teller={**LONG, "says": "rice"})
    greedy = ("--temperature", "0", "--revision", "v1", "--template", template, "--max-new-tokens", "8")
    cut = kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "100"))
    assert "60 of 60 answers ended at the limit" in cut
    before = len(server.arrivals())
    whole = kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "500"))
    asked = [entry["asked"] for entry in server.arrivals()[before:]]
    assert len(asked) == 60 + (3 if template == "chat" else 0)  # what shows that the server can
    folders = runs_in(tmp_path)
    run = library.open_run(folders[500])
    assert run.scores.filter(metric="sem_b")["value"].to_list() == [1.0] * 60
    told = "60 answers that met the limit of 100 tokens for thoughts in the run"
    assert told in " ".join(whole.split())
    cost = run.manifest["cost"]
    assert cost["read"] == 60 * (7 + 108)
    with closing(sqlite3.connect(folders[500] / "journal.sqlite")) as journal:
        rows = [json.loads(payload) for (payload,) in journal.execute("SELECT payload FROM responses")]
    assert {row["begun"] for row in rows} == {108}
    assert cost["written"] == sum(row["usage"][1] - 108 for row in rows)
    # Once more: complete, so nothing is asked; under a larger one still: all ended, so all is taken.
    kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "500"))
    last = kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "900"))
    assert len(server.arrivals()) == before + len(asked)
    assert "From the cache: 60 of 60 answers." in last
    one, other = (library.open_run(runs_in(tmp_path)[n]) for n in (500, 900))
    assert f"taken from the cache of the run {folders[500].name}." in " ".join(other.manifest["notes"])
    assert one.scores.equals(other.scores)


def test_where_a_run_is_sampled_or_names_no_revision_all_is_asked_again(stub, kapwa, data, tmp_path):  # noqa: F811
    server = stub(owned_by="vllm", teller=LONG)
    for settings in (("--revision", "v1"), ("--temperature", "0")):
        before = len(server.arrivals())
        for budget in ("100", "500"):
            kapwa(*asking(data, server.url, *settings, "--max-new-tokens", "8", "--thinking-tokens", budget))
        assert len(server.arrivals()) == before + 120
    assert continued(server) == []


def test_a_run_that_continues_is_killed_and_goes_on(stub, kapwa, data, tmp_path):  # noqa: F811
    server = stub(owned_by="vllm", teller=LONG)
    greedy = ("--temperature", "0", "--revision", "v1", "--max-new-tokens", "8", "--concurrency", "1")
    kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "100"))
    before = len(server.arrivals())
    server.answer_after(0.1)
    command = [str(warm.programs() / "kapwa"), *asking(data, server.url, *greedy, "--thinking-tokens", "500")]
    killed = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while sum("done" in entry for entry in server.arrivals()[before:]) < 20:
        assert killed.poll() is None
        time.sleep(0.1)
    killed.kill()
    killed.wait()
    server.answer_after(0)
    told = kapwa(*asking(data, server.url, *greedy, "--thinking-tokens", "500"))
    begun = [str(body["messages"]) for body in continued(server)]
    assert len(set(begun)) == 61
    assert len(begun) <= 61 + 12  # those under way, and those of the last moments before the kill
    assert "60 answers that met the limit of 100 tokens" in " ".join(told.split())
    run = library.open_run(runs_in(tmp_path)[500])
    assert run.scores.filter(metric="sem_b")["value"].to_list() == [1.0] * 60
