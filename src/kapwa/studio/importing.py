"""Take everyday questions and prompts in from tables of their forms and from sample packs, to be agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from kapwa.datasets.packs import DataSet, choice_of_packs, locate, table_files
from kapwa.errors import DataError, UsageError, raise_first
from kapwa.studio.events import hold, record, writing
from kapwa.studio.fields import tidy
from kapwa.studio.models import Project, Question
from kapwa.studio.projections import RefusedError
from kapwa.studio.projections.everyday import PROMPT
from kapwa.studio.projections.prompts import PLURALS, ROLES
from kapwa.studio.prompts import read_table
from kapwa.suites.blend.data import PACKS, PROMPT_FILE
from kapwa.suites.blend.form import QuestionRow
from kapwa.suites.blend.prompts import Template, default_prompts, read_prompts
from kapwa.suites.blend.questions import kind_of
from kapwa.suites.eecc.data import PACKS as PROMPT_PACKS
from kapwa.suites.eecc.data import read_folder, task_folders


class Taken(NamedTuple):
    """How many questions and wordings of them are new; or the rows for which nothing was taken in."""

    questions: int = 0
    wordings: int = 0
    problems: Sequence[DataError] = ()


def import_questions(project: Project, data: str | Path) -> Taken:
    """Take a table or pack of questions in, with its prompts; answers in it stay where they are.

    ``data``: a file, a pack folder or ``sample:PACK``. The English text is the question, and the local one is proposed
    as its wording where the project has that language; where a table has one of the two columns, that is the question.
    A question whose id the project has is left as it is, and gets the wordings that it lacks.
    """
    place = locate(str(data), PACKS).path
    files = table_files(place, "questions") if place.is_dir() else [place]
    if not files:
        raise DataError("holds no questions.", path=place, hint=choice_of_packs(data, place, "questions"))
    found = DataSet(place.name, place)
    own = {"culture": project.culture, "language": project.language, **found.read_card(files[0].parent)}
    table = found.read_table(files[0])
    if "local" not in table.header:  # what has no text in another language is English
        own["language"] = "en"
    rows = found.read(table, QuestionRow, own, what="a table of questions")
    prompts = files[0].parent / PROMPT_FILE
    if prompts.is_file():
        rows += [_prompt(name, one, own["language"]) for (_, name), one in read_prompts(found, prompts).items()]
    return Taken(problems=found.problems) if found.problems else _take_in(project, rows)


def _prompt(name: str, template: Template, language: str) -> QuestionRow:
    """Return a prompt by which models are asked as a row, to be taken in as questions are."""
    return QuestionRow.model_construct(id=name, topic="", kind=PROMPT, language=language, **template._asdict())


def add_prompts(project: Project) -> None:
    """Give a new project the ways in which a model is asked (BLEnD's two), to be translated and agreed to."""
    english = default_prompts(project.culture)
    _take_in(project, [_prompt(name, Template(text, ""), "en") for name, text in english.items()])


def _take_in(project: Project, rows: Sequence[QuestionRow]) -> Taken:
    """Record what is new of ``rows``, by nobody."""
    questions = wordings = 0
    with writing(), transaction.atomic():
        hold(project)
        for one in rows:
            name, tag = tidy(one.id, 200), one.language
            question = Question.objects.filter(project=project, name=name).first()
            if question is None:
                body = {"name": name, "topic": tidy(one.topic, 200), "kind": one.kind or kind_of(one.english)}
                body |= {"text": tidy(one.english or one.local), "language": "en" if one.english else tag}
                event = record(project, "question.written", body, actor="")
                question = Question.objects.get(pk=str(event.uuid))
                questions += 1
            lacks = not question.retired and not question.wordings.filter(language=tag).exists()
            if one.local and lacks and tag in project.languages:
                body = {"language": tag, "text": tidy(one.local), "note": "", "source": question.text_event, "base": ""}
                record(project, "wording.proposed", body, actor="", subject=question.id)
                wordings += 1
    return Taken(questions, wordings)


def import_prompts(project: Project, data: str | Path) -> int:
    """Take a folder or sample pack of the perturbation form in, by nobody; return how many parts are new.

    What has the name of a part that is there is left out. Raises DataError for a row that cannot be read, UsageError
    for data whose tasks have prompts of their own.
    """
    place = locate(str(data), PROMPT_PACKS).path
    folders = dict(task_folders(place))
    if not folders:
        raise UsageError(f"{data} holds no prompts.", hint=choice_of_packs(data, place, "concepts"))
    if len(set(folders.values())) > 1:
        hint = f"Name one of its folders: {', '.join(map(str, folders.values()))}."
        raise UsageError(f"{data} holds prompts for each task apart.", hint=hint)
    found = read_folder(place, place.name, next(iter(folders)))
    raise_first(found.problems)
    count = 0
    with writing(), transaction.atomic():
        for role in ROLES:
            rows, problems = read_table(role, found.by_role[PLURALS[role]], project)
            raise_first(problems)
            for _row, fields in rows:
                with suppress(RefusedError), transaction.atomic():  # one of that name is there already
                    record(project, f"{role}.added", {"fields": fields}, actor="")
                    count += 1
    return count
