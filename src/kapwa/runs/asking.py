"""Ask a model what the journal lacks; every answer is committed before it counts."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from kapwa.errors import ModelError
from kapwa.models.base import Model
from kapwa.records import Kind, Request, Response
from kapwa.runs.codec import flaw
from kapwa.runs.journal import Journal
from kapwa.runs.progress import Meter
from kapwa.runs.redact import redact
from kapwa.runs.requests import RequestBook

log = logging.getLogger(__name__)

KINDS: tuple[Kind, ...] = ("score", "generate")
NO_ANSWER = "the model returned no answer to this request"
# Requests handed to a served model in one call: bounds memory in runs of millions, and is large enough
# that draining the last open requests of a call costs nothing.
WINDOW = 50_000
_LOOKUP = 500
# Answers committed together at most: one fsync for all of them.
GROUP = 1000
_INTERVAL = 0.2


def ask_missing(book: RequestBook, model: Model, journal: Journal, meter: Meter) -> None:
    """Ask ``model`` every distinct request of ``book`` that has no answer yet.

    Raises ModelError when the model fails as a whole or answers what was not asked; what was committed stays.
    """
    ask = _ask_whole_batches if model.atomic_batches else _ask_each
    for kind in KINDS:
        ask(book, kind, model, journal, meter)


def _ask_whole_batches(book: RequestBook, kind: Kind, model: Model, journal: Journal, meter: Meter) -> None:
    """Plan over all requests, so that a resumed run has the same batches; skip those answered whole."""
    requests = [request for request in book.distinct() if request.kind == kind]
    missing = set(journal.missing(request.key for request in requests))
    if not missing:
        meter.known(len(requests))
        return
    batches = [[requests[i] for i in batch] for batch in checked_plan(model, requests)]
    open_batches = [batch for batch in batches if any(request.key in missing for request in batch)]
    meter.known(len(requests) - sum(map(len, open_batches)))
    for batch in open_batches:
        responses = list(answers(model, kind, batch))
        journal.commit(responses)
        meter.add(responses)


def checked_plan(model: Model, requests: Sequence[Request]) -> list[list[int]]:
    """Return ``model.plan(requests)``; raise ModelError unless it holds every index exactly once."""
    plan = [batch for batch in model.plan(requests) if batch]
    if sorted(itertools.chain.from_iterable(plan)) != list(range(len(requests))):
        raise ModelError(f"{model.id} planned batches that do not hold every request exactly once.", hint=_BACKEND_BUG)
    return plan


def _ask_each(book: RequestBook, kind: Kind, model: Model, journal: Journal, meter: Meter) -> None:
    """Hand over what is missing, in as few calls as memory allows; commit answers in the order they come."""
    requests = (request for request in book.distinct() if request.kind == kind)
    missing = _without_answer(requests, journal, meter)
    with Committer(journal, meter) as committer:
        while window := list(itertools.islice(missing, WINDOW)):
            for response in answers(model, kind, window):
                committer.add(response)


def _without_answer(requests: Iterable[Request], journal: Journal, meter: Meter) -> Iterator[Request]:
    source = iter(requests)
    while chunk := list(itertools.islice(source, _LOOKUP)):
        missing = set(journal.missing(request.key for request in chunk))
        meter.known(len(chunk) - len(missing))
        yield from (request for request in chunk if request.key in missing)


def answers(model: Model, kind: Kind, requests: Sequence[Request]) -> Iterator[Response]:
    """Yield one checked response for each of ``requests``, in the order the model gives them.

    An answer of the wrong shape, and one that never comes, become failed items. Raises ModelError for
    answers to unknown requests and second answers: then no answer of this model can be trusted.
    """
    waiting = {request.key: request for request in requests}
    stream = iter(model.score(requests) if kind == "score" else model.generate(requests))
    try:
        for response in stream:
            request = waiting.pop(response.request_key, None)
            if request is None:
                raise _unasked(model, response.request_key, requests)
            yield _checked(response, request)
    finally:
        # A server's open requests are cancelled now, not when the garbage collector comes by.
        close = getattr(stream, "close", None)
        if close is not None:
            close()
    if waiting:
        log.warning("%s returned no answer to %d of %d requests.", model.id, len(waiting), len(requests))
    for key in waiting:
        yield Response(key, error=NO_ANSWER)


def _checked(response: Response, request: Request) -> Response:
    reason = flaw(response, request) or response.error
    if reason is None:
        return response
    # Servers like to quote the key they were sent; nothing of an error but its words is kept.
    return replace(response, text=None, logprobs=None, error=redact(reason))


def _unasked(model: Model, key: str, requests: Sequence[Request]) -> ModelError:
    twice = any(request.key == key for request in requests)
    what = "answered one request twice" if twice else "answered a request that was not asked"
    return ModelError(f"{model.id} {what} ({key!r}).", hint=_BACKEND_BUG)


_BACKEND_BUG = "This is a fault of the model backend; report it to its authors."


class Committer:
    """Commits answers in groups, none later than ``interval`` seconds after it came, even while the model is silent.

    An answer that comes after a quiet time is committed at once.
    """

    def __init__(self, journal: Journal, meter: Meter, *, interval: float = _INTERVAL, group: int = GROUP) -> None:
        self._journal, self._meter, self._interval, self._group = journal, meter, interval, group
        self._lock = threading.Lock()
        self._waiting: list[Response] = []
        self._durable: list[Response] = []
        self._failure: BaseException | None = None
        self._last = float("-inf")
        self._stop = threading.Event()
        self._clock = threading.Thread(target=self._tick, name="kapwa-journal", daemon=True)

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whatever ended the asking (an error, Ctrl-C), answers that came are kept.
        self._stop.set()
        self._clock.join()
        self._flush()
        self._report()

    def add(self, response: Response) -> None:
        """Take an answer; raise what the last commit raised, if it failed."""
        if self._failure is not None:
            raise self._failure
        with self._lock:
            self._waiting.append(response)
            due = len(self._waiting) >= self._group or time.monotonic() - self._last >= self._interval
        if due:
            self._flush()
        self._report()

    def _flush(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            self._journal.commit(self._waiting)
            self._durable += self._waiting
            self._waiting = []
            self._last = time.monotonic()

    def _tick(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self._flush()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that asks
                self._failure = error
                return

    def _report(self) -> None:
        with self._lock:
            durable, self._durable = self._durable, []
        if durable:
            self._meter.add(durable)
