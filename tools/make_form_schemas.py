"""Write the JSON Schemas of the forms from the readers' own columns, so that they cannot go stale.

python tools/make_form_schemas.py           # write the files
python tools/make_form_schemas.py --check   # exit 1 when a file is not what it would write
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kapwa.datasets.card import Card
from kapwa.datasets.labels import LabelRow
from kapwa.datasets.rows import TEXT, RowModel
from kapwa.suites.blend.form import AnswerRow, QuestionRow
from kapwa.suites.blend.mcq_data import ORDERED, ChoiceRow
from kapwa.suites.blend.prompts import PromptRow
from kapwa.suites.blend.questions import KINDS
from kapwa.suites.eecc import form as eecc
from kapwa.suites.folders import adding
from kapwa.suites.folders.forms import form_names
from kapwa.suites.folders.mapping import ColumnMapping
from kapwa.suites.items import ALL_LETTERS
from kapwa.suites.kalahi.form import SituationRow
from kapwa.suites.longform.form import LongQuestion
from kapwa.suites.opinions.form import Opinion, OpinionPrompt

FORMS_VERSION = "1.0"
FOLDER = Path(adding.__file__).parent / "schemas"
_FILLED = {"type": "string", "pattern": r"\S"}
# Forms that a mapping may name, in the order in which they came.
_MAPPED = ("kalahi", "blend/saq", "blend/mcq", "opinions/survey", "longform/criteria")
_ASKS = {"type": "string", "pattern": r"\{q\}"}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of the forms by the names of their files: of a row as a JSON object, a card, a mapping.

    They follow from the models that read, with what these check by code said beside. A test holds them
    against the readers.
    """
    mapped = sorted(form_names(), key=_MAPPED.index)
    choice = _schema("blend.mcq", ChoiceRow, answer=_RIGHT, options_are={"enum": [ORDERED, "", None]})
    return {
        "card": _schema("card", Card),
        "cultures": _schema("cultures", LabelRow),
        "mapping": _schema("mapping", ColumnMapping, form={"enum": mapped, "type": "string"}),
        "kalahi.situation": _schema("kalahi.situation", SituationRow),
        "longform.question": _schema("longform.question", LongQuestion),
        "blend.question": {
            **_schema("blend.question", QuestionRow, english=_FILLED, kind={"enum": [*KINDS, "", None]}),
            "anyOf": [{"properties": {name: _FILLED}, "required": [name]} for name in ("english", "local")],
        },
        "blend.answer": _schema("blend.answer", AnswerRow, votes=_VOTES),
        "blend.prompt": {
            **_schema("blend.prompt", PromptRow),
            "required": ["id"],
            "anyOf": [{"properties": {name: _ASKS}, "required": [name]} for name in ("english", "local")],
        },
        # The columns must be there, though some of their cells may be empty; other columns are left alone.
        "blend.mcq": {**choice, "additionalProperties": True},
        "eecc.template": _schema("eecc.template", eecc.Template),
        "eecc.concept": _schema("eecc.concept", eecc.Concept),
        "eecc.identity": _identity(),
        "opinions.opinion": {
            **_schema("opinions.opinion", Opinion),
            "oneOf": [{"properties": {name: _FILLED}, "required": [name]} for name in ("counts", "shares")],
        },
        "opinions.prompt": _schema("opinions.prompt", OpinionPrompt),
    }


_RIGHT = {
    "anyOf": [
        {"type": "string", "pattern": rf"^\s*[{ALL_LETTERS}](?:\s*[,;]\s*[{ALL_LETTERS}])*\s*$"},
        {"type": "array", "items": {"enum": list(ALL_LETTERS)}, "minItems": 1, "uniqueItems": True},
    ]
}
_VOTES = {"anyOf": [{"type": "string", "pattern": r"^\s*0*[1-9][0-9]*\s*$"}, {"type": "integer", "minimum": 1}]}


def schema_of(model: type[BaseModel], name: str, version: str) -> dict[str, Any]:
    """Return the JSON Schema of a row (or card, or mapping) as a JSON object, under a name of the forms."""
    schema = model.model_json_schema(mode="validation")
    # A count may be written as a text, as in every CSV.
    counted = [{"type": "string", "pattern": r"^\s*[0-9]*\s*$"}, {"type": "integer", "minimum": 0}, {"type": "null"}]
    for cell in schema["properties"].values():
        if cell.get("anyOf") == [{"type": "integer"}, {"type": "null"}]:
            cell["anyOf"] = counted
    if issubclass(model, RowModel) and model.more_shown:
        schema |= {"patternProperties": {f"^(?:{model.more_columns})$": TEXT}, "additionalProperties": False}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:kapwa:forms:{version}:{name}"}
    return {**schema, **head, "title": name, "version": version}


def _schema(name: str, model: type[BaseModel], **cells: Any) -> dict[str, Any]:
    schema = schema_of(model, name, FORMS_VERSION)
    # Only what says nothing of the type is kept beside the cell that is described here.
    said = {key: {part: text for part, text in schema["properties"][key].items() if part in _SAID} for key in cells}
    return {**schema, "properties": schema["properties"] | {key: {**said[key], **cell} for key, cell in cells.items()}}


_SAID = ("title", "description", "default")


def _identity() -> dict[str, Any]:
    """One column is named after the attribute that changes, so it can be described by a pattern only."""
    schema = _schema("eecc.identity", eecc.Identity)
    fixed = [name for name in schema["properties"] if name != "name"]
    own = f"^(?!text_)(?!(?:{'|'.join(fixed)})$){eecc.ATTRIBUTE.pattern}$"
    return {
        **schema,
        "properties": {name: schema["properties"][name] for name in fixed},
        "required": [],
        "patternProperties": {**schema["patternProperties"], own: _FILLED},
        "not": {"propertyNames": {"anyOf": [{"enum": fixed}, {"pattern": "^text_"}]}},
    }


def main() -> None:
    """Write the files, or check them."""
    texts = {
        FOLDER / f"{name}.schema.json": json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
        for name, schema in schemas().items()
    }
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
        sys.exit(f"{', '.join(stale)}: stale; run python tools/make_form_schemas.py" if stale else 0)
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
