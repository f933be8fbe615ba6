"""A run as Every Eval Ever (https://evalevalai.com, schema 0.3.0) keeps results: one JSON, and answers beside it.

The schema wants a direction for every metric, so metrics of which neither end is better stay out. What the schema wants
and a run does not know is asked of the user (the organization) or said to be unknown (whether weights are open).
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import resources
from typing import Any

from kapwa.errors import RunError, UsageError
from kapwa.exchange.source import Source
from kapwa.records import OUTCOMES

VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
LEVEL = 0.95
_LIBRARY = "kapwa"
_HERE = ("smollm2", "hf", "transformers")  # backends that run weights on the user's own machine
_WHERE = ("culture", "language", "variant")


def documents(source: Source, organization: str | None, relationship: str, now: datetime) -> Mapping[str, str]:
    """Return the aggregate JSON and its samples by their paths, both checked against the schemas.

    ``organization``: who made the evaluation. Raises UsageError where it is not named, or no metric has a direction.
    """
    if not organization:
        raise UsageError("eee needs the name of who evaluated.", hint="Name it: --organization 'Our university'")
    rows = [row for row in source.overall() if source.more_is_better(row["metric"]) is not None]
    if not rows:
        raise UsageError(
            f"{source.manifest['task']} has no metric of which more is known to be better or worse; eee wants to know.",
            hint="Export it as csv or parquet. A run by an earlier Kapwa tells once its command is run again.",
        )
    manifest = source.manifest
    stem = f"{_folder(manifest)}/{_identity(manifest)}"
    evaluation_id = f"{manifest['task']}/{manifest['model']['id']}/{int(now.timestamp())}"
    lines = [json.dumps(line, ensure_ascii=False, allow_nan=False) for line in _samples(source, evaluation_id)]
    samples = "".join(f"{line}\n" for line in lines)
    whole = {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id,
        **({"evaluation_timestamp": manifest["finished"]} if manifest.get("finished") else {}),
        "retrieved_timestamp": str(int(now.timestamp())),
        "source_metadata": {
            "source_name": "Kapwa",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": _library(manifest),
        "model_info": _model(manifest),
        "evaluation_results": [_result(source, row) for row in rows],
    }
    found = {}
    if lines:
        whole["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples.encode("utf-8", "surrogatepass")).hexdigest(),
            "total_rows": len(lines),
        }
        check("instance_level_eval", (json.loads(line) for line in lines))
        found[f"{stem}_samples.jsonl"] = samples
    check("eval", [whole])
    found[f"{stem}.json"] = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return found


def check(name: str, values: Any) -> None:
    """Hold values against one of the two vendored schemas; raise RunError at the first that does not fit."""
    import jsonschema  # type: ignore[import-untyped]  # comes with altair

    text = (resources.files(__package__) / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    validator = jsonschema.Draft7Validator(json.loads(text))
    for value in values:
        error = next(validator.iter_errors(value), None)
        if error is not None:
            where = "/".join(map(str, error.absolute_path))
            raise RunError(
                f"The export does not fit the schema {name} {VERSION} at {where or 'its top'}: {error.message}"
            )


def _folder(manifest: Mapping[str, Any]) -> str:
    """``data/<benchmark>/<developer>/<model>``, as the schema's file_path wants it."""
    developer, _, model = _model_id(manifest).rpartition("/")
    return "/".join(["data", *(_safe(part) for part in (manifest["task"], developer or "unknown", model))])


def _safe(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "unknown"


def _model_id(manifest: Mapping[str, Any]) -> str:
    return re.sub(r"^(?:hf|openai):", "", str(manifest["model"]["id"]))


def _identity(manifest: Mapping[str, Any]) -> uuid.UUID:
    """Return the same identifier for the same run, so that exporting it again meets its own files."""
    told = f"{manifest.get('signature')} {manifest.get('finished')}"
    return uuid.UUID(bytes=hashlib.blake2b(told.encode(), digest_size=16).digest(), version=4)


def _library(manifest: Mapping[str, Any]) -> dict[str, Any]:
    imported = manifest.get("imported")
    if not imported:
        return {"name": _LIBRARY, "version": str(manifest["kapwa"])}
    by = {"imported_by": f"kapwa {manifest['kapwa']}"}
    return {"name": imported["from"], "version": imported.get("version") or "unknown", "additional_details": by}


def _model(manifest: Mapping[str, Any]) -> dict[str, Any]:
    model = manifest["model"]
    known = {**model.get("description", {}), **model["fingerprint"]}
    backend = str(known.get("backend") or "")
    embedded = model["id"] == "smollm2"
    return {
        "name": str(model["id"]),
        "id": _model_id(manifest),
        "additional_details": {
            "deployment_type": "self_deployed" if embedded or backend in _HERE else "unknown",
            # Weights in a folder may be anybody's secret; only the embedded model's are known to be open.
            "model_availability": "open_weights" if embedded else "unknown",
            **({"revision": str(model["revision"])} if model.get("revision") else {}),
            **{key: str(known[key]) for key in ("backend", "dtype", "template", "scoring") if known.get(key)},
        },
    }


def _result_id(row: Mapping[str, Any]) -> str:
    return "/".join(str(row[name]) for name in (*_WHERE, "metric"))


def _result(source: Source, row: Mapping[str, Any]) -> dict[str, Any]:
    info = source.manifest["metrics"].get(row["metric"], {})
    # The schema wants both ends of a continuous score; null is its word for one that nobody told.
    ends = {name: info.get(end) for name, end in (("min_score", "low"), ("max_score", "high"))}
    return {
        "evaluation_result_id": _result_id(row),
        "evaluation_name": source.manifest["task"],
        "source_data": _data(source.manifest["data"]),
        "metric_config": {
            "evaluation_description": info.get("title") or row["metric"],
            "metric_name": row["metric"],
            "lower_is_better": not source.more_is_better(row["metric"]),
            "score_type": "continuous",  # of the mean, also where each item is right or wrong
            **ends,
            "additional_details": {name: str(row[name]) for name in _WHERE},
        },
        "score_details": {
            "score": row["value"],
            "details": {
                "signature": str(row["signature"]),
                "clusters": str(row["clusters"]),
                **{outcome: str(row[outcome]) for outcome in OUTCOMES},
            },
            "uncertainty": _uncertainty(row),
        },
    }


def _uncertainty(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": row["n"]}
    if row["se"] is not None:
        found["standard_error"] = {"value": row["se"], "method": "analytic, clustered by sampled unit"}
    if row["low"] is not None and row["high"] is not None:
        ends = {"lower": row["low"], "upper": row["high"], "confidence_level": LEVEL}
        found["confidence_interval"] = {**ends, "method": str(row["method"])}
    return found


def _data(data: Mapping[str, Any]) -> dict[str, Any]:
    licence = (data.get("card") or {}).get("licence")
    details = {"digest": data.get("digest"), "licence": licence}
    return {
        "dataset_name": str(data["name"]),
        "source_type": "other",
        "additional_details": {name: str(value) for name, value in details.items() if value},
    }


def _samples(source: Source, evaluation_id: str) -> Iterator[dict[str, Any]]:
    """Yield each answer's score where it is right or wrong; the schema has no place for answers that are neither."""
    metrics = [name for name in source.manifest["metrics"] if source.more_is_better(name)]
    keys = ("item_id", *_WHERE[2:], "culture")
    items = {tuple(row.get(k) for k in keys): row for row in source.table("items").iter_rows(named=True)}
    texts = _texts(source)
    for row in source.table("scores").iter_rows(named=True):
        if row["metric"] not in metrics or row["outcome"] not in ("right", "wrong") or row["value"] is None:
            continue
        item = items.get(tuple(row[k] for k in keys), {})
        prompt, expected = str(item.get("prompt") or ""), _expected(item)
        said = texts.get((row["item_id"], row["variant"], row["culture"], row["sample"]))
        yield {
            "schema_version": VERSION,
            "evaluation_id": evaluation_id,
            "model_id": _model_id(source.manifest),
            "evaluation_name": source.manifest["task"],
            "evaluation_result_id": _result_id(row),
            "sample_id": f"{row['item_id']}/{row['variant']}/{row['sample']}",
            "sample_hash": hashlib.sha256((prompt + "".join(expected)).encode("utf-8", "surrogatepass")).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": prompt, "reference": expected},
            "output": {"raw": [] if said is None else [said]},
            "answer_attribution": [],
            "evaluation": {"score": row["value"], "is_correct": row["outcome"] == "right"},
            "metadata": {name: str(row[name]) for name in (*_WHERE, "category", "topic") if row[name] is not None},
        }


def _expected(item: Mapping[str, Any]) -> list[str]:
    for name in ("relevant", "answers", "best", "answer", "target"):
        value = item.get(name)
        if value is not None:
            return [str(one) for one in value] if isinstance(value, list) else [str(value)]
    return []


def _texts(source: Source) -> dict[tuple[Any, ...], str]:
    """Return what was written, by item, variant, culture and sample; nothing where continuations were scored."""
    frame = source.optional("answers")
    keys = ("item_id", "variant", "culture", "sample")
    if frame is None or not {*keys, "text"} <= set(frame.columns):
        return {}
    return {row[:-1]: row[-1] for row in frame.select(*keys, "text").iter_rows() if row[-1] is not None}
