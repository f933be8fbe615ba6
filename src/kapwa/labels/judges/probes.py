"""How far a judging model can be trusted: what sways it that should not.

A probe asks about the same answers once more, changed in a way that changes no answer's worth. How often verdicts
change when nothing is changed at all ("repeat") is the level to hold the other rates against.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.labels.agreement import ANSWER, PLACE
from kapwa.labels.judges.prompts import Change, has_neutral_words
from kapwa.runs.finished_run import brief_model
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import Cells, JsonObject

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
PROBE_SCHEMA = schema_of("rater probe criterion measure n:whole value:real low:real high:real note")


def probes_of(wanted: Sequence[str], *, pairs: bool) -> tuple[str, ...]:
    """Return the probes that ``wanted`` names; "all": those that there are for ``pairs``, or for single answers.

    Raises UsageError for an unknown probe, and one of pairs where there are none.
    """
    fitting = tuple(name for name in PROBES if pairs or name != "order")
    for name in wanted:
        if name not in (*PROBES, "all"):
            raise UsageError(f"There is no probe {name!r}.", hint=nearest(name, (*PROBES, "all")))
        if name not in (*fitting, "all"):
            raise UsageError(f"The probe {name!r} is of pairs.", hint="Use --rubric pairwise, or leave it out.")
    return fitting if "all" in wanted else tuple(wanted)


def probe_changes(probes: Sequence[str], judge: str) -> list[Change]:
    """Return how prompts are changed for ``probes`` of the model ``judge``; order and family take no further prompt."""
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
    rows: list[Cells] = []
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        by_name = {name: frame.filter(criterion=criterion) for name, frame in changed.items()}
        plain = verdicts.filter(criterion=criterion)
        rater = str(plain["rater"][0])
        for probe in probes:
            if probe == "order":
                shown = _order(plain)
            elif probe == "family":
                shown = [_family(plain, rater, models, people)]
            elif probe == "names":
                shown = _shift(by_name[ANOTHER], by_name[ITSELF])
            else:
                shown = _shift(plain, by_name[probe], padded=probe == "length")
            about = {"rater": rater, "probe": f"{probe}: {PROBES[probe]}", "criterion": criterion}
            rows += [{**about, **row} for row in shown]
    return pl.DataFrame(rows, schema=PROBE_SCHEMA)


def _row(measure: str, values: Any, clusters: pl.Series, note: str = "", *, share: bool) -> Cells:
    (mean,) = mean_estimates(values, clusters.to_list(), share=share)
    numbers = {"n": mean.n, "value": mean.value, "low": mean.low, "high": mean.high}
    return {"measure": measure, **numbers, "note": note} if mean.n else _unmeasured(measure, "no answer has a verdict")


def _unmeasured(measure: str, why: str) -> JsonObject:
    return {"measure": measure, "n": 0, "note": f"not measured: {why}"}


def _shift(plain: pl.DataFrame, changed: pl.DataFrame, *, padded: bool = False) -> list[Cells]:
    """How often, and which way, verdicts change where prompts are changed."""
    both = plain.join(changed.select(*PLACE, other="value"), on=PLACE, how="inner", maintain_order="left")
    judged = both.drop_nulls(["value", "other"])
    lost = both["value"].count() - judged.height
    notes = [f"{lost} lose their verdict"] if lost else []
    without = sorted({tag for tag in both["language"] if not has_neutral_words(tag)}) if padded else []
    if without:
        notes.append(f"in English for {', '.join(without)}")
    moves = judged["other"] - judged["value"]
    often = _row("changed", (moves != 0).cast(float), judged["cluster"], "; ".join(notes), share=True)
    return [often, _row("mean change", moves, judged["cluster"], share=False)]


def _order(plain: pl.DataFrame) -> list[Cells]:
    """How often the order of a pair decides; only pairs are shown in two orders."""
    inconsistent = plain["remark"].str.starts_with(INCONSISTENT) & (plain["state"] == "cannot-assess")
    swayed = plain.filter(inconsistent)
    decided = plain.filter(inconsistent | (plain["state"] == "judged"))
    took = swayed["remark"].str.contains(FIRST_EACH_TIME).cast(float)
    changed = (decided["state"] != "judged").cast(float)
    took_first = _row("of these, took the first", took, swayed["cluster"], share=True)
    return [_row("changed", changed, decided["cluster"], share=True), {**took_first, "note": ""}]


def _family(plain: pl.DataFrame, rater: str, models: Mapping[str, str], people: pl.DataFrame | None) -> JsonObject:
    """How much better the judge finds answers of its own family than others' to the same questions."""
    signatures = {signature for signature, model in models.items() if family(model) == family(rater.partition("@")[0])}
    values, note = plain.drop_nulls("value"), "may be deserved: people's labels tell (--people)"
    if people is not None:
        labels = people.group_by(PLACE).agg(people=pl.col("value").mean()).drop_nulls()
        values, note = values.join(labels, on=PLACE, how="inner", maintain_order="left"), "beyond what people say"
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


def check_labels(people: pl.DataFrame, rubric: str, keys: Collection[tuple[str, str, str, int]]) -> pl.DataFrame:
    """Return people's verdicts on the answers at ``keys`` (run, item, variant, sample).

    Raises DataError where people judged by another rubric than ``rubric``, or none of these answers.
    """
    labels = people.filter(kind="person")
    others = sorted(set(labels["rubric"].unique()) - {rubric})
    if others:
        hint = "Judge by the rubric that people had, or let people judge anew: a changed rubric makes other verdicts."
        raise DataError(f"the labels are by {others[0]}, and the judge is asked by {rubric}.", hint=hint)
    shared = labels.filter(pl.Series([key in keys for key in labels.select(ANSWER).rows()], dtype=pl.Boolean))
    if shared.is_empty():
        raise DataError("no person labelled an answer that the judge is asked about.", hint="Name the draw: --draw")
    return shared
