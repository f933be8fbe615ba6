"""Audits of scores: people label a random draw of answers, and their labels correct what a scorer says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import DRAW, header_of
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.correction import labelled_answers, with_scorer
from kapwa.labels.audits.draws import (
    STRATUM,
    UNIT,
    Draw,
    Population,
    WrittenDraw,
    draw,
    population_of,
    read_draw,
    write_draw,
)
from kapwa.labels.audits.labelled import READ_ONLY, as_drawn, verdicts_of
from kapwa.labels.audits.planning import MISSING, labels_missing, plan_labels
from kapwa.labels.audits.questions import LabelQuestion, asked_of
from kapwa.labels.reading import label_form, labels_in, read_labels
from kapwa.labels.verdicts import of_answers, read_verdicts
from kapwa.runs.finished_run import Run, open_runs
from kapwa.tables import read_sheet
from kapwa.value_types import Cells, JsonObject


class Labelled(NamedTuple):
    """Runs, the answers that were drawn from, the draw, and what people say of it; notes, and the name of a judge."""

    runs: Sequence[Run]
    population: Population
    draw: Draw
    verdicts: pl.DataFrame
    notes: tuple[str, ...]
    scorer: str = ""


def audit_sample(  # noqa: PLR0913 - each is one decision of the caller; all but two have defaults
    runs: Run | str | Path | Sequence[Run | str | Path],
    out: str | Path,
    *,
    n: int = 60,
    seed: int = 1,
    people: int = 2,
    metric: str | None = None,
    variant: str | None = None,
    doubtful: bool | None = None,
    rubric: str | Path = "correct",
) -> WrittenDraw:
    """Draw ``n`` questions of each culture and language, and write all runs' answers to them on blinded sheets.

    ``doubtful``: whether questions with an answer that may be judged wrongly are drawn more often, with known
    probabilities; None: where a matcher judges. ``people``: so many sheets for each culture. ``rubric``: one that asks
    a single question of yes or no, or several with an overall verdict, a row each; where it measures something else
    than the metric, labels correct nothing, and a note says so. See
    :func:`kapwa.labels.audits.draws.draw` and ``write_draw`` for what is written and raised.
    """
    opened = open_runs(runs)
    population = population_of(opened, metric=metric, variant=variant)
    question = asked_of(rubric, opened)
    if doubtful is None:
        judged_by = opened[0].metrics[population.metric].judged_by
        doubtful = population.fits(question) and judged_by == "matcher"
    made = draw(population, n=n, seed=seed, rubric=question, doubtful=doubtful)
    written = write_draw(made, opened, out, people=people)
    return written._replace(notes=(*written.notes, *other_measure(population, question)))


def other_measure(population: Population, question: LabelQuestion) -> tuple[str, ...]:
    """Return the note that labels by a question cannot correct the scores, where these measure something else."""
    if population.fits(question):
        return ()
    what = f"The rubric {question.name} does not measure what {population.metric} measures"
    alone = "its labels correct no score, and people's share stands alone"
    return (f"{what}: {alone}. A judge by the same rubric can be the scorer: kapwa label apply --scorer.",)


def labelled(
    runs: Sequence[Run],
    labels: str | Path | Sequence[str | Path],
    *,
    scorer: str | Path | Sequence[str | Path] | None = None,
    read_only: bool = False,
    metric: str | None = None,
    variant: str | None = None,
) -> Labelled:
    """Read ``labels`` of ``runs`` and the draw that they are of; see :func:`kapwa.audit_apply`."""
    label_folders = [Path(labels)] if isinstance(labels, str | Path) else [Path(path) for path in labels]
    folders = [path for path in label_folders if (path / DRAW).is_file()]
    if len(folders) != 1 and not read_only:
        message = f"Labels are of one draw, and {len(folders) or 'none'} of the folders named holds {DRAW}."
        raise UsageError(message, hint=f"Name the folder that kapwa label sample wrote. {READ_ONLY}")
    drawn = None if read_only else read_draw(folders[0])
    if drawn is not None:
        metric, variant = _of_draw(drawn, metric, variant)
    population = population_of(runs, metric=metric, variant=variant)
    draw = as_drawn(population, "correct") if drawn is None else drawn
    read, notes = read_labels(label_folders, [draw.asked.column])
    verdicts = verdicts_of(read, draw)
    if scorer is None:
        notes = [*notes, *other_measure(population, draw.asked)]
        return Labelled(runs, population.for_question(draw.asked), draw, verdicts, tuple(notes))
    population, judge, more = with_scorer(population, read_verdicts(scorer), draw)
    return Labelled(runs, population, draw, verdicts, (*notes, *more), judge)


def _of_draw(draw: Draw, metric: str | None, variant: str | None) -> tuple[str, str]:
    """Return the metric and variants of a draw; raise UsageError where others are wanted."""
    variants = ",".join(draw.variants)
    for option, wanted, drawn in (("--metric", metric, draw.metric), ("--variant", variant, variants)):
        if wanted not in (None, drawn):
            message = f"The labels are of the draw {draw.id}, which is of {drawn}, not of {wanted}."
            raise UsageError(message, hint=f"Leave {option} out, or draw from {wanted}: kapwa label sample.")
    return draw.metric, variants


def audit_plan(
    runs: Run | str | Path | Sequence[Run | str | Path],
    *,
    half_width: float = 0.05,
    pilot: str | Path | Sequence[str | Path] | None = None,
    agreement: float = 0.85,
    seconds: float = 30.0,
    metric: str | None = None,
    variant: str | None = None,
) -> pl.DataFrame:
    """How many labelled questions each culture and language needs for an interval of ± ``half_width``.

    ``pilot``: labels of a small draw, with its folder; without one, people and scorer are taken to judge so large a
    share of answers alike, the ``agreement``. ``seconds``: what a person needs for one answer. See
    :func:`kapwa.labels.audits.planning.plan_labels` for the columns.
    """
    if pilot is None:
        population = population_of(open_runs(runs), metric=metric, variant=variant)
        answers = population.frame
        if population.unscored:  # without a scorer it takes what it takes with one that agrees by chance
            answers, agreement = answers.with_columns(value=pl.lit(0.5)), 0.5
        return plan_labels(answers, half_width=half_width, agreement=agreement, seconds=seconds)
    _, population, drawn, verdicts, *_ = labelled(open_runs(runs), pilot, metric=metric, variant=variant)
    if population.unscored:  # any constant says nothing
        population = replace(population, frame=population.frame.with_columns(value=pl.lit(0.0)))
    return plan_labels(labelled_answers(population, drawn, verdicts), half_width=half_width, seconds=seconds)


def label_counts(folder: Path) -> pl.DataFrame:
    """Of each stratum of the draw in ``folder``: questions there are, drawn, and with every answer labelled.

    Then how surely these labels by themselves tell people's share, of the run of which they tell it least; see
    :func:`kapwa.labels.audits.planning.labels_missing`.
    """
    drawn = read_draw(folder)
    labels, _ = read_labels([folder], [drawn.asked.column], some=False)
    by_answer = of_answers(verdicts_of(labels, drawn)).group_by("run", *UNIT).agg(label=pl.col("value").mean())
    answers = drawn.key.join(by_answer, on=["run", *UNIT], how="left", maintain_order="left")
    strata = pl.DataFrame(drawn.strata)
    rows = []
    for stratum, of_stratum in answers.sort(STRATUM).group_by(STRATUM, maintain_order=True):
        where = dict(zip(STRATUM, stratum, strict=True))
        labelled = of_stratum.group_by("item_id").agg(pl.col("label").is_not_null().all())["label"]
        counts: JsonObject = {"drawn": len(labelled), "labelled": labelled.sum()}
        counts |= {"questions": strata.filter(**where)["N"].sum(), "missing": counts["drawn"] - counts["labelled"]}
        of_runs = [
            labels_missing(run["label"], run["cluster"], 1 / run["probability"].to_numpy())
            for _, run in of_stratum.group_by("run")
        ]
        rows.append({**where, **counts, **max(of_runs, key=lambda surely: surely[MISSING[-1]])})
    return pl.DataFrame(rows)


def labels_summary(path: Path) -> Cells:
    """What a file of labels holds, and how surely its labels by themselves tell the share of right answers.

    They are by the criterion of the draw in whose folder the file lies, else by that of the rubric "correct". Raises
    DataError for a file in none of the forms that :func:`read_labels` knows.
    """
    draw = next((folder for folder in path.resolve().parents if (folder / DRAW).is_file()), None)
    drawn = None if draw is None else read_draw(draw)
    question = asked_of("correct") if drawn is None else drawn.asked
    form = label_form(path, header_of(read_sheet(path)), [question.criterion])
    if not form:
        hint = f"Labels have columns 'rater', {question.criterion!r}, and 'answer' or 'item_id'."
        hint += " Logs are Inspect's or lm-eval's."
        raise DataError("is neither a log nor labels.", path=path, row=1, hint=hint)
    labels = [label for label in labels_in(path, [question.column]) if label.state != "missing"]
    columns = ("answer", "system", "item_id", "variant", "sample", "value")
    schema = {name: pl.Float64 if name == "value" else pl.String for name in columns}
    frame = pl.DataFrame([{name: getattr(label, name) for name in columns} for label in labels], schema=schema)
    by_answer = frame.group_by(columns[:-1], maintain_order=True).agg(pl.col("value").mean())
    if drawn is not None and drawn.asked.criteria:  # an answer's label is its criteria's, by their weights
        summed = of_answers(verdicts_of(labels, drawn))
        by_answer = summed.group_by("run", *UNIT, maintain_order=True).agg(pl.col("value").mean())
    return {
        "form": form,
        "labels": len(labels),
        "cannot_assess": frame["value"].null_count(),
        "raters": sorted({label.person for label in labels}),
        "draws": sorted({label.draw for label in labels if label.draw}),
        "rubrics": sorted({label.rubric for label in labels if label.rubric}),
        "labelled": by_answer["value"].count(),
        **labels_missing(by_answer["value"], None),
    }
