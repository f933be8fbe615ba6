"""Read somebody else's table through a mapping, and lay each row out as the form's own rows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.datasets.rows import Origin
from kapwa.datasets.tables import TABLE_SUFFIXES, Record, Table, read_records
from kapwa.errors import DataError, nearest
from kapwa.suites.blend.mcq_data import NO_TOPIC
from kapwa.suites.blend.questions import COUNTRIES, language_name, region_of
from kapwa.suites.folders.mapping import FIELDS, JSON_LIST, LETTERS, ColumnMapping, Form
from kapwa.suites.kalahi.form import RESPONSES


class LaidRow(NamedTuple):
    """A row of the form's own table, and where it came from."""

    cells: Mapping[str, Any]
    origin: Origin


@dataclass
class Converted:
    """The form's tables by name, and every problem on the way."""

    tables: dict[str, list[LaidRow]] = field(default_factory=dict)
    problems: list[DataError] = field(default_factory=list)
    rows: int = 0

    def add(self, table: str, cells: Mapping[str, Any], origin: Origin) -> None:
        """Add a row to one of the form's tables."""
        self.tables.setdefault(table, []).append(LaidRow(cells, origin))


class MappedRow:
    """One row of somebody else's table, read by the names of the form's fields."""

    def __init__(self, mapping: ColumnMapping, table: Table, record: Record, cultures: Mapping[str, str]) -> None:
        self.mapping, self.path, self.record, self.cultures = mapping, table.path, record, cultures
        self.problems: list[DataError] = []

    @property
    def origin(self) -> Origin:
        """Where the row is."""
        return Origin(self.path, self.record.row)

    def problem(self, name: str, message: str, hint: str | None = None) -> None:
        """Note what is wrong with a field, by the name of the column that it comes from."""
        column = self.mapping.columns.get(name, name)
        self.problems.append(DataError(message, path=self.path, row=self.record.row, column=column, hint=hint))

    def has(self, name: str) -> bool:
        """Whether the mapping says where the field comes from."""
        return name in self.mapping.columns or name in self.mapping.constants

    def text(self, name: str, default: str = "") -> str:
        """Return a field's text, stripped, in the mapping's other words for it; ``default`` where there is none."""
        if name in self.mapping.constants:
            return self.mapping.constants[name]
        if name not in self.mapping.columns:
            return default
        cell = self.record.cells.get(self.mapping.columns[name], "")
        if isinstance(cell, tuple):
            self.problem(name, "is a list, but one text is needed.")
            return default
        found, words = cell.strip(), self.mapping.values.get(name)
        if words is None or not found:
            return found or default
        if found not in words:
            self.problem(name, f"{found!r} is not among the values of {name!r} in the mapping.", nearest(found, words))
        return words.get(found, found)

    def needed(self, name: str) -> str:
        """Return a field's text, and note when it is empty."""
        found = self.text(name)
        if not found and self.has(name) and not self.problems:
            self.problem(name, "is empty.", "Every row needs one.")
        return found

    def items(self, name: str) -> list[str]:
        """Return the texts of a list's cell, parted as the mapping says, without the empty ones."""
        cell = self.record.cells.get(self.mapping.columns.get(name, ""), "")
        if name in self.mapping.constants:
            cell = self.mapping.constants[name]
        sign = self.mapping.separators.get(name, ";")
        parts: Any = cell.split(sign) if isinstance(cell, str) else cell
        if isinstance(cell, str) and sign == JSON_LIST:
            try:
                parts = json.loads(cell) if cell.strip() else []
            except (ValueError, RecursionError):
                parts = None
            if not isinstance(parts, list) or not all(isinstance(one, str) for one in parts):
                message = "is not a JSON list of texts."
                self.problem(name, message, 'Such as ["tea", "coffee"]; else name its separator.')
                return []
        return [part.strip() for part in parts if part.strip()]

    def culture_and_language(self) -> dict[str, str]:
        """Return culture and language as far as the row says them, by their own columns or by its locale."""
        whose_data = {name: self.needed(name) for name in ("culture", "language") if self.has(name)}
        if self.has("locale"):
            text = self.needed("locale")
            culture, language = self.cultures.get(text, ""), language_of(text)
            if text and not (culture and (language or "language" in whose_data)):
                hint = f"Write under 'values: culture:' whose it is ({text}: …)."
                hint = hint if language else "Locales are like 'es-MX'; else take culture and language from columns."
                self.problem("locale", f"{text!r} is no language and country that Kapwa knows.", hint)
            whose_data = {"culture": culture, "language": language, **whose_data}
        return {name: value for name, value in whose_data.items() if value}


def convert(mapping: ColumnMapping, folder: Path) -> Converted:
    """Read every table of the mapping in ``folder``, and lay its sound rows out as those of the form."""
    converted = Converted()
    tables = list(_tables(mapping, folder, converted))
    named = mapping.values.get("culture", {}) if "culture" not in mapping.columns else {}
    column = mapping.columns.get("locale", "")
    locales = [str(record.cells.get(column, "")).strip() for table in tables for record in table.records]
    locales.append(mapping.constants.get("locale", ""))
    cultures = cultures_of(filter(None, locales), named)
    for table in tables:
        for record in table.records:
            row = MappedRow(mapping, table, record, cultures)
            _LAYOUTS[mapping.form](row, converted)
            converted.problems += row.problems
            converted.rows += 1
    return converted


def _tables(mapping: ColumnMapping, folder: Path, converted: Converted) -> Iterator[Table]:
    """Yield the tables that hold every column of the mapping; what is wrong with others is noted."""
    for name in mapping.tables:
        files = sorted(path for path in folder.glob(name) if path.is_file()) if "*" in name else [folder / name]
        if not files:
            converted.problems.append(
                DataError(f"holds no file {name}.", path=folder, hint="See 'table' in the mapping.")
            )
        for file in files:
            if file.suffix.lower() not in TABLE_SUFFIXES:
                hint = f"Known: {', '.join(TABLE_SUFFIXES)}."
                converted.problems.append(DataError("is of an unknown kind.", path=file, hint=hint))
                continue
            table = read_records(file)
            missing = [
                DataError(
                    "is missing.",
                    path=file,
                    row=1,
                    column=column,
                    hint=f"The mapping takes {name!r} from it. {nearest(column, table.header)}",
                )
                for name, column in mapping.columns.items()
                if table.header and column not in table.header
            ]
            converted.problems += [*table.problems, *missing]
            if not missing:
                yield table


_LETTERS = "ABCD"
_GLOSSED = (*RESPONSES, *(f"{name}_en" for name in RESPONSES))


def lay_short_answers(row: MappedRow, to: Converted) -> None:
    """A question, and each different answer that counts as right; how many people gave it, nobody says."""
    texts = {name: row.text(name) for name in ("local", "english") if row.has(name)}
    if not any(texts.values()):
        row.problem(next(iter(texts)), "is empty.", "Every row needs a question.")
    answers, english = row.items("answers"), row.items("answers_en")
    if not answers and not row.problems:
        row.problem("answers", "holds no answer.", "Name the answers that count as right, or leave the row out.")
    if english and len(english) != len(answers):
        hint = "Give one for each answer, or none; an answer that holds the separator needs another one (separators)."
        row.problem("answers_en", f"has {len(english)} texts for {len(answers)} answers.", hint)
    given = [name for name in FIELDS["blend/saq"] if name not in ("answers", "answers_en", "locale", *texts)]
    cells = {name: row.text(name) for name in given if row.has(name)} | row.culture_and_language() | texts
    cells.setdefault("topic", NO_TOPIC)
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    if row.problems:
        return
    to.add("questions", cells, row.origin)
    whose = {"id": cells["id"], **({"culture": cells["culture"]} if "culture" in cells else {})}
    folded = [answer.casefold() for answer in answers]
    for place in map(folded.index, dict.fromkeys(folded)):
        group = {"local": [answers[place]], "english": english[place : place + 1]}
        to.add("answers", {**whose, **group}, row.origin)


def _numbered(row: MappedRow) -> str:
    return f"{row.path.stem}-{row.record.row}"


def lay_multiple_choice(row: MappedRow, to: Converted) -> None:
    """Four options, the letter of the right one, and whose they are as far as the table says."""
    options = _options(row)
    whose_data = row.culture_and_language()
    country = row.needed("country") if row.has("country") else whose_data.get("culture", "")
    question = row.needed("question")
    letter = _letter(row, options) if not row.problems else ""
    own = row.needed("id") if row.has("id") else _numbered(row)
    if row.problems:
        return
    # A country has one question of an id; tables often number their questions anew for each.
    name = own if own.startswith(f"{country}/") else f"{country}/{own}"
    cells = {
        **{"id": name, "country": country, "question_id": row.text("question_id", own)},
        **{"topic": row.text("topic", NO_TOPIC), "question": question, "answer": letter, "variant": "0"},
        **dict(zip(LETTERS, options, strict=True)),
        **({"language": whose_data["language"]} if whose_data.get("language") else {}),
    }
    for place in _LETTERS:
        cells[f"culture_{place}"] = row.text(f"culture_{place}", country if place == letter else "")
    to.add("mcq", cells, row.origin)


def _options(row: MappedRow) -> list[str]:
    if not row.has("options"):
        return [row.needed(name) for name in LETTERS]
    found = row.items("options")
    if len(found) != len(LETTERS) and not row.problems:
        hint = "The mapping's separators say what parts them (options: …)."
        row.problem("options", f"has {len(found)} options, not {len(LETTERS)}.", hint)
    return found


def _letter(row: MappedRow, options: list[str]) -> str:
    """The letter of the right option, from a letter, a number or the option's text."""
    written, how = row.needed("answer"), row.mapping.answer_is
    if not written:
        return ""
    if how == "text":
        # Options are often lettered in their texts ("A. tea"); the answer may be the text alone.
        matching = [i for i, option in enumerate(options) if option == written]
        known: tuple[str, ...] = tuple(options)
    elif how == "letter":
        bare = written.strip("().").upper()
        matching, known = [i for i, letter in enumerate(_LETTERS) if letter == bare], tuple(_LETTERS)
    else:
        first = int(how[-1])
        known = tuple(str(i + first) for i in range(len(_LETTERS)))
        matching = [i for i, number in enumerate(known) if number == written]
    if len(matching) != 1:
        hint = f"{nearest(written, known)} The mapping says that it is a {how} (answer_is)."
        row.problem("answer", f"{written!r} names no option.", hint)
        return ""
    return _LETTERS[matching[0]]


def lay_situation(row: MappedRow, to: Converted) -> None:
    """A situation with its responses; a row without cluster is a cluster of its own."""
    single = [name for name in FIELDS["kalahi"] if name not in (*_GLOSSED, "locale", "culture", "language")]
    cells: dict[str, object] = {name: row.text(name) for name in single if row.has(name)}
    cells |= {name: row.items(name) for name in _GLOSSED if row.has(name)}
    cells |= row.culture_and_language()
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    cells.setdefault("cluster", cells["id"])
    cells.setdefault("category", NO_TOPIC)
    cells.setdefault("topic", NO_TOPIC)
    if not row.problems:
        to.add("situations", cells, row.origin)


_LAYOUTS: Mapping[Form, Callable[[MappedRow, Converted], None]] = {
    "kalahi": lay_situation,
    "blend/saq": lay_short_answers,
    "blend/mcq": lay_multiple_choice,
}


_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?[-_]([A-Za-z]{2})")


def language_of(text: str) -> str:
    """Return the language of a locale whatever its country is ("su" of "su-JB"); "" where it is no locale."""
    match = _LOCALE.fullmatch(text.strip())
    return "" if match is None else match[1].lower() + (f"-{match[2].title()}" if match[2] else "")


@cache
def country_of(text: str) -> str:
    """Return the country of "es-MX", "es_MX" or "zh-Hant-TW"; "" where it is no locale or of no country of ISO 3166-1.

    Countries are spelled as in BLEnD where it has this language of them ("South_Korea" for ko-KR), else by their
    short name in ISO 3166-1.
    """
    match = _LOCALE.fullmatch(text.strip())
    if match is None:
        return ""
    language, territory = match[1].lower(), match[3].upper()
    for name in COUNTRIES:
        region = region_of(name)
        if (region.language, region.territory) == (language, territory):
            return name
    import iso3166

    found = iso3166.countries_by_alpha2.get(territory)
    if found is None:
        return ""
    full = str(found.apolitical_name)
    short = full.partition(",")[0]
    matching = sum(str(one.apolitical_name).partition(",")[0] == short for one in iso3166.countries)
    return short if matching == 1 else full


def cultures_of(locales: Iterable[str], named: Mapping[str, str]) -> dict[str, str]:
    """Name the culture of each locale: what ``named`` says, else its country.

    Where a country has several languages they stand beside its name ("Singapore (ta)"), for a culture has one local
    language. Locales that cannot be read are left out.
    """
    found = {text: named.get(text) or country_of(text) for text in locales}
    languages: defaultdict[str, set[str]] = defaultdict(set)
    for text, culture in found.items():
        if text not in named:
            languages[culture].add(language_of(text))
    for text, culture in found.items():
        if text not in named and len(languages[culture]) > 1:
            found[text] = culture and f"{culture} ({language_name(language_of(text))})"
    return {text: culture for text, culture in found.items() if culture}
