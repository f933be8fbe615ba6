"""What lm-eval's results tell of who was asked, with what, and when: parts of a run's manifest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from kapwa.exchange.terms import UNKNOWN


def model_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest's ``model``; not ``model_args``, where keys are often given."""
    config = results.get("config") or {}
    name = str(results.get("model_name") or config.get("model") or UNKNOWN)
    fingerprint = {
        "id": name,
        "backend": config.get("model"),
        "dtype": config.get("model_dtype"),
        "template": results.get("chat_template_sha"),
    }
    return {
        "id": name,
        "revision": config.get("model_sha") or config.get("model_revision") or None,
        "fingerprint": {key: value for key, value in fingerprint.items() if value},
        "description": {"parameters": config.get("model_num_parameters")},
    }


def versions_of(results: Mapping[str, Any]) -> dict[str, str]:
    """Versions that lm-eval wrote down, and Kapwa's, which made the tables."""
    told = {"lm_eval": results.get("lm_eval_version"), "transformers": results.get("transformers_version")}
    return {"kapwa": version("kapwa"), **{name: str(value) for name, value in told.items() if value}}


def times_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return when lm-eval began and how long it took; None for what it did not write down."""
    began, took = results.get("date"), results.get("total_evaluation_time_seconds")
    try:
        started = None if began is None else datetime.fromtimestamp(float(began), tz=UTC).isoformat(timespec="seconds")
        seconds = None if took is None else round(float(took), 3)
    except (TypeError, ValueError, OverflowError, OSError):
        started, seconds = None, None
    return {"started": started, "finished": None, "seconds": seconds, "sessions": None}
