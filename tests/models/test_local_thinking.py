"""The embedded model's tokens under templates of families that think: scored without thoughts, with room for them."""

import copy
import math
from typing import Any

import pytest
import thinking_templates as made

from kapwa.errors import ModelError
from kapwa.models.base import ModelOptions, check_capabilities
from kapwa.models.encoding import common_prefix
from kapwa.records import Message, Params, Request

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")

ASK = (Message("user", "What do people drink in the morning?"),)
TEXTS = ("Coffee.", " Rice wine", "กาแฟ")


def dressed(small: Any, source: str, defaults: dict[str, Any] | None = None, **said: Any) -> Any:
    """The small model with another chat template, and perhaps generation settings of its makers."""
    from transformers import GenerationConfig

    from kapwa.models.transformers import TransformersModel
    from kapwa.models.weights import Weights

    tokenizer = copy.deepcopy(small._tokenizer)
    tokenizer.chat_template = source
    network = copy.copy(small._network.model)
    network.generation_config = GenerationConfig(**(defaults or {}))
    return TransformersModel("smollm2", Weights(network, tokenizer, small.revision), ModelOptions(**said))


@pytest.mark.parametrize("source", [made.HYBRID, made.OPENING, made.WORDED, made.CHANNELS], ids=["h", "o", "w", "c"])
def test_given_texts_are_scored_right_after_the_empty_thought(small, source):
    model = dressed(small, source)
    (response,) = model.score([Request("i", "v", "score", ASK, TEXTS, Params(closing=True), key="k")])
    prompt = model.template.scored_prompt(ASK)
    for text, score in zip(TEXTS, response.logprobs, strict=True):
        alone, joint = model._encoder.encode([prompt, prompt + text])
        start = common_prefix(alone, joint)
        assert "think" not in model._tokenizer.decode(joint[start:])  # at most a line break is scored with the text
        with torch.inference_mode():
            logits = small._network.model(torch.tensor([joint])).logits[0].float().log_softmax(-1)
        values = [logits[i - 1, joint[i]].item() for i in range(start, len(joint))]
        assert score.logprob_sum == pytest.approx(sum(values), abs=1e-3)
        assert score.n_tokens == len(values)
        assert math.isfinite(score.logprob_sum_reference)
    assert model.fingerprint["thinking_scored"].startswith("off")


def test_where_a_thought_cannot_be_left_out_scoring_is_refused_with_the_remedy(small):
    model = dressed(small, made.HIDDEN)
    with pytest.raises(ModelError, match="add thinking='off'"):
        check_capabilities(model, frozenset({"score"}), "kalahi/mc")
    check_capabilities(dressed(small, made.HIDDEN, thinking="off"), frozenset({"score"}), "kalahi/mc")


def test_a_thought_has_room_beside_the_answer_and_the_makers_sampling(small):
    recommended = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "do_sample": True}
    model = dressed(small, made.OPENING, recommended, thinking_tokens=6)
    (response,) = model.generate([Request("i", "v", "generate", ASK, params=Params(max_new_tokens=4), key="k")])
    assert response.usage.completion_tokens == 10
    assert response.thought_opened
    assert (model.fingerprint["thinking"], model.fingerprint["thinking_tokens"]) == ("own:on", 6)
    assert model.fingerprint["sampling"] == "0.6,0.95,20"
    assert "temperature 0.6, top_p 0.95, top_k 20" in " ".join(model.description["notes"])
    greedy = dressed(small, made.OPENING, recommended, thinking_tokens=6, sampling="asked")
    assert greedy.fingerprint["sampling"] == "greedy"


def test_where_nothing_is_thought_all_is_as_ever(small):
    silent = dressed(small, made.HYBRID, {"temperature": 0.6}, thinking="off")
    (response,) = silent.generate([Request("i", "v", "generate", ASK, params=Params(max_new_tokens=4), key="k")])
    assert response.usage.completion_tokens <= 4
    assert silent._asked.recommended is None
    assert not {"thinking", "thinking_tokens", "thinking_scored", "sampling"} & small.fingerprint.keys()
    assert small.description["notes"] == []
