"""Judge answers obtained elsewhere, without a run directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.models.base import Model, ModelOptions, check_capabilities
from kapwa.models.replay import ReplayModel, ReplayRow, load
from kapwa.records import Answer, Item
from kapwa.runs.directory import results
from kapwa.runs.execute import answers
from kapwa.runs.manifest import describe
from kapwa.runs.requests import RequestIndex
from kapwa.runs.schema import RUN_TABLES
from kapwa.suites.base import Task

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
    manifest: Mapping[str, Any]
    unused: tuple[str, ...]
    failed: int

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the headline numbers with their floors and ceilings."""
        from kapwa.runs.outputs import results_html

        return results_html(self.manifest, self.estimates, self.floors)


def score_responses(task: Task, responses: Any, *, seed: int = 0) -> ScoredResponses:
    """Judge answers obtained elsewhere; no model is asked and nothing is written.

    ``responses``: a Polars or pandas frame, or a CSV, TSV, JSON-lines, XLSX or Parquet file, with the columns
    ``item_id``, ``text`` and, optional, ``variant`` and ``sample``. Items without an answer count as failed; rows
    that answer no item are listed in ``unused``. Returns ``scores``, ``estimates``, ``floors``, ``comparisons``,
    ``items`` and the suite's own ``tables``. Raises DataError naming file and row, also when no row fits the task.
    """
    try:
        model = _replay(responses)
        check_capabilities(model, task.needs, task.name)
        items = task.items()
        index = RequestIndex(task, items, model.fingerprint)
        unused = unused_lines(model.unused(index), model, items)
    except DataError as error:
        if not isinstance(responses, str | Path):
            error.path = "the responses"  # the user gave a table, not the file that it was put into
        raise
    by_key = {response.request_key: response for response in answers(model, "generate", list(index.distinct()))}
    judged = task.score(items, [Answer(request, by_key[request.key]) for request in index])
    described = describe(task, model, items, seed=seed)
    tables = results(described, judged, items, task.floors(items), task.item_table(items))
    failed = sum(response.failed for response in by_key.values())
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
        first = rows[0]
        raise DataError(
            f"no row answers an item of this task (here: item {first.item_id!r}).",
            path=model.description["file"],
            row=first.number,
            column="item_id",
            hint=nearest(first.item_id, ids),
        )
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
