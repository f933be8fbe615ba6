"""The parser of multiple-choice replies, on replies of every shape, and the released parser beside it."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kapwa.suites.blend.mcq_judging import reference_choice
from kapwa.suites.choices.reader import UNREAD, read_choice

FOODS = ("Rice", "Bread", "Noodles", "Potatoes")
OPTIONS = {
    "foods": FOODS,
    "dishes": ("Fried rice", "Rice", "The White House", "Olive oil"),
    "times": ("07:00", "17:00", "7:30", "12:00"),
    "numbers": ("5", "15", "2", "1"),
}
# Replies as models shape them, with the letter that a careful person reads in each (None: no one option is clearly
# chosen); the last 160 of the foods were written after the parser, to see what it had not been written for.
HERE = Path(__file__).parent
LINES = (HERE / "reply_shapes.jsonl").read_text(encoding="utf-8").splitlines()
SHAPES = [(one["reply"], OPTIONS[one["options"]], one["letter"]) for one in map(json.loads, LINES)]

# Replies in many languages. "development" and "held out" were written before the rules that read them, and so was
# "names and scripts"; the second and the third of those after the rules, each before its kinds were looked at; and so
# the fourth to ninth set of kinds. When first tried, 2, 9 and 10 of the eighth (1 wrong) and ninth were not read right.
PLANTED = [*map(json.loads, (HERE / "letter_replies.jsonl").read_text(encoding="utf-8").splitlines())]
# By which rule a reply is read, and what the released parser makes of one.
READS = json.loads((HERE / "letter_reads.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("which", "most_wrong", "least_right", "count"),
    [
        ("development", 1, 128, 138),
        ("held out", 4, 124, 138),
        ("names and scripts", 0, 144, 145),
        ("names and scripts, second", 0, 166, 167),
        ("names and scripts, third", 1, 159, 160),
        ("kinds, fourth", 0, 152, 153),
        ("kinds, fifth", 0, 151, 151),
        ("kinds, sixth", 1, 120, 122),
        ("kinds, seventh", 0, 165, 167),
        ("kinds, eighth", 1, 154, 160),
        ("kinds, ninth", 0, 142, 144),
    ],
)
def test_planted_replies_are_rarely_read_wrong(which: str, most_wrong: int, least_right: int, count: int) -> None:
    replies = [one for one in PLANTED if one["set"] == which]
    read = [(read_choice(one["reply"], FOODS).letter, one["letter"]) for one in replies]
    assert len(read) == count
    assert sum(found not in (None, letter) for found, letter in read) <= most_wrong
    assert sum(found == letter for found, letter in read) >= least_right


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("B\n\nQuestion: What do people drink?\nAnswer: C", "B"),
        ('{"answer_choice":"B"}\n\nWhat do people drink?\nA. Tea\nB. Milk\n{"answer_choice":"D"}', "B"),
        ("B<|im_end|>\n<|im_start|>user\nAnd in Spain?<|im_end|>\n<|im_start|>assistant\nC", "B"),
        ("B\n<start_of_turn>user\nAnd in Spain?\nC", "B"),
        ("B<|start_header_id|>user<|end_header_id|>\nC", "B"),
        ("B<｜User｜>And in Spain?<｜Assistant｜>C", "B"),
        ("B\n\n### Instruction:\nAnd in Spain?\n### Response:\nC", "B"),
        ('{"answer_choice":"B"}\n{"answer_choice":"D"}', (None,)),
        ('{"answer_choice":"B"}\nI made a mistake:\n{"answer_choice":"D"}', "D"),
        ("B (rice) is incorrect. C (noodles) is what people eat", ("C", None)),
        ("The answer is B. In contrast, the answer for the US would be A.", "B"),
        ("I'd say C or maybe D; if I had to pick, D.", ("D", None)),
    ],
)
def test_a_wrong_letter_is_worse_than_none(reply: str, letters: tuple[str | None, ...]) -> None:
    assert read_choice(reply, FOODS).letter in letters


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("I am not sure, but I think {}.", True),
        ("C: {} is wrong.", False),
        ("C - option {} isn't it.", False),
        ("{} o B.", None),
        ("La respuesta es A o tal vez {}.", None),
        ("B. Hmm, that's not right; it should be {}.", True),
    ],
)
def test_letters_of_twenty_options_are_read_alike(reply: str, letter: bool | None) -> None:
    for each in "DFKMQRST":
        chosen = read_choice(reply.format(each), [f"food {n}" for n in range(20)]).letter
        assert chosen == {True: each, False: "C", None: None}[letter], each


@pytest.mark.parametrize(("reply", "options", "letter"), SHAPES)
def test_reads_what_a_careful_person_reads(reply: str, options: tuple[str, ...], letter: str | None) -> None:
    assert read_choice(reply, options).letter == letter


@pytest.mark.parametrize(("reply", "how"), READS["how"].items())
def test_says_how_it_was_read(reply: str, how: str) -> None:
    reading = read_choice(reply, FOODS)
    assert reading.how == how
    assert (reading.letter is None) == (how in UNREAD)


def test_a_letter_beyond_the_options_is_no_choice() -> None:
    assert read_choice("E", FOODS).letter is None
    assert read_choice("E", (*FOODS, "Maize")).letter == "E"
    assert read_choice("C", FOODS[:2]).letter is None


@given(st.text(max_size=300))
@example("{" * 200)
@example('{"answer_choice": ' * 30)
@example("A" + "\u0301" * 40)
@example("\\boxed{" * 20)
def test_never_raises_and_stays_among_the_options(reply: str) -> None:
    reading = read_choice(reply, FOODS)
    assert reading.letter in (None, "A", "B", "C", "D")
    assert (reading.letter is None) == (reading.how in UNREAD)


@given(st.sampled_from(SHAPES), st.sampled_from(["\n", "  ", "\u200b", "\n\n"]))
def test_space_around_a_reply_changes_nothing(shape: tuple[str, tuple[str, ...], str | None], space: str) -> None:
    reply, options, letter = shape
    assert read_choice(space + reply + space, options).letter == letter


def test_long_replies_are_read_whole() -> None:
    noise = "Many people there eat many things. " * 1000
    assert read_choice(f"{noise}The answer is C.", FOODS).letter == "C"
    assert read_choice("B " * 7_000, FOODS).letter in (None, "B")
    assert read_choice("{" * 4_000 + "B", FOODS).letter in (None, "B")  # took 14 seconds: runs of signs have a limit


@pytest.mark.parametrize(("reply", "letter"), READS["released"].items())
def test_what_the_released_parser_reads(reply: str, letter: str) -> None:
    """Of JSON the first capital letter, then an option's text; of prose the first capital letter; else the reply."""
    assert reference_choice(reply, FOODS) == letter


def test_the_released_parser_looks_for_letters_in_the_prompt() -> None:
    assert reference_choice('{"answer_choice":"bread"}', ("rice", "bread")) == "B"
    assert reference_choice('{"answer_choice":"E"}', FOODS, "A. x\nE. y\n") == "E"
    assert reference_choice('{"answer_choice":"E"}', FOODS, "A. x\n") == '{"answer_choice":"E"}'


@given(st.text(max_size=200))
def test_the_released_parser_never_raises(reply: str) -> None:
    assert isinstance(reference_choice(reply, FOODS), str)
