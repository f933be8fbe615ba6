"""Checkpoints that are tracked: how often a change or a trend is stated where none is, over all looks of a series.

Every question has a chance of its own to be answered rightly, the same for all checkpoints. Each answer is that of the
checkpoint before with chance φ, else drawn anew. Somebody looks after every checkpoint, and counts the series as wrong
once anything was stated at any look.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.series import ERROR, LEAST_TREND, SeriesChange, change, level_at, trend

SUBJECT = "checkpoints"
LOOKS = 12  # checkpoints of a series
LOSS, LOST_AT = 0.08, 8
DESIGNS = (
    ("150 questions in 87 situations", 1, [1] * 44 + [2] * 24 + [3] * 19 + [1]),
    ("8 cultures × 60 questions", 8, [1] * 60),
)


def planted_series(
    random: np.random.Generator, rate: FloatArray, alike: float, *, loss: float = 0.0
) -> Iterator[FloatArray]:
    """Yield the answers of each checkpoint; from :data:`LOST_AT` on a share ``loss`` of all answers is lost."""
    answers = (random.random(rate.shape) < rate).astype(float)
    lost = random.random(rate.shape) < loss / max(rate.mean(), 1e-9)
    for look in range(LOOKS):
        if look:
            anew = (random.random(rate.shape) < rate).astype(float)
            answers = np.where(random.random(rate.shape) < alike, answers, anew)
        yield np.where(lost, 0.0, answers) if look >= LOST_AT else answers


def item_frames(cultures: int, sizes: list[int], values: list[FloatArray]) -> list[pl.DataFrame]:
    """Answers of checkpoints, (questions, cultures), as :func:`kapwa.stats.series.items_of_run` has them."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    names = [f"c{k}" for k in range(cultures)]
    keys = {
        "culture": np.repeat(names, len(clusters)),
        "language": ["xx"] * (cultures * len(clusters)),
        "item_id": [f"{name}-{k}" for name in names for k in range(len(clusters))],
        "cluster": [str(k) for _ in names for k in clusters],
    }
    flat = [each.T.ravel() for each in values]
    return [pl.DataFrame({**keys, "value": each, "least": each, "most": each, "gone": 0.0 * each}) for each in flat]


def stated(frames: list[pl.DataFrame]) -> dict[str, list[SeriesChange]]:
    """What is said at each look: against the checkpoint before, against the first, and of a trend."""
    said: dict[str, list[SeriesChange]] = {"before": [], "first": [], "trend": []}
    for look in range(1, len(frames)):
        for against, old in (("before", frames[look - 1]), ("first", frames[0])):
            said[against].append(change(old, frames[look], share=True, level=level_at(look)))
        if look + 1 >= LEAST_TREND:
            said["trend"].append(trend(frames[: look + 1], level=level_at(look + 2 - LEAST_TREND)))
    return said


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """How often a series states what is not so, and how often it states a loss."""
    words = {
        "before": "a change from one checkpoint to the next, wrongly",
        "first": "a change since the first checkpoint, wrongly",
        "trend": "a trend, wrongly",
    }
    for where, cultures, sizes in DESIGNS:
        for accuracy in (0.1, 0.5, 0.9):
            for alike in (0.3, 0.9):
                wrong = dict.fromkeys(words, 0)
                for _ in range(repeats):
                    rate = random.beta(2 * accuracy, 2 * (1 - accuracy), (sum(sizes), cultures))
                    frames = item_frames(cultures, sizes, list(planted_series(random, rate, alike)))
                    for name, changes in stated(frames).items():
                        wrong[name] += any(each.shown for each in changes)
                setting = f"{where}, {LOOKS} checkpoints, {accuracy:g} right, φ {alike:g}"
                for name, figure in words.items():
                    yield Cell(SUBJECT, figure, setting, 100 * wrong[name] / repeats, repeats, 0, 100 * ERROR)
        found = 0
        for _ in range(repeats):
            rate = random.beta(1.0, 1.0, (sum(sizes), cultures))
            values = list(planted_series(random, rate, 0.9, loss=LOSS))
            frames = item_frames(cultures, sizes, [values[LOST_AT - 1], values[LOST_AT]])
            found += change(frames[0], frames[1], share=True, level=level_at(LOST_AT)).shown == "down"
        setting = f"{where}, {100 * LOSS:g} points lost at checkpoint {LOST_AT + 1}, .5 right, φ .9"
        yield Cell(SUBJECT, "the loss is stated", setting, 100 * found / repeats, repeats, 0, 100)
