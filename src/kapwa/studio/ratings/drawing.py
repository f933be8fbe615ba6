"""Draw texts of Kapwa's runs, or situations, for people to judge: a random draw, recorded with its seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from kapwa.api import open_run
from kapwa.errors import UsageError, nearest
from kapwa.labels.choices.sheets import check_options, options_of
from kapwa.labels.ratings.sheets import ERRORS, RATINGS, ModelAnswer, spread
from kapwa.labels.sheets import EMPTY_ANSWER, names_model, one_culture, one_variant
from kapwa.loading import load_task
from kapwa.records import Item
from kapwa.runs.finished_answers import answers_of, compares_texts, items_of
from kapwa.runs.finished_run import Run
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import lock_project, record, single_writer
from kapwa.studio.core.tables import Project
from kapwa.studio.ratings.audits import AUDIT, drawn_answers
from kapwa.studio.ratings.events import drawn_item, mark_of
from kapwa.studio.ratings.tables import Drawn, TaskSet
from kapwa.studio.situations.events import ACCEPTED, FROZEN
from kapwa.studio.situations.fields import as_item
from kapwa.studio.situations.tables import Situation
from kapwa.value_types import Cells

# What people do with texts, and by which suite's criteria they rate.
BASELINE, PAIRS = "baseline", "pairs"
RATED = {"criteria": "kalahi", "errors": "blend", "adaptation": "eecc"}
# What is judged by questions that are answered with yes or no.
YES_OR_NO = (*RATED, AUDIT)
SAMPLE = 60

# What can be drawn: items, each with what the event keeps of it.
_Drawable = list[tuple[Item, dict[str, Any]]]


def checked_kind(kind: str) -> str:
    """Return ``kind``; raise UsageError where there is no such kind of tasks."""
    if kind not in (known := (*YES_OR_NO, PAIRS, BASELINE)):
        raise UsageError(f"There is no kind of tasks {kind!r}.", hint=nearest(kind, known))
    return kind


def draw(
    project: Project,
    kind: str,
    *sources: str | Path,
    sample: int = 0,
    seed: int = 1,
    raters: int = 3,
    by: str = "",
    uuid: UUID | None = None,
    **chosen: Any,
) -> TaskSet:
    """Draw ``sample`` texts for ``raters`` people each, and return the set; earlier sets stay as they are.

    ``sources``: the folder of a run, for pairs of two; for an audit that of its draw; for the baseline data of items
    with options, or nothing for the project's accepted situations. ``sample``: 60 without it, all where there are
    fewer, and for the baseline and an audit. ``by``: the author who draws. ``uuid``: the number of
    the form that asks for it, which draws once, however often it arrives. ``chosen``: the ``variant`` of the items,
    and values as ``where``. What an earlier set of the kind holds is not drawn again. Raises UsageError for sources
    that do not fit the kind, and for too few texts.
    """
    opened = [open_run(path) for path in sources if kind not in (BASELINE, AUDIT)]
    suites, tasks = ([run.manifest[name] for run in opened] for name in ("suite", "task"))
    checked_kind(kind)
    fits = {PAIRS: len(tasks) == 2 and tasks[0] == tasks[1], BASELINE: len(sources) < 2, AUDIT: len(sources) == 1}
    if not fits.get(kind, suites == [RATED.get(kind)]):
        hint = (
            "criteria: a run of kalahi; errors: of blend; adaptation: of eecc; pairs: RUN --second RUN, of one task; "
        )
        hint += "audit: the folder that kapwa label sample wrote."
        raise UsageError(f"Tasks of the kind {kind!r} cannot be drawn from {' and '.join(tasks) or 'that'}.", hint=hint)
    runs = [{"label": run.label, "folder": run.path.name, "signature": run.manifest["signature"]} for run in opened]
    if kind == BASELINE:
        rows = _options(project, *sources, **chosen) if sources else _situations(project)
        for item, _row in rows:
            check_options(item)
    elif kind == AUDIT:
        rows, drawn_from = drawn_answers(sources[0], chosen.get("where") or {})
        runs = [drawn_from]
    else:
        rows = _answers(kind, opened, **chosen)
    with single_writer(), transaction.atomic():
        lock_project(project)
        if uuid and (drawn_before := TaskSet.objects.filter(project=project, id=str(uuid)).first()):
            return drawn_before
        texts = _left(project, kind, runs, rows, seed)
        wanted = sample or (len(texts) if kind in (BASELINE, AUDIT) else min(SAMPLE, len(texts)))
        if not 0 < wanted <= len(texts):
            message = f"There are {len(texts)} to draw from, besides {len(rows) - len(texts)} that were drawn before."
            raise UsageError(message, hint="Draw fewer with --sample, name a larger run, or accept situations first.")
        body = {"kind": kind, "seed": seed, "sample": wanted, "raters": raters, "runs": runs, "texts": texts[:wanted]}
        event = record(project, "tasks.drawn", body, actor=by, uuid=uuid)
    return TaskSet.objects.get(id=str(event.uuid))


def drawable(runs: Sequence[Path]) -> list[Path]:
    """Return those of ``runs`` that hold texts to judge."""
    opened = map(open_run, runs)
    return [run.path for run in opened if "answers" in run.tables or compares_texts(run.manifest["suite"])]


def cultures_of(runs: Iterable[Path]) -> list[str]:
    """Return the cultures of the items of runs, in order: who rates texts is of one of them."""
    found = {culture for run in runs for culture in open_run(run).scores["culture"].unique()}
    return sorted(filter(None, found))


def naming(made: TaskSet) -> int:
    """Return how many of a set's things hold a text that names the model that wrote it, so that raters can tell."""
    labels = [run["label"] for run in made.runs]
    rows = Drawn.objects.filter(set=made.id).values_list("texts", flat=True)
    return sum(any(map(names_model, labels, texts)) for texts in rows)


def _left(project: Project, kind: str, runs: Sequence[object], drawable: _Drawable, seed: int) -> list[Cells]:
    """Return what no earlier set of the kind holds of the same runs, in a random order that spreads over clusters."""
    sets = [task_set.id for task_set in TaskSet.objects.filter(project=project, kind=kind) if task_set.runs == runs]
    before = {(drawn.item["id"], drawn.item["variant"], drawn.mark) for drawn in Drawn.objects.filter(set__in=sets)}
    rows = {(item.id, item.variant): row for item, row in drawable}
    order = spread([ModelAnswer(item, "", "") for item, _ in drawable], len(drawable), seed)
    names = [(answer.item.id, answer.item.variant) for answer in order]
    return [rows[name] for name in names if (*name, rows[name].get("mark", "")) not in before]


def _situations(project: Project) -> _Drawable:
    """Return the project's accepted situations, by what identifies them: their words stay in the revisions alone."""
    drawable = []
    for situation in Situation.objects.filter(project=project, state__in=(ACCEPTED, FROZEN)):
        row = {"situation": situation.id, "revision": situation.revision, "mark": mark_of(project, situation.fields)}
        row["culture"] = project.culture
        drawable.append((as_item(situation.fields, situation.id, situation.cluster, project.culture), row))
    return drawable


def _options(project: Project, data: str | Path, **chosen: Any) -> _Drawable:
    items = load_task(form_of(project).options_task, data=str(data), **chosen).items()
    return [(item, drawn_item(item, options_of(item))) for item in one_variant(one_culture(items))]


def _answers(kind: str, runs: Sequence[Run], **chosen: Any) -> _Drawable:
    """Return the items that every run answered when asked the very same, with the answers, and what raters read."""
    layout = ERRORS if kind == "errors" else RATINGS
    names = [column.name for column in layout.columns]
    # What people answered is in their language, also where the model was asked in English.
    tags = {"question_en": "en", "people_said": ""}
    items = [one_culture(items_of([run], **chosen)) for run in runs]
    texts = [_texts(run, run_items, only_wrong=kind == "errors") for run, run_items in zip(runs, items, strict=True)]
    drawable = []
    for item in items[0]:
        asked = (item.id, item.variant, item.fields["prompt"])
        if all(asked in answers for answers in texts):
            row = drawn_item(item, [answers[asked] for answers in texts])
            shown = dict(zip(layout.shown(item), names, strict=True))  # a question asked in English stands once
            row["shown"] = [[name, text, tags.get(name, item.language)] for text, name in shown.items() if text]
            drawable.append((item, row))
    return drawable


def _texts(run: Run, items: Sequence[Item], *, only_wrong: bool) -> dict[tuple[str, str, str], str]:
    """Return what a run answered, by item, variant and prompt."""
    rows = answers_of([run], items, only_wrong=only_wrong).select("item_id", "variant", "text").rows()
    answers = {(item, variant): text.strip() or EMPTY_ANSWER for item, variant, text in rows if text is not None}
    names = [(item.id, item.variant, item.fields["prompt"]) for item in items]
    return {name: answers[name[:2]] for name in names if name[:2] in answers}
