"""Everyday questions (BLEnD): written, taken in from tables, agreed to, and worded in other languages."""

from __future__ import annotations

import re
import uuid as uuids
from collections import Counter, defaultdict
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kapwa.errors import UsageError
from kapwa.studio.core.agreeing import NEEDED
from kapwa.studio.core.forms import Guide, Stage, Todo
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import Language, checked_tag, language
from kapwa.studio.core.log import record
from kapwa.studio.core.roles import AGREEING, QUESTION_READERS, TRANSLATORS, WRITERS
from kapwa.studio.core.searching import earlier, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import APPROVED, OUTDATED, Event, Project, Topic
from kapwa.studio.core.text import listed, pieces, tidy, tidy_line
from kapwa.studio.core.views.common import act, agree_to_shown, form_number, reason_of, retirement, show, whole
from kapwa.studio.questions.events import PROMPT, askable
from kapwa.studio.questions.tables import Question, Wording

# BLEnD's own; a project's topics take their place.
TOPICS = ("Food", "Sport", "Family", "Education", "Holidays/Celebration/Leisure", "Work life")
KIND_NAMES = listed("kinds of answers")
MOST_SHOWN = 50  # texts to which somebody agrees at once
_MOST = 300  # questions made of one text at once
_SLOT = re.compile(r"\{[^{}]*\}")


def languages_of(project: Project) -> list[Language]:
    """Return the languages that the project's questions are written or worded in."""
    written = Question.objects.filter(project=project).order_by("number").values_list("language", flat=True)
    return [language(tag) for tag in dict.fromkeys([*project.languages, *written])]


def texts_in(project: Project, tag: str) -> QuerySet[Question]:
    """Return the questions and prompts in use that are to be agreed to in a language, by number.

    In a language of the project all are; in another, such as English for prompts, those that are written in it.
    """
    used = Question.objects.filter(project=project, retired=False).order_by("number")
    return used if tag in project.languages else used.filter(language=tag)


def checked_text(text: str, kind: str) -> str:
    """Return what was typed as a question's text; raise UsageError where it is none."""
    clean = tidy(text, 1000)
    if not clean:
        raise UsageError(_("The text is empty."), hint=_("Write the text, then save."))
    if kind == PROMPT and clean.count("{q}") != 1:
        raise UsageError(_("A prompt must contain {q} exactly once."), hint=_("Write {q} where the question goes."))
    return clean


@page("questions/", read=QUESTION_READERS)
def questions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the questions by topic, with the state of each in every language; and how many are wanted of a topic."""
    topics: defaultdict[str, list[Any]] = defaultdict(list)
    written: Counter[str] = Counter()
    agreed: Counter[str] = Counter()
    tags = languages_of(visit.project)
    for question in Question.objects.filter(project=visit.project).order_by("number").prefetch_related("wordings"):
        states = {word.language: word.state for word in question.wordings.all()}
        group = _("How a model is asked") if question.kind == PROMPT else question.topic
        topics[group].append((question, [(tag, states.get(tag.tag)) for tag in tags]))
        if question.kind != PROMPT and not question.retired:
            written[question.topic] += 1
            agreed[question.topic] += states[question.language] == APPROVED
    wanted = dict(Topic.objects.filter(project=visit.project, retired=False).values_list("name", "target"))
    rows = [(name, written[name], agreed[name], wanted.get(name)) for name in sorted({*written, *wanted} - {""})]
    return show(visit, "questions", topics=dict(topics), coverage=rows)


@page("questions/new/", read=WRITERS, write=WRITERS)
def new_question(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Write a question, or many at once: a text with a slot such as {thing}, and what goes there, one a line."""
    if request.method != "POST":
        return _desk(visit)
    body = {**_typed(request), "language": checked_tag(request.POST.get("language", "")), "name": ""}
    texts, parts = [body["text"]], _SLOT.split(body["text"])
    fillings = [line.strip() for line in tidy(request.POST.get("fillings", ""), 50_000).split("\n") if line.strip()]
    if fillings:
        if len(parts) != 2 or len(fillings) > _MOST:
            message = _("A template has one blank, such as {thing}, and at most %(most)s lines to fill it.")
            raise UsageError(message % {"most": _MOST}, hint=_("Go back: what you typed is still there."))
        texts = [checked_text(filling.join(parts), body["kind"]) for filling in fillings]
    form = form_number(request) or uuids.uuid4()
    numbers = {text: uuids.uuid5(form, text) for text in texts}
    written = Question.objects.filter(project=visit.project, language=body["language"], text__in=texts)
    written = written.exclude(id__in=[str(number) for number in numbers.values()])  # by this form, sent again
    if not (fresh := set(texts).difference(written.values_list("text", flat=True))):
        message = _("“%(text)s” already exists.") % {"text": texts[0]}
        raise UsageError(message, hint=_("Go back: what you typed is still there."))
    for text in dict.fromkeys(texts):  # in their order, each once
        if text in fresh:
            asked = body | {"text": text}
            record(visit.project, "question.written", asked, actor=visit.member.author, uuid=numbers[text])
    return redirect("questions", project=visit.project.slug)


def _typed(request: HttpRequest) -> dict[str, str]:
    """Return the text, topic and kind that were typed; raise UsageError where one is none."""
    kind, topic = request.POST.get("kind", ""), tidy_line(request.POST.get("topic", ""), 200)
    if kind not in KIND_NAMES:
        raise UsageError(_("The kind of answer is missing."), hint=_("Choose one."))
    if not topic and kind != PROMPT:
        raise UsageError(_("A question needs a topic."), hint=_("Choose one; you add others on the page of topics."))
    return {"topic": topic, "kind": kind, "text": checked_text(request.POST.get("text", ""), kind)}


def _desk(visit: Visit, question: Question | None = None) -> HttpResponse:
    named = Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True)
    shown: dict[str, Any] = {"question": question, "kinds": KIND_NAMES, "languages": languages_of(visit.project)}
    topics = dict.fromkeys(filter(None, [question and question.topic, *(named or TOPICS)]))
    return show(visit, "question_desk", **shown, topics=topics)


@page("questions/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a question; a changed text is agreed to anew, and so are its wordings."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    if request.method != "POST":
        return _desk(visit, question)
    body = {**_typed(request), "base": request.POST.get("base", "")[:36]}
    act(visit, "question.revised", body, subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


@page("questions/<int:number>/retire/", write=WRITERS)
def retire_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a question out of use for a reason, or back into it."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    act(visit, "question.retired", retirement(request), subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


def waiting_in(visit: Visit, tag: str) -> list[tuple[Question, Wording | None]]:
    """Return the questions that wait for the visitor in a language, with their wordings in it, by number."""
    waiting = []
    for question in texts_in(visit.project, tag).prefetch_related("wordings"):
        words = {word.language: word for word in question.wordings.all()}
        if _waits(visit, words.get(tag), words[question.language]):
            waiting.append((question, words.get(tag)))
    return waiting


def _waits(visit: Visit, word: Wording | None, source: Wording) -> bool:
    """Whether the visitor can word a question whose own text is agreed to, agree, or see who said no to their words."""
    if word is None or word.state == OUTDATED:
        return source.state == APPROVED and visit.may(TRANSLATORS)
    if word.state == APPROVED or not visit.may(AGREEING):
        return False
    author = visit.member.author
    return bool(word.refused) if word.author == author else author not in (*word.authors, *word.agreed, *word.refused)


def progress(visit: Visit) -> list[dict[str, Any]]:
    """Return, of each language, how many texts are ``due`` in it, their states, how many wait, and who answered."""
    project, rows = visit.project, []
    for spoken in languages_of(project):
        due = texts_in(project, spoken.tag)
        states = Counter(due.filter(wordings__language=spoken.tag).values_list("wordings__state", flat=True))
        row = {"language": spoken, "due": due.count(), "states": states, "waiting": len(waiting_in(visit, spoken.tag))}
        asked = askable(project, spoken.tag).filter(language__in=project.languages)
        answered = {"asked": asked.count(), "full": asked.filter(people__gte=project.people_each).count()}
        rows.append(row | answered | {"missing": row["due"] - states.total()})
    return rows


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with questions; and how far these, wordings and answers are, by language."""
    todos = []
    worded = []
    answered = []
    written = Question.objects.filter(project=visit.project, retired=False).exclude(kind=PROMPT).count()
    for row in progress(visit):
        name = row["language"].name
        tag = row["language"].tag
        agreed = row["states"][APPROVED]
        link = visit.link("translate_into", tag)
        if row["waiting"]:
            n = row["waiting"]
            sentence = ngettext("You have %(n)s question to look at", "You have %(n)s questions to look at", n)
            todos.append(Todo(f"{_('Questions')}: \u2068{name}\u2069", link, sentence % {"n": n} + "."))
        title = _("Wordings agreed in %(name)s, with those of the prompts") % {"name": name}
        waits = [_("translators, and two other people who agree")] if agreed < row["due"] else []
        worded.append(Stage(title, link, agreed, row["due"], waits))
        if row["asked"]:
            title = _("Answered in %(language)s by %(n)s people") % {"language": name, "n": visit.project.people_each}
            waits = [_("people who answer")] if row["full"] < row["asked"] else []
            link = visit.link("answers")
            answered.append(Stage(title, link and f"{link}?language={tag}", row["full"], row["asked"], waits))
    if visit.may(WRITERS):
        todos.append(Todo(_("Write a question"), visit.link("new_question"), n=0))
    waits = [] if written else [_("writers")]
    first = Stage(_("Questions written"), visit.link("questions"), written, waits=waits)
    return Guide(todos, [first, *worded, *answered])


@page("translate/", read=QUESTION_READERS)
def translate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the project, with the states of the wordings and what waits for the visitor."""
    return show(visit, "translate", rows=progress(visit), needed=NEEDED)


@page("translate/<str:tag>/", read=QUESTION_READERS, write=AGREEING)
def translate_into(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show what waits for the visitor in a language; posted to, take their agreement to all but the exceptions."""
    spoken = _language(visit, tag)
    if request.method == "POST":
        changed = agree_to_shown(visit, "wording.agreed", "wording", language=spoken.tag)
        return redirect(f"{visit.link('translate_into', tag)}?changed={changed}")
    waiting = waiting_in(visit, spoken.tag)
    others = [(question, word) for question, word in waiting if word and word.state != OUTDATED]
    asked = [(question, word) for question, word in others if word.author != visit.member.author]
    to_word = [entry for entry in waiting if entry not in asked]
    shown: dict[str, Any] = {"asked": asked[:MOST_SHOWN], "to_word": to_word[:MOST_SHOWN], "waiting": len(waiting)}
    return show(visit, "translate_into", own=spoken, changed=whole(request.GET.get("changed")), **shown)


def _language(visit: Visit, tag: str) -> Language:
    for spoken in languages_of(visit.project):
        if spoken.tag == tag:
            return spoken
    raise Http404


@page("translate/<str:tag>/<int:number>/", read=QUESTION_READERS, write=AGREEING)
def wording(request: HttpRequest, visit: Visit, tag: str, number: int) -> HttpResponse:
    """Show a question and its wording in a language side by side; propose another, agree, or say why not."""
    spoken, question = _language(visit, tag), get_object_or_404(Question, project=visit.project, number=number)
    if request.method == "POST":
        kind, body = _opinion(request, visit, question)
        act(visit, kind, body | {"language": spoken.tag}, subject=question.id)
        following = [other.number for other, _word in waiting_in(visit, spoken.tag) if other.number != number]
        following.sort(key=lambda other: (other < number, other))
        return redirect(visit.link("wording", tag, following[0]) if following else visit.link("home"))
    words = {version.language: version for version in question.wordings.all()}
    word, since = words.get(spoken.tag), None
    if word and word.state == OUTDATED:  # what the question has become since it was worded
        seen = Event.objects.get(uuid=word.text_event).body["source"]
        since = pieces(Event.objects.get(uuid=seen).body["text"], question.text)
    shown = {"question": question, "word": word, "own": spoken, "source": words[question.language], "since": since}
    shown |= {"history": history(question, spoken.tag), "needed": NEEDED, "agrees": visit.may(AGREEING)}
    others = Wording.objects.filter(project=visit.project, language=spoken.tag).exclude(question=question)
    alike = earlier([question.text], others.values_list("question__text", "text"))
    shown |= {"kind": KIND_NAMES[question.kind], "terms": terms_in(visit.project, question.text), "earlier": alike}
    return show(visit, "wording", **shown)


def _opinion(request: HttpRequest, visit: Visit, question: Question) -> tuple[str, dict[str, str]]:
    """Return the event's kind and body of a proposal, an agreement or a refusal."""
    action, post = request.POST.get("action"), request.POST
    if action == "propose":
        if not visit.may(TRANSLATORS):
            raise RefusedError(
                _("Only translators propose wordings."), hint=_("Refuse it, and say what you would write.")
            )
        body = {"text": checked_text(post.get("text", ""), question.kind), "note": tidy(post.get("note", ""), 2000)}
        return "wording.proposed", body | {name: post.get(name, "")[:36] for name in ("source", "base")}
    body = {"wording": post.get("wording", "")[:36]}
    if action == "agree":
        return "wording.agreed", body
    return "wording.refused", body | {"reason": reason_of(request)}


def history(question: Question, tag: str) -> list[tuple[Event, list[tuple[str, str]]]]:
    """Return the log of a question in a language, newest first: its texts, with what each changed, opinions, uses."""
    kinds = {"question.retired", "wording.agreed", "wording.refused"}
    kinds |= {"question.written", "question.revised"} if tag == question.language else {"wording.proposed"}
    events = Event.objects.filter(Q(uuid=question.id) | Q(subject=question.id), project=question.project_id)
    entries, before = [], ""
    for event in events.filter(kind__in=kinds, erased=False).order_by("seq"):
        if event.body.get("language", tag) == tag:
            text = event.body.get("text", "")
            entries.append((event, pieces(before or text, text) if text else []))
            before = text or before
    return entries[::-1]
