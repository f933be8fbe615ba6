"""The folder that the authors of BLEnD released, and its copy on the hub: three files a country."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from kapwa.datasets.findings import Finding
from kapwa.datasets.packs import DataSet, children
from kapwa.datasets.rows import Filled, Origin, RowModel, columns_of, known_columns, read_rows
from kapwa.errors import DataError, nearest, raise_first
from kapwa.suites.blend.annotations import Annotation, read_annotations
from kapwa.suites.blend.prompts import ReleasedPromptRow
from kapwa.suites.blend.questions import COUNTRIES, CountryQuestion, Kind, QuestionEntry, Region, kind_of, region_of
from kapwa.tables import Record, TextTable, read_records

_FILES = {
    "annotations": re.compile(r"(?P<country>.+?)_data(_aggregated)?\.jsonl?"),
    "questions": re.compile(r"(?P<country>.+?)_questions\.(csv|jsonl?)"),
    "prompts": re.compile(r"(?P<country>.+?)_prompts\.csv"),
}
RELEASE_CARD = Path(__file__).with_name("released.yaml")

# Indonesians were asked, in their language, for how many years undergraduate education lasts, and answered with
# numbers; the English text beside it is another question, which asks for no number.
_KIND_CORRECTIONS: Mapping[tuple[str, str], Kind] = {("Indonesia", "Gu-ch-38"): "number"}

# Words that English questions have and the other twelve languages do not.
_ENGLISH = re.compile(r"\b(what|which|how|when|where|who|the)\b", re.IGNORECASE)
# A column is taken for the English one when so much larger a share of its texts has English words.
_CLEARLY = 0.2


@dataclass(frozen=True, slots=True)
class CountryFiles:
    """One country's files; those that are not there are None."""

    country: str
    annotations: Path | None
    questions: Path | None
    prompts: Path | None


class ReleasedQuestion(RowModel):
    """One row of a question file; ``question`` and ``translation`` are named as the file names them."""

    unique: ClassVar[tuple[str, ...]] = ("id",)

    id: Filled = Field(alias="ID")
    topic: Filled = Field(alias="Topic")
    question: str = Field(alias="Question")
    translation: str = Field(alias="Translation")

    @property
    def pair(self) -> tuple[str, str]:
        """The local text and the English one, as the columns are named."""
        return self.question.strip(), self.translation.strip()


def find_release(folder: Path) -> list[CountryFiles]:
    """Return the files of each country in a folder of the released layout (or its ``data`` folder), by country."""
    for root in (folder, folder / "data"):
        files = {role: _role_files(root, role) for role in _FILES}
        if files["annotations"]:
            countries = sorted(set().union(*files.values()))
            return [CountryFiles(country, *(files[role].get(country) for role in _FILES)) for country in countries]
    return []


def prompt_files(folder: Path) -> dict[str, Path]:
    """Return a folder's released prompt files by country, in it or in its ``prompts`` folder."""
    return _role_files(folder, "prompts") or _matching(folder, "prompts")


def _role_files(root: Path, role: str) -> dict[str, Path]:
    # The hub's folders are the repository's with "_hf" after their names.
    return _matching(root / f"{role}_hf", role) | _matching(root / role, role)


def _matching(folder: Path, role: str) -> dict[str, Path]:
    # If a country has two files, the first by name is used, so they are read from last to first.
    named = ((_FILES[role].fullmatch(path.name), path) for path in sorted(folder.glob("*"), reverse=True))
    return {match["country"]: path for match, path in named if match and path.is_file()}


def read_country(data: DataSet, files: CountryFiles) -> list[QuestionEntry]:
    """Read one country's questions and answers; every problem is kept in ``data``, none is raised."""
    region = region_of(files.country)
    if not region.language:
        hint = f"{nearest(files.country, COUNTRIES)} For another country use the form of docs/reference/blend-form.md."
        message = f"the language of {files.country!r} is not known."
        data.problems.append(DataError(message, path=files.annotations or files.questions, hint=hint))
        return []
    if files.annotations is None or files.questions is None:
        data.problems.append(_missing_file(files))
        return []
    answers = read_annotations(data, files.annotations)
    table = read_records(files.questions)
    data.problems += table.problems
    rows = data.read(known_columns(table, ReleasedQuestion), ReleasedQuestion, what="a question file")
    if not rows or not answers:
        return []
    return list(_joined(data, region, (files.annotations, files.questions), rows, answers))


def form_tables(source: Path) -> dict[str, TextTable]:
    """Return released files of questions and of prompts as tables of the form; {} where there are none.

    ``source``: such a file, or a folder of them. Raises DataError for a file that cannot be read.
    """
    folders = [source, *(source / role for role in ("questions", "prompts"))]
    files = [file for folder in folders if folder.is_dir() for file in children(folder)] or [source]
    tables = {}
    for role, model in (("questions", ReleasedQuestion), ("prompts", ReleasedPromptRow)):
        named = [(match["country"], file) for file in files if (match := _FILES[role].fullmatch(file.name))]
        records = [record for country, file in named for record in _form_records(region_of(country), file, model)]
        if records:
            tables[role] = TextTable(named[0][1], tuple(records[0].cells), records, [])
    return tables


def _form_records(region: Region, file: Path, model: type[ReleasedQuestion | ReleasedPromptRow]) -> list[Record]:
    """Return the rows of a released file as the form has them; [] for a file that only has such a name."""
    table = read_records(file)
    needed = {name for name, required in columns_of(model).items() if required}
    if not region.language or not needed <= set(table.header):
        return []
    whose = {"culture": region.country}
    rows, problems, _oddities = read_rows(known_columns(table, model), model, whose, what=f"a file such as {file.name}")
    raise_first([*table.problems, *problems])
    pairs = [row.pair for row in rows]
    swapped = _swapped(pairs)
    records = []
    for row, (local, english) in zip(rows, pairs, strict=True):
        about = {"id": row.id, "culture": region.country, "language": region.language}
        about |= {"topic": row.topic} if isinstance(row, ReleasedQuestion) else {}
        texts = (english, local) if swapped else (local, english)
        records.append(Record(row.origin.row, about | dict(zip(("local", "english"), texts, strict=True))))
    return records


def _missing_file(files: CountryFiles) -> DataError:
    present = files.annotations or files.questions or files.prompts
    lacking = "annotations" if files.annotations is None else "questions"
    suffix = "_data.json" if lacking == "annotations" else "_questions.csv"
    hint = f"Put {files.country}{suffix} into the folder {lacking!r}, as the authors released it."
    return DataError(f"{files.country} has no file of {lacking}.", path=present, hint=hint)


def _joined(
    data: DataSet,
    region: Region,
    paths: tuple[Path, Path],
    rows: Sequence[ReleasedQuestion],
    annotations: Sequence[Annotation],
) -> Iterator[QuestionEntry]:
    """Put questions and answers together by id; ``paths``: the file of answers, that of questions."""
    answers, path = paths
    swapped = _swapped([(row.question, row.translation) for row in rows])
    if swapped:
        message = "'Question' holds the English text and 'Translation' the local one, unlike the release (read so)"
        data.oddities.append(Finding("warning", str(path), message, 1, "Question"))
    data.oddities += _text_oddities(answers, annotations, rows, swapped)
    by_id = {row.id: row for row in rows}
    answered = {annotation.id for annotation in annotations}
    for annotation in annotations:
        if annotation.id in by_id:
            question = _question(region, by_id[annotation.id], annotation, swapped)
            yield QuestionEntry(question, Origin(answers, annotation.row))
            continue
        hint = f"{path.name} must have a row for it, with its topic."
        message = f"{annotation.id!r} has answers but no question."
        data.problems.append(DataError(message, path=answers, row=annotation.row, hint=hint))
    for row in rows:
        if row.id not in answered:
            message = f"{row.id!r} has no entry in {answers.name}."
            hint = "A question that nobody answered has an entry with an empty list of answers."
            data.problems.append(row.origin.problem(message, "ID", hint))


def _question(region: Region, row: ReleasedQuestion, annotation: Annotation, swapped: bool) -> CountryQuestion:
    local, english = (row.translation, row.question) if swapped else (row.question, row.translation)
    return CountryQuestion(
        country=region.country,
        id=row.id,
        topic=row.topic,
        local=local if local.strip() else "",
        english=english if english.strip() else "",
        groups=annotation.groups,
        idks=annotation.idks,
        kind=_KIND_CORRECTIONS.get((region.country, row.id)) or kind_of(english),
        language=region.language,
    )


def _swapped(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether the second texts are the local ones: by their words, since names of columns have misled before."""
    first, second = (sum(bool(_ENGLISH.search(pair[side])) for pair in pairs) for side in (0, 1))
    return first - second > _CLEARLY * len(pairs)


def _text_oddities(
    path: Path, annotations: Sequence[Annotation], rows: Sequence[ReleasedQuestion], swapped: bool
) -> Iterator[Finding]:
    """Where the two files of a country do not give the same texts."""
    file_name = str(path)
    turned = _swapped([(annotation.question, annotation.en_question) for annotation in annotations])
    if turned:
        message = "'question' holds the English text and 'en_question' the local one, unlike the release"
        yield Finding("warning", file_name, message, 1)
    texts = {row.id: (row.translation, row.question) if swapped else (row.question, row.translation) for row in rows}
    for annotation in annotations:
        pair = (annotation.question, annotation.en_question)
        here = pair[::-1] if turned else pair
        for name, text, other in zip(("local", "English"), here, texts.get(annotation.id, here), strict=True):
            if text.strip() != other.strip():
                message = f"the {name} text of {annotation.id!r} differs from the question file's (which is read)"
                yield Finding("warning", file_name, message, annotation.row)
