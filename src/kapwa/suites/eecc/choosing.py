"""Choose concepts and identities: by name, or by a file that lists them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import read_text
from kapwa.suites.eecc import reading
from kapwa.suites.eecc.parts import Concept, Identity, PromptSet
from kapwa.suites.reading.cells import Home
from kapwa.suites.reading.tables import TABLE_SUFFIXES, peek_header, read_records

ALL = "all"
LIST_SUFFIXES = (".txt", ".list", "")


def choose_concepts(prompts: PromptSet, wanted: Sequence[str] | None) -> PromptSet:
    """Keep the concepts named ("honesty", or "moral_values/honesty"), in the data's order; None keeps all.

    Capitals make no difference. One name that is a file stands for the names in it, one a line.
    Raises UsageError naming the nearest concept for one that the data does not hold.
    """
    names = _from_list_file(wanted)
    if names is None:
        return prompts
    by_name: dict[str, list[Concept]] = {}
    for concept in prompts.concepts:
        for name in (concept.name, f"{concept.topic}/{concept.name}"):
            by_name.setdefault(name.casefold(), []).append(concept)
    chosen: set[tuple[str, str]] = set()
    for name in names:
        found = by_name.get(name.casefold())
        if found is None:
            known = {concept.name for concept in prompts.concepts}
            raise UsageError(f"The data holds no concept {name!r}.", hint=nearest(name, known))
        chosen |= {(one.topic, one.name) for one in found}
    return replace(prompts, concepts=tuple(one for one in prompts.concepts if (one.topic, one.name) in chosen))


def choose_identities(prompts: PromptSet, wanted: Sequence[str] | None) -> tuple[PromptSet, Mapping[str, bytes]]:
    """Keep the identities named, in the data's order; None or "all" keeps all. Also return the bytes of a file read.

    One name that is a file takes the place of the data's identities: one a line (.txt), or a table as in a pack, whose
    column is named after the attribute. Identities that the data holds keep what it says of them.
    Raises UsageError for a name that the data does not hold, DataError for a file that is not of the form.
    """
    if wanted is None or list(wanted) == [ALL]:
        return prompts, {}
    file = _file_of(wanted)
    if file is not None:
        return _from_file(prompts, file)
    by_name = {one.name.casefold(): one for one in prompts.identities}
    for name in wanted:
        if name.casefold() not in by_name:
            hint = f"{nearest(name, [one.name for one in prompts.identities])} Others: name a file that lists them."
            raise UsageError(f"The data holds no {prompts.attribute} {name!r}.", hint=hint)
    chosen = {name.casefold() for name in wanted}
    return replace(prompts, identities=tuple(one for one in prompts.identities if one.name.casefold() in chosen)), {}


def _file_of(wanted: Sequence[str]) -> Path | None:
    """The file that the one name given is, if it is one."""
    if len(wanted) != 1:
        return None
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        path = Path(wanted[0]).expanduser()
        if path.is_file():
            return path
    suffix = Path(wanted[0]).suffix.lower()
    if suffix in (*TABLE_SUFFIXES, ".txt"):
        raise UsageError(f"There is no file {wanted[0]!r}.")
    return None


def _from_list_file(wanted: Sequence[str] | None) -> list[str] | None:
    if wanted is None or list(wanted) == [ALL]:
        return None
    file = _file_of(wanted)
    names = list(wanted) if file is None else _lines(file)
    if not names:
        raise UsageError("No concept is named.", hint="Name some, or leave the option out for all.")
    return names


def _lines(file: Path) -> list[str]:
    lines = [line.strip() for line in read_text(file).splitlines()]
    found = list(dict.fromkeys(line for line in lines if line))
    if not found:
        raise DataError("is empty.", path=file)
    return found


def _from_file(prompts: PromptSet, file: Path) -> tuple[PromptSet, Mapping[str, bytes]]:
    if file.suffix.lower() in LIST_SUFFIXES:
        attribute = prompts.attribute
        read = [Identity(name) for name in _lines(file)]
    else:
        attribute, read = _from_table(file)
    known = {one.name: one for one in prompts.identities} if attribute == prompts.attribute else {}
    # What the file leaves unsaid (a country, a spelling), the data may say.
    identities = tuple(known.get(one.name, one) if not (one.country or one.texts) else one for one in read)
    return replace(prompts, attribute=attribute, identities=identities), {
        f"identities of {file.name}": file.read_bytes()
    }


def _from_table(file: Path) -> tuple[str, list[Identity]]:
    parts = reading.Parts()
    released = file.suffix.lower() == ".tsv" and reading.is_released("identities", peek_header(file))
    table = reading.read_released("identities", file) if released else read_records(file)
    parts.problems += table.problems
    reading.read_identities(parts, table, Home("many", "en"))
    if parts.problems:
        raise parts.problems[0]
    return parts.attribute, parts.identities
