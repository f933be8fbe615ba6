"""Ask a model what the journal lacks; every answer is committed before it counts."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from kapwa.engines.base import takes_many
from kapwa.errors import ModelError
from kapwa.models.base import Model
from kapwa.records import Kind, Request, Response
from kapwa.runs.alike import Telling
from kapwa.runs.cache import AnswerCache
from kapwa.runs.codec import flaw
from kapwa.runs.journal import Journal
from kapwa.runs.progress import Meter
from kapwa.runs.redact import api_keys, hide_keys, redact
from kapwa.runs.requests import RequestBook

log = logging.getLogger(__name__)

Given = TypeVar("Given")

KINDS: tuple[Kind, ...] = ("score", "generate")
NO_ANSWER = "the model returned no answer to this request"
# Requests handed to a model in one call, where it does not take them one by one: bounds memory in runs of millions,
# and is large enough that waiting for the last of a call costs nothing.
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
    telling = Telling(model, journal)
    for kind in KINDS:
        if kind in book.kinds:  # each kind takes a walk through all requests
            ask(_Asking(book, kind, model, journal, meter, telling, cache))


class _Asking(NamedTuple):
    """One kind of request of one run, and everything asking it takes."""

    book: RequestBook
    kind: Kind
    model: Model
    journal: Journal
    meter: Meter
    telling: Telling
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
    job.telling.planned(job.kind, batches)
    with _closing(_answered(job, _not_cached(job, open_batches))) as found:
        for batch, responses in found:
            job.telling.renew()
            job.journal.commit(responses)
            if job.cache is not None:
                job.cache.add_batch(batch, responses)
            job.meter.add(responses)


def _not_cached(job: _Asking, batches: Iterable[Sequence[Request]]) -> Iterator[Sequence[Request]]:
    """Yield the batches that must be asked for; take the others from the cache when their turn comes."""
    for batch in batches:
        found = job.cache.take_batch(batch) if job.cache is not None else None
        if found is None:
            yield batch
        else:
            job.take(found)


def _answered(
    job: _Asking, batches: Iterable[Sequence[Request]]
) -> Iterator[tuple[Sequence[Request], Sequence[Response]]]:
    """Yield each batch with its checked answers: in order, or as they come where the model takes many at once.

    ``batches`` is consumed in this thread, and only as far as the model has room.
    """
    if not takes_many(job.model):
        for batch in batches:
            yield batch, list(answers(job.model, job.kind, batch))
        return
    with _closing(job.model.answer_all(job.kind, batches)) as stream:
        for batch, responses in stream:
            yield batch, list(checked(job.model, batch, responses))


def checked_plan(model: Model, requests: Sequence[Request]) -> list[list[int]]:
    """Return ``model.plan(requests)``; raise ModelError unless it holds every index exactly once."""
    plan = [batch for batch in model.plan(requests) if batch]
    if sorted(itertools.chain.from_iterable(plan)) != list(range(len(requests))):
        raise ModelError(f"{model.id} planned batches that do not hold every request exactly once.", hint=_BACKEND_BUG)
    return plan


def _ask_each(job: _Asking) -> None:
    """Hand over what is missing, in as few calls as memory allows; commit answers in the order they come."""
    job.telling.renew()
    missing = _without_answer(job)
    keep = job.cache.add if job.cache is not None else None
    with Committer(job.journal, job.meter, keep=keep) as committer:
        if takes_many(job.model):
            windows = _windows(missing, job.model.window(job.book.distinct_total))
            with _closing(_answered(job, windows)) as found:
                for _, responses in found:
                    for response in responses:
                        committer.add(response)
        elif takes_streams(job.model):
            asked = _Asked(missing)
            _ask_one_by_one(job, committer, asked, asked, job.book.distinct_keys())
        else:
            for window in _windows(missing, WINDOW):
                asked = _Asked(window)
                asked.take_all()
                _ask_one_by_one(job, committer, asked, window, (request.key for request in window))


def _ask_one_by_one(
    job: _Asking, committer: Committer, asked: _Asked, requests: Iterable[Request], known: Iterable[str]
) -> None:
    """Commit every answer to ``requests``, which ``asked`` counts; those too that came when the asking is stopped."""
    stream = iter(_given(job.model, job.kind, requests))
    try:
        for response in _matched(job.model, asked, stream, known):
            committer.add(response)
    finally:
        close = getattr(stream, "close", None)
        came = close() if close is not None else None
        if came:
            committer.add_rest(_expected(asked, came))


def _expected(asked: _Asked, responses: Iterable[Response]) -> Iterator[Response]:
    """Yield, checked, those of ``responses`` that are still waited for."""
    keys = api_keys()
    for response in responses:
        request = asked.waiting.pop(response.request_key, None)
        if request is not None:
            yield _checked(response, request, keys)


def takes_streams(model: Model) -> bool:
    """Whether ``model.streams``: it takes any iterable, in the caller's thread and only as far as it has room.

    Then nothing is made ready before the first call, and no call waits for the last one of a window.
    """
    return bool(getattr(model, "streams", False))


def _windows(requests: Iterator[Request], size: int) -> Iterator[list[Request]]:
    while window := list(itertools.islice(requests, size)):
        yield window


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
    with _closing(_given(model, kind, requests)) as stream:
        yield from checked(model, requests, stream)


def _given(model: Model, kind: Kind, requests: Any) -> Iterator[Response]:
    return model.score(requests) if kind == "score" else model.generate(requests)


def checked(model: Model, requests: Sequence[Request], responses: Iterable[Response]) -> Iterator[Response]:
    """Yield ``responses``, which ``model`` gave to ``requests``, as :func:`answers` does."""
    asked = _Asked(requests)
    asked.take_all()
    return _matched(model, asked, responses, (request.key for request in requests))


class _Asked:
    """Requests that a model may take one by one; ``waiting`` are those that were taken and have no answer, by key."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._left = iter(requests)
        self.waiting: dict[str, Request] = {}
        self.taken = 0

    def __iter__(self) -> Iterator[Request]:
        for request in self._left:
            self.waiting[request.key] = request
            self.taken += 1
            yield request

    def take_all(self) -> None:
        """Count as taken what is left."""
        for _ in self:
            pass


def _matched(model: Model, asked: _Asked, responses: Iterable[Response], known: Iterable[str]) -> Iterator[Response]:
    keys = api_keys()
    for response in responses:
        request = asked.waiting.get(response.request_key)
        if request is None:
            asked.waiting.clear()  # nothing that comes now is trusted
            raise _unasked(model, response.request_key, known)
        yield _checked(response, request, keys)
        # Not before it was taken: where Ctrl-C comes first, the answer is still waited for.
        asked.waiting.pop(response.request_key, None)
    asked.take_all()
    if asked.waiting:
        log.warning("%s returned no answer to %d of %d requests.", model.id, len(asked.waiting), asked.taken)
    for key in asked.waiting:
        yield Response(key, error=NO_ANSWER)


@contextmanager
def _closing(stream: Iterable[Given]) -> Iterator[Iterator[Given]]:
    """Close ``stream`` at the end: a server's open requests are cancelled then, not when garbage is collected."""
    found = iter(stream)
    try:
        yield found
    finally:
        close = getattr(found, "close", None)
        if close is not None:
            close()


def without_secrets(responses: Sequence[Response]) -> list[Response]:
    """Return ``responses`` without what this process alone may know: for workers that hold keys of their own."""
    keys = api_keys()
    return [
        _without_keys(response, keys) if response.error is None else replace(response, error=redact(response.error))
        for response in responses
    ]


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


def _unasked(model: Model, key: str, known: Iterable[str]) -> ModelError:
    what = "answered one request twice" if key in known else "answered a request that was not asked"
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

    def add_rest(self, responses: Iterable[Response]) -> None:
        """Take what came before the asking was stopped; what is durable already is passed over."""
        self._flush()
        rest = {response.request_key: response for response in responses}
        lacking = [rest[key] for key in self._journal.missing(rest)]
        with self._lock:
            self._waiting += lacking
        self._flush()

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
