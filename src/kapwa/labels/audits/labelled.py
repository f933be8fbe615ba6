"""People's labels held against the draw they are of: which answers each label is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from kapwa.errors import nearest
from kapwa.labels.audits.draws import Draw, Population, coded, shown_text
from kapwa.labels.audits.questions import asked_of
from kapwa.labels.filled import refuse_repeats
from kapwa.labels.reading import Label, refuse_moved
from kapwa.labels.rubrics import overall
from kapwa.labels.verdicts import ANSWER_SCHEMA, OVERALL, Verdict, verdict_frame
from kapwa.suites.items import grouped

READ_ONLY = "With --read-only they are shown for reading; without a draw they say nothing of the other answers."


def as_drawn(population: Population, rubric: str) -> Draw:
    """Return all answers as if each had been named, with no probability: what hand-picked labels are read against."""
    key = coded(population.frame, 0).with_columns(draw=pl.lit(""), probability=pl.lit(None, pl.Float64))
    return Draw(
        id="",
        seed=0,
        n=0,
        metric=population.metric,
        asked=asked_of(rubric),
        doubtful=False,
        variants=population.variants,
        runs=population.runs,
        strata=(),
        left_out=population.left_out,
        key=key,
    )


def verdicts_of(labels: Sequence[Label], draw: Draw) -> pl.DataFrame:
    """Return labels as verdicts on the answers of ``draw``; a label of a text that several runs gave is of each.

    Where there are several criteria, each person's verdicts on an answer are also summed up. Raises DataError for a
    label of another draw or another rubric, of an answer that was not drawn or that is not named unambiguously, by a
    criterion that its question does not have, for two labels of one person on one answer, and for a row that shows
    another answer's text.
    """
    by_code: dict[str, list[dict[str, object]]] = {}
    by_item: dict[str, list[dict[str, object]]] = {}
    for row in draw.key.iter_rows(named=True):
        by_code.setdefault(row["answer"], []).append(row)
        for name in (row["item_id"], f"{row['item_id']}/{row['variant']}"):
            by_item.setdefault(name, []).append(row)
    if draw.id:
        of_draw = (label for label in labels if label.draw in ("", draw.id))
        refuse_moved(of_draw, {row["answer"]: shown_text(row["text"]) for row in draw.key.to_dicts()})
    verdicts, repeats = [], []
    for label in labels:
        if draw.asked.criteria and label.criterion == OVERALL:
            continue  # it follows from the others
        if label.state == "missing":
            continue
        _check_same(label, draw)
        answers = by_code.get(label.answer, []) if label.answer and draw.id else by_item.get(label.item_id, [])
        for row in _chosen(label, answers, draw, by_code if label.answer and draw.id else by_item):
            criterion = _criterion(label, str(row["item_id"]), draw)
            answer_cells = {name: row[name] for name in ANSWER_SCHEMA}
            said_by = (label.person, "person", draw.rubric, criterion, label.state, label.value, label.remark)
            verdicts.append(Verdict(*answer_cells.values(), *said_by))  # type: ignore[arg-type, call-arg]  # cells of a typed table
            shown = label.answer or label.item_id
            by = f" by {criterion}" if draw.asked.criteria else ""
            repeats.append(
                ((label.person, criterion, *answer_cells.values()), label.cell, f"{label.person} labels {shown!r}{by}")
            )
    refuse_repeats(repeats)
    return verdict_frame([*verdicts, *_summed_up(verdicts, draw)])


def _criterion(label: Label, item: str, draw: Draw) -> str:
    """The criterion that a label is by; raise DataError for one that the question does not have."""
    if not draw.asked.criteria:
        return draw.asked.criterion
    if label.criterion not in draw.asked.criteria[item]:
        hint = nearest(label.criterion, draw.asked.criteria[item])
        raise label.cell.error(f"{label.criterion!r} is no criterion of the question {item}.", hint)
    return label.criterion


def _summed_up(verdicts: Sequence[Verdict], draw: Draw) -> Iterator[Verdict]:
    """Yield what each person's verdicts on an answer come to, where there are several criteria."""
    if draw.asked.criteria:
        for of_answer in grouped(verdicts, lambda v: (v.rater, v.run, v.item_id, v.variant, v.sample)).values():
            weights = draw.asked.weights[of_answer[0].item_id]
            # A criterion that somebody passed over has no verdict, which is no "no".
            by_code = dict.fromkeys(weights, of_answer[0]._replace(state="cannot-assess", value=None))
            by_code |= {verdict.criterion: verdict for verdict in of_answer}
            state, value, remark = overall(weights, by_code, points=draw.asked.points)
            yield of_answer[0]._replace(criterion=OVERALL, state=state, value=value, remark=remark)


def _check_same(label: Label, draw: Draw) -> None:
    if label.draw and label.draw != draw.id:
        remedy = (
            "Apply each draw by itself, with the labels of that draw."
            if draw.id
            else "Name the folder of that draw, too: --labels FOLDER"
        )
        not_of = draw.id or "answers that somebody picked"
        raise label.cell.error(f"this label is of the draw {label.draw}, not of {not_of}.", remedy)
    if label.rubric and label.rubric != draw.rubric:
        raise label.cell.error(
            f"this label is by the rubric {label.rubric}; the draw is labelled by {draw.rubric}.",
            "Labels by different rubrics, or versions of one, are never mixed: leave these out, or draw anew.",
        )


def _chosen(
    label: Label, answers: Sequence[dict[str, object]], draw: Draw, names: dict[str, list[dict[str, object]]]
) -> list[dict[str, object]]:
    """The answers that a label is of: those of one text to one question."""
    shown = label.answer or label.item_id
    wanted = {name: getattr(label, name) for name in ("system", "variant", "sample")}
    fitting = [row for row in answers if all(not text or str(row[name]) == text for name, text in wanted.items())]
    if not fitting:
        what = "was not drawn" if draw.id else "is no answer of these runs"
        description = ", ".join(filter(None, [shown, *wanted.values()]))
        hint = nearest(shown, names) if not draw.id else f"{nearest(shown, names)} {READ_ONLY}".strip()
        raise label.cell.error(f"{description!r} {what}.", hint)
    if len({(row["item_id"], row["variant"], row["text"]) for row in fitting}) > 1:
        message = f"{shown!r} has {len(fitting)} answers, and this row does not say which it labels."
        raise label.cell.error(message, "Name the system, and the variant and sample where there are several.")
    return fitting
