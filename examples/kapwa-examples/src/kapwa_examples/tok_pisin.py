"""A language in one module: Tok Pisin, by folding and one rule (the ending -im of verbs is taken off)."""

from __future__ import annotations

from kapwa.languages.base import Language, Words, counted


def _variants(token: str) -> set[str]:
    return {token, token.removesuffix("im")} if len(token) > 4 else {token}


language = Language(
    code="tpi",
    name="Tok Pisin (example)",
    resource="low",
    rules="1",
    variants=_variants,
    words=Words(numbers=counted("wan tu tri foa faiv sikis seven et nain ten", 1)),
)
