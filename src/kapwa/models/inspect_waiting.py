"""Say once that a provider gives no answer while its calls are made again, which takes minutes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspect_ai.model import Model

log = logging.getLogger(__name__)

PATIENCE: Final = 15.0  # seconds


class Waiting:
    """Watches the calls of ``model``, on the event loop that makes them.

    ``told`` words an error. ``retries``: how often a call is made again; None: without end.
    """

    def __init__(self, model: Model, name: str, retries: int | None, told: Callable[[BaseException], str]) -> None:
        self._name, self._retries, self._told = name, retries, told
        self._open = 0
        self._last: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._said = False
        decide = model.should_retry

        def should_retry(error: BaseException) -> bool:
            again = decide(error)
            if again:
                self._failed(error)
            return again

        # Inspect asks this after each failed call, and tells nobody else of one that it makes again.
        model.should_retry = should_retry  # type: ignore[method-assign, assignment]

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call as open; once none is, nobody waits."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._stop()

    def answered(self) -> None:
        """Take note of an answer: whoever fails now fails alone."""
        self._stop()
        self._said = False

    def _failed(self, error: BaseException) -> None:
        self._last = error
        if self._timer is None and not self._said:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._say)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._last = None

    def _say(self) -> None:
        self._said, self._timer = True, None
        last = "" if self._last is None else f" The last call: {self._told(self._last)}."
        often = "without end" if self._retries is None else f"{self._retries + 1} times for each question"
        log.warning(
            "inspect:%s has given no answer for %.0f seconds.%s Asking goes on, %s and ever more slowly; "
            "to give up sooner: --extra max_retries=2",
            self._name,
            PATIENCE,
            last,
            often,
        )
