"""Open a task of the suite ``eecc``: read the prompts, choose among them, settle the options."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.errors import UsageError, nearest
from kapwa.files import digest
from kapwa.suites.base import DataSource, Selection
from kapwa.suites.eecc import VARIANTS
from kapwa.suites.eecc.choosing import choose_concepts, choose_identities
from kapwa.suites.eecc.data import Reading, load
from kapwa.suites.eecc.items import build_items, variants_of
from kapwa.suites.eecc.options import NEW_TOKENS, EeccOptions
from kapwa.suites.eecc.parts import PromptSet
from kapwa.suites.eecc.task import EeccTask

if TYPE_CHECKING:
    from kapwa.suites.base import Task

log = logging.getLogger(__name__)


def open_eecc_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Return ``eecc/qa`` or ``eecc/stories`` over the chosen concepts and identities of ``data``."""
    given = {key: value for key, value in options.items() if value is not None}
    known = (*EeccOptions.names(), "nationalities")
    for key in given:
        if key not in known:
            raise UsageError(f"{name} has no option {key!r}.", hint=nearest(key, known))
    settings = EeccOptions(**{"max_new_tokens": NEW_TOKENS[name], **_named(given)})
    reading = load(data, name)
    prompts = choose_concepts(reading.prompt_set(), settings.concepts)
    prompts, files = choose_identities(prompts, settings.identities)
    for oddity in reading.parts.oddities:
        log.info("%s, row %s: %s", oddity.path, oddity.row, oddity.message)
    source = _with_files(reading, files)
    chosen = build_items(prompts, _settled(selection, prompts))
    return EeccTask(name, source, selection, tuple(chosen), settings, prompts.attribute)


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Names as tuples; "nationalities" is what most users call identities."""
    if "nationalities" in given and "identities" in given:
        raise UsageError("Name either nationalities or identities: they are one list.")
    renamed = {"identities" if key == "nationalities" else key: value for key, value in given.items()}
    return {key: _names(value) if key in ("concepts", "identities") else value for key, value in renamed.items()}


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip())


def _settled(selection: Selection, prompts: PromptSet) -> Selection:
    # "all" names the variants of the released data; of other data, it means all of theirs.
    if selection.variants == VARIANTS:
        return dataclasses.replace(selection, variants=variants_of(prompts))
    return selection


def _with_files(reading: Reading, files: Mapping[str, bytes]) -> DataSource:
    """The source, whose digest covers a file of identities that stands in for the data's own."""
    source = reading.source()
    return dataclasses.replace(source, digest=digest({**reading.files, **files})) if files else source
