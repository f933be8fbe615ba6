"""How far a judging model can be trusted: what sways it that should not, and how far it agrees with people.

A probe asks about the same answers once more, changed in a way that changes no answer's worth. How often verdicts
change when nothing is changed at all ("repeat") is the level to hold the other rates against.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.judging.prompts import Change, has_neutral_words
from kapwa.runs.directory import brief_model
from kapwa.stats.agreement import Coefficient, bootstrap_interval
from kapwa.stats.intervals import mean_estimates

PROBES = ("repeat", "order", "length", "language", "names", "family")
INCONSISTENT, FIRST_EACH_TIME = "inconsistent", "takes the first each time"
ITSELF, ANOTHER = "names: itself", "names: another model"
# Which answer, of a verdict.
PLACE = ("run", "item_id", "variant", "sample")
_PLACE = (*PLACE, "criterion")
_NOMINAL: Coefficient = "krippendorff-nominal"
_NUMBERS: dict[str, Any] = {"n": pl.Int64, **dict.fromkeys(("value", "low", "high"), pl.Float64)}
PROBE_SCHEMA = {**dict.fromkeys(("rater", "probe", "criterion", "measure"), pl.String), **_NUMBERS, "note": pl.String}
AGREEMENT_SCHEMA = {**dict.fromkeys(("rater", "criterion", "coefficient", "between"), pl.String), **_NUMBERS}
RISK_SCHEMA = {**dict.fromkeys(("rater", "criterion"), pl.String), "coverage": pl.Float64, **_NUMBERS}


def probe_changes(probes: Sequence[str], judge: str) -> list[Change]:
    """Return how prompts are changed for ``probes`` of the model ``judge``; order and family take no further prompt.

    Raises UsageError for an unknown probe.
    """
    unknown = next((name for name in probes if name not in PROBES), None)
    if unknown is not None:
        raise UsageError(f"There is no probe {unknown!r}.", hint=nearest(unknown, (*PROBES, "all")))
    changes = {
        "repeat": [Change("repeat", again=True)],
        "length": [Change("length", padded=True)],
        "language": [Change("language", english=True)],
        "names": [Change(ITSELF, author=brief_model(judge)), Change(ANOTHER, author="another model")],
    }
    return [change for name in probes for change in changes.get(name, ())]


def probe_table(
    probes: Sequence[str],
    verdicts: pl.DataFrame,
    changed: Mapping[str, pl.DataFrame],
    models: Mapping[str, str],
    people: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return what each probe shows of one judge, as rates with intervals (:data:`PROBE_SCHEMA`).

    ``changed``: the verdicts under each change, by its name; ``models``: who wrote the answers of each run, by its
    signature; ``people``: their verdicts, by which favour for the judge's own family is told from better answers.
    """
    rows: list[dict[str, Any]] = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        by_name = {name: frame.filter(criterion=criterion) for name, frame in changed.items()}
        plain = verdicts.filter(criterion=criterion)
        rater = str(plain["rater"][0])
        for probe in probes:
            if probe == "order":
                found = _order(plain)
            elif probe == "family":
                found = _family(plain, rater, models, people)
            elif probe == "names":
                found = _shift(by_name[ANOTHER], by_name[ITSELF], "it is said to have written the answer")
            else:
                found = _shift(plain, by_name[probe], _CAUSES[probe])
            rows += [{"rater": rater, "probe": probe, "criterion": criterion, **row} for row in found]
    return pl.DataFrame(rows, schema=PROBE_SCHEMA)


_CAUSES = {
    "repeat": "asked again",
    "length": "neutral words stand after the answer",
    "language": "asked in English alone",
}


def _row(measure: str, values: Any, clusters: pl.Series, note: str = "", *, share: bool) -> Any:
    (mean,) = mean_estimates(values, clusters.to_list(), binary=share)
    note = note if mean.n else "not measured: no answer has both verdicts"
    return {"measure": measure, "n": mean.n, "value": mean.value, "low": mean.low, "high": mean.high, "note": note}


def _shift(plain: pl.DataFrame, changed: pl.DataFrame, cause: str) -> list[Any]:
    """How often, and which way, verdicts change where prompts are changed."""
    both = plain.join(changed.select(*_PLACE, other="value", other_state="state"), on=_PLACE, how="inner")
    lost = both.filter((pl.col("state") == "judged") & (pl.col("other_state") != "judged")).height
    judged = both.drop_nulls(["value", "other"])
    moves = judged["other"] - judged["value"]
    notes = [f"{lost} lose their verdict"] if lost else []
    without = sorted({tag for tag in both["language"].unique() if not has_neutral_words(tag)})
    if without and "neutral words" in cause:
        notes.append(f"English words for {', '.join(without)}")
    often = _row(f"verdicts that change when {cause}", (moves != 0).cast(float), judged["cluster"], share=True)
    mean = _row(f"mean change when {cause}", moves, judged["cluster"], share=False)
    return [{**often, "note": often["note"] or "; ".join(notes)}, mean]


def _order(plain: pl.DataFrame) -> list[Any]:
    """How often the order of a pair decides; only pairs are shown in two orders."""
    swayed = plain["remark"].str.starts_with(INCONSISTENT) & (plain["state"] == "cannot-assess")
    told = plain.filter(swayed | (plain["state"] == "judged"))
    swayed = told["state"] != "judged"
    first = told.filter(swayed)
    took = first["remark"].str.contains(FIRST_EACH_TIME)
    often = _row(
        "pairs whose verdict changes with the order", swayed.cast(float).to_list(), told["cluster"], share=True
    )
    place = _row("of these, those that take the first", took.cast(float).to_list(), first["cluster"], share=True)
    return [often, {**place, "note": "" if place["n"] else "there is none"}]


def _family(plain: pl.DataFrame, rater: str, models: Mapping[str, str], people: pl.DataFrame | None) -> list[Any]:
    """How much better the judge finds answers of its own family than others' to the same questions."""
    measure = "verdict on answers of its own family less that on others' to the same question"
    values = plain.drop_nulls("value").with_columns(
        own=pl.col("run").replace_strict(models, default="").map_elements(family, return_dtype=pl.String)
        == family(rater.partition("@")[0])
    )
    note = "may be deserved: without people's labels nobody knows"
    if people is not None:
        measure, note = f"{measure}, beyond what people say", ""
        said = people.group_by(_PLACE).agg(people=pl.col("value").mean()).drop_nulls()
        values = values.join(said, on=_PLACE, how="inner").with_columns(value=pl.col("value") - pl.col("people"))
    sides = values.group_by("item_id", "variant", "cluster", maintain_order=True).agg(
        own=pl.col("value").filter("own").mean(), other=pl.col("value").filter(~pl.col("own")).mean()
    )
    pairs = sides.drop_nulls()
    row = _row(measure, pairs["own"] - pairs["other"], pairs["cluster"], note, share=False)
    missing = "not measured: name runs of its own family and of others, on the same questions"
    return [row if row["n"] else {**row, "note": missing}]


def family(model: str) -> str:
    """Return the family of a model by the first word of its name: "qwen" of "hf:Qwen/Qwen2.5-7B-Instruct"."""
    begins = re.match(r"[^\W\d_]+", brief_model(model).casefold())
    return begins[0] if begins else model


# --- people beside the judge -------------------------------------------------------------------------------


def check_labels(people: pl.DataFrame, rubric: str, places: Collection[tuple[str, str, str, int]]) -> pl.DataFrame:
    """Return people's verdicts on the answers at ``places`` (run, item, variant, sample).

    Raises DataError where people judged by another rubric than ``rubric``, or none of these answers.
    """
    labels = people.filter(kind="person")
    others = sorted(set(labels["rubric"].unique()) - {rubric})
    if others:
        hint = "Judge by the rubric that people had, or let people judge anew: a changed rubric makes other verdicts."
        raise DataError(f"the labels are by {others[0]}, and the judge is asked by {rubric}.", hint=hint)
    shared = labels.filter(pl.Series([place in places for place in labels.select(PLACE).rows()], dtype=pl.Boolean))
    if shared.is_empty():
        raise DataError("no person labelled an answer that the judge is asked about.", hint="Name the draw: --draw")
    return shared


def agreement_table(verdicts: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return how far one judge agrees with people, and people with each other, on the answers of both.

    Cohen's kappa is the mean over pairs of raters: of the judge with each person, of two persons each. Alpha is nominal
    where verdicts have two values, else of an interval scale. Intervals are over questions.
    """
    rows = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        judge = verdicts.filter(criterion=criterion)
        both = _both(judge, people)
        raters = sorted(both["rater"].unique())
        # A row for each person with the judge: people's pairs then have no answer in common, and are in no mean.
        columns = both.select("judge", "value", "rater").rows()
        single = [[own, *(value if who == name else None for name in raters)] for own, value, who in columns]
        people_only = both.pivot("rater", index=[*_PLACE, "cluster"], values="value")
        two = len({*both["judge"], *both["value"]}) <= 2
        coefficients: tuple[Coefficient, ...] = ("percent", "cohen", _NOMINAL if two else "krippendorff-interval")
        for between, table, clusters in (
            ("judge and people", single, both["cluster"]),
            ("people and people", people_only.select(raters).rows(), people_only["cluster"]),
        ):
            for name in coefficients if len(both) else ():
                known = bootstrap_interval(np.array(table, dtype=object), name, clusters=clusters.to_list(), seed=1)
                numbers = (known.units, known.value, known.low, known.high)
                rows.append((judge["rater"][0], criterion, name, between, *numbers))
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row")


def risk_table(verdicts: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return how often one judge errs, by how many of the answers it is made to decide: coverage against risk.

    The surest verdicts come first: those on which all its samples are one, then those on which fewer are. ``coverage``:
    the share of the answers that people labelled and it decides; ``value``: the share of these on which it is against
    most people, with an interval over questions; people who are divided count as half.
    """
    rows = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        judge = verdicts.filter(criterion=criterion)
        both = _both(judge, people, decided=False)
        said = both.group_by(*_PLACE, "cluster", maintain_order=True).agg(
            judge=pl.col("judge").first(), people=pl.col("value").mean()
        )
        sure = said.with_columns(
            sureness=(2 * pl.col("judge") - 1).abs(),
            wrong=((pl.col("judge") - 0.5).sign() - (pl.col("people") - 0.5).sign()).abs() / 2,
        )
        for least in sorted(sure["sureness"].drop_nulls().unique(), reverse=True):
            part = sure.filter(pl.col("sureness") >= least)
            (mean,) = mean_estimates(part["wrong"], part["cluster"].to_list(), binary=True)
            coverage = len(part) / len(sure)
            rows.append((judge["rater"][0], criterion, coverage, mean.n, mean.value, mean.low, mean.high))
    return pl.DataFrame(rows, schema=RISK_SCHEMA, orient="row")


def _both(judge: pl.DataFrame, people: pl.DataFrame, *, decided: bool = True) -> pl.DataFrame:
    """Return people's verdicts with the ``judge``'s on the same answer; ``decided``: only where it has one."""
    said = people.drop_nulls("value").select(*_PLACE, "cluster", "rater", "value")
    both = said.join(judge.select(*_PLACE, judge="value"), on=_PLACE, how="inner", maintain_order="left")
    return both.drop_nulls("judge") if decided else both
