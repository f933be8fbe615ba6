"""The run behind a Kapwa export in Inspect's form: the same tables again, column for column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.inspect_read import samples_of
from kapwa.exchange.inspect_samples import ABOUT, KEPT, KEY, SCORER
from kapwa.exchange.lm_eval_own import SCORES
from kapwa.exchange.own import own_manifest
from kapwa.exchange.writing import Imported

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

_NOTE = "Imported from an export in Inspect's form: its tables are those the export holds, not all of the first run."
_TYPES = {str(kind): kind for kind in (pl.String, pl.Boolean, pl.Int64, pl.Int32, pl.UInt32, pl.Float64, pl.Null)}


def is_own(log: EvalLog) -> bool:
    """Whether the log is an export of Kapwa's."""
    kept = (log.eval.metadata or {}).get(SCORER)
    return isinstance(kept, Mapping) and "manifest" in kept


def own_run(file: Path, log: EvalLog) -> Imported:
    """Return the run that was exported. Raises DataError where what Kapwa wrote into the log was damaged."""
    kept = (log.eval.metadata or {})[SCORER]
    manifest, floors = own_manifest(kept, file, _NOTE)
    try:
        samples = sorted(samples_of(log), key=lambda sample: int(sample.store[SCORER]["place"]))
        shapes = {name: {c: _type(kind) for c, kind in columns.items()} for name, columns in kept["tables"].items()}
        scores = pl.DataFrame([row for sample in samples for row in _scores(sample)], schema=dict(SCORES), orient="row")
        tables = {name: pl.DataFrame(_rows(samples, name), schema=shapes[name]) for name in KEPT if name in shapes}
        items = pl.DataFrame(list(_items(samples)), schema=shapes["items"])
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise DataError("is not as Kapwa wrote it.", path=file, column="kapwa", hint="Export the run again.") from None
    return Imported(manifest, scores, items, tables, floors)


def _type(name: str) -> Any:
    """Read the name of a column's type, as an export writes it."""
    if name.startswith("List("):
        return pl.List(_type(name[5:-1]))
    return _TYPES[name]


def _about(sample: EvalSample) -> dict[str, Any]:
    return {name: sample.metadata.get(name) for name in ABOUT}


def _scores(sample: EvalSample) -> Iterator[list[Any]]:
    about = {**_about(sample), "sample": sample.epoch - 1}
    for metric, value, outcome in sample.store[SCORER]["scores"]:
        row = {**about, "metric": metric, "value": value, "outcome": outcome}
        yield [row[name] for name in SCORES]


def _rows(samples: Sequence[EvalSample], name: str) -> list[dict[str, Any]]:
    return [
        {**{part: sample.metadata[part] for part in KEY}, **row}
        for sample in samples
        for row in sample.store[SCORER].get(name, ())
    ]


def _items(samples: Sequence[EvalSample]) -> Iterator[dict[str, Any]]:
    seen = set()
    for sample in samples:
        key = tuple(sample.metadata[part] for part in KEY)
        if key not in seen:
            seen.add(key)
            yield {**_about(sample), **sample.store[SCORER]["item"]}
