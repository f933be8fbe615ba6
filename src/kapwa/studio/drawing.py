"""Draw texts of Kapwa's runs, or situations, for people to judge: a random draw, recorded with its seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from django.db import transaction

from kapwa import registry
from kapwa.analysis.corpus.sources import compares_texts, texts_of
from kapwa.api import open_run
from kapwa.datasets.sheets import shuffled
from kapwa.errors import UsageError, nearest
from kapwa.loading import load_task
from kapwa.people.forms import check_counts, check_options, one_culture, one_variant, options_of
from kapwa.people.rating_forms import EMPTY_ANSWER, ERRORS, RATINGS, model_answers, names_model, spread
from kapwa.records import Item
from kapwa.runs.answers import answers_of, items_of
from kapwa.runs.directory import Run
from kapwa.studio.events import hold, record, writing
from kapwa.studio.fields import as_item
from kapwa.studio.models import Drawn, Project, Release, Revision, TaskSet
from kapwa.studio.projections.ratings import drawn_item, mark_of
from kapwa.studio.releasing.situations import accepted_now

# What people do with texts, and by which suite's criteria they rate.
BASELINE, PAIRS = "baseline", "pairs"
RATED = {"criteria": "kalahi", "errors": "blend", "adaptation": "eecc"}
KINDS = (*RATED, PAIRS, BASELINE)
SAMPLE = 60


def draw(  # noqa: PLR0913 - each is one decision of the caller; all but two have defaults
    project: Project,
    kind: str,
    source: str | Path | None = None,
    *,
    second: str | Path | None = None,
    sample: int | None = None,
    seed: int = 1,
    raters: int = 3,
    variant: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
) -> TaskSet:
    """Draw ``sample`` texts for ``raters`` people each, and return the set; earlier sets stay as they are.

    ``source``: a run's folder; for the baseline also data of items with options, or None for the project's accepted
    situations. ``sample``: 60 without it, for the baseline all. What an earlier set of the kind holds is not drawn
    again. Raises UsageError for an unknown kind, runs that do not fit it, too few texts, and a draw made before.
    """
    checked_kind(kind)
    check_counts(seed=seed, raters=raters, sample=sample or 1)
    if (second is None) == (kind == PAIRS):
        raise UsageError("Two runs are compared in pairs, and in nothing else.", hint="RUN --second RUN --kind pairs")
    if source is None and kind != BASELINE:
        raise UsageError(f"The texts of --kind {kind} come from a run; none is named.", hint="Name its folder.")
    runs = [_run(path) for path in (source, second) if path is not None and (kind != BASELINE or _is_run(path))]
    told = [{"label": run.label, "folder": run.path.name, "signature": run.manifest["signature"]} for run in runs]
    if kind == BASELINE:
        found = _situations(project) if source is None else _options(source, runs, project, variant, where)
    elif kind == PAIRS:
        found = _pairs(runs, variant, where)
    else:
        found = _answers(kind, runs[0], seed, variant, where)
    with writing(), transaction.atomic():
        hold(project)
        texts = _left(project, kind, told, found, seed)
        wanted = sample or (len(texts) if kind == BASELINE else SAMPLE)
        if not texts or wanted > len(texts):
            earlier = f"; {len(found) - len(texts)} more were drawn before" if len(texts) < len(found) else ""
            message = f"{wanted} were asked for, and there are {len(texts)} to draw from{earlier}."
            message = message if texts or sample else f"There is nothing to draw from{earlier}."
            raise UsageError(message, hint=_HINTS.get(kind, "Draw fewer with --sample, or name a larger run."))
        suite = texts[0]["item"]["suite"] if "item" in texts[0] else "kalahi"
        body = {"kind": kind, "suite": suite, "seed": seed, "sample": wanted, "raters": raters, "runs": told}
        event = record(project, "tasks.drawn", body | {"texts": texts[:wanted]}, actor="")
    return TaskSet.objects.get(id=str(event.uuid))


def naming(made: TaskSet) -> int:
    """Return how many of a set's things hold a text that names the model that wrote it, so that raters can tell."""
    labels = [run["label"] for run in made.runs]
    rows = Drawn.objects.filter(set=made.id).values_list("texts", flat=True) if made.kind != BASELINE else ()
    return sum(any(names_model(*one) for one in zip(labels, texts, strict=True)) for texts in rows)


def checked_kind(kind: str) -> str:
    """Return ``kind``; raise UsageError where there is no such kind of tasks."""
    if kind not in KINDS:
        raise UsageError(f"There is no kind of tasks {kind!r}.", hint=nearest(kind, KINDS))
    return kind


_HINTS = {
    "errors": "Only answers that were found wrong are drawn. Draw fewer with --sample, or name a larger run.",
    BASELINE: "Accept situations first, or name items: a pack, or a run.",
}


def _left(
    project: Project, kind: str, runs: Sequence[Mapping[str, str]], found: Sequence[dict[str, Any]], seed: int
) -> list[dict[str, Any]]:
    """Return what no earlier set of the kind holds of the same runs, in the order of the draw."""
    sets = [one for one in TaskSet.objects.filter(project=project, kind=kind) if one.runs == runs]
    for one in sets:
        if one.seed == seed and kind != BASELINE:
            hint = "A second draw needs another --seed."
            raise UsageError(
                f"Texts of this run were drawn with the seed {seed} already (set {one.number}).", hint=hint
            )
    rows = Drawn.objects.filter(set__in=[one.id for one in sets])
    before = {(one.item["id"], one.item["variant"], one.mark) for one in rows}

    keys = [
        (one["situation"], "full", one["mark"])
        if "situation" in one
        else (one["item"]["id"], one["item"]["variant"], "")
        for one in found
    ]
    # Answers come in the order of their draw already, which spreads over questions.
    order = range(len(keys)) if kind in RATED else shuffled(["\0".join(key) for key in keys], "draw", seed)
    return [found[place] for place in order if keys[place] not in before]


def _is_run(path: str | Path) -> bool:
    return (Path(path) / "run.json").exists()


def _run(path: str | Path) -> Run:
    if not _is_run(path):
        raise UsageError(f"{path} is no run.", hint="Name the folder that 'kapwa run' made, with a run.json in it.")
    return open_run(path)


def _situations(project: Project) -> list[dict[str, Any]]:
    """Return the project's accepted situations, by what identifies them: their words stay in the revisions alone."""
    before = Release.objects.filter(project=project).order_by("seq").last()
    found = []
    for situation, number in accepted_now(project, before).items():
        fields = Revision.objects.get(id=f"{situation}:{number}").fields
        check_options(as_item(fields, situation, situation, project.culture))
        found.append({"situation": situation, "revision": number, "mark": mark_of(project, fields)})
    return found


def _options(
    source: str | Path, runs: Sequence[Run], project: Project, variant: str | None, where: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    if runs:
        items: Sequence[Item] = items_of(runs, variant=variant, where=where)
        items = [item for item in items if variant or item.variant == items[0].variant]
    else:
        suite = registry.load("suites", project.form)
        task = next((f"{project.form}/{name}" for name in suite.choices), "kalahi/mc")
        items = load_task(task, data=str(source), variant=variant, where=where).items()
    for item in one_variant(one_culture(items)):
        check_options(item)
    return [drawn_item(item, options_of(item)) for item in items]


def _texts(runs: Sequence[Run], items: Sequence[Item], *, only_wrong: bool = False) -> pl.DataFrame:
    """What each run answered to ``items``, as ``answers_of``; suites that compare texts keep them in the journal."""
    if not compares_texts(runs[0].manifest["suite"]):
        return answers_of(runs, items, only_wrong=only_wrong)
    wanted = {(item.id, item.variant) for item in items}
    rows = [
        (item.id, item.variant, run.label, response.text)
        for run in runs
        for item, request, response in texts_of(run)
        if request.sample == 0 and (item.id, item.variant) in wanted
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("item_id", "variant", "model", "text"), pl.String), orient="row")


def _answers(
    kind: str, run: Run, seed: int, variant: str | None, where: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    suite, task = run.manifest["suite"], run.manifest["task"]
    if suite != RATED[kind]:
        fitting = next((name for name, own in RATED.items() if own == suite), PAIRS)
        raise UsageError(
            f"{run.path} is a run of {task}; --kind {kind} is for {RATED[kind]}.", hint=f"--kind {fitting}"
        )
    items = one_culture(items_of([run], variant=variant, where=where))
    answers = model_answers(items, _texts([run], items, only_wrong=kind == "errors"))
    layout = ERRORS if kind == "errors" else RATINGS
    names = [column.name for column in layout.columns]
    found = []
    for one in spread(answers, len(answers), seed):
        own = one.item.language
        # What people answered is in their language, also where the model was asked in English.
        tags = {"question_en": "en", "people_said": "" if one.item.fields.get("asked_in") == "en" else own}
        told = dict(zip(names, layout.shown(one.item), strict=True))
        if told.get("question") == told.get("question_en"):
            told.pop("question_en", None)
        shown = [[name, text, tags.get(name, own)] for name, text in told.items() if text]
        found.append(drawn_item(one.item, (one.text.strip() or EMPTY_ANSWER,)) | {"shown": shown})
    return found


def _pairs(runs: Sequence[Run], variant: str | None, where: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if runs[0].path.resolve() == runs[1].path.resolve():
        raise UsageError(f"{runs[0].path} is named twice.", hint="Compare two different runs.")
    tasks = [run.manifest["task"] for run in runs]
    if tasks[0] != tasks[1]:
        raise UsageError(
            f"{runs[0].path} is a run of {tasks[0]}, {runs[1].path} of {tasks[1]}.", hint="Compare one task."
        )
    texts: list[dict[tuple[str, str, str], str]] = []
    items = one_culture(items_of(runs, variant=variant, where=where))
    for run in runs:
        asked = {(item.id, item.variant): item.fields["prompt"] for item in items_of([run])}
        told = _texts([run], items).select("item_id", "variant", "text").drop_nulls()
        # Only answers to the very same prompt are compared.
        texts.append({(one, of, asked[one, of]): text.strip() or EMPTY_ANSWER for one, of, text in told.iter_rows()})
    keys = [(item, (item.id, item.variant, item.fields["prompt"])) for item in items]
    return [
        drawn_item(item, (texts[0][key], texts[1][key])) for item, key in keys if key in texts[0] and key in texts[1]
    ]
