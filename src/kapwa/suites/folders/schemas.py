"""JSON Schemas of the three forms, made from the columns that the readers know, so that they cannot drift apart.

One schema describes one row of one table as a JSON object (as in JSON lines), a card, or a mapping. They ship as files
in ``schemas/``, written by ``tools/make_form_schemas.py``; a test holds them against the readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.suites.blend import form as blend
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS
from kapwa.suites.blend.prompts import COLUMNS as PROMPT_COLUMNS
from kapwa.suites.blend.questions import IDK_KEYS, KINDS
from kapwa.suites.eecc.reading import ATTRIBUTE, CONCEPT_COLUMNS, IDENTITY_COLUMNS, TEMPLATE_COLUMNS
from kapwa.suites.folders.mapping import ColumnMapping
from kapwa.suites.kalahi import form as kalahi
from kapwa.suites.reading.card import Card

FORMS_VERSION = "1.0"
FOLDER = Path(__file__).parent / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Mapping[str, Any] = {"type": ["string", "null"]}
_FILLED: Mapping[str, Any] = {"type": "string", "pattern": r"\S"}
_FILLED_LIST = {"type": "array", "items": _FILLED, "minItems": 1}
_LIST = {"anyOf": [_TEXT, {"type": "array", "items": {"type": "string"}}]}
_NEEDED_LIST = {"anyOf": [_FILLED, _FILLED_LIST]}
_COUNT: Mapping[str, Any] = {
    "anyOf": [{"type": "string", "pattern": r"^\s*[0-9]*\s*$"}, {"type": "integer", "minimum": 0}, {"type": "null"}]
}
_VOTES = {"anyOf": [{"type": "string", "pattern": r"^\s*0*[1-9][0-9]*\s*$"}, {"type": "integer", "minimum": 1}]}


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by the name of its file, without the suffix."""
    return {
        "card": _model(Card, "card", "What card.yaml says of a folder of data."),
        "mapping": _model(ColumnMapping, "mapping", "Which columns of somebody else's table are which fields."),
        "kalahi.situation": _situation(),
        "blend.question": _question(),
        "blend.answer": _answer(),
        "blend.prompt": _prompt(),
        "blend.mcq": _choice(),
        "eecc.template": _row("eecc.template", "A prompt with its places.", TEMPLATE_COLUMNS, ("template",)),
        "eecc.concept": _row("eecc.concept", "What texts are about.", CONCEPT_COLUMNS, ("topic", "concept"), _texts()),
        "eecc.identity": _identity(),
    }


def _header(name: str, what: str) -> dict[str, Any]:
    identity = f"urn:kapwa:forms:{FORMS_VERSION}:{name}"
    return {"$schema": _DIALECT, "$id": identity, "title": name, "description": what, "version": FORMS_VERSION}


def _model(model: type[Card] | type[ColumnMapping], name: str, what: str) -> dict[str, Any]:
    return {**model.model_json_schema(), **_header(name, what)}


def _row(
    name: str,
    what: str,
    columns: Sequence[str],
    required: Sequence[str],
    patterns: Mapping[str, Any] | None = None,
    **special: Any,
) -> dict[str, Any]:
    cells = {column: _FILLED if column in required else _TEXT for column in columns} | special
    more = {"patternProperties": dict(patterns)} if patterns else {}
    return {
        **_header(name, what),
        "type": "object",
        "properties": cells,
        "required": list(required),
        **more,
        "additionalProperties": False,
    }


def _texts() -> dict[str, Any]:
    return {"^text_[A-Za-z0-9-]+$": _TEXT}


def _situation() -> dict[str, Any]:
    lists = dict.fromkeys(kalahi.RESPONSES, _NEEDED_LIST) | {f"{name}_en": _LIST for name in kalahi.RESPONSES}
    words = {"base": {"type": ["string", "boolean", "null"]}}
    what = "One variation of a situation; lists may be texts parted by ';'."
    return _row("kalahi.situation", what, kalahi.KNOWN, kalahi.REQUIRED, **lists, **words)


def _question() -> dict[str, Any]:
    counts: dict[str, Any] = dict.fromkeys((*IDK_KEYS, "annotators"), _COUNT)
    kind: dict[str, Any] = {"kind": {"enum": [*KINDS, "", None]}}
    what = "One question as a community was asked it, and in English; or, in every row, in its own language alone."
    row = _row("blend.question", what, blend.QUESTION_COLUMNS, ("id", "topic"), english=_FILLED, **counts, **kind)
    either = [{"properties": {name: _FILLED}, "required": [name]} for name in ("english", "local")]
    return {**row, "anyOf": either}


def _answer() -> dict[str, Any]:
    what = "A group of answers that mean the same, and how many people gave one of them (or without votes: right ones)."
    lists: dict[str, Any] = {"local": _NEEDED_LIST, "english": _LIST, "votes": _VOTES}
    return _row("blend.answer", what, blend.ANSWER_COLUMNS, blend.UNCOUNTED_REQUIRED, **lists)


def _prompt() -> dict[str, Any]:
    row = _row("blend.prompt", "How questions are put; {q} is the question.", (*PROMPT_COLUMNS, "culture"), ("id",))
    place = {"type": "string", "pattern": r"\{q\}"}
    either = [{"properties": {name: place}, "required": [name]} for name in ("english", "local")]
    return {**row, "anyOf": either}


def _choice() -> dict[str, Any]:
    needed = ("id", "country", "question_id", "question", *(f"option_{letter}" for letter in "ABCD"))
    row = _row("blend.mcq", "A question with four options.", MCQ_COLUMNS, needed, answer={"enum": list("ABCD")})
    # The columns must be there, though some of their cells may be empty; other columns are left alone.
    return {**row, "required": list(MCQ_COLUMNS), "additionalProperties": True}


def _identity() -> dict[str, Any]:
    what = "For whom: one column beside these, named after what changes (nationality, religion, city, …)."
    special = {"article": {"enum": ["a", "an", "", None]}}
    row = _row("eecc.identity", what, IDENTITY_COLUMNS, (), _texts(), **special)
    own = {f"^(?!text_)(?!(?:{'|'.join(IDENTITY_COLUMNS)})$){ATTRIBUTE.pattern}$": _FILLED}
    no_identity = {"propertyNames": {"anyOf": [{"enum": list(IDENTITY_COLUMNS)}, {"pattern": "^text_"}]}}
    return {**row, "patternProperties": {**_texts(), **own}, "not": no_identity}
