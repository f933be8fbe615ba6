"""The provider ``kapwa`` inside Inspect, over a model whose texts tell what shared their batch."""

from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import known_inspect
import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from known_inspect import tasks

from kapwa.exchange import inspect_provider as provider
from kapwa.exchange.inspect_answers import open_new
from kapwa.exchange.inspect_provider import KapwaAPI
from kapwa.models.base import Model
from kapwa.records import ContinuationScore, Request, Response, Usage


class Told(Model):
    """A local model: one batch of four at a time, and each text says how many shared its batch."""

    id, revision, atomic_batches = "told", "1", True
    capabilities = frozenset(("score", "generate", "n_samples", "seed"))

    def __init__(self) -> None:
        self.batches: list[list[Request]] = []
        self.closed = False
        self.fault = ""

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"id": self.id}

    @property
    def description(self) -> dict[str, Any]:
        return {}

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        return [list(range(i, min(i + 4, len(requests)))) for i in range(0, len(requests), 4)]

    def generate(self, batch: Sequence[Request]) -> Iterator[Response]:
        self.batches.append(list(batch))
        for request in batch:
            if self.fault and self.fault in request.messages[0].content:
                yield Response(request.key, error="it broke")
                continue
            text = f"one of {len(batch)}, sample {request.sample}"
            yield Response(request.key, text=text, finish_reason="length", usage=Usage(3, 4))

    def score(self, batch: Sequence[Request]) -> Iterator[Response]:
        self.batches.append(list(batch))
        for request in batch:
            scores = tuple(
                ContinuationScore(-1.0 - i, 1, len(t.encode()), len(t), logprob_sum_reference=-0.1)
                for i, t in enumerate(request.continuations)
            )
            yield Response(request.key, logprobs=scores)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    model = Told()
    monkeypatch.setattr(provider, "load_model", lambda *_, **__: model)
    return model


def opened() -> Any:
    return get_model("kapwa/smollm2", memoize=False)


def evaluated(task: Any, folder: Any, **settings: Any) -> Any:
    return known_inspect.evaluated(task, opened(), folder, **settings)


CHOSEN: dict[str, Any] = {"country": "Mexico", "variant": "local/inst-4", "limit": 6}


@pytest.mark.parametrize(
    ("settings", "batches", "said"),
    [
        ({"sample_shuffle": 3}, [2, 4], ["one of 2, sample 0"] * 2 + ["one of 4, sample 0"] * 4),
        ({"limit": 1}, [4], ["one of 4, sample 0"]),  # a part is answered as the whole would be
    ],
)
def test_a_whole_batch_is_asked_once_and_its_answers_wait_for_their_samples(
    told: Told, tmp_path: Any, settings: Any, batches: list[int], said: list[str]
) -> None:
    log = evaluated(tasks.blend_saq(**CHOSEN), tmp_path, **settings)
    assert sorted(map(len, told.batches)) == batches
    assert sorted(one.output.completion for one in log.samples) == said
    assert {sample.output.stop_reason for sample in log.samples} == {"max_tokens"}


@pytest.mark.parametrize("changed", [{"temperature": 0.5}, {"max_tokens": 3}, {"system_message": "Be brief."}])
def test_what_the_user_changes_is_asked_as_changed_and_alone(told: Told, tmp_path: Any, changed: Any) -> None:
    evaluated(tasks.blend_saq(**CHOSEN), tmp_path, **changed)
    assert [len(batch) for batch in told.batches] == [1] * 6
    request = told.batches[0][0]
    assert (request.params.temperature, request.params.max_new_tokens) == (
        changed.get("temperature", 0.0),
        changed.get("max_tokens", 128),
    )
    assert (request.messages[0].content == "Be brief.") is ("system_message" in changed)


def by_epoch(log: Any) -> dict[int, list[str]]:
    """What each epoch's samples were answered, by how the texts name their draws."""
    found: dict[int, list[str]] = {}
    for sample in sorted(log.samples, key=lambda one: (one.epoch, str(one.id))):
        found.setdefault(sample.epoch, []).extend(one.message.text.split(", ")[1] for one in sample.output.choices)
    return found


def test_each_epoch_of_changed_settings_is_drawn_anew(told: Told, tmp_path: Any) -> None:
    log = evaluated(tasks.blend_saq(**CHOSEN), tmp_path, temperature=1.0, epochs=3)
    assert by_epoch(log) == {epoch: [f"sample {epoch - 1}"] * 6 for epoch in (1, 2, 3)}
    keys = [request.key for batch in told.batches for request in batch]
    assert len(set(keys)) == len(keys) == 18  # seeds come from keys


def test_each_epoch_of_a_sampled_task_is_drawn_anew(told: Told, tmp_path: Any) -> None:
    chosen: dict[str, Any] = {"limit": 1, "nationalities": "Filipino", "samples": 3, "seed": 5}
    log = evaluated(tasks.eecc_qa(**chosen), tmp_path, epochs=2)
    n = len(log.samples) // 2
    assert by_epoch(log) == {1: ["sample 0", "sample 1", "sample 2"] * n, 2: ["sample 3", "sample 4", "sample 5"] * n}
    assert {sample.output.usage.output_tokens for sample in log.samples} == {12}
    assert {request.params.seed for batch in told.batches for request in batch} == {5}
    told.batches.clear()
    once = evaluated(tasks.eecc_qa(**chosen), tmp_path)
    first = [sample.output.completion for sample in log.samples if sample.epoch == 1]
    assert [sample.output.completion for sample in once.samples] == first
    assert max(map(len, told.batches)) > 1


def test_epochs_that_cannot_differ_are_asked_once(told: Told, tmp_path: Any) -> None:
    log = evaluated(tasks.blend_saq(**CHOSEN), tmp_path, epochs=2)
    assert by_epoch(log) == {1: ["sample 0"] * 6, 2: ["sample 0"] * 6}
    assert sorted(map(len, told.batches)) == [2, 4]


def test_likelihoods_of_several_questions_about_an_item_are_kept_in_order(told: Told, tmp_path: Any) -> None:
    chosen = {"how": "likelihood", "country": "US", "limit": 2}
    log = evaluated(tasks.blend_mcq(**chosen), tmp_path, epochs=2)
    keys = [request.key for batch in told.batches for request in batch]
    assert len(set(keys)) == len(keys)
    own = open_new("blend/mcq", chosen)
    for sample in log.samples:
        requests = own.requests(own.items[sample.metadata["item_id"], sample.metadata["variant"]])
        kept = sample.output.metadata["kapwa"]["scores"]
        assert [one["continuations"] for one in kept] == [list(request.continuations) for request in requests]
        assert len(kept) > 1
        assert not any(value != value for value in sample.scores["blend_mcq"].value.values())


def test_a_request_that_fails_is_the_samples_error(told: Told, tmp_path: Any) -> None:
    item = open_new("blend/saq", CHOSEN).task.items()[0]
    told.fault = item.fields["question"]
    log = evaluated(tasks.blend_saq(**CHOSEN), tmp_path, fail_on_error=False)
    failed = [sample for sample in log.samples if sample.error]
    assert [sample.metadata["item_id"] for sample in failed] == [item.id]
    assert "it broke" in failed[0].error.message
    assert len(log.samples) == 6


def ask(model: Any, *texts: str, **settings: Any) -> list[str]:
    async def each() -> list[str]:
        config = GenerateConfig(**settings)
        return [(await model.generate([ChatMessageUser(content=text)], config=config)).completion for text in texts]

    return anyio.run(each)


def test_other_tasks_are_answered_alone_and_sampled_anew_until_the_model_is_closed(told: Told) -> None:
    model = opened()
    assert ask(model, "q", "q") == ["one of 1, sample 0"] * 2
    assert ask(model, "q", "q", temperature=1.0) == ["one of 1, sample 0", "one of 1, sample 1"]
    assert told.batches[0][0].params.max_new_tokens == 2048
    assert isinstance(model.api, KapwaAPI)
    model.api.close()
    assert told.closed


@pytest.mark.parametrize("settings", [{"top_k": 5}, {"num_choices": 2}, {"frequency_penalty": 1.0}])
def test_what_kapwas_models_cannot_do_is_said(told: Told, settings: Any) -> None:
    with pytest.raises(PrerequisiteError) as failure:
        ask(opened(), "q", **settings)
    assert "kapwa/ models" in str(failure.value.message)
    assert told.batches == []
