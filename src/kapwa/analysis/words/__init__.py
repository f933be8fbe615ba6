"""Which words mark each identity's texts: TF-IDF, as published, and log-odds with a Dirichlet prior.

What the released code computes has names of its own: TF-IDF and terms of the Kullback-Leibler divergence, both of its
words and without its stop words.

A table has one row an identity and rank: ``identity`` (its name, or its row where no names are given), ``rank`` (from
1), ``word``, ``score``, ``z`` (log-odds only, else null), ``count`` (in the identity's texts), ``df`` (how many
identities use it). Equal scores are ranked by the alphabet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.words.chance import by_chance
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.errors import UsageError
from kapwa.metrics.tokens import encode, tokenizer_for
from kapwa.registry import available, load
from kapwa.value_types import Schema

Reals = NDArray[np.float64]
Method = Literal["tfidf", "logodds", "tfidf_reference", "kld_reference"]
ALL = "all"


class WordList(NamedTuple):
    """Words of one corpus and topic ("all" for all): ``words`` has the columns of a table of words."""

    corpus: str
    task: str
    topic: str
    method: Method
    words: pl.DataFrame

    def only(self, identities: Iterable[str]) -> WordList:
        """Return the list with these identities' words only."""
        return self._replace(words=self.words.filter(self.words["identity"].is_in(list(identities))))

    def table(self) -> pl.DataFrame:
        """Return the words with columns that say of what they are."""
        names = {"corpus": self.corpus, "task": self.task, "topic": self.topic}
        front = [pl.lit(value).alias(name) for name, value in names.items()]
        return self.words.select(*front, "identity", pl.lit(self.method).alias("method"), pl.exclude("identity"))


def tfidf_words(
    counts: WordCounts, top: int = 15, *, identities: Sequence[str] | None = None, language: str = "en"
) -> pl.DataFrame:
    """Return each identity's words of the highest TF-IDF: raw count × ln(N / df), all its texts one document (§3.2).

    N: identities with a token; df: those of them that use the word. Numbers, punctuation, single letters and the
    language's stop words are no words; nor are those of every identity, whose score is 0. Unlike as released, the
    words "nan", "inf" and "infinity" are words.
    """
    return _tfidf(counts, _listable(counts, stop_words(language)), top, identities)


def tfidf_reference_words(
    counts: WordCounts, top: int = 15, *, identities: Sequence[str] | None = None, language: str = "en"
) -> pl.DataFrame:
    """Return what :func:`tfidf_words` does as the released code has it, by its rule of what a word is.

    Whatever ``language`` is. Raises UsageError where NLTK's list of stop words is not installed.
    """
    del language
    return _tfidf(counts, _released(counts), top, identities)


def kld_reference_words(
    counts: WordCounts, top: int = 15, *, identities: Sequence[str] | None = None, language: str = "en"
) -> pl.DataFrame:
    """Return each identity's words of the largest p ln(p / q), the other list of the released code (``--type kld``).

    p: the share of the word among the words of the identity's texts, q: among those of all texts, the identity's among
    them; natural logarithms. Summed over words this is the divergence of the identity's texts from all. Words are those
    of the released rule; the released code lists the 25 smallest terms, too. Raises UsageError where NLTK's list
    of stop words is not installed.
    """
    del language
    listable = _released(counts)
    entries = np.flatnonzero(listable[counts.indices])
    rows, words, uses = counts.rows[entries], counts.indices[entries], counts.counts[entries].astype(np.float64)
    pooled = np.bincount(words, uses, len(counts.vocabulary))
    here = uses / np.bincount(rows, uses, counts.n_groups)[rows]
    score = here * np.log(here / (pooled[words] / pooled.sum()))
    return _table(counts, listable, _ScoredEntries(entries, np.asarray(score, np.float64)), top, identities)


def _tfidf(counts: WordCounts, listable: NDArray[np.bool_], top: int, identities: Sequence[str] | None) -> pl.DataFrame:
    entries = np.flatnonzero(listable[counts.indices])
    words = counts.indices[entries]
    with_tokens = np.count_nonzero(np.diff(counts.indptr))
    df = np.bincount(counts.indices, minlength=len(counts.vocabulary))
    score = np.asarray(counts.counts[entries] * np.log(with_tokens / df[words]), np.float64)
    above = score > 0
    return _table(counts, listable, _ScoredEntries(entries[above], score[above]), top, identities)


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
    and no words.
    """
    totals, listable = counts.totals.astype(np.float64), _listable(counts, stop_words(language))
    if np.count_nonzero(totals) < 2:
        nothing = _ScoredEntries(np.empty(0, np.int64), np.empty(0), np.empty(0))
        return _table(counts, listable, nothing, top, identities)
    entries = np.flatnonzero(listable[counts.indices])
    rows, words, here = counts.rows[entries], counts.indices[entries], counts.counts[entries].astype(np.float64)
    pooled = np.bincount(counts.indices, counts.counts, len(counts.vocabulary))
    weight = prior * totals.sum() / np.count_nonzero(totals)
    share = weight * pooled[words] / totals.sum()
    elsewhere = pooled[words] - here
    score = _log_odds(here, totals[rows], share, weight)
    score -= _log_odds(elsewhere, totals.sum() - totals[rows], share, weight)
    z = score / np.sqrt(1 / (here + share) + 1 / (elsewhere + share))
    above = z > 0
    return _table(counts, listable, _ScoredEntries(entries[above], score[above], z[above]), top, identities)


def _log_odds(uses: Reals, tokens: Reals, share: Reals, weight: float) -> Reals:
    """Return ln of the odds of a word with ``uses`` of ``tokens``, and pseudo-counts ``share`` of ``weight``."""
    with_prior = uses + share
    # An identity with this word alone has no odds of another; a language model's texts never come to that.
    return np.log(with_prior) - np.log(np.maximum(tokens + weight - with_prior, np.finfo(float).tiny))


def _listable(counts: WordCounts, left_out: Collection[str]) -> NDArray[np.bool_]:
    """Which tokens of the vocabulary may be listed."""
    return np.array([_is_word(token, left_out) for token in counts.vocabulary], bool)


def _released(counts: WordCounts) -> NDArray[np.bool_]:
    """Which tokens of the vocabulary the released code lists."""
    left_out = released_stop_words()
    return np.array([_is_released_word(token, left_out) for token in counts.vocabulary], bool)


def _is_released_word(token: str, left_out: Collection[str]) -> bool:
    """Whether the released code takes a token for a word: two characters that are no number, quotation or stop word.

    So "..." and "n't" are words, and a Han character alone, "nan" and "inf" are none. ``left_out``: the stop words.
    """
    if len(token) < 2 or token.isnumeric() or token in ("''", "``") or token in left_out:
        return False
    try:
        float(token)
    except ValueError:
        return True
    return False


def _is_word(token: str, left_out: Collection[str]) -> bool:
    """Whether a token means something by itself: letters, not a single one of an alphabet, no number, no stop word."""
    if token in left_out or not any(map(str.isalpha, token)) or token.isnumeric():
        return False
    if len(token) == 1:
        # Letters without case: a Han character is a word, a Latin or Cyrillic letter is what a cut left over.
        return unicodedata.category(token) == "Lo"
    if not any(map(str.isdigit, token)):
        return True
    try:
        float(token)
    except ValueError:
        return True
    return False


class _ScoredEntries(NamedTuple):
    """Entries of the counts (indices) that may be listed, with the score of each and, for log-odds, its ``z``."""

    entries: NDArray[np.int64]
    score: Reals
    z: Reals | None = None


def _table(
    counts: WordCounts,
    listable: NDArray[np.bool_],
    scored: _ScoredEntries,
    top: int,
    identities: Sequence[str] | None,
) -> pl.DataFrame:
    """List the ``top`` entries of each identity by ``z``, or by ``score`` where there is none."""
    entries, score, z = scored
    order, rank = _ranked(counts.rows[entries], score if z is None else z, top)
    chosen = entries[order]
    chance = by_chance(counts, chosen, listable)
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
        "texts": counts.texts[chosen],
        **chance._asdict(),
    }
    kinds: Schema = {"identity": pl.Int64 if identities is None else pl.String, "word": pl.String}
    kinds |= dict.fromkeys(("rank", "count", "df", "texts"), pl.Int64)
    kinds |= dict.fromkeys(("score", "z", *chance._fields), pl.Float64)
    return pl.DataFrame(columns, schema={name: kinds[name] for name in columns})


def _ranked(rows: NDArray[np.int64], values: Reals, top: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of the ``top`` largest values of each row, and their ranks; equals stay in their order.

    ``rows`` rise.
    """
    positions: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
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
        positions.append(best + start)
        ranks.append(np.arange(1, len(best) + 1))
    return np.concatenate(positions), np.concatenate(ranks)


_WORDS = {
    "tfidf": tfidf_words,
    "logodds": log_odds_words,
    "tfidf_reference": tfidf_reference_words,
    "kld_reference": kld_reference_words,
}


# --- whole corpora ------------------------------------------------------------------------------------------


def word_lists(
    corpus: Corpus, *, method: Method = "tfidf", top: int = 15, by_topic: bool = False
) -> Iterator[WordList]:
    """List the ``top`` words of each identity, for the corpus or for each of its topics.

    Memory holds one topic's counts and one concept's texts. Raises DataError from reading.
    """
    topics: dict[str, list[ConceptKey]] = {}
    for key in corpus.concepts:
        topics.setdefault(key.topic if by_topic else ALL, []).append(key)
    places = {identity: place for place, identity in enumerate(corpus.identities)}
    for topic, keys in topics.items():
        sums = WordSums(len(places))
        for key in keys:
            texts = corpus.texts(key)
            encoded = encode(texts.texts, tokenizer_for(corpus.language))
            members = [places[identity] for identity in texts.identities]
            sums.add(count_words(encoded, texts.groups, len(members)).spread_rows(members, len(places)))
        counts = sums.result()
        words = _WORDS[method](counts, top, identities=corpus.identities, language=corpus.language)
        yield WordList(corpus.label, corpus.task, topic, method, words)


# --- words that serve grammar rather than meaning -------------------------------------------------------------

# english.txt was written for this project from the closed classes of English grammar: articles, pronouns, prepositions,
# conjunctions, auxiliaries, and the adverbs that only join, point or grade. The released scripts of EECC use the stop
# words of NLTK's corpus, which is a download and not free to copy; that list is about as long, takes contractions whole
# ("don't"), and leaves out most prepositions and joining adverbs ("among", "however"). Ours has contractions as
# word_tokenize cuts them, with both apostrophes: "n't", "'s", and "don", "t" of "don’t". Words that lower-casing makes
# of something else that tells cultures apart ("us", of the US) or that are nouns as well ("mine") stay in the texts.


@cache
def stop_words(language: str = "en") -> frozenset[str]:
    """Return the stop words of a language (BCP-47; a region is ignored), lower-cased.

    English has a list here; another language has one where its object registered under ``kapwa.languages`` offers
    ``stop_words``; else there are none, and what every identity says alike is left to the measures to weigh.
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    if code == "en":
        return frozenset(resources.files("kapwa.analysis.words").joinpath("english.txt").read_text("utf-8").split())
    if code not in available("languages"):
        return frozenset()
    return frozenset(getattr(load("languages", code), "stop_words", ()))


def released_stop_words() -> frozenset[str]:
    """Return NLTK's English stop words, which the released code uses; raise UsageError where they are not installed."""
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.data import find

    try:
        folder = find("corpora/stopwords")
    except LookupError:
        hint = "Install it once: python -c \"import nltk; nltk.download('stopwords')\". Kapwa holds no copy."
        raise UsageError("NLTK's list of stop words, which the released code uses, is not here.", hint=hint) from None
    return frozenset(WordListCorpusReader(folder, ["english"]).words())
