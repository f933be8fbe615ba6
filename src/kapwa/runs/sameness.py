"""Whether a model gives one answer to most questions: a stub, a broken template, a server that repeats itself."""

from __future__ import annotations

from kapwa.records import Answer
from kapwa.suites.watched_answers import WatchedAnswers

LEAST = 20  # questions; of fewer, half may agree by chance
_SHORT, _MOST_SHORT, _MOST = 3, 0.75, 0.5  # a letter is right for many questions; a text hardly is
_SHOWN = 60


class SameAnswers(WatchedAnswers):
    """Answers as they are read, with the one that most of them might be: a candidate by majority vote, in no memory."""

    def begin(self) -> None:
        """Have no candidate."""
        self._candidate, self._votes = "", 0

    def watch(self, answer: Answer) -> None:
        """Let an answer vote for the candidate."""
        text = (answer.response.text or "").strip()
        if text and text == self._candidate:
            self._votes += 1
        elif text and not self._votes:
            self._candidate, self._votes = text, 1
        elif text:
            self._votes -= 1

    def warning(self) -> str | None:
        """Say that most questions got the same answer, or None; walks through the answers again where they might."""
        if not self._votes:
            return None
        questions: set[str] = set()
        same: set[str] = set()
        for request, response in self._answers:
            if response.text and response.text.strip():
                questions.add(request.item_id)
                if response.text.strip() == self._candidate:
                    same.add(request.item_id)
        most = _MOST_SHORT if len(self._candidate) <= _SHORT else _MOST
        if len(questions) < LEAST or len(same) <= most * len(questions):
            return None
        line = " ".join(self._candidate.split())
        shown = f"{line[:_SHOWN]}…" if len(line) > _SHOWN else line
        return (
            f"{len(same):,} of {len(questions):,} different questions got the same answer, “{shown}”: look at the "
            "prompts and at the server before you read these numbers."
        )
