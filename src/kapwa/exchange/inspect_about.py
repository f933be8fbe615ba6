"""What an Inspect log tells of who was asked, when, and with what success: parts of a run's manifest."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

from kapwa.exchange.inspect_read import InspectLog

_REASONS = 10


def asked(read: InspectLog, *, items: int, requests: int, errors: Counter[str]) -> dict[str, Any]:
    """Return the parts of a manifest that tell who was asked, when, and with what success.

    ``errors``: how many of the ``requests`` failed of which reason.
    """
    log = read.header
    failed = errors.total()
    packages = {name: str(value) for name, value in log.eval.packages.items()}
    return {
        "model": {
            "id": log.eval.model,
            "revision": None,
            "fingerprint": {"id": log.eval.model, "backend": "inspect"},
            "description": {"config": log.plan.config.model_dump(exclude_none=True, mode="json")},
        },
        "repeatable": "no promise",
        "versions": {"kapwa": version("kapwa"), **packages},
        "machine": {},
        "seed": 0,
        "status": "failed_items" if failed else "complete",
        "counts": {
            "items": items,
            "requests": requests,
            "unique": requests,
            "answered": requests - failed,
            "failed": failed,
        },
        "failures": [{"reason": reason, "count": n} for reason, n in errors.most_common(_REASONS)],
        "started": log.stats.started_at or None,
        "finished": log.stats.completed_at or None,
        "seconds": None,
        "sessions": None,
        "imported": {"from": "inspect_ai", "version": packages.get("inspect_ai"), "file": read.file.name},
    }
