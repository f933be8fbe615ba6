import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from bench import Bench
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import ModelError, RunError
from kapwa.models.base import flaw
from kapwa.parallel.base import DistributedModel
from kapwa.records import ContinuationScore, Message, Request, Response
from kapwa.runs import execute
from kapwa.runs.asking import StoredModel
from kapwa.runs.execute import Committer, Execution
from kapwa.runs.progress import Meter
from kapwa.runs.store import AnswerCounts


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("kinds", [("generate",), ("score",), ("score", "generate")])
def test_every_question_is_asked_once_and_never_again(tmp_path: Path, atomic: bool, kinds: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    bench = Bench(tmp_path, TinyTask(n=9, kinds=kinds), TinyModel(atomic_batches=atomic, log=str(log)))
    last = bench.ask()
    assert sorted(log.read_text().split()) == sorted(bench.keys)
    assert (last.done, last.asked, last.total) == (5 * len(kinds),) * 3
    assert bench.journal.counts() == AnswerCounts(5 * len(kinds), 0)
    again = bench.ask()
    assert (again.done, again.asked) == (5 * len(kinds), 0)
    assert len(log.read_text().split()) == 5 * len(kinds)


def test_a_served_model_gets_the_missing_requests_in_one_call(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TinyTask(n=20, shared=False), TinyModel())
    keys = bench.keys
    bench.journal.commit(Response(key, text="known") for key in keys[3:9])
    bench.ask()
    assert bench.model.calls == [14]


def test_a_batch_with_an_answer_missing_is_asked_whole_and_the_others_not_at_all(tmp_path: Path) -> None:
    model = TinyModel(atomic_batches=True, fails="of 3?", cured=str(tmp_path / "cured"))
    bench = Bench(tmp_path, TinyTask(n=12, shared=False), model)
    bench.ask()
    assert bench.journal.counts() == AnswerCounts(11, 1)
    before = bench.stored()
    (tmp_path / "cured").touch()
    model.calls.clear()
    last = bench.ask()
    assert model.calls == [3]
    assert (last.done, last.asked, last.failed) == (12, 3, 0)
    after = bench.stored()
    changed = [key for key in before if before[key] != after[key]]
    assert [before[key].failed for key in changed] == [True]


def test_an_atomic_batch_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    class Dies(TinyModel):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            if len(self.calls) == 3 and request.key == batch[1].key:
                raise ModelError("the machine is on fire")
            return super().answer(request, batch)

    bench = Bench(tmp_path, TinyTask(n=12, shared=False), Dies(atomic_batches=True))
    with pytest.raises(ModelError, match="on fire"):
        bench.ask()
    assert bench.journal.counts() == AnswerCounts(6, 0)


@pytest.mark.parametrize("error", [ModelError("server gone"), KeyboardInterrupt(), RuntimeError("bug")])
def test_what_a_served_model_answered_before_it_failed_is_kept(tmp_path: Path, error: BaseException) -> None:
    class Dies(TinyModel):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            if request.key == batch[7].key:
                raise error
            return super().answer(request, batch)

    bench = Bench(tmp_path, TinyTask(n=12, shared=False), Dies())
    with pytest.raises(type(error)):
        bench.ask()
    assert bench.journal.counts() == AnswerCounts(7, 0)
    assert not [thread for thread in threading.enumerate() if thread.name == "kapwa-journal"]


def test_the_stream_of_a_stopped_run_is_closed(tmp_path: Path) -> None:
    closed = []

    class Held(TinyModel):
        def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
            try:
                for request in batch:
                    yield Response("unknown" if request is batch[2] else request.key, text="x")
            finally:
                closed.append(True)

    bench = Bench(tmp_path, TinyTask(n=12, shared=False), Held())
    with pytest.raises(ModelError):
        bench.ask()
    assert closed == [True]


class Forgetful(TinyModel):
    def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
        return (self.answer(request, batch) for request in batch[1:])


class Repeating(TinyModel):
    def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
        yield self.answer(batch[0], batch)
        for request in batch:
            yield self.answer(request, batch)


class Inventing(TinyModel):
    def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
        yield self.answer(batch[0], batch)
        yield Response("00" * 16, text="of my own accord")


class Shapeless(TinyModel):
    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        return Response(request.key)


@pytest.mark.parametrize("atomic", [False, True])
def test_requests_without_an_answer_are_failed_items(
    tmp_path: Path, atomic: bool, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path, TinyTask(n=3, shared=False), Forgetful(atomic_batches=atomic))
    assert bench.ask().failed == 1
    assert bench.journal.counts() == AnswerCounts(2, 1)
    assert bench.journal.errors() == [(execute.NO_ANSWER, 1)]
    assert "returned no answer to 1 requests" in caplog.text


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(("model", "said"), [(Repeating, "or answered one twice"), (Inventing, "that was not asked")])
def test_a_second_answer_or_one_to_nothing_is_an_error(tmp_path: Path, atomic: bool, model: Any, said: str) -> None:
    bench = Bench(tmp_path, TinyTask(n=3, shared=False), model(atomic_batches=atomic))
    with pytest.raises(ModelError, match=said) as caught:
        bench.ask()
    assert "fault of the model backend" in (caught.value.hint or "")
    assert bench.journal.counts() == AnswerCounts(0 if atomic else 1, 0)


def test_answers_of_the_wrong_shape_are_failed_items(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TinyTask(n=3, shared=False), Shapeless())
    bench.ask()
    assert bench.journal.counts() == AnswerCounts(0, 3)
    assert [reason for reason, _ in bench.journal.errors()] == [
        "the model's answer holds nothing instead of one of text, logprobs, error"
    ]


@pytest.mark.parametrize("plan", [[[0, 1]], [[0, 1], [1, 2]], [[0, 1, 2, 3]], [[-1, 0, 1]]])
def test_a_plan_that_loses_or_repeats_requests_is_refused(tmp_path: Path, plan: list[list[int]]) -> None:
    class Planner(TinyModel):
        def plan(self, requests: Sequence[Request]) -> list[list[int]]:
            return plan

    bench = Bench(tmp_path, TinyTask(n=3, shared=False), Planner(atomic_batches=True))
    with pytest.raises(ModelError, match="do not hold every request exactly once"):
        bench.ask()
    assert bench.journal.counts() == AnswerCounts(0, 0)


def wait_for(condition: object, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def test_an_answer_becomes_durable_while_the_model_is_silent(tmp_path: Path) -> None:
    """The model answers once and then says nothing more until the answer is seen in the journal."""

    class Silent(TinyModel):
        def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
            yield from (self.answer(request, batch) for request in batch[:2])
            wait_for(lambda: bench.journal.counts().answered == 2)
            yield from (self.answer(request, batch) for request in batch[2:])

    bench = Bench(tmp_path, TinyTask(n=3, shared=False), Silent())
    bench.ask()
    assert bench.journal.counts() == AnswerCounts(3, 0)


def test_a_full_group_is_committed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "INTERVAL", 3600)
    monkeypatch.setattr(execute, "GROUP", 2)
    bench = Bench(tmp_path, TinyTask(n=5, shared=False), TinyModel())
    keys = bench.keys
    with closing(Committer(Execution(bench.model, bench.journal, Meter(bench.seen.append, "x", 5)))) as committer:
        # The first comes after a quiet time and is committed at once; then always two together.
        for key, durable in zip(keys, (1, 1, 3, 3, 5), strict=True):
            committer.add(Response(key, text="x"))
            assert bench.journal.counts().answered == durable
            assert bench.seen[-1].done == durable
    assert bench.journal.counts().answered == 5
    assert bench.seen[-1].done == 5


def test_a_commit_that_fails_in_the_background_stops_the_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, TinyTask(n=3, shared=False), TinyModel())
    keys = bench.keys
    commit = bench.journal.commit

    def full(*_: object) -> None:
        raise RunError("the disk is full")

    monkeypatch.setattr(bench.journal, "commit", full)
    monkeypatch.setattr(execute, "INTERVAL", 0.01)
    with closing(Committer(Execution(bench.model, bench.journal, Meter(bench.seen.append, "x", 3)))) as committer:
        committer._last = time.monotonic() + 3600  # no commit but the clock's
        committer.add(Response(keys[0], text="x"))
        wait_for(lambda: committer._failure is not None)
        monkeypatch.setattr(bench.journal, "commit", commit)  # room again, too late for this run
        with pytest.raises(RunError, match="the disk is full"):
            committer.add(Response(keys[1], text="x"))
    # What had come was stored after all, on the way out.
    assert bench.journal.counts() == AnswerCounts(1, 0)


class Several(TinyModel, DistributedModel):
    """Takes up to ``ahead`` batches and answers the last of them first, those of no plan in two parts."""

    ahead = 3
    closed = False

    @cached_property
    def taken(self) -> list[int]:
        return []

    def window(self, total: int) -> int:
        return max(1, total // 4)

    def run_batches(self, kind: str, batches: Iterable[Sequence[Request]]) -> Iterator[tuple[Any, Any]]:
        source = iter(batches)
        try:
            while held := list(itertools.islice(source, self.ahead)):
                for batch in reversed(held):
                    self.taken.append(len(batch))
                    yield from self.parts(kind, batch)
        finally:
            self.closed = True

    def parts(self, kind: str, batch: Sequence[Request]) -> Iterator[tuple[Any, Any]]:
        found = list(self.score(batch) if kind == "score" else self.generate(batch))
        half = len(batch) if self.atomic_batches else len(batch) // 2
        yield batch[:half], found[:half]
        if half < len(batch):
            yield batch[half:], found[half:]


@pytest.mark.parametrize("atomic", [False, True])
def test_several_workers_give_the_answers_that_one_gives(tmp_path: Path, atomic: bool) -> None:
    for name, kind in (("one", TinyModel), ("several", Several)):
        (tmp_path / name).mkdir()
        task = TinyTask(n=20, shared=False, kinds=("score", "generate"))
        bench = Bench(tmp_path / name, task, kind(atomic_batches=atomic))
        last = bench.ask()
        assert (last.done, last.asked, last.total) == (40, 40, 40)
        if name == "one":
            stored = bench.stored()
    assert bench.stored() == stored
    assert bench.ask().asked == 0
    # A plan's batches, or windows of a quarter of all that is asked.
    assert set(bench.model.taken) == ({3, 2} if atomic else {10})


def test_batches_for_several_workers_are_made_when_there_is_room(tmp_path: Path) -> None:
    made: list[int] = []
    answered: list[int] = []

    class Watched(Several):
        def window(self, total: int) -> int:
            return 2

        def run_batches(self, kind: str, batches: Iterable[Sequence[Request]]) -> Iterator[tuple[Any, Any]]:
            def counted() -> Iterator[Sequence[Request]]:
                for batch in batches:
                    made.append(len(batch))
                    yield batch
                    assert sum(made) - sum(answered) <= 2 * self.ahead

            for batch, found in super().run_batches(kind, counted()):
                answered.append(len(batch))
                yield batch, found

    bench = Bench(tmp_path, TinyTask(n=40, shared=False), Watched())
    bench.ask()
    assert sum(made) == 40


def test_what_several_workers_leave_out_fails_and_what_they_add_ends_the_run(tmp_path: Path) -> None:
    class Losing(Several):
        def parts(self, kind: str, batch: Sequence[Request]) -> Iterator[tuple[Any, Any]]:
            yield batch[1:], list(self.generate(batch[1:]))
            yield batch[:1], []

    class Adding(Several):
        def parts(self, kind: str, batch: Sequence[Request]) -> Iterator[tuple[Any, Any]]:
            yield batch, [Response("00" * 16, text="of my own accord")]

    losing, adding = (tmp_path / name for name in ("losing", "adding"))
    for folder in (losing, adding):
        folder.mkdir()
    bench = Bench(losing, TinyTask(n=8, shared=False), Losing())
    assert bench.ask().failed == 4
    assert {r.error for r in bench.stored().values()} == {None, execute.NO_ANSWER}
    for atomic in (True, False):
        bench = Bench(adding, TinyTask(n=8, shared=False), Adding(atomic_batches=atomic))
        with pytest.raises(ModelError, match="was not asked"):
            bench.ask()
        assert bench.model.closed
        bench.journal.close()


class Streaming(TinyModel):
    """Answers each request as soon as it has taken two more; what is not taken from it is kept for after ``close``."""

    def generate(self, batch: Iterable[Request]) -> Any:
        return _Stream(self, iter(batch))


class _Stream:
    def __init__(self, model: TinyModel, batch: Iterator[Request]) -> None:
        self.model, self.batch, self.held, self.closed = model, batch, list[Request](), False

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> Response:
        while not self.closed and len(self.held) < 3 and (request := next(self.batch, None)) is not None:
            self.held.append(request)
        if not self.held:
            raise StopIteration
        return self.model.answer(self.held.pop(0), ())

    def close(self) -> None:
        self.closed = True


def test_requests_are_made_when_a_model_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    seen: list[int] = []

    class Watching(Streaming):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            seen.append(len(made))
            return super().answer(request, batch)

    bench = Bench(tmp_path, TinyTask(n=1200, shared=False), Watching())
    distinct = bench.index.distinct

    def watched(kind: Any) -> Iterator[Request]:
        for request in distinct(kind):
            made.append(request.key)
            yield request

    monkeypatch.setattr(bench.index, "distinct", watched)
    bench.ask()
    assert bench.journal.counts() == AnswerCounts(1200, 0)
    assert seen[0] < 600  # as many as the journal is asked about at once
    assert seen[-1] == 1200


def test_what_had_come_when_ctrl_c_struck_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TinyTask(n=12, shared=False), Streaming())
    meter = Meter(lambda _: None, "x", 12)

    def struck(responses: Sequence[Response]) -> None:
        raise KeyboardInterrupt

    meter.answered = struck  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        Execution(bench.model, bench.journal, meter).execute("generate", bench.index.distinct("generate"))
    # The first was committed; the two behind it had been taken by the model and came after ``close``.
    assert bench.journal.counts() == AnswerCounts(3, 0)


def test_a_stored_model_asks_once_for_all_time(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "out" / "answers.sqlite"
    task = TinyTask(n=6)
    requests = list(task.requests(task.items()))
    with closing(StoredModel(TinyModel(log=str(log)), file)) as judge:
        first = judge.answer(requests)
        assert len(first) == 6
        assert first[0] == first[1], "equal questions share an answer"
        assert judge.answer(requests[2:]) == first[2:]
    with closing(StoredModel(TinyModel(log=str(log)), file)) as judge:
        assert judge.answer(requests) == first
        assert (judge.id, judge.revision) == ("test/tiny", "r1")
    assert len(log.read_text().split()) == 3


@pytest.mark.parametrize("atomic", [False, True])
def test_a_stored_model_keeps_what_came_before_it_failed(tmp_path: Path, atomic: bool) -> None:
    cured, log = tmp_path / "cured", tmp_path / "log"
    model = TinyModel(fails="of 2?", cured=str(cured), log=str(log), atomic_batches=atomic, batch=1)
    task = TinyTask(n=5, shared=False)
    requests = list(task.requests(task.items()))
    judge = StoredModel(model)
    with pytest.raises(ModelError, match="did not answer: cannot say"):
        judge.answer(requests)
    cured.touch()
    assert [response.failed for response in judge.answer(requests)] == [False] * 5
    assert len(log.read_text().split()) == 6


ASK = Request("1", "full", "generate", (Message("user", "?"),))
SCORE = Request("1", "full", "score", (Message("user", "?"),), ("a", "b"))
ONE, NAN = ContinuationScore(-1.0, 1, 1, 1), ContinuationScore(float("nan"), 1, 1, 1)


@pytest.mark.parametrize(
    ("response", "request_", "says"),
    [
        (Response("k"), ASK, "holds nothing"),
        (Response("k", text="a", error="b"), ASK, "text and error"),
        (Response("k", logprobs=(ONE, ONE)), ASK, "gave logprobs where text"),
        (Response("k", text="a"), SCORE, "gave text where logprobs"),
        (Response("k", logprobs=(ONE,)), SCORE, "scored 1 of 2"),
        (Response("k", logprobs=(ONE, NAN)), SCORE, "continuation 2 is not a number"),
        (Response("k", text=""), ASK, None),
        (Response("k", logprobs=(ONE, ONE)), SCORE, None),
        (Response("k", error="no"), SCORE, None),
    ],
)
def test_an_answer_of_the_wrong_shape_is_named(response: Response, request_: Request, says: str | None) -> None:
    found = flaw(response, request_)
    assert found is None if says is None else says in (found or "")
