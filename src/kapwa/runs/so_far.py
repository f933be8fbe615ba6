"""What a run's first headline metric is so far: judged while the model is asked, from the answers that have come.

Nothing of it enters the run: at the end all answers are judged together, as if nobody had looked.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from kapwa.records import Answer, Item, Request
from kapwa.runs.requests import RequestIndex
from kapwa.runs.store import AnswerStore
from kapwa.stats.intervals import Estimate, mean_estimates
from kapwa.stats.pooled import pooled_mean
from kapwa.suites.base import Task, holds_shares, is_share

log = logging.getLogger(__name__)

# Of more items, so many are drawn, and judged as their answers come.
WATCHED = 2000
# The part of a run's time that judging may take.
SHARE = 0.01
_FIRST_ITEMS = 2


@dataclass
class RunningMean:
    """The mean of ``task``'s first headline metric over items that were answered, in the variant of the headlines.

    Over several cultures each counts alike, as on the board; the interval is the same, too. ``fingerprint``: of the
    model. Which items are answered first is no accident (a local model begins with long ones), so the mean may move
    by more than its interval.
    """

    task: Task
    items: Sequence[Item]
    fingerprint: Mapping[str, Any]
    store: AnswerStore
    _waiting: list[tuple[Item, list[Request]]] | None = None
    _scores: list[pl.DataFrame] = field(default_factory=list)
    _most: int = _FIRST_ITEMS
    _next: float | None = None  # seconds that the next look may take; None before the first
    _spent: float = 0.0
    _words: str = ""

    def look(self, seconds: float) -> str:
        """Judge some more, and say the mean: "mc1 24% (10–46%) on 30 items so far"; "" where nothing is known.

        ``seconds`` since the asking began: judging takes a hundredth of them. What needs a model to judge is left out.
        """
        if self._spent + (self._next or 0.0) > SHARE * seconds:
            return self._words
        began = time.perf_counter()
        try:
            if self._judge():
                self._words = self._mean_in_words()
        except Exception as error:  # noqa: BLE001 - whatever a suite makes of a few answers, the run goes on
            log.warning("%s: no mean is shown while the model is asked (%s).", self.task.name, error)
            self._waiting = []
        took = time.perf_counter() - began
        self._most *= 2
        if self._next is None:
            # Most of the first look loads what the end of the run needs, too: that is not counted.
            self._next = took / 10
        else:
            self._spent, self._next = self._spent + took, 2 * took
        return self._words

    def _judge(self) -> bool:
        """Judge items whose every answer is there; return whether there were any."""
        if self._waiting is None:
            self._waiting = self._watched()
        keys = [request.key for _, requests in self._waiting for request in requests]
        missing = set(self.store.missing(keys))
        ready = [pair for pair in self._waiting if all(request.key not in missing for request in pair[1])][: self._most]
        if not ready:
            return False
        judged = {id(item) for item, _ in ready}
        self._waiting = [pair for pair in self._waiting if id(pair[0]) not in judged]
        asked = [request for _, requests in ready for request in requests]
        answers = list(map(Answer, asked, self.store.read(request.key for request in asked)))
        scores = self.task.score([item for item, _ in ready], answers).scores
        self._scores.append(scores.filter(pl.col("value").is_not_null(), metric=self.task.headline[0]))
        return True

    def _watched(self) -> list[tuple[Item, list[Request]]]:
        """The items to judge, each with its requests."""
        if not self.task.headline or any(info.judged_by == "model" for info in self.task.metrics.values()):
            return []
        main = (self.task.selection.variants or (self.items[0].variant,))[0]
        items = [item for item in self.items if item.variant == main]
        items = random.Random(0).sample(items, WATCHED) if len(items) > WATCHED else items  # noqa: S311 - no secret
        requests: dict[str, list[Request]] = {item.id: [] for item in items}
        for request in RequestIndex(self.task, items, self.fingerprint) if items else ():
            requests[request.item_id].append(request)
        return [(item, requests[item.id]) for item in items if requests[item.id]]

    def _mean_in_words(self) -> str:
        values = pl.concat(self._scores).group_by("culture", "item_id", maintain_order=True)
        frame = values.agg(pl.col("value").mean(), pl.col("cluster").first())
        if not frame.height:
            return ""
        name = self.task.headline[0]
        info = asdict(self.task.metrics[name])
        value, _, low, high, n, *_ = _estimate(frame, binary=holds_shares(info, frame["value"]))
        if value is None:
            return ""
        factor, unit, form = (100, "%", ".0f") if is_share(info) else (1, "", ".3g")
        between = "" if low is None or high is None else f" ({factor * low:{form}}–{factor * high:{form}}{unit})"
        return f"{name} {factor * value:{form}}{unit}{between} on {n:,} item{'s' if n > 1 else ''} so far"


def _estimate(frame: pl.DataFrame, *, binary: bool) -> Estimate:
    values, clusters = frame["value"].to_numpy(), frame["cluster"].to_list()
    if frame["culture"].n_unique() > 1:
        return pooled_mean(values, frame["culture"].to_list(), clusters, binary=binary)
    return mean_estimates(values, clusters, binary=binary)[0]
