"""A run as lm-eval writes results: one JSON of aggregates, and a JSON-lines file of samples for each task.

lm-eval has no cultures and variants, so each culture, language and variant becomes a separate task. Fields are as in
lm-eval 0.4.13, ``loggers/evaluation_tracker.py`` and ``result_schema.py``; facts for which lm-eval has no field are
under the key ``kapwa``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from functools import partial
from pathlib import Path

import polars as pl

from kapwa.exchange import base
from kapwa.runs.directory import Run, slug
from kapwa.suites.items import grouped
from kapwa.value_types import Cells, Json

_ABOUT = (*base.BREAKDOWN, "category", "topic", "cluster")
TaskKey = tuple[str, str, str]


def files(run: Run) -> base.Files:
    """Yield the results, then the samples of each culture, language and variant."""
    # lm-eval names files by the time at which it ended, in UTC.
    ended = base.moment(run.manifest, "finished", "started")
    if ended is not None and ended.tzinfo:
        ended = ended.astimezone(UTC).replace(tzinfo=None)
    stamp = "undated" if ended is None else ended.isoformat().replace(":", "-")
    tasks = _task_keys(run)
    yield f"results_{stamp}.json", partial(_write_results, run, tasks)
    for name, key in tasks.items():
        yield f"samples_{name}_{stamp}.jsonl", partial(_write_samples, run, key)


def _task_keys(run: Run) -> dict[str, TaskKey]:
    """Return the tasks that a run becomes, in the order of its estimates; names are unique and safe as file names."""
    tasks: dict[str, TaskKey] = {}
    for key in run.scores.select(base.BREAKDOWN).unique(maintain_order=True).sort(base.BREAKDOWN).rows():
        name = "_".join(slug(word).replace("-", "_").replace(".", "_") for word in (run.manifest["task"], *key))
        tasks[name if name not in tasks else f"{name}_{len(tasks)}"] = key
    return tasks


def _write_results(run: Run, tasks: Mapping[str, TaskKey], path: Path) -> None:
    manifest, model = run.manifest, run.manifest["model"]
    rows = list(base.overall(run))
    estimates = {name: [row for row in rows if base.breakdown_of(row) == key] for name, key in tasks.items()}
    sizes = {name: _of_task(run.scores, key)["item_id"].n_unique() for name, key in tasks.items()}
    kind = "multiple_choice" if "continuations" in run.tables else "generate_until"
    value = {
        "results": {name: _aggregates(name, rows, sizes[name]) for name, rows in estimates.items()},
        "group_subtasks": {},
        "configs": {
            name: {
                "task": name,
                "output_type": kind,
                "metadata": {**dict(zip(base.BREAKDOWN, key, strict=True)), "data": manifest["data"]["name"]},
            }
            for name, key in tasks.items()
        },
        "versions": dict.fromkeys(tasks),
        "n-shot": dict.fromkeys(tasks, int(manifest["options"].get("shots") or 0)),
        "n-samples": {name: {"original": None, "effective": size} for name, size in sizes.items()},
        "higher_is_better": {
            name: {row["metric"]: base.higher_is_better(run, row["metric"]) for row in rows}
            for name, rows in estimates.items()
        },
        "config": {"model": model["fingerprint"].get("backend"), "model_sha": model["revision"]},
        "model_name": model["id"],
        "total_evaluation_time_seconds": None if manifest.get("seconds") is None else str(manifest["seconds"]),
        "kapwa": {"manifest": manifest, "floors": run.floors.to_dicts()},
    }
    base.write_text(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n", path)


def _aggregates(name: str, rows: list[Cells], size: int) -> Cells:
    aggregates: Cells = {"name": name, "alias": name, "sample_len": size}
    for row in rows:
        aggregates[f"{row['metric']},none"] = row["value"]
        aggregates[f"{row['metric']}_stderr,none"] = "N/A" if row["se"] is None else row["se"]
    return aggregates


def _write_samples(run: Run, key: TaskKey, path: Path) -> None:
    """Write one JSON object a line for each item, with the mean of its samples as its score."""
    tables = (_of_task(run.items, key), _answers(run, key), _of_task(run.scores, key))
    documents, answers, scores = (table.rows_by_key("item_id", named=True, include_key=True) for table in tables)
    lines = []
    for doc_id, (item_id, rows) in enumerate(scores.items()):
        document = next(iter(documents.get(item_id, [])), {"item_id": item_id})
        sample = _sample(doc_id, rows, document, answers.get(item_id, []))
        lines.append(json.dumps(sample, ensure_ascii=False, default=str) + "\n")
    base.write_text("".join(lines), path)


def _sample(doc_id: int, rows: list[Cells], document: Cells, answers: list[Cells]) -> Cells:
    expected = str(base.expected(document))
    prompt = str(document.get("prompt") or "")
    scored = [row for row in answers if "logprob_sum" in row]
    # Whether a continuation is what greedy decoding would write is not measured, so it is null. lm-eval has no missing
    # answers, so these are empty texts.
    responses: list[Json] = [[[str(row["logprob_sum"]), None]] for row in scored]
    arguments = [(prompt, row["text"]) for row in scored] or [(prompt, {})]
    if not scored:
        responses = [[row["text"] or "" for row in answers]]
    # Metrics without a value are left out, as in lm-eval.
    measured = grouped([row for row in rows if row["value"] is not None], lambda row: str(row["metric"]))
    means = {metric: sum(row["value"] for row in known) / len(known) for metric, known in measured.items()}
    return {
        "doc_id": doc_id,
        "doc": document,
        "target": expected,
        "arguments": {f"gen_args_{i}": {"arg_0": a, "arg_1": b} for i, (a, b) in enumerate(arguments)},
        "resps": responses,
        "filtered_resps": [answer[0] if answer else "" for answer in responses],
        "filter": "none",
        "metrics": list(means),
        "doc_hash": base.sha256(json.dumps(document, indent=2, ensure_ascii=False, default=str)),
        "prompt_hash": base.sha256(prompt),
        "target_hash": base.sha256(expected),
        **means,
        "kapwa": {
            "item_id": rows[0]["item_id"],
            **{name: rows[0][name] for name in _ABOUT},
            "scores": [[row["sample"], row["metric"], row["value"], row["outcome"]] for row in rows],
        },
    }


def _answers(run: Run, key: TaskKey) -> pl.DataFrame:
    """Return the model's answers: continuations with their log-probabilities, or texts."""
    name = "continuations" if "continuations" in run.tables else "answers"
    if name not in run.tables or "text" not in run.table(name).columns:
        return pl.DataFrame(schema={"item_id": pl.String})
    table = _of_task(run.table(name), key)
    return table.select(name for name in ("item_id", "text", "logprob_sum") if name in table.columns)


def _of_task(table: pl.DataFrame, key: TaskKey) -> pl.DataFrame:
    """Return the rows of one lm-eval task; a table may lack some of the columns that distinguish tasks."""
    known = [(name, value) for name, value in zip(base.BREAKDOWN, key, strict=True) if name in table.columns]
    return table.filter(pl.col(name) == value for name, value in known)
