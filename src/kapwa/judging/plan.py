"""How many labels an audit needs in each stratum for an interval of a wanted width, and how long people need."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray
from kapwa.stats.corrected import labels_needed

PLAN_SCHEMA = {
    **dict.fromkeys(("culture", "language", "variant"), pl.String),
    **dict.fromkeys(("questions", "people", "corrected"), pl.Int64),
    "saving": pl.Float64,
    **dict.fromkeys(("use", "grounds"), pl.String),
    **dict.fromkeys(("answers", "pilot_labels"), pl.Int64),
    "hours": pl.Float64,
}
# A pilot with fewer labels of a stratum is read for all strata together.
_ENOUGH = 20
SECONDS = 30.0


def plan_labels(
    answers: pl.DataFrame, *, half_width: float, agreement: float | None = None, seconds: float = SECONDS
) -> pl.DataFrame:
    """Return a row a stratum: labelled questions needed for ± ``half_width``, with the scorer and without.

    ``answers``: every answer with ``value``, and of a pilot ``label`` and ``probability`` (null where not labelled).
    ``agreement``: without a pilot, the assumed share of answers that people and scorer judge alike. Of several runs the
    one that needs most counts. ``hours``: of one person who needs so many ``seconds`` for an answer. Raises UsageError
    for values that cannot be.
    """
    if not 0 < half_width < 0.5:
        raise UsageError(f"The half-width is {half_width:g}; it is above 0 and below 0.5.", hint="0.05 is ± 5 points.")
    if agreement is not None and not 0.5 <= agreement <= 1:
        raise UsageError(f"The agreement is {agreement:g}; it lies between 0.5 and 1.")
    runs, rows = answers["system"].n_unique(), []
    whole = {system: _spreads(part, agreement) for (system,), part in answers.group_by("system")}
    for place, part in answers.group_by("culture", "language", "variant", maintain_order=True):
        plans = []
        pilot = 0 if agreement is not None else int(part["label"].count()) // runs
        for (system,), of_run in part.group_by("system", maintain_order=True):
            few = agreement is None and pilot < _ENOUGH
            variance, residual = whole[system] if few else _spreads(of_run, agreement)
            plans.append(labels_needed(of_run.height, half_width, variance=variance, residual=residual))
        most = max(plans, key=lambda plan: plan.corrected if plan.use == "corrected" else plan.people)
        questions = most.corrected if most.use == "corrected" else most.people
        facts: dict[str, Any] = dict(zip(("culture", "language", "variant"), place, strict=True))
        facts |= {"questions": part.height // runs, "people": most.people, "corrected": most.corrected}
        grounds = (
            "assumed" if agreement is not None else "its own labels" if pilot >= _ENOUGH else "all labels together"
        )
        facts |= {"saving": most.saving, "use": most.use, "grounds": grounds, "answers": questions * runs}
        rows.append(facts | {"pilot_labels": pilot, "hours": questions * runs * seconds / 3600})
    return pl.DataFrame(rows, schema=PLAN_SCHEMA)


def _spreads(part: pl.DataFrame, agreement: float | None) -> tuple[float, float]:
    """The variance of labels, and of labels less the best part of the scores: of a pilot, or as assumed."""
    if agreement is not None:
        mean = float(part["value"].to_numpy().mean())
        variance = max(mean * (1 - mean), 0.05)  # a scorer that finds none or all right does not know that
        return variance, min(max(1 - agreement, 1e-6), variance)
    labelled = part.filter(pl.col("label").is_not_null())
    if labelled.height < 2:
        raise UsageError("The pilot has fewer than two labels.", hint="Label more, or plan with --agreement.")
    scores, labels = (labelled[name].to_numpy().astype(np.float64) for name in ("value", "label"))
    weights = 1 / labelled["probability"].to_numpy()
    covariance: FloatArray = np.cov(np.vstack([labels, scores]), aweights=weights)
    used = min(max(covariance[0, 1] / covariance[1, 1], 0.0), 1.0) if covariance[1, 1] > 0 else 0.0
    variance = max(float(covariance[0, 0]), 1 / labelled.height / 4)  # of labels that are all alike
    return variance, max(variance - used * (2 * covariance[0, 1] - used * covariance[1, 1]), 1e-6)
