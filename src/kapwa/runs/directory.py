"""A run directory: its name and lock, its manifest, tables and answers. Reading never needs the model, nor torch.

Its tables are estimated from what was judged and written whole: always the same bytes for the same answers.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout
from pydantic import ValidationError

from kapwa import files, registry
from kapwa.errors import RunError, UnfinishedRunError, check_known
from kapwa.records import SCORE_COLUMNS, Floor, Item
from kapwa.runs.floors import floor_tables
from kapwa.runs.manifest import signature
from kapwa.runs.schema import CEILINGS, FORMAT, NAME, OF_ITEMS, RUN_TABLES, TABLE_NAME, TABLES, Manifest
from kapwa.runs.store import JOURNAL
from kapwa.stats.tables import COMPARISON_SCHEMA, compare_variants, estimate_table
from kapwa.suites.base import Judged, MetricInfo, holds_shares

LEVEL = 0.95
# What tells the numbers of a run apart.
_SIGNED = ("metric", "variant", "culture", "language", "group", "stratum")
_SUITE_BUG = "This is a fault of the suite; report it to its authors."
_LOCK, _HOLDER = ".lock", ".lock-holder"
# A text as part of a run's name, in which the dots of a model's version stay.
slug = partial(files.slug, keep=".", longest=40, empty="unnamed")
_AGAIN = "Run again with the same command that began it."


def brief_model(model_id: str) -> str:
    """Return the last part of a model's id: what people call it."""
    backend, _, name = model_id.partition(":")
    if name and backend in registry.installed("models"):
        model_id = name
    return re.split(r"[/\\]", model_id.rstrip("/\\"))[-1] or model_id


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold ``folder`` for this process; the system lets go of it however the process ends.

    Raises RunError naming the holder when another process (or thread) has it, and when the folder cannot be written.
    """
    lock, holder = FileLock(folder / _LOCK, timeout=0), folder / _HOLDER
    try:
        lock.acquire()
    except Timeout:
        who = "another process"
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(holder.read_text(encoding="utf-8"))
            who = f"process {int(note['pid'])} on {note['host']}"
        raise RunError(
            f"{folder} is in use by another run ({who}).",
            hint="Wait for it, stop it, or choose another folder with --out.",
        ) from None
    except OSError as error:
        raise RunError(
            f"{folder} cannot be locked: {error.strerror or error}.", hint="Choose a writable folder with --out."
        ) from error
    try:
        # Only for the message above: the lock itself is the system's, so a stale note does no harm.
        with suppress(OSError):
            holder.unlink(missing_ok=True)  # never written through: a folder from elsewhere may hold a link
            with holder.open("x", encoding="utf-8") as file:
                json.dump({"pid": os.getpid(), "host": platform.node()}, file)
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


@dataclass(frozen=True)
class Tables(Mapping[str, pl.DataFrame]):
    """The tables of a folder by name, each read when first asked for; ``read`` reads one."""

    names: Sequence[str]
    read: Callable[[str], pl.DataFrame] = field(repr=False, compare=False)

    def __contains__(self, name: object) -> bool:
        return name in self.names  # reads nothing

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self.names:  # as of any mapping; Run.table names the nearest
            raise KeyError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def table_of(name: str, what: str) -> Any:
    """A table of a folder, read when first looked at."""
    return property(lambda folder: folder.table(name), doc=what)


class Run:
    """One evaluated model on one task, whose tables are read when first asked for.

    ``label``: what to call the run beside others: the user's name for it, else the last part of its model's id.
    ``complete``: whether every item was answered. ``failed``: how many requests have no answer; the same command asks
    them again. ``tables``: all tables of this run by name, the common ones first, then the suite's own.
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
                raise UnfinishedRunError(f"{self.path} is an unfinished run: it has no {NAME}.", hint=_AGAIN)
            inside = sorted(str(entry.parent) for entry in self.path.glob(f"*/{NAME}"))
            hint = f"It holds runs; name one: {', '.join(inside[:5])}" if inside else "Make one with: kapwa run"
            raise RunError(f"{self.path} is not a run: it has no {NAME}.", hint=hint)
        manifest = load_manifest(file, "run", FORMAT, f"{_AGAIN} The answers are in {JOURNAL}.")
        if manifest.get("status") not in ("complete", "failed_items"):
            raise UnfinishedRunError(f"{self.path} is unfinished: its answers are not all judged yet.", hint=_AGAIN)
        try:
            checked = Manifest.model_validate(manifest)
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            raise RunError(f"{file} is damaged: {place!r} is not what it should be.", hint=_AGAIN) from None
        # What is not said of a metric has the default of its field.
        metrics = {name: asdict(info) for name, info in checked.metrics.items()}
        headline = [name for name in checked.headline if name in metrics] or list(metrics)[:1]
        self.manifest: Mapping[str, Any] = {**manifest, "metrics": metrics, "headline": headline}
        self.label = str(self.manifest.get("label") or brief_model(str(self.manifest["model"]["id"])))
        self.complete: bool = self.manifest["status"] == "complete"
        self.failed: int = self.manifest["counts"]["failed"]
        names = (*RUN_TABLES, *(name for name in self.manifest["tables"] if name not in RUN_TABLES))
        self.tables = Tables(names, self.table)
        self._read: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.label}, {self.manifest['task']}, {self.manifest['status']})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the headline numbers with their floors and ceilings."""
        from kapwa.runs.outputs import results_html

        return results_html(self.manifest, self.estimates, self.floors)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name; raise UsageError for one this run does not have, RunError for a damaged one."""
        check_known(name, self.tables, f"{self.path} has no table {name!r}.")
        if name not in self._read:
            columns = TABLES[name].columns if name in TABLES else {}
            hint = f"{_AGAIN} Nothing is asked twice."
            self._read[name] = read_table(self.path / f"{name}.parquet", list(columns), {**OF_ITEMS, **columns}, hint)
        return self._read[name]

    def as_dict(self) -> dict[str, Any]:
        """Return the path, the manifest, the estimates and the floors as plain values, for JSON."""
        return {
            "path": str(self.path),
            "manifest": dict(self.manifest),
            **{
                name: [files.jsonable(row) for row in self.table(name).iter_rows(named=True)]
                for name in ("estimates", "floors", "comparisons")
            },
        }


def load_manifest(file: Path, kind: str, latest: int, hint: str) -> dict[str, Any]:
    """Read the JSON file that describes a folder; raise RunError for a damaged one, or a format after ``latest``."""
    files.check_ordinary(file)
    try:
        manifest = dict(json.loads(file.read_text(encoding="utf-8")))
        newer = manifest["format"] > latest
        json.dumps(manifest, allow_nan=False, ensure_ascii=False).encode()  # else no export could write it
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{file} is damaged.", hint=hint) from None
    if newer:
        what = f"{file.parent} has {kind} format {manifest['format']}; this Kapwa reads up to {latest}."
        raise RunError(what, hint="Upgrade: pip install -U kapwa")
    return manifest


def read_table(file: Path, columns: Sequence[str], types: Mapping[str, Any], hint: str) -> pl.DataFrame:
    """Read a table that Kapwa wrote.

    Raises RunError where it is missing, damaged, lacks one of ``columns``, or has a column of another type than
    ``types`` says.
    """
    files.check_ordinary(file)
    try:
        table = pl.read_parquet(file, glob=False)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        what = "is missing" if not file.exists() else f"cannot be read ({type(error).__name__})"
        raise RunError(f"{file} {what}.", hint=hint) from error
    lacks = next((column for column in columns if column not in table.columns), None)
    if lacks is not None:
        raise RunError(f"{file} is another table: it has no column {lacks!r}.", hint=hint)
    for column, kind in table.schema.items():
        if kind != types.get(column, kind):
            raise RunError(f"{file} is damaged: its column {column!r} holds {kind}, not {types[column]}.", hint=hint)
    return table


# --- the tables of a run: made and written -----------------------------------------------------------------


def results(
    manifest: Mapping[str, Any],
    judged: Judged,
    items: Sequence[Item],
    floors: Sequence[Floor],
    item_table: pl.DataFrame,
) -> dict[str, pl.DataFrame]:
    """Estimate what ``judged`` measured: by variant and group, floors beside it, variants compared.

    Returns the tables by name: those of :data:`RUN_TABLES`, then the suite's own (``continuations``, ``answers``, ...).
    ``manifest``: of the run, which says what its metrics are. ``items``: those asked; of floors that are known item by
    item they are the items. Raises RunError where the suite's tables are not as promised.
    """
    task = manifest["task"]
    metrics = {name: MetricInfo(**info) for name, info in manifest["metrics"].items()}
    if tuple(judged.scores.columns) != SCORE_COLUMNS:
        raise RunError(f"{task} gave a score table with the columns {judged.scores.columns}.", hint=_SUITE_BUG)
    for name in judged.tables:
        if name in (*RUN_TABLES, CEILINGS) or not TABLE_NAME.fullmatch(name):
            raise RunError(f"{task} names a table {name!r}, which cannot be.", hint=_SUITE_BUG)
    values = {name: judged.scores.filter(metric=name)["value"] for name in metrics}
    shares = {name: info.binary or holds_shares(asdict(info), values[name]) for name, info in metrics.items()}
    estimates = estimate_table(judged.scores, metrics=shares, groups=manifest["groups"])
    # Intervals are cut at the ends of a metric's range: a share is never below 0, whatever a t interval says, and where
    # no true value can lie, cutting loses no coverage. A metric without an end has null there: nothing is cut.
    schema = {"metric": pl.String, "least": pl.Float64, "most": pl.Float64}
    ranges = pl.DataFrame([(name, i.low, i.high) for name, i in metrics.items()], schema=schema, orient="row")
    estimates = (
        estimates.join(ranges, on="metric", how="left", maintain_order="left")
        .with_columns(
            low=pl.when(pl.col("low") < pl.col("least")).then(pl.min_horizontal("least", "value")).otherwise("low"),
            high=pl.when(pl.col("high") > pl.col("most")).then(pl.max_horizontal("most", "value")).otherwise("high"),
        )
        .drop("least", "most")
    )
    # No two numbers of a run have one signature.
    signed = [
        signature(manifest, metric, variant, {"culture": culture, "language": language, group: stratum})
        for metric, variant, culture, language, group, stratum in estimates.select(_SIGNED).iter_rows()
    ]
    comparisons = pl.DataFrame(schema=dict(COMPARISON_SCHEMA))
    binary = {name: info.binary for name, info in metrics.items()}
    if judged.scores["variant"].n_unique() > 1:
        comparisons = compare_variants(judged.scores, metrics=binary, seed=int(manifest["seed"]))
    kinds = {name: {"binary": binary[name], "share": shares[name]} for name in metrics}
    floor_rows, people = floor_tables(floors, items, judged.scores, kinds)
    return {
        "scores": judged.scores,
        "estimates": estimates.with_columns(pl.Series("signature", signed, dtype=pl.String)),
        "floors": floor_rows,
        "comparisons": comparisons,
        "items": item_table,
        **judged.tables,
        **({CEILINGS: people} if people.height else {}),
    }


def write_results(folder: Path, tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, Any]) -> None:
    """Write every table as Parquet, and the estimates as JSON too; each file whole or not at all.

    Nobody reads half-renewed tables: the ``manifest`` that vouches for them comes last.
    """
    for name, table in tables.items():
        with files.replacing(folder / f"{name}.parquet") as temporary:
            # Chunks and row groups would otherwise depend on how the table was put together.
            try:
                table.rechunk().write_parquet(temporary, compression_level=3, row_group_size=100_000)
            except pl.exceptions.ComputeError as error:  # how Polars says that the disk is full
                raise OSError(str(error).rpartition("error: ")[2]) from error
    files.write_json(folder / "estimates.json", files.jsonable(tables["estimates"].rows(named=True)))
    files.write_json(folder / NAME, manifest, sort=False)
