"""When two texts are the same text: the one rule by which questions, options, answers, names and words are compared.

There are two rules of equality, and no third. *The same text* (here) is a matter of writing: differences of case,
width, Unicode form, quotation marks, dashes, digits of other scripts, invisible signs and spaces do not count, nor does
"&" for the language's own word for it. This rule decides what is repeated in data and which word of a list a cell has.
*The same word* is a matter of meaning: :class:`kapwa.languages.base.Language` folds what its language spells in two
ways and adds lemmas and stems. That rule decides whether an answer is right; it is too wide to call two options equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kapwa.languages.folding import Folding

_fold = Folding()


@lru_cache(maxsize=65_536)
def same_text(text: str, language: str = "") -> str:
    """Return a form that is equal for all texts that are the same; ``language`` (BCP-47): whose word "&" replaces."""
    if "&" in text and language:
        from kapwa.languages.codes import canonical  # most texts need no language
        from kapwa.languages.fallback import language_for

        text = language_for(canonical(language)).spelled_out(text)
    if text.isascii() and text.isprintable():  # as folding does, without its tables
        return " ".join(text.replace("`", "'").casefold().split())
    return _fold(text)


def equal_texts(texts: Sequence[str], language: str = "") -> str | None:
    """Return the first of ``texts`` that occurs twice, by :func:`same_text`; None where all differ."""
    folded = [same_text(text, language) for text in texts]
    if len(set(folded)) == len(folded):
        return None
    return next(texts[folded.index(text)] for number, text in enumerate(folded) if text in folded[:number])
