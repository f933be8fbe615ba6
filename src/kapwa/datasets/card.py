"""The card of a pack: whose culture it is, who wrote it, under which licence, with whose consent, and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kapwa.datasets.findings import Finding
from kapwa.languages.codes import code_named

CARD_NAME = "card.yaml"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]

# The shape of a BCP-47 tag (RFC 5646 without grandfathered tags): language, script, region, variants, extensions.
LANGUAGE_TAG = (
    r"[A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}"
    r"(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?(-([A-Za-z\d]{5,8}|\d[A-Za-z\d]{3}))*"
    r"(-[A-WY-Za-wy-z\d](-[A-Za-z\d]{2,8})+)*(-x(-[A-Za-z\d]{1,8})+)?"
)
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=f"^{LANGUAGE_TAG}$")]
NO_TAG = "{!r} is not a BCP-47 language tag such as 'fil', 'ar' or 'zh-Hant'."


def is_language_tag(tag: str) -> bool:
    """Whether ``tag`` has the shape of a BCP-47 language tag, such as "fil", "ar" or "zh-Hant-TW"."""
    return re.fullmatch(LANGUAGE_TAG, tag) is not None


def tag_hint(tag: str) -> str | None:
    """Suggest the tag of a language that was given by its English name; None where no such name is known."""
    code = code_named(tag)
    return f"Did you mean {code!r}?" if code else None


class Card(BaseModel):
    """What ``card.yaml`` holds. ``illustrative`` marks a sample that shows the form and measures nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    culture: Text
    language: Tag
    title: Text
    version: Text
    licence: Text
    authors: Annotated[list[Text], Field(min_length=1)]
    collected: Text
    consent: Text
    reviewed_by_native_speakers: bool
    limits: Annotated[list[Text], Field(min_length=1)]
    illustrative: bool = False
    citation: str = ""


def card_findings(cards: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield what a card leaves open; ``paths``: the cards' files, or one place that stands for all."""
    places = paths if len(paths) == len(cards) else [paths[0]] * len(cards)
    for card, path in zip(cards, places, strict=True):
        if not card["citation"]:
            yield Finding("note", str(path), f"the card of {card['title']!r} names no citation")
        if not card["reviewed_by_native_speakers"]:
            message = f"{card['title']!r} was not reviewed by native speakers"
            yield Finding("warning", str(path), message)
