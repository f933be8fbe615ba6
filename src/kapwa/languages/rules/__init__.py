"""The rules of languages that no table can express: code that cuts and folds words and makes keys of them.

A function here gets a language's file and returns its :class:`Rules`; :data:`BY_TAG` has it by the tag of the language.
A language without such a function gets its rules by :func:`rules_of_file`, from its file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapwa.languages.rules.arabic_script import arabic, persian
from kapwa.languages.rules.by_affixes import amharic, assamese, azerbaijani, hausa, sundanese
from kapwa.languages.rules.by_libraries import english, filipino, greek, indonesian, spanish
from kapwa.languages.rules.east_asian import chinese, korean
from kapwa.languages.rules.made import Rules, rules_of_file
from kapwa.languages.schema import LanguageFile

BY_TAG: Mapping[str, Callable[[LanguageFile], Rules]] = {
    "am": amharic,
    "ar": arabic,
    "as": assamese,
    "az": azerbaijani,
    "el": greek,
    "en": english,
    "es": spanish,
    "fa": persian,
    "fil": filipino,
    "ha": hausa,
    "id": indonesian,
    "ko": korean,
    "su": sundanese,
    "zh": chinese,
}

__all__ = ["BY_TAG", "Rules", "rules_of_file"]
