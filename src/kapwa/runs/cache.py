"""Answers that several runs share (``--cache FOLDER``): one file for all processes of a machine.

A cache saves asking; it never ends a run and never changes what is judged:

- An answer is taken only where the model, asked now, would be expected to give it: same key (question, parameters,
  sample, model, revision, template). A local model's text depends a little on what shares its batch, and on the machine
  and versions that compute it (``Model.environment``); so its answers are kept by planned batch and by these, and
  batches are taken whole. Then a run with a cache equals one without on the same kind of machine, byte for byte.
- Keys from before Kapwa left the server's address out of them (where the revision is given) are found, too, and so are
  answers of another server of that model.
- A model that names no revision is not cached: tomorrow the same name may be another model. Recorded answers
  (``replay:``) are not cached either; they are at hand.
- Errors are never kept. An answer that is damaged, or of the wrong shape, is asked for again.
- A cache that fails while the run asks is left alone from then on, with a warning.

The file's write-ahead log works on one machine only, so a cache does not belong on a network file system.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from kapwa.errors import RunError
from kapwa.files import in_the_way, jsonable, may_write
from kapwa.models.base import Model, flaw, former_fingerprints
from kapwa.parallel.base import DistributedModel
from kapwa.records import Request, Response, request_key
from kapwa.runs.schema import ModelRecord
from kapwa.runs.store import AnswerStore
from kapwa.suites.items import grouped
from kapwa.value_types import JsonMapping

log = logging.getLogger(__name__)

FILE = "answers.sqlite"
_ROW = 64  # about what a row takes besides its payload: its key twice, and numbers
# Whose the answers of a damaged session are.
_UNKNOWN: ModelRecord = {"id": "?", "revision": "", "fingerprint": {}}
_CHOOSE = "Name a new or empty folder, or one that is a cache already."
_MADE = "A cache is made by: kapwa run ... --cache FOLDER"


def open_cache(folder: Path, *, create: bool = True) -> tuple[AnswerStore, bool]:
    """Open the cache in ``folder`` (with ``create``, make one in a new or empty folder); say whether it is read-only.

    Raises RunError for a folder that is no cache, a damaged file, one of a newer Kapwa, and what the system refuses.
    """
    file = folder / FILE
    if not file.exists():
        if not create:
            what = f"{folder} is not a cache of answers." if folder.exists() else f"There is no folder {folder}."
            raise RunError(what, hint=_MADE)
        check_cache(folder)
    read_only = file.exists() and not may_write(folder, file)
    remedy = f"Delete {folder} (answers are then asked again), or run without --cache."
    try:
        if read_only:
            return AnswerStore(file, mode="read", remedy=remedy), True
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=30.0):  # of several processes one makes it, the others find it
            return AnswerStore(file, mode="share", remedy=remedy), False
    except Timeout:
        raise RunError(f"{folder} is being opened by another process, which does not end.") from None
    except OSError as error:
        raise RunError(f"The cache {folder} cannot be used: {error.strerror or error}.", hint=_CHOOSE) from error


def check_cache(folder: Path) -> None:
    """Raise RunError where ``folder`` is no cache and cannot become one; nothing is made."""
    if (folder / FILE).exists():
        AnswerStore(folder / FILE, mode="read").close()
        return
    if why := in_the_way(folder):
        raise RunError(f"{folder} cannot be written: {why}.", hint="Name another folder with --cache.")
    strangers = sorted(f.name for f in folder.iterdir() if not f.name.startswith(".")) if folder.is_dir() else []
    if strangers:
        raise RunError(f"{folder} is not a cache of answers. It holds {', '.join(strangers[:3])}.", hint=_CHOOSE)


class AnswerCache:
    """A cache folder as one run of one model uses it; ``notes``: what readers of the run should know of it."""

    def __init__(self, folder: str | Path, model: Model) -> None:
        """Open or make the cache in ``folder``; raise RunError as :func:`open_cache` does."""
        self._store, read_only = open_cache(Path(folder))
        self._model, self._fingerprint = model, dict(model.fingerprint)
        self._record = {
            "model": {"id": model.id, "revision": model.revision, "fingerprint": jsonable(self._fingerprint)}
        }
        # Planned batches are kept by what computed them; no former key names such an answer.
        self._former = [] if model.atomic_batches else self._former_fingerprints()
        self._environment = ""
        self._damaged = 0
        self.name = Path(folder).resolve().name
        self.origin = {"id": self._store.identity, "name": self.name}
        self.notes: list[str] = []
        reason = not_cached(model)
        self._taking, self._adding = reason is None, reason is None and not read_only
        if reason:
            self._warn(f"The cache {self.name} is not used: {reason}")
        elif read_only:
            self._warn(f"The cache {self.name} cannot be written: answers are taken from it, none are added.")

    def _former_fingerprints(self) -> list[JsonMapping]:
        """Return those former fingerprints of the model under which this cache holds answers."""
        recorded = [session.record.get("model", _UNKNOWN)["fingerprint"] for session in self._store.sessions()]
        return [former for former in former_fingerprints(self._model, recorded) if jsonable(former) in recorded]

    def close(self) -> None:
        """Close the folder's file."""
        self._store.close()

    def take_batch(self, batch: Sequence[Request]) -> list[Response] | None:
        """Return the answers to a planned batch, or None unless all of them are there and sound."""
        responses = self.take(batch, self._keys_in_batch([request.key for request in batch]))
        return responses if len(responses) == len(batch) else None

    def add_batch(self, batch: Sequence[Request], responses: Sequence[Response]) -> None:
        """Keep the answers to a planned batch, all of them or, if one failed, none."""
        if not any(response.failed for response in responses):
            keys = [request.key for request in batch]
            key_groups = dict(zip(keys, self._keys_in_batch(keys), strict=True))
            self.add(replace(r, request_key=key_groups[r.request_key]) for r in responses)

    def _keys_in_batch(self, keys: Sequence[str]) -> list[str]:
        """Return the keys of a batch's answers: hashes of each key, all of the batch in order, and the environment."""
        # Of a distributed model, replicas on another processor may have come since.
        if not self._environment or isinstance(self._model, DistributedModel):
            self._environment = json.dumps(dict(self._model.environment), sort_keys=True, default=str)
        batch = self._environment + "".join(keys)
        return [hashlib.blake2b((key + batch).encode(), digest_size=16).hexdigest() for key in keys]

    def take(self, requests: Sequence[Request], key_groups: Sequence[str] | None = None) -> list[Response]:
        """Return the sound answers the cache holds to ``requests``, in their order; ``key_groups``: their keys."""
        if not self._taking:
            return []
        key_groups = [request.key for request in requests] if key_groups is None else key_groups
        try:
            stored = self._store.find(key_groups)
            for fingerprint in self._former:
                lacking = {request_key(r, fingerprint): r.key for r in requests if r.key not in stored}
                stored |= {lacking[key]: response for key, response in self._store.find(lacking).items()}
        except RunError as error:
            self._stop(error)
            return []
        sound = []
        for request, key_group in zip(requests, key_groups, strict=True):
            if key_group in stored:
                response = stored[key_group]
                if response is None or flaw(response, request):
                    self._damaged += 1
                else:
                    sound.append(replace(response, request_key=request.key))
        if self._damaged and not any("damaged answers" in note for note in self.notes):
            self._warn(f"The cache {self.name} holds damaged answers; they are asked for again.")
        return sound

    def complete(self, store: AnswerStore, keys: Iterable[str]) -> None:
        """Keep the answers in ``store`` to ``keys`` that the cache lacks: of a run that was killed before it did so."""
        try:
            lacking = list(self._store.missing(keys)) if self._adding else []
        except RunError as error:
            self._stop(error)
            return
        if lacking:
            self.add(response for response in store.find(lacking).values() if response is not None)

    def add(self, responses: Iterable[Response]) -> None:
        """Keep answers; errors are left out."""
        if not self._adding:
            return
        try:
            if dict(self._model.fingerprint) != self._fingerprint:
                raise RunError("The model's fingerprint changed, so its answers cannot be kept under one name.")
            self._store.commit((response for response in responses if not response.failed), self._record)
        except RunError as error:
            self._adding = False
            self._warn(f"{error.message} The run goes on; its further answers are not added to the cache.")

    def _stop(self, error: RunError) -> None:
        """Use the cache no more."""
        self._taking = self._adding = False
        self._warn(f"{error.message} The run continues without it.")

    def _warn(self, text: str) -> None:
        self.notes.append(text)
        log.warning("%s", text)


def not_cached(model: Model) -> str | None:
    """Say why answers of ``model`` are neither taken from a cache nor kept in one; None when they may be."""
    if model.fingerprint.get("by_item"):
        return f"the answers of {model.id} are recorded already."
    if not model.revision:
        return (
            f"{model.id} names no revision, so its answers cannot be told from those of another version. "
            "Name the version that is served with --revision (a version, a date, a commit)."
        )
    return None


class CachedModel(NamedTuple):
    """What a cache holds of one model: ``added_first`` and ``added_last`` are Unix seconds."""

    name: str
    revision: str
    fingerprint: JsonMapping
    answers: int
    bytes: int
    added_first: float
    added_last: float


def contents(store: AnswerStore) -> list[CachedModel]:
    """Return what a cache holds, the model with the most bytes first; reads the whole file."""
    models = []
    for sessions in grouped(store.sessions(), lambda session: json.dumps(session.record, sort_keys=True)).values():
        about = sessions[0].record.get("model", _UNKNOWN)
        n_answers = sum(session.answers for session in sessions)
        n_bytes = sum(session.bytes for session in sessions)
        times = (sessions[0].started, sessions[-1].ended)
        models.append(CachedModel(about["id"], about["revision"], about["fingerprint"], n_answers, n_bytes, *times))
    non_empty = [model for model in models if model.answers]
    return sorted(non_empty, key=lambda model: (-model.bytes, model.name, model.revision))


def size_of(store: AnswerStore) -> int:
    """Return the bytes in use in the file."""
    pages, free, width = (store.rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * width)


class Pruned(NamedTuple):
    """What pruning took away, and how large the file is now."""

    answers: int
    bytes_before: int
    bytes_after: int


def prune(
    store: AnswerStore, *, before: float | None = None, model: str | None = None, most_bytes: int | None = None
) -> Pruned:
    """Take answers out, the oldest first.

    ``before``: only those of runs that added nothing since this time (Unix seconds). ``model``: only those of models of
    this name, or name@revision. ``most_bytes``: no more than until the file is this small.
    """
    start, gone = size_of(store), 0
    ids = []
    for session in store.sessions():
        about = session.record.get("model", _UNKNOWN)
        of_model = model in (None, about["id"], f"{about['id']}@{about['revision']}")
        if of_model and (before is None or session.ended < before):
            ids.append(str(session.number))
    weighed = f"SELECT id, sum(length(payload) + {_ROW}) OVER (ORDER BY id) - length(payload) - {_ROW} AS older "
    oldest = f"{weighed} FROM responses WHERE session IN ({','.join(ids)})"
    while (size := size_of(store)) > (-1 if most_bytes is None else most_bytes):
        limit = None
        if most_bytes is not None:
            # Rows weigh more in the file than their payloads; a little more is taken than needed, to be done soon.
            weight = store.rows(f"SELECT coalesce(sum(length(payload) + {_ROW}), 0) FROM responses")[0][0]  # noqa: S608
            limit = (size - most_bytes) * weight / size + _ROW * 100
        with store.transaction() as connection:
            delete = f"DELETE FROM responses WHERE id IN (SELECT id FROM ({oldest}) WHERE ? IS NULL OR older < ?)"  # noqa: S608
            n_deleted = connection.execute(delete, (limit, limit)).rowcount
        gone += n_deleted
        if not n_deleted:
            break
    store.shrink()
    return Pruned(gone, start, size_of(store))
