"""How a question is put to a model: directly or to a persona, in the local language or in English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from kapwa.datasets.lost_letters import WrittenText
from kapwa.datasets.packs import DataSet
from kapwa.datasets.rows import Filled, RowModel, Text, known_columns
from kapwa.errors import UsageError, nearest
from kapwa.languages.codes import name_of
from kapwa.suites.blend.questions import Region
from kapwa.suites.blend.variants import LANGUAGES, PROMPTS, SAQ_VARIANTS, AskedIn
from kapwa.tables import TextTable

SLOT = "{q}"

# Signs alone around a question, such as its question mark, say nothing of a language.
_WORDED = re.compile(r"[^\W\d_]|\?{2}")
_COLONS = (":", "：")
# Stands for every culture of the pack.
_EVERY = "*"

# For data that brings no prompts; {country} is filled in, and only the English ones can be offered.
_DEFAULTS = {
    PROMPTS[0]: "Give one short answer to this question, without explaining it.\n\nQuestion: {q}\nAnswer:",
    PROMPTS[1]: (
        "You live in {country} and a visitor from abroad asks you about everyday life there. Give one short "
        "answer, without explaining it.\n\n{q}"
    ),
}


def default_prompts(country: str) -> dict[str, str]:
    """Return the English prompts, by id, for data without prompts; ``country``: its name as used in a sentence."""
    return {key: text.replace("{country}", country) for key, text in _DEFAULTS.items()}


class PromptTemplate(NamedTuple):
    """One prompt with ``{q}`` where the question goes, in English and in the local language; "" where absent."""

    english: str
    local: str


class PromptRow(RowModel):
    """One prompt of a pack; ``{q}`` marks the place of the question. A row without a culture is for all cultures."""

    id: Filled = Field(description="The prompt's id, such as inst-4.")
    english: str = Field(description="The prompt in English; {q} is the question.")
    local: str = Field(description="The prompt in the local language; {q} is the question.")
    culture: Text = Field("", description="Whose prompt it is; empty: everybody's.")


class ReleasedPromptRow(RowModel):
    """One prompt of the released files; other columns of theirs are read nowhere."""

    id: Filled
    english: str = Field(alias="English")
    local: str = Field(alias="Translation")
    culture: SkipJsonSchema[Text] = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The local text and the English one."""
        return self.local.strip(), self.english.strip()


Templates = dict[tuple[str, str], PromptTemplate]


class PromptBook:
    """The prompts of each country of a data set; ``every_id``: their ids, in the order they first come."""

    def __init__(self, regions: Iterable[Region], templates: Mapping[tuple[str, str], PromptTemplate]) -> None:
        self._regions = {region.country: region for region in regions}
        owned: dict[str, dict[str, PromptTemplate]] = {}
        for (owner, prompt_id), template in templates.items():
            owned.setdefault(owner, {})[prompt_id] = template
        self._templates = {
            country: (owned.get("", {}) | owned.get(country, {}))
            or {key: PromptTemplate(text, "") for key, text in default_prompts(region.name).items()}
            for country, region in self._regions.items()
        }
        ids = [prompt_id for templates in self._templates.values() for prompt_id in templates]
        self.every_id = tuple(dict.fromkeys(ids))
        self._prefixes: dict[tuple[str, AskedIn, str], tuple[str, ...]] = {}
        self._rendered: dict[tuple[str, AskedIn, str], str] = {}

    def ids(self, country: str) -> tuple[str, ...]:
        """Return the ids of a country's prompts, in file order."""
        return tuple(self._templates.get(country, ()))

    def template(self, country: str, asked_in: AskedIn, prompt_id: str) -> str:
        """Return one template; raise UsageError where the data has none of that id or in that language."""
        if country not in self._regions:
            raise UsageError(f"The data holds no country {country!r}.", hint=nearest(country, self._regions))
        text = self.find(country, asked_in, prompt_id)
        if not text and prompt_id not in self._templates[country]:
            raise UsageError(f"{country} has no prompt {prompt_id!r}.", hint=nearest(prompt_id, self.ids(country)))
        if not text:
            name = name_of(self._regions[country].language if asked_in == "local" else "en")
            hint = f"Ask in the other language, or add the prompt to prompts.csv (a template with {SLOT})."
            raise UsageError(f"{country} has no prompt {prompt_id!r} in {name}.", hint=hint)
        return text

    def find(self, country: str, asked_in: AskedIn, prompt_id: str) -> str:
        """Return one template of a country that is asked; "" where the data has none of that id or in that language."""
        template = self._templates[country].get(prompt_id, PromptTemplate("", ""))
        if self._regions[country].language == "en":  # the local language is English: either text is in it
            return (template.english or template.local) if asked_in == "en" else (template.local or template.english)
        return template.english if asked_in == "en" else template.local

    def render(self, country: str, asked_in: AskedIn, prompt_id: str, question: str) -> str:
        """Put ``question`` into a template; every ``{q}`` is filled, other braces are left alone."""
        key = country, asked_in, prompt_id
        if key not in self._rendered:  # every question of a country has the same
            self._rendered[key] = self.template(*key)
        return self._rendered[key].replace(SLOT, question)

    def reply_prefixes(self, country: str, asked_in: AskedIn, prompt_id: str) -> tuple[str, ...]:
        """Return labels such as "Answer:" that a reply may begin with, the prompt's own first.

        They are what the country's templates end in, in either language: a model asked as a persona, or in one
        language, may still begin as another prompt of the same file would have it.
        """
        key = country, asked_in, prompt_id
        if key not in self._prefixes:
            pairs = [(template.local, template.english) for template in self._templates[country].values()]
            sides = (pair if asked_in == "local" else pair[::-1] for pair in pairs)
            asked_in_texts, other_texts = zip(*sides, strict=True)
            ordered = (self.template(*key), *asked_in_texts, *other_texts)
            self._prefixes[key] = tuple(dict.fromkeys(filter(None, map(answer_label, ordered))))
        return self._prefixes[key]


@cache
def answer_label(template: str) -> str:
    """Return the label that a template leaves for the reply to follow ("Answer:"); "" when it has none."""
    after = template.rpartition(SLOT)[2].strip()
    last = after.rpartition("\n")[2].strip()
    return last if last.endswith(_COLONS) else ""


def default_variants(prompt_ids: Sequence[str]) -> tuple[str, ...]:
    """Return both languages by the direct prompt, or by the first of ``prompt_ids`` where data have no such prompt."""
    prompt = next(iter(prompt_ids), PROMPTS[0]) if PROMPTS[0] not in prompt_ids else PROMPTS[0]
    return tuple(f"{language}/{prompt}" for language in LANGUAGES)


def split_variant(variant: str) -> tuple[AskedIn, str]:
    """Take a variant's name apart; raise UsageError when it is not ``local/ID`` or ``en/ID``."""
    asked_in, _, prompt_id = variant.partition("/")
    for known in LANGUAGES:
        if asked_in == known and prompt_id:
            return known, prompt_id
    raise UsageError(f"There is no variant {variant!r}.", hint=f"{nearest(variant, SAQ_VARIANTS)} (language/prompt)")


def read_prompts(data: DataSet, path: Path, country: str = "") -> Templates:
    """Read a prompt file, a pack's (:class:`PromptRow`) or a released one, and return its templates by culture and id.

    ``country``: whose prompts a released file holds. The first of two rows with one id counts, as in the released
    code; the other is an oddity. Every problem is kept in ``data``.
    """
    table = data.read_table(path)
    data.tables.remove(table)
    model: type[PromptRow] | type[ReleasedPromptRow] = PromptRow
    if "English" in table.header:
        model, table = ReleasedPromptRow, known_columns(table, ReleasedPromptRow)
    first: dict[tuple[str, str], int] = {}
    templates: Templates = {}
    for row in data.read(table, model, {"culture": country or _EVERY}, what="a prompt file"):
        number, key = row.origin.row, ("" if row.culture == _EVERY else row.culture, row.id)
        # Only line breaks at the end are dropped; a space there stays, for the released prompts are asked as they are.
        texts = {"english": row.english.rstrip("\n"), "local": row.local.rstrip("\n")}
        template = PromptTemplate(**{side: text if SLOT in text else "" for side, text in texts.items()})
        if not any(template):
            data.problems.append(
                row.origin.problem(f"the prompt {row.id!r} has no {SLOT}, so it would ask nothing.", "id")
            )
            continue
        for side in (side for side, text in texts.items() if text != getattr(template, side)):
            message = f"the {side} text of the prompt {row.id!r} has no {SLOT}: it cannot be used in that language"
            data.oddities.append(row.origin.finding("warning", message, "id"))
        if first.setdefault(key, number) == number:
            templates[key] = template
            continue
        same = template == templates[key]
        copy = "copy" if same else "other text"
        message = f"the prompt {row.id!r} is already in row {first[key]}; this {copy} is not read"
        data.oddities.append(row.origin.finding("note" if same else "warning", message, "id"))
    return templates


def written_prompts(table: TextTable, languages: Mapping[str, str]) -> Iterator[WrittenText]:
    """Yield the texts of a pack's prompts around the place of the question, with the language they should be in.

    ``languages``: each culture's; a row that names no culture is of all, and its language is known where they share it.
    """
    shared = next(iter(languages.values())) if len(set(languages.values())) == 1 else ""
    for record in table.records:
        local_language = languages.get(str(record.cells.get("culture", "")).strip(), shared)
        for side, language in (("local", local_language), ("english", "en")):
            text = str(record.cells.get(side, "")).replace(SLOT, "")
            if _WORDED.search(text):
                yield WrittenText(table.path, record.row, side, language, text, prose=True)
