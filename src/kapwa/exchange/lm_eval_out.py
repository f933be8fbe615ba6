"""A run as lm-eval writes results: one JSON of aggregates, and a JSON-lines file of samples for each task.

lm-eval has no cultures and variants, so each culture, language and variant becomes a task of its own. Fields as in
lm-eval 0.4.13, ``loggers/evaluation_tracker.py`` and ``result_schema.py``; what lm-eval has no place for stands under
the key ``kapwa``, from which :mod:`kapwa.exchange.lm_eval_in` makes the same run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from kapwa.exchange.source import Source
from kapwa.exchange.terms import BLOCK, TARGETS
from kapwa.runs.runner import slug

_ABOUT = (*BLOCK, "category", "topic", "cluster")
_FLOORS = "floors"


class Part(NamedTuple):
    """One culture, language and variant of a run: a task in lm-eval's eyes."""

    name: str
    key: tuple[str, str, str]


def parts(source: Source) -> list[Part]:
    """Return the tasks that a run becomes, in the order of its estimates; names are unique and safe as file names."""
    keys = source.table("scores").select(BLOCK).unique(maintain_order=True).sort(BLOCK).rows()
    names: list[str] = []
    for key in keys:
        name = "_".join(slug(word).replace("-", "_").replace(".", "_") for word in (source.manifest["task"], *key))
        names.append(name if name not in names else f"{name}_{len(names)}")
    return [Part(name, key) for name, key in zip(names, keys, strict=True)]


def results_text(source: Source) -> str:
    """Return the results JSON of a run."""
    manifest = source.manifest
    found = parts(source)
    rows = list(source.overall())
    by_part = {part.name: [row for row in rows if tuple(row[c] for c in BLOCK) == part.key] for part in found}
    better = {name: source.more_is_better(name) for name in manifest["metrics"]}
    sizes = {part.name: _of(source.table("scores"), part)["item_id"].n_unique() for part in found}
    value = {
        "results": {name: _aggregates(name, rows, sizes[name]) for name, rows in by_part.items()},
        "group_subtasks": {},
        "configs": {part.name: _config(source, part) for part in found},
        "versions": {part.name: None for part in found},
        "n-samples": {part.name: {"original": None, "effective": sizes[part.name]} for part in found},
        "higher_is_better": {
            name: {row["metric"]: better[row["metric"]] for row in of} for name, of in by_part.items()
        },
        "config": {
            "model": manifest["model"]["fingerprint"].get("backend"),
            "model_sha": manifest["model"]["revision"],
        },
        "model_name": manifest["model"]["id"],
        "total_evaluation_time_seconds": None if manifest.get("seconds") is None else str(manifest["seconds"]),
        "kapwa": {"manifest": manifest, _FLOORS: source.table(_FLOORS).to_dicts()},
    }
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _aggregates(name: str, rows: list[dict[str, Any]], size: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "alias": name, "sample_len": size}
    for row in rows:
        found[f"{row['metric']},none"] = row["value"]
        found[f"{row['metric']}_stderr,none"] = "N/A" if row["se"] is None else row["se"]
    return found


def _config(source: Source, part: Part) -> dict[str, Any]:
    kind = "multiple_choice" if "continuations" in source.tables else "generate_until"
    return {
        "task": part.name,
        "output_type": kind,
        "metadata": {**dict(zip(BLOCK, part.key, strict=True)), "data": source.manifest["data"]["name"]},
    }


def samples_text(source: Source, part: Part) -> str:
    """Return the samples of one part, a JSON object a line: one for each item, the mean of its samples as its score."""
    scores = _of(source.table("scores"), part)
    documents = _grouped(_of(source.table("items"), part))
    said = _grouped(_answers(source, part))
    lines = []
    for place, (item_id, rows) in enumerate(_grouped(scores).items()):
        document = next(iter(documents.get(item_id, [])), {"item_id": item_id})
        lines.append(json.dumps(_sample(place, rows, document, said.get(item_id, [])), ensure_ascii=False, default=str))
    return "\n".join(lines) + "\n" if lines else ""


def _sample(
    place: int, rows: list[dict[str, Any]], document: Mapping[str, Any], said: list[dict[str, Any]]
) -> dict[str, Any]:
    target = next((str(document[name]) for name in TARGETS if document.get(name) is not None), "")
    prompt = str(document.get("prompt") or "")
    choices = [row for row in said if "logprob_sum" in row]
    given = [row["text"] for row in said if "logprob_sum" not in row]
    texts = [text or "" for text in given]
    arguments = [(prompt, row["text"]) for row in choices] or [(prompt, {})]
    # Whether a continuation is what greedy decoding would write is not measured, so it stands as null.
    answers: list[Any] = [[[str(row["logprob_sum"]), None]] for row in choices] or [texts]
    means = dict(_means(rows))
    return {
        "doc_id": place,
        "doc": dict(document),
        "target": target,
        "arguments": {f"gen_args_{i}": {"arg_0": a, "arg_1": b} for i, (a, b) in enumerate(arguments)},
        "resps": answers,
        "filtered_resps": [answer[0] if answer else "" for answer in answers],
        "filter": "none",
        "metrics": list(means),
        "doc_hash": _sha(json.dumps(document, indent=2, ensure_ascii=False, default=str)),
        "prompt_hash": _sha(prompt),
        "target_hash": _sha(target),
        **means,
        "kapwa": {
            "item_id": rows[0]["item_id"],
            **{name: rows[0][name] for name in _ABOUT},
            "scores": [[row["sample"], row["metric"], row["value"], row["outcome"]] for row in rows],
            # lm-eval knows texts alone; no answer is not an empty one.
            **({"missing": missing} if (missing := [i for i, text in enumerate(given) if text is None]) else {}),
        },
    }


def _means(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield each metric's mean over the samples of an item; what has no value is left out, as lm-eval does."""
    for metric in dict.fromkeys(row["metric"] for row in rows):
        values = [row["value"] for row in rows if row["metric"] == metric and row["value"] is not None]
        if values:
            yield metric, sum(values) / len(values)


def _answers(source: Source, part: Part) -> pl.DataFrame:
    """Return what the model said: continuations with their log-probabilities, or texts."""
    frame = source.optional("continuations")
    if frame is None:
        frame = source.optional("answers")
    if frame is None or "text" not in frame.columns:
        return pl.DataFrame(schema={"item_id": pl.String})
    kept = [name for name in ("item_id", "text", "logprob_sum") if name in frame.columns]
    return _of(frame, part).select(kept)


def _of(frame: pl.DataFrame, part: Part) -> pl.DataFrame:
    """Return the rows of one part; a table may lack some of the columns that tell parts apart."""
    for name, value in zip(BLOCK, part.key, strict=True):
        if name in frame.columns:
            frame = frame.filter(pl.col(name) == value)
    return frame


def _grouped(frame: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        found.setdefault(row["item_id"], []).append(row)
    return found


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
