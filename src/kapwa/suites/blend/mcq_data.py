"""Read multiple-choice questions: a folder that ``kapwa build mcq`` wrote, or the released file in any of its forms."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from kapwa.catalog import entries
from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.conversations import Conversed, Turn
from kapwa.datasets.findings import DataSource
from kapwa.datasets.grouped import GroupedRow
from kapwa.datasets.packs import SAMPLE, DataSet, hub_id, locate, table_files
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, doubtful_languages, repeated_questions
from kapwa.datasets.rows import (
    UNKNOWN_DEFAULTS,
    CellProblem,
    Filled,
    Language,
    Origin,
    RowModel,
    Text,
    cell_error,
    columns_of,
    known_columns,
    one_of,
)
from kapwa.datasets.yaml_models import shipped_card
from kapwa.errors import DataError, UsageError, nearest, raise_first
from kapwa.languages.same import equal_texts
from kapwa.records import Media
from kapwa.suites.blend.data import BLEND_ID, CHOICE_FILES, PACKS, hub_files
from kapwa.suites.blend.released import RELEASE_CARD
from kapwa.suites.items import ALL_LETTERS, NO_TOPIC
from kapwa.tables import WORKBOOKS, TextTable, read_records, rearm
from kapwa.tables.yaml_files import load_yaml
from kapwa.value_types import JsonMapping, Keywords

LETTERS = "ABCD"
# The values of the column "options_are" for the steps of a scale.
ORDERED = "ordered"
MCQ_NAME = "mcq.csv"
# Where a folder holds several versions, the newest is read.
RELEASED_NAMES = tuple(f"mc_questions_file{v}{end}" for v in ("_v1.1", "") for end in (".csv", ".json", ".jsonl"))
_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", *WORKBOOKS)
# The released prompt: the question, this instruction, and the options.
_INSTRUCTION = re.compile(r"\s*Without any explanation, choose only one\b|\n\s*A\. ")


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One multiple-choice question about one country.

    ``options`` in the order shown, the first lettered A; ``answer`` the letter of the right one, or of several right
    ones ("A,C"); ``cultures`` whose answer each option is ("dummy" in the released file for options that a model made
    up). ``prompt``: the whole text asked, where the file gives one. ``options_are``: :data:`ORDERED` where the options
    are steps of a scale, in order. ``group``, ``step``: see :mod:`kapwa.suites.groups`; ``messages``, ``media``:
    :class:`kapwa.datasets.conversations.Conversed`.
    """

    id: str
    country: str
    question_id: str
    topic: str
    question: str
    options: tuple[str, ...]
    cultures: tuple[str, ...]
    answer: str
    prompt: str | None = None
    language: str = "en"
    group: str = ""
    step: str = ""
    options_are: str = ""
    messages: tuple[Turn, ...] = ()
    media: tuple[Media, ...] = ()

    @property
    def right(self) -> list[str]:
        """The letters of the right options."""
        return self.answer.split(",")

    @property
    def letters(self) -> str:
        """The letters of the options, such as "ABCD"."""
        return ALL_LETTERS[: len(self.options)]


def _several(cell: object) -> Any:
    """Several right options in one cell ("A; C", or a list) as letters separated by commas."""
    letters = re.split("[,;]", rearm(cell)) if isinstance(cell, str) else cell
    return ",".join(sorted(str(letter).strip() for letter in letters)) if isinstance(letters, list | tuple) else cell


_LETTERED = {what: [f"{what}_{letter}" for letter in ALL_LETTERS] for what in ("option", "culture")}
_REARM = BeforeValidator(lambda cell: rearm(cell) if isinstance(cell, str) else cell)
_SafeText = Annotated[Text, _REARM]
_SafeFilled = Annotated[Filled, _REARM]


class ChoiceRow(GroupedRow, Conversed):
    """A question with two to twenty options, ``option_A`` first; the table may have more columns.

    ``culture_A`` and so on: whose answer each option is, where somebody knows it.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _SafeText]
    unique: ClassVar[tuple[str, ...]] = ("id",)
    more_columns: ClassVar[str] = f"(?:option|culture)_[{ALL_LETTERS}]"
    more_shown: ClassVar[tuple[str, ...]] = ("option_C", "culture_A")

    id: _SafeFilled
    country: _SafeFilled
    question_id: _SafeFilled
    topic: _SafeText
    question: _SafeFilled
    option_A: _SafeFilled  # noqa: N815 - the columns' names
    option_B: _SafeFilled  # noqa: N815
    answer: Annotated[Text, BeforeValidator(_several)] = Field(
        description="The letter of the right option, or of several that are right, such as A,C."
    )
    variant: _SafeText
    language: Language = Field("", description="In which language the question is (BCP-47), where it is not English.")
    options_are: Annotated[Text, AfterValidator(one_of(("", ORDERED), "a word for it"))] = Field(
        "", description="ordered: the options are steps of one scale, in order, the same for all questions."
    )

    @cached_property
    def choice(self) -> ChoiceQuestion:
        """The question of the row."""
        options = tuple(filter(None, self._by_letter("option")))
        cultures = self._by_letter("culture")[: len(options)]
        named = (self.id, self.country, self.question_id, self.topic or NO_TOPIC, self.question)
        copied = ("language", "group", "step", "options_are", "messages", "media")
        more: Keywords = {name: getattr(self, name) for name in copied}
        return ChoiceQuestion(*named, options, cultures, self.answer, **more)

    def _by_letter(self, what: str) -> tuple[str, ...]:
        """The texts of the columns of ``what``, A to T; "" where there is no column, or an empty cell."""
        cells = {"option_A": self.option_A, "option_B": self.option_B, **(self.model_extra or {})}
        return tuple([cells.get(name, "") for name in _LETTERED[what]])

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the question impossible to judge."""
        options = self._by_letter("option")
        last = max(index for index, text in enumerate(options) if text)
        for index in range(last):
            if not options[index]:
                message = f"is empty, though option_{ALL_LETTERS[last]} is not."
                yield CellProblem(f"option_{ALL_LETTERS[index]}", message, "Leave out no letter between two options.")
        yield from _choice_problems(self.choice, "answer", "option_A")


def _lettered(cell: Any) -> dict[str, str]:
    """Read a cell such as {"A": "rice", "B": "bread"}."""
    hint = 'It should be {"A": "…", "B": "…", …}.'
    try:
        texts = json.loads(cell)
    except (ValueError, TypeError, RecursionError):
        raise cell_error("is empty." if not cell else "is not JSON.", hint) from None
    if not isinstance(texts, dict) or not all(isinstance(value, str) and value.strip() for value in texts.values()):
        raise cell_error("is not a set of lettered texts.", hint)
    if "".join(sorted(texts)) != ALL_LETTERS[: len(texts)] or len(texts) < 2:
        raise cell_error(f"letters its options {', '.join(sorted(texts)) or 'not at all'}.", hint)
    return {letter: texts[letter].strip() for letter in sorted(texts)}


def _filled(cell: str) -> str:
    if not cell.strip():
        raise cell_error("is empty.")
    return cell


class ReleasedChoiceRow(RowModel):
    """A question of the released file."""

    unique: ClassVar[tuple[str, ...]] = ("mcq_id", "question_id", "country")

    mcq_id: Filled = Field(alias="MCQID")
    question_id: Filled = Field(alias="ID")
    country: Filled
    prompt: Annotated[str, AfterValidator(_filled)]
    choices: Annotated[dict[str, str], BeforeValidator(_lettered)]
    choice_countries: Annotated[dict[str, str], BeforeValidator(_lettered)]
    answer_idx: Filled

    @cached_property
    def choice(self) -> ChoiceQuestion:
        """The question of the row."""
        number = self.mcq_id.removeprefix(f"{self.question_id}_")
        return ChoiceQuestion(
            id=f"{self.country}/{self.question_id}/{number}",
            country=self.country,
            question_id=self.question_id,
            topic=NO_TOPIC,
            question=_INSTRUCTION.split(self.prompt, maxsplit=1)[0].strip(),
            options=tuple(self.choices.values()),
            cultures=tuple(self.choice_countries.get(letter, "") for letter in self.choices),
            answer=self.answer_idx,
            prompt=self.prompt,
        )

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the question impossible to judge."""
        return _choice_problems(self.choice, "answer_idx", "choices")


_NEEDED_COLUMNS, RELEASED_COLUMNS = (
    tuple(name for name, required in columns_of(model).items() if required) for model in (ChoiceRow, ReleasedChoiceRow)
)
# What 'kapwa build mcq' writes: four options, and whose answer each is.
MCQ_COLUMNS = (
    *("id", "country", "question_id", "topic", "question"),
    *(f"option_{letter}" for letter in LETTERS),
    "answer",
    *(f"culture_{letter}" for letter in LETTERS),
    "variant",
)


def _choice_problems(choice: ChoiceQuestion, answer: str, options: str) -> Iterator[CellProblem]:
    unknown = next((letter for letter in choice.right if len(letter) != 1 or letter not in choice.letters), None)
    if unknown is not None:
        message = f"{unknown!r} is not the letter of an option."
        yield CellProblem(answer, message, nearest(unknown, choice.letters))
    elif len(set(choice.right)) < len(choice.right):
        yield CellProblem(answer, f"{choice.answer!r} names an option twice.")
    elif len(choice.right) == len(choice.options):
        yield CellProblem(answer, "calls every option right.", "A question needs a wrong option, too.")
    option = equal_texts(choice.options, choice.language)
    if option is not None:
        hint = "Two equal options cannot be told apart in a reply."
        yield CellProblem(options, f"the option {option!r} appears twice.", hint)


def read_mcq(data: str | Path) -> tuple[list[ChoiceQuestion], DataSource]:
    """Read multiple-choice questions and say where they came from.

    ``data``: the folder of a build or its ``mcq.csv``; the released file (CSV, JSON, JSON lines, Parquet) or a folder
    that holds it; or a hub id such as "nayeon212/BLEnD". Raises UsageError for a name that means nothing, DataError
    naming file, row and column for a file that is not of either layout.
    """
    try:
        source = locate(data, PACKS, own_dataset=BLEND_ID, patterns=hub_files(data, CHOICE_FILES))
    except UsageError as error:
        if hub_id(str(data), BLEND_ID) or str(data) in entries.names():
            raise
        # The sample packs that it names hold people's answers.
        raise UsageError(error.message, hint=_HINT) from None
    path = _table_in(source.path)
    if path is None:
        if source.name.partition(":")[0] == SAMPLE:  # whose folder is Kapwa's own, and tells nobody anything
            hint = f"Build them: kapwa build mcq --data {source.name} -o mcq, and name the folder mcq as the data."
            if source.name != SAMPLE:
                hint = "Other cultures' answers are the wrong options: kapwa build mcq --data sample -o mcq"
            raise UsageError(f"{source.name} holds people's answers, and no multiple-choice questions.", hint=hint)
        raise DataError("holds no multiple-choice questions.", path=source.path, hint=_HINT)
    questions, files = read_choice_questions(path, source.name)
    raise_first(files.problems)
    card_path = path.with_name(CARD_NAME)
    files.note_file(card_path)
    if card_path.is_file() and not files.cards:
        files.cards.append(_card(card_path))
    return questions, files.source()


def read_choice_questions(
    source: Path, name: str = "", *, look_for_repeats: bool = False
) -> tuple[list[ChoiceQuestion], DataSet]:
    """Read a place that :func:`is_choice_data`, going on after a bad row: the sound rows, and every problem.

    ``look_for_repeats``: questions that stand twice are oddities, as a check tells them; a run has no use for that.
    """
    path = _table_in(source) or source
    files = DataSet(name, path)
    table = files.read_table(path)
    model = _layout(table)
    if model is None:
        files.problems += [] if table.problems else [_unknown_layout(path, table.header)]
        return [], files
    usual = {**UNKNOWN_DEFAULTS, "language": "en"}
    rows: list[Any] = files.read(known_columns(table, model), model, usual, what="multiple-choice questions")
    if model is ReleasedChoiceRow:
        files.cards.append(shipped_card(RELEASE_CARD).model_dump())
    choices = [row.choice for row in rows]
    origins = [row.origin for row in rows]
    files.problems += _uneven(choices, origins)
    if look_for_repeats:
        files.oddities += repeated_questions(map(_question_identity, choices, origins))
        countries = [choice.country for choice in choices]
        files.oddities += doubtful_cultures(zip(countries, origins, strict=True), "country")
        languages = [choice.language for choice in choices]
        files.oddities += doubtful_languages(zip(countries, languages, origins, strict=True))
    # Not every culture that answered open questions needs questions with options.
    files.read_labels(dict.fromkeys(row.country for row in rows), every=not table_files(path.parent, "questions"))
    return choices, files


def _question_identity(choice: ChoiceQuestion, origin: Origin) -> QuestionIdentity:
    """Return what identifies a question, to find others that ask the same."""
    right = tuple(choice.options[choice.letters.index(letter)] for letter in choice.right)
    turns = (f"{turn.role}: {turn.content}" for turn in choice.messages)
    shown_with = (*turns, *(media.sha256 for turn in choice.messages for media in turn.media))
    shown_with += tuple(media.sha256 for media in choice.media)
    return QuestionIdentity(
        origin=origin,
        column="question",
        culture=choice.country,
        language=choice.language,
        text=choice.question,
        answers=right,
        options=choice.options,
        shown_with=shown_with,
    )


def scales(choices: Sequence[ChoiceQuestion]) -> dict[str, tuple[str, ...]]:
    """Return the labels of each language, in order, where all its questions have the same; {} where any differs.

    Labels of several languages stand for each other by their place, so each has as many. Where nobody says that the
    options are a scale, one question of a language is not enough to tell.
    """
    labels: dict[str, tuple[str, ...]] = {}
    for choice in choices:
        if labels.setdefault(choice.language, choice.options) != choice.options:
            return {}
    known = Counter(choice.language for choice in choices if not choice.options_are)
    return labels if len({len(each) for each in labels.values()}) == 1 and 1 not in known.values() else {}


def _uneven(choices: Sequence[ChoiceQuestion], origins: Sequence[Origin]) -> Iterator[DataError]:
    """Yield what is wrong with the first question that does not have the ordered scale of the others."""
    first: dict[str, ChoiceQuestion] = {}
    for choice, origin in zip(choices, origins, strict=True) if any(each.options_are for each in choices) else ():
        like = first.setdefault(choice.language, choice)
        if not choice.options_are or choice.options != like.options or len(choice.options) != len(choices[0].options):
            hint = f"The options of {choices[0].id!r} are {', '.join(choices[0].options)}."
            yield origin.problem("the options of an ordered scale are the same everywhere.", "options_are", hint)
            return


def is_choice_data(path: Path) -> bool:
    """Whether a place holds multiple-choice questions, by their columns; a folder's own ``mcq`` need not be sound."""
    if table_files(path, "mcq", _TABLES):
        return True
    file = _table_in(path)
    if file is None or file.suffix.lower() not in _TABLES or not file.is_file():
        return False
    return _layout(read_records(file)) is not None


def _layout(table: TextTable) -> type[ChoiceRow] | type[ReleasedChoiceRow] | None:
    """Return the row model whose columns a table has."""
    header = set(table.header)
    if set(_NEEDED_COLUMNS) <= header:
        return ChoiceRow
    return ReleasedChoiceRow if set(RELEASED_COLUMNS) <= header else None


_HINT = (
    f"Give a folder made by 'kapwa build mcq', the released {RELEASED_NAMES[0]}, or a hub id ({BLEND_ID}). "
    "Answers of people become questions with 'kapwa build mcq --data … -o mcq/'."
)


def _table_in(source: Path) -> Path | None:
    """The table at a place: itself, a folder's own (``mcq.csv`` first), else the released file anywhere in it."""
    if not source.is_dir():
        return source
    tables = table_files(source, "mcq", _TABLES)
    tables = tables or [path for name in RELEASED_NAMES for path in sorted(source.rglob(name))]
    tables = tables or sorted(path for path in source.rglob("*mc*question*/**/*") if path.suffix.lower() in _TABLES)
    return tables[0] if tables else None


def _card(path: Path) -> JsonMapping:
    """What a builder's or a person's card says."""
    card = load_yaml(path).value
    if not isinstance(card, dict):
        raise DataError("is not a card.", path=path, hint="Write 'field: value' lines, or leave the file out.")
    return {str(key): value for key, value in card.items()}


def _unknown_layout(path: Path, columns: Sequence[str]) -> DataError:
    """Name the first column that is missing of the layout that the file is closest to."""
    layout: Sequence[str] = max((_NEEDED_COLUMNS, RELEASED_COLUMNS), key=lambda names: len(set(columns) & set(names)))
    missing = next(name for name in layout if name not in columns)
    hint = f"{nearest(missing, columns)} A set of your own has the columns {', '.join(_NEEDED_COLUMNS)}; "
    return Origin(path, 1).problem("is missing.", missing, f"{hint}the released file {', '.join(RELEASED_COLUMNS)}.")
