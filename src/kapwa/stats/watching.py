"""Answers that are watched while they are judged, so that counting them needs no separate pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator

from kapwa.records import Answer


class WatchedAnswers(Collection[Answer]):
    """Answers as they are read, perhaps from disk; the first full pass gives each of them to :meth:`watch`."""

    def __init__(self, answers: Collection[Answer]) -> None:
        self._answers = answers
        self._seen_all = False
        self.begin()

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, answer: object) -> bool:
        return answer in self._answers

    def __iter__(self) -> Iterator[Answer]:
        """Yield the answers."""
        if self._seen_all:
            yield from self._answers
            return
        self.begin()
        for answer in self._answers:
            self.watch(answer)
            yield answer
        self._seen_all = True

    @abstractmethod
    def begin(self) -> None:
        """Start a pass, and forget what was watched before."""

    @abstractmethod
    def watch(self, answer: Answer) -> None:
        """Look at one answer."""
