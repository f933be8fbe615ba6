"""Where a prompt ends and a continuation begins, in tokens: clean, merged, doubled, empty."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import train_tokenizer

from kapwa.models.encoding import Encoder
from kapwa.models.templates import EncodingError, choose
from kapwa.records import Message, Params, Request


def encoder_for(tokenizer, template="auto"):
    return Encoder(tokenizer, choose(tokenizer, template, {}))


def ask(prompt, *continuations, closing=False):
    return Request("i", "v", "score", (Message("user", prompt),), continuations, Params(closing=closing))


@pytest.fixture(scope="module")
def crossing():
    return train_tokenizer(chat=False)


def _pieces(tokenizer, ids):
    return [tokenizer.decode([i]) for i in ids]


def test_a_token_across_the_join_is_flagged_and_the_joint_encoding_scored(crossing):
    encoder = encoder_for(crossing)
    # The trained tokenizer has a token that spans a line break and the letter after it.
    joint = crossing("Salamat po!\nMabuti naman po").input_ids
    prompt = crossing("Salamat po!\n").input_ids
    assert joint[: len(prompt)] != prompt
    encoded = encoder.request(ask("Salamat po!", "Mabuti naman po")).continuations[0]
    shared = encoded.text.start
    assert encoded.boundary == "merged"
    assert shared < len(prompt)
    assert list(encoded.text.tokens) == joint
    assert list(encoded.text.tokens[:shared]) == prompt[:shared]
    assert encoded.text.tokens[shared] != prompt[shared]


@settings(max_examples=150, deadline=None)
@given(prompt=st.text(max_size=12), texts=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4),
       closing=st.booleans())  # fmt: skip
@pytest.mark.parametrize("template", ["plain", "chat"])
def test_paths_follow_the_definition(template, prompt, texts, closing):
    tokenizer = _TOKENIZERS[template]
    encoder = encoder_for(tokenizer, template)
    request = ask(prompt, *texts, closing=closing)
    if any("\ud800" <= c <= "\udfff" for c in prompt + "".join(texts)):
        with pytest.raises(EncodingError, match="surrogate"):
            encoder.request(request)
        return
    rendered = encoder.template.prompt(request.messages)
    encoded = encoder.request(request)
    alone = tokenizer(rendered, add_special_tokens=False).input_ids
    extra = encoded.prompt_tokens - len(alone)
    assert extra in (0, 1)
    for text, item in zip(texts, encoded.continuations, strict=True):
        joint = tokenizer(rendered + text, add_special_tokens=False).input_ids
        assert list(item.text.tokens[extra:]) == joint
        p = item.text.start - extra
        assert joint[:p] == alone[:p]
        assert p == min(len(alone), len(joint)) or joint[p] != alone[p]
        assert (item.boundary == "merged") == (p < len(alone))
        assert item.text.start >= 1
        assert (item.conversation is not None) == closing
        if closing:
            whole = encoder.template.conversation(request.messages, text)
            expected = tokenizer(whole, add_special_tokens=False).input_ids
            expected += [tokenizer.eos_token_id] if template == "plain" else []
            assert list(item.conversation.tokens[extra:]) == expected
            assert item.conversation.start - extra == len(alone)


_TOKENIZERS = {"plain": train_tokenizer(chat=False), "chat": train_tokenizer()}


def test_a_prompt_merged_away_whole_starts_from_the_start_token(crossing):
    # One token "ab" replaces the prompt's "a": nothing is shared, so a start token must precede it.
    class NoNewline:
        kind = "plain"

        def prompt(self, messages):
            return messages[0].content

        def conversation(self, messages, answer):
            return messages[0].content + answer

        scored_prompt, scored_conversation = prompt, conversation

    encoder = Encoder(crossing, NoNewline())
    assert len(crossing("ab").input_ids) == 1
    encoded = encoder.request(ask("a", "b", closing=True))
    item = encoded.continuations[0]
    assert item.text.tokens == (crossing.eos_token_id, crossing("ab").input_ids[0])
    assert (item.text.start, item.boundary) == (1, "merged")
    assert encoded.prompt_tokens == 2
    empty = encoder.request(ask("", "ab"))
    assert empty.continuations[0].text.tokens == (crossing.eos_token_id, crossing("ab").input_ids[0])
    assert empty.continuations[0].boundary == "clean"


def test_without_any_start_token_the_request_is_refused(crossing):
    encoder = encoder_for(crossing)
    encoder.bos = encoder.eos = None
    request = Request("i", "v", "score", (), ("ab",))
    with pytest.raises(EncodingError, match="neither BOS nor EOS"):
        encoder.request(request)


def test_plain_text_gets_bos_once_and_never_eos():
    tokenizer = train_tokenizer(chat=False, bos=True)
    assert tokenizer("ab").input_ids[-1] == tokenizer.convert_tokens_to_ids("</s>")
    encoder = encoder_for(tokenizer)
    item = encoder.request(ask("ab", "xyz", closing=True)).continuations[0]
    bos, end = tokenizer.bos_token_id, tokenizer.convert_tokens_to_ids("</s>")
    assert item.text.tokens.count(bos) == 1
    assert item.text.tokens[0] == bos
    assert end not in item.text.tokens
    assert item.conversation.tokens[-1] == tokenizer.eos_token_id
    doubled = encoder.request(ask("<s>ab", "xyz")).continuations[0]
    assert doubled.text.tokens == item.text.tokens


def test_chat_text_gets_no_tokens_beyond_the_template():
    tokenizer = train_tokenizer(chat=True, bos=True)
    item = encoder_for(tokenizer).request(ask("ab", "xyz")).continuations[0]
    assert tokenizer.bos_token_id not in item.text.tokens
    assert item.text.tokens[0] == tokenizer.convert_tokens_to_ids("<|im_start|>")


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (ask("a"), "no continuation"),
        (ask("a", "b", ""), "continuation 2 is empty"),
        (ask("a", "b\ud800"), r"lone surrogate \(U\+D800\)"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_the_reason(crossing, request_, says):
    with pytest.raises(EncodingError, match=says):
        encoder_for(crossing).request(request_)


def test_a_continuation_the_tokenizer_drops_is_refused(crossing):
    from tokenizers import normalizers

    tokenizer = train_tokenizer(chat=False)
    tokenizer.backend_tokenizer.normalizer = normalizers.Strip()
    with pytest.raises(EncodingError, match="continuation 1 adds no token"):
        encoder_for(tokenizer).request(ask("ab", "  \n"))
