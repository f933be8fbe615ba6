"""What labels say of the people who gave them: how mild each is, how far they agree, and what cannot be told apart.

Labels are a table with the columns of :data:`kapwa.labels.verdicts.VERDICT_SCHEMA`; a null ``value`` is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from kapwa.labels.agreement import SCHEMA, rater_agreement
from kapwa.stats.agreement import Coefficient
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of

RATER_SCHEMA = schema_of(
    "culture rater answers:whole cannot_assess:whole yes:real compared:whole leniency:real low:real high:real"
)
_COEFFICIENTS: Sequence[Coefficient] = ("percent", "cohen", "krippendorff-nominal")
_NESTED = (
    "No person labelled answers of all {many}: what looks like a difference between {many} may be one between strict "
    "and mild people. Let some people label answers of several {many} where they can."
)


def rater_table(verdicts: pl.DataFrame) -> pl.DataFrame:
    """How often each person says yes, and how much more often than the others do on the same answers (leniency)."""
    answers = ["culture", "item_id", "variant", "sample", "answer", "criterion"]
    labels = verdicts.unique([*answers, "rater"], maintain_order=True)  # one text of several runs is labelled once
    others = (pl.col("value").sum().over(answers) - pl.col("value")) / (pl.col("value").count().over(answers) - 1)
    labels = labels.with_columns(
        ahead=pl.when(pl.col("value").count().over(answers) > 1).then(pl.col("value") - others)
    )
    rows = []
    for (culture, rater), group in labels.sort("culture", "rater").group_by("culture", "rater", maintain_order=True):
        compared = group.filter(pl.col("ahead").is_not_null())
        row = {"culture": culture, "rater": rater, "answers": group["value"].count(), "yes": group["value"].mean()}
        row |= {"cannot_assess": group["value"].null_count(), "compared": compared.height}
        if compared.height:
            estimate = mean_estimates(compared["ahead"].to_numpy(), compared["cluster"].to_list())[0]
            row |= {"leniency": estimate.value, "low": estimate.low, "high": estimate.high}
        rows.append(row)
    return pl.DataFrame(rows, schema=RATER_SCHEMA)


def agreement_by_culture(verdicts: pl.DataFrame, seed: int) -> pl.DataFrame:
    """How far the people of each culture agree on the same answers: share, kappa and alpha."""
    rows = []
    for (culture,), group in verdicts.sort("culture").group_by("culture", maintain_order=True):
        answer = ["cluster", "item_id", "variant", "answer", *(["criterion"] if "criterion" in group.columns else [])]
        shared = group.drop_nulls("value").group_by(answer).agg(pl.col("rater").n_unique())
        if (shared["rater"] > 1).any():
            coefficients = rater_agreement(group, answer, seed=seed, coefficients=_COEFFICIENTS)
            rows += [{"culture": culture, **row} for row in coefficients]
    return pl.DataFrame(rows, schema={"culture": pl.String, **SCHEMA})


def nesting_notes(verdicts: pl.DataFrame) -> list[str]:
    """Say where a difference between cultures, or systems, cannot be told from one between strict and mild people."""
    columns = (("culture", "cultures"), ("system", "systems"))
    return [_NESTED.format(many=many) for column, many in columns if _nested(verdicts, column)]


def _nested(verdicts: pl.DataFrame, column: str) -> bool:
    """Whether no chain of people joins all values of ``column``: then people and values cannot be told apart."""
    groups = [set(values) for values in verdicts.group_by("rater").agg(pl.col(column).unique())[column].to_list()]
    reached = set(groups[0]) if groups else set()
    while more := [group for group in groups if group & reached and not group <= reached]:
        reached = reached.union(*more)
    return len(reached) < verdicts[column].n_unique()
