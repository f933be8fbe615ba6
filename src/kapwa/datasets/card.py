"""The card of a pack: whose culture it is, who wrote it, under which licence, with whose consent, and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kapwa.datasets.findings import Finding
from kapwa.languages.codes import LANGUAGE_TAG
from kapwa.value_types import JsonObject

CARD_NAME = "card.yaml"
# The table beside the card with the labels of cultures (:mod:`kapwa.datasets.labels`).
LABELS_NAME = "cultures.csv"

_NO_LICENCE = frozenset(("", "none", "unknown", "unlicensed", "proprietary", "all rights reserved", "todo", "tbd"))

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=f"^{LANGUAGE_TAG}$")]


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


def version_of(card: Mapping[str, object]) -> str:
    """Return the version in a card, as a run stores the card; for several packs all versions, "" if there is none."""
    packs = card.get("packs")
    cards = packs if isinstance(packs, list) else [card]
    return ", ".join(dict.fromkeys(str(each["version"]) for each in cards if each.get("version")))


def joined_card(card: Mapping[str, object], **changes: object) -> JsonObject:
    """Return the card of data that were made of others': what theirs says, and ``changes``; {} where they have none.

    ``card``: as a data source has it: one card, or those of several packs. What a card lacks, or a pack has no licence
    for, is not made up: the field is missing then.
    """
    packs = card.get("packs")
    cards: list[Mapping[str, Any]] = packs if isinstance(packs, list) else [card] if card else []
    joined: JsonObject = {}
    for name in Card.model_fields if cards else ():
        values = [each[name] for each in cards if each.get(name) not in (None, "")]
        complete = len(values) == len(cards)
        if name == "illustrative":
            joined[name] = any(values)
        elif name == "reviewed_by_native_speakers" and complete:
            joined[name] = all(values)
        elif name in ("authors", "limits") and values:
            joined[name] = list(dict.fromkeys(text for texts in values for text in texts))
        elif values and (complete or name == "citation") and not (name == "licence" and any(map(no_licence, values))):
            between = ", " if name in ("culture", "licence", "version") else "; "
            joined[name] = between.join(dict.fromkeys(map(str, values)))
    return {**joined, **changes} if joined else {}


def no_licence(text: str) -> bool:
    """Whether what a card says of the licence is none."""
    return text.strip().lower() in _NO_LICENCE


def card_findings(cards: Sequence[Mapping[str, object]], paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield what is missing in cards; ``paths``: the cards' files, or one path to report for all."""
    card_paths = paths if len(paths) == len(cards) else [paths[0]] * len(cards)
    for card, path in zip(cards, card_paths, strict=True):
        if not card["citation"]:
            yield Finding("note", str(path), f"the card of {card['title']!r} names no citation")
        if not card["reviewed_by_native_speakers"]:
            yield Finding("warning", str(path), f"{card['title']!r} was not reviewed by native speakers")
