"""Errors that state what is wrong, where, and how to fix it.

The command line prints them without a traceback and exits with code 2.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from kapwa.value_types import JsonObject

# Where a user reads a message: at the command line, of a run file, or in a program. Messages are written with the
# options of the command line ("--base-url"), which a file and a program have as keys and keywords ('base_url').
Surface = Literal["command", "file", "program"]
# The innermost is the last; of the process, not of a thread: all threads talk to the same user.
_surfaces: list[Surface] = ["program"]
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w-])")
# The value after an option: a number, a word in capitals that stands for one, or what ends a clause.
_VALUE = re.compile(
    r"""
    [ ](?!(?:out|twice|too)\b)  # "Leave --shots out." names no value
    ([\d.]*\d | [A-Z](?:[A-Z:/]*[A-Z])? | [\w./:<>,-]*[\w>](?=[.,;:)](?:\s|$)|$))
    (?![\w-])
    """,
    re.VERBOSE,
)
# A command to be typed, of ours or another tool, whose options stay as they are.
_COMMAND = re.compile(r"\b(?:kapwa|inspect|lm-eval|ray|hf) (?!does not use)[^.;]*$")


def worded(text: str, surface: Surface | None = None) -> str:
    """Return a message as the user can follow it: with keys instead of options, except at the command line.

    ``surface``: None is the one that :func:`speaking_of` named, or a program.
    """
    surface = surface or _surfaces[-1]
    if surface == "command":
        return text
    named, end = "", 0
    for option in _OPTION.finditer(text):
        if _COMMAND.search(text, 0, option.start()):
            continue
        value = _VALUE.match(text, option.end())
        named += text[end : option.start()] + _setting(option[1].replace("-", "_"), value and value[1], surface)
        end = value.end() if value else option.end()
    return named + text[end:]


def _setting(name: str, value: str | None, surface: Surface) -> str:
    """Return a setting as it is written in a file ("seed: 2") or a program ("seed=2"); without a value, its name."""
    if value is None:
        return f"'{name}'"
    if surface == "file":
        return f"'{name}: {value}'"
    return f"{name}={value if re.fullmatch(r'[0-9.]+', value) else repr(value)}"


def is_command() -> bool:
    """Whether a command runs, which shows results by itself; in a program, what must be told has to be logged."""
    return "command" in _surfaces


@contextmanager
def speaking_of(surface: Surface) -> Iterator[None]:
    """Word messages for a surface within the block, also those of an error that leaves it."""
    _surfaces.append(surface)
    try:
        yield
    except KapwaError as error:
        if not error.is_worded:
            error.message, error.hint = worded(error.message), error.hint and worded(error.hint)
            error.is_worded = True
        raise
    finally:
        _surfaces.pop()


class KapwaError(Exception):
    """Base class of all errors that a user can cause. ``hint`` says what to do."""

    is_worded = False  # for the surface that it left (:func:`speaking_of`)

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def summary(self) -> str:
        """What is wrong and where, without the hint."""
        return self.message

    def __str__(self) -> str:
        text = f"{self.summary}\n  {self.hint}" if self.hint else self.summary
        return text if self.is_worded else worded(text)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, and a constructor with arguments of its own could not be called there.
        return _unpickled, (type(self), vars(self))


def _unpickled(kind: type[KapwaError], attributes: JsonObject) -> KapwaError:
    error = kind.__new__(kind, attributes["message"])
    vars(error).update(attributes)
    return error


class UsageError(KapwaError):
    """A command or call names something that does not exist, or combines options that exclude each other."""


class DataError(KapwaError):
    """The content of a file does not match its format.

    ``message`` says what is wrong; ``path``, ``row`` (the line in the file, from 1) and ``column`` say where, and
    ``str(error)`` starts with them.
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
        """What is wrong and where: "answers.csv, row 7, column 'votes': is empty."."""
        where = [str(self.path)] if self.path is not None else []
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {self.column!r}")
        return f"{', '.join(where)}: {self.message}" if where else self.message


def raise_first(problems: Sequence[DataError], listing: str = "'kapwa data check'") -> None:
    """Raise the first problem, if there is one, with the number of others and the command that lists them."""
    if not problems:
        return
    first, others = problems[0], len(problems) - 1
    if others:
        more = f"({others} more problem{'s' * (others > 1)}; {listing} lists them all.)"
        first.hint = f"{first.hint} {more}" if first.hint else more
    raise first


class ModelError(KapwaError):
    """A model cannot be loaded, or lacks what a task needs."""


class RunError(KapwaError):
    """A run folder cannot be used: it is locked, damaged, or not a run folder."""


class UnfinishedRunError(RunError):
    """A run is still in progress or was stopped; the command that started it continues it."""


class UnsupportedVersionError(KapwaError):
    """An optional package is installed in a version that Kapwa was not tested with."""

    def __init__(self, package: str, installed: str, supported: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} works with {package} {supported}; installed is {installed}.",
            hint=f"Install one that fits: pip install 'kapwa[{extra}]'",
        )


class MissingDependencyError(KapwaError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed.",
            hint=f"Install it with: pip install 'kapwa[{extra}]'",
        )


def need_package(module: str, package: str, *, extra: str, purpose: str) -> None:
    """Raise MissingDependencyError unless ``module`` is installed, in a version that Kapwa's extra allows.

    ``package``: its distribution. ``purpose``: what needs it, the subject of the message.
    """
    from importlib import import_module
    from importlib.metadata import requires, version

    from packaging.requirements import Requirement

    try:
        installed = version(package)
        for requirement in map(Requirement, requires("kapwa") or ()):
            wanted = (
                requirement.name == package and requirement.marker and requirement.marker.evaluate({"extra": extra})
            )
            if wanted and not requirement.specifier.contains(installed, prereleases=True):
                raise UnsupportedVersionError(
                    package, installed, str(requirement.specifier), extra=extra, purpose=purpose
                )
        import_module(module)
    except ImportError:  # also where no such distribution is
        raise MissingDependencyError(package, extra=extra, purpose=purpose) from None


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise UsageError unless the option is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}.")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known word closest to ``name``, and up to twelve known words."""
    options = sorted(set(known))
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(options[:12]) + (", …" if len(options) > 12 else "")
    return f"{hint}Available: {shown}." if options else f"{hint}None are available yet."


def check_known(name: object, known: Collection[Any], message: str) -> None:
    """Raise UsageError with ``message`` and the nearest known word if ``name`` is not in ``known``."""
    if name not in known:
        raise UsageError(message, hint=nearest(str(name), known))
