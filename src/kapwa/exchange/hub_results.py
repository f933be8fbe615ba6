"""Headline scores as Hugging Face's ``.eval_results/*.yaml``, to be put into a model's repository.

The form: https://huggingface.co/docs/hub/eval-results. A score belongs to a benchmark on the Hub; which one, only the
user can say. One file a score, since a benchmark's leaderboard shows one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from kapwa.errors import UsageError
from kapwa.exchange.source import Source
from kapwa.runs.runner import slug

FOLDER = ".eval_results"
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def entries(source: Source, dataset: str | None, task_id: str | None) -> Mapping[str, str]:
    """Return the files by their names: the first headline metric of each culture, language and variant.

    ``dataset``: the benchmark's repository on the Hub; ``task_id``: which of its tasks, "default" where None.
    Raises UsageError without a dataset or a score.
    """
    if dataset is None or not _REPOSITORY.fullmatch(dataset):
        told = "none is named" if dataset is None else f"{dataset!r} is not owner/name"
        raise UsageError(
            f"hf-eval-results needs the benchmark's dataset on the Hub; {told}.", hint="Name it: --dataset owner/name"
        )
    headline = source.manifest["headline"][:1]
    rows = [row for row in source.overall() if row["metric"] in headline]
    if not rows:
        raise UsageError(f"{source.run.path} has no headline score.", hint="See: kapwa report")
    found: dict[str, str] = {}
    for row in rows:
        name = "-".join(
            slug(str(word)) for word in (source.manifest["task"], row["culture"], row["language"], row["variant"])
        )
        name = name if f"{FOLDER}/{name}.yaml" not in found else f"{name}-{len(found)}"
        entry = _entry(source.manifest, row, dataset, task_id or "default")
        found[f"{FOLDER}/{name}.yaml"] = yaml.safe_dump([entry], allow_unicode=True, sort_keys=False, width=1000)
    return found


def _entry(manifest: Mapping[str, Any], row: Mapping[str, Any], dataset: str, task_id: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"dataset": {"id": dataset, "task_id": task_id}, "value": row["value"]}
    if manifest.get("finished"):
        entry["date"] = manifest["finished"]
    entry["notes"] = _notes(row)
    return entry


def _notes(row: Mapping[str, Any]) -> str:
    where = f"{row['metric']}, {row['culture']} ({row['language']}), {row['variant']}, {row['n']} items"
    interval = "" if row["low"] is None else f", 95 % interval {row['low']:.4f} to {row['high']:.4f}"
    return f"{where}{interval}. {row['signature']}"
