"""A token that ends a thought in one family of models, and the whole turn in another."""

from itertools import pairwise
from typing import Any

import pytest
from tiny_models import build, train_tokenizer

from kapwa.models.base import ModelOptions
from kapwa.models.gate import gate
from kapwa.models.thinking import goes_on
from kapwa.records import Message, Params, Request, Response

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")

ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['role'] }}<|message|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|go|>{% endif %}"
)


@pytest.mark.parametrize(
    ("text", "token", "more"),
    [
        (ANALYSIS + "B it may be", "<|end|>", True),
        (f"<|start|>assistant{ANALYSIS}B", "<|end|>", True),
        (f"{ANALYSIS}B<|end|><|start|>assistant<|channel|>commentary<|message|>C", "<|end|>", True),
        (f"{ANALYSIS}B<|end|>{FINAL}A", "<|end|>", False),
        (ANALYSIS + "B it may be", "<|return|>", False),
        ("<think>B it may be", "<|end|>", False),  # where <|end|> ends every turn
        ("A", "<|end|>", False),
        ("<|channel|>final<|message|>A", "<|end|>", False),
        ("<|think|>B it may be", "<|end|>", True),
        ("<|think|>B<|end|><|begin|>assistant<|content|>A", "<|end|>", False),
        ("<|content_thinking|>B it may be", "<|end_message|>", True),
    ],
)
def test_which_token_only_ends_a_thought(text: str, token: str, more: bool) -> None:
    assert goes_on(text, token) is more


def saying(chain: list[str], template: str = TEMPLATE) -> Any:
    """A model that writes ``chain`` after the prompt's last token: of each token, the next is certain."""
    from tokenizers import AddedToken
    from transformers import GenerationConfig

    from kapwa.models.transformers import TransformersModel
    from kapwa.models.weights import Weights

    tokenizer = train_tokenizer()
    marks = [ANALYSIS, FINAL, "<think>", "<|go|>", "<|end|>", "<|return|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken(mark, special=True) for mark in marks]})
    tokenizer.chat_template = template
    tokenizer.eos_token = "<|return|>"
    size = len(tokenizer)
    network = build(
        "llama",
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        tie_word_embeddings=False,
    )
    layer = network.model.layers[0]
    for weights in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight, network.lm_head.weight):
        weights.zero_()
    network.model.embed_tokens.weight.copy_(torch.eye(size))
    ids = [tokenizer.convert_tokens_to_ids(token) for token in chain]
    for token, following in pairwise(ids):
        network.lm_head.weight[following, token] = 1.0
    network.generation_config = GenerationConfig(
        eos_token_id=tokenizer.convert_tokens_to_ids(["<|return|>", "<|end|>"])
    )
    return TransformersModel("chain", Weights(network, tokenizer, "1"), ModelOptions(thinking_tokens=8))


def replies(model: Any, **params: Any) -> list[Response]:
    params = {"max_new_tokens": 16, **params}
    asked = [
        Request("i", "v", "generate", (Message("user", text),), params=Params(**params)) for text in ("a", "naman po?")
    ]
    return [gate(response) for response in model.generate(asked)]


def test_the_end_of_a_channel_does_not_end_the_answer() -> None:
    model = saying(["<|go|>", ANALYSIS, "a", "<|end|>", FINAL, "b", "<|return|>"])
    assert {"<|end|>", "<|return|>"} <= set(model.description["stop_tokens"])
    for answer in replies(model):
        assert (answer.text, answer.thought, answer.state) == ("b", "a", "answered")
        assert answer.usage is not None
        assert answer.usage.completion_tokens == 5  # all but what ends it


@pytest.mark.parametrize("stop", [(), ("c",)])
def test_the_same_token_ends_the_answer_after_it(stop: tuple[str, ...]) -> None:
    for answer in replies(saying(["<|go|>", ANALYSIS, "a", "<|end|>", FINAL, "b", "<|end|>"]), stop=stop):
        assert (answer.text, answer.thought, answer.state) == ("b", "a", "answered")


def test_the_same_token_ends_a_turn_of_other_families() -> None:
    for answer in replies(saying(["<|go|>", "<think>", "a", "<|end|>", "b", "<|return|>"])):
        assert (answer.text, answer.thought, answer.state) == ("", "a", "empty")
    for answer in replies(saying(["<|go|>", "a", "<|end|>", "b", "<|return|>"])):
        assert (answer.text, answer.thought, answer.state) == ("a", None, "answered")


def test_a_channel_that_the_prompt_opens() -> None:
    opens = TEMPLATE.replace("<|go|>", ANALYSIS)
    for answer in replies(saying([ANALYSIS, "a", "<|end|>", FINAL, "b", "<|return|>"], opens)):
        assert (answer.text, answer.thought, answer.state) == ("b", "a", "answered")
