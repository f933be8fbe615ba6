"""Models that take requests one by one, as they have room: nothing is made ready in vain, and no promise is trusted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from asking_bench import Bench
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import ModelError
from kapwa.records import Item, Request, Response
from kapwa.runs.journal import Counts


class Streaming(TinyModel):
    """Answers each request as soon as it has taken two more."""

    streams = True

    def _all(self, batch: Iterable[Request]) -> Iterator[Response]:
        held: list[Request] = []
        for request in batch:
            held.append(request)
            if len(held) == 3:
                yield self.answer(held.pop(0), ())
        yield from (self.answer(request, ()) for request in held)


def test_requests_are_made_when_a_streaming_model_has_room(tmp_path: Path) -> None:
    made: list[str] = []

    class Telling(TinyTask):
        def requests(self, items: Sequence[Item]) -> Iterator[Request]:
            for request in super().requests(items):
                made.append(request.item_id)
                yield request

    class Watching(Streaming):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            self.calls.append(len(made))
            return super().answer(request, batch)

    bench = Bench(tmp_path, Telling(n=1200, shared=False), Watching())
    made.clear()
    bench.ask()
    assert bench.journal.counts() == Counts(1200, 0)
    assert bench.model.calls[0] < 600  # as many as the journal is asked about at once
    assert bench.model.calls[-1] == 1200


@pytest.mark.parametrize(
    ("answering", "problem"),
    [
        (lambda model, batch: (model.answer(r, ()) for r in itertools.islice(batch, 2)), None),
        (lambda model, batch: (model.answer(r, ()) for r in list(batch)[1:]), None),
        (lambda model, batch: (model.answer(r, ()) for r in batch for _ in range(2)), "answered one request twice"),
        (lambda model, batch: iter([Response("00" * 16, text="x")]), "a request that was not asked"),
    ],
    ids=["stops-early", "forgets-one", "answers-twice", "invents"],
)
def test_a_streaming_model_that_breaks_its_promise_is_found_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answering: Any, problem: str | None
) -> None:
    class Broken(Streaming):
        def _all(self, batch: Iterable[Request]) -> Iterator[Response]:
            return answering(self, batch)  # type: ignore[no-any-return]

    bench = Bench(tmp_path, TinyTask(n=3, shared=False), Broken())
    if problem is None:
        assert bench.ask().failed == 1
        assert bench.journal.counts() == Counts(2, 1)
        assert "returned no answer to 1 of 3 requests" in caplog.text
    else:
        with pytest.raises(ModelError, match=problem):
            bench.ask()


def test_a_run_without_scoring_walks_through_its_requests_once(tmp_path: Path) -> None:
    walks: list[int] = []

    class Counting(TinyTask):
        def requests(self, items: Sequence[Item]) -> Iterator[Request]:
            walks.append(1)
            return super().requests(items)

    bench = Bench(tmp_path, Counting(n=3), TinyModel())
    walks.clear()
    bench.ask()
    assert walks == [1]
