"""Which answers of runs a judge reads: all, those of a selection, or those of a recorded draw; pairs of two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import UsageError, check_whole
from kapwa.labels.audits.draws import UNIT, Draw, check_distinct, drawn_as, read_draw, sampled_answers
from kapwa.labels.judges.prompts import ToJudge
from kapwa.labels.rubrics import Rubric
from kapwa.labels.verdicts import ANSWER_SCHEMA
from kapwa.records import Item
from kapwa.runs.finished_answers import compares_texts, items_of, texts_of
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import system_names
from kapwa.suites.base import Selection
from kapwa.suites.items import select


def answers_to_judge(
    runs: Sequence[Run],
    rubric: Rubric,
    *,
    draw: str | Path | None = None,
    variant: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    limit: int | None = None,
) -> tuple[list[ToJudge], int]:
    """Return the answers of ``runs`` that ``rubric`` asks about, and how many failed and so are none.

    ``draw``: only those of the recorded draw in this folder. ``variant``, ``where``: only of these items; ``limit``:
    of so many items of each culture and variant. Of pairs: the answers of two runs to the very same question. Raises
    UsageError for a run that the rubric is not for, a draw from other runs, and where nothing is left.
    """
    if not runs:
        raise UsageError("No run is named.", hint="Name the folders of runs whose answers are to be judged.")
    for run in runs:
        _check_task(run, rubric)
    check_distinct(runs)
    if rubric.kind == "pairs" and (len(runs) != 2 or len({run.manifest["task"] for run in runs}) > 1):
        raise UsageError(f"{rubric.name} compares two runs of one task.", hint="Name two run folders.")
    if limit is not None:
        check_whole("limit", limit)
    names, made = system_names(runs), None if draw is None else read_draw(Path(draw))
    of_runs: list[list[ToJudge]] = []
    failed = 0
    for run in runs:
        items = items_of([run], variant=variant, where=where)
        if limit is not None:
            variants = list(dict.fromkeys(item.variant for item in items))
            items = select(items, Selection(limit=limit), known=variants, default=variants)
        texts = _texts(run, items)
        failed += sum(text is None for _, _, text in texts)
        of_runs.append([_judged(run, names[id(run)], *answer) for answer in texts if answer[2] is not None])
    if made is not None:
        of_runs = [_of_draw(answers, made, run) for run, answers in zip(runs, of_runs, strict=True)]
    answers = _pairs(*of_runs) if rubric.kind == "pairs" else [answer for of_run in of_runs for answer in of_run]
    answers = [answer for answer in answers if rubric.judged_for(answer.item.id)]
    if not answers:
        why = "has criteria for none of these items" if rubric.by_item else "there is no answer to judge"
        raise UsageError(f"{rubric.name}: {why}.", hint="Loosen --variant or --where, or name other runs.")
    return answers, failed


def _check_task(run: Run, rubric: Rubric) -> None:
    task = str(run.manifest["task"])
    kind = f"{run.manifest['suite']}/{task.partition('/')[2]}"  # a folder of data has tasks of its own names
    if rubric.applies_to and kind not in rubric.applies_to:
        hint = f"It is for {', '.join(rubric.applies_to)}; all rubrics: kapwa rubrics"
        raise UsageError(f"The rubric {rubric.name} is not for {run.path}, a run of {task}.", hint=hint)


def _texts(run: Run, items: Sequence[Item]) -> list[tuple[Item, int, str | None]]:
    """Return every answer to ``items``: item, sample, text (None: it failed)."""
    known = {(item.id, item.variant): item for item in items}
    if compares_texts(run.manifest["suite"]):
        rows: Any = ((item.id, item.variant, request.sample, answer.text) for item, request, answer in texts_of(run))
    elif "answers" in run.tables:
        rows = sampled_answers(run).select(*UNIT, "text").iter_rows()
    else:
        hint = "Name runs of a task in which models write answers, such as kalahi/open."
        raise UsageError(f"{run.path} has no answers to judge: it is a run of {run.manifest['task']}.", hint=hint)
    return [(known[id_, variant], sample, text) for id_, variant, sample, text in rows if (id_, variant) in known]


def _judged(run: Run, system: str, item: Item, sample: int, text: str | None) -> ToJudge:
    cells = ("", f"{item.id} {item.variant} {sample}", run.manifest["signature"], system, item.id, item.variant, sample)
    cells_of_answer = dict(zip(ANSWER_SCHEMA, (*cells, item.culture, item.language, item.cluster), strict=True))
    return ToJudge(cells_of_answer, item, text or "", model=str(run.manifest["model"]["id"]))


def _pairs(first: Sequence[ToJudge], second: Sequence[ToJudge]) -> list[ToJudge]:
    """Pair the answers of two runs to the very same question."""
    others = {(other.item.id, other.item.variant, other.columns["sample"]): other for other in second}
    pairs = []
    for answer in first:
        other = others.get((answer.item.id, answer.item.variant, answer.columns["sample"]))
        if other is not None and other.item.fields["prompt"] == answer.item.fields["prompt"]:
            names = f"{answer.columns['system']} over {other.columns['system']}"
            pairs.append(answer._replace(columns={**answer.columns, "system": names}, other=other.text))
    return pairs


def _of_draw(answers: Sequence[ToJudge], made: Draw, run: Run) -> list[ToJudge]:
    """Keep the answers of a run that were drawn, each with its code."""
    signature = drawn_as(run, made)
    if signature is None:
        hint = "Name the runs that the draw is from, or leave --draw out."
        raise UsageError(f"The draw {made.id} holds no answer of {run.path}: it is from another run.", hint=hint)
    drawn = made.key.filter(run=signature)
    codes = dict(zip(drawn.select(UNIT).rows(), drawn["answer"], strict=True))
    in_draw = []
    for answer in answers:
        code = codes.get(tuple(answer.columns[name] for name in UNIT))
        if code is not None:
            in_draw.append(answer._replace(columns={**answer.columns, "draw": made.id, "answer": code}))
    return in_draw
