"""The reader of choices beyond Latin letters: its examples, list letters of all languages, spellings, percentages."""

from pathlib import Path

import pytest
import yaml

from kapwa.languages.phrases import reply_words
from kapwa.suites.choices.reader import read_choice
from kapwa.suites.choices.rules import examples, rules
from kapwa.suites.choices.shares import read_percentages
from kapwa.suites.choices.signs import OptionSigns
from kapwa.suites.items import ALL_LETTERS

FOODS = ("Rice", "Bread", "Noodles", "Potatoes")
SPELT = yaml.safe_load(Path(__file__).with_name("spelt_options.yaml").read_text(encoding="utf-8"))
REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))
KINDS = [(code, of["options"], *pair) for code, of in REPLIES.items() for pair in of["replies"]]
PLANTED = yaml.safe_load(Path(__file__).with_name("planted_replies.yaml").read_text(encoding="utf-8"))
EXAMPLES = [(rule.how, *example) for rule in rules() for example in rule.gives]
LETTERS = [(code, sign, place) for code, words in reply_words().items() for sign, place in words.letters.items()]


@pytest.mark.parametrize(("how", "reply", "letter"), EXAMPLES)
def test_examples_of_the_rules_are_read_by_them(how: str, reply: str, letter: str) -> None:
    assert read_choice(reply, FOODS) == (letter, how)


@pytest.mark.parametrize(("reply", "letter"), examples("numbers"))
def test_examples_of_numbers_name_their_option(reply: str, letter: str) -> None:
    assert read_choice(reply, FOODS).letter == letter


@pytest.mark.parametrize(("reply", "letter"), examples("dropped"))
def test_examples_of_what_is_dropped_choose_what_is_left(reply: str, letter: str) -> None:
    assert read_choice(reply, FOODS).letter == letter


@pytest.mark.parametrize(("reply", "letter"), examples("ranks"))
def test_examples_of_ranks_choose_the_first(reply: str, letter: str) -> None:
    assert read_choice(reply, FOODS).letter == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("My first choice is B; my second choice would be D.", "B"),
        ("1st choice: B\n2nd choice: C", "B"),
        ("first choice = C; second choice = B", "C"),
        ("Second most likely is A; most likely is B.", "B"),
        ("Primera opción: B. Segunda opción: C.", "B"),
        ("Premier choix : B. Deuxième choix : C.", "B"),
        ("第一候補はB、第二候補はA", "B"),
        ("Pilihan pertama B, pilihan kedua C", "B"),
        # Numbers that name an option by its place rank nothing, nor do words for ranks without an option after them.
        ("First choice: A. Rice\nSecond choice: B. Bread\nThird choice: C. Noodles\nThe answer is C.", "C"),
        ("The first choice, Rice, is wrong; the second choice, Bread, is right.", "B"),
        ("The second choice: Bread is right. The first choice: Rice is wrong.", "B"),
        ("The second choice, B, is right.", "B"),
        ("First: B is rare. Second: A is daily. Answer: A", "A"),
        ("B (C would be the runner-up)", "B"),
        ("It is the second best answer: B", "B"),
    ],
)
def test_of_ranked_options_the_first_is_chosen(reply: str, letter: str | None) -> None:
    assert read_choice(reply, FOODS).letter == letter


# Before the rules for verdicts, ranks and denied options, 2, 3 and 3 were read wrong, and 58, 21 and 29 were not read.
@pytest.mark.parametrize(
    ("which", "most_unread", "count"),
    [
        ("verdicts and ranks", 3, 99),
        ("tenth", 3, 100),
        ("eleventh", 3, 59),
        ("twelfth", 9, 115),
        ("asides", 0, 55),
        # Before questions, doubts, suppositions and fields that explain were told from claims, 57 were read wrong.
        ("claims and doubts", 34, 265),
    ],
)
def test_planted_replies_are_never_read_wrong(which: str, most_unread: int, count: int) -> None:
    read = [
        (read_choice(reply, group["options"], group["language"]).letter, letter)
        for group in PLANTED[which]
        for reply, letter in group["replies"]
    ]
    assert len(read) == count
    assert [pair for pair in read if pair[0] not in (None, pair[1])] == []
    assert sum(found is None and letter is not None for found, letter in read) <= most_unread


@pytest.mark.parametrize(("reply", "letter"), [("Incorrect: B", None), ("C. Wrong: D.", "D")])
def test_what_is_called_wrong_is_not_chosen(reply: str, letter: str | None) -> None:
    assert read_choice(reply, FOODS).letter == letter


@pytest.mark.parametrize("reply", ["Of C and D, I choose the second.", "I would not choose the third one.", "B? No."])
def test_ranks_among_others_and_denied_ones_choose_nothing(reply: str) -> None:
    assert read_choice(reply, FOODS).letter is None


@pytest.mark.parametrize(("reply", "share"), examples("shares"))
def test_examples_of_percentages_give_each_option_its_share(reply: str, share: str) -> None:
    shares = read_percentages(reply, ("yes", "no"))
    assert shares is not None
    assert 100 * shares[0] == pytest.approx(float(share))


@pytest.mark.parametrize(("language", "options", "reply", "letter"), KINDS)
def test_replies_of_every_kind_are_read(language: str, options: list[str], reply: str, letter: str | None) -> None:
    assert read_choice(reply, options, language).letter == letter


@pytest.mark.parametrize(("language", "sign", "place"), LETTERS)
def test_list_letters_of_every_language_are_read(language: str, sign: str, place: int) -> None:
    options = [f"food {number}" for number in range(max(4, place + 1))]
    assert read_choice(f"({sign})", options, language).letter == ALL_LETTERS[place]
    assert read_choice(f"{sign}) food {place}", options, language).letter == ALL_LETTERS[place]


@pytest.mark.parametrize("digits", ["٠١٢٣٤", "۰۱۲۳۴", "०१२३४", "০১২৩৪", "๐๑๒๓๔", "០១២៣៤", "၀၁၂၃၄", "０１２３４"])
def test_numerals_of_any_script_name_an_option(digits: str) -> None:
    for place in range(4):
        assert read_choice(digits[place + 1], FOODS).letter == ALL_LETTERS[place]
        assert read_choice(f"Option {digits[place + 1]}.", FOODS).letter == ALL_LETTERS[place]


@pytest.mark.parametrize(
    ("language", "reply", "letter"),
    [
        ("my", "၂", "B"),
        ("si", "පිළිතුර: (ආ)", "B"),
        ("si", "නිවැරදි පිළිතුර ඇ වේ.", "C"),
        ("zh", "乙", "B"),
        ("zh", "我选择丙。", "C"),
        ("zh", "应该是第二个选项。", "B"),
        ("ja", "選択肢２が正しいです。", "B"),
        ("ja", "イが正解です。", "B"),
        ("he", "ד׳", "D"),
        ("fil", "Hindi A kundi D.", "D"),
        ("sw", "Jibu ni B. Kundi la A si sahihi.", "B"),
        ("ar", "أ أو ب؟ ب.", "B"),
        ("en", "B or D? I'd lean towards D.", "D"),
        ("en", "Answer: 2", "B"),
        ("en", "The answer is 2.", "B"),
        ("es", "Respuesta: **3**", "C"),
        ("ar", "الإجابة: ٢", "B"),
        ("ko", "두 번째 선택지", "B"),
        ("ko", "세 번째입니다", "C"),
        ("am", "ሁለተኛው አማራጭ", "B"),
        ("am", "2ኛው", "B"),
        ("fil", "Ang ikalawang pagpipilian", "B"),
        ("ru", "2-й вариант", "B"),
        ("gu", "ત્રીજો વિકલ્પ", "C"),
        ("en", "Answer: 2 hours", None),
        ("en", "A? B? C? Honestly no idea.", None),
        ("en", "C seems most plausible.", "C"),
    ],
)
def test_words_and_signs_of_languages(language: str, reply: str, letter: str | None) -> None:
    assert read_choice(reply, FOODS, language).letter == letter


def test_a_number_is_no_place_where_options_hold_numbers() -> None:
    for reply in ("2", "Answer: 2"):
        assert read_choice(reply, ("1 hour", "2 hours", "3 hours", "5 hours")).letter is None
    assert read_choice('{"answer": 2}', FOODS).letter is None  # nobody knows where it begins to count


@pytest.mark.parametrize(("language", "options", "letter", "reply"), SPELT)
def test_texts_are_compared_in_the_spelling_of_their_language(
    language: str, options: list[str], letter: str, reply: str
) -> None:
    assert read_choice(reply, options, language).letter == letter


def test_options_that_a_language_spells_alike_stay_apart() -> None:
    for text, letter in (("إعداد", "A"), ("اعداد", "B")):
        assert read_choice(text, ("إعداد", "اعداد", "أرز"), "ar").letter == letter


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("B", 1),
        ("(b)", 1),
        ("Ｂ", 1),
        ("ব", None),
        ("ب", 1),
        ("②", 1),
        ("2", None),
        ("B and C", None),
        ("bread", None),
    ],
)
def test_a_cell_is_a_letter_and_nothing_more(written: str, place: int | None) -> None:
    assert OptionSigns(FOODS, "en").lettered(written) == place


@pytest.mark.parametrize(
    ("reply", "language"),
    [
        ("A: 33,50%\nB: 66,50%", "en"),
        ("A: 33,5 %\nB: 66,5 %", "de"),
        ("A：33.5％\nB：66.5％", "zh"),
        ("A: ٣٣٫٥٪\nB: ٦٦٫٥٪", "ar"),
        ("أ) ٣٣٫٥٪\nب) ٦٦٫٥٪", "ar"),
        ("A: %33,5\nB: %66,5", "tr"),
        ("- **A. evet**: 33,5%\n- **B. hayır**: 66,5%.", "tr"),
        ("EVET: 33,5%; HAYIR: 66,5%", "tr"),
        ('{"A": "33.5%", "B": "66.5%"}', "en"),
        ("A: 33.5\nB: 66.5", "en"),
        ("क: ३३.५%\nख: ६६.५%", "hi"),
        ("33.5% A, 66.5% B", "en"),
        ("About 33.5 percent would say A and 66.5 percent would say B.", "en"),
        ("- 66,5 %: B\n- 33,5 %: A", "de"),
        ("33,5% evet\n66,5% hayır\n(100%)", "tr"),
        ("33.5%选A，66.5%选B", "zh"),
        ("၃၃.၅% က၊ ၆၆.၅% ခ", "my"),
    ],
)
def test_percentages_are_read_in_any_script_and_dress(reply: str, language: str) -> None:
    shares = read_percentages(reply, ("evet", "hayır"), language)
    assert shares is not None
    assert tuple(shares) == pytest.approx((0.335, 0.665))


@pytest.mark.parametrize("share", [0, 1, 2, 3, 5, 20])
@pytest.mark.parametrize("form", ["A: {}%\nB: {}%", "A: {}\nB: {}", "Option A: {} percent\nOption B: {} percent"])
def test_a_small_share_of_the_first_option_names_no_option(form: str, share: int) -> None:
    """A share such as "A: 2%" does not answer with the second option, which would leave all such replies unread."""
    shares = read_percentages(form.format(share, 100 - share), [f"food {number}" for number in "xy"])
    assert shares is not None
    assert tuple(shares) == pytest.approx((share / 100, 1 - share / 100))


@pytest.mark.parametrize(
    "reply",
    [
        "A: 33,50% of 50%\nB: 66,50%",
        "A: 33%",
        "A: 50%\nB: 50%\n\nActually:\nA: 62%\nB: 38%",
        "A and B: 50%",
        "About 60% say A, the rest B.",
        "30%–40% A, 60% B",
    ],
)
def test_other_percentages_are_none(reply: str) -> None:
    assert read_percentages(reply, ("evet", "hayır"), "tr") is None
