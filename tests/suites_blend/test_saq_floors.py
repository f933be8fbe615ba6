"""Floors and ceiling of short answers: on a small world by hand, and on the release."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from statistics import fmean

import pytest
from saq_world import ALL_QUESTIONS, ANSWER_MATCHER, BOOK, WORLD, group, item, judged, question, value

from kapwa.records import Floor
from kapwa.suites.blend.data import BlendData
from kapwa.suites.blend.questions import AnswerGroup, CountryQuestion, is_valid_code, is_valid_paper
from kapwa.suites.blend.saq_floors import (
    ALL_OTHERS,
    COMMONEST,
    GROUPED,
    NO_ANSWER,
    ONE_OTHER,
    PERSON,
    REPEATED,
    SHUFFLED,
    US_USUAL,
    USUAL,
    FloorMaker,
    floors_left_out,
    leave_one_out,
    saq_floors,
)
from kapwa.suites.blend.saq_match import AnswerMatcher, QuestionsOfAllCountries, Target
from kapwa.suites.blend.saq_task import saq_item
from kapwa.suites.blend.variants import AskedIn


def named(floors: list[Floor], name: str, metric: str = "sem_b", note: str = "") -> float:
    return next(f.value for f in floors if (f.name, f.metric, f.note) == (name, metric, note))


def groups(*votes: int) -> list[AnswerGroup]:
    return [group(n, f"answer {i}") for i, n in enumerate(votes)]


@pytest.mark.parametrize(
    ("votes", "b", "w"),
    [
        ((5,), 1.0, 1.0),
        ((1, 1, 1), 0.0, 0.0),
        ((3, 1), 0.75, 0.75),
        ((2, 2), 1.0, 0.5),
        ((4, 2), 1.0, (4 * 1.0 + 2 * 0.25) / 6),
        ((1,), 0.0, 0.0),
        ((), 0.0, 0.0),
    ],
)
def test_a_person_against_the_others(votes: tuple[int, ...], b: float, w: float) -> None:
    assert leave_one_out(groups(*votes)) == pytest.approx((b, w))


def test_leave_one_out_by_drawing_every_vote() -> None:
    votes = (4, 3, 1, 1)
    ballots = [i for i, n in enumerate(votes) for _ in range(n)]
    b = w = 0.0
    for place, own in enumerate(ballots):
        left = Counter(ballots[:place] + ballots[place + 1 :])
        b += own in left
        w += left[own] / max(left.values())
    assert leave_one_out(groups(*votes)) == pytest.approx((b / 9, w / 9))


def keys_without_one(asked: CountryQuestion, asked_in: AskedIn) -> Iterator[tuple[float, str, CountryQuestion | None]]:
    """Every way in which people may have written the wordings, one person left out: chance, wording, key.

    For groups that have as many votes as wordings or more, or one vote.
    """
    sides = [list(next(Target.of_question(asked, asked_in).answers_by_language(one))[1]) for one in asked.groups]
    extra = [product(texts, repeat=max(0, g.votes - len(texts))) for g, texts in zip(asked.groups, sides, strict=True)]
    worlds = [
        [[*texts[: g.votes], *more] for more in way] for g, texts, way in zip(asked.groups, sides, extra, strict=True)
    ]
    allocations = list(product(*worlds))
    total = sum(group.votes for group in asked.groups)
    for said in allocations:
        for place, texts in enumerate(said):
            for one, text in enumerate(texts):
                left = []
                for index, group_ in enumerate(asked.groups):
                    others = [t for k, t in enumerate(said[index]) if (index, k) != (place, one)]
                    if others:
                        kept = tuple(t for t in sides[index] if t in others)
                        local = asked_in == "local"
                        left.append(
                            AnswerGroup(kept if local else group_.local, group_.en if local else kept, len(others))
                        )
                yield 1 / len(allocations) / total, text, replace(asked, groups=tuple(left)) if left else None


def right(asked: CountryQuestion | None, asked_in: AskedIn, text: str) -> float:
    return (
        0.0
        if asked is None
        else FloorMaker(QuestionsOfAllCountries([asked]), ANSWER_MATCHER, 3).judge(asked, asked_in, text).b
    )


DRINKS = question(
    "Spain",
    "drink",
    group(4, "té verde;té", "green tea;tea"),
    group(3, "agua;agua mineral;gaseosa", "water"),
    group(2, "café con leche;café solo", "coffee;latte"),
    group(1, "cerveza", "beer"),
    group(1, "té con leche", "tea with milk"),
)


@pytest.mark.parametrize("asked_in", ["local", "en"])
@pytest.mark.parametrize("asked", [DRINKS, WORLD[3], WORLD[4]])
def test_a_person_by_text_is_judged_by_every_key_that_the_others_may_have_made(
    asked: CountryQuestion, asked_in: AskedIn
) -> None:
    ways = keys_without_one(asked, asked_in)
    expected = sum(chance * right(key, asked_in, text) for chance, text, key in ways)
    found = FloorMaker(QuestionsOfAllCountries([asked]), ANSWER_MATCHER, 3).person_share(asked, asked_in)
    assert found == pytest.approx(expected)
    # By people's groups a person scores no less: whoever is alone with a wording may not be understood.
    assert found <= leave_one_out(asked.groups).b + 1 / 11  # "té con leche" is right by the matcher, "té" being a key


@pytest.mark.parametrize("asked_in", ["local", "en"])
@pytest.mark.parametrize("text", ["té", "green tea", "beer", "cerveza", "gaseosa", "water", "té con leche", "vino"])
def test_a_reply_by_keys_without_one_person_by_making_every_key(text: str, asked_in: AskedIn) -> None:
    expected = sum(chance * right(key, asked_in, text) for chance, _, key in keys_without_one(DRINKS, asked_in))
    assert ANSWER_MATCHER.leave_one_out_share(text, Target.of_question(DRINKS, asked_in)) == pytest.approx(expected)


def test_the_first_answer_of_a_list_is_reported_beside_the_list() -> None:
    one = item("South_Korea", "fruit")
    said = {"수박, 사과": (1.0, 0.0), "사과, 수박": (1.0, 1.0), "사과": (1.0, 1.0), "수박": (0.0, 0.0)}
    for text, scores in said.items():
        frame = judged([one], [text])
        assert (value(frame, "sem_b"), value(frame, "sem_b_first")) == scores, text


ITEMS = [item("South_Korea", q, "en") for q in ("fruit", "dish", "hour")] + [item("Spain", "fruit", "en")]


def test_floors_by_hand() -> None:
    floors = saq_floors(ITEMS[:3], ALL_QUESTIONS, ANSWER_MATCHER)
    # fruit: peach wins the tie and is wrong; dish: cold noodles, wrong; hour: 21:00, wrong.
    assert named(floors, USUAL) == 0.0
    # fruit: peach, orange, apples: 1/3 right; dish: none of three; hour: 21:00 wrong, 18:00 right: 1/2.
    assert named(floors, ONE_OTHER) == pytest.approx((1 / 3 + 0 + 1 / 2) / 3)
    assert named(floors, US_USUAL) == pytest.approx((1 + 0 + 1) / 3)
    # Nobody's answer is a word of "What is the usual fruit in South Korea?", or that there is none.
    assert named(floors, REPEATED) == named(floors, NO_ANSWER) == 0.0
    # No question was asked of more than three other countries, and a reply may list three answers.
    assert ALL_OTHERS not in {f.name for f in floors}
    assert named(floors, GROUPED) == pytest.approx((6 / 7 + 5 / 6 + 3 / 4) / 3)
    # By text "kimchi stew" of one person is right too, for another wrote "kimchi".
    assert named(floors, PERSON) == pytest.approx((6 / 7 + 6 / 6 + 3 / 4) / 3)
    assert {f.kind for f in floors if f.name in (PERSON, GROUPED)} == {"ceiling"}
    assert {f.note for f in floors} == {""}
    assert {f.variant for f in floors} == {"en/inst-4"}


def test_questions_of_one_group_keep_their_own_floors_and_confusion() -> None:
    """The cluster of a group's items is that of its first: it is no question's name."""
    items = [replace(one, cluster="fruit") for one in ITEMS[:3]]
    assert repr(saq_floors(items, ALL_QUESTIONS, ANSWER_MATCHER)) == repr(
        saq_floors(ITEMS[:3], ALL_QUESTIONS, ANSWER_MATCHER)
    )
    assert floors_left_out(items, ALL_QUESTIONS, 2) == floors_left_out(ITEMS[:3], ALL_QUESTIONS, 2)
    texts = ["orange", "pizza", "17:00"]
    tables = (judged(of, texts).tables["confusion"].select("other", "wrong", "matches") for of in (items, ITEMS[:3]))
    assert next(tables).rows() == next(tables).rows()


def test_in_the_local_language_a_shared_wording_is_used() -> None:
    floors = saq_floors([item("South_Korea", "fruit")], ALL_QUESTIONS, ANSWER_MATCHER)
    # North Korea's 복숭아 is wrong, Spain's orange too, and the apples of the US count in English.
    assert named(floors, ONE_OTHER) == pytest.approx(1 / 3)


def test_each_culture_has_its_own_floor_where_there_are_several() -> None:
    floors = saq_floors(ITEMS, ALL_QUESTIONS, ANSWER_MATCHER)
    assert {f.note for f in floors if f.name == USUAL} == {"", "South_Korea", "Spain"}
    whole, korea, spain = (named(floors, ONE_OTHER, "sem_b", note) for note in ("", "South_Korea", "Spain"))
    assert whole == pytest.approx((3 * korea + spain) / 4)


def test_all_others_answers_in_one_reply_do_not_hold_the_own_one() -> None:
    """It was right on every question of two cultures, for the country's own answer was in the list."""
    names = ("Spain", "US", "UK", "Greece", "Iran")
    own = [question(name, "bread", group(2, f"pan {name}", f"{name} bread")) for name in names]
    one = saq_item(own[0], BOOK, "en", "inst-4")
    assert named(saq_floors([one], QuestionsOfAllCountries(own), ANSWER_MATCHER), ALL_OTHERS) == 0.0
    assert floors_left_out([one], QuestionsOfAllCountries(own), 3) == []
    assert ALL_OTHERS not in {
        floor.name for floor in saq_floors([one], QuestionsOfAllCountries(own[:4]), ANSWER_MATCHER)
    }
    (note,) = floors_left_out([one], QuestionsOfAllCountries(own[:4]), 3)
    assert "not computed for 1 of 1 questions: it needs more than 3 other cultures" in note
    # The list of a reply that may hold more answers is longer.
    assert ALL_OTHERS not in {
        floor.name for floor in saq_floors([one], QuestionsOfAllCountries(own), ANSWER_MATCHER, limit=4)
    }
    # What most others say is right where a list of them begins with it.
    same = [own[0], *(question(name, "bread", group(2, "Spain bread")) for name in names[1:])]
    assert named(saq_floors([one], QuestionsOfAllCountries(same), ANSWER_MATCHER), ALL_OTHERS) == 1.0


def test_repeating_the_question_and_saying_nothing_are_floors() -> None:
    own = [
        question("US", "rice", group(2, "rice"), english="Rice or bread: what do people eat?"),
        question("US", "bread", group(2, "none")),
    ]
    floors = saq_floors(
        [saq_item(one, BOOK, "en", "inst-4") for one in own], QuestionsOfAllCountries(own), ANSWER_MATCHER
    )
    assert named(floors, REPEATED) == named(floors, NO_ANSWER) == 0.5


def test_a_question_without_a_reply_is_in_no_mean() -> None:
    own = [question("Spain", "soup", group(2, "caldo", "broth")), question("Spain", "bread", group(2, "pan", "bread"))]
    world = QuestionsOfAllCountries([*own, question("US", "bread", group(2, "bread"))])
    items = [saq_item(one, BOOK, "en", "inst-4") for one in own]
    assert named(saq_floors(items, world, ANSWER_MATCHER), US_USUAL) == 1.0


def test_one_country_alone_has_no_others_to_borrow_from() -> None:
    own = question("Spain", "bread", group(2, "pan", "bread"))
    floors = saq_floors([saq_item(own, BOOK, "en", "inst-4")], QuestionsOfAllCountries([own]), ANSWER_MATCHER)
    assert {f.name for f in floors} == {PERSON, GROUPED, REPEATED, NO_ANSWER}


def test_shuffling_does_not_depend_on_the_order() -> None:
    own = [question("Spain", f"q{n}", group(2, f"w{n // 3}")) for n in range(30)]
    items = [saq_item(one, BOOK, "en", "inst-4") for one in own]
    one, other = (
        named(saq_floors(order, QuestionsOfAllCountries(own), ANSWER_MATCHER), SHUFFLED)
        for order in (items, items[::-1])
    )
    assert one == other
    assert 0 < one < 0.4


def test_floors_are_given_item_by_item() -> None:
    floors = saq_floors(ITEMS, ALL_QUESTIONS, ANSWER_MATCHER)
    for floor in floors:
        own = [one for one in ITEMS if floor.note in ("", one.culture)]
        if floor.by_item is None:
            assert floor.note == "" or floor.name == GROUPED
        else:
            assert len(floor.by_item) == len(own)
            assert floor.value == pytest.approx(fmean(one for one in floor.by_item if one == one))
    assert {floor.paired_with for floor in floors if floor.name == PERSON} == {"sem_b_loo"}


@pytest.mark.slow
def test_floors_of_the_release(blend: BlendData) -> None:
    """Every question of three countries and every eighth of the others; of people's own groups, every question."""
    valid = [q for q in blend.questions if is_valid_code(q)]
    assert fmean(leave_one_out(q.groups).b for q in valid) == pytest.approx(0.6172, abs=5e-5)
    assert fmean(leave_one_out(q.groups).w for q in valid) == pytest.approx(0.5109, abs=5e-5)
    # Three guesses beat one, and in two of these countries reach what people score by their own groups.
    three = {"Indonesia": (0.600, 0.490, 0.602), "Greece": (0.628, 0.485, 0.621), "South_Korea": (0.543, 0.396, 0.738)}
    asked = [
        q for place, q in enumerate(blend.questions) if is_valid_code(q) and (q.country in three or place % 8 == 0)
    ]
    items = [saq_item(q, blend.prompts, "en", "inst-4") for q in asked]
    floors = saq_floors(items, QuestionsOfAllCountries(blend.questions), AnswerMatcher())
    # The matcher does not understand all whom people did, who sorted the answers into groups.
    assert named(floors, PERSON) == pytest.approx(0.58, abs=0.03)
    assert all(0 <= one <= 1 for floor in floors for one in floor.by_item or () if one == one)
    for country, figures in three.items():
        found = [named(floors, name, "sem_b", country) for name in (COMMONEST, USUAL, GROUPED)]
        assert found == pytest.approx(figures, abs=0.015), country
    by_country = [f.value for f in floors if (f.name, f.metric) == (USUAL, "sem_b") and f.note]
    assert len(by_country) == 16
    # Two standard errors of so many questions.
    assert sum(by_country) / 16 == pytest.approx(0.41, abs=0.03)
    assert named(floors, ONE_OTHER) == pytest.approx(0.30, abs=0.02)
    assert named(floors, US_USUAL) == pytest.approx(0.34, abs=0.03)
    # In the main the first of the others' answers; 0.15 while the list ended with the own and so never began with it.
    assert named(floors, ALL_OTHERS) == pytest.approx(0.298, abs=0.03)
    assert named(floors, REPEATED) < 0.05
    assert 0 < named(floors, NO_ANSWER) < 0.005
    assert named(floors, SHUFFLED) < 0.03


def test_people_of_the_release_by_the_papers_rule(blend: BlendData) -> None:
    kept = [leave_one_out(q.groups).b for q in blend.questions if is_valid_paper(q)]
    assert len(kept) == 6840
    assert sum(kept) / len(kept) == pytest.approx(0.6457, abs=5e-5)
