"""Describe each item's texts, reading every answer once and keeping a few numbers of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.languages.identify import differs, identify
from kapwa.languages.refusals import is_refusal
from kapwa.metrics.base import is_blank
from kapwa.records import SCORE_COLUMNS, Answer, Item, Response
from kapwa.suites.base import Judged
from kapwa.suites.eecc.options import DISTINCT, EMPTY, LANGUAGE, METRICS, NAMED, REFUSED, TRUNCATED, WORDS

# The language of a text shows in its opening; reading whole stories would take most of the judging.
_IDENTIFIED = 400
_COUNTED = (WORDS, NAMED, TRUNCATED, EMPTY, REFUSED, LANGUAGE)


def judge(items: Sequence[Item], answers: Iterable[Answer], samples: int) -> Judged:
    """Return one score row per item and metric of ``options.METRICS``, each the mean over the item's samples.

    ``answers`` is walked through once, in any order, and may hold millions: memory grows with items times samples by
    eight bytes. A value is null where no sample can tell: no answer came (outcome "failed"), the language is
    undecided, a recorded answer does not say why it ended, or there are not two samples to differ.
    Raises UsageError for an answer to an unknown item, and for two answers to one sample.
    """
    tally = _Tally(items, samples)
    for request, response in answers:
        tally.add(request.item_id, request.variant, request.sample, response)
    return Judged(tally.scores())


class _Tally:
    """Sums over the samples of each item. ``sums`` and ``counts`` have shape (metrics, items)."""

    def __init__(self, items: Sequence[Item], samples: int) -> None:
        self.items = items
        self.place = {(item.id, item.variant): i for i, item in enumerate(items)}
        self.sums = np.zeros((len(_COUNTED), len(items)))
        self.counts = np.zeros((len(_COUNTED), len(items)), dtype=np.int64)
        self.seen = np.zeros((len(items), samples), dtype=np.bool_)
        self.answered = np.zeros((len(items), samples), dtype=np.bool_)
        self.prints = np.zeros((len(items), samples), dtype=np.int64)

    def add(self, item_id: str, variant: str, sample: int, response: Response) -> None:
        """Count one answer."""
        i = self.place.get((item_id, variant))
        where = f"item {item_id!r} (variant {variant!r})"
        if i is None or not 0 <= sample < self.seen.shape[1]:
            raise UsageError(
                f"An answer names {where}, sample {sample}, which is not among those judged.",
                hint="Judge with the data and selection the answers were made from.",
            )
        if self.seen[i, sample]:
            raise UsageError(f"There are two answers to {where}, sample {sample}.", hint="Remove one of them.")
        self.seen[i, sample] = True
        if response.failed:
            return
        text = response.text or ""
        self.answered[i, sample] = True
        self.prints[i, sample] = hash(text)  # equal texts have equal prints; of 2^64, no two others will meet
        for row, value in enumerate(_values(text, self.items[i], response)):
            if value is not None:
                self.sums[row, i] += value
                self.counts[row, i] += 1

    def scores(self) -> pl.DataFrame:
        """Return the long score table, metric by metric, items in their order."""
        means = dict(
            zip(_COUNTED, np.divide(self.sums, self.counts, where=self.counts > 0, out=self.sums * np.nan), strict=True)
        )
        means[DISTINCT] = self._distinct()
        answered = self.answered.any(axis=1)
        about = pl.DataFrame([_about(item) for item in self.items], schema=_ABOUT, orient="row")
        tables = [
            about.with_columns(
                sample=pl.lit(0, pl.Int64),
                metric=pl.lit(metric),
                value=pl.Series(means[metric], dtype=pl.Float64).fill_nan(None),
                outcome=pl.Series(np.where(answered, "scored", "failed"), dtype=pl.String),
            )
            for metric in METRICS
        ]
        return pl.concat(tables).select(SCORE_COLUMNS)

    def _distinct(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Share of different texts among an item's answered samples; NaN below two."""
        n = self.answered.sum(axis=1)
        found = np.full(len(self.items), np.nan)
        for i in np.flatnonzero(n > 1):
            found[i] = len(np.unique(self.prints[i, self.answered[i]])) / n[i]
        return found


_ABOUT_COLUMNS = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
_ABOUT: Mapping[str, Any] = dict.fromkeys(_ABOUT_COLUMNS, pl.String)


def _about(item: Item) -> tuple[str, ...]:
    return item.id, item.variant, item.culture, item.language, item.category, item.topic, item.cluster


def _values(text: str, item: Item, response: Response) -> tuple[float | None, ...]:
    """What one text says of each of ``_COUNTED``, in order; None where it cannot tell."""
    if is_blank(text):
        return 0.0, 0.0, _truncated(response), 1.0, 0.0, None
    return (
        float(len(text.split())),
        float(_names(item.fields["names"]).search(text) is not None),
        _truncated(response),
        0.0,
        float(is_refusal(text)),
        _other_language(text, item.language),
    )


def _truncated(response: Response) -> float | None:
    """Whether the text ended at the limit; a recorded answer, and some servers, do not say."""
    return {"length": 1.0, "stop": 0.0}.get(response.finish_reason or "")


def _other_language(text: str, asked: str) -> float | None:
    found = differs(asked, identify(text[:_IDENTIFIED]))
    return None if found is None else float(found)


@cache
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of ``names`` as whole words, with a plural or possessive ending.

    Capitals count where a name has them: a Polish reader is not named by polishing a stone.
    """
    parts = [
        re.escape(name) if name != name.lower() else f"(?i:{re.escape(name)})"
        for name in sorted(names, key=len, reverse=True)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?:['’]?s)?(?!\w)")
