"""Texts in two halves, and whether a reply completes the second word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_suite import TinyModel

from kapwa.records import Request, Response
from kapwa.runs.contamination import Halved, completed, completes, halves_of
from kapwa.runs.store import AnswerStore

WORDS = "Which dish do people in this town eat with their fingers at the family table on a feast day"
KOREAN = "우리 동네 사람들은 명절에 가족 식탁에서 어떤 음식을 손으로 집어 먹나요 그리고 왜 그렇게 먹나요"
THAI = "คนในเมืองนี้กินอาหารอะไรด้วยมือบนโต๊ะอาหารของครอบครัวในวันเทศกาลและทำไม"


@pytest.mark.parametrize("text", [WORDS, KOREAN, THAI])
def test_a_text_is_cut_in_its_middle(text: str) -> None:
    first, second = halves_of(text) or ("", "")
    assert "".join((first, second)).replace(" ", "") == text.replace(" ", "")
    assert 0.3 < len(first) / len(text) < 0.7


@pytest.mark.parametrize("text", ["", "What do you eat here today?", "กินอะไร"])
def test_a_short_text_is_left_out(text: str) -> None:
    assert halves_of(text) is None


@given(st.lists(st.text("abcdeé字", min_size=1, max_size=8), min_size=10, max_size=30))
def test_what_is_given_back_as_it_was_is_completed_and_less_is_not(words: list[str]) -> None:
    first, second = halves_of(" ".join(words)) or ("", "")
    assert completes(f"“{second.upper()}…”", second) == (second.upper().casefold() == second.casefold())
    assert completes(f"{first} {second}", second)
    assert not completes(second[: len(second) // 2], second)


class Reader(TinyModel):
    """Knows the texts that it has read, and fails at those that say so."""

    known: tuple[str, ...] = ()

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        for request in batch:
            asked = request.messages[-1].content
            if "fails" in asked:
                yield Response(request.key, error="503")
                continue
            text = next((second for second in self.known if second[:0] in asked and self.first[second] in asked), "no")
            yield Response(request.key, text=f"Of course: {text}.", finish_reason="stop")

    first: dict[str, str] = {}  # noqa: RUF012 - of a test


def test_each_text_is_asked_once_through_the_gate_and_failures_are_missing(tmp_path: Path) -> None:
    items = [
        Halved(
            f"i{k}", "Kenya", "xx", f"c{k}", f"first half {k} {'fails' if k == 3 else ''}", f"second half number {k}"
        )
        for k in range(5)
    ]
    model = Reader()
    model.known = tuple(item.second for item in items[:2])
    model.first = {item.second: item.first for item in items}
    with closing(AnswerStore(tmp_path / "answers.sqlite")) as store:
        frame = completed(items, model, store)
        again = completed(items[:3], model, store)
        assert store.counts().answered == 4
    assert frame["value"].to_list() == [1.0, 1.0, 0.0, None, 0.0]
    assert frame["missing"].to_list() == [0, 0, 0, 1, 0]
    assert (frame["least"][3], frame["most"][3]) == (0.0, 1.0)
    assert again["value"].to_list() == [1.0, 1.0, 0.0]
