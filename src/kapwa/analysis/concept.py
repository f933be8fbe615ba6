"""One concept of one corpus: from its texts to its part. A pure function of picklable inputs, run anywhere."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kapwa.analysis.corpus import ConceptTexts
from kapwa.analysis.parts import Part, Reals
from kapwa.analysis.settings import ConceptSettings
from kapwa.analysis.words.counts import count_words
from kapwa.metrics import distance
from kapwa.metrics.tokens import Encoded, Tokenizer, encode, tokenizer_for
from kapwa.stats.distances import lexical_variance, lexical_variance_reference, permanova

# Distances of more texts than this are not kept for the permutation test: 8,000 texts are 256 MB.
MOST_PERMUTED = 8_000
# Raised whenever distances, BLEU, variance or the permutation test of a concept come to other numbers.
KERNELS = 1
_NAN = float("nan")
_checked: set[str] = set()


class Concept(NamedTuple):
    """What one worker is given: the texts of a concept, and how to compute."""

    texts: ConceptTexts
    settings: ConceptSettings


def depends_on(settings: ConceptSettings) -> dict[str, Any]:
    """Return all that a part depends on besides its texts: settings, tokenizer and version of the kernels."""
    # Backends give the same numbers.
    named = {name: value for name, value in asdict(settings).items() if name != "backend"}
    return {**named, "tokenizer": tokenizer(settings.language).name, "kernels": KERNELS}


@lru_cache(maxsize=4)
def tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer of ``language``, one for the whole process; texts are lower-cased first, as released."""
    return tokenizer_for(language)


def concept_part(concept: Concept) -> Part:
    """Compute everything an analysis keeps of one concept.

    Raises KapwaError naming a pair of texts where the kernels disagree with each other.
    """
    texts, settings = concept
    encoded = encode(texts.texts, tokenizer(settings.language))
    g = len(texts.identities)
    lengths = np.diff(encoded.offsets)
    if settings.backend not in _checked:
        # The fast kernels are held against the plain ones once a process, on the first texts that come.
        distance.self_check(encoded, settings.seed)
        _checked.add(settings.backend)
    measured = _drawn(texts, encoded, settings) if settings.pairs else _exact(texts, encoded, settings)
    return Part(
        topic=texts.key.topic,
        concept=texts.key.concept,
        identities=texts.identities,
        samples=np.bincount(texts.groups, minlength=g).astype(np.int64),
        tokens=np.bincount(texts.groups, weights=lengths, minlength=g).astype(np.int64),
        empty=np.bincount(texts.groups, weights=lengths == 0, minlength=g).astype(np.int64),
        words=count_words(encoded, texts.groups, g),
        **measured,
    )


def concept_seed(seed: int, *names: str) -> int:
    """Derive a concept's own seed, so that no two concepts are permuted alike; 32 bits."""
    whole = "\0".join([str(seed), *names]).encode()
    return int.from_bytes(hashlib.blake2b(whole, digest_size=4).digest(), "big")


def _exact(texts: ConceptTexts, encoded: Encoded, settings: ConceptSettings) -> dict[str, Reals]:
    groups, g = texts.groups, len(texts.identities)
    permuted = len(groups) <= MOST_PERMUTED and int(np.bincount(groups).max()) > 1
    found = distance.pair_distances(
        encoded, groups, g, brevity=settings.brevity, backend=settings.backend, keep_texts=permuted
    )
    ours = lexical_variance(found.wed_square, found.samples)
    theirs = lexical_variance_reference(found.wed, found.wed_square_reference)
    upper = np.triu_indices(g, 1)
    tested = np.full(3, _NAN)
    if found.texts_wed is not None:
        seed = concept_seed(settings.seed, *texts.key)
        result = permanova(found.texts_wed, groups, permutations=settings.permutations, seed=seed)
        tested = np.array([result.f, result.r2, result.p])
    return {
        "within": ours.within,
        "across": ours.across,
        "within_reference": theirs.within,
        "across_reference": theirs.across,
        "means": np.array([ours.within_mean, ours.across_mean, theirs.within_mean, theirs.across_mean]),
        "permanova": tested,
        "bounds": np.full(4, _NAN),
        "wed": found.wed[upper],
        "bleu": found.similarity[upper],
        "bleu_reference": found.similarity_reference[upper],
    }


def _drawn(texts: ConceptTexts, encoded: Encoded, settings: ConceptSettings) -> dict[str, Reals]:
    """Estimate the mean variance within and across from drawn pairs of identities; nothing is known of single ones."""
    seed = concept_seed(settings.seed, *texts.key)
    g = len(texts.identities)
    within, across = distance.sample_distances(encoded, texts.groups, g, pairs=settings.pairs, seed=seed)
    unknown = np.full(g, _NAN)
    return {
        **dict.fromkeys(("within", "across", "within_reference", "across_reference"), unknown),
        "means": np.array([within.estimate / 2, across.estimate / 2, _NAN, _NAN]),
        "permanova": np.full(3, _NAN),
        "bounds": np.array([within.low, within.high, across.low, across.high]) / 2,
        **dict.fromkeys(("wed", "bleu", "bleu_reference"), np.empty(0)),
    }
