"""What is wrong with a value of another type than it must be, in words for those who wrote it, not in pydantic's."""

from __future__ import annotations

from typing import Any

# By pydantic's name of the error.
_EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "dict_type": "'name: value' lines",
    "mapping_type": "'name: value' lines",
    "model_type": "'name: value' lines",
    "dataclass_type": "'name: value' lines",
    "list_type": "a list",
    "tuple_type": "a list",
    "date_type": "a date",
    "is_instance_of": "a text",
    "path_type": "a text",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}
# Values that are longer are not quoted whole.
_SHOWN = 40


def expected(detail: Any) -> str | None:
    """Return what a value must be of which pydantic says ``detail``; None where it is of the right type and wrong."""
    kind = detail["type"]
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"a number {words if words != 'at least' else 'of at least'} {detail['ctx'][name]:g}"
    if kind in ("literal_error", "enum"):
        return str(detail["ctx"]["expected"])
    return _EXPECTED.get(kind)


def wrong_value(detail: Any) -> str:
    """Return a sentence without its subject on a wrong value: "is 'lots', but must be a whole number."."""
    if detail["type"] == "missing":
        return "is missing."
    if detail["type"] == "extra_forbidden":
        return "is a name that is not known here."
    must_be = expected(detail)
    if must_be is None:
        return f"{str(detail['msg']).removeprefix('Value error, ').rstrip('.')}."
    return f"is {described(detail['input'])}, but must be {must_be}."


def described(value: object) -> str:
    """Return a value as whoever wrote it sees it."""
    if value is None or value == "":
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "'name: value' lines" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
