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

# Each probe, and what is changed.
PROBES = {
    "repeat": "asked again",
    "order": "the answers of a pair swapped",
    "length": "neutral words added",
    "language": "asked in English alone",
    "names": "said to be its own answer",
    "family": "answers of its own family against others'",
}
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
    *,
    pairs: bool = False,
) -> pl.DataFrame:
    """Return what each probe shows of one judge, as rates with intervals (:data:`PROBE_SCHEMA`).

    ``changed``: the verdicts under each change, by its name; ``models``: who wrote the answers of each run, by its
    signature; ``people``: their verdicts, by which favour for the judge's own family is told from better answers;
    ``pairs``: whether answers were compared, in two orders.
    """
    rows: list[dict[str, Any]] = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        by_name = {name: frame.filter(criterion=criterion) for name, frame in changed.items()}
        plain = verdicts.filter(criterion=criterion)
        rater = str(plain["rater"][0])
        for probe in probes:
            if probe == "order":
                shown = _order(plain) if pairs else [_unmeasured("changed", "only pairs have an order")]
            elif probe == "family":
                shown = [_family(plain, rater, models, people)]
            elif probe == "names":
                shown = _shift(by_name[ANOTHER], by_name[ITSELF])
            else:
                shown = _shift(plain, by_name[probe], padded=probe == "length")
            about = {"rater": rater, "probe": f"{probe}: {PROBES[probe]}", "criterion": criterion}
            rows += [{**about, **row} for row in shown]
    return pl.DataFrame(rows, schema=PROBE_SCHEMA)


def _row(measure: str, values: Any, clusters: pl.Series, note: str = "", *, share: bool) -> dict[str, Any]:
    (mean,) = mean_estimates(values, clusters.to_list(), binary=share)
    numbers = {"n": mean.n, "value": mean.value, "low": mean.low, "high": mean.high}
    return {"measure": measure, **numbers, "note": note} if mean.n else _unmeasured(measure, "no answer has a verdict")


def _unmeasured(measure: str, why: str) -> dict[str, Any]:
    return {"measure": measure, "n": 0, "note": f"not measured: {why}"}


def _shift(plain: pl.DataFrame, changed: pl.DataFrame, *, padded: bool = False) -> list[dict[str, Any]]:
    """How often, and which way, verdicts change where prompts are changed."""
    both = plain.join(changed.select(*_PLACE, other="value"), on=_PLACE, how="inner", maintain_order="left")
    judged = both.drop_nulls(["value", "other"])
    lost = both["value"].count() - judged.height
    notes = [f"{lost} lose their verdict"] if lost else []
    without = sorted({tag for tag in both["language"] if not has_neutral_words(tag)}) if padded else []
    if without:
        notes.append(f"in English for {', '.join(without)}")
    moves = judged["other"] - judged["value"]
    often = _row("changed", (moves != 0).cast(float), judged["cluster"], "; ".join(notes), share=True)
    return [often, _row("mean change", moves, judged["cluster"], share=False)]


def _order(plain: pl.DataFrame) -> list[dict[str, Any]]:
    """How often the order of a pair decides; only pairs are shown in two orders."""
    inconsistent = plain["remark"].str.starts_with(INCONSISTENT) & (plain["state"] == "cannot-assess")
    swayed = plain.filter(inconsistent)
    told = plain.filter(inconsistent | (plain["state"] == "judged"))
    took = swayed["remark"].str.contains(FIRST_EACH_TIME).cast(float)
    changed = (told["state"] != "judged").cast(float)
    place = _row("of these, took the first", took, swayed["cluster"], share=True)
    return [_row("changed", changed, told["cluster"], share=True), {**place, "note": ""}]


def _family(plain: pl.DataFrame, rater: str, models: Mapping[str, str], people: pl.DataFrame | None) -> dict[str, Any]:
    """How much better the judge finds answers of its own family than others' to the same questions."""
    signatures = {signature for signature, model in models.items() if family(model) == family(rater.partition("@")[0])}
    values, note = plain.drop_nulls("value"), "may be deserved: people's labels tell (--people)"
    if people is not None:
        labels = people.group_by(_PLACE).agg(people=pl.col("value").mean()).drop_nulls()
        values, note = values.join(labels, on=_PLACE, how="inner", maintain_order="left"), "beyond what people say"
        values = values.with_columns(value=pl.col("value") - pl.col("people"))
    ours = pl.col("run").is_in(sorted(signatures))
    sides = values.group_by("item_id", "variant", "cluster", maintain_order=True).agg(
        ours=pl.col("value").filter(ours).mean(), others=pl.col("value").filter(~ours).mean()
    )
    pairs = sides.drop_nulls()
    row = _row("mean difference", pairs["ours"] - pairs["others"], pairs["cluster"], note, share=False)
    return row if row["n"] else _unmeasured("mean difference", "name runs of its family and of others")


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
        both = _both(judge, people).drop_nulls("judge")
        raters = sorted(both["rater"].unique())
        # A row for each person with the judge: people's pairs then have no answer in common, and are in no mean.
        columns = both.select("judge", "value", "rater").rows()
        single = [[own, *(value if who == name else None for name in raters)] for own, value, who in columns]
        people_only = both.pivot("rater", index=[*_PLACE, "cluster"], values="value")
        alpha = _NOMINAL if _two(both["value"]) else "krippendorff-interval"
        coefficients: tuple[Coefficient, ...] = ("percent", "cohen", alpha)
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

    For criteria that people answer with yes or no. The surest verdicts come first: those on which all its samples are
    one, then those on which fewer are. ``coverage``: the share of the answers that people labelled and it decides;
    ``value``: the share of these on which it is against most people, with an interval over questions; people who are
    divided count as half.
    """
    rows = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        judge = verdicts.filter(criterion=criterion)
        both = _both(judge, people)
        if not _two(both["value"]):
            continue
        said = both.group_by(*_PLACE, "cluster", maintain_order=True).agg(
            judge=pl.col("judge").first(), mean=pl.col("mean").first(), people=pl.col("value").mean()
        )
        against = ((pl.col("judge") - 0.5).sign() - (pl.col("people") - 0.5).sign()).abs() / 2
        sureness = pl.when(pl.col("judge").is_not_null()).then((2 * pl.col("mean") - 1).abs())
        sure = said.with_columns(sureness=sureness, wrong=against)
        for least in sorted(sure["sureness"].drop_nulls().unique(), reverse=True):
            part = sure.filter(pl.col("sureness") >= least)
            (mean,) = mean_estimates(part["wrong"], part["cluster"].to_list(), binary=True)
            coverage = len(part) / len(sure)
            rows.append((judge["rater"][0], criterion, coverage, mean.n, mean.value, mean.low, mean.high))
    return pl.DataFrame(rows, schema=RISK_SCHEMA, orient="row")


def _both(judge: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return people's verdicts with the judge's on the same answer, null where it has none.

    Where people say yes or no, the mean of a judge's samples is rounded to what most of them say.
    """
    said = people.drop_nulls("value").select(*_PLACE, "cluster", "rater", "value")
    both = said.join(judge.select(*_PLACE, mean="value"), on=_PLACE, how="inner", maintain_order="left")
    most = pl.when(pl.col("mean") != 0.5).then(pl.col("mean").round())
    return both.with_columns(judge=most if _two(both["value"]) else pl.col("mean"))


def _two(values: pl.Series) -> bool:
    return bool(values.is_in([0.0, 1.0]).all())
