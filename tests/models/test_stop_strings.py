"""Stop strings: what ends an answer, and what does not."""

import pytest

from kapwa.models.stop_strings import cut_at, stopped
from kapwa.records import Response


@pytest.mark.parametrize(
    ("text", "opened", "cut"),
    [
        ("Tea.\nQ: next", False, "Tea."),
        ("Tea.", False, None),
        ("<think>What?\nQ: hm</think>Tea.\nQ: next", False, "<think>What?\nQ: hm</think>Tea."),
        ("<think>What?\nQ: hm", False, None),
        ("What?\nQ: hm", True, None),
        ("What?\nQ: hm</think>Tea.", True, None),
        ("What?\nQ: hm</think>Tea.\nQ: next", True, "What?\nQ: hm</think>Tea."),
    ],
)
def test_a_stop_string_ends_an_answer_and_no_thought(text: str, opened: bool, cut: str | None) -> None:
    assert cut_at(text, ("\nQ:",), starts_in_thought=opened) == cut
    response = Response("k", text=text, finish_reason="length", thought_opened=opened)
    assert stopped(response, ("\nQ:",)).text == (text if cut is None else cut)
    assert stopped(response, ("\nQ:",)).finish_reason == ("length" if cut is None else "stop")
