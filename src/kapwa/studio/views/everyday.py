"""Everyday questions (BLEnD): the list by topic, writing one or many, taking a table in, and the project's stages."""

from __future__ import annotations

import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.errors import DataError, UsageError
from kapwa.studio.events import record
from kapwa.studio.fields import tidy, tidy_line
from kapwa.studio.importing import read_questions, take_in
from kapwa.studio.languages import Language, checked_tag, language
from kapwa.studio.merging import merged_answers
from kapwa.studio.models import Project, Question, Release, Topic, Wording
from kapwa.studio.models.everyday import APPROVED
from kapwa.studio.projections.everyday import PROMPT, agreed_texts
from kapwa.studio.roles import QUESTION_READERS, WRITERS
from kapwa.studio.security import PAGES, Visit, page
from kapwa.studio.taking import refuse_large
from kapwa.studio.views.common import act, show
from kapwa.suites.blend.questions import KINDS

# BLEnD's own; a project's topics take their place.
TOPICS = ("Food", "Sport", "Family", "Education", "Holidays/Celebration/Leisure", "Work life")
KIND_NAMES = dict(
    zip(
        (*KINDS, PROMPT),
        (
            gettext_lazy("words"),
            gettext_lazy("a number"),
            gettext_lazy("a date (MM/DD)"),
            gettext_lazy("a time (HH:MM)"),
            gettext_lazy("none: it says how a model is asked"),
        ),
        strict=True,
    )
)
_LONGEST, _MOST = 1000, 300
_TABLES = (".csv", ".tsv", ".jsonl", ".xlsx")  # parquet unpacks to any size, and says less of it than a workbook
_SLOT = re.compile(r"\{[^{}]*\}")


def languages_of(project: Project) -> list[Language]:
    """Return the languages that the project's questions are written or worded in."""
    written = Question.objects.filter(project=project).values_list("language", flat=True).order_by("number")
    return [language(tag) for tag in dict.fromkeys([*project.languages, *written])]


def texts_in(project: Project, tag: str) -> list[Question]:
    """Return the questions and prompts in use that are to be agreed to in a language, by number.

    In a language of the project all are; in another, such as English for prompts, those that are written in it.
    """
    used = Question.objects.filter(project=project, retired=False).order_by("number")
    return [one for one in used if tag in project.languages or one.language == tag]


def question_or_404(visit: Visit, number: int) -> Question:
    """Return the project's question that people see under ``number``."""
    found = Question.objects.filter(project=visit.project, number=number).first()
    if found is None:
        raise Http404
    return found


def checked_text(text: str, kind: str) -> str:
    """Return what was typed as a question's text; raise UsageError where it is none."""
    clean = tidy(text, _LONGEST)
    if not clean:
        raise UsageError(_("Nothing is written."), hint=_("Write the text, then save."))
    if kind == PROMPT and clean.count("{q}") != 1:
        raise UsageError(_("A prompt says once where the question goes: {q}."), hint=_("Write {q} there, as it is."))
    return clean


@page("questions/", read=QUESTION_READERS)
def questions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the questions by topic, with the state of each in every language."""
    states = {one.id: one.state for one in Wording.objects.filter(project=visit.project)}
    tags = languages_of(visit.project)
    topics: defaultdict[str, list[Any]] = defaultdict(list)
    for one in Question.objects.filter(project=visit.project).order_by("number"):
        group = _("How a model is asked") if one.kind == PROMPT else one.topic
        topics[group].append((one, [(tag, states.get(f"{one.id}:{tag.tag}", "")) for tag in tags]))
    return show(request, visit, "questions", topics=dict(topics), coverage=covered(visit.project))


def covered(project: Project) -> list[tuple[str, int, int, int]]:
    """Return (topic, questions written, of them agreed to in their own language, wanted: 0 where not said)."""
    used = [one for one in Question.objects.filter(project=project, retired=False) if one.kind != PROMPT]
    agreed = set(Wording.objects.filter(project=project, state=APPROVED).values_list("id", flat=True))
    every = Counter(one.topic for one in used)
    done = Counter(one.topic for one in used if f"{one.id}:{one.language}" in agreed)
    wanted = dict(Topic.objects.filter(project=project, retired=False).values_list("name", "target"))
    return [(name, every[name], done[name], wanted.get(name, 0)) for name in sorted({*every, *wanted} - {""})]


@page("questions/new/", read=WRITERS, write=WRITERS)
def new_question(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Write a question, or many at once: a text with a slot such as {thing}, and what goes there, one a line."""
    if request.method != "POST":
        return _desk(request, visit)
    tag, text = checked_tag(request.POST.get("language", "")), request.POST.get("text", "")
    about = {**_described(request), "language": tag, "name": ""}
    fillings = [line.strip() for line in tidy(request.POST.get("fillings", ""), 50_000).split("\n") if line.strip()]
    if not fillings:
        event = act(request, visit, "question.written", {**about, "text": checked_text(text, about["kind"])})
        return redirect("question", project=visit.project.slug, number=event.body["number"])
    if len(_SLOT.findall(text)) != 1 or len(fillings) > _MOST:
        message = _("A template has one place to fill, such as {thing}, and at most %(most)s lines for it.")
        raise UsageError(message % {"most": _MOST}, hint=_("Go back: what you typed is still there."))
    there = set(Question.objects.filter(project=visit.project, language=tag).values_list("text", flat=True))
    for filling in dict.fromkeys(fillings):
        made = checked_text(_SLOT.sub(lambda _found, own=filling: own, text), about["kind"])  # type: ignore[misc]
        if made not in there:
            record(visit.project, "question.written", {**about, "text": made}, actor=visit.member.author)
    return redirect("questions", project=visit.project.slug)


def _described(request: HttpRequest) -> dict[str, str]:
    kind = request.POST.get("kind", KINDS[0])
    if kind not in KIND_NAMES:
        raise UsageError(_("It is not said what kind of answer the question asks for."), hint=_("Choose one."))
    topic = tidy_line(request.POST.get("topic", ""), 200)
    if not topic and kind != PROMPT:
        raise UsageError(_("A question needs a topic."), hint=_("Choose one; others are added on the page of topics."))
    return {"topic": topic, "kind": kind}


def _desk(request: HttpRequest, visit: Visit, question: Question | None = None) -> HttpResponse:
    named = Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True)
    own = [question.topic] if question else []
    return show(
        request,
        visit,
        "question_desk",
        question=question,
        topics=[name for name in dict.fromkeys([*own, *(named or TOPICS)]) if name],
        kinds=KIND_NAMES,
        languages=languages_of(visit.project),
        own=language(question.language if question else visit.project.language),
    )


@page("questions/<int:number>/", read=QUESTION_READERS)
def question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show a question with its state in every language."""
    found = question_or_404(visit, number)
    words = {one.language: one for one in Wording.objects.filter(question=found.id)}
    rows = [(one, words.get(one.tag)) for one in languages_of(visit.project)]
    return show(request, visit, "question", question=found, rows=rows, kind=KIND_NAMES[found.kind])


@page("questions/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a question; a changed text is agreed to anew, and so are its wordings."""
    found = question_or_404(visit, number)
    if request.method != "POST":
        return _desk(request, visit, found)
    body = {**_described(request), "base": request.POST.get("base", "")[:36]}
    body["text"] = checked_text(request.POST.get("text", ""), body["kind"])
    act(request, visit, "question.revised", body, subject=found.id, parent=found.seq)
    return redirect("question", project=visit.project.slug, number=number)


@page("questions/<int:number>/retire/", write=WRITERS)
def retire_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a question out of use, or back into it."""
    body = {"retired": request.POST.get("back") != "yes"}
    act(request, visit, "question.retired", body, subject=question_or_404(visit, number).id)
    return redirect("question", project=visit.project.slug, number=number)


@page("questions/import/", read=WRITERS, write=WRITERS)
def import_table(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take a table of questions in; where rows cannot be read, say of each which and why, and take nothing."""
    if request.method != "POST":
        return show(request, visit, "question_import")
    file = request.FILES.get("table")
    suffix = Path(file.name or "").suffix.lower() if file else ""
    if file is None or suffix not in _TABLES:
        known = ", ".join(_TABLES)
        raise UsageError(_("No table was sent."), hint=_("Choose a file of one of these kinds: %s.") % known)
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        path = Path(place) / f"table{suffix}"
        path.write_bytes(file.read())
        try:
            refuse_large(path)
            found, texts = read_questions(path, {"culture": visit.project.culture, "language": visit.project.language})
            problems = found.problems
        except DataError as error:
            problems, texts = [error], []
    if problems:
        return show(request, visit, "question_import", 400, problems=problems)
    taken = take_in(visit.project, texts)
    return show(request, visit, "question_import", taken=taken)


class Stage(NamedTuple):
    """A step of a project: what it is, where it is done ("" for who may not), how far it is, and who is needed."""

    name: str
    link: str
    done: int
    of: int
    waits: str


def stages(visit: Visit) -> list[Stage]:
    """Return the steps from questions to a release, in order, with what each waits for."""
    project = visit.project

    def link(name: str, *parts: str) -> str:
        return reverse(name, args=[project.slug, *parts]) if visit.may(PAGES[name].read) else ""

    written = Question.objects.filter(project=project, retired=False).exclude(kind=PROMPT).count()
    found = [Stage(_("Questions written"), link("questions"), written, written, "" if written else _("writers"))]
    answered: list[Stage] = []
    for one in languages_of(project):
        due = {text.id for text in texts_in(project, one.tag)}
        agreed = sum(text.question.id in due for text in agreed_texts(project, one.tag))
        waits = "" if agreed == len(due) else _("translators, and two other people who agree")
        name = _("Agreed in %s, with the prompts") % one.name
        found.append(Stage(name, link("translate_into", one.tag), agreed, len(due), waits))
        merged = [own for own in merged_answers(project, one.tag, everybody=True) if own.question.kind != PROMPT]
        asked = [own for own in merged if own.asked]
        if asked and one.tag in project.languages:
            full = sum(own.people >= project.people_each for own in asked)
            name = _("Answered in %(language)s by %(n)s people") % {"language": one.name, "n": project.people_each}
            place = link("answers") and f"{link('answers')}?language={one.tag}"
            answered.append(Stage(name, place, full, len(asked), "" if full == len(asked) else _("people who answer")))
    made = Release.objects.filter(project=project).count()
    waits = "" if made else _("coordinators, once there are answers; merge those that mean the same first")
    return [*found, *answered, Stage(_("Releases"), link("releases"), made, made, waits)]
