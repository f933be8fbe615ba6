"""Check a language file that a speaker wrote or corrected, and lay one out for reviewing.

A check tells more than reading does: the line of every problem, patterns that cannot be compiled, entries that stand
twice, and examples that do not hold by the rules of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.datasets.tables import Located, load_yaml, read_model
from kapwa.errors import DataError
from kapwa.languages.base import Language
from kapwa.languages.reading import language_from
from kapwa.languages.schema import PAIR, Examples, LanguageFile, Part, lines_of
from kapwa.metrics.matching import Kind, Matcher

SEE = "see docs/how-to/correct-a-language.md."
# Parts and fields that are lines, and those of them that are no patterns.
_LINES = ("pieces", "replies", "denials", "examples", "more", "less", "either", "clock", "strings", "alike", "combined")
_PLAIN = ("examples", "non_answers", "letters", "strings", "alike", "combined")
_FILLED = {"{n}": "1", "{h}": "1", "{plus}": "1", "{minus}": "1"}


def check_language(path: Path) -> tuple[LanguageFile | None, list[DataError]]:
    """Return the file and its problems, in the order of their lines; None where it cannot be read at all."""
    file, problems = read_model(path, LanguageFile, what="language file", see=SEE)
    if file is None:
        return None, problems
    located = load_yaml(path)
    problems = [*_bad_lines(path, located)]
    if not problems:
        problems += _failed_examples(path, located, file)
    return file, sorted(problems, key=lambda problem: problem.row or 0)


def _blocks(located: Located) -> Iterator[tuple[tuple[str | int, ...], int, tuple[str, ...]]]:
    """Yield each block of lines of a file: its place, the row before its first line, and the lines."""

    def blocks(
        value: Any, place: tuple[str | int, ...]
    ) -> Iterator[tuple[tuple[str | int, ...], int, tuple[str, ...]]]:
        if isinstance(value, str) and not set(_LINES).isdisjoint(place):
            yield place, (located.line(place) or 1) - ("\n" not in value), lines_of(value)
        inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        for key, part in inner:
            yield from blocks(part, (*place, key))

    yield from blocks(located.value, ())


def _bad_lines(path: Path, located: Located) -> Iterator[DataError]:
    """Yield patterns that cannot be compiled, and lines that stand twice in one block."""
    for place, row, lines in _blocks(located):
        column = ".".join(step for step in place if isinstance(step, str))
        for number, line in enumerate(lines, 1):
            if line in lines[: number - 1]:
                hint = "Delete one of the two."
                yield DataError(f"{line!r} stands twice.", path=path, row=row + number, column=column, hint=hint)
            if not set(_PLAIN).isdisjoint(place):
                continue
            pattern = line.rpartition(" = ")[0] if place[-1] == "clock" else line
            for name, sample in _FILLED.items():
                pattern = pattern.replace(name, sample)
            try:
                regex.compile(re.sub(r"\{[a-z_]+\}", "x", pattern))
            except regex.error as error:
                hint = f"Write a backslash before a sign that is meant as such: \\( \\? \\. \\*; {SEE}"
                message = f"the pattern {line!r} cannot be read ({error.msg})."
                yield DataError(message, path=path, row=row + number, column=column, hint=hint)


def _failed_examples(path: Path, located: Located, file: LanguageFile) -> Iterator[DataError]:
    for name, line, problem in failed_examples(language_from(file), file.examples):
        lines = lines_of(located.value["examples"][name])
        row = (located.line(("examples", name)) or 0) + lines.index(line) + 1
        hint = "Correct the example or the words that it needs; the other examples show what a change breaks."
        yield DataError(problem, path=path, row=row, column=f"examples.{name}", hint=hint)


def failed_examples(language: Language, examples: Examples) -> Iterator[tuple[str, str, str]]:
    """Yield each example that does not hold by the rules of a language: its kind, its line, and what is wrong."""
    matcher = Matcher(language)
    refusal = re.compile("|".join(language.replies.refusal) or "(?!)")

    def gives(reply: str, answer: str, kind: Kind = "text") -> bool:
        return matcher.match(reply, answer, kind) is not None

    tried: dict[str, tuple[str, Callable[[str, str], bool]]] = {
        "spelling": ("{!r} is not read as {!r}.", lambda text, read: language.fold(text) == read),
        "same": ("{!r} and {!r} are not taken for one word.", lambda left, right: all(_meet(language, left, right))),
        "different": (
            "{!r} and {!r} are taken for one word.",
            lambda left, right: not any(_meet(language, left, right)),
        ),
        "number": ("{!r} does not give the number {!r}.", partial(gives, kind="number")),
        "time": ("{!r} does not give the time {!r}.", partial(gives, kind="time")),
        "date": ("{!r} does not give the date {!r}.", partial(gives, kind="date")),
        "gives": ("{!r} does not give the answer {!r}.", gives),
        "gives_not": ("{!r} gives the answer {!r}.", lambda reply, answer: not gives(reply, answer)),
    }
    for name, (problem, holds) in tried.items():
        for left, right in getattr(examples, name):
            if not holds(left, right):
                yield name, f"{left}{PAIR}{right}", problem.format(left, right)
    for text in examples.refusals:
        if not refusal.search(text.lower().replace("’", "'")):
            yield "refusals", text, f"{text!r} is not taken for a refusal."


def _meet(language: Language, left: str, right: str) -> tuple[bool, bool]:
    """Whether every word of each of two texts shares a key with a word of the other."""
    keys = [[language.keys(token) for token in language.tokens(language.fold(text))] for text in (left, right)]
    ways = ((keys[0], keys[1]), (keys[1], keys[0]))
    first, second = (bool(own) and all(any(one & key for key in other) for one in own) for own, other in ways)
    return first, second


def review_page(path: Path) -> Iterator[str]:
    """Yield the lines of a page for reviewing: each part of a file, what it is for, what it holds."""
    _, problems = read_model(path, LanguageFile, what="language file", see=SEE)
    if problems:
        raise problems[0]
    value = load_yaml(path).value
    yield f"{value['name']} ({value['tag']})"
    yield f"File: {path}"
    yield f"Reviewed by: {', '.join(value.get('reviewed_by') or ()) or 'nobody yet'}"
    yield from _part_lines(LanguageFile, value, "")


def _part_lines(model: type[Part], value: Mapping[str, Any], place: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Part):
            if value.get(name):
                yield f"\n{name.upper()}: {' '.join((kind.__doc__ or '').split())}"
                yield from _part_lines(kind, value[name], f"{name}.")
        elif name in value and name not in ("tag", "name", "reviewed_by"):
            yield f"\n{place}{name}: {field.description}"
            yield from (f"    {line}" for line in _shown(value[name]))


def _shown(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            first, *rest = list(_shown(inner)) or [""]
            yield f"{key}: {first}"
            yield from (f"    {line}" for line in rest)
    elif isinstance(value, list):
        for inner in value:
            yield from _shown(inner)
    else:
        yield from lines_of(str(value))
