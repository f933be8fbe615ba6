"""The first stage, which takes nearly all of the time: each concept without a stored result is computed and stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kapwa.analysis.concept_results import ConceptResult, Reals, pack_result, result_path, write_result
from kapwa.analysis.corpus import ConceptKey, ConceptTexts, Corpus
from kapwa.analysis.crossed import crossing_of
from kapwa.analysis.inputs import Backend, Brevity, Matched, Settings, Surveys, match
from kapwa.analysis.topics import CorpusColumns, CorpusFacts
from kapwa.analysis.words.counts import count_words
from kapwa.metrics import distance
from kapwa.metrics.tokens import Encoded, encode, tokenizer_for, without_words
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show
from kapwa.stats.distances import lexical_variance, lexical_variance_reference, permanova, permdisp
from kapwa.value_types import JsonObject, Keywords

# All pairs of so many identities still take seconds a concept; beyond, pairs are drawn.
MOST_IDENTITIES = 2_000
SAMPLED_PAIRS = 20_000
# Distances of more texts than this are not kept for the permutation test: 8,000 texts are 256 MB.
MOST_PERMUTED = 8_000
# Enough for a test over concepts; more would cost more than all else of a concept.
SPREAD_PERMUTATIONS = 49
# Raised whenever distances, BLEU, variance or the permutation test of a concept come to other numbers.
KERNELS = 1
_checked: set[str] = set()


@dataclass(frozen=True, slots=True)
class ConceptSettings:
    """What the numbers of one concept depend on besides its texts.

    ``pairs``: pairs of identities drawn; 0 compares all pairs.
    """

    language: str = "en"
    brevity: Brevity = "nmt"
    backend: Backend = "auto"
    permutations: int = 999
    seed: int = 0
    pairs: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A corpus with all that is known before anything is computed; ``paths``: where the result of each concept lies."""

    corpus: Corpus
    settings: ConceptSettings
    paths: Mapping[ConceptKey, Path]
    matched: Matched
    facts: CorpusFacts


class WithoutWords(NamedTuple):
    """A concept of a corpus, and the words that its texts are compared without."""

    corpus: Prepared
    key: ConceptKey
    words: frozenset[str] = frozenset()


class Counted(NamedTuple):
    """How many results were there before, how many were computed now, and by which engine: "local" or "ray"."""

    stored: int
    computed: int
    engine: str


class _Job(NamedTuple):
    """A concept to compute, and where its result goes; ``left_out``: words that its texts are compared without."""

    texts: ConceptTexts
    settings: ConceptSettings
    path: Path
    left_out: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"The concept {'/'.join(self.texts.key)}"


class _Done(NamedTuple):
    """A result as the bytes of its file, where it goes, and how many texts it is of."""

    result: bytes
    path: Path
    texts: int


def prepare(corpus: Corpus, surveys: Surveys, store: Path, settings: Settings) -> Prepared:
    """Name the results of a corpus, whose folder is ``store``, and match its identities with the surveys."""
    many = len(corpus.identities) > MOST_IDENTITIES
    drawn = SAMPLED_PAIRS if settings.pairs is None and many else settings.pairs or 0
    same = settings.brevity, settings.backend, settings.permutations, settings.seed
    crossing = None if drawn else crossing_of(corpus.attribute, corpus.identities)
    chosen = ConceptSettings(corpus.language, *same, pairs=drawn)
    depends = depends_on(chosen)
    paths = {}
    for key, concept in corpus.concepts.items():
        paths[key] = result_path(store, concept.digest, {**depends, "order": concept.order})
    matched = match(surveys, corpus)
    facts = CorpusFacts(
        name=CorpusColumns(corpus.label, corpus.task),
        model=corpus.model,
        temperature=corpus.temperature,
        attribute=corpus.attribute,
        language=corpus.language,
        identities=corpus.identities,
        places=matched.places,
        values=matched.values,
        permutations=settings.permutations,
        seed=settings.seed,
        top=settings.top,
        drawn=bool(drawn),
        crossing=crossing,
    )
    return Prepared(corpus, chosen, paths, matched, facts)


def depends_on(settings: ConceptSettings) -> JsonObject:
    """Return all that a result depends on besides its texts: settings, tokenizer and version of the kernels."""
    # Backends give the same numbers.
    named = {name: value for name, value in asdict(settings).items() if name != "backend"}
    return {**named, "tokenizer": tokenizer_for(settings.language).name, "kernels": KERNELS}


def compute_results(
    prepared: Sequence[Prepared], show: Show, executor: Executor, without: Mapping[Path, WithoutWords] | None = None
) -> Counted:
    """Compute every result that is not there yet; ``without``: those of texts without some words, in place of all."""
    # Two corpora may hold the same texts of a concept: one result serves both.
    wanted = without or {path: WithoutWords(corpus, key) for corpus in prepared for key, path in corpus.paths.items()}
    missing = {path: concept for path, concept in wanted.items() if not path.exists()}
    counted = Counted(len(wanted) - len(missing), len(missing), executor.name)
    doing = "comparing texts without words" if without else "comparing texts"
    meter = Meter(show, doing, len(wanted), stage="", unit="texts")
    meter.add(counted.stored, stored=counted.stored)
    jobs = (
        _Job(one.corpus.corpus.texts(one.key), one.corpus.settings, path, one.words) for path, one in missing.items()
    )
    # Each process writes its own results: a hundred would wait long for one that writes for all. The machines of
    # a cluster see no folder of ours: their results come back, and are written here.
    work = _compute_and_write if executor.shares_files else _compute
    for done in (map if len(missing) <= 1 else executor.map)(work, jobs):
        if not executor.shares_files:
            write_result(done.path, done.result)
        meter.add(1, amount=done.texts)
    return counted


def compute_again(prepared: Prepared, paths: Sequence[Path]) -> None:
    """Compute again the results that were found damaged."""
    for key, path in prepared.paths.items():
        if path in paths:
            _compute_and_write(_Job(prepared.corpus.texts(key), prepared.settings, path))


def _compute(job: _Job) -> _Done:
    return _Done(pack_result(concept_result(job.texts, job.settings, job.left_out)), job.path, len(job.texts.texts))


def _compute_and_write(job: _Job) -> _Done:
    done = _compute(job)
    write_result(done.path, done.result)
    return done._replace(result=b"")


def concept_result(
    texts: ConceptTexts, settings: ConceptSettings, left_out: frozenset[str] = frozenset()
) -> ConceptResult:
    """Compute everything an analysis keeps of one concept; a pure function of picklable inputs, run anywhere.

    Texts are lower-cased before they are cut into words, as released. ``left_out``: words that they are compared
    without.
    Raises KapwaError naming a pair of texts where the kernels disagree with each other.
    """
    encoded = encode(texts.texts, tokenizer_for(settings.language))
    if left_out:
        encoded = without_words(encoded, left_out)
    g = len(texts.identities)
    lengths = np.diff(encoded.offsets)
    if settings.backend not in _checked:
        # The fast kernels are held against the plain ones once a process, on the first texts that come.
        distance.self_check(encoded, settings.seed)
        _checked.add(settings.backend)
    # A concept's own seed, so that no two concepts are permuted alike.
    named = "\0".join([str(settings.seed), *texts.key]).encode()
    seed = int.from_bytes(hashlib.blake2b(named, digest_size=4).digest(), "big")
    measured = (_drawn if settings.pairs else _exact)(texts, encoded, settings, seed)
    return ConceptResult(
        topic=texts.key.topic,
        concept=texts.key.concept,
        identities=texts.identities,
        samples=np.bincount(texts.groups, minlength=g).astype(np.int64),
        tokens=np.bincount(texts.groups, weights=lengths, minlength=g).astype(np.int64),
        empty=np.bincount(texts.groups, weights=lengths == 0, minlength=g).astype(np.int64),
        words=count_words(encoded, texts.groups, g),
        **measured,
    )


def _exact(texts: ConceptTexts, encoded: Encoded, settings: ConceptSettings, seed: int) -> dict[str, Reals]:
    groups, g = texts.groups, len(texts.identities)
    permuted = len(groups) <= MOST_PERMUTED and int(np.bincount(groups).max()) > 1
    how: Keywords = {"brevity": settings.brevity, "backend": settings.backend, "keep_texts": permuted}
    pairs = distance.pair_distances(encoded, groups, g, **how)
    ours = lexical_variance(pairs.wed_square, pairs.samples)
    theirs = lexical_variance_reference(pairs.wed, pairs.wed_square_reference)
    upper = np.triu_indices(g, 1)
    tested = np.full(5, np.nan)
    if pairs.texts_wed is not None:
        result = permanova(pairs.texts_wed, groups, permutations=settings.permutations, seed=seed)
        few = min(settings.permutations, SPREAD_PERMUTATIONS)
        spread = permdisp(pairs.texts_wed, groups, permutations=few, seed=seed)
        tested = np.array([result.f, result.r2, result.p, spread.f, spread.p])
    return {
        "within": ours.within,
        "across": ours.across,
        "within_reference": theirs.within,
        "across_reference": theirs.across,
        "means": np.array([ours.within_mean, ours.across_mean, theirs.within_mean, theirs.across_mean]),
        "permanova": tested,
        "bounds": np.full(4, np.nan),
        "wed": pairs.wed[upper],
        "bleu": pairs.similarity[upper],
        "bleu_reference": pairs.similarity_reference(texts.order)[upper],
        "wed_own": np.diagonal(pairs.wed).copy(),
    }


def _drawn(texts: ConceptTexts, encoded: Encoded, settings: ConceptSettings, seed: int) -> dict[str, Reals]:
    """Estimate the mean variance within and across from drawn pairs of identities; nothing is known of single ones."""
    g = len(texts.identities)
    within, across = distance.sample_distances(encoded, texts.groups, g, pairs=settings.pairs, seed=seed)
    unknown = np.full(g, np.nan)
    return {
        **dict.fromkeys(("within", "across", "within_reference", "across_reference"), unknown),
        "means": np.array([within.estimate / 2, across.estimate / 2, np.nan, np.nan]),
        "permanova": np.full(5, np.nan),
        "bounds": np.array([within.low, within.high, across.low, across.high]) / 2,
        **dict.fromkeys(("wed", "bleu", "bleu_reference", "wed_own"), np.empty(0)),
    }
