"""What people say of drawn answers: read from filled sheets and tables, and held against the draw they are of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import header_of
from kapwa.errors import DataError, nearest
from kapwa.judging.asking import asked_of
from kapwa.judging.draws import Draw, Population, coded
from kapwa.judging.rubrics import CANNOT, overall
from kapwa.judging.verdicts import ANSWER_SCHEMA, OVERALL, State, Verdict, verdict_frame
from kapwa.people.filled_sheets import Cell, answer_of, cell_of, refuse_repeats, remark_of
from kapwa.people.rating_files import parse_answer
from kapwa.suites.items import grouped
from kapwa.tables_io import Row

_FORM_ID = re.compile(r"(audit-\d+-[0-9a-f]{8})-(.+-p\d+)")
_CANNOT = (CANNOT, "cannot-assess", "can't assess", "don't know", "?")
READ_ONLY = "With --read-only they are shown for reading; without a draw they say nothing of the other answers."


class Label(NamedTuple):
    """What one person says of one answer, named by its code in a draw, or by item and system.

    ``place``: the cell that says it. ``item_id`` may also be "item/variant", as ids of samples are in Inspect.
    """

    rater: str
    state: State
    value: float | None
    place: Cell
    answer: str = ""
    draw: str = ""
    system: str = ""
    item_id: str = ""
    variant: str = ""
    sample: str = ""
    criterion: str = ""
    rubric: str = ""
    remark: str = ""


def label_value(cell: Cell) -> tuple[State, float | None]:
    """Read yes, no, a share between them, or "cannot assess" in a cell that is not empty."""
    if cell.text.casefold() in _CANNOT:
        return "cannot-assess", None
    with suppress(ValueError):
        if 0 <= float(cell.text) <= 1:
            return "judged", float(cell.text)
    with suppress(ValueError):
        return "judged", float(bool(parse_answer(cell.text)))
    hint = f"Write yes, no or {CANNOT} (or yes and no in Arabic, Spanish, Korean, Amharic or Filipino)."
    raise cell.error(f"{cell.shown} is neither yes, no nor {CANNOT!r}.", hint)


def sheet_labels(rows: Sequence[Row], path: Path, criterion: str) -> Iterator[Label]:
    """Yield the labels of a filled sheet, a table of verdicts, or a plain table; rows without a label are passed over.

    A plain table has ``rater``, the column ``criterion``, and ``answer`` (the code on the sheet) or ``item_id`` with
    ``system``, ``variant`` and ``sample`` where they are needed. Raises DataError for anything else.
    """
    header = header_of(rows)
    is_verdicts = {"value", "state", "rater"} <= set(header)
    column = "value" if is_verdicts else criterion
    for needed in ((column,), ("form_id", "rater"), ("answer", "item_id")):
        if not any(name in header for name in needed):
            message = f"column {' or '.join(map(repr, needed))} is missing."
            raise DataError(message, path=path, row=1, hint=nearest(needed[0], header))
    for row in rows:
        cell = answer_of(row, path, column)
        if row.cells.get("kind", "").strip() == "judge":
            message, remedy = "a judge's verdict is no label of a person.", "Name it with kapwa audit apply --scorer."
            raise cell_of(row, path, "kind").error(message, remedy)
        if is_verdicts and row.cells["state"].strip() == "cannot-assess":
            yield _label(row, path, cell, "cannot-assess", None)
        elif cell.text:
            yield _label(row, path, cell, *label_value(cell))


def _label(row: Row, path: Path, cell: Cell, state: State, value: float | None) -> Label:
    names = ("answer", "system", "item_id", "variant", "sample", "criterion", "rubric")
    named = {name: cell_of(row, path, name).text for name in names}
    form_id = cell_of(row, path, "form_id").text
    form = _FORM_ID.fullmatch(form_id)
    rater = cell_of(row, path, "rater").text or (form[2] if form else form_id)
    if not rater:
        raise cell.error("nobody is named who says so.", "Fill in 'form_id' as it was, or 'rater'.")
    draw = form[1] if form else cell_of(row, path, "draw").text
    return Label(rater, state, value, cell, draw=draw, remark=remark_of(row), **named)


def as_drawn(population: Population, rubric: str) -> Draw:
    """Return all answers as if each had been named, with no probability: what hand-picked labels are read against."""
    key = coded(population.frame, 0).with_columns(draw=pl.lit(""), probability=pl.lit(None, pl.Float64))
    facts = (population.metric, asked_of(rubric), False, population.variants, population.runs)
    return Draw("", 0, 0, *facts, (), population.left_out, key)


def verdicts_of(labels: Sequence[Label], draw: Draw) -> pl.DataFrame:
    """Return labels as verdicts on the answers of ``draw``; a label of a text that several runs gave is of each.

    Where there are several criteria, each person's verdicts on an answer are also summed up. Raises DataError for a
    label of another draw or another rubric, of an answer that was not drawn or that is not named unambiguously, by a
    criterion that its question does not have, and for two labels of one person on one answer.
    """
    by_code: dict[str, list[dict[str, object]]] = {}
    by_item: dict[str, list[dict[str, object]]] = {}
    for row in draw.key.iter_rows(named=True):
        by_code.setdefault(row["answer"], []).append(row)
        for name in (row["item_id"], f"{row['item_id']}/{row['variant']}"):
            by_item.setdefault(name, []).append(row)
    verdicts, repeats = [], []
    for label in labels:
        if draw.asked.criteria and label.criterion == OVERALL:
            continue  # it follows from the others
        _check_same(label, draw)
        answers = by_code.get(label.answer, []) if label.answer and draw.id else by_item.get(label.item_id, [])
        for row in _chosen(label, answers, draw, by_code if label.answer and draw.id else by_item):
            criterion = _criterion(label, str(row["item_id"]), draw)
            place = {name: row[name] for name in ANSWER_SCHEMA}
            said_by = (label.rater, "person", draw.rubric, criterion, label.state, label.value, label.remark)
            verdicts.append(Verdict(*place.values(), *said_by))  # type: ignore[arg-type, call-arg]  # cells of a typed table
            shown = label.answer or label.item_id
            by = f" by {criterion}" if draw.asked.criteria else ""
            repeats.append(
                ((label.rater, criterion, *place.values()), label.place, f"{label.rater} labels {shown!r}{by}")
            )
    refuse_repeats(repeats)
    return verdict_frame([*verdicts, *_summed_up(verdicts, draw)])


def _criterion(label: Label, item: str, draw: Draw) -> str:
    """The criterion that a label is by; raise DataError for one that the question does not have."""
    if not draw.asked.criteria:
        return draw.asked.criterion
    if label.criterion not in draw.asked.criteria[item]:
        hint = nearest(label.criterion, draw.asked.criteria[item])
        raise label.place.error(f"{label.criterion!r} is no criterion of the question {item}.", hint)
    return label.criterion


def _summed_up(verdicts: Sequence[Verdict], draw: Draw) -> Iterator[Verdict]:
    """Yield what each person's verdicts on an answer come to, where there are several criteria."""
    if draw.asked.criteria:
        for part in grouped(verdicts, lambda v: (v.rater, v.run, v.item_id, v.variant, v.sample)).values():
            weights = draw.asked.weights[part[0].item_id]
            # A criterion that somebody passed over has no verdict, which is no "no".
            by_code = dict.fromkeys(weights, part[0]._replace(state="cannot-assess", value=None))
            by_code |= {verdict.criterion: verdict for verdict in part}
            state, value, remark = overall(weights, by_code, points=draw.asked.points)
            yield part[0]._replace(criterion=OVERALL, state=state, value=value, remark=remark)


def _check_same(label: Label, draw: Draw) -> None:
    if label.draw and label.draw != draw.id:
        remedy = (
            "Apply each draw by itself, with the labels of that draw."
            if draw.id
            else "Name the folder of that draw, too: --labels FOLDER"
        )
        not_of = draw.id or "answers that somebody picked"
        raise label.place.error(f"this label is of the draw {label.draw}, not of {not_of}.", remedy)
    if label.rubric and label.rubric != draw.rubric:
        raise label.place.error(
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
        asked = ", ".join(filter(None, [shown, *wanted.values()]))
        hint = nearest(shown, names) if not draw.id else f"{nearest(shown, names)} {READ_ONLY}".strip()
        raise label.place.error(f"{asked!r} {what}.", hint)
    if len({(row["item_id"], row["variant"], row["text"]) for row in fitting}) > 1:
        message = f"{shown!r} has {len(fitting)} answers, and this row does not say which it labels."
        raise label.place.error(message, "Name the system, and the variant and sample where there are several.")
    return fitting
