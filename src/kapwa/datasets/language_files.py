"""Check a language file that a speaker wrote or corrected, and print one for review.

A check reports more than reading does: the line of every problem, patterns that cannot be compiled, repeated entries,
and examples that do not hold by the rules of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial, reduce
from pathlib import Path

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.languages.base import Language
from kapwa.languages.codes import canonical
from kapwa.languages.reading import language_from
from kapwa.languages.schema import PAIR, Examples, FileSection, LanguageFile, lines_of, words_of
from kapwa.metrics.matching import Kind, Matcher
from kapwa.tables.yaml_files import Located, load_yaml

SEE = "see docs/how-to/correct-a-language.md."
# Sections and fields that are lines, and those of them that are not patterns.
_LINES = {"pieces", "replies", "denials", "examples", "more", "less", "either", "clock", "strings", "alike", "combined"}
_PLAIN = {"examples", "non_answers", "letters", "strings", "alike", "combined"}
_SPACED = {"function_words", "letters", "loose_letters"}  # separated by spaces
_NAMED = re.compile(r"\{[a-z_]+\}")  # {n}, {h} and the pieces
# The names in braces that a pattern of quantities may have; a pattern that may have a number must have it.
_MEANT = {"more": ("{n}",), "less": ("{n}",), "clock": ("{h}", "{plus}", "{minus}")}
# The module re compiles these patterns, for all languages together; only 'linker' is compiled by regex alone.
_OF_REPLIES = {"replies", "pieces"}


def check_language(path: Path) -> tuple[LanguageFile | None, list[DataError]]:
    """Return the file and its problems, in the order of their lines; None where it cannot be read at all."""
    file, problems = read_model(path, LanguageFile, what="language file", see=SEE)
    if file is not None:
        located = load_yaml(path)
        problems = list(_bad_lines(path, located)) or list(_failed_examples(path, located, file))
    return file, sorted(problems, key=lambda problem: problem.row or 0)


def _bad_lines(path: Path, located: Located) -> Iterator[DataError]:
    """Yield patterns that cannot be compiled, and lines that are repeated in one block."""
    for keys, row in located.lines.items():
        value = reduce(lambda section, key: section[key], keys, located.value)
        if not isinstance(value, str) or keys[0] == "notes":
            continue
        wrong = partial(DataError, path=path, column=".".join(map(str, keys)))
        if keys == ("tag",) and value != (tag := canonical(value)):
            yield wrong(f"{value!r} is {tag!r} in Kapwa.", row=row, hint=f"Write 'tag: {tag}'.")
        in_lines = not _LINES.isdisjoint(keys)
        words = words_of(value) if _SPACED.isdisjoint(keys) else value.split()
        entries = lines_of(value) if in_lines else words
        for number, entry in enumerate(entries):
            at = row + number + ("\n" in value) if in_lines else row
            if entry in entries[:number]:
                yield wrong(f"{entry!r} appears twice.", row=at, hint="Delete one of the two.")
            if in_lines and _PLAIN.isdisjoint(keys) and (fault := _fault(keys, entry)):
                yield wrong(f"the pattern {entry!r} {fault[0]}.", row=at, hint=fault[1])


def _fault(keys: tuple[str | int, ...], line: str) -> tuple[str, str] | None:
    """Say what is wrong with a pattern, as the readers join it with others, and what to write instead."""
    pattern = "x|" + _NAMED.sub("1", line)
    modules = (re, regex) if keys[0] in _OF_REPLIES and "linker" not in keys else (regex,)
    try:
        joined = [module.compile(pattern) for module in modules][-1]
    except (re.error, regex.error, OverflowError) as error:
        hint = f"Write a backslash before a character that is meant literally: \\( \\? \\. \\*; {SEE}"
        return f"cannot be read ({getattr(error, 'msg', error)})", hint
    if joined.fullmatch(""):
        return "matches an empty text", "Delete the | that has nothing before or after it."
    if joined.groups:
        return "holds a group that would be counted", "Write (?:...) for (...)."
    if joined.flags != regex.compile("").flags:
        return "changes how other patterns are read", "Delete flags such as (?i); texts are in lower case."
    return _fault_of_names(keys, line)


def _fault_of_names(keys: tuple[str | int, ...], line: str) -> tuple[str, str] | None:
    """Report a name in braces that has no meaning in this field, or one that is missing."""
    known = _MEANT.get(str(keys[-1]), ()) if keys[0] == "quantities" else ()
    named = () if keys[0] == "replies" else _NAMED.findall(line)  # those of replies are pieces, already put in
    if unknown := [name for name in named if name not in known]:
        literal = f"Write \\{unknown[0]} for a literal brace."
        hint = f"Available: {', '.join(known)}." if known else literal
        return f"holds {unknown[0]}, which has no meaning there", hint
    if known == ("{n}",) and not named:
        return "does not say where the number is", "Write {n} for the number."
    return None


def _failed_examples(path: Path, located: Located, file: LanguageFile) -> Iterator[DataError]:
    for name, line, problem in failed_examples(language_from(file), file.examples):
        value = located.value["examples"][name]
        row = (located.line(("examples", name)) or 0) + lines_of(value).index(line) + ("\n" in value)
        hint = "Correct the example or the words that it needs; the other examples show what a change breaks."
        yield DataError(problem, path=path, row=row, column=f"examples.{name}", hint=hint)


def failed_examples(language: Language, examples: Examples) -> Iterator[tuple[str, str, str]]:
    """Yield each example that does not hold by the rules of a language: its kind, its line, and what is wrong."""
    matcher = Matcher(language)
    refusal = re.compile("|".join(language.replies.refusal) or "(?!)")

    def keys_of(text: str) -> list[frozenset[str]]:
        return [language.keys(token) for token in language.tokens(language.fold(text))]

    def covered(words: list[frozenset[str]], others: list[frozenset[str]]) -> bool:
        return bool(words) and all(any(word & other for other in others) for word in words)

    def meet(left: str, right: str) -> tuple[bool, bool]:
        """Whether every word of each text shares a key with a word of the other."""
        left_keys, right_keys = keys_of(left), keys_of(right)
        return covered(left_keys, right_keys), covered(right_keys, left_keys)

    def gives(reply: str, answer: str, kind: Kind = "text") -> bool:
        return matcher.match(reply, answer, kind) is not None

    tried: dict[str, tuple[str, Callable[[str, str], bool]]] = {
        "spelling": ("{!r} is not read as {!r}.", lambda text, read: language.fold(text) == read),
        "same": ("{!r} and {!r} are not taken for one word.", lambda left, right: all(meet(left, right))),
        "different": ("{!r} and {!r} are taken for one word.", lambda left, right: not any(meet(left, right))),
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


def review_page(path: Path) -> Iterator[str]:
    """Yield the lines of a language file, each section and field below its description."""
    _, problems = read_model(path, LanguageFile, what="language file", see=SEE)
    if problems:
        raise problems[0]
    purposes = {row: _purpose(*keys) for keys, row in load_yaml(path).lines.items() if keys}
    for row, line in enumerate(read_text(path).splitlines(), 1):
        yield (f"\n{purposes[row]}\n" if purposes.get(row) else "") + f"  {line}".rstrip()


def _purpose(section: str | int, field: str | int = "", *deeper: str | int) -> str:
    """Return the description of a section of a language file, or of a field of a section; "" for anything deeper."""
    known = LanguageFile.model_fields[str(section)]
    annotation = known.annotation
    kind = annotation if isinstance(annotation, type) and issubclass(annotation, FileSection) else None
    if field == "":
        if kind and kind.__doc__:
            return kind.__doc__.partition("\n\n")[0]
        return known.description or ""
    if kind is None or deeper:
        return ""
    return kind.model_fields[str(field)].description or ""
