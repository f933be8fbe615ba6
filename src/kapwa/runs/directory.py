"""Read a run directory: its manifest and its tables. Never needs the model, nor torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import RunError, UsageError, nearest
from kapwa.runs.manifest import FORMAT, NAME
from kapwa.runs.outputs import RUN_TABLES, TABLE_NAME, write_csv
from kapwa.runs.redact import plain
from kapwa.runs.runner import JOURNAL, brief_model

_AGAIN = "Run again with the same command that began it."


class Run:
    """One evaluated model on one task: ``path``, ``manifest``, and tables read when first asked for."""

    def __init__(self, path: str | Path) -> None:
        """Open the run directory ``path``.

        Raises RunError for a folder that is no run, an unfinished one, and one of a newer format.
        """
        self.path = Path(path)
        self.manifest: Mapping[str, Any] = _manifest(self.path)
        self._tables: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.label}, {self.manifest['task']}, {self.manifest['status']})"

    @property
    def label(self) -> str:
        """What to call the model beside others: the last part of its id."""
        return brief_model(str(self.manifest["model"]["id"]))

    @property
    def complete(self) -> bool:
        """Whether every item was answered."""
        return bool(self.manifest["status"] == "complete")

    @property
    def failed(self) -> int:
        """How many requests have no answer; the same command asks them again."""
        return int(self.manifest["counts"]["failed"])

    @property
    def scores(self) -> pl.DataFrame:
        """One row per item and metric (``kapwa.records.SCORE_COLUMNS``)."""
        return self.table("scores")

    @property
    def estimates(self) -> pl.DataFrame:
        """One row per culture, variant, group, stratum and metric, with interval, counts and signature."""
        return self.table("estimates")

    @property
    def floors(self) -> pl.DataFrame:
        """What chance, tricks and people score: ``metric, variant, name, value, kind, note``."""
        return self.table("floors")

    @property
    def comparisons(self) -> pl.DataFrame:
        """Paired tests between the variants of this run; empty when there is one variant."""
        return self.table("comparisons")

    @property
    def items(self) -> pl.DataFrame:
        """The items for readers of a report: prompt, answers, gloss; one row per item and variant."""
        return self.table("items")

    @property
    def continuations(self) -> pl.DataFrame:
        """One row per scored continuation (multiple-choice tasks)."""
        return self.table("continuations")

    @property
    def answers(self) -> pl.DataFrame:
        """One row per generated answer (open tasks)."""
        return self.table("answers")

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables of this run: the common ones first, then the suite's own."""
        named = list(self.manifest["tables"])
        return (*RUN_TABLES, *(name for name in named if name not in RUN_TABLES))

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one this run does not have, RunError for a damaged one."""
        if name not in self.tables:
            raise UsageError(f"{self.path} has no table {name!r}.", hint=nearest(name, self.tables))
        if name not in self._tables:
            self._tables[name] = _read(self.path / f"{name}.parquet")
        return self._tables[name]

    def as_dict(self) -> dict[str, Any]:
        """Return the path, the manifest, the estimates and the floors as plain values, for JSON."""
        return {
            "path": str(self.path),
            "manifest": dict(self.manifest),
            **{name: [plain(row) for row in self.table(name).iter_rows(named=True)] for name in _IN_DICT},
        }


_IN_DICT = ("estimates", "floors", "comparisons")


def _manifest(path: Path) -> dict[str, Any]:
    file = path / NAME
    if not path.is_dir():
        raise RunError(f"{path} is not a folder.", hint="Name a run's folder, such as one in runs/.")
    if not file.exists():
        unfinished = (path / JOURNAL).exists()
        raise RunError(
            f"{path} is {'an unfinished run' if unfinished else 'not a run'}: it has no {NAME}.",
            hint=_AGAIN if unfinished else _runs_inside(path),
        )
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version, status = int(manifest["format"]), manifest["status"]
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{file} is damaged.", hint=f"{_AGAIN} The answers are in {JOURNAL}.") from None
    if version > FORMAT:
        raise RunError(
            f"{path} has run format {version}; this Kapwa reads up to {FORMAT}.", hint="Upgrade: pip install -U kapwa"
        )
    if status not in ("complete", "failed_items"):
        raise RunError(f"{path} is unfinished: its answers are not all judged yet.", hint=_AGAIN)
    _check_table_names(file, manifest.get("tables"))
    return dict(manifest)


def _check_table_names(file: Path, names: Any) -> None:
    """Refuse names that would lead out of the folder: a run may come from somebody else, and names become paths."""
    if not isinstance(names, list) or not all(isinstance(n, str) and TABLE_NAME.fullmatch(n) for n in names):
        raise RunError(f"{file} is damaged: it names tables that cannot be.", hint=_AGAIN)


def _runs_inside(path: Path) -> str:
    try:
        inside = sorted(entry.name for entry in path.iterdir() if (entry / NAME).exists())
    except OSError:
        inside = []
    return f"It holds runs: {', '.join(inside[:5])}." if inside else "Make one with: kapwa run"


def _read(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except FileNotFoundError:
        raise RunError(f"{path} is missing.", hint=f"{_AGAIN} Nothing is asked twice.") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RunError(
            f"{path} cannot be read ({type(error).__name__}).", hint=f"{_AGAIN} Nothing is asked twice."
        ) from error


def export_csv(run: Run, folder: str | Path) -> Path:
    """Write every table of ``run`` as spreadsheet-safe CSV in ``folder``; return the folder."""
    target = Path(folder)
    write_csv({name: run.table(name) for name in run.tables}, target)
    return target
