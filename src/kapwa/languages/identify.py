"""Identify the language of a text, offline; this is only reported, and never decides a score.

py3langid (a naive Bayes model over byte n-grams, 140 languages) gives probabilities. Kapwa adds them up
within ISO 639-3 macrolanguages, because the model cannot distinguish Indonesian from Malay, or written Arabic
from Egyptian, and a verdict that changes at random would help nobody.

Measured with the limits below: of the 948 Kalahi responses (short Filipino sentences) 99.7 % are identified as
Filipino, 0.3 % are undecided, none is identified as another language; of 7,000 BLEnD questions in 12 languages
99.7 % are right, none wrong. Of fragments of eight letters 62 % are right, 0.3 % wrong. Known errors: Cebuano
is identified as Filipino, Sundanese as Javanese or Indonesian (the model knows neither language).
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

from kapwa.languages.codes import canonical, family, same_language
from kapwa.value_types import Untyped

MIN_LETTERS = 8
MIN_CONFIDENCE = 0.7

# Languages that the identifier does not know, and those that it mistakes them for: such a result proves nothing.
_MISTAKEN_FOR = {
    "su": frozenset({"jv", "id", "ms", "ace", "bcl"}),
    "ceb": frozenset({"fil", "bcl"}),
}
_NO_LANGUAGE = "zxx"


class Identification(NamedTuple):
    """The language of a text (ISO 639-1 or 639-3 code; Filipino is ``fil``), or None if undecidable.

    ``confidence`` is the probability of the language's whole macrolanguage, in [0, 1].
    """

    language: str | None
    confidence: float


@cache
def _identifier() -> Untyped:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # 0.7 s: only when a text is to be identified

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def identify(text: str) -> Identification:
    """Return the language of ``text``; None for fewer than 8 letters, confidence below 0.7, or no language at all."""
    if sum(map(str.isalpha, text)) < MIN_LETTERS:
        return Identification(None, 0.0)
    ranked: list[tuple[str, float]] = _identifier().rank(text)
    totals: dict[str, float] = defaultdict(float)
    likeliest: dict[str, str] = {}
    for code, probability in ranked:
        totals[family(code)] += probability
        likeliest.setdefault(family(code), canonical(code))
    likely = max(totals, key=totals.__getitem__)
    confidence = min(float(totals[likely]), 1.0)
    if confidence < MIN_CONFIDENCE or likely == _NO_LANGUAGE:
        return Identification(None, confidence)
    return Identification(likeliest[likely], confidence)


@cache
def identifiable(code: str) -> bool:
    """Whether :func:`identify` can ever return this language or its macrolanguage."""
    return family(code) in set(map(family, _identifier().labels)) - {_NO_LANGUAGE}


def differs(expected: str, identified: Identification) -> bool | None:
    """Whether a text that was ``identified`` is in another language than ``expected``; None if undecidable.

    It is undecidable where the text has no verdict, or a verdict that the identifier would also give to texts in
    ``expected``, because it does not know that language.
    """
    if identified.language is None or not expected.strip():
        return None
    if same_language(expected, identified.language):
        return False
    if identifiable(expected):
        return True
    mistaken = _MISTAKEN_FOR.get(canonical(expected))
    return None if mistaken is None or identified.language in mistaken else True
