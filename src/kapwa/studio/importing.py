"""Take everyday questions and prompts in from tables of their forms and from sample packs, to be agreed to."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from kapwa.datasets.packs import DataSet, locate, table_files
from kapwa.datasets.rows import Defaults
from kapwa.errors import DataError, UsageError, raise_first
from kapwa.studio.events import record, writing
from kapwa.studio.fields import tidy
from kapwa.studio.models import Project, PromptPart, Question, Wording
from kapwa.studio.projections.everyday import PROMPT
from kapwa.studio.projections.prompts import NAMES, PLURALS, ROLES
from kapwa.studio.prompts import read_table
from kapwa.suites.blend.data import PACKS, PROMPT_FILE
from kapwa.suites.blend.form import QuestionRow
from kapwa.suites.blend.prompts import default_prompts, read_prompts
from kapwa.suites.blend.questions import kind_of
from kapwa.suites.eecc.data import PACKS as PROMPT_PACKS
from kapwa.suites.eecc.data import read_folder, task_folders

_IMPORTED = uuid.UUID("1d6a5b7e-7a52-4a0c-9a3e-5a3f0c1f6c58")


class Taken(NamedTuple):
    """How many questions and how many wordings of them came in new."""

    questions: int
    wordings: int


class _Text(NamedTuple):
    """A question or prompt in English and in a local language, one of them perhaps ""."""

    name: str
    topic: str
    kind: str
    english: str
    local: str
    language: str


def import_questions(project: Project, data: str | Path) -> Taken:
    """Take a table or pack of questions in, with its prompts; answers in it stay where they are.

    ``data``: a file, a pack folder or ``sample:PACK``. The English text is the question, and the local one is proposed
    as its wording where the project has that language; where a table has one of the two columns, that is the question.
    A question whose id the project has is left as it is, and gets the wordings that it lacks. Raises DataError for rows
    that cannot be read.
    """
    found, texts = read_questions(data, {"culture": project.culture, "language": project.language})
    raise_first(found.problems)
    return take_in(project, texts)


def read_questions(data: str | Path, defaults: Defaults) -> tuple[DataSet, list[_Text]]:
    """Read a table or pack of questions, keeping every problem; ``defaults`` hold where neither row nor card says."""
    place = locate(str(data), PACKS).path
    files = table_files(place, "questions") if place.is_dir() else [place]
    if not files:
        raise DataError("holds no questions.", path=place, hint="See docs/reference/blend-form.md.")
    found = DataSet(place.name, place)
    own = {**defaults, **found.read_card(files[0].parent)}
    table = found.read_table(files[0])
    if "local" not in table.header:  # what has no text in another language is English
        own["language"] = "en"
    rows = found.read(table, QuestionRow, own, what="a table of questions")
    texts = [
        _Text(one.id, one.topic, one.kind or kind_of(one.english), one.english, one.local, one.language) for one in rows
    ]
    prompts = files[0].parent / PROMPT_FILE
    if place.is_dir() and prompts.is_file():
        templates = read_prompts(found, prompts)
        texts += [
            _Text(name, "", PROMPT, one.english, one.local, own["language"]) for (_, name), one in templates.items()
        ]
    return found, texts


def add_prompts(project: Project) -> None:
    """Give a new project the ways in which a model is asked (BLEnD's two), to be translated and agreed to."""
    english = default_prompts(project.culture)
    take_in(project, [_Text(name, "", PROMPT, text, "", "en") for name, text in english.items()])


def take_in(project: Project, texts: Sequence[_Text]) -> Taken:
    """Record what is new of ``texts``, by nobody."""
    before = Question.objects.filter(project=project).count()
    there = {one.name: one for one in Question.objects.filter(project=project) if one.name}
    wordings = 0
    with writing(), transaction.atomic():
        for one in texts:
            if one.name not in there:
                source = one.english or one.local
                body: dict[str, Any] = {"text": tidy(source), "language": "en" if one.english else one.language}
                body |= {"topic": tidy(one.topic, 200), "kind": one.kind, "name": tidy(one.name, 200)}
                own = uuid.uuid5(_IMPORTED, f"{project.slug}/{one.name}")
                there[one.name] = Question.objects.get(
                    pk=str(record(project, "question.written", body, actor="", uuid=own).uuid)
                )
            question = there[one.name]
            tag = one.language
            if not one.local or tag == question.language or tag not in project.languages or question.retired:
                continue
            if Wording.objects.filter(id=f"{question.id}:{tag}").exists():
                continue
            body = {"language": tag, "text": tidy(one.local), "note": "", "source": question.text_event, "base": ""}
            record(project, "wording.proposed", body, actor="", subject=question.id)
            wordings += 1
    return Taken(Question.objects.filter(project=project).count() - before, wordings)


def import_prompts(project: Project, data: str | Path) -> int:
    """Take a folder or sample pack of the perturbation form in, by nobody; return how many parts are new.

    What has the name of a part that is there is left out. Raises DataError for a row that cannot be read, UsageError
    for data whose tasks have prompts of their own.
    """
    place = locate(str(data), PROMPT_PACKS).path
    folders = dict(task_folders(place))
    if len(set(folders.values())) != 1:
        hint = f"Name one of its folders: {', '.join(sorted(one.name for one in folders.values()))}."
        raise (
            UsageError(f"{data} holds prompts for each task apart.", hint=hint)
            if folders
            else UsageError(f"{data} holds no prompts.", hint="See docs/reference/eecc-form.md.")
        )
    found = read_folder(place, place.name, next(iter(folders)))
    raise_first(found.problems)
    count = 0
    with writing(), transaction.atomic():
        there = {
            (one.role, one.name, one.fields.get("topic", ""))
            for one in PromptPart.objects.filter(project=project, retired=False)
        }
        for role in ROLES:
            rows, problems = read_table(role, found.by_role[PLURALS[role]], project)
            raise_first(problems)
            for _row, fields in rows:
                key = (role, fields[NAMES[role]], fields.get("topic", ""))
                if key not in there:
                    own = uuid.uuid5(_IMPORTED, "/".join((project.slug, *key)))
                    record(project, f"{role}.added", {"fields": fields}, actor="", uuid=own)
                    there.add(key)
                    count += 1
    return count
