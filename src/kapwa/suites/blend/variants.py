"""The variants of ``blend``: in which language a question is asked, with which prompt, and how choices are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kapwa.errors import UsageError, nearest

AskedIn = Literal["local", "en"]
LANGUAGES: tuple[AskedIn, ...] = ("local", "en")
PROMPTS = ("inst-4", "pers-3")
SAQ_VARIANTS = tuple(f"{language}/{prompt}" for prompt in PROMPTS for language in LANGUAGES)
MCQ_VARIANTS = ("generate", "paper", "likelihood")
VARIANTS = (*SAQ_VARIANTS, *MCQ_VARIANTS)


def saq_variants(languages: Sequence[str] | None = None, prompts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the variants of ``blend/saq`` for languages ("local", "en") and prompt ids; None takes the defaults.

    The defaults are both languages and the direct prompt, ``inst-4``. Raises UsageError for unknown languages; which
    prompts there are only the data knows.
    """
    for language in languages or ():
        if language not in LANGUAGES:
            raise UsageError(f"Questions are not asked in {language!r}.", hint=nearest(language, LANGUAGES))
    return tuple(f"{language}/{prompt}" for prompt in prompts or PROMPTS[:1] for language in languages or LANGUAGES)
