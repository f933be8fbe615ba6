"""Multiple choice built from the released answers of sixteen countries: counts, promises, letters, repeatability."""

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from scipy.stats import chisquare

from kapwa.languages.reading import shipped
from kapwa.metrics.matching import Matcher
from kapwa.suites.blend.data import BlendData
from kapwa.suites.blend.mcq_build import Built, build_mcq
from kapwa.suites.blend.mcq_build.options import Rule, by_question, ineligible
from kapwa.suites.blend.mcq_data import ChoiceQuestion, read_mcq
from kapwa.suites.blend.mcq_task import item_of, mcq_floors
from kapwa.suites.blend.questions import CountryQuestion, top_votes

People = dict[tuple[str, str], CountryQuestion]


@pytest.fixture(scope="module")
def built(blend: BlendData, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build_mcq(blend.questions, tmp_path_factory.mktemp("blend") / "mcq")


@pytest.fixture(scope="module")
def questions(built: Built) -> Sequence[ChoiceQuestion]:
    return read_mcq(built.folder)[0]


@pytest.fixture(scope="module")
def people(blend: BlendData) -> People:
    return {(q.country, q.id): q for q in blend.questions}


@pytest.mark.parametrize(("rule", "kept"), [("code", 87), ("paper", 90)])
def test_questions_fit_for_multiple_choice(blend: BlendData, rule: Rule, kept: int) -> None:
    groups = by_question(blend.questions)
    assert len(groups) == 500
    assert sum(ineligible(group, rule) is None for group in groups.values()) == kept


def test_what_is_built_and_what_is_left_out(built: Built) -> None:
    assert (built.items, built.questions, built.countries) == (4415, 79, 16)
    everywhere = Counter(one.reason for one in built.skipped if not one.country)
    assert everywhere == {"not_applicable": 223, "single_votes": 110, "unknown": 80}
    assert Counter(one.reason for one in built.skipped if one.country) == {"too_few_options": 366}
    # Each fit question of each country is either built or listed.
    pairs = {(q.country, q.question_id) for q in read_mcq(built.folder)[0]}
    listed = {(one.country, one.question_id) for one in built.skipped if one.country}
    assert not pairs & listed
    assert len(pairs | listed) == 87 * 16


def test_the_question_that_differs_in_one_country_is_left_out_there(
    built: Built, questions: Sequence[ChoiceQuestion]
) -> None:
    assert ("Indonesia", "Gu-ch-38") in {(one.country, one.question_id) for one in built.skipped}
    lent = {culture for q in questions if q.question_id == "Gu-ch-38" for culture in q.cultures}
    assert lent
    assert "Indonesia" not in lent


def test_no_wrong_option_equals_contains_or_matches_an_accepted_answer(
    people: People, questions: Sequence[ChoiceQuestion]
) -> None:
    """Matches by the matcher of ``blend/saq``, both ways round; of every fourth question."""
    matcher = Matcher(shipped("en"))
    checked = 0
    for one in questions[::4]:
        source = people[one.country, one.question_id]
        accepted = {text.casefold().strip() for group in source.groups for text in group.en}
        for letter, option in zip(one.letters, one.options, strict=True):
            said = option.casefold()
            if letter == one.answer:
                continue
            checked += 1
            assert said not in accepted
            for text in (text for group in source.groups for text in group.en):
                assert matcher.match(option, text, source.kind) is None, (one.id, text)
                assert matcher.match(text, option, source.kind) is None, (one.id, text)
            # Among numbers and times, 14 holds a 4 and is yet another number.
            if source.kind == "text":
                assert not any(text in said or said in text for text in accepted), (one.id, option)
            else:
                assert not any(re.search(rf"(?<![\d:.]){re.escape(said)}(?![\d:.])", text) for text in accepted), one.id
    assert checked == 3 * 1104


def test_the_right_option_is_a_commonest_answer_and_the_others_have_votes(
    people: People, questions: Sequence[ChoiceQuestion]
) -> None:
    for one in questions:
        assert len(set(one.cultures)) == 4
        for letter, option, culture in zip(one.letters, one.options, one.cultures, strict=True):
            source = people[culture, one.question_id]
            votes = [
                group.votes for group in source.groups if any(matches(option, text, source.kind) for text in group.en)
            ]
            assert max(votes) >= 2, (one.id, option, culture)
            if letter == one.answer:
                assert culture == one.country
                assert max(votes) == top_votes(source.groups)


def matches(option: str, text: str, kind: str) -> bool:
    return option.casefold() == " ".join(text.casefold().split()).strip('." ') or (
        kind != "text" and option.lstrip("0") == text.strip().lstrip("0")
    )


def test_no_option_says_that_there_is_no_answer(questions: Sequence[ChoiceQuestion]) -> None:
    options = {option for one in questions for option in one.options}
    assert not [option for option in options if re.search(r"applicable|don'?t know|\bn/a\b", option, re.IGNORECASE)]


def test_options_have_the_format_their_question_asks_for(questions: Sequence[ChoiceQuestion]) -> None:
    for one in questions:
        shape = {"HH:MM": r"\d\d:\d\d", "MM/DD": r"\d\d/\d\d", "Arabic": r"\d+(\.\d+)?"}
        wanted = next((pattern for sign, pattern in shape.items() if sign in one.question), r".+")
        assert all(re.fullmatch(wanted, option) for option in one.options), one.id


def test_letters_are_uniform(questions: Sequence[ChoiceQuestion]) -> None:
    def p(values: Counter[str]) -> float:
        return float(chisquare([values[letter] for letter in "ABCD"]).pvalue)

    assert p(Counter(one.answer for one in questions)) > 0.9
    for country in {one.country for one in questions}:
        assert p(Counter(one.answer for one in questions if one.country == country)) > 0.9
    # Balanced lists could still leave a question's variants on one letter: they are as if drawn by lot.
    letters: dict[str, list[str]] = {}
    for one in questions:
        letters.setdefault(one.id.rsplit("/", 1)[0], []).append(one.answer)
    five = [set(found) for found in letters.values() if len(found) == 5]
    assert sum(len(found) == 1 for found in five) < len(five) * 0.02


def test_tricks_do_not_beat_chance_by_much(questions: Sequence[ChoiceQuestion]) -> None:
    floors = {f.name: f.value for f in mcq_floors([item_of(q, "generate") for q in questions]) if not f.note}
    assert all(abs(floors[f"always {letter}"] - 0.25) < 0.001 for letter in "ABCD")
    assert floors["alphabetical first"] == pytest.approx(0.25, abs=0.02)
    assert floors["longest"] < 0.25
    assert floors["shortest"] < 0.33
