"""Inspect's own provider for local weights, on a tiny random network: greedy when asked to be, sampled when not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from served_tools import ask

from kapwa.models.base import ModelOptions
from kapwa.models.inspect import InspectModel, load

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))


@pytest.fixture(scope="module")
def weights(needs_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import tiny_models

    folder = tiny_models.save_model(tmp_path_factory.mktemp("tiny"))
    return folder


def opened(weights: Path) -> InspectModel:
    arguments = {"model_path": str(weights), "device": "cpu"}
    return load("hf/tiny", ModelOptions(concurrency=4, extra={"model_args": arguments, "max_retries": 0}))


def test_greedy_requests_are_answered_greedily(weights: Path) -> None:
    asked = [ask(i, sample, text="ang bata", max_new_tokens=6) for i in range(2) for sample in range(2)]
    answers = list(opened(weights).generate(asked))
    assert len({answer.text for answer in answers}) == 1
    assert all(answer.error is None for answer in answers)


def test_sampled_requests_are_sampled_and_the_two_do_not_mix(weights: Path) -> None:
    model = opened(weights)
    asked = [ask(i, text="ang bata", max_new_tokens=12, temperature=2.0) for i in range(6)]
    assert len({answer.text for answer in model.generate(asked)}) > 1
    (mixed,) = model.generate([ask(9, max_new_tokens=4)])
    assert "cannot answer greedy and sampled requests in one run" in (mixed.error or "")
