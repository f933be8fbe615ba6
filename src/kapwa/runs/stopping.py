"""When a run ends before everything was asked: where going on is senseless, or where it was told to spend no more."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kapwa.errors import ModelError, UsageError
from kapwa.records import Request, Response
from kapwa.runs.costs import Prices, Spent

MAX_FAILED = 50
# What differs in messages of one kind: numbers, such as of tokens, what is quoted, and how often was tried.
_VARYING = re.compile(r" \(after \d+ attempts\)|\d+|'[^']*'|\"[^\"]*\"")

T = TypeVar("T")


class LimitReachedError(Exception):
    """The run has spent what it may; the text says what was reached. It ends in good order, and may be resumed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run ends early.

    ``max_failed``: with an error where so many requests failed, for one reason, before any was answered; 0: never.
    ``max_tokens``, ``max_cost``: in good order once so many tokens were read and written, or so much was spent at
    ``prices``; then questions are asked in an order drawn from ``seed``. Raises UsageError for limits that make no
    sense.
    """

    max_failed: int = MAX_FAILED
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_failed", "max_tokens", "max_cost"):
            if (getattr(self, name) or 0) < 0:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least 0.")
        if self.max_cost is not None and self.prices is None:
            hint = "Say what a million tokens cost: --price-in, --price-out, or --prices FILE."
            raise UsageError("A limit of the cost needs prices.", hint=hint)

    @property
    def spending(self) -> bool:
        """Whether the run may end before everything was asked; then it asks in a random order."""
        return self.max_tokens is not None or self.max_cost is not None


@dataclass(slots=True)
class Stopping:
    """Watches what a process of a run gets and spends; ``spent``: by earlier processes of the run, too.

    ``must_count``: whether a limit needs the tokens of each answer. ``stopped``: whether it has ended the asking.
    """

    limits: Limits = field(default_factory=Limits)
    spent: Spent = field(default_factory=Spent)
    must_count: bool = False
    stopped: bool = False
    _watching: bool = True
    _failed: int = 0
    _reason: str | None = None
    _spent_with_uncommitted: Spent | None = None

    def seen(self, responses: Sequence[Response]) -> None:
        """Take note of responses that were just committed; raise ModelError or LimitReachedError where all ends.

        It raises once: what still comes while the asking ends is kept like any answer.
        """
        self.spent = self.spent.plus(responses)
        if not self.stopped:
            self._check_failures(responses)
            self.check_limits()

    def check_limits(self) -> None:
        """Raise LimitReachedError where what was spent has reached a limit, ModelError where nobody knows."""
        if self.must_count and self.spent.uncounted:
            self.stopped = True
            limit = "--max-tokens" if self.limits.max_tokens is not None else "--max-cost"
            message = f"The model does not tell how many tokens its answers took, so {limit} cannot be kept."
            raise ModelError(message, hint=f"Leave out {limit}, or ask fewer items: --limit.")
        reached = self._limit_reached(self.spent)
        if reached:
            self.stopped = True
            raise LimitReachedError(reached)

    def reaches_limit_with(self, responses: Sequence[Response]) -> bool:
        """Take note of responses that are not committed yet; return whether a limit is reached with all that came."""
        if not self.limits.spending:
            return False
        self._spent_with_uncommitted = (self._spent_with_uncommitted or self.spent).plus(responses)
        return bool(self._limit_reached(self._spent_with_uncommitted))

    def _limit_reached(self, spent: Spent) -> str:
        """Say which limit ``spent`` has reached; "" where it has reached none."""
        limits, tokens = self.limits, spent.read + spent.written
        if limits.max_tokens is not None and tokens >= limits.max_tokens:
            return f"{tokens:,} tokens were read and written (--max-tokens {limits.max_tokens})"
        cost = limits.prices.cost(spent) if limits.prices is not None else 0.0
        if limits.max_cost is not None and cost >= limits.max_cost:
            return f"{cost:,.4g} was spent (--max-cost {limits.max_cost:g})"
        return ""

    def _check_failures(self, responses: Sequence[Response]) -> None:
        most = self.limits.max_failed
        if not most or not self._watching:
            return
        for response in responses:
            reason = None if response.error is None else _VARYING.sub("", response.error)
            if reason is None or reason != (self._reason or reason):
                self._watching = False  # something was answered, or failed for another reason: all is asked
                return
            self._reason, self._failed = reason, self._failed + 1
            if self._failed >= most:
                self.stopped = True
                raise ModelError(
                    f"The first {self._failed} requests all failed: {response.error}.".replace("..", "."),
                    hint="Set this right first; to ask everything all the same: --max-failed 0.",
                )


def in_random_order(requests: Iterable[Request], seed: int) -> list[Request]:
    """Return requests with their items in an order drawn from ``seed``; those of one item stay side by side."""
    by_item: dict[str, list[Request]] = {}
    for request in requests:
        by_item.setdefault(request.item_id, []).append(request)
    return [request for item in shuffled(list(by_item), seed) for request in by_item[item]]


def shuffled(members: Sequence[T], seed: int) -> list[T]:
    """Return ``members`` in an order drawn from ``seed``."""
    return random.Random(seed).sample(members, len(members))  # noqa: S311 - no secret
