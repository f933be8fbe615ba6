"""Wordings that an audit found right and the key lacks, as ``kapwa label apply`` writes them: for whoever merges."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction

from kapwa.datasets.sheets import header_of
from kapwa.errors import DataError
from kapwa.files import slug
from kapwa.labels.audits.correction import PROPOSAL_SCHEMA
from kapwa.languages.codes import name_of
from kapwa.studio.core.log import lock_project, record, single_writer
from kapwa.studio.core.release import item_id
from kapwa.studio.core.tables import Event, Project
from kapwa.studio.core.text import key_of, tidy, tidy_line
from kapwa.studio.questions.events import PROMPT
from kapwa.studio.questions.merging import merged_answers
from kapwa.studio.questions.tables import Wording
from kapwa.tables import TextRow, read_sheet


def take_proposals(project: Project, data: str | Path) -> str:
    """Propose each wording of a table of proposals for the question that it answers, once; return how many are new.

    Where ``data`` is no such table, that is "". What somebody declined is not proposed again. Raises DataError, naming
    the row, for a question that the project lacks, or asks in other words than when it was audited; then nothing is
    taken in.
    """
    path = Path(data)
    if path.suffix != ".csv" or not path.is_file() or not set(header_of(read_sheet(path))) >= set(PROPOSAL_SCHEMA):
        return ""
    rows = read_sheet(path, required=tuple(PROPOSAL_SCHEMA))
    wordings = Wording.objects.filter(project=project).exclude(question__kind=PROMPT)
    new = 0
    with single_writer(), transaction.atomic():
        lock_project(project)
        merged = {_place(project, each.wording): each for each in merged_answers(project, wordings)}
        cultures = {culture for culture, _name in merged}
        for row in rows:
            culture, _, name = row.cells["item_id"].rpartition("/")
            if slug(culture) not in cultures:
                continue
            of_question = merged.get((slug(culture), name))
            if of_question is None:
                raise _refused(row, path, "item_id", "the project has no such question.")
            if row.cells["language"] != of_question.wording.language:
                continue  # answers in English, which people merge in their own language
            wording, text = of_question.wording, tidy_line(row.cells["wording"], 400)
            if tidy(row.cells["question"]) != wording.text:
                raise _refused(row, path, "question", "the question has other words now than when it was audited.")
            groups = [*of_question.groups, *of_question.proposed]
            known = {"project": project, "kind": "answers.proposed", "subject": wording.question_id}
            before = Event.objects.filter(**known, body__language=wording.language, body__text=text)
            if not text or any(key_of(project, text) in group.texts for group in groups) or before.exists():
                continue
            facts = {column: row.cells[column] for column in ("votes", "raters", "draw", "rubric")}
            body = {"language": wording.language, "text": text, **facts}
            record(project, "answers.proposed", body, actor="", subject=wording.question_id)
            new += 1
    return f"{new} proposed wordings for whoever merges answers; {len(rows) - new} passed over."


def _place(project: Project, wording: Wording) -> tuple[str, str]:
    """Culture and name of a question in a language, as items of its releases are called."""
    tag, question = wording.language, wording.question
    culture = project.culture if tag == project.language else f"{project.culture} ({name_of(tag)})"
    return slug(culture), question.name or item_id(project, question.number)


def _refused(row: TextRow, path: Path, column: str, message: str) -> DataError:
    hint = "Delete the row, or bring the question's text back to what it was."
    return DataError(message, path=path, row=row.number, column=column, hint=hint)
