"""What is left without the markers: texts compared again without the words that mark an identity.

The words that mark an identity are found in the other concepts, so that no concept's own texts decide what is taken out
of them: words found and taken out in the same texts would explain a part of any difference, planted or not. As many
other words, about as frequent, are taken out for comparison: that is the floor of what leaving out words does.

What then repeats word by word, in texts about other identities, is the template (:mod:`kapwa.metrics.repeated_runs`).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.concept_results import ConceptResult, read_result, result_path
from kapwa.analysis.corpus import ConceptKey, ConceptTexts
from kapwa.analysis.distances import Prepared, WithoutWords, compute_results, depends_on
from kapwa.analysis.result import frame
from kapwa.analysis.tables import ALL
from kapwa.analysis.words import log_odds_words
from kapwa.analysis.words.counts import WordCounts, WordSums
from kapwa.errors import RunError
from kapwa.metrics.repeated_runs import repeated_share
from kapwa.metrics.tokens import encode, tokenizer_for
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show
from kapwa.stats.ratios import ratio_of_means
from kapwa.stats.significance import paired_test
from kapwa.value_types import Cells

# Concepts are parted into so many folds; the markers of one are found in the others.
FOLDS = 5
# A word marks an identity if its log-odds lie so many standard errors above those of all others.
LEAST_Z = 1.96
# Texts of each kind that a text is held against.
PARTNERS = 3
NOTHING, MARKERS, OTHERS = "nothing", "markers", "other words"
REMOVED: Final = (NOTHING, MARKERS, OTHERS)
KINDS: Final = ("other identities", "same prompt", "other concepts")
Words = frozenset[str]


class Removed(NamedTuple):
    """What is left out of the texts of one concept."""

    markers: Words
    others: Words


class TemplateJob(NamedTuple):
    """A concept whose texts are held against each other, and against those of another concept, without words."""

    texts: ConceptTexts
    other: ConceptTexts | None
    left_out: Words
    language: str
    seed: int

    def __str__(self) -> str:
        return f"The concept {'/'.join(self.texts.key)}"


class TemplateShares(NamedTuple):
    """Of one concept, the mean share of a text that repeats from each of :data:`KINDS`; NaN where there is none."""

    key: ConceptKey
    shares: tuple[float, float, float]


# --- which words -----------------------------------------------------------------------------------------------------


def marking_words(counts: WordCounts, identities: Sequence[str], top: int, language: str) -> Words:
    """Return the words that mark any identity: its name, and its ``top`` words by log-odds, if they are clearly its."""
    words = log_odds_words(counts, top, identities=identities, language=language)
    named = {word.lower() for name in identities for word in tokenizer_for(language)(name)}
    return frozenset(words.filter(pl.col("z") >= LEAST_Z)["word"]) | frozenset(
        word for word in named if any(map(str.isalpha, word))
    )


def as_frequent(markers: Words, uses: Mapping[str, int], seed: int) -> Words:
    """Return as many words that mark nobody, each used about as often as one of ``markers``: at most twice, or half.

    Fewer where there are no such words.
    """
    free = sorted((many, word) for word, many in uses.items() if word not in markers and any(map(str.isalpha, word)))
    random = np.random.default_rng(seed)
    chosen: set[str] = set()
    for word in sorted(markers & uses.keys(), key=lambda one: (-uses[one], one)):
        position = bisect_left(free, (uses[word], ""))
        near = [k for k in range(max(0, position - 3), min(len(free), position + 3)) if _alike(free[k][0], uses[word])]
        if near:
            chosen.add(free.pop(near[int(random.integers(len(near)))])[1])
    return frozenset(chosen)


def _alike(one: int, other: int) -> bool:
    return one <= 2 * other and other <= 2 * one


def words_to_leave_out(
    counts: Sequence[WordCounts], identities: Sequence[str], top: int, language: str, seed: int
) -> list[Removed]:
    """Return what is left out of each concept, of which ``counts`` are the words: words found in the other folds."""
    folds = min(FOLDS, len(counts))
    sums = [WordSums(len(identities)) for _ in range(folds)]
    for number, of_concept in enumerate(counts):
        for fold in range(folds):
            if fold != number % folds:
                sums[fold].add(of_concept)
    removed = []
    for others in (one.result() for one in sums):
        markers = marking_words(others, identities, top, language)
        totals = np.bincount(others.indices, others.counts, len(others.vocabulary)).astype(int).tolist()
        uses = dict(zip(others.vocabulary, totals, strict=True))
        removed.append(Removed(markers, as_frequent(markers, uses, seed)))
    return [removed[number % folds] for number in range(len(counts))]


def _left_out(prepared: Prepared, top: int) -> dict[ConceptKey, Removed]:
    """Return what is left out of each concept of a corpus."""
    identities = prepared.corpus.identities
    identity_index = {identity: i for i, identity in enumerate(identities)}
    results = map(_written_result, prepared.paths.values())
    counts = [
        result.words.spread_rows([identity_index[one] for one in result.identities], len(identities))
        for result in results
    ]
    left_out = words_to_leave_out(counts, identities, top, prepared.corpus.language, prepared.settings.seed)
    return dict(zip(prepared.paths, left_out, strict=True))


# --- the comparison ----------------------------------------------------------------------------------------------


def unmarked_tables(
    prepared: Sequence[Prepared], store: Path, top: int, show: Show, executor: Executor
) -> dict[str, pl.DataFrame]:
    """Compare the texts of each corpus again without the words that mark an identity; return both tables.

    ``top``: words of an identity that are left out at most, besides its name. A corpus with one concept alone, or
    whose pairs of texts were drawn, has no rows.
    """
    tables: dict[str, list[pl.DataFrame]] = {"unmarked": [], "templates": []}
    for one in prepared:
        if len(one.paths) < 2 or one.settings.pairs:
            continue
        removed = _left_out(one, top)
        paths = {(key, kind): _path(one, store, key, removed[key], kind) for key in one.paths for kind in (1, 2)}
        without = {path: WithoutWords(one, key, removed[key][kind - 1]) for (key, kind), path in paths.items()}
        for path in without:
            if read_result(path) is None:
                path.unlink(missing_ok=True)  # a damaged one is computed again
        compute_results([one], show, executor, without)
        results = [
            [_written_result(one.paths[key]), *(_written_result(paths[key, kind]) for kind in (1, 2))]
            for key in one.paths
        ]
        tables["unmarked"].append(_framed("unmarked", one, removal_rows(results, list(removed.values()))))
        meter = Meter(show, "looking for templates", len(one.paths), stage="", unit="concepts")
        shares = []
        for done in executor.map(template_shares, _template_jobs(one, removed)):
            shares.append(done)
            meter.add(1)
        order = {key: position for position, key in enumerate(one.paths)}
        shares.sort(key=lambda done: order[done.key])
        tables["templates"].append(_framed("templates", one, template_rows([done.shares for done in shares])))
    return {name: pl.concat(frames) for name, frames in tables.items() if frames}


def _path(prepared: Prepared, store: Path, key: ConceptKey, removed: Removed, kind: int) -> Path:
    concept = prepared.corpus.concepts[key]
    words = "\0".join(sorted(removed[kind - 1])).encode("utf-8", "surrogatepass")
    left_out = hashlib.blake2b(words, digest_size=16).hexdigest()
    depends = {**depends_on(prepared.settings), "order": concept.order, "left_out": left_out}
    return result_path(store, concept.digest, depends)


def _written_result(path: Path) -> ConceptResult:
    result = read_result(path)
    if result is None:
        raise RunError(f"{path} cannot be read although it was just written.", hint="Check the disk, and try again.")
    return result


def removal_rows(results: Sequence[Sequence[ConceptResult]], removed: Sequence[Removed]) -> list[Cells]:
    """One row for what was removed: the difference that is left, and which share of it is gone.

    ``results``: of each concept three, of texts as they are and without each of :data:`REMOVED`.
    """
    means = np.array([[result.means[:2] for result in of_concept] for of_concept in results])
    tokens = np.array([[result.tokens.sum() for result in of_concept] for of_concept in results], dtype=np.float64)
    difference = means[:, :, 1] - means[:, :, 0]
    many = [0, *(round(float(np.mean([len(one[kind]) for one in removed]))) for kind in (0, 1))]
    rows: list[Cells] = []
    for number, name in enumerate(REMOVED):
        test = paired_test(means[:, number, 1], means[:, number, 0])
        left = ratio_of_means(difference[:, number], difference[:, 0])
        rows.append(
            {
                "removed": name,
                "words": many[number],
                "tokens_share": 1 - tokens[:, number].sum() / tokens[:, 0].sum(),
                "difference": test.estimate,
                "low": test.low,
                "high": test.high,
                "p": test.p,
                "gone": 1 - left.value if number else np.nan,
                "gone_low": 1 - left.high if number else np.nan,
                "gone_high": 1 - left.low if number else np.nan,
                "concepts": len(results),
            }
        )
    return rows


def _framed(name: str, prepared: Prepared, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    names = {**prepared.facts.name._asdict(), "topic": ALL}
    return frame(name, {**names, **{column: [row[column] for row in rows] for column in rows[0]}})


# --- templates -------------------------------------------------------------------------------------------------------


def _template_jobs(prepared: Prepared, removed: Mapping[ConceptKey, Removed]) -> Iterator[TemplateJob]:
    keys = list(prepared.paths)
    for number, key in enumerate(keys):
        other = prepared.corpus.texts(keys[(number + 1) % len(keys)])
        yield TemplateJob(
            prepared.corpus.texts(key),
            other,
            removed[key].markers,
            prepared.corpus.language,
            prepared.settings.seed + number,
        )


def template_shares(job: TemplateJob) -> TemplateShares:
    """Hold each text against some of other identities, of its own prompt and of another concept, without the words."""
    words = _words(job.texts, job)
    elsewhere = [] if job.other is None else _words(job.other, job)
    random, groups = np.random.default_rng(job.seed), job.texts.groups
    shares_of_kinds: list[list[float]] = [[], [], []]
    for number, text in enumerate(words):
        same = np.flatnonzero(groups == groups[number])
        partners = (
            [words[i] for i in _drawn(random, np.flatnonzero(groups != groups[number]))],
            [words[i] for i in _drawn(random, same[same != number])],
            [elsewhere[i] for i in _drawn(random, np.arange(len(elsewhere)))],
        )
        for kind, others in enumerate(partners):
            shares_of_kinds[kind] += [repeated_share(text, other) for other in others]
    means = [float(np.mean(shares)) if shares else float("nan") for shares in shares_of_kinds]
    return TemplateShares(job.texts.key, (means[0], means[1], means[2]))


def _words(texts: ConceptTexts, job: TemplateJob) -> list[list[str]]:
    encoded = encode(texts.texts, tokenizer_for(job.language))
    kept = [word not in job.left_out for word in encoded.vocabulary]
    return [
        [encoded.vocabulary[i] for i in encoded.ids[start:end].tolist() if kept[i]]
        for start, end in zip(encoded.offsets[:-1].tolist(), encoded.offsets[1:].tolist(), strict=True)
    ]


def _drawn(random: np.random.Generator, numbers: np.ndarray) -> list[int]:
    size = min(PARTNERS, len(numbers))
    return [int(number) for number in random.choice(numbers, size, replace=False)] if size else []


def template_rows(shares_by_concept: Sequence[tuple[float, float, float]]) -> list[Cells]:
    """One row a kind of other text: the mean share of a text that repeats from it, over concepts."""
    shares, rows = np.array(shares_by_concept), []
    for number, kind in enumerate(KINDS):
        test = paired_test(shares[:, number], np.zeros(len(shares)))
        ends = {"low": max(0.0, test.low), "high": min(1.0, test.high)}
        rows.append({"beside": kind, "share": test.estimate, **ends, "concepts": test.n})
    return rows
