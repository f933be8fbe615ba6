"""Audits of scores: people label a random draw of answers, and their labels correct what a scorer says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import KapwaError, UsageError
from kapwa.exchange.base import NOT_TOLD
from kapwa.exchange.formats import import_result
from kapwa.exchange.labels import labelled
from kapwa.judging.apply import Audit, apply_labels, labelled_answers
from kapwa.judging.asking import asked_of
from kapwa.judging.draws import STRATUM, Drawn, draw, population_of, write_draw
from kapwa.judging.plan import LABELS_FOR, WIDTHS, plan_labels
from kapwa.runs.directory import Run


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
) -> Drawn:
    """Draw ``n`` questions of each culture and language, and write all runs' answers to them on blinded sheets.

    ``doubtful``: whether questions with an answer that may be judged wrongly are drawn more often, with known
    probabilities; None: where a matcher judges. ``people``: so many sheets for each culture. ``rubric``: one that asks
    a single question of yes or no, or several with an overall verdict, a row each. See
    :func:`kapwa.judging.draws.draw` and ``write_draw`` for what is written and raised.
    """
    opened = _opened(runs)
    population = population_of(opened, metric=metric, variant=variant)
    if doubtful is None:
        doubtful = opened[0].manifest["metrics"][population.metric].get("judged_by") == "matcher"
    made = draw(population, n=n, seed=seed, rubric=asked_of(rubric, opened), doubtful=doubtful)
    return write_draw(made, opened, out, people=people)


def audit_apply(
    runs: Run | str | Path | Sequence[Run | str | Path],
    labels: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    scorer: str | Path | Sequence[str | Path] | None = None,
    read_only: bool = False,
    metric: str | None = None,
    variant: str | None = None,
) -> Audit:
    """Correct the scores of ``runs`` by people's ``labels``: files and folders, one of them that of the draw.

    ``scorer``: verdicts of a judging model in the place of the metric. ``read_only``: labels that are of no draw, which
    are shown with no interval; ``metric`` and ``variant`` then say beside what. ``out``: a folder for tables, labels
    for Inspect, and a page. Raises DataError for labels that are not of the draw.
    """
    read = labelled(_opened(runs), labels, scorer=scorer, read_only=read_only, metric=metric, variant=variant)
    audit = apply_labels(*read)
    if out is not None:
        from kapwa.report.audit import write_audit

        write_audit(audit, Path(out))
    return audit


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
    :func:`kapwa.judging.plan.plan_labels` for the columns.
    """
    if pilot is None:
        population = population_of(_opened(runs), metric=metric, variant=variant)
        answers = population.frame
        if population.unscored:  # without a scorer it takes what it takes with one that agrees by chance
            answers, agreement = answers.with_columns(value=pl.lit(0.5)), 0.5
        return plan_labels(answers, half_width=half_width, agreement=agreement, seconds=seconds)
    _, population, drawn, verdicts, *_ = labelled(_opened(runs), pilot, metric=metric, variant=variant)
    return plan_labels(labelled_answers(population, drawn, verdicts), half_width=half_width, seconds=seconds)


def audits_possible(log: str | Path, form: str, folder: Path) -> list[dict[str, Any]]:
    """What labels could correct of another tool's log: facts of each run that it becomes, in ``folder``.

    ``form``: as of :func:`kapwa.import_result`, which see for what it raises. ``strata``: for each culture and
    language the labels that it takes for the half-widths :data:`kapwa.judging.plan.WIDTHS`, if people and the metric
    ``audited`` judge 85 % alike; ``why_not``: where none corrects its scores. ``unknown``: what the log does not tell.
    """
    facts: list[dict[str, Any]] = []
    for run in map(Run, import_result(log, form, out=folder)):
        manifest = run.manifest
        unknown = [name for name, word in NOT_TOLD.items() if (run.items[name] == word).any()]
        about = {"task": manifest["task"], "model": manifest["model"]["id"], "items": manifest["counts"]["items"]}
        about |= {"metrics": list(manifest["metrics"]), "audited": manifest["headline"][0], "unknown": unknown}
        try:
            plans = [audit_plan(run, half_width=width) for width in WIDTHS]
        except KapwaError as error:
            facts.append({**about, "strata": [], "why_not": error.message.replace(str(run.path), manifest["task"])})
            continue
        strata = plans[0].select(*STRATUM, "questions")
        needed = [plan["labels"].alias(name) for name, plan in zip(LABELS_FOR, plans, strict=True)]
        facts.append({**about, "strata": strata.with_columns(needed).to_dicts(), "why_not": ""})
    return facts


def _opened(runs: Run | str | Path | Sequence[Run | str | Path]) -> list[Run]:
    each = runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]
    if not each:
        raise UsageError("No run is named.")
    return [Run(run) if isinstance(run, str | Path) else run for run in each]
