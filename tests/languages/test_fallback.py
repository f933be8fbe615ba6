"""Any language: replies planted in those without a module are judged as in those with one; tags, scripts, marks."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from kapwa import inventory
from kapwa.errors import UsageError
from kapwa.languages import fallback
from kapwa.languages.fallback import NO_RULES, has_rules, language_for, needs_icu, without_rules, without_words
from kapwa.metrics.matching import Kind, Matcher

Planted = Mapping[str, Mapping[str, list[str]]]
PLANTED: Mapping[str, Planted] = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_text(encoding="utf-8"))
UNSPACED = {"ja", "th", "lo", "km", "my"}
ICU = importlib.util.find_spec("icu4py") is not None


def judged(tag: str) -> tuple[int, int]:
    """Of a language's 8 right and 8 wrong replies, those judged so."""
    matcher, planted = Matcher(language_for(tag)), PLANTED[tag]
    right = [matcher.match(reply, gold) is not None for gold, replies in planted.items() for reply in replies["right"]]
    wrong = [matcher.match(reply, gold) is None for gold, replies in planted.items() for reply in replies["wrong"]]
    assert (len(right), len(wrong)) == (8, 8)
    return sum(right), sum(wrong)


@pytest.mark.parametrize("tag", sorted(PLANTED))
def test_planted_replies_are_judged(tag: str) -> None:
    if tag in UNSPACED and not ICU:
        pytest.skip("the extra icu is not installed")
    right, wrong = judged(tag)
    # Basque: Snowball does not take -n and -k off, and has one stem for a ball and a pilot.
    assert (right, wrong) >= ((6, 7) if tag == "eu" else (8, 7))


def test_languages_without_a_module_are_judged_as_well_as_those_with_one() -> None:
    tags = [tag for tag in PLANTED if tag != "zh-Hant" and (ICU or tag not in UNSPACED)]
    with_one, without = [tag for tag in tags if has_rules(tag)], [tag for tag in tags if not has_rules(tag)]
    assert len(without) >= 9
    share = [sum(sum(judged(tag)) for tag in own) / (16 * len(own)) for own in (with_one, without)]
    assert share[1] > share[0] - 0.03


@pytest.mark.parametrize("tag", sorted(UNSPACED))
def test_without_icu_an_answer_counts_inside_a_run_of_letters(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "_breaker", lambda: None)
    fallback._language.cache_clear()
    try:
        assert needs_icu(tag)
        assert sum(judged(tag)) >= 12
        assert "icu4py" not in {tool.name for tool in language_for(tag).info.tools}
    finally:
        fallback._language.cache_clear()


def test_it_is_marked_wherever_its_tools_stand() -> None:
    marked = {tag for tag in PLANTED if any(NO_RULES in tool.name for tool in language_for(tag).info.tools)}
    assert marked == {tag for tag in PLANTED if not has_rules(tag)}
    assert not any(language_for(tag).info.reviewed for tag in PLANTED)
    (info,) = inventory.languages(["sv-FI"])
    assert (info.code, info.name) == ("sv", "Swedish")
    assert [tool.name for tool in info.tools][:2] == ["simplemma", "PyStemmer"]


@pytest.mark.parametrize(("tag", "parent"), [("yue-HK", "zh"), ("arz", "ar"), ("nan", "zh")])
def test_a_language_takes_the_rules_of_its_macrolanguage(tag: str, parent: str) -> None:
    language = language_for(tag)
    assert (language.tokens, language.variants) == (language_for(parent).tokens, language_for(parent).variants)
    assert any(NO_RULES in tool.name for tool in language.info.tools)


def test_traditional_and_simplified_chinese_are_one_language() -> None:
    matcher = Matcher(language_for("zh"))
    for one, other in (("籃球", "篮球"), ("餅乾", "饼干"), ("臺灣", "台湾"), ("五點", "五点"), ("一萬", "10000")):
        kind: Kind = "number" if other.isdigit() else "time" if "点" in other else "text"
        assert matcher.match(one, other, kind) is not None
        assert matcher.match(other, one, kind) is not None
    assert matcher.match("棒球", "篮球") is None
    assert language_for("zh").fold("乾隆") == "乾隆"


def test_turkish_parts_its_two_letters_i() -> None:
    turkish = language_for("tr")
    assert turkish.fold("ISPARTA İZMİR") == "ısparta izmir"
    assert language_for("sv").fold("İZMİR") == "izmir"


def test_vowel_signs_that_unicode_takes_apart_stay_whole() -> None:
    assert language_for("th").fold("น้ำ") == "น้ำ"
    assert language_for("lo").fold("ນ້ຳ") == "ນ້ຳ"


@pytest.mark.parametrize(("tag", "remedy"), [("Thai", "'th'"), ("xx!!", "kapwa languages"), ("", "kapwa languages")])
def test_what_is_no_tag_is_refused_with_a_remedy(tag: str, remedy: str) -> None:
    with pytest.raises(UsageError, match="is not a BCP-47 language tag") as refused:
        language_for(tag)
    assert remedy in str(refused.value.hint)


def test_what_cannot_be_told_apart_is_said() -> None:
    assert without_rules(["en", "zh-Hant"]) == without_words(["en"]) == []
    (said,) = without_rules(["th", "eu", "en"])
    assert said.startswith("Kapwa has no rules for Thai and Basque: replies")
    (said,) = without_words(["eu", "ta", "th", "en"])
    assert said.startswith("Kapwa knows no words for refusals in Basque and Tamil and none for “I don’t know” in ")
    many = ("bg", "da", "de", "eu", "fi", "ga", "it", "ja", "ms", "nl", "sv", "fr", "th")
    assert "French and 1 more" in without_rules(many)[0]
