"""Read questions from wherever they are: sample packs, pack folders, the released folder, the hub."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.suites.base import DataSource, Finding
from kapwa.suites.blend import hub
from kapwa.suites.blend.card import release_card
from kapwa.suites.blend.form import read_pack
from kapwa.suites.blend.prompts import PromptBook, PromptFile, Template, read_prompts, written_prompts
from kapwa.suites.blend.questions import Entry, Question
from kapwa.suites.blend.regions import COUNTRIES, Region, region_of
from kapwa.suites.blend.released import CountryFiles, find_release, prompt_files, read_country
from kapwa.suites.reading.card import CARD_NAME, read_card
from kapwa.suites.reading.cells import UNKNOWN_HOME, Home
from kapwa.suites.reading.letters import lost_letters
from kapwa.suites.reading.naming import SAMPLE, existing, no_such_data, odd_names
from kapwa.suites.reading.tables import Table, read_records

__all__ = ["PACKS", "BlendData", "Reading", "is_question_data", "load", "load_path", "read_data", "read_questions"]

PACKS = Path(__file__).parent / "packs"
PROMPT_FILE = "prompts.csv"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".xlsx")
_TABLES = ("questions", "answers")


@dataclass(frozen=True, slots=True)
class BlendData:
    """A data set as the tasks use it: its questions, how they are put, and where they came from."""

    questions: list[Question]
    prompts: PromptBook
    source: DataSource


@dataclass
class Reading:
    """What was read: questions with the rows they came from, prompts, cards, and all that is wrong or odd."""

    name: str
    path: Path | None
    entries: list[Entry] = field(default_factory=list)
    templates: dict[tuple[str, str], Template] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    cards: list[Mapping[str, Any]] = field(default_factory=list)
    card_paths: list[Path] = field(default_factory=list)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    released: bool = False

    def regions(self) -> list[Region]:
        """Return the countries there are, in the order read."""
        pairs = dict.fromkeys((entry.question.country, entry.question.language) for entry in self.entries)
        return [region_of(country, language) for country, language in pairs]

    def prompts(self) -> PromptBook:
        """Return the prompts of every country; English defaults for those that bring none."""
        return PromptBook(self.regions(), self.templates)

    def source(self) -> DataSource:
        """Describe where the questions came from; several packs give ``{"packs": [card, …]}``."""
        card = self.cards[0] if len(self.cards) == 1 else {"packs": self.cards} if self.cards else {}
        illustrative = any(bool(one.get("illustrative")) for one in self.cards)
        return DataSource(self.name, self.path, digest(self.files), card, illustrative)


def read_questions(data: str | Path | None) -> tuple[list[Question], DataSource]:
    """Read questions, country by country in file order, and say where they came from; see :func:`read_data`."""
    found = read_data(data)
    return found.questions, found.source


def read_data(data: str | Path | None, prompts: str | Path | None = None) -> BlendData:
    """Read questions, answers and prompts.

    ``data``: None or "sample" (every sample pack), "sample:PACK", a pack folder, a folder of packs, the released
    folder, or a hub id (see :func:`kapwa.suites.blend.hub.hub_id`). ``prompts``: a prompt file or a folder of
    released ones, in place of the data's own.
    Raises UsageError for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    reading = load(data)
    if prompts is not None:
        _replace_prompts(reading, Path(prompts))
    if reading.problems:
        first, others = reading.problems[0], len(reading.problems) - 1
        if others:
            more = f"({others} more problem{'s' * (others > 1)}: 'kapwa data check' lists them all.)"
            first.hint = f"{first.hint} {more}" if first.hint else more
        raise first
    return BlendData([entry.question for entry in reading.entries], reading.prompts(), reading.source())


def load(data: str | Path | None) -> Reading:
    """Find and read ``data``, keeping problems; raise UsageError when there is nothing of that name."""
    text = SAMPLE if data is None else str(data)
    if text == SAMPLE:
        return _load_packs(SAMPLE, PACKS, sample_packs().values())
    if text.startswith(f"{SAMPLE}:"):
        name = text.removeprefix(f"{SAMPLE}:")
        if name not in sample_packs():
            raise UsageError(f"There is no sample pack {name!r}.", hint=nearest(name, sample_packs()))
        return _load_packs(text, PACKS / name, [PACKS / name])
    path = existing(text)
    if path is not None:
        return load_path(path)
    wanted = hub.hub_id(text)
    if wanted is not None:
        fetched = hub.fetch(wanted)
        return _load_folder(fetched.folder, fetched.name)
    raise no_such_data(text, sample_packs(), hub_id=hub.BLEND_ID)


def sample_packs() -> dict[str, Path]:
    """Folders of the packs that ship with Kapwa, by name."""
    return {folder.name: folder for folder in _children(PACKS) if _is_pack(folder)}


def load_path(path: Path) -> Reading:
    """Read a file or folder that exists, keeping every problem."""
    if path.is_dir():
        return _load_folder(path, path.resolve().name)
    if path.name == CARD_NAME or (path.stem in _TABLES and path.suffix in _SUFFIXES):
        return load_path(path.parent)
    hint = "Give the folder that holds annotations/, questions/ and prompts/, or a pack's folder."
    problem = DataError("is one file of several that belong together.", path=path, hint=hint)
    return Reading(path.name, path, problems=[problem])


def is_question_data(path: Path) -> bool:
    """Whether a file or folder is of this form (or the released layout), sound or not."""
    if path.is_file():
        return path.stem in _TABLES and path.suffix in _SUFFIXES and _is_pack(path.parent)
    return path.is_dir() and (bool(find_release(path)) or any(map(_is_pack, [path, *_children(path)])))


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"cannot be listed ({error.strerror}).", path=folder) from None


def _tables_of(folder: Path, role: str) -> list[Path]:
    return [folder / f"{role}{suffix}" for suffix in _SUFFIXES if (folder / f"{role}{suffix}").is_file()]


def _is_pack(folder: Path) -> bool:
    """Whether a folder holds questions, or answers with a card: a table of answers alone may be anybody's."""
    if not folder.is_dir():
        return False
    return bool(_tables_of(folder, "questions") or (_tables_of(folder, "answers") and (folder / CARD_NAME).is_file()))


def _load_folder(path: Path, name: str) -> Reading:
    if _is_pack(path):
        return _load_packs(name, path, [path])
    release = find_release(path)
    if release:
        return _load_release(name, path, release)
    packs = [folder for folder in _children(path) if _is_pack(folder)]
    reading = _load_packs(name, path, packs)
    if not packs:
        hint = "A pack holds card.yaml, questions.csv and answers.csv; see docs/reference/blend-form.md."
        reading.problems.append(DataError("holds no questions.", path=path, hint=hint))
    return reading


def _load_release(name: str, path: Path, release: Sequence[CountryFiles]) -> Reading:
    reading = Reading(name, path, released=True)
    for files in release:
        country = read_country(files)
        reading.entries += country.entries
        reading.problems += country.problems
        reading.oddities += country.oddities
        for file in (files.annotations, files.questions, files.prompts):
            if file is not None:
                _note_bytes(reading, file)
        if files.prompts is not None:
            _add_prompts(reading, read_prompts(files.prompts, files.country))
    if {files.country for files in release} <= set(COUNTRIES):
        reading.cards.append(release_card())
    return reading


def _load_packs(name: str, path: Path, folders: Iterable[Path]) -> Reading:
    reading = Reading(name, path)
    for folder in folders:
        _read_folder(reading, folder)
    _check_across(reading)
    return reading


def _read_folder(reading: Reading, folder: Path) -> None:
    home = _home(reading, folder)
    chosen: list[Path] = []
    for role in _TABLES:
        files = _tables_of(folder, role)
        if len(files) != 1:
            found = " and ".join(file.name for file in files) or f"no table of {role}"
            odd = None if files else odd_names(folder, [role], _SUFFIXES)
            hint = odd or f"Keep one, named {role}.csv."
            reading.problems.append(DataError(f"holds {found}; a pack has exactly one.", path=folder, hint=hint))
        chosen += files[:1]
    tables = [read_records(file) for file in chosen]
    reading.tables += tables
    for file in chosen:
        _note_bytes(reading, file)
    if len(tables) == len(_TABLES):
        pack = read_pack(tables[0], tables[1], home)
        reading.entries += pack.entries
        reading.problems += pack.problems
        reading.oddities += pack.oddities
        _read_pack_prompts(reading, folder, pack.entries)
    else:
        reading.problems += [problem for table in tables for problem in table.problems]


def _read_pack_prompts(reading: Reading, folder: Path, entries: Sequence[Entry]) -> None:
    """Add a pack's prompts; a row without a culture serves every culture of that pack, and of no other."""
    path = folder / PROMPT_FILE
    if not path.is_file():
        return
    _note_bytes(reading, path)
    file = read_prompts(path)
    lost = lost_letters(written_prompts(path, {one.question.country: one.question.language for one in entries}))
    file.problems += lost.problems
    file.oddities += lost.oddities
    cultures = dict.fromkeys(entry.question.country for entry in entries)
    own = {key: template for key, template in file.templates.items() if key[0]}
    shared = {key[1]: template for key, template in file.templates.items() if not key[0]}
    for prompt_id, template in shared.items():
        own |= {(culture, prompt_id): own.get((culture, prompt_id), template) for culture in cultures}
    file.templates = own
    _add_prompts(reading, file)


def _add_prompts(reading: Reading, file: PromptFile) -> None:
    reading.templates |= file.templates
    reading.problems += file.problems
    reading.oddities += file.oddities


def _replace_prompts(reading: Reading, path: Path) -> None:
    reading.templates = {}
    if path.is_dir():
        files = prompt_files(path)
        if not files:
            raise DataError("holds no prompt files (COUNTRY_prompts.csv).", path=path)
        for country, file in files.items():
            _add_prompts(reading, read_prompts(file, country))
            reading.files[f"prompts/{file.name}"] = file.read_bytes()
    else:
        _add_prompts(reading, read_prompts(path))
        _note_bytes(reading, path)


def _home(reading: Reading, folder: Path) -> Home:
    """Culture and language from the folder's card; stand-ins when the card is bad, for its own errors say enough."""
    path = folder / CARD_NAME
    if not path.is_file():
        return Home("", "")
    card, problems = read_card(path)
    reading.problems += problems
    if card:
        reading.cards.append(card.model_dump())
        reading.card_paths.append(path)
    _note_bytes(reading, path)
    return Home(card.culture, card.language) if card else UNKNOWN_HOME


def _note_bytes(reading: Reading, file: Path) -> None:
    # A file that cannot be read is already among the problems.
    with contextlib.suppress(OSError):
        reading.files[_relative(reading, file)] = file.read_bytes()


def _relative(reading: Reading, file: Path) -> str:
    """Name a file within the data, so that the digest does not depend on where the data lies."""
    root = reading.path
    return file.relative_to(root).as_posix() if root and root.is_dir() and file.is_relative_to(root) else file.name


def _check_across(reading: Reading) -> None:
    """A culture's question ids must be unique over all packs, and a culture has one local language."""
    first: dict[tuple[str, str], Entry] = {}
    languages: dict[str, Entry] = {}
    for entry in reading.entries:
        question = entry.question
        mate = first.setdefault((question.country, question.id), entry)
        if mate.path != entry.path:
            message = f"{question.id!r} is also asked of {question.country} in row {mate.row} of {_place(mate)}."
            reading.problems.append(DataError(message, path=entry.path, row=entry.row, column="id"))
        other = languages.setdefault(question.country, entry)
        if other.question.language != question.language:
            message = f"{question.country} is asked in {question.language!r} here, in {other.question.language!r} in "
            hint = "Give the people of another language a culture of their own, such as 'Canada (French)'."
            problem = DataError(f"{message}{_place(other)}.", path=entry.path, row=entry.row, hint=hint)
            reading.problems.append(problem)


def _place(entry: Entry) -> str:
    return f"{entry.path.parent.name}/{entry.path.name}"
