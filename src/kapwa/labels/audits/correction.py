"""Scores as people's labels correct them: of each run, by culture and over cultures, and differences between runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.labels.agreement import has_majority
from kapwa.labels.audits.carrying import AUDITED_SCHEMA
from kapwa.labels.audits.draws import STRATUM, UNIT, Draw, Population
from kapwa.labels.audits.questions import RIGHT, LabelQuestion
from kapwa.labels.raters import agreement_by_culture, nesting_notes, rater_table
from kapwa.labels.rubrics import measures_of, name_of
from kapwa.labels.verdicts import OVERALL, of_answers, of_criteria
from kapwa.runs.finished_run import Run
from kapwa.runs.signature import Signature
from kapwa.stats.corrected import Corrected, corrected_difference, corrected_means, corrected_over_strata
from kapwa.stats.families import family_words, members
from kapwa.stats.raters import RaterLabels, rater_labels
from kapwa.stats.significance import holm
from kapwa.tables import schema_of
from kapwa.value_types import Cells, JsonMapping, JsonObject

# Tables of single answers and labels.
_SINGLE = ("verdicts", "answers")
_ESTIMATE = schema_of(
    "n:whole labelled:whole clusters:whole automatic:real automatic_low:real automatic_high:real "
    "people:real people_low:real people_high:real value:real low:real high:real bias:real bias_low:real bias_high:real "
    "weight:real saving:real use reason raters:whole rater_sd:real holds_for shown:real shown_low:real shown_high:real"
)
_OF_SCORER = tuple(
    name for name in _ESTIMATE if name.startswith(("automatic", "bias", "value", "low", "high", "weight", "saving"))
)
_WHERE = schema_of("culture language variant metric strata:whole")
SCORE_SCHEMA = {"system": pl.String(), **_WHERE, **_ESTIMATE, "signature": pl.String()}
DIFFERENCE_SCHEMA = {**schema_of("a b"), **_WHERE, **_ESTIMATE, **schema_of("p_value:real p_holm:real family")}
PROPOSAL_SCHEMA = schema_of("item_id culture language question group wording votes:whole raters:whole draw rubric")


@dataclass(frozen=True)
class Audit:
    """What people's labels say of automatic scores.

    ``scores``: a row for each system and stratum (culture, language, variant), and one over the strata of a variant
    (``culture`` null, ``strata`` their number, each counting alike); ``shown`` is the number to print: corrected, or
    people's alone where ``use`` is "people". ``holds_for`` says of whom its interval speaks: of "people" like the
    ``raters``, or, where these are too few to tell how far people differ, of "these raters". ``differences``: the same
    of every two systems, corrected jointly, with Holm's p-values over the tests that ``family`` names.
    ``raters``: how much more often than others a person says yes on the same answers. ``agreement``: by culture.
    ``verdicts``: the labels (:data:`kapwa.labels.verdicts.VERDICT_SCHEMA`). ``proposals``: wordings that the scorer
    found wrong and most people right. ``answers``: every answer, with score, label and probability
    (:data:`kapwa.labels.audits.carrying.AUDITED_SCHEMA`). ``measures``: what the rubric measures
    (:class:`kapwa.labels.rubrics.Rubric`); ``corrects``: whether the task's metric measures the same. Where it does
    not, its scores are left out, and ``metric`` is the rubric's name.
    """

    draw: str
    rubric: str
    question: str
    measures: str
    corrects: bool
    metric: str
    title: str
    scores: pl.DataFrame
    differences: pl.DataFrame
    raters: pl.DataFrame
    agreement: pl.DataFrame
    verdicts: pl.DataFrame
    proposals: pl.DataFrame
    answers: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def by_criteria(self) -> bool:
        """Whether a label sums up verdicts by several criteria."""
        return self.verdicts.filter(criterion=OVERALL).height > 0

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by the names of their files; the answers of a recorded draw only, which others can use."""
        answers = {"answers": self.answers} if self.draw else {}
        return answers | {
            "corrected": self.scores,
            **{name: getattr(self, name) for name in ("differences", "raters", "agreement", "verdicts", "proposals")},
        }

    def to_dict(self) -> JsonObject:
        """Return all of it but single verdicts and answers as plain values, for JSON."""
        tables = {name: table.to_dicts() for name, table in self.tables().items() if name not in _SINGLE}
        facts = {
            name: getattr(self, name)
            for name in ("draw", "rubric", "question", "measures", "corrects", "metric", "title")
        }
        return {**facts, **tables, "notes": list(self.notes)}


def labelled_answers(population: Population, draw: Draw, verdicts: pl.DataFrame) -> pl.DataFrame:
    """All answers drawn from, with the ``probability`` of those drawn and the ``label`` of those labelled, else null.

    Judging again changes a run's signature: ``run`` is the one it had when its answers were drawn. ``stratum``: culture
    and language. Raises DataError for a run whose answers are not those that were drawn from.
    """
    known = {run["answers"]: run["run"] for run in draw.runs}
    for run in population.runs:
        if run["answers"] not in known:
            changed = run["run"] in known.values()
            what = "has other answers than when they were drawn" if changed else "is not one of the runs drawn from"
            names = ", ".join(entry["system"] for entry in draw.runs)
            hint = "Name the runs as they were, or draw from these with kapwa label sample."
            raise DataError(f"{run['system']} {what}: draw {draw.id} is of {names}.", hint=hint)
    labels = of_answers(verdicts).group_by("run", *UNIT).agg(label=pl.col("value").mean())
    schema = {name: draw.key.schema[name] for name in UNIT}
    left_out = pl.DataFrame(list(draw.left_out), schema=schema, orient="row")
    return (
        population.frame.with_columns(
            run=pl.col("run").replace({run["run"]: known[run["answers"]] for run in population.runs})
        )
        .join(left_out, on=UNIT, how="anti", maintain_order="left")
        .join(draw.key.select("run", *UNIT, "probability"), on=["run", *UNIT], how="left", maintain_order="left")
        .join(labels, on=["run", *UNIT], how="left", maintain_order="left")
        .with_columns(stratum=pl.concat_str(STRATUM[:2], separator="\0"))
    )


def with_scorer(population: Population, verdicts: pl.DataFrame, draw: Draw) -> tuple[Population, str, tuple[str, ...]]:
    """Put a judge's verdicts in the place of the scores; return its name, too, and notes.

    The judge may have read the answers before or after they were judged again, which changes a run's signature.

    An answer that the judge could not read or assess has the mean of its verdicts: what a scorer says of an answer may
    be anything, labels put it right. Raises UsageError for verdicts of people, or several judges, DataError where a run
    has none.
    """
    by_judge = of_answers(verdicts.filter(kind="judge"))
    judges = by_judge.select("rater", "rubric", "criterion").unique().rows()
    if len(judges) != 1:
        raise UsageError(
            f"The scorer's verdicts are of {len(judges)} judges, rubrics and criteria; one is needed.",
            hint="Keep the rows of one.",
        )
    _check_measures_the_same(judges[0][1], draw.asked)
    drawn = {run["answers"]: run["run"] for run in draw.runs}
    now = {drawn[run["answers"]]: run["run"] for run in population.runs if run["answers"] in drawn}
    judged = by_judge.select(pl.col("run").replace(now), *UNIT, judged="value")
    frame = population.frame.join(judged, on=["run", *UNIT], how="left", maintain_order="left", validate="m:1")
    missing = frame["judged"].null_count()
    unread = judged.join(population.frame, on=["run", *UNIT], how="semi").height
    if missing == len(frame) and unread:
        message = f"the judge has verdicts on {unread} of these answers, and none that could be read or assessed."
        raise DataError(message, hint="It says nothing of them and saves no labels: leave --scorer out.")
    known = set(frame.drop_nulls("judged")["system"])
    without = [name for name in frame["system"].unique(maintain_order=True) if name not in known]
    if without:
        raise DataError(
            f"the scorer's verdicts are of no answer of {', '.join(without)}.",
            hint="Let the judge read these runs as they are now: kapwa judge RUN...",
        )
    usual = pl.col("judged").mean().over("run", *STRATUM)
    value = pl.coalesce("judged", usual, pl.col("judged").mean())
    note = f"{missing} of {len(frame)} answers have no verdict of the judge, and count as its mean."
    named = f"{judges[0][0]}, {judges[0][1]}"
    scored = frame.with_columns(value=value).drop("judged")
    return replace(population, frame=scored), named, (note,) if missing else ()


def _check_measures_the_same(rubric: str, asked: LabelQuestion) -> None:
    """Raise UsageError for a judge's verdicts by a rubric that asks something else than people were asked."""
    same = bool(asked.measures) and measures_of(rubric) == asked.measures
    if name_of(rubric) != asked.name and not same:
        message = f"The scorer's verdicts are by the rubric {rubric}, and people labelled by {asked.rubric}."
        hint = f"Labels correct what measures the same. Let the model judge by it: kapwa judge --rubric {asked.name}"
        raise UsageError(message, hint=hint)


def apply_labels(
    runs: Sequence[Run],
    population: Population,
    draw: Draw,
    verdicts: pl.DataFrame,
    notes: Sequence[str] = (),
    scorer: str = "",
) -> Audit:
    """Correct the scores of ``population`` by ``verdicts`` on the answers of ``draw``.

    The label of an answer is the mean of what people say of it; where all could not assess it, it has none. Without a
    draw (its id is ""), people's share and the scorer's stand side by side, with no interval.
    """
    answers = labelled_answers(population, draw, verdicts)
    manifests = {
        name: run.manifest for name, run in zip(answers["system"].unique(maintain_order=True), runs, strict=True)
    }
    inferred = bool(draw.id)
    fits = population.fits(draw.asked)
    metric = draw.metric if fits else draw.asked.name
    unscored = population.unscored
    judged = answers.with_columns(value=pl.lit(0.0)) if unscored else answers  # any constant says nothing
    rater_values = of_answers(verdicts).drop_nulls("value").select("run", *UNIT, "rater", rater_value="value")
    scores = [
        row
        for group in _systems_and_variants(judged)
        for row in _score_rows(group, metric, draw, manifests, rater_values, scorer=scorer)
    ]
    pairs = list(_difference_rows(judged, rater_values, metric)) if inferred else []
    estimates = pl.DataFrame(scores, schema=SCORE_SCHEMA)
    differences = _adjusted(pl.DataFrame(pairs, schema=DIFFERENCE_SCHEMA))
    if unscored:
        estimates, differences = _without_scorer(estimates), _without_scorer(differences)
    scored_by = (pl.lit(draw.rubric).alias("rubric"), pl.lit(scorer or draw.metric * fits).alias("scorer"))
    return Audit(
        draw=draw.id,
        rubric=draw.rubric,
        question=draw.asked.question["en"],
        measures=draw.asked.measures,
        corrects=fits,
        metric=metric,
        title=scorer or (runs[0].metrics[metric].title if fits else f"“{draw.asked.title}”"),
        scores=estimates,
        differences=differences,
        raters=rater_table(of_criteria(verdicts)),
        agreement=agreement_by_culture(of_criteria(verdicts), draw.seed),
        verdicts=verdicts,
        proposals=_proposals(runs, answers, verdicts, draw),
        answers=answers.with_columns(scored_by).select(*AUDITED_SCHEMA),
        notes=(*notes, *_notes(verdicts, answers, draw)),
    )


def _without_scorer(rows: pl.DataFrame) -> pl.DataFrame:
    """Return estimates of answers that no scorer has scored: people's alone, and nothing of a scorer's."""
    without_a_scorer = pl.col("reason").is_in(["few-labels", "no-saving"])
    reason = pl.when(without_a_scorer).then(pl.lit("no-scorer")).otherwise("reason")
    return rows.with_columns(*(pl.lit(None, pl.Float64).alias(name) for name in _OF_SCORER), reason=reason)


def _systems_and_variants(answers: pl.DataFrame) -> list[pl.DataFrame]:
    return answers.partition_by("system", "variant", maintain_order=True)


def _arrays(answers: pl.DataFrame, *names: str) -> list[Any]:
    return [answers[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in names]


def _design(answers: pl.DataFrame) -> tuple[Any, pl.Series, pl.Series]:
    """The probability with which each answer was drawn, its stratum and its cluster."""
    return answers["probability"].fill_null(1.0).to_numpy(), answers["stratum"], answers["cluster"]


def corrected_rows(group: pl.DataFrame, rater_values: pl.DataFrame | None = None) -> list[Corrected]:
    """The corrected means of one run and variant: of each stratum, then, where there are several, over them.

    ``rater_values``: each person's verdict on an answer (``rater``, ``rater_value``), by run and item; None: unknown.
    """
    answers = (*_arrays(group, "value", "label"), *_design(group))
    by_rater = (
        None if rater_values is None else _by_rater(group.with_row_index("row").join(rater_values, on=["run", *UNIT]))
    )
    rows = corrected_means(*answers, by_rater=by_rater)
    return rows + ([corrected_over_strata(*answers, by_rater=by_rater)] if len(rows) > 1 else [])


def _by_rater(labels: pl.DataFrame) -> RaterLabels:
    return rater_labels(labels["row"].to_numpy(), labels["rater"], labels["rater_value"].to_numpy())


def _score_rows(
    group: pl.DataFrame,
    metric: str,
    draw: Draw,
    manifests: JsonMapping,
    rater_values: pl.DataFrame,
    *,
    scorer: str,
) -> Iterator[Cells]:
    """The corrected scores of one system and variant: those of its strata, then, of several, that over them."""
    system, variant = group["system"][0], group["variant"][0]
    rows = corrected_rows(group, rater_values)
    for row in rows:
        where = _where(row, variant, metric, max(len(rows) - 1, 1))
        whose = {name: where[name] for name in ("culture", "language") if where[name]}
        signed = Signature(manifests[system]).of(metric, variant, whose)
        more = f"|audit:{draw.id or 'none'}|rubric:{draw.rubric}|labels:{row.labelled}"
        signed += (f"|scorer:{scorer.replace('|', '/').replace(' ', '')}" if scorer else "") + more
        yield {"system": system, **where, **_estimate(row, inferred=bool(draw.id)), "signature": signed}


def _where(row: Corrected, variant: str, metric: str, strata: int) -> JsonObject:
    culture, _, language = row.stratum.partition("\0")
    columns = {"culture": culture or None, "language": language or None, "variant": variant, "metric": metric}
    return {**columns, "strata": 1 if row.stratum else strata}


def _estimate(row: Corrected, *, inferred: bool) -> JsonObject:
    """The fields of an estimate, and which of its numbers to print; of hand-picked labels neither."""
    facts = {name: value for name, value in row._asdict().items() if name in _ESTIMATE}
    facts["holds_for"] = "these raters" if row.rater_sd is None else "people"
    if not inferred:
        columns = (
            "n",
            "labelled",
            "clusters",
            "automatic",
            "automatic_low",
            "automatic_high",
            "people",
            "bias",
            "raters",
        )
        return {**{name: facts[name] for name in columns}, "use": "none", "reason": "hand-picked"}
    shown = {"corrected": (row.value, row.low, row.high), "people": (row.people, row.people_low, row.people_high)}
    return facts | dict(zip(("shown", "shown_low", "shown_high"), shown.get(row.use, (None,) * 3), strict=True))


def _difference_rows(answers: pl.DataFrame, rater_values: pl.DataFrame, metric: str) -> Iterator[Cells]:
    """The corrected differences of every two systems, on the questions that both answered.

    How mild people are cancels where the same people labelled both answers. Where others labelled the one than the
    other, nobody knows what that adds, and the difference holds for these people alone.
    """
    groups = {(group["system"][0], group["variant"][0]): group for group in _systems_and_variants(answers)}
    systems = list(dict.fromkeys(system for system, _ in groups))
    for variant in dict.fromkeys(variant for _, variant in groups):
        for a, b in combinations([name for name in systems if (name, variant) in groups], 2):
            both = groups[a, variant].join(groups[b, variant], on=UNIT, suffix="_b", maintain_order="left")
            scores_a, scores_b, labels_a, labels_b = _arrays(both, "value", "value_b", "label", "label_b")
            by_rater = _by_rater_of_both(both, rater_values)
            for row in corrected_difference(scores_a, scores_b, labels_a, labels_b, *_design(both), by_rater=by_rater):
                where = _where(row, variant, metric, both["stratum"].n_unique())
                yield {"a": a, "b": b, **where, **_estimate(row, inferred=True), "p_value": row.p_value}


def _by_rater_of_both(both: pl.DataFrame, rater_values: pl.DataFrame) -> RaterLabels | None:
    """What each person said of one answer less what they said of the other; None where others labelled the other."""
    labelled = pl.col("label").is_not_null() & pl.col("label_b").is_not_null()
    numbered = both.with_row_index("row").filter(labelled)
    first = numbered.join(rater_values, on=["run", *UNIT]).select("row", "rater", "rater_value")
    other = numbered.join(rater_values, left_on=["run_b", *UNIT], right_on=["run", *UNIT]).select(
        "row", "rater", of_b="rater_value"
    )
    pairs = first.join(other, on=["row", "rater"], how="full", coalesce=True)
    if pairs["rater_value"].has_nulls() or pairs["of_b"].has_nulls():
        return None
    return _by_rater(pairs.with_columns(rater_value=pl.col("rater_value") - pl.col("of_b")))


def _adjusted(pairs: pl.DataFrame) -> pl.DataFrame:
    """Adjust the p-values of differences by Holm's method: over all pairs, of one culture each or over cultures."""
    p_holm, names = np.full(pairs.height, np.nan), [""] * pairs.height
    tests = pairs.with_columns(kind=pl.lit("runs"), cultures="strata")
    for rows_of_family in members(tests):
        p_holm[rows_of_family] = holm(tests["p_value"][rows_of_family].fill_null(np.nan).to_numpy())
        for row in rows_of_family:
            names[row] = family_words(tests[rows_of_family])
    return pairs.with_columns(p_holm=pl.Series(p_holm).fill_nan(None), family=pl.Series(names, dtype=pl.String))


def _proposals(runs: Sequence[Run], answers: pl.DataFrame, verdicts: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """Answers that the scorer found wrong and at least two thirds of the people right, each wording once a question."""
    questions: dict[tuple[str, str], str] = {}
    for run in runs:
        text_column = "question" if "question" in run.items.columns else "prompt"
        questions |= {
            (item, variant): text for item, variant, text in run.items.select("item_id", "variant", text_column).rows()
        }
    if draw.asked.criteria or draw.asked.measures != RIGHT:  # there is no key that a wording could go into
        return pl.DataFrame(schema=PROPOSAL_SCHEMA)
    wrong = answers.filter(pl.col("value") == 0).select("run", *UNIT, "text")
    votes = verdicts.join(wrong, on=["run", *UNIT]).unique(["item_id", "variant", "text", "rater"], maintain_order=True)
    rows = []
    for (item, variant, text), votes_on_text in votes.group_by("item_id", "variant", "text", maintain_order=True):
        yes, raters = int((votes_on_text["value"] > 0.5).sum()), votes_on_text["value"].count()
        if has_majority(yes, raters):
            cells = (
                item,
                votes_on_text["culture"][0],
                votes_on_text["language"][0],
                questions[item, variant],
                "",
                text.strip(),
            )
            rows.append((*cells, yes, raters, draw.id, draw.rubric))
    return pl.DataFrame(rows, schema=PROPOSAL_SCHEMA, orient="row").sort("item_id", "wording")


def _notes(verdicts: pl.DataFrame, answers: pl.DataFrame, draw: Draw) -> tuple[str, ...]:
    notes = []
    if not draw.id:
        notes.append("These labels do not come from a random sample, so they say nothing about unlabelled answers.")
    else:
        drawn = answers.filter(pl.col("probability").is_not_null())["label"]
        if drawn.has_nulls():
            missing = f"{drawn.null_count()} of {len(drawn)} drawn answers have no label"
            notes.append(f"{missing}; they are taken to be like the others.")
    cannot = of_criteria(verdicts).filter(state="cannot-assess").height
    if cannot:
        notes.append(f"{cannot} labels are “cannot assess”: they count neither as yes nor as no.")
    empty = answers.group_by(STRATUM, maintain_order=True).agg(pl.col("label").count()).filter(pl.col("label") == 0)
    if empty.height:
        names = ", ".join(" / ".join(row[:3]) for row in empty.rows()[:5])
        notes.append(f"No answer is labelled in {empty.height} strata, so nothing is corrected there: {names}.")
    return (*notes, *nesting_notes(verdicts))
