"""Headline scores as Hugging Face's ``.eval_results/*.yaml``, to be put into a model's repository.

The form: https://huggingface.co/docs/hub/eval-results. A score belongs to a benchmark on the Hub; which one, only the
user can say. One file a score, since a benchmark's leaderboard shows one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import yaml

from kapwa.errors import UsageError
from kapwa.exchange.base import ExportOptions, Files, overall, write_text
from kapwa.runs.directory import Run, slug

_FOLDER = ".eval_results"
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def files(run: Run, options: ExportOptions) -> Files:
    """Yield the first headline metric of each culture, language and variant.

    ``options.dataset``: the benchmark's repository on the Hub; ``task_id``: which of its tasks, "default" where None.
    Raises UsageError without a dataset or a score.
    """
    dataset = options.dataset
    if dataset is None or not _REPOSITORY.fullmatch(dataset):
        found = "none is named" if dataset is None else f"{dataset!r} is not owner/name"
        raise UsageError(
            f"hf-eval-results needs the benchmark's dataset on the Hub; {found}.", hint="Name it: --dataset owner/name"
        )
    rows = [row for row in overall(run) if row["metric"] in run.manifest["headline"][:1]]
    if not rows:
        raise UsageError(f"{run.path} has no headline score.", hint="See: kapwa report")
    names: list[str] = []
    for row in rows:
        words = (run.manifest["task"], row["culture"], row["language"], row["variant"])
        name = "-".join(slug(str(word)) for word in words)
        names.append(name if name not in names else f"{name}-{len(names)}")
        entry: dict[str, Any] = {"dataset": {"id": dataset, "task_id": options.task_id or "default"}}
        entry["value"] = row["value"]
        if run.manifest.get("finished"):
            entry["date"] = run.manifest["finished"]
        entry["notes"] = _notes(row)
        text = yaml.safe_dump([entry], allow_unicode=True, sort_keys=False, width=1000)
        yield f"{_FOLDER}/{names[-1]}.yaml", partial(write_text, text)


def _notes(row: Mapping[str, Any]) -> str:
    where = f"{row['metric']}, {row['culture']} ({row['language']}), {row['variant']}, {row['n']} items"
    interval = "" if row["low"] is None else f", 95 % interval {row['low']:.4f} to {row['high']:.4f}"
    return f"{where}{interval}. {row['signature']}"
