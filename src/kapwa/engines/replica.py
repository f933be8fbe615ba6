"""One copy of a model in a process of its own. This is what runs on the workers; it knows nothing of Ray."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from kapwa.engines.guarded import Told
from kapwa.errors import KapwaError, ModelError
from kapwa.models.base import Model
from kapwa.models.circumstances import processor
from kapwa.records import Capability, Kind, Request, Response

THREADS = "OMP_NUM_THREADS"
# Answers go back together: rarely enough to cost little, often enough that a dead worker takes little with it.
_GROUP = 200
_INTERVAL = 0.2

Guard = Callable[[Sequence[Response]], list[Response]]


class Recipe(NamedTuple):
    """How a replica comes to its model. ``open_model(*arguments)`` loads it; both are pickled, by name and by value.

    ``guard`` hides in answers what the worker knows and nobody else should. ``environment``: variables the model needs,
    such as keys; they travel as an argument of a call, which Ray writes down nowhere. ``threads``: as the variable
    ``OMP_NUM_THREADS`` has it; None leaves the number to the libraries, as without Ray. ``folder``: where relative
    paths begin, on machines that have it.
    """

    open_model: Callable[..., Model]
    arguments: tuple[Any, ...]
    guard: Guard
    environment: Mapping[str, str]
    threads: str | None
    folder: str

    def __repr__(self) -> str:
        """Tell what is opened, and no variable."""
        return f"Recipe({getattr(self.open_model, '__name__', '?')}, {self.threads})"


class Facts(NamedTuple):
    """What a model says of itself, and where it said so."""

    id: str
    revision: str
    capabilities: frozenset[Capability]
    atomic_batches: bool
    fingerprint: dict[str, Any]
    description: dict[str, Any]
    kapwa: str
    processor: str


class Replica:
    """A model, loaded when told to. Errors of ours come back as values; see :class:`kapwa.engines.guarded.Told`."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._guard: Guard = list

    def here(self) -> int:
        """Return the process's number: it is there."""
        return os.getpid()

    def load(self, recipe: Recipe) -> Facts | Told:
        """Load the model, once; a process that was restarted is told again."""
        if self._model is None:
            os.environ.update(recipe.environment)
            _set_threads(recipe.threads)
            if Path(recipe.folder).is_dir():
                os.chdir(recipe.folder)
            self._guard = recipe.guard
            try:
                self._model = recipe.open_model(*recipe.arguments)
            except KapwaError as error:
                return Told.of(error)
        return self.facts()

    def facts(self) -> Facts | Told:
        """Return what the model says of itself now; some say more after they were asked."""
        try:
            model = self._loaded()
            return Facts(
                model.id,
                model.revision,
                model.capabilities,
                model.atomic_batches,
                dict(model.fingerprint),
                dict(model.description),
                version("kapwa"),
                processor(),
            )
        except KapwaError as error:
            return Told.of(error)

    def plan(self, requests: Sequence[Request]) -> tuple[list[list[int]], Facts | Told] | Told:
        """Return the model's plan, and what it says of itself after planning."""
        try:
            return self._loaded().plan(requests), self.facts()
        except KapwaError as error:
            return Told.of(error)

    def answer(self, kind: Kind, batch: Sequence[Request]) -> list[Response] | Told:
        """Return all answers to ``batch``."""
        try:
            return self._guard(list(self._asked(kind, batch)))
        except KapwaError as error:
            return Told.of(error)

    def stream(self, kind: Kind, batch: Sequence[Request]) -> Iterator[list[Response] | Told]:
        """Yield the answers to ``batch`` as they come, a few at a time, none much later than it came.

        What came before an error goes first.
        """
        coming: SimpleQueue[Response | BaseException | None] = SimpleQueue()
        reader = threading.Thread(target=self._read, args=(kind, batch, coming), name="kapwa-answers", daemon=True)
        reader.start()
        while True:
            held, over, end = _some(coming)
            if held:
                yield self._guard(held)
            if over:
                break
        if isinstance(end, KapwaError):
            yield Told.of(end)
        elif end is not None:
            raise end

    def _read(self, kind: Kind, batch: Sequence[Request], coming: SimpleQueue[Response | BaseException | None]) -> None:
        try:
            for response in self._asked(kind, batch):
                coming.put(response)
            coming.put(None)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that yields
            coming.put(error)

    def _asked(self, kind: Kind, batch: Sequence[Request]) -> Iterator[Response]:
        model = self._loaded()
        return model.score(batch) if kind == "score" else model.generate(batch)

    def _loaded(self) -> Model:
        if self._model is None:
            # Restarted between two calls: the caller treats it as the death it is.
            raise NotLoadedError("This replica's process was restarted and has not loaded its model yet.")
        return self._model


def _some(coming: SimpleQueue[Response | BaseException | None]) -> tuple[list[Response], bool, BaseException | None]:
    """Wait for a response; return it with those that come shortly after, whether all came, and what ended them."""
    held: list[Response] = []
    until = None
    while len(held) < _GROUP:
        try:
            found = coming.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
        except Empty:
            break
        if not isinstance(found, Response):
            return held, True, found
        held.append(found)
        until = until or time.monotonic() + _INTERVAL
    return held, False, None


class NotLoadedError(ModelError):
    """A replica was asked after a restart, before it was loaded again."""


def _set_threads(threads: str | None) -> None:
    """Undo what Ray sets: it gives libraries as many threads as the worker reserved processors."""
    if threads is None:
        os.environ.pop(THREADS, None)
    else:
        os.environ[THREADS] = threads
    torch = sys.modules.get("torch")
    if torch is not None and threads is not None:
        torch.set_num_threads(int(threads))
