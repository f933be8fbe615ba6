"""Judging walks through the stored answers as often as it likes, and never holds them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import RunError
from kapwa.records import Response
from kapwa.runs.journal import Journal
from kapwa.runs.requests import RequestBook
from kapwa.runs.stored import StoredAnswers


class _Counting:
    """A journal that notes how many answers it was asked for at a time."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self.asked = journal, list[int]()

    def read(self, keys: Iterable[str]) -> Iterator[Response]:
        wanted = list(keys)
        self.asked.append(len(wanted))
        return self._journal.read(wanted)


@pytest.fixture
def book() -> RequestBook:
    task = TinyTask(n=1203)
    return RequestBook(task, task.items(), TinyModel().fingerprint)


def _answer_all(journal: Journal, book: RequestBook) -> None:
    model = TinyModel()
    requests = list(book.distinct())
    journal.commit(model.answer(request, requests[:1]) for request in requests)


def test_stored_answers_are_every_request_with_its_response_as_often_as_wanted(
    book: RequestBook, tmp_path: Path
) -> None:
    with Journal.open(tmp_path / "journal.sqlite", identity="tiny") as journal:
        _answer_all(journal, book)
        stored = StoredAnswers(book, journal)
        first, second = list(stored), list(stored)
        assert len(stored) == len(first) == book.total == 1203
        assert first == second
        assert [answer.request for answer in first] == list(book)
        assert all(answer.response.request_key == answer.request.key for answer in first)
        assert first[0] in stored
        assert "something else" not in stored


def test_stored_answers_are_read_a_few_hundred_at_a_time(book: RequestBook, tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.sqlite", identity="tiny") as journal:
        _answer_all(journal, book)
        counting = _Counting(journal)
        walk = iter(StoredAnswers(book, counting))  # type: ignore[arg-type]
        next(walk)
        assert counting.asked == [500]
        assert sum(1 for _ in walk) == 1202
        assert counting.asked == [500, 500, 203]


def test_an_unanswered_request_is_named(book: RequestBook, tmp_path: Path) -> None:
    with (
        Journal.open(tmp_path / "journal.sqlite", identity="tiny") as journal,
        pytest.raises(RunError, match="holds no answer to the request"),
    ):
        list(StoredAnswers(book, journal))
