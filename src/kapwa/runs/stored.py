"""The answers of a run as judging sees them: read from the journal, as often as needed, never all at once."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from kapwa.records import Answer
from kapwa.runs.journal import Journal
from kapwa.runs.requests import RequestBook

_READ = 500  # the journal looks up as many keys at a time


class StoredAnswers(Collection[Answer]):
    """Every request of ``book`` with its response, in the book's order; equal questions share one response.

    Iterating reads the journal anew and holds a few hundred answers, so that a task may judge millions of them.
    Raises RunError for a request that was never answered and for a damaged row.
    """

    def __init__(self, book: RequestBook, journal: Journal) -> None:
        self._book, self._journal = book, journal

    def __len__(self) -> int:
        return self._book.total

    def __iter__(self) -> Iterator[Answer]:
        source = iter(self._book)
        while requests := list(itertools.islice(source, _READ)):
            yield from map(Answer, requests, self._journal.read(request.key for request in requests))

    def __contains__(self, answer: object) -> bool:
        return any(one == answer for one in self)
