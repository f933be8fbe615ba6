"""Take everyday questions and prompts in from tables of their forms and from sample packs, to be agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from kapwa.datasets.packs import DataSet, choice_of_packs, locate, table_files
from kapwa.errors import DataError
from kapwa.studio.core.log import lock_project, record, single_writer
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import tidy
from kapwa.studio.questions.events import PROMPT
from kapwa.studio.questions.tables import Question
from kapwa.suites.blend.data import PACKS, PROMPT_FILE
from kapwa.suites.blend.form import QuestionRow
from kapwa.suites.blend.prompts import Template, default_prompts, read_prompts
from kapwa.suites.blend.questions import kind_of


class Imported(NamedTuple):
    """How many questions and wordings of them are new; or the rows for which nothing was taken in."""

    questions: int = 0
    wordings: int = 0
    problems: Sequence[DataError] = ()


def import_questions(project: Project, data: str | Path) -> Imported:
    """Take a table or pack of questions in, with its prompts; answers in it stay where they are.

    ``data``: a file, a pack folder or ``sample:PACK``. The English text is the question, and the local one is proposed
    as its wording where the project has that language; where a table has one of the two columns, that is the question.
    A question whose id the project has is left as it is, and gets the wordings that it lacks.
    """
    place = locate(str(data), PACKS).path
    files = table_files(place, "questions") if place.is_dir() else [place]
    if not files:
        raise DataError("holds no questions.", path=place, hint=choice_of_packs(data, place, "questions"))
    reader = DataSet(place.name, place)
    defaults = {"culture": project.culture, "language": project.language, **reader.read_card(files[0].parent)}
    table = reader.read_table(files[0])
    if "local" not in table.header:  # what has no text in another language is English
        defaults["language"] = "en"
    rows = reader.read(table, QuestionRow, defaults, what="a table of questions")
    prompts = files[0].parent / PROMPT_FILE
    if prompts.is_file():
        for (_culture, name), template in read_prompts(reader, prompts).items():
            rows.append(_prompt(name, template, defaults["language"]))
    return Imported(problems=reader.problems) if reader.problems else _take_in(project, rows)


def _prompt(name: str, template: Template, language: str) -> QuestionRow:
    """Return a prompt by which models are asked as a row, to be taken in as questions are."""
    return QuestionRow.model_construct(id=name, topic="", kind=PROMPT, language=language, **template._asdict())


def add_prompts(project: Project) -> None:
    """Give a new project the ways in which a model is asked (BLEnD's two), to be translated and agreed to."""
    english = default_prompts(project.culture)
    _take_in(project, [_prompt(name, Template(text, ""), "en") for name, text in english.items()])


def _take_in(project: Project, rows: Sequence[QuestionRow]) -> Imported:
    """Record what is new of ``rows``, by nobody."""
    questions = wordings = 0
    with single_writer(), transaction.atomic():
        lock_project(project)
        for row in rows:
            name, tag = tidy(row.id, 200), row.language
            question = Question.objects.filter(project=project, name=name).first()
            if question is None:
                body = {"name": name, "topic": tidy(row.topic, 200), "kind": row.kind or kind_of(row.english)}
                body |= {"text": tidy(row.english or row.local), "language": "en" if row.english else tag}
                event = record(project, "question.written", body, actor="")
                question = Question.objects.get(pk=str(event.uuid))
                questions += 1
            lacks = not question.retired and not question.wordings.filter(language=tag).exists()
            if row.local and lacks and tag in project.languages:
                body = {"language": tag, "text": tidy(row.local), "note": "", "source": question.text_event, "base": ""}
                record(project, "wording.proposed", body, actor="", subject=question.id)
                wordings += 1
    return Imported(questions, wordings)
