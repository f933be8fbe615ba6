"""Local weights go on with a thought that met its limit: to the token, what one longer generation gives."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import thinking_templates as made
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, train_tokenizer

import kapwa
from kapwa.models.base import ModelOptions
from kapwa.records import Message, Params, Request, Response
from kapwa.runs.asking import RunInterrupted
from kapwa.runs.runner import run_task
from kapwa.runs.settings import RunSettings
from kapwa.runs.store import AnswerStore, decode, encode

pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")

_NETWORK, _TOKENIZER = build("llama", vocab_size=400, max_position_embeddings=4096), train_tokenizer()
TEXTS = st.text(alphabet="ab xyz.?\nMan", min_size=1, max_size=12)
BOUND = "0" * 31


def thinking(budget: int, source: str = made.OPENING, defaults: dict[str, Any] | None = None, **more: Any) -> Any:
    """A small random model whose template opens a thought, which has so many tokens of room."""
    from transformers import GenerationConfig

    from kapwa.models.transformers import TransformersModel
    from kapwa.models.weights import Weights

    tokenizer, network = copy.copy(_TOKENIZER), copy.copy(_NETWORK)
    tokenizer.chat_template = source
    network.generation_config = GenerationConfig(**(defaults or {}))
    options = ModelOptions(thinking_tokens=budget, **more)
    return TransformersModel("hf:tiny", Weights(network, tokenizer, "1" * 16), options)


def requests(texts: list[str], **params: Any) -> list[Request]:
    asked = Params(**{"max_new_tokens": 3, **params})
    return [
        Request(f"i{n}", "v", "generate", (Message("user", text),), params=asked, key=f"{BOUND}{n}")
        for n, text in enumerate(texts)
    ]


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    small=st.integers(1, 20),
    more=st.integers(1, 25),
    stop=st.sampled_from([(), ("a",), ("\n", "M")]),
    source=st.sampled_from([made.OPENING, made.HYBRID, made.BRACKETS]),
)
def test_what_was_cut_and_continued_is_what_one_longer_generation_gives(texts, small, more, stop, source):
    asked = requests(texts, stop=stop)
    cut = {r.request_key: decode(*encode(r)) for r in thinking(small, source).generate(asked)}  # as a journal keeps it
    assert all((response.tokens is None) == (response.finish_reason == "stop") for response in cut.values())
    larger = thinking(small + more, source)
    unfinished = [replace(r, begun=cut[r.key]) for r in asked if cut[r.key].tokens is not None]
    continued = {response.request_key: response for response in larger.generate(unfinished)}
    for whole in larger.generate(asked):
        before = cut[whole.request_key]
        after = continued.get(whole.request_key, before)
        assert after.begun == len(before.tokens or ())
        assert replace(after, begun=0) == whole


def test_only_greedy_thoughts_keep_their_tokens_and_none_where_there_is_no_room_for_more():
    recommended = {"temperature": 0.6, "top_p": 0.95, "do_sample": True}
    sampled = thinking(4, defaults=recommended)
    assert not sampled.continues
    assert [response.tokens for response in sampled.generate(requests(["ab"]))] == [None]
    greedy = thinking(4, defaults=recommended, sampling="asked")
    assert greedy.continues
    (response,) = greedy.generate(requests(["ab"]))
    assert len(response.tokens) == 7
    (same,) = greedy.generate([replace(requests(["ab"])[0], begun=response)])  # the limit is no larger
    assert (same.text, same.finish_reason, same.tokens) == (response.text, "length", response.tokens)


# --- runs ----------------------------------------------------------------------------------------------------


def run(out: Path, budget: int, stop_after: int | None = None, **more: Any) -> Path:
    """Run six questions; ``stop_after``: batches after which the run is interrupted."""
    task = kapwa.load_task("blend/saq", limit=6, variant="en/inst-4", max_new_tokens=4)
    model = thinking(budget, batch_tokens=900, **more)
    generate, calls = model.generate, []

    def counting(batch: Any) -> Any:
        if len(calls) == stop_after:
            raise KeyboardInterrupt
        calls.append(batch)
        yield from generate(batch)

    model.generate = counting
    folder = run_task(task, model, RunSettings(out=out, progress=False))
    assert len(calls) > 1 or stop_after is not None
    return folder


def kept(folder: Path) -> dict[str, Response]:
    """The answers of a run, with nothing of where their beginnings come from."""
    with AnswerStore(folder / "journal.sqlite", mode="read") as store:
        rows = store.rows("SELECT key, failed, payload, sum FROM responses")
    answers = (decode(*row) for row in rows)
    return {answer.request_key: replace(answer, begun=0) for answer in answers}


def test_a_run_under_a_larger_budget_goes_on_with_the_thoughts_that_were_cut(tmp_path: Path) -> None:
    run(tmp_path / "a", 6)
    with pytest.raises(RunInterrupted):
        run(tmp_path / "a", 20, stop_after=1)
    continued = run(tmp_path / "a", 20)
    anew = run(tmp_path / "b", 20)
    assert continued.name == anew.name
    assert kept(continued) == kept(anew)
    one, other = kapwa.open_run(continued), kapwa.open_run(anew)
    assert one.scores.equals(other.scores)
    n = one.manifest["continued"]["answers"]
    assert n > 0
    assert one.manifest["continued"]["thinking_tokens"] == 6
    assert one.manifest["cost"]["written"] < other.manifest["cost"]["written"]
    assert f"{n} answers that met the limit of 6 tokens for thoughts in the run" in " ".join(one.manifest["notes"])
    assert "continued" not in other.manifest


def test_a_run_that_is_sampled_or_on_another_machine_is_asked_whole(tmp_path: Path, monkeypatch: Any) -> None:
    recommended = {"temperature": 0.6, "do_sample": True}
    run(tmp_path / "a", 6, defaults=recommended)
    assert "continued" not in kapwa.open_run(run(tmp_path / "a", 20, defaults=recommended)).manifest
    run(tmp_path / "b", 6)
    monkeypatch.setattr("kapwa.models.transformers.processor", lambda: "another")
    assert "continued" not in kapwa.open_run(run(tmp_path / "b", 20)).manifest
