"""A run as an Inspect log: written by Inspect's own writer, so that ``inspect view`` and its data frames read it.

One run is one log. Scores are one scorer's, ``kapwa``, with a value for each metric. Results hold Kapwa's estimates
with their clustered standard errors, for each culture, language and variant; where these are several, one over all
items stands first, since Inspect's lists show a single number of a log.
What Inspect has no place for stands in the log's metadata and the samples' store under ``kapwa``, from which
:mod:`kapwa.exchange.inspect_own` makes the same run again.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.errors import DataError, MissingDependencyError
from kapwa.exchange.inspect_samples import SCORER, kept_tables, samples, shapes
from kapwa.exchange.source import ALL, Source
from kapwa.exchange.terms import BLOCK
from kapwa.records import OUTCOMES
from kapwa.runs.manifest import NAME
from kapwa.runs.runner import JOURNAL, slug

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalMetric, EvalResults, EvalSpec, EvalStats

LEVEL = 0.95
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?")
_SHOWN = 40
_UNDATED = "1970-01-01T00:00:00+00:00"


def need_inspect(purpose: str) -> None:
    """Raise MissingDependencyError where Inspect is not installed, or lacks something that it imports."""
    try:
        import inspect_ai.log  # noqa: F401 - heavy, and only its absence is asked
    except ImportError:
        raise MissingDependencyError("inspect-ai", extra="inspect", purpose=purpose) from None


def file_name(source: Source) -> str:
    """Return the name by which Inspect lists logs: time, task and id, the same for the same run."""
    task = slug(source.manifest["task"]).replace("_", "-")
    return f"{_created(source).replace(':', '-')}_{task}_{_identity(source.manifest)}.eval"


def write_log(source: Source, path: Path) -> None:
    """Write the log of a run to ``path``; samples are made as they are written, never all at once."""
    from kapwa.exchange.inspect_write import write_streamed

    kept = kept_tables(source)
    made = samples(source, kept, _identity(source.manifest), _usual_error(source.manifest))
    write_streamed(_header(source, shapes(source, kept)), made, path)


def _created(source: Source) -> str:
    """Return when the run began, or else ended; it becomes part of a file's name."""
    return _moment(source, "started") or _moment(source, "finished") or _UNDATED


def _moment(source: Source, name: str) -> str:
    """Return a time of the run's manifest as it stands; "" where there is none. Raises DataError for what is none."""
    told = source.manifest.get(name)
    if told is None or told == "":
        return ""
    # What else Python reads as a time is none for Inspect, and a separator may be any character: also a slash.
    if not isinstance(told, str) or not _MOMENT.fullmatch(told) or not _is_moment(told):
        raise DataError(
            f"is no moment: {str(told)[:_SHOWN]!r}.",
            path=source.run.path / NAME,
            column=name,
            hint="Write it as 2026-11-20T16:30:00+00:00, or null.",
        )
    return told


def _is_moment(told: str) -> bool:
    try:
        datetime.fromisoformat(told)
    except ValueError:
        return False
    return True


def _identity(manifest: Mapping[str, Any]) -> str:
    """Return the same identifier for the same run, so that exporting it again meets its own file."""
    told = f"{manifest.get('signature')} {manifest.get('finished')}"
    return hashlib.blake2b(told.encode(), digest_size=11).hexdigest()


def _usual_error(manifest: Mapping[str, Any]) -> str:
    reasons = [str(one["reason"]) for one in manifest.get("failures") or ()]
    return reasons[0] if len(reasons) == 1 else "The model gave no answer. " + " / ".join(reasons)


def _header(source: Source, kept: Mapping[str, Any]) -> EvalLog:
    from inspect_ai.log import EvalLog, EvalPlan, EvalPlanStep
    from inspect_ai.model import GenerateConfig

    options = source.manifest["options"]
    config = GenerateConfig(max_tokens=options.get("max_new_tokens"), temperature=options.get("temperature"))
    results = _results(source)
    return EvalLog(
        status="success",
        eval=_spec(source, kept),
        plan=EvalPlan(steps=[EvalPlanStep(solver=SCORER, params=dict(options))], config=config),
        results=results,
        stats=_stats(source),
    )


def _spec(source: Source, kept: Mapping[str, Any]) -> EvalSpec:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

    manifest = source.manifest
    scores = source.table("scores")
    identity = _identity(manifest)
    draws = scores["sample"].max()
    own = {"manifest": manifest, "floors": source.table("floors").to_dicts(), "tables": kept}
    return EvalSpec(
        created=_created(source),
        eval_id=identity,
        run_id=identity,
        task_id=identity,
        task=manifest["task"],
        task_args={name: value for name, value in manifest["options"].items() if value is not None},
        dataset=EvalDataset(name=manifest["data"]["name"], samples=_items(scores), shuffled=False),
        model=str(manifest["model"]["id"]),
        config=EvalConfig(epochs=int(draws) + 1 if isinstance(draws, int) else 1, fail_on_error=False),
        packages={"kapwa": str(manifest["kapwa"])},
        metadata={"signature": manifest["signature"], "data": manifest["data"], SCORER: own},
    )


def _items(scores: pl.DataFrame) -> int:
    return scores.select("item_id", "variant", "culture").unique().height


def _results(source: Source) -> EvalResults:
    from inspect_ai.log import EvalResults, EvalScore

    scores = source.table("scores")
    draws = scores.group_by("item_id", "variant", "culture", "sample").agg((pl.col("outcome") != "failed").any())
    by_metric = scores.group_by("metric").agg(known=pl.col("value").count(), rows=pl.len())
    known = {name: (n, rows - n) for name, n, rows in by_metric.iter_rows()}
    labels = _labels(source)
    rows = [*source.overall(), *(_pooled(source) if len(labels) > 1 else ())]
    found = [
        EvalScore(
            name=name,
            scorer=SCORER,
            scored_samples=known.get(name, (0, 0))[0],
            unscored_samples=known.get(name, (0, 0))[1],
            metrics=_metrics([row for row in rows if row["metric"] == name], labels),
            metadata={key: value for key, value in info.items() if value not in (None, "") and key != "name"},
        )
        for name, info in source.manifest["metrics"].items()
    ]
    return EvalResults(
        total_samples=draws.height,
        completed_samples=int(draws["outcome"].sum()),
        scores=found,
        headline=_headline(source, rows),
    )


def _labels(source: Source) -> Mapping[tuple[str, ...], str]:
    """Name each culture, language and variant by the fewest of these that tell all apart; one alone has no name."""
    blocks = source.table("scores").select(BLOCK).unique(maintain_order=True).sort(BLOCK)
    ways = [parts for n in (1, 2, 3) for parts in itertools.combinations(BLOCK, n)]
    telling = next(parts for parts in ways if blocks.select(parts).is_unique().all()) if blocks.height > 1 else ()
    rows = list(blocks.iter_rows(named=True))
    return {tuple(row[name] for name in BLOCK): ", ".join(row[name] for name in telling) for row in rows}


def _pooled(source: Source) -> Iterator[dict[str, Any]]:
    """Yield an estimate over all items of the run for each metric: the one number Inspect's lists show of a log."""
    from kapwa.stats.tables import estimate_table

    # An item asked in several ways keeps its cluster, so that the ways are not taken for independent.
    apart = pl.concat_str("item_id", *BLOCK, separator="\n").alias("item_id")
    one = source.table("scores").with_columns(apart, *(pl.lit(ALL).alias(name) for name in BLOCK))
    binary = {name: bool(info["binary"]) for name, info in source.manifest["metrics"].items()}
    found = estimate_table(one, metrics=binary, groups=(), level=LEVEL, seed=int(source.manifest["seed"]))
    for row in found.filter(pl.col("group") == ALL, pl.col("value").is_not_null()).iter_rows(named=True):
        info = source.manifest["metrics"][row["metric"]]
        yield {**_within(row, info), "signature": source.manifest["signatures"][row["metric"]]}


def _within(row: dict[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
    """Cut an interval at the ends of the metric's range, as the run's own are."""
    for end, inner in (("low", max), ("high", min)):
        if row[end] is not None and info.get(end) is not None:
            row = {**row, end: inner(row[end], info[end])}
    return row


def _metrics(rows: Sequence[Mapping[str, Any]], labels: Mapping[tuple[str, ...], str]) -> dict[str, EvalMetric]:
    """Return mean and standard error of one metric: of everything first, then of each culture, language and variant.

    An estimate that belongs to no label is the one of everything. Every metric gets the same columns, in groups: only
    then does Inspect's viewer show metrics in one table. What is not known (nothing to measure; too few clusters for an
    error) is NaN, Inspect's own word for it.
    """
    found = {labels.get(tuple(row[name] for name in BLOCK), ""): row for row in rows}
    named = sorted(label for label in labels.values() if label)
    columns = [*_columns([""]), *_columns(named)]
    return {f"{kind} {label}".strip(): _estimate(found.get(label), kind, label) for kind, label in columns}


def _columns(labels: Sequence[str]) -> list[tuple[str, str]]:
    return [(kind, label) for kind in ("mean", "stderr") for label in labels]


def _estimate(row: Mapping[str, Any] | None, kind: str, label: str) -> EvalMetric:
    from inspect_ai.log import EvalMetric

    found = None if row is None else row["value" if kind == "mean" else "se"]
    return EvalMetric(
        name=label or kind,
        group=kind if label else None,
        value=math.nan if found is None else found,
        metadata=None if row is None else _about(row),
    )


def _about(row: Mapping[str, Any]) -> dict[str, Any]:
    interval = {"low": row["low"], "high": row["high"], "level": LEVEL, "method": row["method"]}
    return {
        **{name: row[name] for name in BLOCK},
        **(interval if row["low"] is not None else {}),
        "n": row["n"],
        "clusters": row["clusters"],
        "outcomes": {name: row[name] for name in OUTCOMES if row[name]},
        "signature": row["signature"],
    }


def _headline(source: Source, rows: Sequence[Mapping[str, Any]]) -> Any:
    from inspect_ai.log import HeadlineMetric

    known = {row["metric"] for row in rows}
    first = next((name for name in source.manifest["headline"] if name in known), None)
    return None if first is None else HeadlineMetric(scorer=SCORER, score=first, metric="mean")


def _stats(source: Source) -> EvalStats:
    from inspect_ai.log import EvalStats
    from inspect_ai.model import ModelUsage

    manifest = source.manifest
    read, written = _usage(source.run.path / JOURNAL)
    usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return EvalStats(
        started_at=_moment(source, "started"),
        completed_at=_moment(source, "finished"),
        model_usage={str(manifest["model"]["id"]): usage} if usage.total_tokens else {},
    )


def _usage(journal: Path) -> tuple[int, int]:
    """Add up the tokens that the model read and wrote, as the journal tells; an imported run has none."""
    if not journal.is_file():
        return 0, 0
    # Immutable: nothing is written beside the journal, which may lie in a read-only folder; the run is finished.
    address = f"{journal.resolve().as_uri()}?mode=ro&immutable=1"
    query = (
        "SELECT total(json_extract(payload, '$.usage[0]')), total(json_extract(payload, '$.usage[1]')) FROM responses"
    )
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            read, written = connection.execute(query).fetchone()
    except sqlite3.Error:
        # Tokens are no result: a journal that was moved, cut or is being written keeps no tables from export.
        return 0, 0
    return int(read), int(written)
