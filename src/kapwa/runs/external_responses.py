"""Judge answers obtained elsewhere, without a run directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.models.base import Model, ModelOptions, check_capabilities
from kapwa.models.replay import ReplayModel, ReplayRow, load
from kapwa.records import Item
from kapwa.runs.asking import ask
from kapwa.runs.manifest import describe
from kapwa.runs.requests import requests_of
from kapwa.runs.result_tables import estimate_tables
from kapwa.runs.schema import RUN_TABLES
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Task
from kapwa.suites.folders.warned import warn_of_data
from kapwa.value_types import JsonMapping

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ScoredResponses:
    """Everything judging gives, with the manifest its signatures come from; ``tables``: all by name, as a run's.

    ``unused`` says, a line each, which rows answer no item of the task; ``failed`` counts requests without an answer.
    """

    scores: pl.DataFrame
    estimates: pl.DataFrame
    floors: pl.DataFrame
    comparisons: pl.DataFrame
    items: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    manifest: JsonMapping
    unused: tuple[str, ...]
    failed: int

    def to_pandas(self, name: str = "estimates") -> pd.DataFrame:
        """Return a table as a pandas frame; see :func:`kapwa.to_pandas`."""
        from kapwa.tables.pandas_frames import to_pandas

        return to_pandas(self.tables[name])

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the headline numbers with their floors and ceilings."""
        from kapwa.runs.csv_and_notebook import results_html

        return results_html(self.manifest, self.estimates, self.floors)


def score_responses(task: Task, responses: object, *, seed: int = 0) -> ScoredResponses:
    """Judge answers obtained elsewhere; no model is asked and nothing is written.

    ``responses``: a Polars or pandas frame, or a CSV, TSV, JSON-lines, XLSX, ODS or Parquet file, with the columns
    ``item_id``, ``text`` and, optional, ``variant`` and ``sample``. Items without an answer count as failed; rows
    that answer no item are listed in ``unused``. Returns ``scores``, ``estimates``, ``floors``, ``comparisons``,
    ``items`` and the suite's own ``tables``. Raises DataError naming file and row, also when no row fits the task.
    """
    try:
        model = _replay(responses)
        check_capabilities(model, task.needs, task.name)
        items = task.items()
        index = requests_of(task, items, model.fingerprint)
        unused = unused_lines(model.unused(index), model, items)
    except DataError as error:
        if not isinstance(responses, str | Path):
            error.path = "the responses"  # the user gave a table, not the file that it was put into
        raise
    warn_of_data(task.data)
    with AnswerStore(None) as store:
        answered = list(ask(index, model, store))
    judged = task.judge(items, answered)
    described = describe(task, model, items, seed=seed)
    tables = estimate_tables(described, judged, items, task.floors(items), task.item_table(items))
    failed = len({response.request_key for _, response in answered if response.state == "failed"})
    common = {name: tables[name] for name in RUN_TABLES}
    return ScoredResponses(**common, tables=tables, manifest=described, unused=tuple(unused), failed=failed)


def unused_note(rows: Sequence[ReplayRow], model: Model, items: Sequence[Item]) -> str:
    """Return the first few of :func:`unused_lines` in one text, with how many there are."""
    rest = f" And {len(rows) - _SHOWN} more." if len(rows) > _SHOWN else ""
    return f"{len(rows)} rows of {model.id} were not used. {' '.join(unused_lines(rows, model, items)[:_SHOWN])}{rest}"


def unused_lines(rows: Sequence[ReplayRow], model: Model, items: Sequence[Item]) -> list[str]:
    """Say of each of ``rows``, which the replayed file ``model`` has in vain, why nothing asks for it.

    The nearest known id is searched for the first few alone: a search takes milliseconds, and rows may be many. Raises
    DataError when not one row fits: then the ids are of other data.
    """
    ids = dict.fromkeys(item.id for item in items)
    if rows and len(rows) == model.description["rows"]:
        raise _no_row_fits(rows, items, model.description["file"])
    lines: list[str] = []
    for row in rows:
        where = f"row {row.number}: item {row.item_id!r}"
        if row.item_id not in ids:
            lines.append(
                f"{where} is not asked here. {nearest(row.item_id, ids) if len(lines) < _SHOWN else ''}".rstrip()
            )
        else:
            lines.append(f"{where} is not asked in variant {row.variant!r} as sample {row.sample}.")
    return lines


def _no_row_fits(rows: Sequence[ReplayRow], items: Sequence[Item], file: str) -> DataError:
    """Return the error for answers of which none is asked for: by its item's id, else by variant or sample."""
    variants: dict[str, dict[str, None]] = {}
    for item in items:
        variants.setdefault(item.id, {})[item.variant] = None
    row = next((row for row in rows if row.item_id in variants), rows[0])
    if row.item_id not in variants:
        message = f"no row answers an item of this task (here: item {row.item_id!r})."
        return DataError(message, path=file, row=row.number, column="item_id", hint=nearest(row.item_id, variants))
    known = variants[row.item_id]
    if row.variant and row.variant not in known:
        message = f"no row answers a variant that is asked (here: variant {row.variant!r} of item {row.item_id!r})."
        hint = f"{nearest(row.variant, known)} Change the column, or ask for that variant with --variant."
        return DataError(message, path=file, row=row.number, column="variant", hint=hint)
    message = f"no row answers a sample that is asked (here: sample {row.sample} of item {row.item_id!r})."
    return DataError(message, path=file, row=row.number, column="sample", hint="Samples are counted from 0.")


def _replay(responses: Any) -> ReplayModel:
    if isinstance(responses, str | Path):
        return load(str(responses), ModelOptions())
    if isinstance(responses, pl.LazyFrame | pl.DataFrame):
        frame = responses.lazy().collect()
    elif hasattr(responses, "to_dict") and hasattr(responses, "columns"):  # pandas, without importing it
        cells = responses.astype(object).where(responses.notna(), None)
        frame = pl.DataFrame({str(name): cells[name].tolist() for name in cells.columns}, strict=False)
    else:
        raise UsageError(
            f"Responses cannot be a {type(responses).__name__}.",
            hint="Give a Polars or pandas frame with item_id and text, or the path of a file.",
        )
    with tempfile.TemporaryDirectory(prefix="kapwa-") as folder:
        file = Path(folder) / "responses.parquet"
        frame.write_parquet(file)
        return load(str(file), ModelOptions())
