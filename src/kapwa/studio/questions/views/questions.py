"""Everyday questions (BLEnD): written, taken in from tables, agreed to, and worded in other languages."""

from __future__ import annotations

import re
import uuid as uuids
from collections import Counter
from collections.abc import Collection
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n
from django.utils.translation import ngettext

from kapwa.errors import UsageError
from kapwa.studio.core.agreeing import NEEDED
from kapwa.studio.core.forms import Guide, ItemNamed, OwnItem, Stage, Todo, form_of, topic_name
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import InterfaceLanguage, checked_tag, language
from kapwa.studio.core.log import record
from kapwa.studio.core.reading import topics_of
from kapwa.studio.core.roles import AGREEING, QUESTION_READERS, TRANSLATORS, WRITERS
from kapwa.studio.core.searching import earlier, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import APPROVED, OUTDATED, PROPOSED, Event, Project, Topic
from kapwa.studio.core.text import listed, pieces, tidy, tidy_line, titled, wording_state
from kapwa.studio.core.views.commenting import comment_said, comments_shown
from kapwa.studio.core.views.common import (
    act,
    form_number,
    judge_shown,
    reason_of,
    retirement,
    show,
    take_publication,
    whole,
)
from kapwa.studio.core.views.listing import ListFilter, named, page_of
from kapwa.studio.questions.events import PROMPT, questions_of
from kapwa.studio.questions.tables import Question, Wording
from kapwa.value_types import Cells, JsonObject, Keywords

KIND_NAMES = listed("kinds of answers")
MOST_SHOWN = 50  # texts to which somebody agrees at once
_MOST = 300  # questions made of one text at once
_SLOT = re.compile(r"\{[^{}]*\}")


def languages_of(project: Project) -> list[InterfaceLanguage]:
    """Return the languages that the project's questions are written or worded in."""
    written = (question.language for question in questions_of(project))
    return [language(tag) for tag in dict.fromkeys([*project.languages, *written])]


def texts_in(project: Project, tag: str) -> list[Question]:
    """Return the questions and prompts in use that are to be agreed to in a language, by number.

    In a language of the project all are; in another, such as English for prompts, those that are written in it.
    """
    used = [question for question in questions_of(project) if not question.retired]
    return used if tag in project.languages else [question for question in used if question.language == tag]


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
    rows: list[Any] = []
    written: Counter[str] = Counter()
    agreed: Counter[str] = Counter()
    tags = languages_of(visit.project)
    for question in questions_of(visit.project):
        states = {word.language: word.state for word in question.wordings.all()}
        rows.append((question, [(tag, states.get(tag.tag)) for tag in tags]))
        if question.kind != PROMPT and not question.retired:
            written[question.topic] += 1
            agreed[question.topic] += states[question.language] == APPROVED
    wanted = {topic.name: topic.target for topic in topics_of(visit.project)}
    coverage = [(name, written[name], agreed[name], wanted.get(name)) for name in sorted({*written, *wanted} - {""})]
    asked, found = _looked_for(visit, rows)
    shown = {"shown": page_of(found, request.GET), "asked": asked, "any": bool(rows), "coverage": coverage}
    return show(visit, "questions", **shown)


def _looked_for(visit: Visit, rows: list[Any]) -> tuple[ListFilter, list[Any]]:
    """Return what the visitor looks for, and those of the questions, with their states, that fit it."""
    states = (APPROVED, PROPOSED, OUTDATED)
    topics = sorted({question.topic for question, _states in rows})
    choices = {
        "topic": (_("Topic"), [(name, topic_name(name)) for name, _name in named(topics)]),
        "state": (_("State"), [(state, wording_state(state)) for state in states]),
        "language": (_("Language"), [(tag.tag, tag.name) for tag in languages_of(visit.project)]),
    }
    asked = ListFilter(visit.request.GET, choices)
    words, topic, state, tag = (asked.chosen(name).casefold() for name in ("q", "topic", "state", "language"))
    found = []
    for question, of_tags in rows:
        seen = {known for one, known in of_tags if tag in ("", one.tag.casefold())}
        fits = topic in ("", question.topic.casefold()) and (not state or state in seen)
        if fits and words in question.text.casefold():
            found.append((question, of_tags))
    return asked, found


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
    take_publication(visit)
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
    shown: Keywords = {"question": question, "kinds": KIND_NAMES, "languages": languages_of(visit.project)}
    shown["against"] = question and _agreement(question, question.language)
    topics = dict.fromkeys(filter(None, [question and question.topic, *(named or form_of(visit.project).topics)]))
    return show(visit, "question_desk", **shown, topics=topics)


@page("questions/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a question; a changed text is agreed to anew, and so are its wordings."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    if request.method != "POST":
        return _desk(visit, question)
    body: JsonObject = {**_typed(request), "base": request.POST.get("base", "")[:36]}
    if body["text"] != question.text and (against := _agreement(question, question.language)):
        body |= {"against": against, "reason": reason_of(request)}
    act(visit, "question.revised", body, subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


def _agreement(question: Question, tag: str) -> dict[str, int] | None:
    """Return how many people agreed to the present text in a language, of how many; None where they did not."""
    word = question.wordings.filter(language=tag).first()
    return word.agreement if word else None


@page("questions/<int:number>/retire/", write=WRITERS)
def retire_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a question out of use for a reason, or back into it."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    act(visit, "question.retired", retirement(request), subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


def waiting_in(visit: Visit, tag: str) -> list[tuple[Question, Wording | None]]:
    """Return the questions that wait for the visitor in a language, with their wordings in it, by number."""
    waiting = []
    for question in texts_in(visit.project, tag):
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


def progress(visit: Visit) -> list[Cells]:
    """Return, of each language, how many texts are ``due`` in it, their states, how many wait, and who answered."""
    project, rows = visit.project, []
    for spoken in languages_of(project):
        due = texts_in(project, spoken.tag)
        words = [(one, word) for one in due for word in one.wordings.all() if word.language == spoken.tag]
        states = Counter(word.state for _one, word in words)
        row = {"language": spoken, "due": len(due), "states": states, "waiting": len(waiting_in(visit, spoken.tag))}
        row["missing"] = len(due) - states.total()
        asked = [word for one, word in words if one.kind != PROMPT and word.state == APPROVED]
        asked = asked if spoken.tag in project.languages else []
        answered = {"asked": len(asked), "full": sum(word.people >= project.people_each for word in asked)}
        rows.append(row | answered)
    return rows


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with questions; and how far these, wordings and answers are, by language."""
    todos = []
    worded = []
    answered = []
    written = sum(not question.retired and question.kind != PROMPT for question in questions_of(visit.project))
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


NOTICES = {
    "wording.refused": _n("Somebody does not agree to your words in: %(item)s."),
    "question.retired": _n("Your question %(number)s is no longer used."),
}


def own(visit: Visit) -> list[OwnItem]:
    """Return the questions and wordings that the visitor wrote, each with its state."""
    words = Wording.objects.filter(project=visit.project, author=visit.member.author).select_related("question")
    return [
        OwnItem(
            f"{titled(word.question)}, \u2068{language(word.language).name}\u2069",
            visit.link("wording", word.language, word.question.number),
            word.text,
            _("retired") if word.question.retired else wording_state(word.state),
        )
        for word in words.order_by("-seq")
    ]


def items_named(visit: Visit, items: Collection[str]) -> dict[str, ItemNamed]:
    """Return what questions are called, and the addresses of their pages."""
    rows = Question.objects.filter(project=visit.project, id__in=items)
    return {row.id: ItemNamed(titled(row), visit.link("wording", row.language, row.number), row.number) for row in rows}


@page("translate/", read=QUESTION_READERS)
def translate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the project, with the states of the wordings and what waits for the visitor."""
    return show(visit, "translate", rows=progress(visit), needed=NEEDED)


@page("translate/<str:tag>/", read=QUESTION_READERS, write=AGREEING)
def translate_into(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show what waits for the visitor in a language; posted to, take their agreement to all but the exceptions."""
    spoken = _language(visit, tag)
    unexplained: list[str] = []
    if request.method == "POST":
        changed, unexplained = judge_shown(visit, "wording.agreed", "wording.refused", "wording", language=spoken.tag)
        if not unexplained:
            return redirect(f"{visit.link('translate_into', tag)}?changed={changed}")
    waiting = waiting_in(visit, spoken.tag)
    others = [(question, word) for question, word in waiting if word and word.state != OUTDATED]
    asked = [(question, word) for question, word in others if word.author != visit.member.author]
    to_word = [entry for entry in waiting if entry not in asked]
    shown: Keywords = {"asked": asked[:MOST_SHOWN], "to_word": to_word[:MOST_SHOWN], "waiting": len(waiting)}
    shown |= {"unexplained": unexplained, "changed": whole(request.GET.get("changed"))}
    return show(visit, "translate_into", 400 if unexplained else 200, own=spoken, **shown)


def _language(visit: Visit, tag: str) -> InterfaceLanguage:
    written = Question.objects.filter(project=visit.project, language=tag)
    if tag in visit.project.languages or written.exists():
        return language(tag)
    raise Http404


@page("translate/<str:tag>/<int:number>/", read=QUESTION_READERS, write=AGREEING)
def wording(request: HttpRequest, visit: Visit, tag: str, number: int) -> HttpResponse:
    """Show a question and its wording in a language side by side; propose another, agree, or say why not."""
    spoken, question = _language(visit, tag), get_object_or_404(Question, project=visit.project, number=number)
    if request.method == "POST":
        kind, body = _opinion(request, visit, question, spoken.tag)
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
    shown |= {"against": word and word.agreement}
    shown |= {"history": history(question, spoken.tag), "needed": NEEDED, "agrees": visit.may(AGREEING)}
    others = Wording.objects.filter(project=visit.project, language=spoken.tag).exclude(question=question)
    alike = earlier([question.text], others.values_list("question__text", "text"))
    shown |= {"kind": KIND_NAMES[question.kind], "terms": terms_in(visit.project, question.text), "earlier": alike}
    shown |= comments_shown(visit, question.id, "discuss_question", number)
    return show(visit, "wording", **shown)


@page("questions/<int:number>/discuss/", write=QUESTION_READERS)
def discuss_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a comment on a question."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    act(visit, "question.discussed", comment_said(visit, question.language, "wording"), subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


def _opinion(request: HttpRequest, visit: Visit, question: Question, tag: str) -> tuple[str, JsonObject]:
    """Return the event's kind and body of a proposal, an agreement or a refusal."""
    action, post = request.POST.get("action"), request.POST
    if action == "propose":
        if not visit.may(TRANSLATORS):
            raise RefusedError(
                _("Only translators propose wordings."), hint=_("Refuse it, and say what you would write.")
            )
        made: JsonObject = {name: post.get(name, "")[:36] for name in ("source", "base")}
        made |= {"text": checked_text(post.get("text", ""), question.kind), "note": tidy(post.get("note", ""), 2000)}
        if against := _agreement(question, tag):
            made |= {"against": against, "reason": reason_of(request)}
        return "wording.proposed", made
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
