"""Which words mark each identity's texts: TF-IDF, as published, and log-odds with a Dirichlet prior.

A table has one row an identity and rank: ``identity`` (its name, or its row where no names are given), ``rank`` (from
1), ``word``, ``score``, ``z`` (log-odds only, else null), ``count`` (in the identity's texts), ``df`` (how many
identities use it). Equal scores are ranked by the alphabet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kapwa.analysis.words.counts import WordCounts, count_words, merge
from kapwa.analysis.words.stop_words import stop_words
from kapwa.errors import UsageError

__all__ = [
    "WordCounts",
    "count_words",
    "log_odds_words",
    "merge",
    "stop_words",
    "tfidf_words",
    "tfidf_words_reference",
    "z_needed",
]

Reals = NDArray[np.float64]
_QUOTES = frozenset({"''", "``"})


def tfidf_words(
    counts: WordCounts, top: int = 15, *, identities: Sequence[str] | None = None, language: str = "en"
) -> pl.DataFrame:
    """Return each identity's words of the highest TF-IDF: raw count × ln(N / df), all its texts one document (§3.2).

    N: identities with a token; df: those of them that use the word. Numbers, punctuation, single letters and the
    language's stop words are no words; nor are those of every identity, whose score is 0. Unlike as released, the
    words "nan", "inf" and "infinity" are words.
    """
    left_out = stop_words(language)
    return _tfidf(counts, np.array([_is_word(token, left_out) for token in counts.vocabulary], bool), top, identities)


def tfidf_words_reference(
    counts: WordCounts,
    top: int = 15,
    *,
    identities: Sequence[str] | None = None,
    left_out: Collection[str] | None = None,
) -> pl.DataFrame:
    """As :func:`tfidf_words`, with the filter of the released scripts.

    It leaves out what Python's ``float`` reads, with "nan", "inf" and "infinity", and keeps punctuation of two
    characters and more but quotes. ``left_out``: stop words; the scripts take NLTK's (``stopwords.words("english")``,
    a download), here ours by default. Ties, there in order of first use, are in that of the alphabet.
    """
    stops = stop_words("en") if left_out is None else frozenset(left_out)
    kept = np.array([_is_word_reference(token, stops) for token in counts.vocabulary], bool)
    return _tfidf(counts, kept, top, identities)


def log_odds_words(
    counts: WordCounts,
    top: int = 15,
    prior: float = 1.0,
    *,
    identities: Sequence[str] | None = None,
    language: str = "en",
) -> pl.DataFrame:
    """Return the words each identity uses most above all others, by log-odds with an informative Dirichlet prior.

    Monroe, Colaresi and Quinn (2008), equations 16, 20 and 22: ``score`` is the difference between the log-odds of
    the word in the identity's texts and in all others', ``z`` that over its standard error; ranked by ``z``, only
    positive ones. The prior spreads ``prior`` × (mean tokens of an identity) pseudo-counts as the pooled texts spread
    theirs. All tokens count as uses; the same as in :func:`tfidf_words` are listed. An identity alone has no others
    and no words. z-scores are many: hold them against :func:`z_needed`.

    Raises UsageError where ``prior`` is not above 0.
    """
    if not prior > 0:
        raise UsageError(f"The prior of log-odds must be above 0, not {prior}.")
    totals = counts.totals.astype(np.float64)
    if np.count_nonzero(totals) < 2:
        return _table(counts, np.empty(0, np.int64), np.empty(0), np.empty(0), top, identities)
    left_out = stop_words(language)
    kept = np.array([_is_word(token, left_out) for token in counts.vocabulary], bool)
    entries = np.flatnonzero(kept[counts.indices])
    rows, words, here = counts.rows[entries], counts.indices[entries], counts.counts[entries].astype(np.float64)
    pooled = np.bincount(counts.indices, counts.counts, len(counts.vocabulary))
    weight = prior * totals.sum() / np.count_nonzero(totals)
    share = weight * pooled[words] / totals.sum()
    there = pooled[words] - here
    score = _log_odds(here, totals[rows], share, weight) - _log_odds(there, totals.sum() - totals[rows], share, weight)
    z = score / np.sqrt(1 / (here + share) + 1 / (there + share))
    above = z > 0
    return _table(counts, entries[above], score[above], z[above], top, identities)


def z_needed(counts: WordCounts, level: float = 0.05) -> float:
    """Return the z-score whose two-sided p survives Bonferroni's correction for every word of every identity.

    Raises UsageError where ``level`` is not between 0 and 1.
    """
    from statistics import NormalDist

    if not 0 < level < 1:
        raise UsageError(f"A level lies between 0 and 1; {level} does not.")
    return NormalDist().inv_cdf(1 - level / 2 / max(len(counts.counts), 1))


def _log_odds(uses: Reals, tokens: Reals, share: Reals, weight: float) -> Reals:
    """Return ln of the odds of a word with ``uses`` of ``tokens``, and pseudo-counts ``share`` of ``weight``."""
    with_prior = uses + share
    # An identity with this word alone has no odds of another; a language model's texts never come to that.
    return np.log(with_prior) - np.log(np.maximum(tokens + weight - with_prior, np.finfo(float).tiny))


def _tfidf(counts: WordCounts, kept: NDArray[np.bool_], top: int, identities: Sequence[str] | None) -> pl.DataFrame:
    entries = np.flatnonzero(kept[counts.indices])
    words = counts.indices[entries]
    with_tokens = np.count_nonzero(np.diff(counts.indptr))
    df = np.bincount(counts.indices, minlength=len(counts.vocabulary))
    score = np.asarray(counts.counts[entries] * np.log(with_tokens / df[words]), np.float64)
    above = score > 0
    return _table(counts, entries[above], score[above], None, top, identities)


def _is_word(token: str, left_out: Collection[str]) -> bool:
    """Whether a token means something by itself: letters, not a single one of an alphabet, no number, no stop word."""
    if token in left_out or not any(map(str.isalpha, token)):
        return False
    if len(token) == 1:
        # Letters without case: a Han character is a word, a Latin or Cyrillic letter is what a cut left over.
        return unicodedata.category(token) == "Lo" and not token.isnumeric()
    return not _is_number(token)


def _is_number(token: str) -> bool:
    if token.isnumeric():
        return True
    return any(map(str.isdigit, token)) and _reads_as_float(token)


def _is_word_reference(token: str, left_out: Collection[str]) -> bool:
    token = token.strip()
    if len(token) < 2 or token in _QUOTES or token in left_out or token.isnumeric():
        return False
    return not _reads_as_float(token)


def _reads_as_float(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _table(
    counts: WordCounts,
    entries: NDArray[np.int64],
    score: Reals,
    z: Reals | None,
    top: int,
    identities: Sequence[str] | None,
) -> pl.DataFrame:
    """List the ``top`` entries of each identity by ``z``, or by ``score`` where there is none."""
    if top < 1:
        raise UsageError(f"At least one word is to be listed, not {top}.")
    if identities is not None and len(identities) != counts.n_groups:
        raise UsageError(f"{counts.n_groups} rows of word counts need as many names; {len(identities)} were given.")
    order, rank = _ranked(counts.rows[entries], score if z is None else z, top)
    chosen = entries[order]
    rows = counts.rows[chosen]
    df = np.bincount(counts.indices, minlength=len(counts.vocabulary))
    columns: dict[str, Any] = {
        "identity": rows if identities is None else [identities[row] for row in rows.tolist()],
        "rank": rank,
        "word": [counts.vocabulary[word] for word in counts.indices[chosen].tolist()],
        "score": score[order],
        "z": [None] * len(order) if z is None else z[order],
        "count": counts.counts[chosen],
        "df": df[counts.indices[chosen]],
    }
    kinds: dict[str, Any] = {"identity": pl.Int64 if identities is None else pl.String, "word": pl.String}
    kinds |= dict.fromkeys(("rank", "count", "df"), pl.Int64) | dict.fromkeys(("score", "z"), pl.Float64)
    return pl.DataFrame(columns, schema={name: kinds[name] for name in columns})


def _ranked(rows: NDArray[np.int64], values: Reals, top: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of the ``top`` largest values of each row, and their ranks; equals stay in their order.

    ``rows`` rise.
    """
    found: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    ranks: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    bounds = np.searchsorted(rows, np.arange(rows[-1] + 2 if len(rows) else 1))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        here = values[start:end]
        if len(here) > top:
            least = np.partition(here, len(here) - top)[len(here) - top]
            candidates = np.flatnonzero(here >= least)
        else:
            candidates = np.arange(len(here))
        best = candidates[np.argsort(-here[candidates], kind="stable")][:top]
        found.append(best + start)
        ranks.append(np.arange(1, len(best) + 1))
    return np.concatenate(found), np.concatenate(ranks)
