"""Looks at a run while it is asked: what its score on all of its items is by now, and whether that is enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from kapwa.errors import UsageError, check_known
from kapwa.records import Item
from kapwa.runs.finished_run import Run
from kapwa.runs.requests import AnswerReader, RequestIndex, requests_of
from kapwa.runs.schema import LOOK_SCHEMA
from kapwa.runs.settings import BegunRun, RunSettings
from kapwa.runs.store import AnswerStore
from kapwa.runs.until import BlockOrder, Layout, Until, layouts
from kapwa.stats.clusters import FloatArray, none_if_nan
from kapwa.stats.missing import item_bounds, ranges_of, with_bounds
from kapwa.stats.sequential import DECISION_ERROR, Partial, decision_half, mean_of_partials, partial_means
from kapwa.suites.base import MetricInfo, Task, is_share
from kapwa.value_types import Cells, JsonObject, Row

Decision = Literal["no regression", "regression"]
TABLE = "looks"
# Columns of what a look estimates: as measured, and with every missing answer at its least and at its most.
_CASES = ("value", "least", "most")


class Seen(NamedTuple):
    """What a look finds: a mean over all items with its interval, in which what is missing has its least and its most.

    ``half``: the half width that stopping goes by, NaN where nothing was measured. ``difference`` and its ends: against
    an earlier run, at all looks at once; None without one.
    """

    value: float
    low: float
    high: float
    half: float
    variance_left: float
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    decision: Decision | None = None


@dataclass
class CultureLooks:
    """One culture's looks so far.

    ``control``: what an earlier run scored on each item of the layout; ``parts``: the estimates of the last look, a
    column for each of ``value``, ``least`` and ``most``; ``looks``: how many blocks were asked; ``enough``: its own
    score is known well enough.
    """

    layout: Layout
    control: FloatArray | None = None
    looks: int = 0
    enough: bool = False
    scores: list[pl.DataFrame] = field(default_factory=list)
    parts: Partial | None = None
    items: int = 0
    missing: int = 0
    old: float = math.nan

    @property
    def whole(self) -> bool:
        """Whether all of it was asked."""
        return self.looks >= len(self.layout.blocks)

    @property
    def next_items(self) -> Sequence[Item]:
        """The items of the next block."""
        return self.layout.blocks[self.looks]


class Looks:
    """Hands out the blocks of a run and looks at the answers.

    ``reason``: why the asking ended before everything was asked; None where it did not. ``taken``: looks so far.
    ``variant``, ``metric``, ``share``: what is looked at, and whether it lies between 0 and 1.
    """

    def __init__(
        self, task: Task, items: Sequence[Item], store: AnswerStore, order: BlockOrder, until: Until | None
    ) -> None:
        """``until`` None: everything is asked, in the same blocks, and nothing is looked at.

        Raises UsageError where the task has no score that its answers give by themselves, or where an earlier run is of
        other questions.
        """
        self.reason: str | None = None
        self._task, self._store, self._order, self._until = task, store, order, until
        self.variant = (task.selection.variants or (items[0].variant,))[0]
        self.cultures = [CultureLooks(layout) for layout in layouts(items, self.variant, order)]
        self._records: list[Cells] = []
        self.taken = 0
        if until is None:
            return
        self.metric = watched_metric(task)
        self._info = task.metrics[self.metric]
        self.share = self._info.binary or is_share(self._info)
        if (earlier := until.decided or until.control) is not None:
            self._compare_with(earlier, whole=until.decided is not None)

    def rounds(self, fingerprint: Mapping[str, object]) -> Iterator[list[RequestIndex]]:
        """Yield the requests to ask next, a block of each culture that goes on; then look at the answers."""
        while going := [culture for culture in self.cultures if not (culture.whole or culture.enough)]:
            blocks = [requests_of(self._task, culture.next_items, fingerprint) for culture in going]
            yield blocks
            for culture, block in zip(going, blocks, strict=True):
                items = culture.next_items
                culture.looks += 1
                if self._until is not None:
                    self._judge(culture, items, block)
            if self._until is not None and self._look(going, self._until):
                return

    def scores_of(self, items: Sequence[Item], block: RequestIndex) -> pl.DataFrame:
        """Return the rows of scores of the answers to a block, of the metric and variant that are looked at."""
        scores = self._task.judge(items, AnswerReader(block, self._store)).scores
        return scores.filter(metric=self.metric, variant=self.variant)

    # --- a look ----------------------------------------------------------------------------------------------------

    def _judge(self, culture: CultureLooks, items: Sequence[Item], block: RequestIndex) -> None:
        """Judge the answers to a block, and estimate its culture's mean over all items from all that was asked."""
        if not culture.layout.ids:  # no item of the variant that is looked at
            return
        culture.scores.append(self.scores_of(items, block))
        layout, ranges = culture.layout, ranges_of({self.metric: self._info})
        rows = with_bounds(pl.concat(culture.scores), {self.metric: self.share}, ranges)
        measured = {row["item_id"]: row for row in item_bounds(rows, ["item_id"]).iter_rows(named=True)}
        reached = layout.codes < layout.points[min(culture.looks, len(layout.points)) - 1]
        # An item that was asked and of which this metric cannot be told is no part of the whole.
        usable = np.array([name in measured or not done for name, done in zip(layout.ids, reached, strict=True)])
        if culture.control is not None and self._until is not None and self._until.decided is not None:
            usable &= ~np.isnan(culture.control)
            culture.old = float(culture.control[usable].mean())
        nothing = dict.fromkeys(_CASES)
        cells = [[measured.get(name, nothing)[case] for case in _CASES] for name in layout.ids]
        values = np.array(cells, dtype=np.float64)[usable]
        codes = np.unique(layout.codes[usable], return_inverse=True)[1]
        control = None if culture.control is None else culture.control[usable]
        culture.parts = partial_means(values, codes, control, share=self.share)
        culture.items = int((reached & usable).sum())
        culture.missing = sum(int(row["missing"]) for row in measured.values())

    def _look(self, going: Sequence[CultureLooks], until: Until) -> bool:
        """Record what is known by now; return whether the run ends here."""
        self.taken += 1
        estimates = [culture.parts for culture in self.cultures if culture.parts is not None]
        several = len(estimates)
        mean = mean_of_partials(estimates, share=self.share, apart=until.each)
        old = float(np.mean([culture.old for culture in self.cultures if culture.parts is not None]))
        overall = self._seen(mean, old, DECISION_ERROR)
        for culture in going:
            if culture.parts is not None:
                seen = self._seen(culture.parts, culture.old, DECISION_ERROR / several)
                culture.enough = until.each and seen.half <= (until.width or 0.0)
                self._record(culture, seen)
        if several > 1:
            self._record(None, overall)
        if until.each:
            ends = all(culture.enough or culture.whole for culture in self.cultures)
        elif until.mean:
            ends = overall.half <= (until.width or 0.0)
        else:
            ends = overall.decision is not None
        if ends and not all(culture.whole for culture in self.cultures):
            self.reason = _reason(until, overall)
        return ends

    def _seen(self, partial: Partial, old: float, error: float) -> Seen:
        """Read the estimates of the three cases as one interval, and against what the earlier run scored."""
        low, high = float(partial.low[1]), float(partial.high[2])
        # Beyond the width of what was measured: from the middle of one worst case to that of the other.
        half = float(np.max(partial.half)) + float(partial.value[2] - partial.value[1]) / 2
        seen = Seen(float(partial.value[0]), low, high, half, float(partial.variance_left[0]))
        if math.isnan(old) or self._until is None or self._until.margin is None:
            return seen
        bound = decision_half(partial, error)
        ends = float(partial.value[1] - bound[1]) - old, float(partial.value[2] + bound[2]) - old
        least, most = ends if self._info.higher_is_better is not False else (-ends[1], -ends[0])
        decision: Decision | None = None
        if least >= -self._until.margin:
            decision = "no regression"
        elif most < -self._until.margin:
            decision = "regression"
        return seen._replace(
            difference=seen.value - old, difference_low=ends[0], difference_high=ends[1], decision=decision
        )

    def _record(self, culture: CultureLooks | None, seen: Seen) -> None:
        """Keep a look, of one culture or of the mean over all."""
        counted = self.cultures if culture is None else [culture]
        cells = seen._asdict()
        variance_left, _ = cells.pop("variance_left"), cells.pop("half")
        self._records.append(
            {
                "look": self.taken,
                "culture": None if culture is None else culture.layout.culture,
                "language": None if culture is None else culture.layout.language,
                "items": sum(one.items for one in counted),
                "items_of": sum(len(one.layout.ids) for one in counted),
                "missing": sum(one.missing for one in counted),
                **{name: none_if_nan(value) if isinstance(value, float) else value for name, value in cells.items()},
                "control_saves": None if variance_left >= 1 else 1 - variance_left,
            }
        )

    # --- what is told of them --------------------------------------------------------------------------------------

    @property
    def described(self) -> JsonObject:
        """What the run's manifest says: the order of asking, the rule, and the last look at each culture."""
        described: JsonObject = {"order": "random", "blocks": asdict(self._order)}
        if self._until is None:
            return described
        earlier = self._until.decided or self._until.control
        rule = {
            "rule": self._until.rule,
            "metric": self.metric,
            "control": None if earlier is None else earlier.name,
            "looks": self.taken,
            "stopped": self.reason is not None,
            "known": list(self._last.values()),
        }
        return described | {"until": rule}

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every look: a row for each culture that was asked before it, then one for the mean over cultures."""
        return {} if self._until is None else {TABLE: pl.DataFrame(self._records, schema=dict(LOOK_SCHEMA))}

    @property
    def notes(self) -> list[str]:
        """What a run that ended early is known to score on its items, in sentences."""
        return [] if self.reason is None else [known_sentence(self._last.values(), self._info)]

    @property
    def _last(self) -> dict[str | None, JsonObject]:
        """The last look at each culture, and at the mean (None)."""
        return {row["culture"]: row for row in self._records}

    # --- the earlier run -------------------------------------------------------------------------------------------

    def values_of(self, earlier: Run) -> dict[tuple[str, str], float | None]:
        """Return what an earlier run scored, by culture and item; raise UsageError where it is of other questions."""
        name, manifest = earlier.path, earlier.manifest
        if manifest["task"] != self._task.name:
            hint = "Name an earlier run of the same task."
            raise UsageError(f"{name} is a run of {manifest['task']}, not of {self._task.name}.", hint=hint)
        if manifest["data"]["digest"] != self._task.data.digest:
            hint = "Name an earlier run on the same data."
            raise UsageError(f"{name} was asked from other data than these.", hint=hint)
        check_known(self.metric, manifest["metrics"], f"{name} has no metric {self.metric!r}.")
        rows = earlier.scores.filter(metric=self.metric, variant=self.variant)
        means = rows.group_by("culture", "item_id").agg(pl.col("value").mean()).rows()
        return {(culture, item): value for culture, item, value in means}

    def _compare_with(self, folder: Path, *, whole: bool) -> None:
        """Take what an earlier run scored on the same items; ``whole``: it must have scored all of them."""
        earlier = Run(folder)
        values = self.values_of(earlier)
        if whole and not earlier.complete:
            hint = "Run its command again, without --until or a limit, until it is complete."
            raise UsageError(f"{earlier.path} is not complete: its score on all items is not known.", hint=hint)
        for culture in self.cultures:
            keys = [(culture.layout.culture, item) for item in culture.layout.ids]
            absent = sum(key not in values for key in keys)
            if (absent and whole) or absent == len(keys) > 0:
                hint = "Name an earlier run of the same items and variant."
                raise UsageError(
                    f"{earlier.path} was not asked {absent} of the {len(keys)} items of {culture.layout.culture} in "
                    f"the variant {self.variant}.",
                    hint=hint,
                )
            culture.control = np.array([values.get(key) for key in keys], dtype=np.float64)


def watched_metric(task: Task) -> str:
    """Return the metric whose score decides when a run ends: the first of the headline.

    Raises UsageError where there is none, or where answers have no score before people or another model judge them.
    """
    if not task.headline:
        raise UsageError(f"{task.name} has no score of single answers.", hint="Leave out --until.")
    metric = task.headline[0]
    if task.metrics[metric].judged_by in ("model", "verdicts"):
        hint = "Leave out --until; --limit N --subset random asks a part of the items."
        message = f"{metric} of {task.name} is known only once people or another model have judged the answers."
        raise UsageError(message, hint=hint)
    return metric


def _reason(until: Until, overall: Seen) -> str:
    """Say why a run ends."""
    if until.decided is not None:
        what = "excluded" if overall.decision == "no regression" else "shown"
        reason = f"a loss above {until.margin:g} on these items is {what}"
        return f"{reason} (--until decided:{until.decided.name} --margin {until.margin:g})"
    whose = "the mean over cultures" if until.mean else "the score of each culture"
    return f"{whose} on these items is known to ±{until.width:g} (--until {until.rule})"


def known_sentence(known: Iterable[Row], info: MetricInfo) -> str:
    """Say what a run that ended early scores on its items, by culture, and what that is not."""
    factor, unit, form = (100, "%", ".1f") if is_share(info) else (1, "", ".3g")
    words = []
    for row in known:
        where = row["culture"] or "the mean over cultures"
        if row["value"] is not None:
            value, low, high = (f"{factor * row[name]:{form}}" for name in ("value", "low", "high"))
            words.append(f"{where} {value}{unit} ({low}–{high}; {row['items']} of {row['items_of']} items)")
    return (
        f"On these items, which a full run would ask, {info.name} has these 95% intervals: {', '.join(words)}. "
        "All other intervals are for items like these, and wider."
    )


def open_looks(
    task: Task, items: Sequence[Item], store: AnswerStore, settings: RunSettings, begun: BegunRun
) -> Looks | None:
    """Return what hands out the blocks of a run and looks at them; None where all was answered in no blocks.

    A run that was begun in blocks goes on in them. Raises UsageError where a run that was begun in another order is to
    end early.
    """
    order = BlockOrder.of(begun.manifest)
    if order is None:
        counts = store.counts()
        if counts.answered >= begun.requests:
            return None
        if counts.answered + counts.failed:
            raise UsageError(
                f"{begun.folder} was begun without --until: what it asked so far is no random part of each culture.",
                hint="Finish it without --until, or name another folder with --out.",
            )
        order = BlockOrder(settings.seed, settings.look_every or begun.model.block)
    return Looks(task, items, store, order, settings.rule)
