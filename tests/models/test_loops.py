"""Texts that met their limit in a loop, and texts that only resemble one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.models.gate import gate
from kapwa.models.loops import _period, is_loop, repeats
from kapwa.records import Response

BEGINS = "The user asks what people eat at weddings in Addis Ababa, and I look for the most usual dish. "
LOOPS = {
    "a sentence": BEGINS + "Wait, let me think about it again. " * 12,
    "a sentence, cut off within": (BEGINS + "Wait, let me think about it again. " * 12)[:-20],
    "a word": BEGINS + "doro wat " * 40,
    "a character": BEGINS + "ha" * 200,
    "two paragraphs": BEGINS + "\n\nIt may be injera.\n\nOr it may be kitfo, which is eaten raw.\n\n" * 6,
    "a long paragraph": BEGINS + (BEGINS + "But then kitfo is eaten, too, and so I begin anew. ") * 8,
    "steps that differ in their numbers": BEGINS + "".join(f"Step {n}: I check it once more. " for n in range(20)),
    "white space that differs": BEGINS + "".join(f"It is rice.{' ' * (1 + n % 3)}" for n in range(40)),
    "Amharic": "ተጠቃሚው ስለ ምግብ ይጠይቃል። " + "እንደገና ላስብበት። " * 20,
    "Burmese, without spaces": "အဖြေကို စဉ်းစားပါ။" + "ထပ်စဉ်းစားမယ်။" * 20,
    "Chinese": "用户在问婚礼上吃什么。" + "让我再想一想。" * 40,
    "a wall of dashes": "Here is the table:\n" + "-" * 400,
}
NO_LOOPS = {
    "nothing": "",
    "one sentence": BEGINS,
    "an answer": "Rice with dried fish and egg, which they call tapsilog. " + BEGINS,
    "a chant, soon over": "They sing: la la la la la la la la, and go home.",
    "a refrain": "\n".join(
        f"Verse {n} tells of {what}.\nO beloved land!" for n, what in enumerate(("rice", "sea", "sky"))
    ),
    "a list": "".join(f"{n}. {what} is eaten there too. " for n, what in enumerate(BEGINS.split())),
    "a list of numbers": ", ".join(map(str, range(1, 300))),
    "a loop that it left": "Wait, let me think about it again. " * 12
    + BEGINS
    + "So the answer is doro wat, with injera.",
    "a row of a table": "| dish | place |\n|---|---|\n" + "".join(f"| {what} | yes |\n" for what in BEGINS.split()),
    "three times": "\n".join([BEGINS] * 3),
}


@pytest.mark.parametrize("what", LOOPS)
def test_a_loop_is_seen(what: str) -> None:
    assert repeats(LOOPS[what])


@pytest.mark.parametrize("what", NO_LOOPS)
def test_what_is_no_loop(what: str) -> None:
    assert not repeats(NO_LOOPS[what])


@given(
    st.text(alphabet="ab ", min_size=0, max_size=5), st.text(alphabet="ab", min_size=1, max_size=6), st.integers(0, 60)
)
def test_periods_agree_with_trying_each_length(begins: str, piece: str, times: int) -> None:
    """Found exactly where some ending of 200 characters or more is its first characters, four times or oftener."""
    text = begins + piece * times

    def has(length: int, period: int) -> bool:
        end = text[len(text) - length :]
        return all(a == b for a, b in zip(end, end[period:], strict=False))

    slow = any(
        has(length, period) for length in range(200, len(text) + 1) for period in range(1, min(length // 4, 20) + 1)
    )
    assert bool(_period(text)) == slow


@pytest.mark.parametrize(
    ("reply", "finish", "loop"),
    [
        ("<think>" + LOOPS["a sentence"], "length", True),
        (LOOPS["a word"], "length", True),
        (f"<think>{LOOPS['a word']}</think>" + BEGINS, "length", False),  # the answer was cut off, and is no loop
        (LOOPS["a word"], "stop", False),  # whoever ends by itself was in no loop
        (LOOPS["a word"], None, False),
        (BEGINS, "length", False),
    ],
)
def test_a_loop_is_an_answer_cut_off_in_its_thought_or_after_it(reply: str, finish: str | None, loop: bool) -> None:
    answer = gate(Response("k", text=reply, finish_reason=finish))
    assert is_loop(answer) is loop
    assert (answer.state == "unfinished") is (finish == "length")


def test_a_thought_that_the_server_parted_is_looked_at() -> None:
    assert is_loop(gate(Response("k", text="", thought=LOOPS["a sentence"], finish_reason="length")))
