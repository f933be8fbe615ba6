"""A run in the format of Every Eval Ever (https://evalevalai.com, schema 0.3.0): one JSON, and answers beside it.

The schema requires a direction for every metric, so metrics of which neither end is better are left out. Required facts
that a run does not know come from the user (the organization) or are written as unknown (whether weights are open).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

from kapwa.errors import UsageError, check_known
from kapwa.exchange.base import BREAKDOWN, Files, expected, higher_is_better, overall, run_identity, sha256, write_text
from kapwa.records import OUTCOMES
from kapwa.runs.directory import LEVEL, Run
from kapwa.value_types import Cells, Json, JsonMapping, JsonObject, Row

VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
_LOCAL_BACKENDS = ("smollm2", "hf", "transformers")  # they run weights on the user's own machine


def files(run: Run, organization: str | None = None, relationship: str = "other") -> Files:
    """Yield the answers, where any is right or wrong, and the aggregate JSON.

    ``organization``: who made the evaluation. Raises UsageError where it is not named, for an unknown ``relationship``,
    and where no metric has a direction.
    """
    if not organization:
        raise UsageError("eee needs the evaluator's name.", hint="Name it: --organization 'Our university'")
    check_known(relationship, RELATIONSHIPS, f"The relationship cannot be {relationship!r}.")
    manifest = run.manifest
    rows = [row for row in overall(run) if higher_is_better(run, row["metric"]) is not None]
    if not rows:
        message = f"{manifest['task']} has no metric that says whether higher or lower is better; eee needs this."
        hint = "Export it as csv or parquet. For a run by an earlier Kapwa, run its command again."
        raise UsageError(message, hint=hint)
    seconds = int(datetime.now(tz=UTC).timestamp())
    # The schema's file_path: data/<benchmark>/<developer>/<model>/<uuid>.
    developer, _, model = _model_id(manifest).rpartition("/")
    names = (re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unknown" for name in (manifest["task"], developer, model))
    identity = str(uuid.UUID(run_identity(run, 16), version=4))
    stem = "/".join(["data", *names, identity])
    # Two runs of one model may be exported within one second.
    evaluation_id = f"{manifest['task']}/{manifest['model']['id']}/{identity}/{seconds}"
    library: JsonObject = {"name": "kapwa", "version": str(manifest["kapwa"])}
    if imported := manifest.get("imported"):
        by = {"imported_by": f"kapwa {manifest['kapwa']}"}
        library = {"name": imported["from"], "version": imported.get("version") or "unknown", "additional_details": by}
    whole: JsonObject = {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id,
        **({"evaluation_timestamp": manifest["finished"]} if manifest.get("finished") else {}),
        "retrieved_timestamp": str(seconds),
        "source_metadata": {
            "source_name": "Kapwa",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": library,
        "model_info": _model(manifest),
        "evaluation_results": [_result(run, row) for row in rows],
    }
    samples = list(_samples(run, evaluation_id))
    if samples:
        text = "".join(f"{json.dumps(sample, ensure_ascii=False, allow_nan=False)}\n" for sample in samples)
        whole["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": sha256(text),
            "total_rows": len(samples),
        }
        yield f"{stem}_samples.jsonl", partial(write_text, text)
    whole_text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    yield f"{stem}.json", partial(write_text, whole_text)


def _model_id(manifest: JsonMapping) -> str:
    return re.sub(r"^(?:hf|openai):", "", str(manifest["model"]["id"]))


def _model(manifest: JsonMapping) -> JsonObject:
    model = manifest["model"]
    known = {**model.get("description", {}), **model["fingerprint"]}
    backend = str(known.get("backend") or "")
    embedded = model["id"] == "smollm2"
    return {
        "name": str(model["id"]),
        "id": _model_id(manifest),
        "additional_details": {
            "deployment_type": "self_deployed" if embedded or backend in _LOCAL_BACKENDS else "unknown",
            # Weights in a folder may be anybody's secret; only the embedded model's are known to be open.
            "model_availability": "open_weights" if embedded else "unknown",
            **({"revision": str(model["revision"])} if model.get("revision") else {}),
            **{key: str(known[key]) for key in ("backend", "dtype", "template", "scoring") if known.get(key)},
        },
    }


def _result_id(row: Mapping[str, object]) -> str:
    return "/".join(str(row[name]) for name in (*BREAKDOWN, "metric"))


def _result(run: Run, row: Row) -> JsonObject:
    info = run.metrics[row["metric"]]
    # The schema wants both ends of a continuous score, and null for one that is not known.
    ends = {"min_score": info.low, "max_score": info.high}
    data = run.manifest["data"]
    about_data = {"digest": data.get("digest"), "licence": (data.get("card") or {}).get("licence")}
    uncertainty: JsonObject = {"num_samples": row["n"]}
    if row["se"] is not None:
        uncertainty["standard_error"] = {"value": row["se"], "method": "analytic, clustered by sampled unit"}
    if row["low"] is not None and row["high"] is not None:
        limits = {"lower": row["low"], "upper": row["high"], "confidence_level": LEVEL}
        uncertainty["confidence_interval"] = {**limits, "method": str(row["method"])}
    return {
        "evaluation_result_id": _result_id(row),
        "evaluation_name": run.manifest["task"],
        "source_data": {
            "dataset_name": str(data["name"]),
            "source_type": "other",
            "additional_details": {name: str(value) for name, value in about_data.items() if value},
        },
        "metric_config": {
            "evaluation_description": info.title or row["metric"],
            "metric_name": row["metric"],
            "lower_is_better": not higher_is_better(run, row["metric"]),
            "score_type": "continuous",  # of the mean, also where each item is right or wrong
            **ends,
            "additional_details": {name: str(row[name]) for name in BREAKDOWN},
        },
        "score_details": {
            "score": row["value"],
            "details": {
                "signature": str(row["signature"]),
                "clusters": str(row["clusters"]),
                **{outcome: str(row[outcome]) for outcome in OUTCOMES},
            },
            "uncertainty": uncertainty,
        },
    }


def _samples(run: Run, evaluation_id: str) -> Iterator[Cells]:
    """Yield each answer's score if it is right or wrong; the schema does not allow answers that are neither."""
    metrics = [name for name in run.manifest["metrics"] if higher_is_better(run, name)]
    keys = ("item_id", "variant", "culture")
    items = {tuple(row.get(key) for key in keys): row for row in run.items.iter_rows(named=True)}
    texts: dict[tuple[Json, ...], str] = {}  # written answers; none where continuations were scored
    if "answers" in run.tables and {*keys, "sample", "text"} <= set(run.answers.columns):
        answers = run.answers.select(*keys, "sample", "text").drop_nulls("text")
        texts = {row[:-1]: row[-1] for row in answers.iter_rows()}
    for row in run.scores.iter_rows(named=True):
        if row["metric"] not in metrics or row["outcome"] not in ("right", "wrong") or row["value"] is None:
            continue
        item = items.get(tuple(row[key] for key in keys), {})
        prompt, wanted = str(item.get("prompt") or ""), expected(item, "relevant")
        references = [wanted] if isinstance(wanted, str) and wanted else list(wanted)
        text = texts.get((*(row[key] for key in keys), row["sample"]))
        yield {
            "schema_version": VERSION,
            "evaluation_id": evaluation_id,
            "model_id": _model_id(run.manifest),
            "evaluation_name": run.manifest["task"],
            "evaluation_result_id": _result_id(row),
            "sample_id": f"{row['item_id']}/{row['variant']}/{row['sample']}",
            "sample_hash": sha256(prompt + "".join(references)),
            "interaction_type": "single_turn",
            "input": {"raw": prompt, "reference": references},
            "output": {"raw": [] if text is None else [text]},
            "answer_attribution": [],
            "evaluation": {"score": row["value"], "is_correct": row["outcome"] == "right"},
            "metadata": {name: str(row[name]) for name in (*BREAKDOWN, "category", "topic") if row[name] is not None},
        }
