"""Judges replies while they come, to show a run's first headline metric so far on the progress line.

Nothing of it is stored: at the end all answers are judged together, as if none had been judged before.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from kapwa.records import Answer, Item, Request
from kapwa.runs.requests import RequestIndex, requests_of
from kapwa.runs.store import AnswerStore
from kapwa.stats.missing import cut_at_range
from kapwa.stats.pooled import mean_of_items
from kapwa.suites.base import Task, holds_shares, is_share

log = logging.getLogger(__name__)

# Of more items, so many are drawn, and judged as their answers come.
SAMPLED_ITEMS = 2000
# The part of a run's time that judging may take.
SHARE = 0.01
_FIRST_ITEMS = 2


@dataclass
class LiveScore:
    """The mean so far of ``task``'s first headline metric over answered items, in the variant of the headlines.

    Over several cultures each counts alike, as on the board; the interval is the same, too. ``requests``: of the run.
    Which items are answered first is no accident (a local model begins with long ones), so the mean may move by more
    than its interval.
    """

    task: Task
    items: Sequence[Item]
    requests: RequestIndex
    store: AnswerStore
    _waiting: list[tuple[Item, list[Request]]] | None = None
    _scores: list[pl.DataFrame] = field(default_factory=list)
    _rounds: int = 0
    _seconds_per_item: float | None = None  # to judge one; None until it was measured
    _seconds_spent: float = 0.0
    _words: str = ""

    def update(self, seconds: float) -> str:
        """Judge some more, and say the mean: "mc1 24% (10–46%) on 30 items so far"; "" where nothing is known.

        ``seconds`` since the asking began: judging takes a hundredth of them. What needs a model to judge is left out.
        """
        changed = False
        try:
            while most := self._affordable(SHARE * seconds - self._seconds_spent):
                if not self._judge(most):
                    break
                changed = True
            if changed:
                self._words = self._mean_in_words()
        except Exception as error:  # noqa: BLE001 - whatever a suite makes of a few answers, the run goes on
            log.warning("%s: no mean is shown while the model is asked (%s).", self.task.name, error)
            self._waiting = []
        return self._words

    def _affordable(self, seconds: float) -> int:
        """How many items may be judged in ``seconds``; the first few, which tell what one takes, in any case."""
        if self._seconds_per_item is None:
            return _FIRST_ITEMS if not self._rounds or seconds > 0 else 0
        if seconds <= 0:
            return 0
        n = int(seconds / self._seconds_per_item) if self._seconds_per_item else SAMPLED_ITEMS
        return n if n >= _FIRST_ITEMS else 0

    def _judge(self, most: int) -> bool:
        """Judge at most so many items whose every answer is there; return whether there were any."""
        began = time.perf_counter()
        if self._waiting is None:
            self._waiting = self._sample_of_items()
        keys = [request.key for _, requests in self._waiting for request in requests]
        missing = set(self.store.missing(keys))
        ready = [pair for pair in self._waiting if all(request.key not in missing for request in pair[1])][:most]
        if not ready:
            return False
        judged = {id(item) for item, _ in ready}
        self._waiting = [pair for pair in self._waiting if id(pair[0]) not in judged]
        requests_ready = [request for _, requests in ready for request in requests]
        answers = list(map(Answer, requests_ready, self.store.read_gated(request.key for request in requests_ready)))
        scores = self.task.judge([item for item, _ in ready], answers).scores
        self._scores.append(scores.filter(pl.col("value").is_not_null(), metric=self.task.headline[0]))
        took = time.perf_counter() - began
        self._rounds += 1
        if self._rounds > 1:  # most of the first loads what the end of the run needs, too: that is not counted
            self._seconds_spent += took
            self._seconds_per_item = took / len(ready)
        return True

    def _sample_of_items(self) -> list[tuple[Item, list[Request]]]:
        """The items to judge, each with its requests."""
        if not self.task.headline or any(info.judged_by == "model" for info in self.task.metrics.values()):
            return []
        main = (self.task.selection.variants or (self.items[0].variant,))[0]
        items = [item for item in self.items if item.variant == main]
        items = random.Random(0).sample(items, SAMPLED_ITEMS) if len(items) > SAMPLED_ITEMS else items  # noqa: S311 - no secret
        by_item: dict[str, list[Request]] = {item.id: [] for item in items}
        requests = self.requests
        if not requests.in_memory and items:
            requests = requests_of(self.task, items, requests.fingerprint)
        for request in requests:
            if request.variant == main and request.item_id in by_item:
                by_item[request.item_id].append(request)
        return [(item, by_item[item.id]) for item in items if by_item[item.id]]

    def _mean_in_words(self) -> str:
        values = pl.concat(self._scores).group_by("culture", "item_id", maintain_order=True)
        frame = values.agg(pl.col("value").mean(), pl.col("cluster").first())
        if not frame.height:
            return ""
        name = self.task.headline[0]
        info = self.task.metrics[name]
        labels = frame["culture"].to_list(), frame["cluster"].to_list()
        estimate = mean_of_items(frame["value"].to_numpy(), *labels, share=holds_shares(info, frame["value"]))
        if estimate.value is None:
            return ""
        cut = cut_at_range(estimate._asdict(), (info.low, info.high))
        value, low, high, n = cut["value"], cut["low"], cut["high"], estimate.n
        factor, unit, form = (100, "%", ".0f") if is_share(info) else (1, "", ".3g")
        between = "" if low is None or high is None else f" ({factor * low:{form}}–{factor * high:{form}}{unit})"
        return f"{name} {factor * value:{form}}{unit}{between} on {n:,} item{'s' if n > 1 else ''} so far"
