"""Templates of families that think: what is found of them, and that no mark of a thought is scored."""

import pytest
import thinking_templates as made
from tiny_models import CHAT_TEMPLATE, train_tokenizer

from kapwa.errors import ModelError
from kapwa.models.base import ModelOptions
from kapwa.models.encoding import Encoder
from kapwa.models.template_thinking import TemplateThinking, scored_path_flaw, settle
from kapwa.models.templates import choose
from kapwa.models.thinking_settings import wish_of
from kapwa.records import Message, Params, Request

ASK = (Message("system", "Maging maikli."), Message("user", "Ano ang almusal?"))


def settled(source: str, **said: object) -> TemplateThinking:
    tokenizer = train_tokenizer()
    tokenizer.chat_template = source
    template = choose(tokenizer, "auto", {})
    return settle(template, wish_of(ModelOptions(**said)))  # type: ignore[arg-type]


# A template; whether it thinks by itself; what ends a prompt that a given text follows; how the signature says it.
FORMS = [
    (made.HYBRID, True, "assistant\n<think>\n\n</think>\n\n", "off, enable_thinking=False"),
    (made.OPENING, True, "assistant\n<think>\n\n</think>\n\n", "off, an empty thought"),
    (made.WORDED, True, "assistant\n<think></think>\n", "off, enable_thinking=False"),
    (made.CHANNELS, True, "assistant<|channel|>final<|message|>", "off, the template's empty thought"),
    (made.ASKED, False, "assistant\n</think>", "off, thinking=False"),
    (made.BRACKETS, True, "assistant\n[THINK][/THINK]", "off, an empty thought"),
    (made.BUDGETED, True, "assistant\n<seed:think></seed:think>", "off, an empty thought"),
]
NAMES = ["hybrid", "opening", "worded", "channels", "asked", "brackets", "budgeted"]


@pytest.mark.parametrize(("source", "thinks", "end", "words"), FORMS, ids=NAMES)
def test_a_given_text_follows_no_thought(source, thinks, end, words):
    found = settled(source)
    template = found.template
    assert (found.known, found.thinks, found.cannot) == (True, thinks, None)
    assert template.scored.words == words
    prompt, whole = template.scored_prompt(ASK), template.scored_conversation(ASK, "Sinangag.")
    assert prompt.endswith(end)
    assert whole.startswith(prompt + "Sinangag.")  # the prompt is the beginning of the whole
    assert "think" not in whole[len(prompt) :].lower()
    assert template.prompt(ASK) == choose(template.tokenizer, "auto", {}).prompt(ASK)  # texts are asked as ever


@pytest.mark.parametrize(("source", "thinks", "end", "words"), FORMS, ids=NAMES)
def test_no_mark_of_a_thought_is_scored(source, thinks, end, words):
    template = settled(source).template
    encoder = Encoder(template.tokenizer, template)
    assert scored_path_flaw(template, encoder.encode, template.tokenizer.decode) is None
    texts = ("Sinangag.", "Kape at pandesal")
    encoded = encoder.request(Request("i", "v", "score", ASK, texts, Params(closing=True), key="k"))
    for text, item in zip(texts, encoded.continuations, strict=True):
        scored = template.tokenizer.decode(item.text.tokens[item.text.start :])
        closed = template.tokenizer.decode(item.conversation.tokens[item.conversation.start :])
        assert scored.strip() == text
        assert closed.startswith(text)
        assert "think" not in closed.lower()
        assert item.conversation.tokens[: item.text.start] == item.text.tokens[: item.text.start]


def test_where_nothing_shows_how_to_skip_a_thought_scoring_is_refused():
    found = settled(made.HIDDEN)
    assert found.template.scored is None
    assert "names no way to leave the thought out" in found.cannot
    said = settled(made.HIDDEN, thinking="off")  # by who knows that the model does not think
    assert (said.cannot, said.thinks) == (None, False)


def test_tokens_that_change_with_the_text_are_found_out():
    template = settled(made.OPENING).template
    encode = Encoder(template.tokenizer, template).encode

    def merging(texts):
        # As if the closing mark and the answer's first letters were one token.
        return [ids if place == 0 else (*ids[:-30], 0, *ids[-29:]) for place, ids in enumerate(encode(texts))]

    assert "would be scored" in scored_path_flaw(template, merging, template.tokenizer.decode)


def test_a_template_that_knows_no_thoughts_is_left_as_it_is():
    found = settled(CHAT_TEMPLATE)
    assert (found.known, found.thinks, found.cannot) == (False, False, None)
    assert found.template.scored is None
    assert found.template.digest == choose(found.template.tokenizer, "auto", {}).digest
    for mode in ("on", "low", "4096"):
        with pytest.raises(ModelError, match="does not support thinking"):
            settled(CHAT_TEMPLATE, thinking=mode)
    assert not settled(CHAT_TEMPLATE, thinking="off").thinks


@pytest.mark.parametrize(
    ("source", "said", "end", "thinks"),
    [
        (made.HYBRID, "off", "<think>\n\n</think>\n\n", False),
        (made.HYBRID, "on", "<|im_start|>assistant\n", True),
        (made.OPENING, "off", "<think>\n\n</think>\n\n", False),
        (made.CHANNELS, "off", "<|start|>assistant<|channel|>final<|message|>", False),
        (made.CHANNELS, "high", "<|start|>assistant", True),
        (made.ASKED, "on", "<think>", True),
        (made.BUDGETED, "512", "<seed:think>", True),
    ],
)
def test_texts_are_asked_as_the_user_wishes(source, said, end, thinks):
    found = settled(source, thinking=said)
    assert found.template.prompt(ASK).endswith(end)
    assert found.thinks is thinks


def test_levels_and_budgets_reach_the_template():
    assert "Reasoning: high" in settled(made.CHANNELS, thinking="high").template.prompt(ASK)
    assert "for 512 tokens" in settled(made.BUDGETED, thinking="512").template.prompt(ASK)
    with pytest.raises(ModelError, match="no levels of thinking"):
        settled(made.HYBRID, thinking="low")


def test_what_the_user_tells_the_template_decides():
    tokenizer = train_tokenizer()
    tokenizer.chat_template = made.HYBRID
    template = choose(tokenizer, "auto", {"template_arguments": {"enable_thinking": False}})
    found = settle(template, wish_of(ModelOptions()))
    assert not found.thinks
    assert found.template.prompt(ASK).endswith("</think>\n\n")
