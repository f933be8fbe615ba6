"""Ask a model what the journal lacks; every answer is committed before it counts."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

from kapwa.errors import ModelError
from kapwa.models.base import Model
from kapwa.records import Kind, Request, Response
from kapwa.runs.cache import AnswerCache
from kapwa.runs.codec import flaw
from kapwa.runs.journal import Journal
from kapwa.runs.progress import Meter
from kapwa.runs.redact import api_keys, hide_keys, redact
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


def ask_missing(
    book: RequestBook, model: Model, journal: Journal, meter: Meter, cache: AnswerCache | None = None
) -> None:
    """Ask ``model`` every distinct request of ``book`` that has no answer yet, neither in the journal nor in ``cache``.

    Raises ModelError when the model fails as a whole or answers what was not asked; what was committed stays.
    """
    ask = _ask_whole_batches if model.atomic_batches else _ask_each
    for kind in KINDS:
        ask(_Asking(book, kind, model, journal, meter, cache))


class _Asking(NamedTuple):
    """One kind of request of one run, and everything asking it takes."""

    book: RequestBook
    kind: Kind
    model: Model
    journal: Journal
    meter: Meter
    cache: AnswerCache | None

    def take(self, found: Sequence[Response]) -> None:
        """Commit answers of the cache as this run's own."""
        if self.cache is not None and found:
            self.journal.commit(found, origin=self.cache.origin)
            self.meter.known(len(found))


def _ask_whole_batches(job: _Asking) -> None:
    """Plan over all requests, so that a resumed run has the same batches; skip those answered whole."""
    requests = [request for request in job.book.distinct() if request.kind == job.kind]
    missing = set(job.journal.missing(request.key for request in requests))
    if not missing:
        job.meter.known(len(requests))
        return
    batches = [[requests[i] for i in batch] for batch in checked_plan(job.model, requests)]
    open_batches = [batch for batch in batches if any(request.key in missing for request in batch)]
    job.meter.known(len(requests) - sum(map(len, open_batches)))
    for batch in open_batches:
        found = job.cache.take_batch(batch) if job.cache is not None else None
        if found is not None:
            job.take(found)
            continue
        responses = list(answers(job.model, job.kind, batch))
        job.journal.commit(responses)
        if job.cache is not None:
            job.cache.add_batch(batch, responses)
        job.meter.add(responses)


def checked_plan(model: Model, requests: Sequence[Request]) -> list[list[int]]:
    """Return ``model.plan(requests)``; raise ModelError unless it holds every index exactly once."""
    plan = [batch for batch in model.plan(requests) if batch]
    if sorted(itertools.chain.from_iterable(plan)) != list(range(len(requests))):
        raise ModelError(f"{model.id} planned batches that do not hold every request exactly once.", hint=_BACKEND_BUG)
    return plan


def _ask_each(job: _Asking) -> None:
    """Hand over what is missing, in as few calls as memory allows; commit answers in the order they come."""
    missing = _without_answer(job)
    keep = job.cache.add if job.cache is not None else None
    with Committer(job.journal, job.meter, keep=keep) as committer:
        while window := list(itertools.islice(missing, WINDOW)):
            for response in answers(job.model, job.kind, window):
                committer.add(response)


def _without_answer(job: _Asking) -> Iterator[Request]:
    source = (request for request in job.book.distinct() if request.kind == job.kind)
    while chunk := list(itertools.islice(source, _LOOKUP)):
        missing = set(job.journal.missing(request.key for request in chunk))
        job.meter.known(len(chunk) - len(missing))
        lacking = [request for request in chunk if request.key in missing]
        if job.cache is not None:
            found = job.cache.take(lacking)
            job.take(found)
            had = {response.request_key for response in found}
            lacking = [request for request in lacking if request.key not in had]
        yield from lacking


def answers(model: Model, kind: Kind, requests: Sequence[Request]) -> Iterator[Response]:
    """Yield one checked response for each of ``requests``, in the order the model gives them.

    An answer of the wrong shape, and one that never comes, become failed items. Raises ModelError for
    answers to unknown requests and second answers: then no answer of this model can be trusted.
    """
    waiting = {request.key: request for request in requests}
    keys = api_keys()
    stream = iter(model.score(requests) if kind == "score" else model.generate(requests))
    try:
        for response in stream:
            request = waiting.pop(response.request_key, None)
            if request is None:
                raise _unasked(model, response.request_key, requests)
            yield _checked(response, request, keys)
    finally:
        # A server's open requests are cancelled now, not when the garbage collector comes by.
        close = getattr(stream, "close", None)
        if close is not None:
            close()
    if waiting:
        log.warning("%s returned no answer to %d of %d requests.", model.id, len(waiting), len(requests))
    for key in waiting:
        yield Response(key, error=NO_ANSWER)


def _checked(response: Response, request: Request, keys: list[str]) -> Response:
    reason = flaw(response, request) or response.error
    if reason is None:
        return _without_keys(response, keys)
    # Servers like to quote the key they were sent; nothing of an error but its words is kept.
    return replace(response, text=None, logprobs=None, error=redact(reason))


def _without_keys(response: Response, keys: list[str]) -> Response:
    """Hide keys in what the other side wrote: a proxy may show the headers it was sent as an answer."""
    said = response.text or "", response.finish_reason or ""
    if not any(key in text for key in keys for text in said):
        return response
    text, reason = (None if part is None else hide_keys(part, keys) for part in (response.text, response.finish_reason))
    return replace(response, text=text, finish_reason=reason)


def _unasked(model: Model, key: str, requests: Sequence[Request]) -> ModelError:
    twice = any(request.key == key for request in requests)
    what = "answered one request twice" if twice else "answered a request that was not asked"
    return ModelError(f"{model.id} {what} ({key!r}).", hint=_BACKEND_BUG)


_BACKEND_BUG = "This is a fault of the model backend; report it to its authors."


class Committer:
    """Commits answers in groups, none later than ``interval`` seconds after it came, even while the model is silent.

    An answer that comes after a quiet time is committed at once. ``keep`` gets each group that became durable.
    """

    def __init__(
        self,
        journal: Journal,
        meter: Meter,
        *,
        interval: float = _INTERVAL,
        group: int = GROUP,
        keep: Callable[[Sequence[Response]], None] | None = None,
    ) -> None:
        self._journal, self._meter, self._interval, self._group = journal, meter, interval, group
        self._keep = keep
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
            if self._keep is not None:
                self._keep(self._waiting)
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
