"""Whether answers judged again give the numbers that lm-eval's results state; what is said where they do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from kapwa.exchange.lm_eval_read import TaskSamples

# Right and wrong, and shares of texts, come out as they did; what is made of likelihoods may differ by float32.
_CLOSE = 1e-5

Values = Mapping[tuple[str, str], Mapping[str, float]]


def disagreements(
    results: Mapping[str, Any], task: TaskSamples, scores: pl.DataFrame, version: str | None
) -> Iterator[str]:
    """Yield a sentence for each metric whose value, of an item or of all, is not the one that lm-eval states.

    ``scores``: of the same answers, judged now. ``version``: of the Kapwa that judged inside lm-eval, if it is told.
    lm-eval counts the first answer to an item alone, so that is what is held against it.
    """
    values = _values(scores)
    named = "another version of Kapwa" if version is None else f"Kapwa {version}"
    for metric, kind in _stated(task):
        told = results["results"][task.name].get(f"{metric},{kind}")
        pairs = list(_pairs(task, metric, kind, values))
        here = [own for _, own in pairs if own is not None]
        mean = math.fsum(here) / len(here) if here else None
        differ = sum(1 for stated, own in pairs if not _close(stated, own))
        if not differ and _close(told, mean):
            continue
        yield (
            f"lm-eval's results state {metric} {_number(told)}; judged again it is {_number(mean)}, and {differ} of "
            f"{len(pairs)} items differ: {named} judged there, or the files were changed."
        )


def _values(scores: pl.DataFrame) -> Values:
    """Return the values of each item's first answer, by item and metric."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    first = scores.filter(pl.col("sample") == 0, pl.col("value").is_not_null())
    for item, variant, metric, value in first.select("item_id", "variant", "metric", "value").iter_rows():
        found.setdefault((item, variant), {})[metric] = value
    return found


def _stated(task: TaskSamples) -> list[tuple[str, str]]:
    """Return the metrics that lm-eval's samples have values of, each with its filter."""
    told = ((metric, sample.record["filter"]) for sample in task.samples for metric in sample.record["metrics"])
    return list(dict.fromkeys(told))


def _pairs(task: TaskSamples, metric: str, kind: str, values: Values) -> Iterator[tuple[Any, float | None]]:
    """Yield, for each document, what lm-eval states and what is found now; documents with neither are left out."""
    for sample in task.samples:
        record = sample.record
        if record["filter"] != kind:
            continue
        stated = record.get(metric) if metric in record["metrics"] else None
        own = values.get((record["doc"]["item_id"], record["doc"]["variant"]), {}).get(metric)
        if stated is not None or own is not None:
            yield stated, own


def _close(stated: Any, own: float | None) -> bool:
    return isinstance(stated, int | float) and own is not None and math.isclose(stated, own, rel_tol=0, abs_tol=_CLOSE)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else "no value"
