"""The card of a pack: whose culture it is, who wrote it, under which licence, with whose consent, and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from kapwa.datasets.findings import Finding
from kapwa.datasets.tables import Located, load_yaml
from kapwa.errors import DataError, nearest
from kapwa.languages.codes import code_named

CARD_NAME = "card.yaml"
ModelT = TypeVar("ModelT", bound=BaseModel)

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


@cache
def shipped_card(path: Path) -> Card:
    """Return a card that ships with Kapwa: that of data which others released without one."""
    return Card.model_validate(load_yaml(path).value)


def read_model(
    path: Path, model: type[ModelT], what: str = "card", see: str = "see the form in docs/reference."
) -> tuple[ModelT | None, list[DataError]]:
    """Read a YAML file as ``model``: that and no errors, or None and every error with its row, field and remedy.

    ``what`` names the file in errors, ``see`` says where its form is described.
    """
    try:
        located = load_yaml(path)
        if not isinstance(located.value, dict):
            raise DataError(f"is not a {what}.", path=path, row=1, hint=f"Write 'field: value' lines; {see}")
        return model.model_validate(located.value), []
    except DataError as error:
        return None, [error]
    except ValidationError as error:
        return None, [_field_error(path, located, model, what, see, detail) for detail in error.errors()]


def _field_error(path: Path, located: Located, model: type[BaseModel], what: str, see: str, detail: Any) -> DataError:
    message, kind, place = str(detail["msg"]).removeprefix("Value error, "), detail["type"], tuple(detail["loc"])
    if not place:  # a validator over the whole file names its part of it, and the field in quotes, in the message
        part, _, rest = message.partition(": ")
        if part in model.model_fields:
            message = rest
            place = (part, rest.split("'")[1]) if rest.startswith("'") else (part,)
    column = ".".join(step for step in place if isinstance(step, str)) or None
    row = located.line(place)
    hint = _REMEDIES.get(kind) or see.capitalize()
    if kind == "missing":
        message, row, hint = f"is missing from the {what}.", None, f"Add a line '{column}: …'; {see}"
    elif kind == "extra_forbidden":
        message, hint = f"is not a field of a {what}.", nearest(str(place[-1]), model.model_fields)
    elif kind == "string_pattern_mismatch":
        message, hint = NO_TAG.format(detail["input"]), tag_hint(str(detail["input"])) or hint
    elif kind == "too_short":
        message = "the list is empty; name at least one."
    return DataError(f"{message.rstrip('.')}.", path=path, row=row, column=column, hint=hint)


def card_findings(cards: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield what a card leaves open; ``paths``: the cards' files, or one place that stands for all."""
    places = paths if len(paths) == len(cards) else [paths[0]] * len(cards)
    for card, path in zip(cards, places, strict=True):
        if not card["citation"]:
            yield Finding("note", str(path), f"the card of {card['title']!r} names no citation")
        if not card["reviewed_by_native_speakers"]:
            message = f"{card['title']!r} was not reviewed by native speakers"
            yield Finding("warning", str(path), message)


_REMEDIES = {
    "string_type": "Put the value in quotes: unquoted 1.0 is a number to YAML, and 2024-05-01 a date.",
    "bool_type": "Write true or false, without quotes.",
    "list_type": "Write a list: one '- …' line for each.",
    "string_too_short": "Say it in a few words; write 'none' where there is nothing to say.",
}
