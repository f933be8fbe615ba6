"""How many labels an audit needs in each stratum for an interval of a wanted width, and how long people need."""

from __future__ import annotations

from contextlib import suppress
from math import ceil
from typing import Any

import polars as pl

from kapwa.errors import UsageError
from kapwa.labels.audits.correction import corrected_rows
from kapwa.labels.audits.draws import STRATUM
from kapwa.stats.corrected import Corrected, LabelPlan, labels_needed
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import JsonObject

PLAN_SCHEMA = schema_of(
    "culture language variant questions:whole labels:whole people:whole corrected:whole "
    "saving:real use reason grounds answers:whole hours:real"
)
# Half-widths of intervals for which missing labels are counted, and what the counts are called.
WIDTHS = (0.1, 0.05)
MISSING, LABELS_FOR = ("missing_10", "missing_5"), ("labels_10", "labels_5")
_HALF_RIGHT = 0.25 * 1.96**2
# A scorer that finds none or all right does not know that: the share of right answers is taken to lie between these.
_SHARES = (0.1, 0.9)


def plan_labels(
    answers: pl.DataFrame, *, half_width: float, agreement: float | None = None, seconds: float = 30.0
) -> pl.DataFrame:
    """Return a row a stratum: labelled questions needed for ± ``half_width``, with the scorer and without.

    ``answers``: of a pilot those of :func:`kapwa.labels.audits.correction.labelled_answers`; else with ``value`` alone,
    and the ``agreement``, the assumed share of answers that people and scorer judge alike. Of several runs the one that
    needs most counts. ``labels``: of questions, null where even all are too few. ``hours``: of one person who needs so
    many ``seconds`` for an answer. Raises UsageError for a pilot that tells nothing.
    """
    runs, rows = answers["system"].n_unique(), []
    for stratum, of_stratum in answers.group_by(STRATUM, maintain_order=True):
        plans: list[tuple[LabelPlan, str]] = []
        questions = of_stratum["item_id"].n_unique()
        for (system,), of_run in of_stratum.group_by("system", maintain_order=True):
            if agreement is not None:
                share = min(max(float(of_run["value"].to_numpy().mean()), _SHARES[0]), _SHARES[1])
                plans.append((labels_needed(questions, half_width, agreement=agreement, share=share), "assumed"))
            else:
                whole = answers.filter(system=system, variant=stratum[2])
                plans.append(_from_pilot(questions, half_width, corrected_rows(of_run)[0], corrected_rows(whole)[-1]))
        plan, grounds = max(plans, key=lambda pair: _needed(pair[0]) or questions + 1)
        facts: JsonObject = {name: getattr(plan, name) for name in ("people", "corrected", "saving", "use", "reason")}
        read = (_needed(plan) or questions) * runs
        facts |= {"questions": questions, "labels": _needed(plan), "grounds": grounds, "answers": read}
        rows.append({**dict(zip(STRATUM, stratum, strict=True)), **facts, "hours": read * seconds / 3600})
    return pl.DataFrame(rows, schema=PLAN_SCHEMA)


def labels_missing(labels: pl.Series, clusters: pl.Series | None, weights: Any = None) -> JsonObject:
    """How surely people's ``labels`` of answers (null: none) by themselves tell the share of right ones.

    ``half_width`` of its interval, None without a label, and for each of :data:`WIDTHS` how many more labels it takes,
    if the others are alike; without a label, if half of the answers are right, which takes the most.
    """
    (mean,) = mean_estimates(labels.cast(pl.Float64), clusters, share=True, weights=weights)
    half_width = None if mean.low is None or mean.high is None else (mean.high - mean.low) / 2
    squared = mean.n * half_width**2 if half_width else _HALF_RIGHT
    missing = (max(ceil(squared / width**2) - mean.n, 0) for width in WIDTHS)
    return {"half_width": half_width, **dict(zip(MISSING, missing, strict=True))}


def _needed(plan: LabelPlan) -> int | None:
    return plan.corrected if plan.use == "corrected" else plan.people


def _from_pilot(n: int, half_width: float, stratum: Corrected, whole: Corrected) -> tuple[LabelPlan, str]:
    """Plan by a stratum's labels, or by those of all strata together where it has too few."""
    with suppress(UsageError):
        return labels_needed(n, half_width, pilot=stratum), "its own labels"
    return labels_needed(n, half_width, pilot=whole), "all labels"
