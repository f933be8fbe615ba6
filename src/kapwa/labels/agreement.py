"""Agreement tables: every coefficient of :mod:`kapwa.stats.agreement` with its interval, one row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel

from kapwa.stats.agreement import Coefficient, bootstrap_interval
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import Cells, JsonObject

# A row a unit, a column a rater, None where a rater gave no answer.
Table = Sequence[Sequence[Any]]

SCHEMA = schema_of("coefficient value:real low:real high:real units:whole raters:whole note")
NAMES = {
    "percent": "Agreement",
    "cohen": "Cohen's κ, mean of pairs",
    "fleiss": "Fleiss' κ",
    "krippendorff-nominal": "Krippendorff's α",
    "guessing": "κ against guessing",
}
COEFFICIENTS: tuple[Coefficient, ...] = ("percent", "cohen", "fleiss", "krippendorff-nominal")
# Which answer of which run a verdict is on, and by which criterion.
ANSWER = ("run", "item_id", "variant", "sample")
PLACE = (*ANSWER, "criterion")
JUDGE_SCHEMA = schema_of("rater criterion coefficient between n:whole value:real low:real high:real")
RISK_SCHEMA = schema_of("rater criterion coverage:real n:whole value:real low:real high:real")
MOST_PAIRED = 100  # 4,950 pairs; a thousand people would make half a million, and fill the memory


class Result:
    """What was computed of people's answers, as a dataclass of tables, estimates and counts."""

    __slots__ = ()

    def to_dict(self) -> JsonObject:
        """Return everything as plain values for JSON; None where a number is undefined."""
        return {field.name: _json_value(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _json_value(value: object) -> Any:
    """Tables as lists of rows, records as mappings."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, BaseModel):
        return value.model_dump()
    return [_json_value(one) for one in value] if isinstance(value, tuple) else value


def has_majority(yes: int, answered: int) -> bool:
    """Say whether at least two thirds of those who answered say yes; exact, in whole numbers.

    2 of 3 and 4 of 6 are a majority, 1 of 2 is not.
    """
    return answered > 0 and 3 * yes >= 2 * answered


def agreement_rows(
    table: Table,
    clusters: Sequence[str],
    *,
    seed: int,
    replicates: int = 2000,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
) -> list[Cells]:
    """Return one row per coefficient with a bootstrap interval over clusters of units.

    A coefficient that is undefined has a null value, and the note says why.
    """
    matrix = np.array([list(line) for line in table], dtype=object)
    used = {answer for answer in matrix.ravel() if answer is not None}
    rows: list[Cells] = []
    for name in coefficients:
        if name == "cohen" and matrix.shape[1] > MOST_PAIRED:
            empty = dict.fromkeys(("value", "low", "high", "units"))
            note = f"not computed for more than {MOST_PAIRED} people, who make too many pairs"
            rows.append({"coefficient": name, **empty, "raters": matrix.shape[1], "note": note})
            continue
        estimate = bootstrap_interval(matrix, name, clusters=clusters, seed=seed, replicates=replicates)
        note = ""
        if estimate.value is None:
            reason = "every answer is the same" if len(used) == 1 else "chance agreement is 1"
            note = f"undefined: {reason if estimate.units else 'no two raters judged the same thing'}"
        elif estimate.low is None:
            why = f": {estimate.undefined:.0%} of resamples undefined" if estimate.undefined >= 0.005 else ""
            note = f"no interval{why}"
        rows.append({**{column: getattr(estimate, column) for column in SCHEMA if column != "note"}, "note": note})
    return rows


def rater_agreement(answers: pl.DataFrame, unit: Sequence[str], value: str = "value", **settings: Any) -> list[Cells]:
    """Return :func:`agreement_rows` of a table with a row an answer; no rows where only one ``rater`` answered.

    ``unit``: the columns that tell apart what was judged, ``cluster`` among them; ``value``: the column of answers.
    """
    raters = sorted(answers["rater"].unique())
    if len(raters) < 2:
        return []
    wide = answers.pivot("rater", index=unit, values=value, aggregate_function="last")
    return agreement_rows(wide.select(raters).rows(), wide["cluster"].to_list(), **settings)


def guessing_row(table: Table, options: Sequence[int], clusters: Sequence[str]) -> Cells:
    """Return κ against guessing: chance agreement is that of raters who pick any of a unit's options at random.

    ``options``: how many each unit has. (P_o − P_e) / (1 − P_e) with P_e the mean of 1/options; with equally many
    options everywhere it is Brennan and Prediger's (1981) free-marginal κ. It needs no naming of categories. The
    interval is that of P_o, percent agreement, with P_e as it is.
    """
    agreed, chances, n_raters = [], [], []
    for line, count, cluster in zip(table, options, clusters, strict=True):
        answers = [answer for answer in line if answer is not None]
        pairs = len(answers) * (len(answers) - 1)
        if pairs:
            agreed.append(sum(answers.count(answer) - 1 for answer in answers) / pairs)
            chances.append(1 / count)
            n_raters.append(cluster)
    observed = mean_estimates(agreed, n_raters, share=True)[0]
    chance = float(np.mean(chances)) if chances else 0.0
    shares = (observed.value, observed.low, observed.high)
    kappas = [None if share is None else (share - chance) / (1 - chance) for share in shares]
    width = max((len(line) for line in table), default=0)
    return dict(zip(SCHEMA, ("guessing", *kappas, len(agreed), width, ""), strict=True))


# --- a judging model beside people: verdicts, a row an answer, rater and criterion -------------------------


def judge_agreement(verdicts: pl.DataFrame, people: pl.DataFrame, *, pooled: bool = False) -> pl.DataFrame:
    """Return how far one judge agrees with people, and people with each other, on the answers of both.

    Cohen's kappa is the mean over pairs of raters: of the judge with each person, of two persons each. Alpha is nominal
    where verdicts have two values, else of an interval scale. Intervals are over questions. ``pooled``: over all
    criteria of an answer, which are others of each question.
    """
    rows: list[Cells] = []
    for criterion, judge in _by_criterion(verdicts, pooled):
        both = _both(judge, people).drop_nulls("judge")
        raters = sorted(both["rater"].unique())
        # A row for each person with the judge: people's pairs then have no answer in common, and are in no mean.
        columns = both.select("judge", "value", "rater").rows()
        single = [[judged, *(value if who == name else None for name in raters)] for judged, value, who in columns]
        people_only = both.pivot("rater", index=["draw", *PLACE, "cluster"], values="value")
        alpha: Coefficient = "krippendorff-nominal" if _two(both["value"]) else "krippendorff-interval"
        coefficients: tuple[Coefficient, ...] = ("percent", "cohen", alpha)
        for between, table, clusters in (
            ("judge and people", single, both["cluster"]),
            ("people and people", people_only.select(raters).rows(), people_only["cluster"]),
        ):
            if len(both):
                about = {"rater": judge["rater"][0], "criterion": criterion, "between": between}
                table_rows = agreement_rows(table, clusters.to_list(), seed=1, coefficients=coefficients)
                rows += [{**about, "n": row["units"], **row} for row in table_rows]
    names = list(JUDGE_SCHEMA)
    return pl.DataFrame(rows, schema={**JUDGE_SCHEMA, **SCHEMA}).select(names)


def judge_risk(verdicts: pl.DataFrame, people: pl.DataFrame, *, pooled: bool = False) -> pl.DataFrame:
    """Return how often one judge errs, by how many of the answers it is made to decide: coverage against risk.

    For criteria that people answer with yes or no. The surest verdicts come first: those on which all its samples are
    one, then those on which fewer are. ``coverage``: the share of the answers that people labelled and it decides;
    ``value``: the share of these on which it is against most people, with an interval over questions; people who are
    divided count as half. ``pooled``: as of :func:`judge_agreement`.
    """
    rows = []
    for criterion, judge in _by_criterion(verdicts, pooled):
        both = _both(judge, people)
        if not _two(both["value"]):
            continue
        by_answer = both.group_by(*PLACE, "cluster", maintain_order=True).agg(
            judge=pl.col("judge").first(), mean=pl.col("mean").first(), people=pl.col("value").mean()
        )
        against = ((pl.col("judge") - 0.5).sign() - (pl.col("people") - 0.5).sign()).abs() / 2
        sureness = pl.when(pl.col("judge").is_not_null()).then((2 * pl.col("mean") - 1).abs())
        sure = by_answer.with_columns(sureness=sureness, wrong=against)
        for least in sorted(sure["sureness"].drop_nulls().unique(), reverse=True):
            surest = sure.filter(pl.col("sureness") >= least)
            (mean,) = mean_estimates(surest["wrong"], surest["cluster"].to_list(), share=True)
            coverage = len(surest) / len(sure)
            rows.append((judge["rater"][0], criterion, coverage, mean.n, mean.value, mean.low, mean.high))
    return pl.DataFrame(rows, schema=RISK_SCHEMA, orient="row")


def _by_criterion(verdicts: pl.DataFrame, pooled: bool) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the verdicts by each criterion, or by all of them and the overall ones apart."""
    if pooled:
        yield "all criteria", verdicts.filter(pl.col("criterion") != "overall")
        verdicts = verdicts.filter(criterion="overall")
    for criterion in verdicts["criterion"].unique(maintain_order=True):
        yield criterion, verdicts.filter(criterion=criterion)


def _both(judge: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return people's verdicts with the judge's on the same answer, null where it has none.

    Where people say yes or no, the mean of a judge's samples is rounded to what most of them say.
    """
    labels = people.drop_nulls("value").select("draw", *PLACE, "cluster", "rater", "value")
    both = labels.join(judge.select(*PLACE, mean="value"), on=PLACE, how="inner", maintain_order="left")
    most = pl.when(pl.col("mean") != 0.5).then(pl.col("mean").round())
    return both.with_columns(judge=most if _two(both["value"]) else pl.col("mean"))


def _two(values: pl.Series) -> bool:
    return bool(values.is_in([0.0, 1.0]).all())
