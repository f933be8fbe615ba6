"""What one concept of one corpus comes to, and the folder that keeps it: computed once, resumed after any end.

A file's name is a digest of everything its numbers depend on (texts, tokenizer, kernels, settings), so a result can
neither be stale nor belong to something else, and analyses of the same texts share it.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.words.counts import WordCounts
from kapwa.errors import RunError
from kapwa.files import replacing

log = logging.getLogger(__name__)

FORMAT = 5
Reals = NDArray[np.float64]
Whole = NDArray[np.int64]
# What reading a file that was cut off or overwritten raises.
_DAMAGE: Final = (OSError, ValueError, LookupError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True, eq=False)
class ConceptResult:
    """One concept of one corpus, G identities (those present, sorted).

    ``samples``, ``tokens``, ``empty`` (G,): texts, their tokens, those without one. ``within``, ``across`` (G,):
    lexical variance by the corrected estimate, ``*_reference`` as released; each with its mean over identities.
    ``wed``, ``bleu``, ``bleu_reference``: upper triangles, (G(G−1)/2,), row by row; empty where pairs were drawn.
    ``wed_own`` (G,): mean distance of two texts of an identity; empty with those. ``permanova``: f, r2, p; f, p of
    PERMDISP. ``bounds``: 95 % bounds of within and across (low, high, low, high), NaN for all pairs.
    """

    topic: str
    concept: str
    identities: tuple[str, ...]
    samples: Whole
    tokens: Whole
    empty: Whole
    within: Reals
    across: Reals
    within_reference: Reals
    across_reference: Reals
    means: Reals
    permanova: Reals
    bounds: Reals
    wed: Reals
    bleu: Reals
    bleu_reference: Reals
    wed_own: Reals
    words: WordCounts


_TEXTS = ("topic", "concept", "identities")
_NUMBERS = tuple(field.name for field in fields(ConceptResult) if field.name not in (*_TEXTS, "words"))


def result_path(folder: Path, texts_digest: str, settings: Mapping[str, object]) -> Path:
    """Return the path of the result for texts with this digest: in one of 256 folders, so that none grows too large."""
    inputs = json.dumps([FORMAT, texts_digest, settings], sort_keys=True, ensure_ascii=False)
    key = hashlib.blake2b(inputs.encode(), digest_size=16).hexdigest()
    return folder / key[:2] / f"{key}.npz"


def pack_result(result: ConceptResult) -> bytes:
    """Return ``result`` as the bytes of its file, which need no folder in common to travel between machines."""
    texts = json.dumps([result.topic, result.concept, result.identities], ensure_ascii=False).encode()
    arrays: dict[str, NDArray[Any]] = {"texts": np.frombuffer(texts, dtype=np.uint8)}
    arrays |= {name: getattr(result, name) for name in _NUMBERS}
    arrays |= {f"words_{name}": array for name, array in result.words.to_arrays().items()}
    for name, array in arrays.items():
        # Counts and positions are a third of a result: they are stored in as few bytes as they need.
        if array.dtype.kind == "i" and array.size and array.min() >= 0:
            arrays[name] = array.astype(np.min_scalar_type(int(array.max())))
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def write_result(path: Path, result: ConceptResult | bytes) -> None:
    """Write ``result`` whole or not at all; raise RunError where the folder cannot be written."""
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(result if isinstance(result, bytes) else pack_result(result))
    except OSError as error:
        hint = "Free some space or choose another folder with --out; what is done is kept."
        raise RunError(f"{path.parent} cannot be written: {error.strerror or error}.", hint=hint) from error


def read_result(path: Path, sent: bytes | None = None) -> ConceptResult | None:
    """Read a result; None where there is none, or (with a warning) where it is damaged and must be computed again.

    ``sent``: the bytes of the file, where it lies on another machine.
    """
    try:
        with np.load(path if sent is None else io.BytesIO(sent), allow_pickle=False) as archive:
            topic, concept, identities = json.loads(archive["texts"].tobytes())
            stored = {name: archive[name] for name in _NUMBERS}
            numbers = {n: array if array.dtype.kind == "f" else array.astype(np.int64) for n, array in stored.items()}
            words = {n.removeprefix("words_"): archive[n] for n in archive.files if n.startswith("words_")}
            return ConceptResult(topic, concept, tuple(identities), **numbers, words=WordCounts.from_arrays(words))
    except FileNotFoundError:
        return None
    except _DAMAGE as error:
        log.warning("%s is damaged (%s): this concept is computed again.", path, type(error).__name__)
        return None
