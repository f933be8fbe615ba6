"""A run folder of which all answers are judged: its manifest and tables. Reading never needs the model, nor torch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from pydantic import ValidationError

from kapwa import files, registry
from kapwa.errors import RunError, UnfinishedRunError, UsageError, check_known
from kapwa.runs.estimates import estimates_of
from kapwa.runs.result_folder import Tables, read_table, table_of
from kapwa.runs.schema import (
    AGAIN,
    LATER,
    NAME,
    OF_ITEMS,
    RUN,
    RUN_TABLES,
    TABLES,
    Manifest,
    with_later_columns,
)
from kapwa.runs.store import JOURNAL
from kapwa.stats.schemas import ALL
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
# A text as part of a run's name, in which the dots of a model's version stay.
slug = partial(files.slug, keep=".", longest=40, empty="unnamed")


def brief_model(model_id: str) -> str:
    """Return the last part of a model's id: what people call it."""
    backend, _, name = model_id.partition(":")
    if name and backend in registry.installed("models"):
        model_id = name
    return re.split(r"[/\\]", model_id.rstrip("/\\"))[-1] or model_id


class Run:
    """One evaluated model on one task, whose tables are read when first asked for.

    ``label``: what to call the run beside others: the user's name for it, else the last part of its model's id.
    ``complete``: whether every item was answered. ``stopped``: whether it ended at a limit before everything was
    asked. ``ended_in_order``: whether it did so in the order of the data, so that its scores are of the items that came
    first: they are no headline. ``failed``: how many requests have no answer; the same command asks them again.
    ``tables``: all tables of this run by name, the common ones first, then the suite's own.
    """

    scores: pl.DataFrame = table_of("scores", TABLES["scores"].about)
    estimates: pl.DataFrame = table_of("estimates", TABLES["estimates"].about)
    floors: pl.DataFrame = table_of("floors", TABLES["floors"].about)
    comparisons: pl.DataFrame = table_of("comparisons", TABLES["comparisons"].about)
    items: pl.DataFrame = table_of("items", TABLES["items"].about)
    continuations: pl.DataFrame = table_of("continuations", TABLES["continuations"].about)
    answers: pl.DataFrame = table_of("answers", TABLES["answers"].about)

    def __init__(self, path: str | Path) -> None:
        """Open the run directory ``path``.

        Raises RunError for a folder that is no run, an unfinished one, and one of a newer format.
        """
        self.path = Path(path)
        file = self.path / NAME
        if not self.path.is_dir():
            raise RunError(f"{self.path} is not a folder.", hint="Name a run's folder, such as one in runs/.")
        if not file.exists():
            if (self.path / JOURNAL).exists():
                raise UnfinishedRunError(f"{self.path} is an unfinished run: it has no {NAME}.", hint=AGAIN)
            inside = sorted(str(entry.parent) for entry in self.path.glob(f"*/{NAME}"))
            hint = f"It holds runs; name one: {', '.join(inside[:5])}" if inside else "Make one with: kapwa run"
            raise RunError(f"{self.path} is not a run: it has no {NAME}.", hint=hint)
        manifest = RUN.read(self.path)
        if manifest.get("status") not in ("complete", "failed_items", "stopped"):
            raise UnfinishedRunError(f"{self.path} is unfinished: its answers are not all judged yet.", hint=AGAIN)
        try:
            checked = Manifest.model_validate(manifest)
        except ValidationError as error:
            key = ".".join(map(str, error.errors()[0]["loc"]))
            raise RunError(f"{file} is damaged: {key!r} is not what it should be.", hint=AGAIN) from None
        # What is not said of a metric has the default of its field.
        self.metrics: dict[str, MetricInfo] = checked.metrics
        metrics = {name: asdict(info) for name, info in checked.metrics.items()}
        headline = [name for name in checked.headline if name in metrics] or list(metrics)[:1]
        self.manifest: JsonMapping = {**manifest, "metrics": metrics, "headline": headline}
        self.label = str(self.manifest.get("label") or brief_model(str(self.manifest["model"]["id"])))
        self.complete: bool = self.manifest["status"] == "complete"
        self.stopped: bool = self.manifest["status"] == "stopped"
        self.ended_in_order: bool = ended_in_order(self.manifest)
        self.failed: int = self.manifest["counts"]["failed"]
        names = (*RUN_TABLES, *(name for name in self.manifest["tables"] if name not in RUN_TABLES))
        self.tables = Tables(names, self.table)
        self._read: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.label}, {self.manifest['task']}, {self.manifest['status']})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the headline numbers with their floors and ceilings."""
        from kapwa.runs.csv_and_notebook import results_html

        shown = self.estimates.clear() if self.ended_in_order else self.estimates
        return results_html(self.manifest, shown, self.floors)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one this run does not have, RunError for a damaged one."""
        check_known(name, self.tables, f"{self.path} has no table {name!r}.")
        if name not in self._read:
            columns = TABLES[name].columns if name in TABLES else {}
            needed = [column for column in columns if column not in LATER.get(name, ())]
            hint = f"{AGAIN} Nothing is asked twice."
            table = read_table(self.path / f"{name}.parquet", needed, {**OF_ITEMS, **columns}, hint)
            old = name == "estimates" and any(column not in table.columns for column in columns)
            # A run of before has less to say of what is missing, but its scores do.
            if old:
                table = estimates_of(self.manifest, self.scores, self.floors)
            self._read[name] = table if old else with_later_columns(name, table)
        return self._read[name]

    def to_pandas(self, name: str = "estimates") -> pd.DataFrame:
        """Return a table as a pandas frame; see :func:`kapwa.to_pandas`."""
        from kapwa.tables.pandas_frames import to_pandas

        return to_pandas(self.table(name))

    @property
    def headline(self) -> JsonObject | None:
        """The estimate that reports lead with, a row of ``estimates``.

        None where nothing was measured, and where the run ended early in the order of the data.
        It is of the first headline metric in the first prompt variant: the mean over cultures, each counting alike, or
        the score of the only culture, with interval, bounds, counts, floors and signature.
        """
        if self.ended_in_order:
            return None
        variant = self.manifest["selection"]["variants"][0]
        rows = self.estimates.filter(group=ALL, metric=self.manifest["headline"][0], variant=variant)
        means = rows.filter(pl.col("culture").is_null())
        leading = means if means.height else rows
        return leading.row(0, named=True) if leading.height else None

    def as_dict(self) -> JsonObject:
        """Return the path, the manifest, the headline, the estimates and the floors as plain values, for JSON."""
        return {
            "path": str(self.path),
            "manifest": dict(self.manifest),
            "headline": self.headline and files.jsonable(self.headline),
            **{
                name: [files.jsonable(row) for row in self.table(name).iter_rows(named=True)]
                for name in ("estimates", "floors", "comparisons")
            },
        }


def ended_in_order(manifest: Mapping[str, object]) -> bool:
    """Whether a run ended at a limit before everything was asked, and asked in the order of the data before."""
    return manifest.get("status") == "stopped" and manifest.get("order") != "random"


def is_page(file: Path) -> bool:
    """Whether a file is a page that Kapwa wrote; such pages lie among the runs that they are about."""
    if file.suffix.lower() != ".html" or not file.is_file():
        return False
    with file.open(encoding="utf-8", errors="replace") as page:
        return 'name="generator" content="kapwa"' in page.read(2000)


def run_folders(path: Path) -> list[Path]:
    """Return the run folders that a path names: itself, those in it, none for a page that lies among runs.

    Anything else is returned as it is, for whoever opens it to refuse.
    """
    if is_page(path):
        return []
    inside = [] if (path / NAME).exists() or (path / JOURNAL).exists() else path.glob(f"*/{NAME}")
    return sorted(entry.parent for entry in inside) or [path]


def open_runs(runs: Run | str | Path | Sequence[Run | str | Path]) -> list[Run]:
    """Open runs, named by themselves, by their folders or by a folder that holds them.

    Pages among them are passed over, so that ``runs/*`` names every run in ``runs``. Raises UsageError where no run is
    named, RunError for a folder that is no run, or an unfinished one.
    """
    named = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    opened: list[Run] = []
    for each in named:
        opened += [each] if isinstance(each, Run) else map(Run, run_folders(Path(each)))
    if not opened:
        raise UsageError("No run is named.", hint="Name one or more run folders, such as those in runs/.")
    return opened
