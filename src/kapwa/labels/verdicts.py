"""One table for what people and judging models say of answers: a row an answer, rater and criterion.

A rater is a person or a judging model; both judge by a rubric, which the row names with its version. "Cannot assess",
a reply that could not be read and a cell that a person left empty ("missing") are states with no value: none is a
verdict, and none is ever counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import polars as pl

from kapwa.datasets.sheets import header_of, sheet_files
from kapwa.errors import DataError, nearest
from kapwa.labels.filled import FilledCell, cell_of, refuse_repeats
from kapwa.tables import TextRow, read_sheet, schema_of
from kapwa.value_types import Schema

State = Literal["judged", "cannot-assess", "unparsed", "missing"]
STATES: tuple[State, ...] = get_args(State)
Rater = Literal["person", "judge"]
OVERALL = "overall"
_MOST_SAMPLES = 10**9

# Which answer of which system was judged; ``system`` is the label of the run's system, ``run`` its signature.
ANSWER_SCHEMA = schema_of("draw answer run system item_id variant sample:whole culture language cluster")
VERDICT_SCHEMA = {**ANSWER_SCHEMA, **schema_of("rater kind rubric criterion state value:real remark")}


class Verdict(NamedTuple):
    """What one rater says of one answer by one criterion.

    ``answer`` names the answer within its ``draw`` ("" outside of a draw); ``rubric`` is "name@version"; ``value`` lies
    in [0, 1] and is None unless the ``state`` is "judged".
    """

    draw: str
    answer: str
    run: str
    system: str
    item_id: str
    variant: str
    sample: int
    culture: str
    language: str
    cluster: str
    rater: str
    kind: Rater
    rubric: str
    criterion: str
    state: State
    value: float | None = None
    remark: str = ""


def verdict_frame(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Return verdicts as a table of :data:`VERDICT_SCHEMA`."""
    return pl.DataFrame(list(verdicts), schema=VERDICT_SCHEMA, orient="row")


def of_answers(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on answers as a whole: the overall ones, where criteria are summed up."""
    whole = verdicts.filter(criterion=OVERALL)
    return whole if whole.height else verdicts


def of_criteria(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts that somebody gave, without those that sum them up."""
    return verdicts.filter(pl.col("criterion") != OVERALL)


def read_verdicts(paths: str | Path | Sequence[str | Path]) -> pl.DataFrame:
    """Read tables of :data:`VERDICT_SCHEMA` (CSV or XLSX): one file, several, or folders of them.

    Raises DataError naming file, row and column for a missing column, an unknown state or kind, a value outside
    [0, 1] or without its state, and for two verdicts of one rater on one answer and criterion: of a person in one draw,
    of a judge in any.
    """
    verdicts: list[Verdict] = []
    filled_cells: list[FilledCell] = []
    for path in sheet_files(paths, "verdicts"):
        rows = _rows(path)
        verdicts += [Verdict(*cells) for cells in typed(rows, path, VERDICT_SCHEMA).rows()]
        for row, verdict in zip(rows, verdicts[-len(rows) :], strict=True):
            _check(verdict, row, path)
            filled_cells.append(cell_of(row, path, "answer"))
    repeats = (
        (_once(v), cell, f"{v.rater} judges {v.answer or v.item_id!r} by {v.criterion!r}")
        for v, cell in zip(verdicts, filled_cells, strict=True)
    )
    refuse_repeats(repeats)
    return verdict_frame(verdicts)


def _once(verdict: Verdict) -> tuple[str | int, ...]:
    """What no two verdicts may share; draws name their people alike, so p1 of two draws may be two persons."""
    draw = verdict.draw if verdict.kind == "person" else ""
    answer = (verdict.run, verdict.item_id, verdict.variant, verdict.sample)
    return draw, *answer, verdict.rater, verdict.criterion


def _rows(path: Path) -> list[TextRow]:
    """The rows of a table of verdicts; raise DataError for labels, which do not say whose answers they are of."""
    rows = read_sheet(path)
    header = set(header_of(rows))
    if "answer" in header and "kind" not in header and header & {"rater", "form_id"}:
        remedy = f"Apply them to their draw: kapwa label apply RUN... --labels DRAW --labels {path} -o audit"
        message = "holds labels, which do not say of which run's answers they are."
        raise DataError(message, path=path, hint=f"{remedy}; then name audit/verdicts.csv.")
    return rows if header >= set(VERDICT_SCHEMA) else read_sheet(path, required=tuple(VERDICT_SCHEMA))


def _check(verdict: Verdict, row: TextRow, path: Path) -> None:
    for name, allowed in (("state", STATES), ("kind", ("person", "judge"))):
        cell = cell_of(row, path, name)
        if cell.text not in allowed:
            raise cell.error(f"{cell.shown} is not one of {', '.join(allowed)}.", nearest(cell.text, allowed))
    if (verdict.value is None) == (verdict.state == "judged"):
        message = "a verdict has a value exactly where its state is 'judged'."
        raise cell_of(row, path, "value").error(message)


def typed(rows: Sequence[TextRow], path: Path, schema: Schema) -> pl.DataFrame:
    """Return the rows of a table by its ``schema``: texts, shares (or none), and numbers of samples.

    Raises DataError naming row and column for what is no such number.
    """
    cells = [[_typed(cell_of(row, path, name), kind) for name, kind in schema.items()] for row in rows]
    return pl.DataFrame(cells, schema=schema, orient="row")


def _typed(cell: FilledCell, kind: object) -> str | float | None:
    if kind == pl.String:
        return cell.text
    if kind == pl.Float64 and not cell.text:
        return None
    try:
        number = float(cell.text)
    except ValueError:
        number = -1.0
    if kind == pl.Float64 and 0 <= number <= 1:
        return number
    if kind == pl.Int64 and 0 <= number < _MOST_SAMPLES and number == int(number):
        return int(number)
    what = "a number between 0 and 1" if kind == pl.Float64 else "the number of a sample: 0, 1, …"
    raise cell.error(f"{cell.shown} is not {what}.")
