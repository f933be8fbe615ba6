"""People's judgement of model answers: majority shares per criterion, and agreement (Kalahi, Appendix I).

An answer has a quality when at least two thirds of the people who judged it say so (Tables 16 and 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kapwa.errors import DataError
from kapwa.labels.agreement import SCHEMA, Result, has_majority, rater_agreement
from kapwa.labels.ratings.reading import RatedAnswers, read_ratings
from kapwa.labels.rubrics import Criterion, Rubric
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import Cells

# What tells one answer from another, and its cluster.
_OF_ANSWER = ("draw", "answer", "item_id", "variant", "system", "cluster")
# From this share of equal answers on, chance-corrected agreement comes with a warning.
PREVALENT = 0.9

_SHARES = schema_of("criterion agreed:whole n:whole value:real low:real high:real clusters:whole unrated:whole")


@dataclass(frozen=True, slots=True)
class HumanRatings(Result):
    """What people judged by a ``rubric`` (its name); each table is a Polars frame.

    ``shares``: ``system, criterion, agreed, n, value, low, high, clusters, unrated``: of ``n`` answers, how many at
    least 2/3 of their raters found good (Tables 16 and 17); ``unrated`` answers have no judgement and are not in n.
    ``cultures``: the same by ``culture``, over all models (BLEnD, table 13); no rows where fewer than two are known.
    ``agreement``: ``criterion, coefficient, value, low, high, units, raters, note``, over all models.
    ``remarks``: see :attr:`kapwa.labels.ratings.reading.RatedAnswers.remarks`.
    """

    rubric: str
    title: str
    yes_means: str
    criteria: tuple[Criterion, ...]
    shares: pl.DataFrame
    cultures: pl.DataFrame
    agreement: pl.DataFrame
    remarks: pl.DataFrame
    responses: int
    raters: int
    notes: tuple[str, ...] = ()


def human_ratings(
    paths: str | Path | Sequence[str | Path],
    *,
    rubric: str | Path | Rubric | None = None,
    key: str | Path | Sequence[str | Path] | None = None,
    seed: int = 1,
    replicates: int = 2000,
) -> HumanRatings:
    """Read filled rating sheets and analyse them: what ``kapwa label read`` does; see :func:`read_ratings`."""
    return analyse_ratings(read_ratings(paths, rubric=rubric, key=key), seed=seed, replicates=replicates)


def analyse_ratings(ratings: RatedAnswers, *, seed: int = 1, replicates: int = 2000) -> HumanRatings:
    """Compute majority shares per model and criterion, and agreement per criterion with bootstrap intervals.

    Intervals are clustered by the answers' cluster (the items' cluster where the key names it, else the item).
    Raises DataError when no judgement was made.
    """
    frame, criteria = ratings.verdicts, ratings.rubric.criteria
    if not frame["value"].count():
        raise DataError("no judgement was made, so there is nothing to analyse.")
    of_known_culture = frame.filter(pl.col("culture") != "")
    by_culture = of_known_culture if of_known_culture["culture"].n_unique() > 1 else of_known_culture.clear()
    agreement = [
        {"criterion": criterion.code, **row}
        for criterion in criteria
        for row in _agreement_rows(frame, criterion.code, seed=seed, replicates=replicates)
    ]
    return HumanRatings(
        rubric=ratings.rubric.name,
        title=ratings.rubric.title,
        yes_means=ratings.rubric.yes_means,
        criteria=tuple(criteria),
        shares=_shares(frame, criteria, "system"),
        cultures=_shares(by_culture, criteria, "culture"),
        agreement=pl.DataFrame(agreement, schema={"criterion": pl.String, **SCHEMA}),
        remarks=ratings.remarks,
        responses=frame.select(_OF_ANSWER).n_unique(),
        raters=frame["rater"].n_unique(),
        notes=(*ratings.notes, *_notes(frame)),
    )


def _shares(frame: pl.DataFrame, criteria: Sequence[Criterion], by: str) -> pl.DataFrame:
    """Of the answers of each ``by`` ("system", "culture"), how many a majority found good, by criterion."""
    rows = [row for criterion in criteria for row in _share_rows(frame, criterion.code, by)]
    return pl.DataFrame(rows, schema={by: pl.String, **_SHARES}).sort(by, maintain_order=True)


def _share_rows(frame: pl.DataFrame, code: str, by: str) -> list[Cells]:
    votes = (
        frame.filter(pl.col("criterion") == code)
        .group_by(*dict.fromkeys((by, *_OF_ANSWER)), maintain_order=True)
        .agg(yes=(pl.col("value") > 0.5).sum(), answered=pl.col("value").count())
    )
    rows = []
    for (whose,), group in votes.group_by(by, maintain_order=True):
        judged = group.filter(pl.col("answered") > 0)
        verdicts = [has_majority(yes, answered) for yes, answered in judged.select("yes", "answered").iter_rows()]
        (estimate,) = mean_estimates([float(verdict) for verdict in verdicts], judged["cluster"].to_list(), share=True)
        unrated = len(group) - len(judged)
        cells = (sum(verdicts), estimate.n, estimate.value, estimate.low, estimate.high, estimate.clusters, unrated)
        rows.append({by: whose, **dict(zip(_SHARES, (code, *cells), strict=True))})
    return rows


def _agreement_rows(frame: pl.DataFrame, code: str, *, seed: int, replicates: int) -> list[Cells]:
    answers = frame.filter(criterion=code)
    rows = rater_agreement(answers, _OF_ANSWER, seed=seed, replicates=replicates)
    note = _prevalence(answers["value"].drop_nulls() > 0.5)
    return [row | {"note": note if note and row["coefficient"] != "percent" else row["note"]} for row in rows]


def _prevalence(answers: pl.Series) -> str:
    """Say when nearly all answers are the same: chance agreement then nears 1 and leaves κ and α nothing to tell."""
    yes = int(answers.sum())
    word = "yes" if 2 * yes >= len(answers) else "no"
    share = max(yes, len(answers) - yes) / max(1, len(answers))
    if share == 1:
        return f"undefined: everybody says {word} throughout"
    return f"{share:.0%} of answers are {word}: κ and α say little, read the agreement" if share >= PREVALENT else ""


def _notes(frame: pl.DataFrame) -> list[str]:
    notes = []
    empty = frame["value"].null_count()
    if empty:
        notes.append(f"{empty} of {len(frame)} judgements were left empty; they count neither as yes nor as no.")
    people = frame.filter(pl.col("value").is_not_null()).group_by(_OF_ANSWER).agg(pl.col("rater").n_unique())
    few = people.filter(pl.col("rater") < 3).height
    if few:
        notes.append(f"{few} of {people.height} answers were judged by fewer than three people.")
    if frame["rater"].n_unique() == 1:
        notes.append("Only one person judged, so agreement is undefined.")
    return notes
