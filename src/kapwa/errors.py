"""Errors that say what was wrong, where, and what to do about it.

The command line prints them without a traceback and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any


class KapwaError(Exception):
    """Base of every error a user can cause. ``hint`` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def summary(self) -> str:
        """What was wrong and where, without the hint."""
        return self.message

    def __str__(self) -> str:
        return f"{self.summary}\n  {self.hint}" if self.hint else self.summary

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, and a constructor with arguments of its own could not be called there.
        return _unpickled, (type(self), vars(self))


def _unpickled(kind: type[KapwaError], attributes: dict[str, Any]) -> KapwaError:
    error = kind.__new__(kind, attributes["message"])
    vars(error).update(attributes)
    return error


class UsageError(KapwaError):
    """A command or call asks for something that does not exist or does not fit together."""


class DataError(KapwaError):
    """A file's content is not what its format promises.

    ``message`` says what is wrong, without the place: ``path``, ``row`` (the line in the file, from 1) and ``column``
    name that, and ``str(error)`` puts them before it.
    """

    path: str | Path | None = None
    row: int | None = None
    column: str | None = None

    def __init__(
        self,
        message: str,
        *,
        path: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.path, self.row, self.column = path, row, column

    @property
    def summary(self) -> str:
        """What was wrong and where: "answers.csv, row 7, column 'votes': is empty."."""
        where = [str(self.path)] if self.path is not None else []
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {self.column!r}")
        return f"{', '.join(where)}: {self.message}" if where else self.message


def raise_first(problems: Sequence[DataError], listing: str = "'kapwa data check'") -> None:
    """Raise the first problem, saying how many more there are and what lists them; do nothing where there is none."""
    if not problems:
        return
    first, others = problems[0], len(problems) - 1
    if others:
        more = f"({others} more problem{'s' * (others > 1)}: {listing} lists them all.)"
        first.hint = f"{first.hint} {more}" if first.hint else more
    raise first


class ModelError(KapwaError):
    """A model cannot be loaded, or cannot do what a task needs."""


class RunError(KapwaError):
    """A run directory cannot be used: locked, damaged, or made by something else."""


class UnfinishedRunError(RunError):
    """A run that is still going on or was stopped; the command that began it goes on with it."""


class MissingDependencyError(KapwaError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed.",
            hint=f"Install it with: pip install 'kapwa[{extra}]'",
        )


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise UsageError for an option that is no whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}.")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint naming the known word closest to ``name``, and all of them when they are few."""
    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(options[:12]) + (", …" if len(options) > 12 else "")
    return f"{hint}Known: {shown}." if options else f"{hint}Nothing is known yet."


def check_known(name: object, known: Collection[Any], message: str) -> None:
    """Raise UsageError saying ``message``, with the nearest known word, where ``name`` is none of those ``known``."""
    if name not in known:
        raise UsageError(message, hint=nearest(str(name), known))
