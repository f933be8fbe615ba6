"""How a question is put to a model: directly or to a persona, in the local language or in English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.suites.base import Finding
from kapwa.suites.blend.questions import AskedIn
from kapwa.suites.blend.regions import Region, language_name
from kapwa.suites.reading.cells import column_problems
from kapwa.suites.reading.letters import Written
from kapwa.suites.reading.tables import Record, Table, read_records

SLOT = "{q}"
DIRECT, PERSONA = "inst-4", "pers-3"
PROMPT_IDS = (DIRECT, PERSONA)
ASKED_IN: tuple[AskedIn, ...] = ("local", "en")
VARIANTS = tuple(f"{asked_in}/{prompt_id}" for prompt_id in PROMPT_IDS for asked_in in ASKED_IN)

# The columns of a pack's prompts.csv, and what the released files call them.
COLUMNS = ("id", "english", "local")
_RELEASED_NAMES = {"english": "English", "local": "Translation"}
# Written in some of the released files; what they hold is read nowhere.
_RELEASED_EXTRA = ("G-Translation", "Edited Y/N", "Edited")
_COLONS = (":", "：")
# Signs alone around a question, such as its question mark, say nothing of a language.
_WORDED = re.compile(r"[^\W\d_]|\?{2}")

# For data that brings no prompts; {country} is filled in, and only the English ones can be offered.
_DEFAULTS = {
    DIRECT: "Give one short answer to this question, without explaining it.\n\nQuestion: {q}\nAnswer:",
    PERSONA: (
        "You live in {country} and a visitor from abroad asks you about everyday life there. Give one short "
        "answer, without explaining it.\n\n{q}"
    ),
}


class Template(NamedTuple):
    """One prompt with ``{q}`` where the question goes, in English and in the local language; "" where absent."""

    english: str
    local: str


@dataclass
class PromptFile:
    """A prompt file's templates by culture ("" for all) and id, the problems, and the oddities."""

    templates: dict[tuple[str, str], Template] = field(default_factory=dict)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)


class PromptBook:
    """The prompts of each country of a data set."""

    def __init__(self, regions: Iterable[Region], templates: Mapping[tuple[str, str], Template]) -> None:
        self._regions = {region.country: region for region in regions}
        self._templates: dict[str, dict[str, Template]] = {"": {}}
        for (owner, prompt_id), template in templates.items():
            self._templates.setdefault(owner, {})[prompt_id] = template
        shared = self._templates.pop("")
        for country, region in self._regions.items():
            own = shared | self._templates.get(country, {})
            self._templates[country] = own or _defaults(region)
        self._prefixes: dict[tuple[str, AskedIn, str], tuple[str, ...]] = {}

    def ids(self, country: str) -> tuple[str, ...]:
        """Return the ids of a country's prompts, in file order."""
        return tuple(self._templates.get(country, ()))

    def template(self, country: str, asked_in: AskedIn, prompt_id: str) -> str:
        """Return one template; raise UsageError where the data has none of that id or in that language."""
        if country not in self._regions:
            raise UsageError(f"The data holds no country {country!r}.", hint=nearest(country, self._regions))
        found = self._templates[country].get(prompt_id)
        if found is None:
            raise UsageError(f"{country} has no prompt {prompt_id!r}.", hint=nearest(prompt_id, self.ids(country)))
        region = self._regions[country]
        text = found.english if asked_in == "en" else found.local
        if not text and region.language == "en":  # the local language is English: either text is in it
            text = found.english or found.local
        if not text:
            name = language_name(region.language if asked_in == "local" else "en")
            hint = f"Ask in the other language, or add the prompt to prompts.csv (a template with {SLOT})."
            raise UsageError(f"{country} has no prompt {prompt_id!r} in {name}.", hint=hint)
        return text

    def render(self, country: str, asked_in: AskedIn, prompt_id: str, question: str) -> str:
        """Put ``question`` into a template; every ``{q}`` is filled, other braces are left alone."""
        return self.template(country, asked_in, prompt_id).replace(SLOT, question)

    def template_hash(self, country: str, asked_in: AskedIn, prompt_id: str) -> str:
        """Hash one template, for signatures: 16 hex digits."""
        return digest({"template": self.template(country, asked_in, prompt_id).encode()})

    def signature(self, keys: Iterable[tuple[str, AskedIn, str]]) -> str:
        """Hash the templates of several (country, language, id), whatever their order: 16 hex digits."""
        return digest({"\0".join(key): self.template(*key).encode() for key in keys})

    def reply_prefixes(self, country: str, asked_in: AskedIn, prompt_id: str) -> tuple[str, ...]:
        """Return labels such as "Answer:" that a reply may begin with, the prompt's own first.

        They are what the country's templates end in, in either language: a model asked as a persona, or in one
        language, may still begin as another prompt of the same file would have it.
        """
        key = (country, asked_in, prompt_id)
        if key not in self._prefixes:
            ordered = [self.template(*key)]
            others = self._templates[country].values()
            ordered += [template.local if asked_in == "local" else template.english for template in others]
            ordered += [template.english if asked_in == "local" else template.local for template in others]
            self._prefixes[key] = tuple(dict.fromkeys(filter(None, map(answer_label, ordered))))
        return self._prefixes[key]


def _defaults(region: Region) -> dict[str, Template]:
    return {key: Template(text.replace("{country}", region.name), "") for key, text in _DEFAULTS.items()}


def answer_label(template: str) -> str:
    """Return the label that a template leaves for the reply to follow ("Answer:"); "" when it has none."""
    after = template.rpartition(SLOT)[2].strip()
    last = after.rpartition("\n")[2].strip()
    return last if last.endswith(_COLONS) else ""


def variant_name(asked_in: AskedIn, prompt_id: str) -> str:
    """Name a variant of an item: "local/inst-4"."""
    return f"{asked_in}/{prompt_id}"


def split_variant(variant: str) -> tuple[AskedIn, str]:
    """Take a variant's name apart; raise UsageError when it is not ``local/ID`` or ``en/ID``."""
    asked_in, _, prompt_id = variant.partition("/")
    for known in ASKED_IN:
        if asked_in == known and prompt_id:
            return known, prompt_id
    raise UsageError(f"There is no variant {variant!r}.", hint=f"{nearest(variant, VARIANTS)} (language/prompt)")


def read_prompts(path: Path, country: str = "") -> PromptFile:
    """Read a prompt file, the form's (``id,english,local`` and perhaps ``culture``) or a released one.

    ``country``: whose prompts a released file holds. The first of two rows with one id counts, as in the released
    code; the other is an oddity.
    """
    table = read_records(path)
    released = "English" in table.header
    known = (*COLUMNS, "culture") if not released else ("", "id", *_RELEASED_NAMES.values(), *_RELEASED_EXTRA)
    required = COLUMNS if not released else ("id", *_RELEASED_NAMES.values())
    file = PromptFile(problems=[*table.problems, *column_problems(table, required, known, "a prompt file")])
    if not file.problems:
        _read_rows(file, table, country, _RELEASED_NAMES if released else {})
    return file


def written_prompts(path: Path, languages: Mapping[str, str]) -> Iterator[Written]:
    """Yield the texts of a pack's prompts around the place of the question, with the language they should be in.

    ``languages``: each culture's; a row that names no culture is of all, and its language is known where they share it.
    """
    shared = next(iter(languages.values())) if len(set(languages.values())) == 1 else ""
    for record in read_records(path).records:
        own = languages.get(str(record.cells.get("culture", "")).strip(), shared)
        for side, language in (("local", own), ("english", "en")):
            text = str(record.cells.get(side, "")).replace(SLOT, "")
            if _WORDED.search(text):
                yield Written(path, record.row, side, language, text, prose=True)


def _read_rows(file: PromptFile, table: Table, country: str, names: Mapping[str, str]) -> None:
    first: dict[tuple[str, str], int] = {}
    for record in table.records:
        cells = {name: str(record.cells.get(names.get(name, name), "")) for name in (*COLUMNS, "culture")}
        key = (cells["culture"].strip() or country, cells["id"].strip())
        texts = {side: _unended(cells[side]) for side in ("english", "local")}
        template = Template(**{side: text if SLOT in text else "" for side, text in texts.items()})
        problem = _template_problem(key[1], template)
        if problem:
            file.problems.append(DataError(problem, path=table.path, row=record.row, column="id"))
            continue
        file.oddities += _slotless(
            table, record, key[1], [side for side in texts if texts[side] != getattr(template, side)]
        )
        if key in first:
            file.oddities.append(_repeated(table, record, key[1], first[key], template == file.templates[key]))
        else:
            first[key] = record.row
            file.templates[key] = template


def _template_problem(prompt_id: str, template: Template) -> str | None:
    if not prompt_id:
        return "is empty."
    return None if any(template) else f"the prompt {prompt_id!r} has no {SLOT}, so it would ask nothing."


def _slotless(table: Table, record: Record, prompt_id: str, sides: Sequence[str]) -> Iterator[Finding]:
    for side in sides:
        message = f"the {side} text of the prompt {prompt_id!r} has no {SLOT}: it cannot be used in that language"
        yield Finding("warning", str(table.path), message, record.row, "id")


def _repeated(table: Table, record: Record, prompt_id: str, row: int, same: bool) -> Finding:
    message = f"the prompt {prompt_id!r} is already in row {row}; this {'copy' if same else 'other text'} is not read"
    return Finding("note" if same else "warning", str(table.path), message, record.row, "id")


def _unended(text: str) -> str:
    """Drop line breaks at the end; a space there stays, for the released prompts are asked as they are."""
    return text.rstrip("\n") if text.strip() else ""
