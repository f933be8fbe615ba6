"""Take everyday questions and prompts in from tables, to be agreed to; answers in them stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from kapwa.datasets.columns import CODE, ENGLISH, LABEL, MADE, TEXT, FormColumn
from kapwa.datasets.packs import DataSet
from kapwa.studio.core.importing import Rows, sound_rows, unkept
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.roles import WRITERS
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import tidy, tidy_line
from kapwa.studio.questions.events import PROMPT
from kapwa.studio.questions.tables import Question
from kapwa.suites.blend.data import PACKS
from kapwa.suites.blend.form import QuestionRow
from kapwa.suites.blend.prompts import SLOT, PromptRow, default_prompts
from kapwa.suites.blend.questions import kind_of
from kapwa.suites.blend.released import form_tables
from kapwa.tables import Record, TextTable

QUESTIONS, PROMPTS = "questions", "prompts"


class QuestionTables:
    """Tables of questions, and of the prompts by which models are asked them."""

    roles: tuple[str, ...] = (QUESTIONS, PROMPTS)
    writers = WRITERS
    packs = PACKS
    next_step = "Two people must agree to each."

    def columns(self, project: Project, role: str, header: Sequence[str] = ()) -> list[FormColumn]:
        """Return the columns of the answer form's table of questions, or of its table of prompts."""
        of_questions = role == QUESTIONS
        columns = [
            FormColumn("id", [_("Number")], CODE),
            FormColumn("english", [_("The question in English")], ENGLISH),
        ]
        columns.append(FormColumn("local", [_("Question") if of_questions else _("Prompt")], TEXT))
        columns.append(FormColumn("language", [_("Language")], usual=project.language))
        if of_questions:
            columns.insert(1, FormColumn("topic", [_("Topic")], LABEL, needed=True, usual=""))
            columns.append(FormColumn("kind", [_("Kind of answer")]))
        return [*columns, *unkept(header)]

    def released(self, place: Path) -> Mapping[str, TextTable]:
        """Return the questions and prompts of countries that BLEnD's authors released."""
        return form_tables(place)

    def read(self, project: Project, role: str, table: TextTable) -> Rows:
        """Return the rows as questions; one without a text in another language is English."""
        reader, tags, records = DataSet(role, None), dict[int, str](), []
        for number, cells in table.records:
            tags[number] = str(cells.get("language") or project.language) if cells.get("local") else "en"
            language = {"language": tags[number]} if role == QUESTIONS else {}
            records.append(
                Record(number, {name: cell for name, cell in cells.items() if name != "language"} | language)
            )
        header = tuple(dict.fromkeys([*table.header, "english", "local"]))
        header = header if role == QUESTIONS else tuple(name for name in header if name != "language")
        model: Any = QuestionRow if role == QUESTIONS else PromptRow
        rows = reader.read(table._replace(header=header, records=records), model, {"culture": project.culture})
        return sound_rows(rows, lambda row: _item(row, tags[row.origin.row]), reader.problems)

    def take(self, project: Project, role: str, item: Any, *, actor: str) -> bool:
        """Record a question or prompt whose name (else text) the project does not have, or its wording if that lacks.

        The English text is the question, and the local one its wording; one of the two alone is the question.
        """
        text, tag = item["english"] or item["local"], item["language"]
        body = {name: item[name] for name in ("name", "topic", "kind")}
        body |= {"text": text, "language": "en" if item["english"] else tag}
        same = ("name",) if item["name"] else ("text", "language")
        before = Question.objects.filter(project=project, **{name: body[name] for name in same}).first()
        question = before or Question.objects.get(pk=record(project, "question.written", body, actor=actor).uuid)
        worded = question.retired or question.wordings.filter(language=tag).exists()
        if not item["local"] or worded or tag not in project.languages:
            return before is None
        wording = {"language": tag, "text": item["local"], "note": "", "source": question.text_event, "base": ""}
        record(project, "wording.proposed", wording, actor=actor, subject=question.id)
        return True


def _item(row: Any, language: str) -> tuple[Mapping[str, str], dict[str, str]]:
    """Return what people are shown of a question or prompt, and all of it."""
    shown = {"english": tidy(row.english, 1000), "local": tidy(row.local, 1000), "language": language}
    name = "" if row.id.startswith(MADE) else tidy_line(row.id, 200)
    if isinstance(row, QuestionRow):
        shown |= {"topic": tidy_line(row.topic, 200), "kind": row.kind or kind_of(row.english)}
        return shown, {"name": name, **shown}
    if any(text and text.count(SLOT) != 1 for text in (shown["english"], shown["local"])):
        raise RefusedError(_("A prompt must contain {q} exactly once."), hint=_("Write {q} where the question goes."))
    return shown, {"name": name, "topic": "", "kind": PROMPT, **shown}


def add_prompts(project: Project) -> None:
    """Give a new project the ways in which a model is asked (BLEnD's two), to be translated.

    They are agreed to as they stand in English, until somebody refuses one.
    """
    about = {"local": "", "language": "en", "topic": "", "kind": PROMPT}
    with single_writer(), transaction.atomic():
        for name, text in default_prompts(project.culture).items():
            QuestionTables().take(project, PROMPTS, {"name": name, "english": text, **about}, actor="")
        for prompt in Question.objects.filter(project=project, kind=PROMPT):
            body = {"language": prompt.language, "wording": prompt.text_event}
            record(project, "wording.published", body, actor="", subject=prompt.id)
