"""What the text of an option means: lists, ``name=value`` pairs, files, engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kapwa.errors import UsageError
from kapwa.files import read_text
from kapwa.value_types import JsonObject

# Settings of a model that are texts even where they look like numbers: version 1.10 is not 1.1.
_TEXTS = ("base_url", "device", "dtype", "key_variable", "revision", "thinking")


def parse_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated option."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_pair(option: str, pair: str, form: str, example: str, *, may_be_empty: bool = True) -> tuple[str, str]:
    """Split ``name=value``, the ``form`` that the value of an option has; whether the value after = may be empty."""
    name, equals, value = pair.partition("=")
    if not name or not equals or not (value or may_be_empty):
        raise UsageError(f"{option} {pair!r} is not of the form {form}.", hint=f"For example: {example}")
    return name, value


def parse_setting(pair: str, option: str = "--extra") -> tuple[str, Any]:
    """Turn ``name=JSON`` into a name and a value; a word that is not JSON is taken as text."""
    name, value = parse_pair(option, pair, "name=JSON", f"{option} attempts=3")
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        if value.lstrip().startswith(("{", "[", '"')):
            message = f"{option} {name}: {value[:40]!r} is not valid JSON, or is nested too deeply."
            raise UsageError(message) from None
        return name, value
    return name, value if name in _TEXTS and not isinstance(parsed, str) else parsed


def parse_choices(pairs: Sequence[str] | None) -> dict[str, str]:
    """Turn ``name=code`` options into the country code of each name."""
    codes = {}
    for pair in pairs or ():
        name, code = parse_pair("--choose", pair, "name=code", "Congolese=COD")
        codes[name.strip()] = code.strip()
    return codes


def parse_where(pairs: Sequence[str] | None, country: str | None = None) -> JsonObject:
    """Turn ``column=value`` options into a selection; one column may come several times.

    ``country``: the short way to select cultures, comma-separated; "all" selects every culture.
    """
    selection: dict[str, tuple[str, ...]] = {}
    cultures = parse_list(country or "")
    if cultures not in ((), ("all",)):
        selection["culture"] = cultures
    for pair in pairs or ():
        column, value = parse_pair("--where", pair, "column=value", "--where topic=friendship", may_be_empty=False)
        selection[column] = (*selection.get(column, ()), value)
    return selection


def read_text_option(text: str | None) -> str | None:
    """Return ``text``, or for ``@file`` the content of the file, without surrounding white space."""
    if text is None or not text.startswith("@"):
        return text
    return read_text(Path(text[1:])).strip()


def parse_settings(pairs: Sequence[str] | None, option: str = "--extra") -> JsonObject:
    """Turn ``name=JSON`` options into settings by name."""
    return dict(parse_setting(pair, option) for pair in pairs or ())


def judge_settings(pairs: Sequence[str] | None, **defaults: object) -> Any:
    """Turn ``--judge-option`` pairs into options of a model; those of one backend alone go into ``extra``."""
    from kapwa.models.base import ModelOptions

    settings = parse_settings(pairs, "--judge-option")
    names = {field.name for field in fields(ModelOptions)} - {"extra"}
    common = {name: value for name, value in settings.items() if name in names}
    extra = {name: value for name, value in settings.items() if name not in names}
    return {**defaults, **common, "extra": extra}
