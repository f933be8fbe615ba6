"""A finished run as exports see it: its manifest and tables, with every key that is set here hidden once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import polars as pl

from kapwa.runs.directory import Run
from kapwa.runs.redact import api_keys, hide_keys, plain

ALL = "all"


class Source:
    """A run to export. ``manifest`` and tables hold no key that this process has in its environment."""

    def __init__(self, run: Run) -> None:
        """Read the manifest of ``run``; tables follow when they are asked for."""
        self.run = run
        self.manifest: Mapping[str, Any] = plain(run.manifest)
        self._keys = api_keys()

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the run's tables."""
        return self.run.tables

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the run, keys hidden in its texts."""
        return _hidden(self.run.table(name), self._keys)

    def optional(self, name: str) -> pl.DataFrame | None:
        """Return a table that not every task has, or None."""
        return self.table(name) if name in self.tables else None

    def overall(self) -> Iterator[dict[str, Any]]:
        """Yield the estimates over all items that have a value, one for each culture, language, variant and metric."""
        rows = self.table("estimates").filter(pl.col("group") == ALL, pl.col("value").is_not_null())
        return rows.iter_rows(named=True)

    def more_is_better(self, metric: str) -> bool | None:
        """Say whether a larger value is better; None where neither is, as for a text's length, or the run is silent."""
        told = self.manifest["metrics"].get(metric, {}).get("higher_is_better")
        return told if isinstance(told, bool) else None


_Held = TypeVar("_Held", bound="pl.DataFrame | Mapping[str, Any]")


def without_keys_in(held: _Held, keys: Sequence[str]) -> _Held:
    """Return a table, or plain values, with ``keys`` hidden in all texts."""
    if isinstance(held, pl.DataFrame):
        return cast("_Held", _hidden(held, list(keys)))
    whole: Any = held
    for key in keys:
        whole = _deep(whole, key)
    return cast("_Held", whole)


def _hidden(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    for key in keys:
        for name, kind in frame.schema.items():
            if kind == pl.String:
                frame = frame.with_columns(pl.col(name).str.replace_all(key, hide_keys(key, [key]), literal=True))
            elif kind.is_nested():
                cells = [_deep(cell, key) for cell in frame[name].to_list()]
                frame = frame.with_columns(pl.Series(name, cells, dtype=kind))
    return frame


def _deep(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return hide_keys(value, [key])
    if isinstance(value, dict):
        return {name: _deep(item, key) for name, item in value.items()}
    return [_deep(item, key) for item in value] if isinstance(value, list) else value
