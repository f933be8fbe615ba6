"""What a page reads of its project: once, however many parts of the page ask for it.

A page that is only looked at changes nothing, so that what one part of it read is true for the next. Whatever writes,
and the command line, reads anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import unwrap
from typing import Any, ParamSpec, TypeVar

from django.db.models import Model

from kapwa.studio.core.tables import Membership, Project, Release, Topic

_READ: ContextVar[dict[Any, Any] | None] = ContextVar("read", default=None)
_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


@contextmanager
def one_page() -> Iterator[None]:
    """Keep what :func:`once_a_page` reads until the page is made."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


@contextmanager
def reading_anew() -> Iterator[None]:
    """Read everything anew meanwhile: what is read to be written upon, such as who is given what, must be of now."""
    token = _READ.set(None)
    try:
        yield
    finally:
        _READ.reset(token)


def once_a_page(read: Callable[_Asked, _Found]) -> Callable[_Asked, _Found]:
    """Let a function that reads be asked any number of times; what it returns is shared, and nobody changes it."""

    @wraps(read)
    def known(*args: _Asked.args, **named: _Asked.kwargs) -> _Found:
        kept = _READ.get()
        if kept is None or any(_unsaved(value) for value in (*args, *named.values())):
            return read(*args, **named)
        key = (read, args, tuple(sorted(named.items())))
        if key not in kept:
            kept[key] = read(*args, **named)
        found: _Found = kept[key]
        return found

    return known


def was_read(known: Callable[_Asked, _Found], *args: _Asked.args, **named: _Asked.kwargs) -> bool:
    """Whether the page has read already what a function of :func:`once_a_page` returns."""
    kept = _READ.get()
    return kept is not None and (unwrap(known), args, tuple(sorted(named.items()))) in kept


def _unsaved(value: object) -> bool:
    """Whether it is a row of no table, as that of anybody for whom work waits: it is no key of what was read."""
    return isinstance(value, Model) and value.pk is None


@once_a_page
def members_of(project: Project) -> list[Membership]:
    """Return the members, also those who left, by when they joined."""
    return list(Membership.objects.filter(project=project).order_by("joined"))


@once_a_page
def releases_of(project: Project) -> list[Release]:
    """Return the releases, the oldest first."""
    return list(Release.objects.filter(project=project).order_by("seq"))


@once_a_page
def topics_of(project: Project) -> list[Topic]:
    """Return the topics in use, in the order in which they came."""
    return list(Topic.objects.filter(project=project, retired=False).order_by("seq"))
