"""Rendering: the tokenizer's template or the plain one, dates fixed, refusals turned into words."""

import pytest
from tiny_models import train_tokenizer

from kapwa.errors import ModelError
from kapwa.models.templates import EncodingError, choose
from kapwa.records import Message

ASK = (Message("system", "Maging maikli."), Message("user", "Kumusta?"))


def test_plain_template_is_each_content_and_a_newline():
    template = choose(train_tokenizer(chat=False), "auto", {})
    assert template.kind == "plain"
    assert template.prompt(ASK) == "Maging maikli.\nKumusta?\n"
    assert template.conversation(ASK, "Mabuti.") == "Maging maikli.\nKumusta?\nMabuti."


def test_auto_takes_the_chat_template_where_there_is_one():
    tokenizer = train_tokenizer()
    template = choose(tokenizer, "auto", {})
    assert template.kind == "chat"
    assert template.prompt(ASK).endswith("Kumusta?<|im_end|>\n<|im_start|>assistant\n")
    assert template.conversation(ASK, "Mabuti.").endswith("<|im_start|>assistant\nMabuti.<|im_end|>\n")
    assert choose(tokenizer, "plain", {}).prompt(ASK) == "Maging maikli.\nKumusta?\n"


def test_chat_without_a_chat_template_is_refused():
    with pytest.raises(ModelError, match="no chat template"):
        choose(train_tokenizer(chat=False), "chat", {})


def test_dates_are_fixed_and_enter_the_digest():
    tokenizer = train_tokenizer()
    tokenizer.chat_template = "{{ strftime_now('%d %B %Y') }}|{{ date_string }}|{{ messages[0]['content'] }}"
    default, other = choose(tokenizer, "auto", {}), choose(tokenizer, "auto", {"date": "2024-07-26"})
    assert default.prompt(ASK) == "01 January 2025|01 Jan 2025|Maging maikli."
    assert other.prompt(ASK) == "26 July 2024|26 Jul 2024|Maging maikli."
    assert default.digest != other.digest
    with pytest.raises(ModelError, match="'kahapon' is not a date"):
        choose(tokenizer, "auto", {"date": "kahapon"})


def test_template_arguments_reach_the_template_and_the_digest():
    tokenizer = train_tokenizer()
    tokenizer.chat_template = "{{ 'think' if enable_thinking else 'answer' }}"
    thinking = choose(tokenizer, "auto", {"template_arguments": {"enable_thinking": True}})
    silent = choose(tokenizer, "auto", {"template_arguments": {"enable_thinking": False}})
    assert (thinking.prompt(ASK), silent.prompt(ASK)) == ("think", "answer")
    assert thinking.digest != silent.digest


def test_a_template_that_refuses_says_why():
    tokenizer = train_tokenizer()
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    with pytest.raises(EncodingError, match="System role not supported"):
        choose(tokenizer, "auto", {}).prompt(ASK)
