"""How much of one text another shares: BLEU, chrF, chrF++, ROUGE and METEOR, from the field's libraries.

All are sentence-level, against one reference at a time, in [0, 1]. Where a library knows only Latin
script, it gets words cut by :mod:`kapwa.languages.words`; each signature says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache, partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from kapwa.languages.words import VERSION as WORDS_VERSION
from kapwa.languages.words import spaced, words
from kapwa.metrics.base import Vector, is_blank
from kapwa.metrics.tokens import tokenizer_for
from kapwa.value_types import Untyped

_WORDS = f"kapwa-words-{WORDS_VERSION}"


class _Overlap(ABC):
    """A similarity computed pair by pair; libraries load at the first pair."""

    name: str
    title: str
    source: ClassVar[str]
    low: float | None = 0.0
    high: float | None = 1.0

    @abstractmethod
    def _similarity(self, hypothesis: str, reference: str) -> float:
        """Return the similarity of two texts that are not blank."""

    def score_pairs(self, hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
        """Return the similarity of each pair, in [0, 1]; 0 where either text is blank."""
        pairs = zip(hypotheses, references, strict=True)
        scores = (0.0 if is_blank(h) or is_blank(r) else self._similarity(h, r) for h, r in pairs)
        # Libraries overshoot 1 by rounding; a perfect match is 1.
        return np.clip(np.fromiter(scores, dtype=np.float64), 0.0, 1.0)


class _Sacre(_Overlap):
    """A metric of sacreBLEU, whose own signature is kept."""

    _scorer: Untyped

    @property
    def signature(self) -> str:
        """Return sacreBLEU's signature after the metric's name."""
        # sacreBLEU knows its signature only after it has seen the number of references.
        self._scorer.sentence_score("a", ["a"])
        return f"{self.name}|{self._scorer.get_signature()}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        return float(self._scorer.sentence_score(hypothesis, [reference]).score) / 100


class Bleu(_Sacre):
    """Sentence BLEU: 13a tokens, orders up to 4 that exist (effective order), exponential smoothing.

    In scripts written without spaces, each letter with its marks is a token of its own, as sacreBLEU
    does for Chinese; other text reaches sacreBLEU unchanged. Source: Papineni et al. 2002; Post 2018;
    smoothing method 3 of Chen and Cherry 2014.
    """

    name, title = "bleu", "BLEU"
    source = "Papineni et al. 2002, sentence level (Chen and Cherry 2014)"

    @cached_property
    def _scorer(self) -> Untyped:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(effective_order=True, smooth_method="exp", tokenize="13a")

    @property
    def signature(self) -> str:
        """Return sacreBLEU's signature, and which graphemes were spaced."""
        return f"{super().signature}|unspaced:graphemes-{WORDS_VERSION}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        return super()._similarity(spaced(hypothesis), spaced(reference))


class BleuReference(_Sacre):
    """BLEU as the released Kalahi code computes it: Hugging Face's ``evaluate``, on one pair, without smoothing.

    13a tokens, orders 1 to 4; a pair that shares no 4-gram scores 0, however near it is. Nothing is done for scripts
    without spaces. Source: Papineni et al. 2002.
    """

    name, title = "bleu_reference", "BLEU as released (unsmoothed)"
    source = "Papineni et al. 2002"

    @cached_property
    def _scorer(self) -> Untyped:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(effective_order=False, smooth_method="none", tokenize="13a")

    @property
    def signature(self) -> str:
        """Return sacreBLEU's signature after the metric's name."""
        self._similarity("a", "a")
        return f"{self.name}|{self._scorer.get_signature()}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        # sacreBLEU warns of sentences without effective order at every call of its method for one sentence.
        return float(self._scorer.corpus_score([hypothesis], [[reference]]).score) / 100


class Chrf(_Sacre):
    """chrF: F2 over character n-grams up to 6; with ``word_order=2`` chrF++. Source: Popović 2015, 2017."""

    source = "Popović 2015 and 2017"

    def __init__(self, word_order: int = 0) -> None:
        self.word_order = word_order
        self.name = "chrf" + "p" * word_order
        self.title = "chrF" + "+" * word_order

    @cached_property
    def _scorer(self) -> Untyped:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=self.word_order)


chrfpp = partial(Chrf, word_order=2)
"""chrF++: chrF with word unigrams and bigrams."""


class Rouge(_Overlap):
    """ROUGE F1 without stemming. Source: Lin 2004.

    ``kind`` is ``rouge1``, ``rouge2``, ``rougeL`` (longest common subsequence of the whole texts) or
    ``rougeLsum`` (union over lines). With ``ascii_words`` the words are the library's own, runs of a-z
    and 0-9: in Filipino it breaks at ñ and accents, of Amharic or Thai nothing is left.
    """

    source = "Lin 2004"

    def __init__(self, kind: str, title: str, *, name: str | None = None, ascii_words: bool = False) -> None:
        self.kind, self.title, self.name = kind, title, name or kind
        self.ascii_words = ascii_words

    @cached_property
    def _scorer(self) -> Untyped:
        from rouge_score.rouge_scorer import RougeScorer

        tokenize = _ascii_words() if self.ascii_words else words
        return RougeScorer([self.kind], use_stemmer=False, tokenizer=SimpleNamespace(tokenize=tokenize))

    @property
    def signature(self) -> str:
        """Return variant, measure, tokenizer and library version."""
        tokens = "rouge-score" if self.ascii_words else _WORDS
        return f"{self.name}|kind:{self.kind}|f:1|stem:no|tok:{tokens}|version:{version('rouge-score')}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        return float(self._scorer.score(reference, hypothesis)[self.kind].fmeasure)


@cache
def _ascii_words() -> Callable[[str], list[str]]:
    """Return the library's own tokenizer; every reference meets many answers, so it remembers texts."""
    from rouge_score.tokenizers import DefaultTokenizer

    return lru_cache(maxsize=4096)(DefaultTokenizer(use_stemmer=False).tokenize)


rouge1 = partial(Rouge, "rouge1", "ROUGE-1")
rouge2 = partial(Rouge, "rouge2", "ROUGE-2")
rouge_l = partial(Rouge, "rougeL", "ROUGE-L")
rouge_lsum = partial(Rouge, "rougeLsum", "ROUGE-Lsum")
rouge_l_reference = partial(
    Rouge, "rougeLsum", "ROUGE-L as released (Lsum, ASCII words)", name="rougeL_reference", ascii_words=True
)
"""What the released Kalahi code calls ROUGE-L: rougeLsum, on ASCII words only."""
rouge1_reference = partial(
    Rouge, "rouge1", "ROUGE-1 as released (ASCII words)", name="rouge1_reference", ascii_words=True
)
rouge2_reference = partial(
    Rouge, "rouge2", "ROUGE-2 as released (ASCII words)", name="rouge2_reference", ascii_words=True
)


class Meteor(_Overlap):
    """METEOR by exact and (English, Porter) stem matches; no synonyms, which exist for few languages.

    Words are Kapwa's, punctuation dropped; alpha 0.9, beta 3, gamma 0.5 as in NLTK. A perfect match of
    n words scores 1 - 0.5 / n³. Source: Lavie and Agarwal 2007; Banerjee and Lavie 2005.
    """

    name, title = "meteor", "METEOR (exact+stem)"
    source = "Banerjee and Lavie 2005; Lavie and Agarwal 2007"

    @cached_property
    def _score(self) -> Untyped:
        from nltk.stem.porter import PorterStemmer
        from nltk.translate.meteor_score import single_meteor_score

        stemmer = PorterStemmer()
        # METEOR stems every word again for every reference.
        stemmer.stem = lru_cache(maxsize=65536)(stemmer.stem)
        return partial(single_meteor_score, stemmer=stemmer, wordnet=_no_wordnet())

    @property
    def signature(self) -> str:
        """Return matchers, parameters, tokenizer and library version."""
        return f"meteor|match:exact+porter|alpha:0.9|beta:3|gamma:0.5|tok:{_WORDS}|version:nltk-{version('nltk')}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        answer_words, reference_words = words(hypothesis), words(reference)
        return float(self._score(reference_words, answer_words)) if answer_words and reference_words else 0.0


class MeteorReference(_Overlap):
    """METEOR as the released Kalahi code computes it: NLTK's words, punctuation among them, and WordNet's synonyms.

    Where NLTK's WordNet is not installed (``nltk.download("wordnet")``) there are no synonyms, and the signature says
    so. Source: Banerjee and Lavie 2005, as NLTK has it.
    """

    name, title = "meteor_reference", "METEOR as released (NLTK's tokens)"
    source = "Banerjee and Lavie 2005; NLTK"

    @cached_property
    def _wordnet(self) -> Untyped:
        """NLTK's WordNet, or None where it is not installed."""
        from nltk.corpus import wordnet

        try:
            wordnet.ensure_loaded()
        except LookupError:
            return None
        return wordnet

    @cached_property
    def _score(self) -> Untyped:
        from nltk.stem.porter import PorterStemmer
        from nltk.translate.meteor_score import single_meteor_score

        stemmer = PorterStemmer()
        stemmer.stem = lru_cache(maxsize=65536)(stemmer.stem)
        return partial(single_meteor_score, stemmer=stemmer, wordnet=self._wordnet or _no_wordnet())

    @cached_property
    def _tokens(self) -> Untyped:
        return lru_cache(maxsize=4096)(tokenizer_for("en"))

    @property
    def signature(self) -> str:
        """Return matchers, parameters, tokenizer and library version."""
        synonyms = "+wordnet" if self._wordnet is not None else ""
        tokens = f"tok:nltk-word_tokenize|version:nltk-{version('nltk')}"
        return f"{self.name}|match:exact+porter{synonyms}|alpha:0.9|beta:3|gamma:0.5|{tokens}"

    def _similarity(self, hypothesis: str, reference: str) -> float:
        return float(self._score(self._tokens(reference), self._tokens(hypothesis)))


def _no_wordnet() -> Untyped:
    """Return a WordNet that knows no word: no synonyms, and no data to download."""
    return SimpleNamespace(synsets=lambda _word: [])
