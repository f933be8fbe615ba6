"""Read somebody else's table through a mapping, and lay each row out as the form's own rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.datasets.findings import Finding
from kapwa.datasets.rows import Origin, columns_of
from kapwa.errors import DataError, nearest
from kapwa.languages.codes import canonical
from kapwa.suites.blend.mcq_data import NO_TOPIC
from kapwa.suites.blend.questions import ALL_LETTERS, Locale, clashing, culture_of
from kapwa.suites.folders.mapping import FIELDS, JSON_LIST, LISTS, OPTIONS, OTHERS, TURNS, ColumnMapping, Form
from kapwa.suites.folders.paths import written_value
from kapwa.suites.folders.reading import Field, Reading
from kapwa.suites.longform.form import LongQuestion
from kapwa.tables_io import Cell, json_cell


class LaidRow(NamedTuple):
    """A row of the form's own table, where it came from, and which cell gave each field."""

    cells: Mapping[str, Cell]
    origin: Origin
    fields: Mapping[str, Field]


@dataclass
class Converted:
    """The form's tables by name, every problem and oddity on the way, and what is wrong with rows left out."""

    tables: dict[str, list[LaidRow]] = field(default_factory=dict)
    problems: list[DataError] = field(default_factory=list)
    left_out: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    rows: int = 0

    @property
    def rows_left_out(self) -> int:
        """How many rows the mapping says to leave out, for something is wrong with each."""
        return len({(problem.path, problem.row) for problem in self.left_out})

    def add(self, table: str, cells: Mapping[str, Any], row: MappedRow) -> None:
        """Add a row to one of the form's tables, without lists that hold nothing."""
        laid = {
            name: value if isinstance(value, str) else json_cell(value) for name, value in cells.items() if value != []
        }
        self.tables.setdefault(table, []).append(LaidRow(laid, row.origin, row.fields))


class MappedRow:
    """One row of somebody else's table, read by the names of the form's fields.

    ``languages``: the language of each culture so far and where it was said first, for a culture has one; ``locales``:
    those of all rows whose territories clash with ISO 3166-1.
    """

    def __init__(
        self,
        mapping: ColumnMapping,
        origin: Origin,
        fields: Mapping[str, Field],
        languages: dict[str, tuple[str, Origin]],
        locales: frozenset[Locale] = frozenset(),
    ) -> None:
        self.mapping, self.origin, self.fields = mapping, origin, fields
        self.languages, self.locales = languages, locales
        self.problems: list[DataError] = []

    def problem(self, name: str, message: str, hint: str | None = None) -> None:
        """Note what is wrong with a field, by the cell that it comes from."""
        _, origin, column = self.fields.get(name, Field("", self.origin, name))
        self.problems.append(origin.problem(message, column, hint))

    def has(self, name: str) -> bool:
        """Whether the mapping says where the field comes from."""
        return name in self.fields or name in self.mapping.constants

    def names(self) -> tuple[str, ...]:
        """Return the fields that the mapping says."""
        return tuple(name for name in (*self.fields, *self.mapping.constants) if name not in TURNS)

    def text(self, name: str, default: str = "") -> str:
        """Return a field's text, stripped, in the mapping's other words for it; ``default`` where there is none."""
        if name in self.mapping.constants:
            constant = self.mapping.constants[name]
            return constant if isinstance(constant, str) else "; ".join(constant)
        if name not in self.fields:
            return default
        cell = self.fields[name].cell
        if isinstance(cell, tuple):
            self.problem(name, "is a list, but one text is needed.")
            return default
        return self._in_words(name, cell.strip()) or default

    def _in_words(self, name: str, text: str) -> str:
        """Return a text in the mapping's other words for it."""
        words = self.mapping.values.get(name)
        if words is None or not text:
            return text
        others = words.get(OTHERS)
        if text not in words and others is None:
            self.problem(name, f"{text!r} is not among the values of {name!r} in the mapping.", nearest(text, words))
        return words.get(text, text if others in (None, OTHERS) else str(others))

    def needed(self, name: str) -> str:
        """Return a field's text, and note when it is empty."""
        text = self.text(name)
        if not text and self.has(name) and not self.problems:
            self.problem(name, "is empty.", "Every row needs one.")
        return text

    def items(self, name: str) -> list[str]:
        """Return the texts of a list's cell, parted as the mapping says, without the empty ones."""
        cell = self.fields[name].cell if name in self.fields else self.mapping.constants.get(name, "")
        sign = self.mapping.separators.get(name, ";")
        parts: Any = cell.split(sign) if isinstance(cell, str) else cell
        if isinstance(cell, str) and (sign == JSON_LIST or cell.lstrip().startswith("{")):
            parts = written_value(cell) if cell.strip() else []
            if isinstance(parts, dict):  # {"A": …, "B": …}, in the order of its keys
                parts = [parts[key] for key in sorted(parts)]
            if self.mapping.form == "opinions/survey" and isinstance(parts, list):
                parts = list(map(str, parts))
            if not isinstance(parts, list) or not all(isinstance(one, str) for one in parts):
                message = "is no JSON list or object of texts."
                self.problem(name, message, 'Such as ["tea", "coffee"]; else name its separator.')
                return []
        return [self._in_words(name, part.strip()) for part in parts if part.strip()]

    def culture_and_language(self) -> dict[str, str]:
        """Return culture and language as far as the row says them, by their own columns or by its locale."""
        whose_data = {name: self.needed(name) for name in ("culture", "language") if self.has(name)}
        if self.has("locale"):
            text = self.needed("locale")
            named = self.mapping.values.get("culture", {}) if "culture" not in self.fields else {}
            language = whose_data.get("language") or language_of(text)
            culture = named.get(text) or country_of(text, language, self.locales)
            if text and not (culture and language):
                hint = f"Write under 'values: culture:' whose it is ({text}: …)."
                hint = hint if language else "Locales are like 'es-MX'; else take culture and language from columns."
                what = "may be of more than one" if locale_of(text, language) in self.locales else "is no"
                self.problem("locale", f"{text!r} {what} language and country that Kapwa knows.", hint)
            whose_data = {"culture": culture, "language": language, **whose_data}
            spoken = canonical(whose_data["language"])
            known, first = self.languages.setdefault(whose_data["culture"], (spoken, self.origin))
            if culture and known != spoken:
                message = f"{culture!r} is the culture of the languages {known!r} (row {first.row}) and {spoken!r}."
                self.problem("locale", message, "Give each a name of its own under 'values: culture:'.")
        return {name: value for name, value in whose_data.items() if value}


def convert(mapping: ColumnMapping, folder: Path) -> Converted:
    """Read every table of the mapping in ``folder``, and lay its sound rows out as those of the form."""
    reading = Reading(mapping, folder)
    converted = Converted(problems=reading.problems, left_out=reading.left_out, oddities=reading.oddities)
    languages: dict[str, tuple[str, Origin]] = {}
    rows = [(origin, at_step) for origin, fields in reading.rows() for at_step in _at_steps(mapping, origin, fields)]
    locales = _clashing_locales(mapping, rows)
    for origin, fields in rows:
        row = MappedRow(mapping, origin, fields, languages, locales)
        _LAYOUTS[mapping.form](row, converted)
        for problem in row.problems:
            reading.bad_row(problem)
        converted.rows += 1
    if not converted.tables:  # a suite of nothing is no suite
        converted.problems += converted.left_out
    return converted


def _at_steps(mapping: ColumnMapping, origin: Origin, fields: Mapping[str, Field]) -> Iterator[Mapping[str, Field]]:
    """Yield the fields of a row at each step of the mapping's ladder, a group; as they are where it has no steps."""
    if not mapping.steps:
        yield fields
    name = fields.get("id") or Field(f"{origin.path.stem}-{origin.row}", origin, "id")
    for step, columns in mapping.steps.items():
        texts = {field: fields[f"{step}/{field}"] for field in columns}
        named = {"id": name._replace(cell=f"{name.cell}-{step}"), "step": name._replace(cell=step)}
        yield {"group": name, **fields, **texts, **named}


def _clashing_locales(mapping: ColumnMapping, rows: Iterable[tuple[Origin, Mapping[str, Field]]]) -> frozenset[Locale]:
    """Return the locales of all rows whose territories clash with ISO 3166-1: what one means, the others say."""
    read = (MappedRow(mapping, origin, fields, {}) for origin, fields in rows)
    pairs = {(row.text("locale"), row.text("language")) for row in read if row.has("locale")}
    return clashing(filter(None, (locale_of(*pair) for pair in pairs)))


def lay_short_answers(row: MappedRow, to: Converted) -> None:
    """A question, and each different answer that counts as right; how many people gave it, nobody says."""
    texts = {name: row.text(name) for name in ("local", "english") if row.has(name)}
    if not any(texts.values()):
        row.problem(next(iter(texts), "local"), "is empty.", "Every row needs a question.")
    answers, english = row.items("answers"), row.items("answers_en")
    if not answers and not row.problems:
        row.problem("answers", "holds no answer.", "Name the answers that count as right, or leave the row out.")
    if english and len(english) != len(answers):
        hint = "Give one for each answer, or none; an answer that holds the separator needs another one (separators)."
        row.problem("answers_en", f"has {len(english)} texts for {len(answers)} answers.", hint)
    names = [name for name in row.names() if name not in ("answers", "answers_en", "locale", *texts)]
    cells = {name: row.text(name) for name in names} | row.culture_and_language() | texts
    cells.setdefault("topic", NO_TOPIC)
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    cells |= _talk(row, texts.values())
    if row.problems:
        return
    to.add("questions", cells, row)
    whose = {"id": cells["id"], **({"culture": cells["culture"]} if "culture" in cells else {})}
    # Kapwa's own lists of what is no answer are looked at where the form is read, so that a check tells of the row.
    skipped = {text.casefold() for text in row.mapping.non_answers}
    real = {text.removeprefix("!") for text in skipped if text.startswith("!")}
    folded = [answer.casefold() for answer in answers]
    for place in map(folded.index, dict.fromkeys(folded)):
        if folded[place] in skipped:
            continue
        group: dict[str, Any] = {"local": [answers[place]], "english": english[place : place + 1]}
        if real:
            group["is_answer"] = "yes" if folded[place] in real else ""
        to.add("answers", {**whose, **group}, row)


def _talk(row: MappedRow, questions: Iterable[str]) -> dict[str, str]:
    """The media, and the conversation before the question, perhaps of two lists whose last turn is the question."""
    talk = {name: row.text(name) for name in ("messages", "media") if row.has(name)}
    if not any(row.has(name) for name in TURNS):
        return talk
    roles, contents = (row.items(name) for name in TURNS)
    if len(roles) != len(contents):
        row.problem(TURNS[1], f"has {len(contents)} texts for {len(roles)} roles.", "Every turn needs both.")
    turns = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]
    if turns and turns[-1]["role"] == "user" and turns[-1]["content"] in questions:
        turns.pop()
    # Errors about the turns stand where their texts do.
    row.fields = {**row.fields, "messages": row.fields.get(TURNS[1], Field("", row.origin, TURNS[1]))}
    return {**talk, "messages": json.dumps(turns, ensure_ascii=False)}


def _numbered(row: MappedRow) -> str:
    return f"{row.origin.path.stem}-{row.origin.row}"


def lay_multiple_choice(row: MappedRow, to: Converted) -> None:
    """The options, the letter of the right one, and whose they are as far as the table says."""
    options = _options(row)
    whose_data = row.culture_and_language()
    country = row.needed("country") if row.has("country") else whose_data.get("culture", "")
    question = row.needed("question")
    letters = _letters(row, options) if not row.problems else []
    talk = _talk(row, [question])
    row_id = row.needed("id") if row.has("id") else _numbered(row)
    if row.problems:
        return
    # A country has one question of an id; tables often number their questions anew for each.
    name = row_id if row_id.startswith(f"{country}/") else f"{country}/{row_id}"
    cells = {
        **{"id": name, "country": country, "question_id": row.text("question_id", row_id)},
        **{"topic": row.text("topic", NO_TOPIC), "question": question, "answer": ",".join(letters), "variant": "0"},
        **dict(zip(OPTIONS, options, strict=False)),
        **({"language": whose_data["language"]} if whose_data.get("language") else {}),
        **{field: row.text(field) for field in ("group", "step", "options_are") if row.has(field)},
        **talk,
    }
    for place in ALL_LETTERS[: len(options)]:
        cells[f"culture_{place}"] = row.text(f"culture_{place}", country if place in letters else "")
    to.add("mcq", cells, row)


def _options(row: MappedRow) -> list[str]:
    """The texts of the options, A first; a row may have fewer than others, but leaves out none between two."""
    if row.has("options"):
        options = row.items("options")
        if not 2 <= len(options) <= len(OPTIONS) and not row.problems:
            hint = "The mapping's separators say what parts them (options: …)."
            row.problem("options", f"has {len(options)} options, not 2 to {len(OPTIONS)}.", hint)
        return options
    texts = {name: row.text(name) for name in OPTIONS if row.has(name)}
    filled = [name for name, text in texts.items() if text]
    empty = next((name for name in OPTIONS[: max(len(filled), 2)] if not texts.get(name)), None)
    if empty and not row.problems:
        row.problem(empty, "is empty.", "A question has two options or more, and no letter between two is left out.")
    return [texts[name] for name in filled]


def _letters(row: MappedRow, options: list[str]) -> list[str]:
    """The letters of the right options, each from a letter, a number or the option's text.

    Several stand in a list, or in a cell parted by commas or the mapping's separator; a text may hold commas itself.
    """
    how, field = row.mapping.answer_is, row.fields.get("answer")
    if "answer" in row.mapping.separators or (field and isinstance(field.cell, tuple)):
        several = row.items("answer")
        if not several and not row.problems:
            row.problem("answer", "is empty.", "Every row needs one.")
    else:
        written = row.needed("answer")
        several = [written] if how == "text" else re.split(r"\s*[,;]\s*", written)
    return sorted(_letter(row, options, text) for text in several if text)


def _letter(row: MappedRow, options: list[str], written: str) -> str:
    how = row.mapping.answer_is
    if how == "text":
        known = list(options)
    elif how == "letter":
        known = list(ALL_LETTERS[: len(options)])
    else:
        known = [str(i + int(how[-1])) for i in range(len(options))]
    sought = written.strip("().").upper() if how == "letter" else written
    matching = [i for i, answer in enumerate(known) if answer == sought]
    if len(matching) != 1:
        hint = f"{nearest(written, known)} The mapping says that it is a {how} (answer_is)."
        row.problem("answer", f"{written!r} names no option.", hint)
        return ""
    return ALL_LETTERS[matching[0]]


def lay_situation(row: MappedRow, to: Converted) -> None:
    """A situation with its responses; a row without cluster is a cluster of its own."""
    single = [name for name in row.names() if name not in (*LISTS["kalahi"], "locale", "culture", "language")]
    cells: dict[str, object] = {name: row.text(name) for name in single}
    cells |= {name: row.items(name) for name in LISTS["kalahi"] if row.has(name)}
    cells |= row.culture_and_language()
    cells |= _talk(row, [str(cells["context"])])
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    cells.setdefault("cluster", cells["id"])
    cells.setdefault("category", NO_TOPIC)
    cells.setdefault("topic", NO_TOPIC)
    if not row.problems:
        to.add("situations", cells, row)


def lay_opinions(row: MappedRow, to: Converted) -> None:
    """A question with how people of one culture answered, or those of each (``selections``)."""
    single = [
        name for name in FIELDS["opinions/survey"] if name not in (*LISTS["opinions/survey"], "selections", "locale")
    ]
    cells: dict[str, Any] = {name: row.text(name) for name in single if row.has(name)}
    cells |= row.culture_and_language()
    cells |= {name: row.items(name) for name in LISTS["opinions/survey"] if row.has(name)}
    cells["question_id"] = row.needed("question_id") if row.has("question_id") else _numbered(row)
    by_culture: Any = {cells.get("culture", ""): None}
    if row.has("selections"):
        by_culture = written_value(row.text("selections"))
        row.fields = {"shares": row.fields["selections"], **row.fields}  # where errors about them stand
        lists = list(by_culture.values()) if isinstance(by_culture, dict) else []
        if not lists or not all(isinstance(numbers, list) for numbers in lists):
            hint = 'Such as {"Kenya": [0.4, 0.6], "Peru": [0.5, 0.5]}.'
            row.problem("selections", "holds no list of numbers for each culture.", hint)
    if row.problems:
        return
    for culture, numbers in by_culture.items():
        shares = {} if numbers is None else {"shares": list(map(str, numbers))}
        to.add("opinions", cells | shares | ({"culture": str(culture)} if culture else {}), row)


def lay_long_question(row: MappedRow, to: Converted) -> None:
    """A question with its criteria; those of a constant are asked of every answer."""
    names = [name for name in columns_of(LongQuestion) if name not in ("culture", "language") and row.has(name)]
    lists = LISTS["longform/criteria"]
    cells: dict[str, object] = {name: row.items(name) if name in lists else row.text(name) for name in names}
    cells |= row.culture_and_language()
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    cells |= _talk(row, [str(cells["question"])])
    if not row.problems:
        to.add("longform", cells, row)


_LAYOUTS: Mapping[Form, Callable[[MappedRow, Converted], None]] = {
    "kalahi": lay_situation,
    "longform/criteria": lay_long_question,
    "blend/saq": lay_short_answers,
    "blend/mcq": lay_multiple_choice,
    "opinions/survey": lay_opinions,
}


_LOCALE = re.compile(r"(?:([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?[-_])?((?<=[-_])[A-Za-z]{2}|[A-Z]{2})")


def language_of(text: str) -> str:
    """Return the language of a locale whatever its country is ("su" of "su-JB"); "" where it names none."""
    match = _LOCALE.fullmatch(text.strip())
    return "" if match is None or not match[1] else match[1].lower() + (f"-{match[2].title()}" if match[2] else "")


def locale_of(text: str, language: str = "") -> Locale | None:
    """Return language and territory of "es-MX", "es_MX", "zh-Hant-TW" or "MX"; None where it is no locale.

    ``language``: what is spoken, where the locale does not say.
    """
    match = _LOCALE.fullmatch(text.strip())
    return (canonical(language_of(text) or language), match[3].upper()) if match else None


def country_of(text: str, language: str = "", locales: frozenset[Locale] = frozenset()) -> str:
    """Return the culture of a locale; "" where it is none or of no known country.

    See :func:`locale_of` and, for ``locales``, :func:`kapwa.suites.blend.questions.culture_of`.
    """
    locale = locale_of(text, language)
    return culture_of(*locale, locales) if locale else ""
