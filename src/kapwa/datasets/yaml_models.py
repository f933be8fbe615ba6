"""Read a YAML file as a pydantic model, with the row and field of everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kapwa.datasets.card import Card
from kapwa.errors import DataError, nearest
from kapwa.languages.codes import NO_TAG, tag_hint
from kapwa.tables.wrong_values import described, expected, wrong_value
from kapwa.tables.yaml_files import KeyPath, Located, load_yaml

ModelT = TypeVar("ModelT", bound=BaseModel)

_REMEDIES = {
    "a text": "Put the value in quotes: to YAML unquoted 1.0 is a number, 2024-05-01 a date, and no means false.",
    "true or false": "Write true or false, without quotes.",
    "a whole number": "Write a number without quotes, such as 3.",
    "a finite number": "Write a number without quotes, such as 0.5.",
    "a number": "Write a number without quotes, such as 0.5.",
    "'name: value' lines": "Write 'name: value' lines below it, indented.",
    "a list": "Write a list: one '- …' line for each.",
    "a date": "Write a date such as 2024-05-01, without quotes.",
    "string_too_short": "Say it in a few words; write 'none' where there is nothing to say.",
}


def read_model(
    path: Path,
    model: type[ModelT],
    what: str = "card",
    see: str = "see the form in docs/reference.",
    *,
    located: Located | None = None,
    hint: Callable[[str, Collection[str]], str] = nearest,
) -> tuple[ModelT | None, list[DataError]]:
    """Read a YAML file as ``model``; return it without errors, or None and every error with its row, field and remedy.

    ``what`` names the file in errors, ``see`` says where its form is described. ``located``: its content, if it was
    read already. ``hint``: suggests a known field for an unknown one.
    """
    try:
        located = located or load_yaml(path)
        if not isinstance(located.value, dict):
            raise DataError(f"is not a {what}.", path=path, row=1, hint=f"Write 'field: value' lines; {see}")
        return model.model_validate(located.value), []
    except DataError as error:
        return None, [error]
    except ValidationError as error:
        faults = _Faults(path, located or Located(None, {}), model, what, see, hint)
        return None, list(faults.told(error.errors()))


@dataclass(frozen=True)
class _Faults:
    """A file that is not as its model says, and the words in which that is told.

    ``what`` names the file; ``see`` says where its form is described; ``known_hint`` suggests a known field.
    """

    path: Path
    located: Located
    model: type[BaseModel]
    what: str
    see: str
    known_hint: Callable[[str, Collection[str]], str]

    def told(self, details: Sequence[ErrorDetails]) -> Iterator[DataError]:
        """Yield an error for each value that is wrong, from what pydantic says of the file."""
        by_value: dict[KeyPath, list[ErrorDetails]] = {}
        for detail in details:
            by_value.setdefault(self.written_at(detail["loc"], detail["type"]), []).append(detail)
        # Of a value that may be a text or a list of texts, what is wrong within the list says more.
        outer = {written[:n] for written in by_value for n in range(len(written))}
        for written, of_value in by_value.items():
            if written not in outer or not written:
                yield from self.of_value(written, of_value)

    def written_at(self, location: KeyPath, kind: str) -> KeyPath:
        """Return which value in the file is meant: pydantic's location also has the types that it tried for it."""
        written: KeyPath = ()
        for step in location:
            is_there = (*written, step) in self.located.lines
            written = (*written, step) if kind == "missing" or is_there else written
        return written

    def of_value(self, at: KeyPath, details: Sequence[ErrorDetails]) -> list[DataError]:
        """Return what is wrong with one value; of one that may have several types, one error names them all."""
        kinds = [_of_another_type(detail) for detail in details]
        if at and all(kinds):
            return [self.type_error(at, tuple(dict.fromkeys(filter(None, kinds))))]
        others = [detail for detail, kind in zip(details, kinds, strict=True) if not (at and kind)]
        return [self.field_error(each) for each in others]

    def type_error(self, at: KeyPath, kinds: Sequence[str]) -> DataError:
        """Return the error of a value that is of none of ``kinds``."""
        if "a number" in kinds:
            kinds = [kind for kind in kinds if kind != "a whole number"]
        if "a text" in kinds and "a list" in kinds:
            kinds = [*(kind for kind in kinds if kind not in ("a text", "a list")), "a text", "a list of texts"]
        value = self.located.value_at(at)
        message = f"is {described(value)}, but must be {' or '.join(kinds)}."
        hint = _REMEDIES.get(kinds[0], self.see)
        if value is None:
            hint = "Write it after the colon, or delete the line."
        elif isinstance(value, dict | list) and kinds[0] == "a text":
            hint = "Write one text after the colon."
        return DataError(message, path=self.path, row=self.located.line(at), column=_column(at), hint=hint)

    def field_error(self, detail: ErrorDetails) -> DataError:
        """Return the error of one thing that pydantic says."""
        message, keys = self.message_and_keys(detail)
        kind = detail["type"]
        written = self.written_at(keys, kind)
        column = _column(written)
        row = self.located.line(written)
        hint = _REMEDIES.get(kind) or self.see.capitalize()
        if kind == "missing":
            within = any(isinstance(step, int) for step in keys)
            row = self.located.line(keys[:-1]) if within else None  # of the entry of a list
            message = f"is missing from the {self.what}."
            hint = f"Add a line '{keys[-1] if within else column}: …'; {self.see}"
        elif kind == "extra_forbidden":
            known = _inner(self.model, keys).model_fields
            message = f"is not a field of a {self.what}."
            hint = self.known_hint(str(keys[-1]), known)
        elif kind == "literal_error":
            message = f"cannot be {detail['input']!r}."
            hint = f"It is one of {detail['ctx']['expected']}."
        elif kind == "string_pattern_mismatch":
            message = NO_TAG.format(detail["input"])
            hint = tag_hint(str(detail["input"])) or hint
        elif kind == "string_too_short":
            message = "is empty."
        elif kind == "string_too_long":
            message = f"is longer than {detail['ctx']['max_length']} characters."
            hint = "Shorten it."
        elif kind == "too_short":
            message = "the list is empty; name at least one."
        return DataError(f"{message.rstrip('.')}.", path=self.path, row=row, column=column, hint=hint)

    def message_and_keys(self, detail: ErrorDetails) -> tuple[str, KeyPath]:
        """Return pydantic's message and location.

        The message of a validator over the whole file begins with the section, and has the field in quotes.
        """
        message = wrong_value(detail).rstrip(".")
        keys: KeyPath = tuple(detail["loc"])
        section, _, rest = message.partition(": ")
        if keys or section not in self.model.model_fields:
            return message, keys
        return rest, (section, rest.split("'")[1]) if rest.startswith("'") else (section,)


def _column(at: KeyPath) -> str | None:
    """Return the name of a value: its keys with points between, without the numbers of entries of lists."""
    return ".".join(step for step in at if isinstance(step, str)) or None


def _of_another_type(detail: ErrorDetails) -> str | None:
    """Return what a value must be that is of another type; None where something else is wrong with it."""
    kind = expected(detail)
    return kind if kind in _REMEDIES else None


def _inner(model: type[BaseModel], keys: KeyPath) -> type[BaseModel]:
    """Return the model of the section of a file to which ``keys`` lead."""
    for step in keys:
        if step in model.model_fields:
            model = next(_models_in(model.model_fields[str(step)].annotation), model)
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


@cache
def shipped_card(path: Path) -> Card:
    """Return a card that ships with Kapwa, for data that were released without one."""
    return Card.model_validate(load_yaml(path).value)
