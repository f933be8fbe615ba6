"""Read questions from wherever they are: sample packs, pack folders, the released folder, the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.findings import DataSource
from kapwa.datasets.lost_letters import find_lost_letters
from kapwa.datasets.packs import DataSet, children, locate, odd_names, table_files
from kapwa.datasets.yaml_models import shipped_card
from kapwa.errors import DataError, raise_first
from kapwa.suites.blend.form import read_tables
from kapwa.suites.blend.prompts import PromptBook, Templates, read_prompts, written_prompts
from kapwa.suites.blend.questions import COUNTRIES, CountryQuestion, QuestionEntry, region_of
from kapwa.suites.blend.released import RELEASE_CARD, CountryFiles, find_release, prompt_files, read_country
from kapwa.tables import TABLE_SUFFIXES, read_records

PACKS = Path(__file__).parent / "packs"
PROMPT_FILE = "prompts.csv"
BLEND_ID = "nayeon212/BLEnD"
# The dataset's files themselves are read, not the hub's table builder: free-text keys inside ``idks`` give every
# country another schema, which that builder refuses. Other people's datasets come whole.
ANSWER_FILES = tuple(f"data/{role}{end}/*" for role in ("annotations", "questions", "prompts") for end in ("", "_hf"))
CHOICE_FILES = ("data/mc_questions_hf/*",)
OTHER_FILES = ("*.csv", "*.tsv", "*.json", "*.jsonl", "*.yaml")
_TABLES = ("questions", "answers")


@dataclass(frozen=True, slots=True)
class BlendData:
    """A data set as the tasks use it: its questions, how they are put, and where they came from."""

    questions: list[CountryQuestion]
    prompts: PromptBook
    source: DataSource


@dataclass
class QuestionSurvey(DataSet):
    """Questions with the rows they were read from, prompts, and all problems and oddities."""

    entries: list[QuestionEntry] = field(default_factory=list)
    templates: Templates = field(default_factory=dict)

    def prompts(self) -> PromptBook:
        """Return the prompts of every country; English defaults for those that bring none."""
        pairs = dict.fromkeys((entry.question.country, entry.question.language) for entry in self.entries)
        return PromptBook([region_of(*pair) for pair in pairs], self.templates)


def read_data(data: str | Path | None, prompts: str | Path | None = None) -> BlendData:
    """Read questions country by country in file order, their answers and prompts, and say where they came from.

    ``data``: None or "sample" (every sample pack), "sample:PACK", a pack folder, a folder of packs, the released
    folder, or a hub id (see :func:`kapwa.datasets.packs.hub_id`). ``prompts``: a prompt file or a folder of released
    ones, in place of the data's own.
    Raises UsageError for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    source = locate(data, PACKS, own_dataset=BLEND_ID, patterns=hub_files(data, ANSWER_FILES))
    survey = load_path(source.path, source.name)
    if prompts is not None:
        _replace_prompts(survey, Path(prompts))
    raise_first(survey.problems)
    return BlendData([entry.question for entry in survey.entries], survey.prompts(), survey.source())


def hub_files(data: str | Path | None, files_of_blend: Sequence[str]) -> Sequence[str]:
    """Return which files to fetch of a data set of the hub: those named of BLEnD itself, all tables of any other."""
    return files_of_blend if str(data).removeprefix("hub:").partition("@")[0] == BLEND_ID else OTHER_FILES


def load_path(path: Path, name: str = "") -> QuestionSurvey:
    """Read a file or folder that exists, keeping every problem."""
    if path.name == CARD_NAME or (path.stem in _TABLES and path.suffix in TABLE_SUFFIXES):
        path, name = path.parent, ""
    survey = QuestionSurvey(name or path.resolve().name, path)
    if not path.is_dir():
        hint = "Give the folder that holds annotations/, questions/ and prompts/, or a pack's folder."
        survey.problems.append(DataError("is one file of several that belong together.", path=path, hint=hint))
        return survey
    release = [] if _is_pack(path) else find_release(path)
    if release:
        _read_release(survey, release)
    else:
        packs = [path] if _is_pack(path) else [folder for folder in children(path) if _is_pack(folder)]
        for folder in packs:
            _read_pack(survey, folder)
        if not packs:
            hint = "A pack holds card.yaml, questions.csv and answers.csv; see docs/reference/blend-form.md."
            survey.problems.append(DataError("holds no questions.", path=path, hint=hint))
        _check_across(survey)
    survey.read_labels(dict.fromkeys(entry.question.country for entry in survey.entries))
    return survey


def is_question_data(path: Path) -> bool:
    """Whether a file or folder has this form (or the released layout), with or without errors."""
    if path.is_file():
        return path.stem in _TABLES and path.suffix in TABLE_SUFFIXES and _is_pack(path.parent)
    return path.is_dir() and (bool(find_release(path)) or any(map(_is_pack, [path, *children(path)])))


def _is_pack(folder: Path) -> bool:
    """Whether a folder holds questions, or answers with a card: a table of answers alone may be anybody's."""
    questions, answers = (bool(table_files(folder, role)) for role in _TABLES)
    return questions or (answers and (folder / CARD_NAME).is_file())


def _read_release(survey: QuestionSurvey, release: Sequence[CountryFiles]) -> None:
    for files in release:
        survey.entries += read_country(survey, files)
        for file in (files.annotations, files.questions):
            if file is not None:
                survey.note_file(file)
        if files.prompts is not None:
            survey.templates |= read_prompts(survey, files.prompts, files.country)
    if {files.country for files in release} <= set(COUNTRIES):
        survey.cards.append(shipped_card(RELEASE_CARD).model_dump())


def _read_pack(survey: QuestionSurvey, folder: Path) -> None:
    defaults = survey.read_card(folder)
    tables = []
    for role in _TABLES:
        files = table_files(folder, role)
        if len(files) != 1:
            contents = " and ".join(file.name for file in files) or f"no table of {role}"
            odd = None if files else odd_names(folder, [role], TABLE_SUFFIXES)
            message, hint = f"holds {contents}; a pack has exactly one.", odd or f"Keep one, named {role}.csv."
            survey.problems.append(DataError(message, path=folder, hint=hint))
        tables += [survey.read_table(file) for file in files[:1]]
    if len(tables) < len(_TABLES):
        return
    entries = read_tables(survey, tables[0], tables[1], defaults)
    survey.entries += entries
    _read_pack_prompts(survey, folder / PROMPT_FILE, entries)


def _read_pack_prompts(survey: QuestionSurvey, path: Path, entries: Sequence[QuestionEntry]) -> None:
    """Add a pack's prompts; a row without a culture serves every culture of that pack, and of no other."""
    if not path.is_file():
        return
    templates = read_prompts(survey, path)
    languages = {entry.question.country: entry.question.language for entry in entries}
    lost, odd = find_lost_letters(written_prompts(read_records(path), languages))
    survey.problems += lost
    survey.oddities += odd
    by_country = {key: template for key, template in templates.items() if key[0]}
    for (culture, prompt_id), template in templates.items():
        for country in () if culture else languages:
            by_country.setdefault((country, prompt_id), template)
    survey.templates |= by_country


def _replace_prompts(survey: QuestionSurvey, path: Path) -> None:
    survey.templates = {}
    if not path.is_dir():
        survey.templates = read_prompts(survey, path)
        return
    files = prompt_files(path)
    if not files:
        raise DataError("holds no prompt files (COUNTRY_prompts.csv).", path=path)
    for country, file in files.items():
        survey.templates |= read_prompts(survey, file, country)
        survey.note_file(file, f"prompts/{file.name}")


def _check_across(survey: QuestionSurvey) -> None:
    """A culture's question ids must be unique over all packs, and a culture has one local language."""
    first: dict[tuple[str, str], QuestionEntry] = {}
    languages: dict[str, QuestionEntry] = {}
    for entry in survey.entries:
        question = entry.question
        mate = first.setdefault((question.country, question.id), entry).origin
        if mate is not entry.origin and mate.path != entry.origin.path:
            message = f"{question.id!r} is also asked of {question.country} in row {mate.row} of {mate.pack_file}."
            survey.problems.append(entry.origin.problem(message, "id"))
        other = languages.setdefault(question.country, entry)
        if other.question.language != question.language:
            message = f"{question.country} is asked in {question.language!r} here, in {other.question.language!r} in "
            hint = "Give the people of another language a culture of their own, such as 'Canada (French)'."
            survey.problems.append(entry.origin.problem(f"{message}{other.origin.pack_file}.", hint=hint))
