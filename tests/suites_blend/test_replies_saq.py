"""What of a reply is judged, and how many answers it lists."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_replies import SINGLE, Join, joined, joined_in, planted

from kapwa.languages.words import n_words
from kapwa.suites.blend.data import BlendData
from kapwa.suites.blend.questions import COUNTRIES, is_valid_code
from kapwa.suites.blend.replies import MAX_ANSWERS, declines, read_reply
from kapwa.suites.blend.reply_lists import is_short, split_answers
from kapwa.suites.blend.saq_grading import find_answer
from kapwa.suites.blend.saq_match import AnswerMatcher, QuestionsOfAllCountries, Target

# What is said in a reply (``said``), how many answers one lists (``listed``), and of how many parts a text is, by
# language (``parted``).
REPLIES = json.loads(Path(__file__).with_name("reply_lists.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "said"), REPLIES["said"].items())
def test_reply_without_its_dressing(text: str, said: str) -> None:
    reply = read_reply(text)
    assert reply.text == said
    assert reply.status == "answered"
    assert not reply.too_many


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("~~tea~~ coffee", "coffee"),
        ("<del>tea</del> coffee", "coffee"),
        ("Tea? No, coffee.", "No, coffee"),
        ("Is it tea? I think it is coffee.", "I think it is coffee"),
        ("¿Es el té? Yo diría que es el café.", "Yo diría que es el café"),
        ("If this were China, it would be tea. Here it is coffee.", "Here it is coffee"),
        ("Coffee. Would you like to know about tea?", "Coffee"),
        ("coffee<|im_start|>user\ntea", "coffee"),
        ("coffee\n<start_of_turn>user\ntea", "coffee"),
        # A question that is answered with yes, and one that is only repeated, keep what they name.
        ("Do people drink tea? Yes, tea.", "Do people drink tea? Yes, tea"),
        ("What do people drink? Tea.", "What do people drink? Tea"),
        ("If I had to choose, I would say tea.", "If I had to choose, I would say tea"),
        ("Tea if it was brewed well", "Tea if it was brewed well"),
    ],
)
def test_what_is_asked_struck_out_or_supposed_is_not_said(text: str, said: str) -> None:
    assert " ".join(read_reply(text).whole.split()).rstrip(".") == said


@pytest.mark.parametrize("text", ["Is it tea?", "Could it be tea?", "¿Es té?", "是茶吗？", "If this were China, tea."])
def test_a_reply_that_only_asks_or_supposes_says_nothing(text: str) -> None:
    assert read_reply(text).status == "unparsed"


def test_the_prompts_own_label_is_stripped() -> None:
    assert read_reply("R: 버터", prefixes=("R:", "Answer:")).text == "버터"
    assert read_reply("R: 버터").text == "R: 버터"


@pytest.mark.parametrize("text", ["", "  \n\t", "\u3000"])
def test_blank_is_empty(text: str) -> None:
    assert read_reply(text).status == "empty"


@pytest.mark.parametrize("text", ["Answer:", "!!!", "[]", '{"answer": []}', "**", "…", "Answer:\n\n"])
def test_nothing_left_is_unparsed(text: str) -> None:
    assert read_reply(text) == ("", (), False, "unparsed", "")


@pytest.mark.parametrize(("text", "count"), REPLIES["listed"].items())
def test_answers_listed_are_counted(text: str, count: int) -> None:
    reply = read_reply(text)
    assert len(reply.answers) == count
    assert reply.too_many == (count > MAX_ANSWERS)
    if reply.too_many:
        assert reply.text in ("rice", "1")


@pytest.mark.parametrize(("text", "language", "count"), REPLIES["parted"])
def test_lists_in_any_script_are_parted(text: str, language: str, count: int) -> None:
    """One joined word (تفاح وموز) is too little to tell a list; "and others" (기타) is also a guitar."""
    assert len(split_answers(text, language)) == count


def test_first_answer_is_not_an_echo_of_the_question() -> None:
    text = "In Azerbaijan, people eat apples, pears, plums, and grapes."
    reply = read_reply(text, question="What do people eat in Azerbaijan?")
    assert reply.too_many
    assert reply.text == "people eat apples"


def test_explanation_after_a_sentence_lists_nothing() -> None:
    text = "The most popular fruit there is surely the apple. It is eaten fresh, dried, baked, stewed, or as jam."
    reply = read_reply(text)
    assert not reply.too_many
    assert reply.text == "The most popular fruit there is surely the apple"


def test_of_many_numbers_the_first_counts() -> None:
    text = "They work 5 days, from 9 in the morning to 6, since 2004"
    assert read_reply(text, kind="number").text == "They work 5 days, from"
    assert not read_reply("5 (five) days, 40 hours", kind="number").too_many


def test_a_limit_of_ones_own() -> None:
    assert read_reply("a, b", limit=1).text == "a"
    assert read_reply("rice, beans, tea, cake", limit=4).text == "rice, beans, tea, cake"


@pytest.mark.parametrize(
    "text",
    [
        *("I don't know", "Unknown", "모르겠습니다", "我不知道", "No lo sé."),
        *("لا أعرف", "نمی\u200cدانم", "δεν ξέρω", "tidak tahu"),
    ],
)
def test_not_knowing_is_declining(text: str) -> None:
    assert declines(text)


def test_an_answer_is_not_declining() -> None:
    assert not declines("kimchi")
    assert not declines("People there do not know any other dish that is as common at every single meal as kimchi.")


def test_lengths_count_two_characters_a_word_where_there_are_no_spaces() -> None:
    assert n_words("two words") == 2
    assert n_words("北京烤鸭") == 2
    assert is_short("a b c d e f g h")
    assert not is_short("a b c d e f g h i")


TEXTS = st.text(alphabet=st.sampled_from("ab1 ,;/()[]{}\"'*_`:.-\n!?。、،؛AÀ가中ا#<>|&•"), max_size=60)


@given(TEXTS, st.sampled_from(["en", "ko", "ar", "zh"]), st.sampled_from(["text", "number"]))
def test_every_reply_can_be_read(text: str, language: str, kind: str) -> None:
    reply = read_reply(text, language=language, kind=kind, question="a b", prefixes=("가:",))  # type: ignore[arg-type]
    assert (reply.status == "answered") == bool(reply.answers)
    assert bool(reply.text) == (reply.status == "answered")
    assert reply.too_many == (len(reply.answers) > MAX_ANSWERS)
    assert reply == read_reply(text, language=language, kind=kind, question="a b", prefixes=("가:",))  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(["rice", "bread", "tea", "cake", "soup", "figs"]), min_size=1, unique=True))
@settings(max_examples=50)
def test_however_a_list_is_written_it_counts_the_same(members: list[str]) -> None:
    for separator in (", ", "; ", "\n", " / ", " | ", " and ", ". "):
        assert read_reply(separator.join(members)).answers == tuple(members)
    for bullet in ("- ", "* ", "• "):
        assert read_reply("\n".join(bullet + member for member in members)).answers == tuple(members)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
def test_normal_forms_read_alike(form: str) -> None:
    reply = read_reply(unicodedata.normalize(form, "Respuesta: café con leche"))
    assert unicodedata.normalize("NFC", reply.text) == "café con leche"


@pytest.mark.parametrize(
    "text", ["[" * 990 + "]" * 990, '{"answer": ' * 400 + "1" + "}" * 400, "*" * 9000, "(a, " * 999]
)
def test_hostile_replies_are_read(text: str) -> None:
    assert read_reply(text).status in ("answered", "unparsed")


@pytest.fixture(scope="module")
def world(blend: BlendData) -> tuple[QuestionsOfAllCountries, AnswerMatcher]:
    return QuestionsOfAllCountries(blend.questions), AnswerMatcher()


@pytest.mark.parametrize(
    ("join", "least", "least_of_any"),
    [
        (joined, 97, 90),
        (joined_in("otherwise"), 97, 90),
        (joined_in("third"), 97, 90),
        (joined_in("fourth"), 97, 90),
        (joined_in("fifth"), 97, 90),
    ],
    ids=["as languages join", "otherwise", "third", "fourth", "fifth"],
)
def test_lists_of_the_release_are_judged_by_their_first(
    join: Join,
    least: float,
    least_of_any: float,
    blend: BlendData,
    world: tuple[QuestionsOfAllCountries, AnswerMatcher],
) -> None:
    shares = {}
    for country in COUNTRIES:
        refused = 0
        for question, _, text, first in planted(blend.questions, country, 20, join):
            target = Target.of_question(question, "local")
            reply = read_reply(text, language=target.language, kind=target.kind, question=question.local)
            reply, hit = find_answer(reply, target, question.id, *world, MAX_ANSWERS)
            refused += reply.too_many or reply.text == first or hit is None
        shares[country] = 100 * refused / 20
    assert sum(shares.values()) / len(shares) >= least
    assert min(shares.values()) >= least_of_any, shares


@pytest.mark.parametrize(("language", "text"), SINGLE)
def test_a_long_single_answer_is_no_list(language: str, text: str) -> None:
    assert not read_reply(text, language=language).too_many


def test_what_people_answered_is_no_list_of_many(
    blend: BlendData, world: tuple[QuestionsOfAllCountries, AnswerMatcher]
) -> None:
    judged = 0
    for place, question in enumerate(blend.questions):
        if place % 16 or not is_valid_code(question):
            continue
        target = Target.of_question(question, "local")
        for text in {text for group in question.groups for text in group.local}:
            reply = read_reply(text, language=target.language, kind=question.kind, question=question.local)
            reply, hit = find_answer(reply, target, question.id, *world, MAX_ANSWERS)
            assert hit is not None, text
            assert not reply.too_many, text
            judged += 1
    assert judged > 1500
