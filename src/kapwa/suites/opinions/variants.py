"""The variants of ``opinions``: the prompts that ask its questions."""

from __future__ import annotations

from collections.abc import Sequence

from kapwa.errors import UsageError

# Ids of the prompts in ``prompts.csv``; data may bring others.
VARIANTS = ("person", "person-2", "plain")


def prompt_variants(languages: Sequence[str] | None = None, prompts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the variants of the prompts named; raise UsageError for languages, for a question has one."""
    if languages:
        raise UsageError("Survey questions are asked in their own language.", hint="Choose with --where language=…")
    return tuple(dict.fromkeys(prompts or ()))
