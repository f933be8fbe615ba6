"""The tasks of ``eecc``, and the variants of its prompts: the templates."""

from __future__ import annotations

from collections.abc import Sequence

from kapwa.errors import UsageError

VARIANTS = ("direct", "direct_reference")
TASKS = {
    "eecc/qa": "explanations: one concept explained to people of every identity, several samples each",
    "eecc/stories": "stories: one children's story for every identity, several samples each",
}


def template_variants(languages: Sequence[str] | None = None, prompts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the variants of the templates named ``prompts``; which there are only the data knows.

    Raises UsageError for languages: a template has one, so naming it says both.
    """
    if languages:
        raise UsageError(
            "Texts are asked for in the language of a template.",
            hint="Name templates with --prompt, or choose by language with --where language=…",
        )
    return tuple(dict.fromkeys(prompts or ()))
