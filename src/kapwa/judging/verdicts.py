"""One table for what people and judging models say of answers: a row an answer, rater and criterion.

A rater is a person or a judging model; both judge by a rubric, which the row names with its version. "Cannot assess"
and a reply that could not be read are states with no value: neither is a verdict, and neither is ever counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from kapwa.datasets.sheets import header_of, sheet_files
from kapwa.errors import DataError, nearest
from kapwa.people.filled_sheets import Cell, cell_of, refuse_repeats
from kapwa.tables_io import Row, read_sheet

State = Literal["judged", "cannot-assess", "unparsed"]
STATES: tuple[State, ...] = ("judged", "cannot-assess", "unparsed")
Rater = Literal["person", "judge"]

# Which answer of which system was judged; ``system`` is the label of the run's system, ``run`` its signature.
ANSWER_SCHEMA = {
    **dict.fromkeys(("draw", "answer", "run", "system", "item_id", "variant"), pl.String),
    "sample": pl.Int64,
    **dict.fromkeys(("culture", "language", "cluster"), pl.String),
}
VERDICT_SCHEMA = {
    **ANSWER_SCHEMA,
    **dict.fromkeys(("rater", "kind", "rubric", "criterion", "state"), pl.String),
    "value": pl.Float64,
    "remark": pl.String,
}


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


def read_verdicts(paths: str | Path | Sequence[str | Path]) -> pl.DataFrame:
    """Read tables of :data:`VERDICT_SCHEMA` (CSV or XLSX): one file, several, or folders of them.

    Raises DataError naming file, row and column for a missing column, a state or kind that is none, a value outside
    [0, 1] or without its state, and for two verdicts of one rater on one answer and criterion: of a person in one draw,
    of a judge in any.
    """
    verdicts: list[Verdict] = []
    places: list[Cell] = []
    for path in sheet_files(paths, "verdicts"):
        for row in _rows(path):
            verdicts.append(_verdict(row, path))
            places.append(cell_of(row, path, "answer"))
    repeats = (
        (_once(v), place, f"{v.rater} judges {v.answer or v.item_id!r} by {v.criterion!r}")
        for v, place in zip(verdicts, places, strict=True)
    )
    refuse_repeats(repeats)
    return verdict_frame(verdicts)


def _once(verdict: Verdict) -> tuple[str | int, ...]:
    """What no two verdicts may share; draws name their people alike, so p1 of two draws may be two persons."""
    draw = verdict.draw if verdict.kind == "person" else ""
    answer = (verdict.run, verdict.item_id, verdict.variant, verdict.sample)
    return draw, *answer, verdict.rater, verdict.criterion


def _rows(path: Path) -> list[Row]:
    """The rows of a table of verdicts; raise DataError for labels, which do not say whose answers they are of."""
    rows = read_sheet(path)
    header = set(header_of(rows))
    if "answer" in header and "kind" not in header and header & {"rater", "form_id"}:
        remedy = f"Apply them to their draw: kapwa audit apply RUN... --labels DRAW --labels {path} -o audit"
        message = "holds labels, which do not say of which run's answers they are."
        raise DataError(message, path=path, hint=f"{remedy}; then name audit/verdicts.csv.")
    return rows if header >= set(VERDICT_SCHEMA) else read_sheet(path, required=tuple(VERDICT_SCHEMA))


def _verdict(row: Row, path: Path) -> Verdict:
    cells = {name: cell_of(row, path, name) for name in VERDICT_SCHEMA}
    for name, allowed in (("state", STATES), ("kind", ("person", "judge"))):
        if cells[name].text not in allowed:
            raise cells[name].error(
                f"{cells[name].shown} is none of {', '.join(allowed)}.", nearest(cells[name].text, allowed)
            )
    value = _number(cells["value"])
    if (value is None) == (cells["state"].text == "judged"):
        raise cells["value"].error("a verdict has a value exactly where its state is 'judged'.")
    if value is not None and not 0 <= value <= 1:
        raise cells["value"].error(f"{cells['value'].shown} does not lie between 0 and 1.")
    sample = _number(cells["sample"])
    if sample is None or sample < 0 or sample != int(sample):
        raise cells["sample"].error(f"{cells['sample'].shown} is not the number of a sample.", "The first sample is 0.")
    texts = {name: cell.text for name, cell in cells.items() if name not in ("value", "sample")}
    return Verdict(**texts, value=value, sample=int(sample))  # type: ignore[arg-type]  # kind and state were checked


def _number(cell: Cell) -> float | None:
    if not cell.text:
        return None
    try:
        value = float(cell.text)
    except ValueError:
        raise cell.error(f"{cell.shown} is not a number.") from None
    if not isfinite(value):
        raise cell.error(f"{cell.shown} is not a number.")
    return value
