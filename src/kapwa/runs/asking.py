"""The one way to ask a model: of runs, of judges, and of whoever else needs answers that are not lost.

What a store holds is not asked again, each answer is durable before it counts, and all answers come back through the
gate, each with its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.errors import KapwaError, ModelError
from kapwa.models.base import Model, is_recording
from kapwa.records import Kind, Request, Response
from kapwa.runs.cache import AnswerCache
from kapwa.runs.execute import KINDS, Execution
from kapwa.runs.progress import Meter, silent
from kapwa.runs.requests import AnswerReader, RequestIndex
from kapwa.runs.result_folder import run_lock
from kapwa.runs.stopping import LimitReachedError, Limits, Stopping, in_random_order
from kapwa.runs.store import AnswerStore

if TYPE_CHECKING:
    from kapwa.runs.looks import Looks
    from kapwa.runs.shorter_thinking import ShorterThinkingRun

_RESUME = "Run again with the same command to resume."


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, after everything that came was made durable; ``str()`` says how to go on.

    A KeyboardInterrupt still: what treats one rightly treats this rightly.
    """


def ask(
    requests: RequestIndex,
    model: Model,
    store: AnswerStore,
    *,
    meter: Meter | None = None,
    cache: AnswerCache | None = None,
    limits: Limits | None = None,
    looks: Looks | None = None,
    shorter_run: ShorterThinkingRun | None = None,
) -> AnswerReader:
    """Ask ``model`` those of ``requests`` that ``store`` holds no answer to; return every request with its answer.

    ``meter``: counts and shows how far the asking is. ``cache``: answers that runs share. ``limits``: when it ends
    early; where they are of tokens or money, questions are asked in an order drawn at random, and what was not asked
    comes back in that state, with the reason in ``ended``. ``looks``: hands out the requests in blocks, and ends
    the asking once enough is known. ``shorter_run``: answers of a run whose thoughts had less room, which are taken or
    continued. Requests that fail come back as failed, and are asked
    again by the next call. Raises ModelError where the model fails as a whole; what came before stays in the store.
    """
    meter = meter or Meter(silent, model.id, requests.distinct_total)
    stopping = None
    if limits is not None:
        must_count = limits.spending and not is_recording(model.fingerprint)
        stopping = Stopping(limits, store.spent(), must_count=must_count)
    execution = Execution(model, store, meter, cache, stopping, shorter_run)
    # Where batches are planned, the plan says what is asked again, and counts.
    if not model.atomic_batches and (n_answered := _answered(requests, store)):
        meter.add(n_answered, stored=n_answered)
    try:
        if stopping is not None and meter.state.stored < requests.distinct_total:
            stopping.check_limits()
        if looks is not None:
            for blocks in looks.rounds(requests.fingerprint):
                for kind in KINDS:
                    if kind in requests.kinds:  # a model may be unable to do the other
                        execution.execute(kind, *_unlike(blocks, kind))
            return AnswerReader(requests, store, looks.reason)
        for kind in KINDS:
            if kind in requests.kinds:
                pending: Iterable[Request] = requests.distinct(kind)
                if limits is not None and limits.spending and not model.atomic_batches:
                    pending = in_random_order(pending, limits.seed)
                execution.execute(kind, pending)
    except LimitReachedError as reached:
        counts = store.counts()
        if counts.answered + counts.failed < requests.distinct_total:
            return AnswerReader(requests, store, str(reached))
    return AnswerReader(requests, store)


def _unlike(blocks: Sequence[RequestIndex], kind: Kind) -> list[list[Request]]:
    """Return the requests of each block that are of ``kind``; what two blocks ask alike is in the first of them."""
    known: set[str] = set()
    unlike = []
    for block in blocks:
        unlike.append([request for request in block.distinct(kind) if request.key not in known])
        known |= {request.key for request in unlike[-1]}
    return unlike


def _answered(requests: RequestIndex, store: AnswerStore) -> int:
    """Count the requests that a store answers already."""
    if store.identity == requests.identity:  # it holds no other answers
        return store.counts().answered
    return requests.distinct_total - sum(1 for _ in store.missing(request.key for request in requests.distinct()))


@contextmanager
def locked_store(folder: Path, name: str, identity: str | None = None) -> Iterator[AnswerStore]:
    """Hold ``folder``, and open or make the file ``name`` of answers in it.

    Whatever ends the asking early says that these are kept, and how to resume. ``identity``: of the run whose answers
    these are; None: of any. Raises RunError where another process holds the folder, and for a file that is damaged or
    another run's.
    """
    with run_lock(folder), AnswerStore(folder / name, identity=identity) as store, _resumable(store, folder):
        yield store


@contextmanager
def _resumable(store: AnswerStore, folder: Path) -> Iterator[None]:
    """Say, whatever ends the asking early, that its answers are kept and how to go on."""

    def kept_words() -> str:
        n = store.counts().answered
        return f"{n} answer{'' if n == 1 else 's'} {'is' if n == 1 else 'are'} kept in {folder}. {_RESUME}"

    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(f"Stopped. {kept_words()}") from None
    except ModelError as error:
        error.hint = " ".join(filter(None, [error.hint, kept_words()]))
        raise
    except KapwaError:
        raise
    except Exception as error:
        error.add_note(kept_words())
        raise


class StoredModel:
    """A model whose answers are kept in the file ``path`` (None: in memory), such as a judge."""

    def __init__(self, model: Model, path: Path | None = None) -> None:
        """Open or make the file; raise RunError where it cannot be used."""
        self._model, self.id, self.revision = model, model.id, model.revision
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._store = AnswerStore(path)

    def answer(self, requests: Iterable[Request]) -> list[Response]:
        """Return the answers to ``requests`` (to be generated, not bound to keys yet), in their order.

        Raises ModelError when an answer fails; what came is kept.
        """
        listed = list(requests)
        answers = ask(RequestIndex(lambda: listed, self._model.fingerprint), self._model, self._store)
        responses = [response for _, response in answers]
        failed = next((response for response in responses if response.state == "failed"), None)
        if failed is not None:
            hint = "Run again: answers so far are kept and not asked for again."
            raise ModelError(f"{self.id} did not answer: {failed.reason}", hint=hint)
        return responses

    def close(self) -> None:
        """Close the file; the model is its owner's to close."""
        self._store.close()
