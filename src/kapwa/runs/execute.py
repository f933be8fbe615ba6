"""Ask a model what a store of answers lacks; every answer is committed before it counts."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kapwa.errors import ModelError
from kapwa.models.base import Model, flaw
from kapwa.parallel.base import DistributedModel
from kapwa.records import Kind, Request, Response
from kapwa.runs.progress import Meter
from kapwa.runs.schema import differences, environments
from kapwa.runs.stopping import shuffled
from kapwa.runs.store import AnswerStore

if TYPE_CHECKING:
    from kapwa.runs.cache import AnswerCache
    from kapwa.runs.shorter_thinking import ShorterThinkingRun
    from kapwa.runs.stopping import Stopping

log = logging.getLogger(__name__)

KINDS: tuple[Kind, ...] = ("score", "generate")
NO_ANSWER = "the model returned no answer to this request"
_LOOKUP = 500
# Answers committed together at most: one fsync for all of them.
GROUP = 1000
# How long an answer may wait for others to be committed with, in seconds.
INTERVAL = 0.2
_ENVIRONMENT = (
    "The earlier answers of this run were computed in another environment: %s. The run goes on, but cannot be repeated "
    "byte for byte. To avoid that, answer everything again in another folder (--out)."
)
_BACKEND_BUG = "This is a fault of the model backend; report it to its authors."


class Execution(NamedTuple):
    """Who is asked, where answers are kept, who counts them, what ends the asking early.

    ``shorter_run``: answers of a run whose thoughts had less room, to be taken or continued.
    """

    model: Model
    store: AnswerStore
    meter: Meter
    cache: AnswerCache | None = None
    stopping: Stopping | None = None
    shorter_run: ShorterThinkingRun | None = None

    def execute(self, kind: Kind, *blocks: Iterable[Request]) -> None:
        """Ask every request of ``blocks``, all of ``kind`` and no two with one key, that has no answer yet.

        Batches are planned within a block, so that they do not depend on which others are asked.

        Answers come from the cache where it has them. Raises ModelError when the model fails as a whole or answers
        what was not asked; what was committed stays.
        """
        self.model.recall(self.store.learnt)
        if self.model.atomic_batches:
            self._execute_planned(kind, [list(block) for block in blocks])
            return
        requests = itertools.chain.from_iterable(blocks)
        with closing(Committer(self)) as committer:
            if isinstance(self.model, DistributedModel):
                missing, size = self._without_answer(requests), self.model.window(self.meter.state.total)
                windows = iter(lambda: list(itertools.islice(missing, size)), [])
                with closing(self._answered(kind, windows)) as answered:
                    for _, responses in answered:
                        committer.add(*responses)
                return
            waiting: dict[str, Request] = {}  # what the model has taken and not answered
            source = self._without_answer(requests, waiting)
            stream = self.model.score(source) if kind == "score" else self.model.generate(source)
            try:
                for response in checked(self.model, waiting, stream, source):
                    committer.add(response)
            finally:
                stream.close()
                # Where Ctrl-C or an error ended the asking: what had come.
                for response in stream:
                    request = waiting.pop(response.request_key, None)
                    if request is not None and flaw(response, request) is None:
                        committer.add(response)

    def counted(self, responses: Sequence[Response]) -> None:
        """Count answers that are durable; raise what ends the asking."""
        self.meter.answered(responses)
        if self.stopping is not None:
            self.stopping.seen(responses)

    def reaches_limit_with(self, responses: Sequence[Response]) -> bool:
        """Take note of responses that are not committed yet; return whether the asking ends at a limit with them."""
        return self.stopping is not None and self.stopping.reaches_limit_with(responses)

    def _execute_planned(self, kind: Kind, blocks: Sequence[Sequence[Request]]) -> None:
        """Plan over all requests of a block, so that a resumed run has the same batches; skip those answered whole."""
        batches: list[list[Request]] = []
        for requests in blocks:
            missing = set(self.store.missing(request.key for request in requests))
            plan = checked_plan(self.model, requests) if missing else []
            planned = [[requests[i] for i in batch] for batch in plan]
            batches += [batch for batch in planned if any(request.key in missing for request in batch)]
        if self.stopping is not None and self.stopping.limits.spending:
            # Planned by length: the batches that are asked before a limit is met are to be like the others.
            batches = shuffled(batches, 0)
        known = sum(map(len, blocks)) - sum(map(len, batches))
        self.meter.add(known, stored=known)
        earlier = environments(self.store.sessions())
        different = differences([*earlier, self.model.environment]) if batches and earlier else None
        if different and different != differences(earlier):
            log.warning(_ENVIRONMENT, different)
        with closing(self._answered(kind, self._not_cached(batches))) as answered:
            for batch, responses in answered:
                # Anew each time: replicas may join as a distributed model works.
                self.store.commit(responses, {"environment": dict(self.model.environment)})
                # With answers of another run, batches are not those that a run without it would have.
                if self.cache is not None and self.shorter_run is None:
                    self.cache.add_batch(batch, responses)
                self.counted(responses)

    def _not_cached(self, batches: Iterable[Sequence[Request]]) -> Iterator[Sequence[Request]]:
        """Yield the batches that must be asked for; take the others from the cache when their turn comes."""
        for batch in batches:
            cached = self.cache.take_batch(batch) if self.cache is not None else None
            if self.cache is not None and cached is not None:
                self._take(cached, self.cache.origin)
            elif self.shorter_run is None:
                yield batch
            elif rest := self._not_in(self.shorter_run, batch):
                yield rest

    def _not_in(self, shorter_run: ShorterThinkingRun, requests: Sequence[Request]) -> list[Request]:
        """Return what the shorter run does not answer, each with the text that it had begun; take the others."""
        result = shorter_run.look_up(requests)
        self._take(result.answered, shorter_run.origin)
        return result.rest

    def _take(self, responses: Sequence[Response], origin: Mapping[str, str]) -> None:
        """Commit answers of the cache, or of another run, as this run's own."""
        self.store.commit(responses, {"cache": origin})
        self.meter.add(len(responses), stored=len(responses))

    def _answered(
        self, kind: Kind, batches: Iterable[Sequence[Request]]
    ) -> Generator[tuple[Sequence[Request], Sequence[Response]]]:
        """Yield each batch with its checked answers: in order, or as they come where the model is distributed.

        ``batches`` is consumed in this thread, and only as far as the model has room.
        """
        if isinstance(self.model, DistributedModel):
            with closing(self.model.run_batches(kind, batches)) as stream:
                for batch, responses in stream:
                    yield batch, list(checked(self.model, {r.key: r for r in batch}, responses))
        else:
            for batch in batches:
                yield batch, list(ask_batch(self.model, kind, batch))

    def _without_answer(
        self, requests: Iterable[Request], waiting: dict[str, Request] | None = None
    ) -> Iterator[Request]:
        """Yield the requests that the store, the cache and the shorter run leave open; put each into ``waiting``."""
        source = iter(requests)
        while chunk := list(itertools.islice(source, _LOOKUP)):
            missing = set(self.store.missing(request.key for request in chunk))
            if self.cache is not None:
                self.cache.complete(self.store, (request.key for request in chunk if request.key not in missing))
                cached = self.cache.take([request for request in chunk if request.key in missing])
                self._take(cached, self.cache.origin)
                missing -= {response.request_key for response in cached}
            lacking = [request for request in chunk if request.key in missing]
            for request in lacking if self.shorter_run is None else self._not_in(self.shorter_run, lacking):
                if waiting is not None:
                    waiting[request.key] = request
                yield request


def ask_batch(model: Model, kind: Kind, requests: Sequence[Request]) -> Iterator[Response]:
    """Ask ``model``; yield one checked response for each of ``requests``, in the order the model gives them.

    An answer of the wrong shape, and one that never comes, become failed items. Raises ModelError for answers to
    unknown requests and second answers: then no answer of this model can be trusted.
    """
    with closing(model.score(requests) if kind == "score" else model.generate(requests)) as stream:
        yield from checked(model, {request.key: request for request in requests}, stream)


def checked(
    model: Model, waiting: dict[str, Request], responses: Iterable[Response], rest: Iterable[Request] = ()
) -> Iterator[Response]:
    """Yield ``responses``, which ``model`` gave to the requests ``waiting`` (by key), as :func:`ask_batch` does.

    ``rest``: where the requests come from; what the model did not take puts itself into ``waiting``.
    """
    for response in responses:
        request = waiting.get(response.request_key)
        if request is None:
            waiting.clear()  # nothing that comes now is trusted
            what = "answered a request that was not asked, or answered one twice"
            raise ModelError(f"{model.id} {what} ({response.request_key!r}).", hint=_BACKEND_BUG)
        error = flaw(response, request) or response.error
        # Nothing of an error but its words is kept.
        yield response if error is None else replace(response, text=None, logprobs=None, error=error)
        # An answer that was yielded but not yet taken still counts as waited for.
        waiting.pop(response.request_key, None)
    for _ in rest:
        pass
    if waiting:
        log.warning("%s returned no answer to %d requests.", model.id, len(waiting))
    for key in waiting:
        yield Response(key, error=NO_ANSWER)


def checked_plan(model: Model, requests: Sequence[Request]) -> list[list[int]]:
    """Return ``model.plan(requests)``; raise ModelError unless it holds every index exactly once."""
    plan = [batch for batch in model.plan(requests) if batch]
    if sorted(itertools.chain.from_iterable(plan)) != list(range(len(requests))):
        raise ModelError(f"{model.id} planned batches that do not hold every request exactly once.", hint=_BACKEND_BUG)
    return plan


class Committer:
    """Commits answers in groups, none later than :data:`INTERVAL` after it came, even while the model is silent.

    An answer that comes after a quiet time is committed at once. ``close`` commits the rest, whatever ended the asking.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._lock = threading.Lock()
        self._waiting: list[Response] = []
        self._durable: list[Response] = []
        self._failure: BaseException | None = None
        self._last = float("-inf")
        self._stop = threading.Event()
        self._clock = threading.Thread(target=self._tick, name="kapwa-journal", daemon=True)
        self._clock.start()

    def add(self, *responses: Response) -> None:
        """Take answers, all of them or none; raise what the last commit raised, if it failed."""
        if self._failure is not None:
            raise self._failure
        with self._lock:
            self._waiting += responses
            late = len(self._waiting) >= GROUP or time.monotonic() - self._last >= INTERVAL
            # A limit ends the asking at once, also where a server gives hundreds of answers between two commits.
            if self._execution.reaches_limit_with(responses) or late:
                self._commit()
            durable, self._durable = self._durable, []
        if durable:  # counted here, in the thread of the run
            self._execution.counted(durable)

    def close(self) -> None:
        """Commit what came, trying again where that failed, and end the clock."""
        self._stop.set()
        self._clock.join()
        self._failure = None
        self._last = float("-inf")
        self.add()

    def _commit(self) -> None:
        if not self._waiting:
            return
        asking = self._execution
        asking.store.commit(self._waiting, {"environment": dict(asking.model.environment)})
        asking.store.learn(asking.model.learnt)
        if asking.cache is not None:
            asking.cache.add(self._waiting)
        self._durable += self._waiting
        self._waiting = []
        self._last = time.monotonic()

    def _tick(self) -> None:
        while not self._stop.wait(INTERVAL):
            try:
                with self._lock:
                    self._commit()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that asks
                self._failure = error
                return
