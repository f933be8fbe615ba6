"""The sample packs: sound, illustrative, our own, and enough of them to build multiple choice from."""

import re
from collections import Counter

import pytest

from kapwa.suites.blend import suite
from kapwa.suites.blend.check import check
from kapwa.suites.blend.data import PACKS, BlendData, read_data
from kapwa.suites.blend.questions import is_valid_code, is_valid_paper
from kapwa.suites.blend.variants import LANGUAGES, PROMPTS


@pytest.fixture(scope="module")
def sample() -> BlendData:
    return read_data(None)


def templates(data: BlendData) -> set[str]:
    countries = {question.country for question in data.questions}
    return {data.prompts.template(country, a, p) for country in countries for a in LANGUAGES for p in PROMPTS}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def test_five_cultures_answer_the_same_fifteen_questions(sample: BlendData) -> None:
    assert suite.pack_names() == ["egypt", "mexico", "philippines", "south-korea", "us"]
    assert Counter(question.country for question in sample.questions) == dict.fromkeys(
        ("Egypt", "Mexico", "Philippines", "South_Korea", "US"), 15
    )
    assert len({question.id for question in sample.questions}) == 15
    assert {q.country: q.language for q in sample.questions} == {
        "Egypt": "ar", "Mexico": "es", "Philippines": "fil", "South_Korea": "ko", "US": "en",
    }  # fmt: skip


def test_the_same_question_is_the_same_in_english(sample: BlendData) -> None:
    by_id: dict[str, set[tuple[str, str, frozenset[str]]]] = {}
    for question in sample.questions:
        name = {"US": "the US", "Philippines": "the Philippines", "South_Korea": "South Korea"}
        plain = question.english.replace(name.get(question.country, question.country), "C")
        by_id.setdefault(question.id, set()).add((question.topic, question.kind, frozenset(words(plain))))
    assert all(len(found) == 1 for found in by_id.values())


def test_kinds_and_topics(sample: BlendData) -> None:
    own = [question for question in sample.questions if question.country == "US"]
    assert Counter(question.kind for question in own) == {"text": 12, "number": 1, "date": 1, "time": 1}
    assert len({question.topic for question in own}) == 6


def test_they_measure_nothing_and_say_so(sample: BlendData) -> None:
    assert sample.source.illustrative
    for card in sample.source.card["packs"]:
        assert card["illustrative"]
        assert not card["reviewed_by_native_speakers"]
        assert card["licence"] == "CC-BY-4.0"
        assert any("invented" in limit for limit in card["limits"])


def test_the_check_finds_only_what_is_meant() -> None:
    report = check(PACKS)
    findings = [finding for finding in report.findings if "not reviewed by native" not in finding.message]
    # One question without an answer shows what both rules drop.
    assert [finding.message[:15] for finding in findings] == ["nobody answered"]
    assert len(report.findings) == 6


def test_one_question_is_not_valid(sample: BlendData) -> None:
    for rule in (is_valid_code, is_valid_paper):
        assert [question.item_id for question in sample.questions if not rule(question)] == ["South_Korea/k10"]


def test_prompts_in_every_language(sample: BlendData) -> None:
    for country in ("Egypt", "Mexico", "Philippines", "South_Korea", "US"):
        texts = {sample.prompts.render(country, a, p, "¿?") for a in LANGUAGES for p in PROMPTS}
        assert len(texts) == (2 if country == "US" else 4)
    prefixes = {c: sample.prompts.reply_prefixes(c, "local", "inst-4")[0] for c in ("Egypt", "Mexico", "Philippines")}
    assert prefixes == {"Egypt": "الجواب:", "Mexico": "Respuesta:", "Philippines": "Sagot:"}


def test_one_pack_by_name() -> None:
    assert {question.country for question in read_data("sample:mexico").questions} == {"Mexico"}


def test_no_question_is_taken_from_blend(sample: BlendData, blend: BlendData) -> None:
    released = [words(question.english) - {"us", "the"} for question in blend.questions if question.country == "US"]
    local = {question.local for question in blend.questions}
    for question in sample.questions:
        assert question.local not in local
        if question.country == "US":
            own = words(question.english) - {"us", "the"}
            assert max(len(own & other) / len(own | other) for other in released) < 0.5
    assert templates(sample).isdisjoint(templates(blend))
