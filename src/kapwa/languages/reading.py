"""Make languages from their files: those that ship with Kapwa (``languages/data``), and those of other packages.

A file is read when its language is first used, and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import yaml
from pydantic import ValidationError

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import read_text
from kapwa.languages.base import Language
from kapwa.languages.codes import canonical, family, name_of, tag_hint
from kapwa.languages.rules import BY_TAG, Rules, rules_of_file
from kapwa.languages.schema import LanguageFile
from kapwa.tables.wrong_values import wrong_value

DATA = Path(__file__).with_name("data")
# Words of replies in languages that have no rules.
REPLIES = DATA / "replies"
# Fields that a language copies from its file.
_SAME_NAME = "name resource rules scripts inside notes function_words quantities replies denials people"
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every value is text: "no" is a word, not false


def read_file(path: Path) -> LanguageFile:
    """Read a language file. Raises DataError naming its first problem; 'kapwa languages check' names all."""
    hint = f"See all problems with: kapwa languages check {path}"
    try:
        return LanguageFile.model_validate(yaml.load(read_text(path), Loader=_LOADER))  # noqa: S506 - text only
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise DataError("is not valid YAML.", path=path, row=mark and mark.line + 1, hint=hint) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or None
        raise DataError(wrong_value(first), path=path, column=key, hint=hint) from None


def language_from(file: LanguageFile, rules: Callable[[LanguageFile], Rules] | None = None) -> Language:
    """Make a language from its file, with the code of ``rules``; None: the code of its tag, if any, else no code."""
    code = (rules or BY_TAG.get(file.tag, rules_of_file))(file)
    known = {name: getattr(file, name) for name in _SAME_NAME.split()}
    known["ampersand"] = file.spelling.ampersand
    known |= {"variants": code.variants, "tools": code.tools, "fold": code.folding, "tokens": code.cut}
    return Language(code=file.tag, reviewed=bool(file.reviewed_by), **known)


def file_of(tag: str) -> Path:
    """Return the file of a language that ships with Kapwa, with rules or with words of replies only.

    Raises UsageError for a language without a file, which says what is used instead and how to begin a file.
    """
    files = {path.stem: path for folder in (REPLIES, DATA) for path in folder.glob("*.yaml")}
    code = canonical(tag)
    if code in files:
        return files[code]
    if name_of(code) == code:
        hint = tag_hint(tag) or nearest(code, files)
    else:
        parent = canonical(family(code))
        read_by = f"the file of {name_of(parent)}: 'kapwa languages show {parent}'"
        if parent not in files:
            read_by = f"what Unicode and libraries know: 'kapwa languages {code}'"
        hint = f"{name_of(code)} is read by {read_by}. To begin a file of it, see docs/how-to/add-a-language.md."
    raise UsageError(f"Kapwa has no file of the language {tag!r}.", hint=hint)


@cache
def shipped_file(tag: str) -> LanguageFile:
    """Return the file of a language that ships with Kapwa with rules."""
    return read_file(DATA / f"{tag}.yaml")


@cache
def shipped(tag: str) -> Language:
    """Return a language whose file ships with Kapwa with rules; English is ``shipped("en")``."""
    return language_from(shipped_file(tag))
