"""Which words mark each identity's texts: TF-IDF, as published, and log-odds with a Dirichlet prior.

A table has one row an identity and rank: ``identity`` (its name, or its row where no names are given), ``rank`` (from
1), ``word``, ``score``, ``z`` (log-odds only, else null), ``count`` (in the identity's texts), ``df`` (how many
identities use it). Equal scores are ranked by the alphabet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.errors import UsageError
from kapwa.metrics.tokens import encode, tokenizer_for
from kapwa.registry import available, load

__all__ = [
    "Method",
    "WordCounts",
    "WordList",
    "count_words",
    "log_odds_words",
    "stop_words",
    "tfidf_words",
    "word_lists",
    "z_needed",
]

Reals = NDArray[np.float64]
Method = Literal["tfidf", "logodds"]
ALL = "all"


class WordList(NamedTuple):
    """Words of one corpus and topic ("all" for all): ``words`` has the columns of a table of words.

    ``z_needed``: the z-score that survives correction for all words of all identities; None without z-scores.
    """

    corpus: str
    task: str
    topic: str
    method: Method
    words: pl.DataFrame
    z_needed: float | None

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
    entries = np.flatnonzero(_kept(counts, language)[counts.indices])
    words = counts.indices[entries]
    with_tokens = np.count_nonzero(np.diff(counts.indptr))
    df = np.bincount(counts.indices, minlength=len(counts.vocabulary))
    score = np.asarray(counts.counts[entries] * np.log(with_tokens / df[words]), np.float64)
    above = score > 0
    return _table(counts, entries[above], score[above], None, top, identities)


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
    entries = np.flatnonzero(_kept(counts, language)[counts.indices])
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


def _kept(counts: WordCounts, language: str) -> NDArray[np.bool_]:
    """Which tokens of the vocabulary may be listed."""
    left_out = stop_words(language)
    return np.array([_is_word(token, left_out) for token in counts.vocabulary], bool)


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


# --- whole corpora ------------------------------------------------------------------------------------------


def word_lists(
    corpus: Corpus, *, method: Method = "tfidf", top: int = 15, by_topic: bool = False
) -> Iterator[WordList]:
    """List the ``top`` words of each identity, for the corpus or for each of its topics.

    Memory holds one topic's counts and one concept's texts. Raises DataError from reading.
    """
    for topic, keys in _topics(corpus, by_topic).items():
        sums = WordSums(len(corpus.identities))
        for key in keys:
            sums.add(_concept_counts(corpus, key))
        counts = sums.result()
        chosen = tfidf_words if method == "tfidf" else log_odds_words
        words = chosen(counts, top, identities=corpus.identities, language=corpus.language)
        yield WordList(
            corpus.label, corpus.task, topic, method, words, z_needed(counts) if method == "logodds" else None
        )


def _topics(corpus: Corpus, by_topic: bool) -> dict[str, list[ConceptKey]]:
    if not by_topic:
        return {ALL: list(corpus.concepts)}
    found: dict[str, list[ConceptKey]] = {}
    for key in corpus.concepts:
        found.setdefault(key.topic, []).append(key)
    return found


def _concept_counts(corpus: Corpus, key: ConceptKey) -> WordCounts:
    texts = corpus.texts(key)
    encoded = encode(texts.texts, tokenizer_for(corpus.language))
    places = {identity: place for place, identity in enumerate(corpus.identities)}
    members = np.array([places[identity] for identity in texts.identities], np.int64)
    return count_words(encoded, texts.groups, len(texts.identities)).spread(members, len(corpus.identities))


# --- words that serve grammar rather than meaning -------------------------------------------------------------

# Written for this project from the closed classes of English grammar: articles, pronouns, prepositions, conjunctions,
# auxiliaries, and the adverbs that only join, point or grade. The released scripts of EECC use the stop words of
# NLTK's corpus, which is a download and not free to copy; that list is about as long, takes contractions whole
# ("don't"), and leaves out most prepositions and joining adverbs ("among", "however"). Contractions stand here as
# word_tokenize cuts them, with both apostrophes: "n't", "'s", and "don", "t" of "don’t". Words that lower-casing makes
# of something else that tells cultures apart ("us", of the US) or that are nouns as well ("mine") stay in.
_ENGLISH = """
a about above across after again against albeit all almost along already also although always am amid among amongst an
and another any anybody anyone anything anyway anywhere are aren around as aside at away
back be became because become becomes becoming been before beforehand behind being below beneath beside besides between
beyond both but by
ca can cannot could couldn
'd d did didn do does doesn doing don done down due during
each either else elsewhere enough etc even ever every everybody everyone everything everywhere except
few for former from further furthermore
get gets getting got
had hadn has hasn have haven having he hence her here hereby herein hers herself him himself his how however
i if in indeed inside instead into is isn it its itself
just
least less lest let like likewise 'll ll
'm m many may me meanwhile might mightn more moreover most mostly much must mustn my myself
namely near needn neither never nevertheless next nobody none nonetheless nor not nothing notwithstanding now nowhere
n't
o of off often on once one ones only onto or other others otherwise ought our ours ourselves out outside over own
per perhaps please plus
quite
rather re 're really regarding
's s same several sha shall shan she should shouldn since so some somebody somehow someone something sometime sometimes
somewhere still such
t than that the their theirs them themselves then thence there thereafter thereby therefore therein these they this
those though through throughout thus till to together too toward towards
under underneath unless unlike until unto up upon
've ve very via
was wasn we were weren what whatever when whence whenever where whereas whereby wherein whereupon wherever whether which
whichever while whilst whither who whoever whole whom whose why will with within without wo won would wouldn
y yet you your yours yourself yourselves
"""


@cache
def stop_words(language: str = "en") -> frozenset[str]:
    """Return the stop words of a language (BCP-47; a region is ignored), lower-cased.

    English has a list here; another language has one where its object registered under ``kapwa.languages`` offers
    ``stop_words``; else there are none, and what every identity says alike is left to the measures to weigh.
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    if code == "en":
        return frozenset(_ENGLISH.split())
    if code not in available("languages"):
        return frozenset()
    return frozenset(getattr(load("languages", code), "stop_words", ()))
