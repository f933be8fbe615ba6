"""What a run takes from a shared cache of answers, and what it gives to it.

A cache saves asking; it never ends a run and never changes what is judged:

- An answer is taken only where the model, asked now, would be expected to give it: same key (question, parameters,
  sample, model, revision, template). A local model's text depends a little on what shares its batch, and on the machine
  and versions that compute it (:mod:`kapwa.models.circumstances`); so its answers are kept by planned batch and by
  these, and batches are taken whole. Then a run with a cache equals one without on the same kind of machine, byte for
  byte, as a resumed run does. A kind of processor is what its name says: machines that hide it behind one name, as some
  virtual ones do, are one kind here.
- A model that names no revision is not cached: tomorrow the same name may be another model. Recorded answers
  (``replay:``) are not cached either; they are at hand.
- Errors are never kept. An answer that is damaged, or of the wrong shape, is asked for again, with a warning.
- A cache that fails while the run asks is left alone from then on, with a warning.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.engines.base import takes_many
from kapwa.errors import RunError
from kapwa.models.base import Model
from kapwa.models.circumstances import NAMES, circumstances
from kapwa.records import Request, Response
from kapwa.runs.cache_store import CacheStore
from kapwa.runs.codec import decode, encode, flaw
from kapwa.runs.redact import plain

log = logging.getLogger(__name__)


class AnswerCache:
    """A cache folder as one run of one model uses it."""

    def __init__(self, store: CacheStore, model: Model) -> None:
        self._store, self._model = store, model
        self._fingerprint = dict(model.fingerprint)
        self._salt = b""
        self._lock = threading.Lock()  # answers are added by the clock of the committer, too
        self._number: int | None = None
        self._taking, self._adding = True, not store.read_only
        self._said: list[str] = []
        self._spoilt = 0
        self.origin = f"{store.folder.resolve().name} {store.id}"
        if reason := not_cached(model):
            self._taking = self._adding = False
            self._say(f"The cache {store.folder.name} is not used: {reason}")
        elif store.read_only:
            self._say(f"The cache {store.folder.name} cannot be written: answers are taken from it, none are added.")

    @classmethod
    def open(cls, folder: str | Path, model: Model) -> AnswerCache:
        """Open or make the cache in ``folder`` for ``model``; raise RunError as :meth:`CacheStore.open` does."""
        return cls(CacheStore.open(folder), model)

    def close(self) -> None:
        """Close the folder's file."""
        self._store.close()

    @property
    def notes(self) -> list[str]:
        """What readers of the run should know: why the cache was not used, or not to the end."""
        n = self._spoilt
        counted = f"{n} damaged answer{'' if n == 1 else 's'} in the cache {self._store.folder.name} asked for again."
        return [*self._said, *([counted] if n else [])]

    def take(self, requests: Sequence[Request]) -> list[Response]:
        """Return the sound answers the cache holds to ``requests``, in their order."""
        return self._found(requests, [bytes.fromhex(request.key) for request in requests])

    def take_batch(self, batch: Sequence[Request]) -> list[Response] | None:
        """Return the answers to a planned batch, or None unless all of them are there and sound."""
        found = self._found(batch, self._places([request.key for request in batch]))
        return found if len(found) == len(batch) else None

    def add(self, responses: Iterable[Response]) -> None:
        """Keep answers; errors are left out."""
        kept = [response for response in responses if not response.failed]
        self._keep([bytes.fromhex(response.request_key) for response in kept], kept)

    def add_batch(self, batch: Sequence[Request], responses: Sequence[Response]) -> None:
        """Keep the answers to a planned batch, all of them or, if one failed, none."""
        if not any(response.failed for response in responses):
            by_key = {response.request_key: response for response in responses}
            keys = [request.key for request in batch]
            self._keep(self._places(keys), [by_key[key] for key in keys])

    def _places(self, keys: Sequence[str]) -> list[bytes]:
        """Return where the answers of a batch are kept: under each key together with all of the batch, in order."""
        if not self._salt or takes_many(self._model):  # replicas on another kind of processor may have come since
            self._salt = _hashed(circumstances(self._model))
        batch = hashlib.blake2b("".join(keys).encode(), digest_size=16, key=self._salt).digest()
        return [hashlib.blake2b(bytes.fromhex(key) + batch, digest_size=16).digest() for key in keys]

    def _found(self, requests: Sequence[Request], places: Sequence[bytes]) -> list[Response]:
        if not self._taking:
            return []
        try:
            stored = self._store.read(places)
        except RunError as error:
            self._taking = self._adding = False
            self._say(f"{error.message} The run goes on without it.")
            return []
        found: list[Response] = []
        spoilt: list[bytes] = []
        for request, place in zip(requests, places, strict=True):
            if place in stored:
                response = _answer(stored[place], request)
                if response is None:
                    spoilt.append(place)
                else:
                    found.append(response)
        if spoilt:
            self._drop(spoilt)
        return found

    def _drop(self, spoilt: Sequence[bytes]) -> None:
        if not self._spoilt:
            log.warning("The cache %s holds damaged answers; they are asked for again.", self._store.folder)
        self._spoilt += len(spoilt)
        if self._adding:
            self._change(lambda: self._store.drop(spoilt))

    def _keep(self, places: Sequence[bytes], responses: Sequence[Response]) -> None:
        if not self._adding or not responses:
            return
        if dict(self._model.fingerprint) != self._fingerprint:
            self._stop("Its fingerprint changed while the run asked, so its answers cannot be kept under one name.")
            return
        rows = [(place, encode(response)) for place, response in zip(places, responses, strict=True)]
        self._change(lambda: self._store.add(self._model_number(), rows))

    def _model_number(self) -> int:
        if self._number is None:
            text = json.dumps(plain(self._fingerprint), sort_keys=True, ensure_ascii=False)
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            self._number = self._store.model(digest, plain(self._model.id), plain(self._model.revision), text)
        return self._number

    def _change(self, action: Any) -> None:
        with self._lock:
            try:
                action()
            except RunError as error:
                self._stop(error.message)

    def _stop(self, reason: str) -> None:
        self._adding = False
        self._say(f"{reason} The run goes on; its further answers are not added to the cache.")

    def _say(self, text: str) -> None:
        self._said.append(text)
        log.warning("%s", text)


def not_cached(model: Model) -> str | None:
    """Say why answers of ``model`` are neither taken from a cache nor kept in one; None when they may be."""
    if model.fingerprint.get("by_item"):
        return f"the answers of {model.id} are recorded already."
    if not model.revision:
        return (
            f"{model.id} names no revision, so its answers cannot be told from those of another version of it. "
            "Say which one is served with --revision (a version, a date, a commit)."
        )
    return None


def _hashed(computed_with: Mapping[str, Any]) -> bytes:
    parts = {name: str(computed_with[name]) for name in NAMES if name in computed_with}
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).digest()


def _answer(payload: str | None, request: Request) -> Response | None:
    """Return the stored answer to ``request``; None for one that is damaged or no answer to it."""
    if payload is None:
        return None
    try:
        response = decode(request.key, payload)
    except ValueError:
        return None
    return None if response.failed or flaw(response, request) else response
