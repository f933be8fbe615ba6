"""The description of a form by which somebody else's table is read as its own: its fields, and the layout of a row.

A suite names its forms in :attr:`kapwa.suites.base.Suite.mapped`; they are looked up by name, and loaded one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint

from kapwa import registry
from kapwa.suites.base import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedForm:
    """A form as mappings know it.

    ``fields``: what a mapping may name; "locale" is language and country in one ("es-MX"). ``needed``: each must be in
    ``columns`` or ``constants``; of several in one entry, one. ``lists``: the fields that hold several texts;
    ``numbers``: those of them whose texts may be numbers. ``parts``: what only mappings of this form may say besides.
    ``lay(row, converted)`` adds a :class:`~kapwa.suites.folders.convert.MappedRow` to the form's tables.
    ``finish(converted, bad_row)``, where a form has it, is called after the last row; ``bad_row`` notes a faulty one.
    ``table``: the one file that the task reads; "" for the whole folder.
    ``renamed``: by table, what it calls fields that mappings call otherwise.
    """

    fields: tuple[str, ...]
    needed: tuple[tuple[str, ...], ...]
    lists: tuple[str, ...]
    lay: Callable[..., None]
    finish: Callable[..., None] | None = None
    numbers: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    table: str = ""
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def form_names() -> list[str]:
    """Return the names of all forms that a mapping may have."""
    return [name for suite in registry.installed("suites") for name in _suite(suite).mapped]


@cache
def form_of(name: str) -> MappedForm:
    """Return the form called ``name``, one of :func:`form_names`."""
    form: MappedForm = EntryPoint(name, _suite(name.partition("/")[0]).mapped[name], "kapwa").load()
    return form


def tasks_of_form(name: str) -> tuple[str, ...]:
    """Return the tasks, without their suite's name, that a mapping of this form brings data for."""
    suite, _, task = name.partition("/")
    return (task,) if task else tuple(full.partition("/")[2] for full in _suite(suite).tasks)


def _suite(name: str) -> Suite:
    suite: Suite = registry.load("suites", name)
    return suite
