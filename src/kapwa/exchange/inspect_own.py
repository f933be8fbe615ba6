"""The run behind a Kapwa export in Inspect's form: the same tables again, column for column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.inspect_read import InspectLog
from kapwa.exchange.inspect_samples import ABOUT, KEPT, KEY, SCORER
from kapwa.exchange.own import check_metrics, own_manifest
from kapwa.exchange.terms import SCORES
from kapwa.exchange.writing import Imported

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

_NOTE = "Imported from an export in Inspect's form: its tables are those the export holds, not all of the first run."
_HELD = 1000  # samples whose rows are Python's at once
_ORDER = ("kapwa place", "kapwa epoch")  # columns that no table has
_TYPES = {str(kind): kind for kind in (pl.String, pl.Boolean, pl.Int64, pl.Int32, pl.UInt32, pl.Float64, pl.Null)}


def is_own(log: EvalLog) -> bool:
    """Whether the log is an export of Kapwa's."""
    kept = (log.eval.metadata or {}).get(SCORER)
    return isinstance(kept, Mapping) and "manifest" in kept


def own_run(log: InspectLog) -> Imported:
    """Return the run that was exported. Raises DataError where what Kapwa wrote into the log was damaged."""
    kept = (log.header.eval.metadata or {})[SCORER]
    manifest, floors = own_manifest(kept, log.file, _NOTE)
    try:
        shapes = {name: {c: _type(kind) for c, kind in columns.items()} for name, columns in kept["tables"].items()}
        shapes = {"scores": dict(SCORES), **{name: shapes[name] for name in ("items", *KEPT) if name in shapes}}
        tables = _tables(log, shapes)
        items = tables.pop("items")
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise DataError(
            "is not as Kapwa wrote it.", path=log.file, column="kapwa", hint="Export the run again."
        ) from None
    scores = tables.pop("scores")
    check_metrics(manifest, scores, log.file)
    return Imported(manifest, scores, items, tables, floors)


def _tables(log: InspectLog, shapes: Mapping[str, Mapping[str, Any]]) -> dict[str, pl.DataFrame]:
    """Return the tables; rows become columns some samples at a time, and get the run's order at the end."""
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in shapes}
    seen: set[tuple[Any, ...]] = set()
    samples = log.samples(whole=True)
    while rows := _rows_of(islice(samples, _HELD), shapes, seen):
        for name, shape in shapes.items():
            parts[name].append(pl.DataFrame(rows[name], schema={**shape, **dict.fromkeys(_ORDER, pl.Int64)}))
    return {name: pl.concat(found).sort(_ORDER, maintain_order=True).drop(_ORDER) for name, found in parts.items()}


def _rows_of(
    samples: Iterator[EvalSample], shapes: Mapping[str, Any], seen: set[tuple[Any, ...]]
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table; nothing where there are no samples."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for sample in samples:
        order = {_ORDER[0]: int(sample.store[SCORER]["place"]), _ORDER[1]: sample.epoch}
        rows = rows or {name: [] for name in shapes}
        for name, found in _rows(sample, shapes, seen):
            rows[name] += [{**row, **order} for row in found]
    return rows


def _type(name: str) -> Any:
    """Read the name of a column's type, as an export writes it."""
    if name.startswith("List("):
        return pl.List(_type(name[5:-1]))
    return _TYPES[name]


def _about(sample: EvalSample) -> dict[str, Any]:
    return {name: sample.metadata.get(name) for name in ABOUT}


def _rows(
    sample: EvalSample, shapes: Mapping[str, Any], seen: set[tuple[Any, ...]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield what a sample holds of each table; of items, those that are not ``seen`` yet."""
    own, about = sample.store[SCORER], _about(sample)
    draw = {**about, "sample": sample.epoch - 1}
    yield "scores", [{**draw, "metric": name, "value": value, "outcome": how} for name, value, how in own["scores"]]
    key = {part: sample.metadata[part] for part in KEY}
    for name in KEPT:
        if name in shapes:
            yield name, [{**key, **row} for row in own.get(name, ())]
    if tuple(key.values()) not in seen:
        seen.add(tuple(key.values()))
        yield "items", [{**about, **own["item"]}]
