"""Read multiple-choice questions: a folder that ``kapwa build mcq`` wrote, or the released file in any of its forms."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import Row, digest, read_table, read_text
from kapwa.suites.base import DataSource
from kapwa.suites.blend import hub
from kapwa.suites.blend.card import release_card
from kapwa.suites.blend.letter_words import LETTERS as ALL_LETTERS

LETTERS = "ABCD"
MCQ_NAME, CARD_NAME = "mcq.csv", "card.yaml"
MCQ_COLUMNS = (
    *("id", "country", "question_id", "topic", "question"),
    *(f"option_{letter}" for letter in LETTERS),
    "answer",
    *(f"culture_{letter}" for letter in LETTERS),
    "variant",
)
RELEASED_COLUMNS = ("MCQID", "ID", "country", "prompt", "choices", "choice_countries", "answer_idx")
RELEASED_NAMES = ("mc_questions_file.csv", "mc_questions_file.json", "mc_questions_file.jsonl")
NO_TOPIC = "not given"
_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
# The released prompt: the question, this instruction, and the options.
_INSTRUCTION = re.compile(r"\s*Without any explanation, choose only one\b|\n\s*A\. ")
_DISARMED = re.compile(r"'+[=+\-@\t\r]")


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One multiple-choice question about one country, in English.

    ``options`` in the order shown, the first lettered A; ``answer`` the letter of the right one; ``cultures`` whose
    answer each option is ("dummy" in the released file for options that a model made up). ``prompt``: the whole
    text asked, where the file gives one.
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

    @property
    def letters(self) -> str:
        """The letters of the options, such as "ABCD"."""
        return ALL_LETTERS[: len(self.options)]


def read_mcq(data: str | Path) -> tuple[list[ChoiceQuestion], DataSource]:
    """Read multiple-choice questions and say where they came from.

    ``data``: the folder of a build or its ``mcq.csv``; the released file (CSV, JSON, JSON lines, Parquet) or a folder
    that holds it; or a hub id such as "nayeon212/BLEnD". Raises UsageError for a name that means nothing, DataError
    naming file, row and column for a file that is not of either layout.
    """
    path, name = _found(str(data))
    rows = _rows(path)
    columns = set(rows[0].cells)
    if set(MCQ_COLUMNS) <= columns:
        questions = [_built(row, path) for row in rows]
        card = _card(path.with_name(CARD_NAME))
    elif set(RELEASED_COLUMNS) <= columns:
        questions = [_released(row, path) for row in rows]
        card = release_card()
    else:
        raise _unknown_layout(path, columns)
    _refuse_repeats(questions, rows, path)
    files = {one.name: one.read_bytes() for one in (path, path.with_name(CARD_NAME)) if one.is_file()}
    illustrative = bool(card.get("illustrative"))
    return questions, DataSource(name, path, digest(files), card, illustrative)


def read_choices(data: str | Path) -> tuple[list[ChoiceQuestion], list[DataError]]:
    """Read as :func:`read_mcq` does, but go on after a row that cannot be asked: the sound rows, and every problem."""
    path, _ = _found(str(data))
    questions: list[ChoiceQuestion] = []
    problems: list[DataError] = []
    try:
        rows = _rows(path)
        columns = set(rows[0].cells)
        if not (set(MCQ_COLUMNS) <= columns or set(RELEASED_COLUMNS) <= columns):
            raise _unknown_layout(path, columns)
    except DataError as error:
        return [], [error]
    read = _built if set(MCQ_COLUMNS) <= columns else _released
    kept: list[Row] = []
    for row in rows:
        try:
            questions.append(read(row, path))
            kept.append(row)
        except DataError as error:
            problems.append(error)
    try:
        _refuse_repeats(questions, kept, path)
    except DataError as error:
        problems.append(error)
    return questions, problems


def is_choice_data(path: Path) -> bool:
    """Whether a place holds multiple-choice questions, by their columns; a folder's own ``mcq`` need not be sound."""
    if path.is_dir() and _own_table(path):
        return True
    file = _table_in(path) if path.is_dir() else path
    if file is None or file.suffix.lower() not in _TABLES or not file.is_file():
        return False
    try:
        columns = set(_rows(file)[0].cells)
    except DataError:
        return False
    return set(MCQ_COLUMNS) <= columns or set(RELEASED_COLUMNS) <= columns


def _found(text: str) -> tuple[Path, str]:
    path = Path(text).expanduser()
    if not path.exists():
        wanted = hub.hub_id(text)
        if wanted is None:
            raise UsageError(f"There is no file, folder or data set {text!r}.", hint=_hint())
        fetched = hub.fetch(wanted, (hub.MULTIPLE_CHOICE,))
        path, name = fetched.folder, fetched.name
    else:
        name = path.resolve().name
    file = _table_in(path) if path.is_dir() else path
    if file is None:
        raise DataError("holds no multiple-choice questions.", path=path, hint=_hint())
    return file, name


def _hint() -> str:
    return (
        f"Give a folder made by 'kapwa build mcq', the released {RELEASED_NAMES[0]}, or a hub id ({hub.BLEND_ID}). "
        "Answers of people become questions with 'kapwa build mcq --data … -o mcq/'."
    )


def _own_table(folder: Path) -> Path | None:
    """The table ``mcq`` of a folder, in whichever format it is, ``mcq.csv`` first."""
    stem = Path(MCQ_NAME).stem
    return next((folder / f"{stem}{suffix}" for suffix in _TABLES if (folder / f"{stem}{suffix}").is_file()), None)


def _table_in(folder: Path) -> Path | None:
    """The table of a folder: its own, else the released file anywhere in it."""
    own = _own_table(folder)
    if own is not None:
        return own
    found = sorted(path for name in RELEASED_NAMES for path in folder.rglob(name))
    if not found:
        found = sorted(path for path in folder.rglob("*mc*question*/**/*") if path.suffix.lower() in _TABLES)
    return found[0] if found else None


def _rows(path: Path) -> list[Row]:
    if path.suffix.lower() == ".json":
        return _json_rows(path)
    if path.suffix.lower() == ".parquet":
        return _parquet_rows(path)
    return read_table(path)


def _json_rows(path: Path) -> list[Row]:
    """Rows of a JSON array of objects; a ``.json`` file of JSON lines is read as such."""
    text = read_text(path)
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        try:
            found = [json.loads(line) for line in text.split("\n") if line.strip()]
        except (json.JSONDecodeError, RecursionError):
            raise DataError("is neither a JSON array nor JSON lines.", path=path) from None
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise DataError("is not a list of questions.", path=path)
    return [Row(i, {str(k): _text(v) for k, v in one.items()}) for i, one in enumerate(found, start=1)]


def _parquet_rows(path: Path) -> list[Row]:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"cannot be read as Parquet ({type(error).__name__}).", path=path) from None
    if frame.is_empty():
        raise DataError("holds no rows.", path=path)
    return [Row(i, {k: _text(v) for k, v in one.items()}) for i, one in enumerate(frame.iter_rows(named=True), start=1)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _built(row: Row, path: Path) -> ChoiceQuestion:
    cells = {name: _rearmed(row.cells[name]).strip() for name in MCQ_COLUMNS}
    for name in ("id", "country", "question_id", "question", *(f"option_{letter}" for letter in LETTERS)):
        if not cells[name]:
            raise DataError("is empty.", path=path, row=row.number, column=name)
    question = ChoiceQuestion(
        cells["id"],
        cells["country"],
        cells["question_id"],
        cells["topic"] or NO_TOPIC,
        cells["question"],
        tuple(cells[f"option_{letter}"] for letter in LETTERS),
        tuple(cells[f"culture_{letter}"] for letter in LETTERS),
        cells["answer"],
    )
    return _checked(question, row, path, "answer")


def _rearmed(cell: str) -> str:
    """Undo what keeps a spreadsheet from running a cell (:func:`kapwa.build.cells.disarm`)."""
    return cell[1:] if _DISARMED.match(cell) else cell


def _released(row: Row, path: Path) -> ChoiceQuestion:
    cells = {name: row.cells.get(name, "").strip() for name in RELEASED_COLUMNS}
    for name in RELEASED_COLUMNS:
        if not cells[name]:
            raise DataError("is empty.", path=path, row=row.number, column=name)
    choices = _lettered(row, path, "choices")
    cultures = _lettered(row, path, "choice_countries")
    prompt = row.cells["prompt"]
    number = cells["MCQID"].removeprefix(f"{cells['ID']}_")
    question = ChoiceQuestion(
        f"{cells['country']}/{cells['ID']}/{number}",
        cells["country"],
        cells["ID"],
        cells.get("topic") or NO_TOPIC,
        _INSTRUCTION.split(prompt, maxsplit=1)[0].strip(),
        tuple(choices.values()),
        tuple(cultures.get(letter, "") for letter in choices),
        cells["answer_idx"],
        prompt,
    )
    return _checked(question, row, path, "answer_idx")


def _lettered(row: Row, path: Path, column: str) -> dict[str, str]:
    """Read a cell such as {"A": "rice", "B": "bread"} (some copies are Python dictionaries)."""
    hint = 'It should be {"A": "…", "B": "…", …}.'
    try:
        found = json.loads(row.cells[column])
    except (json.JSONDecodeError, RecursionError):
        raise DataError("is not JSON.", path=path, row=row.number, column=column, hint=hint) from None
    if not isinstance(found, dict) or not all(isinstance(value, str) and value.strip() for value in found.values()):
        raise DataError("is not a set of lettered texts.", path=path, row=row.number, column=column, hint=hint)
    if "".join(sorted(found)) != ALL_LETTERS[: len(found)] or len(found) < 2:
        shown = ", ".join(sorted(found))
        message = f"letters its options {shown or 'not at all'}."
        raise DataError(message, path=path, row=row.number, column=column, hint=hint)
    return {letter: found[letter].strip() for letter in sorted(found)}


def _checked(question: ChoiceQuestion, row: Row, path: Path, column: str) -> ChoiceQuestion:
    if len(question.answer) != 1 or question.answer not in question.letters:
        hint = nearest(question.answer, question.letters)
        message = f"{question.answer!r} is the letter of no option."
        raise DataError(message, path=path, row=row.number, column=column, hint=hint)
    folded = [option.casefold() for option in question.options]
    for option in folded:
        if folded.count(option) > 1:
            hint = "Two equal options cannot be told apart in a reply."
            raise DataError(f"the option {option!r} stands twice.", path=path, row=row.number, hint=hint)
    return question


def _refuse_repeats(questions: Sequence[ChoiceQuestion], rows: Sequence[Row], path: Path) -> None:
    first: dict[str, int] = {}
    for question, row in zip(questions, rows, strict=True):
        before = first.setdefault(question.id, row.number)
        if before != row.number:
            message = f"{question.id!r} is already the id of row {before}."
            raise DataError(message, path=path, row=row.number, column="id", hint="Give every row its own id.")


def _card(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    import yaml

    try:
        card = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise DataError(f"is not YAML ({str(error).splitlines()[0]}).", path=path) from None
    if not isinstance(card, dict):
        raise DataError("is not a card.", path=path, hint="Write 'field: value' lines, or leave the file out.")
    return {str(key): value for key, value in card.items()}


def _unknown_layout(path: Path, columns: set[str]) -> DataError:
    """Name the first column that is missing of the layout that the file is closest to."""
    layout: Sequence[str] = max((MCQ_COLUMNS, RELEASED_COLUMNS), key=lambda names: len(columns & set(names)))
    missing = next(name for name in layout if name not in columns)
    hint = f"{nearest(missing, columns)} Built sets have the columns {', '.join(MCQ_COLUMNS)}; "
    return DataError(
        "is missing.", path=path, row=1, column=missing, hint=f"{hint}the released file {', '.join(RELEASED_COLUMNS)}."
    )
