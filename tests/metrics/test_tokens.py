"""Texts become arrays of token ids, by the tokenizer of their language."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from kapwa.errors import UsageError
from kapwa.metrics.tokens import Encoded, NltkTokenizer, SegmenterTokenizer, encode, tokenizer_for

sys.path.insert(0, str(Path(__file__).parent))
from tokens_texts import prose


class _Spaces:
    """The plainest tokenizer; remembers what it was asked."""

    name = "spaces"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> list[str]:
        self.asked.append(text)
        return text.lower().split()


def _decoded(encoded: Encoded) -> list[list[str]]:
    bounds = zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)
    return [[encoded.vocabulary[i] for i in encoded.ids[start:end]] for start, end in bounds]


texts = st.lists(st.lists(st.sampled_from(("a", "B", "b.", "c's", "é", "The", "1.")), max_size=6).map(" ".join))


@given(texts)
def test_encoding_loses_nothing(some: list[str]) -> None:
    for tokenizer in (tokenizer_for("en"), _Spaces()):
        encoded = encode(some, tokenizer)
        assert _decoded(encoded) == [tokenizer(text) for text in some]


@given(texts)
def test_the_arrays_are_what_they_are_said_to_be(some: list[str]) -> None:
    encoded = encode(some, tokenizer_for("en"))
    assert (encoded.ids.dtype, encoded.offsets.dtype) == (np.int32, np.int64)
    assert len(encoded.offsets) == len(some) + 1
    assert encoded.offsets[0] == 0
    assert encoded.offsets[-1] == len(encoded.ids)
    assert list(encoded.vocabulary) == sorted(set(encoded.vocabulary))
    assert sorted(set(encoded.ids.tolist())) == list(range(len(encoded.vocabulary)))


def test_each_distinct_text_is_tokenised_once() -> None:
    tokenizer = _Spaces()
    encoded = encode(["one two", "three", "one two", "", "three"], tokenizer)
    assert tokenizer.asked == ["one two", "three", ""]
    assert _decoded(encoded) == [["one", "two"], ["three"], ["one", "two"], [], ["three"]]
    # By the fast way too, and in whatever order they come.
    assert _decoded(encode(["one two", "three", "one two", "", "three"], tokenizer_for("en"))) == _decoded(encoded)


def test_no_texts_and_empty_texts() -> None:
    for tokenizer in (NltkTokenizer(), _Spaces()):
        nothing = encode([], tokenizer)
        assert (nothing.ids.tolist(), nothing.offsets.tolist(), nothing.vocabulary) == ([], [0], ())
        blank = encode(["", " \n", "\t"], tokenizer)
        assert (blank.ids.tolist(), blank.offsets.tolist(), blank.vocabulary) == ([], [0, 0, 0, 0], ())


def test_languages_with_a_model_of_their_own_and_without() -> None:
    assert isinstance(tokenizer_for("de"), NltkTokenizer)
    names = {code: tokenizer_for(code).name for code in ("en", "de", "pt-BR", "fil", "sw", "id")}
    assert "punkt:german" in names["de"]
    assert "punkt:portuguese" in names["pt-BR"]
    assert all("punkt:english" in names[code] for code in ("en", "fil", "sw", "id"))
    # "bzw." is an abbreviation in German only.
    assert tokenizer_for("de")("Er kommt bzw. Maria kommt.")[2] == "bzw."
    assert tokenizer_for("en")("Er kommt bzw. Maria kommt.")[2:4] == ["bzw", "."]


def test_one_tokenizer_per_language_whatever_the_region() -> None:
    assert tokenizer_for("en") is tokenizer_for("en-US") is tokenizer_for("EN_gb")


def test_other_scripts_are_cut_by_the_segmenter_of_their_language() -> None:
    chinese = tokenizer_for("zh")
    assert isinstance(chinese, SegmenterTokenizer)
    assert chinese("我喜欢北京。") == ["我", "喜欢", "北京"]
    assert chinese.name.startswith("segmenter:zh|version:")
    assert "rjieba-" in chinese.name
    assert _decoded(encode(["我喜欢北京。", "北京"], chinese)) == [["我", "喜欢", "北京"], ["北京"]]
    assert tokenizer_for("am")("ሰላም ለዓለም") != []


def test_a_language_that_is_not_known_is_named() -> None:
    with pytest.raises(UsageError, match="'xx'"):
        tokenizer_for("xx")


def test_a_text_does_not_change_with_its_company() -> None:
    generator = random.Random(1)
    some = [prose(generator, 4) for _ in range(30)]
    alone = [_decoded(encode([text], NltkTokenizer()))[0] for text in some]
    assert _decoded(encode(some, NltkTokenizer())) == alone
