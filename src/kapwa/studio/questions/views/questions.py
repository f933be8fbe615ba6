"""Everyday questions (BLEnD): written, taken in from tables, agreed to, and worded in other languages."""

from __future__ import annotations

import re
import uuid as uuids
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from django import forms
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n
from django.utils.translation import ngettext

from kapwa.errors import UsageError
from kapwa.studio.core.agreeing import NEEDED
from kapwa.studio.core.forms import Guide, ItemNamed, OwnItem, Stage, Todo, form_of, topic_name
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import InterfaceLanguage, language
from kapwa.studio.core.log import record
from kapwa.studio.core.posted import PageForm, SetText, form_number, posted, pressed
from kapwa.studio.core.reading import topics_of
from kapwa.studio.core.roles import AGREEING, QUESTION_READERS, TRANSLATORS, WRITERS
from kapwa.studio.core.searching import earlier, terms_in
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import APPROVED, ID, OUTDATED, PROPOSED, Event, Project, Topic
from kapwa.studio.core.text import listed, pieces, tidy, titled, wording_state
from kapwa.studio.core.views.commenting import CommentForm, comment_said, comments_shown
from kapwa.studio.core.views.common import ShownForm, act, judge_shown, show, take_publication, whole
from kapwa.studio.core.views.fields import WHY, LanguageField, OneOfField, RetireForm, TypedField, checked, told
from kapwa.studio.core.views.listing import ListFilter, authors_named, named, page_of
from kapwa.studio.questions.events import PROMPT, questions_of
from kapwa.studio.questions.merging import compared, comparisons
from kapwa.studio.questions.tables import Question, Wording
from kapwa.value_types import Cells, JsonObject, Keywords, Row

KIND_NAMES = listed("kinds of answers")
MOST_SHOWN = 50  # texts to which somebody agrees at once
_MOST = 300  # questions made of one text at once
_NO_TEXT = (_n("The text is empty."), _n("Write the text, then save."))
_NO_TOPIC = (_n("A question needs a topic."), _n("Choose one; you add others on the page of topics."))
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
        raise UsageError(_(_NO_TEXT[0]), hint=_(_NO_TEXT[1]))
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
        due = {*visit.project.languages, question.language}
        rows.append((question, [(tag, states.get(tag.tag)) for tag in tags if tag.tag in due]))
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
        "author": (_("Writer"), authors_named(visit.project, (question.author for question, _states in rows))),
    }
    asked = ListFilter(visit.request.GET, choices, among=len(rows))
    words, topic, state, tag = (asked.chosen(name).casefold() for name in ("q", "topic", "state", "language"))
    author = asked.chosen("author")
    found = []
    for question, of_tags in rows:
        seen = {known for one, known in of_tags if tag in ("", one.tag.casefold())}
        fits = topic in ("", question.topic.casefold()) and (not state or state in seen)
        fits = fits and author in ("", question.author)
        if fits and words in question.text.casefold():
            found.append((question, of_tags))
    return asked, found


class QuestionForm(PageForm):
    """A question or prompt, as somebody writes it in a ``language``, or changes ``question``, whose language stays.

    ``fillings``: lines of which each makes a question of a text with one blank; ``base``: the text that was seen.
    """

    language = LanguageField()
    text = TypedField(1000, wrong=told(*_NO_TEXT))
    topic = TypedField(200, line=True, required=False)
    kind = OneOfField(KIND_NAMES.items(), told(_n("The kind of answer is missing."), _n("Choose one.")))
    fillings = TypedField(50_000, required=False)
    base = SetText(max_length=ID, required=False)
    reason = TypedField(required=False)

    def __init__(self, question: Question | None, posted: QueryDict | None) -> None:
        names = ("text", "topic", "kind", "language")
        initial = {name: getattr(question, name) for name in names} if question else {}
        super().__init__(posted, initial=initial)
        self.fields["language"].required = question is None
        self.against = question and _agreement(question, question.language)

    @property
    def body(self) -> dict[str, str]:
        """What both events say of the question."""
        return {name: self.cleaned_data[name] for name in ("topic", "kind", "text")}

    def texts(self) -> list[str]:
        """Return the texts: that of the form, or one for each of its lines."""
        text, lines = self.cleaned_data["text"], self.cleaned_data["fillings"].split("\n")
        fillings, parts = list(filter(None, map(str.strip, lines))), _SLOT.split(text)
        if fillings and (len(parts) != 2 or len(fillings) > _MOST):
            message = _("A template has one blank, such as {thing}, and at most %(most)s lines to fill it.")
            raise forms.ValidationError(message % {"most": _MOST})
        return [filling.join(parts) for filling in fillings] or [text]

    def clean(self) -> None:
        """Refuse a question without a topic, texts that are none, and a change without a reason that needs one."""
        made = self.cleaned_data
        if made.get("kind") not in (None, PROMPT) and not made.get("topic"):
            self.add_error("topic", told(*_NO_TOPIC))
        if not self.errors:
            self._clean_texts()
        if self.against and made.get("text") != self.initial["text"] and not made.get("reason"):
            self.add_error("reason", told(*WHY))

    def _clean_texts(self) -> None:
        try:
            for text in self.texts():
                checked(checked_text, text, self.cleaned_data["kind"])
        except forms.ValidationError as error:
            self.add_error("text", error)


@page("questions/new/", read=WRITERS, write=WRITERS)
def new_question(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Write a question, or many at once: a text with a slot such as {thing}, and what goes there, one a line."""
    form = QuestionForm(None, posted(request))
    if not form.is_valid():
        return _desk(visit, form)
    texts, body = form.texts(), form.body | {"language": form.cleaned_data["language"], "name": ""}
    number = form_number(request) or uuids.uuid4()
    numbers = {text: uuids.uuid5(number, text) for text in texts}
    written = Question.objects.filter(project=visit.project, language=body["language"], text__in=texts)
    written = written.exclude(id__in=[str(number) for number in numbers.values()])  # by this form, sent again
    if not (fresh := set(texts).difference(written.values_list("text", flat=True))):
        form.add_error("text", _("“%(text)s” already exists.") % {"text": texts[0]})
        return _desk(visit, form)
    take_publication(visit)
    for text in dict.fromkeys(texts):  # in their order, each once
        if text in fresh:
            asked = body | {"text": text}
            record(visit.project, "question.written", asked, actor=visit.member.author, uuid=numbers[text])
    return redirect("questions", project=visit.project.slug)


def _desk(visit: Visit, form: QuestionForm, question: Question | None = None) -> HttpResponse:
    known = Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True)
    shown: Keywords = {"question": question, "kinds": KIND_NAMES, "languages": languages_of(visit.project)}
    topics = dict.fromkeys(filter(None, [question and question.topic, *(known or form_of(visit.project).topics)]))
    status = 400 if form.errors else 200
    return show(visit, "question_desk", status, **shown, topics=topics, asked=form, against=form.against)


@page("questions/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a question; a changed text is agreed to anew, and so are its wordings."""
    question = get_object_or_404(Question, project=visit.project, number=number)
    form = QuestionForm(question, posted(request))
    if not form.is_valid():
        return _desk(visit, form, question)
    body: JsonObject = {**form.body, "base": form.cleaned_data["base"]}
    if body["text"] != question.text and form.against:
        body |= {"against": form.against, "reason": form.cleaned_data["reason"]}
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
    form = RetireForm(posted(request))
    if not form.is_valid():
        return _wording(visit, language(question.language), question, retiring=form)
    act(visit, "question.retired", form.body, subject=question.id)
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
    """Return, of each language, how many texts are ``due`` in it, their states, how many wait, and who answered.

    ``to_compare``: the numbers of the questions that as many people answered as are wanted, and whose answers nobody
    compared; ``compared``: how many others of these there are.
    """
    project, rows = visit.project, []
    for spoken in languages_of(project):
        due = texts_in(project, spoken.tag)
        waiting = waiting_in(visit, spoken.tag)
        words = [(one, word) for one in due for word in one.wordings.all() if word.language == spoken.tag]
        states = Counter(word.state for _one, word in words)
        row = {"language": spoken, "due": len(due), "states": states, "waiting": len(waiting)}
        row["prompts_alone"] = waiting[0][0].number if waiting and all(one.kind == PROMPT for one, _w in waiting) else 0
        row["missing"] = len(due) - states.total()
        asked = [word for one, word in words if one.kind != PROMPT and word.state == APPROVED]
        asked = asked if spoken.tag in project.languages else []
        full = [word for word in asked if word.people >= project.people_each]
        to_merge = [word for word in full if not word.is_check]
        done = compared(to_merge, comparisons(project))
        to_compare = [word.question.number for word in to_merge if word.id not in done]
        row |= {"to_compare": to_compare, "compared": len(to_merge) - len(to_compare)}
        rows.append(row | {"asked": len(asked), "full": len(full)})
    return rows


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with questions; and how far these, wordings and answers are, by language."""
    todos: list[Todo] = []
    worded = []
    answered = []
    compared_in = []
    written = sum(not question.retired and question.kind != PROMPT for question in questions_of(visit.project))
    for row in progress(visit):
        name = row["language"].name
        tag = row["language"].tag
        agreed = row["states"][APPROVED]
        link = visit.link("translate_into", tag)
        todos += _to_look_at(visit, row)
        title = _("Wordings agreed in %(name)s, with those of the prompts") % {"name": name}
        waits = [_("translators, and two other people who agree")] if agreed < row["due"] else []
        worded.append(Stage(title, link, agreed, row["due"], waits))
        if row["asked"]:
            title = _("Answered in %(language)s by %(n)s people") % {"language": name, "n": visit.project.people_each}
            waits = [_("people who answer")] if row["full"] < row["asked"] else []
            link = visit.link("answers")
            answered.append(Stage(title, link and f"{link}?language={tag}", row["full"], row["asked"], waits))
        if row["compared"] or row["to_compare"]:
            compared_in.append(_comparing(visit, row))
    if visit.may(WRITERS):
        todos.append(Todo(_("Write a question"), visit.link("new_question"), n=0))
    waits = [] if written else [_("writers")]
    first = Stage(_("Questions written"), visit.link("questions"), written, waits=waits)
    return Guide(todos, [first, *worded, *answered, *compared_in])


def _to_look_at(visit: Visit, row: Row) -> Iterator[Todo]:
    """Yield what the visitor can do in a language besides answers, as :func:`progress` says it.

    Where prompts alone wait, it leads to the first.
    """
    name, tag, n = row["language"].name, row["language"].tag, row["waiting"]
    if row["prompts_alone"]:
        sentence = ngettext("You have %(n)s prompt to look at", "You have %(n)s prompts to look at", n) % {"n": n}
        link = visit.link("wording", tag, row["prompts_alone"])
        yield Todo(f"{_('Prompts')}: \u2068{name}\u2069", link, f"{sentence}.", n)
    elif n:
        sentence = ngettext("You have %(n)s question to look at", "You have %(n)s questions to look at", n) % {"n": n}
        yield Todo(f"{_('Questions')}: \u2068{name}\u2069", visit.link("translate_into", tag), f"{sentence}.")
    if row["to_compare"] and (link := visit.link("merge_answers", row["to_compare"][0])):
        title, about = _("Compare answers in %(language)s"), _("Say which answers mean the same, or that none do.")
        n = len(row["to_compare"])
        yield Todo(title % {"language": name}, f"{link}?language={tag}", about, n)


def _comparing(visit: Visit, row: Row) -> Stage:
    """Return how far the answers in a language are compared, as :func:`progress` says it."""
    title, link = _("Answers compared in %(language)s") % {"language": row["language"].name}, visit.link("answers")
    waits = [_("translators, scribes and coordinators")] if row["to_compare"] else []
    every = row["compared"] + len(row["to_compare"])
    return Stage(title, link and f"{link}?language={row['language'].tag}", row["compared"], every, waits)


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
    rows = [row for row in questions_of(visit.project) if row.id in items]
    return {row.id: ItemNamed(titled(row), visit.link("wording", row.language, row.number), row.number) for row in rows}


@page("translate/", read=QUESTION_READERS)
def translate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the project, with the states of the wordings and what waits for the visitor."""
    return show(visit, "translate", rows=progress(visit), needed=NEEDED)


@page("translate/<str:tag>/", read=QUESTION_READERS, write=AGREEING)
def translate_into(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show what waits for the visitor in a language; posted to, take their agreement to all but the exceptions."""
    spoken = _language(visit, tag)
    form = ShownForm(posted(request))
    if form.is_valid():
        about = ("wording.agreed", "wording.refused", "wording")
        changed = judge_shown(visit, form, *about, language=spoken.tag)
        return redirect(f"{visit.link('translate_into', tag)}?changed={changed}")
    waiting = waiting_in(visit, spoken.tag)
    others = [(question, word) for question, word in waiting if word and word.state != OUTDATED]
    asked = [(question, word) for question, word in others if word.author != visit.member.author]
    to_word = [entry for entry in waiting if entry not in asked]
    shown: Keywords = {"asked": asked[:MOST_SHOWN], "to_word": to_word[:MOST_SHOWN], "waiting": len(waiting)}
    shown |= {"judged": form, "changed": whole(request.GET.get("changed"))}
    return show(visit, "translate_into", 400 if form.errors else 200, own=spoken, **shown)


def _language(visit: Visit, tag: str) -> InterfaceLanguage:
    written = Question.objects.filter(project=visit.project, language=tag)
    if tag in visit.project.languages or written.exists():
        return language(tag)
    raise Http404


class ProposalForm(PageForm):
    """A wording of a question in a language; why it changes one to which people agreed.

    ``source`` and ``base``: the texts that were seen, of the question and of the wording.
    """

    name, kind = "proposal", "wording.proposed"
    source = SetText(max_length=ID, required=False)
    base = SetText(max_length=ID, required=False)
    text = TypedField(1000, wrong=told(*_NO_TEXT))
    note = TypedField(2000, required=False)
    reason = TypedField(required=False, wrong=told(*WHY))

    def __init__(self, question: Question, tag: str, posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.question, self.against = question, _agreement(question, tag)
        self.fields["reason"].required = bool(self.against)

    def clean_text(self) -> str:
        """Return the text, which asks what the question asks."""
        return checked(checked_text, self.cleaned_data["text"], self.question.kind)

    @property
    def body(self) -> JsonObject:
        """What the event says."""
        made = {name: self.cleaned_data[name] for name in ("source", "base", "text", "note")}
        return made | ({"against": self.against, "reason": self.cleaned_data["reason"]} if self.against else {})


class AgreementForm(PageForm):
    """Agreement to the wording that was seen."""

    name, kind = "agreement", "wording.agreed"
    wording = SetText(max_length=ID, required=False)

    def __init__(self, question: Question, tag: str, posted: QueryDict | None) -> None:
        super().__init__(posted)

    @property
    def body(self) -> JsonObject:
        """What the event says."""
        return self.cleaned_data


class RefusalForm(AgreementForm):
    """Why somebody does not agree to the wording that was seen."""

    name, kind = "refusal", "wording.refused"
    reason = TypedField(wrong=told(*WHY))


_OPINIONS: dict[str, type[ProposalForm | AgreementForm]] = {"propose": ProposalForm, "agree": AgreementForm}


@page("translate/<str:tag>/<int:number>/", read=QUESTION_READERS, write=AGREEING)
def wording(request: HttpRequest, visit: Visit, tag: str, number: int) -> HttpResponse:
    """Show a question and its wording in a language side by side; propose another, agree, or say why not."""
    spoken, question = _language(visit, tag), get_object_or_404(Question, project=visit.project, number=number)
    if request.method != "POST":
        return _wording(visit, spoken, question)
    action = pressed(request, "propose", "agree", "refuse")
    if action == "propose" and not visit.may(TRANSLATORS):
        hint = _("Refuse it, and say what you would write.")
        raise RefusedError(_("Only translators propose wordings."), hint=hint)
    form = _OPINIONS.get(action, RefusalForm)(question, spoken.tag, posted(request))
    if not form.is_valid():
        return _wording(visit, spoken, question, **{form.name: form})
    act(visit, form.kind, form.body | {"language": spoken.tag}, subject=question.id)
    following = [other.number for other, _word in waiting_in(visit, spoken.tag) if other.number != number]
    following.sort(key=lambda other: (other < number, other))
    return redirect(visit.link("wording", tag, following[0]) if following else visit.link("home"))


def _wording(visit: Visit, spoken: InterfaceLanguage, question: Question, **refused: PageForm) -> HttpResponse:
    """Show a question and its wording in a language, with the form of the page that was refused."""
    words = {version.language: version for version in question.wordings.all()}
    word, since = words.get(spoken.tag), None
    if word and word.state == OUTDATED:  # what the question has become since it was worded
        seen = Event.objects.get(uuid=word.text_event).body["source"]
        since = pieces(Event.objects.get(uuid=seen).body["text"], question.text)
    shown = {"question": question, "word": word, "own": spoken, "source": words[question.language], "since": since}
    shown |= {"against": word and word.agreement}
    shown |= {"history": history(question, spoken.tag), "needed": NEEDED, "agrees": visit.may(AGREEING)}
    others = Wording.objects.filter(project=visit.project, language=spoken.tag).exclude(question=question)
    others = others.exclude(question__language=spoken.tag)  # a text in its own language translates nothing
    alike = earlier([question.text], others.values_list("question__text", "text"))
    shown |= {"kind": KIND_NAMES[question.kind], "terms": terms_in(visit.project, question.text), "earlier": alike}
    shown |= comments_shown(visit, question.id, "discuss_question", question.number)
    return show(visit, "wording", 400 if refused else 200, **shown, **refused)


@page("questions/<int:number>/discuss/", write=QUESTION_READERS)
def discuss_question(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a comment on a question."""
    question, form = get_object_or_404(Question, project=visit.project, number=number), CommentForm(posted(request))
    if not form.is_valid():
        return _wording(visit, language(question.language), question, comment=form)
    act(visit, "question.discussed", comment_said(visit, form, question.language, "wording"), subject=question.id)
    return redirect("wording", project=visit.project.slug, tag=question.language, number=number)


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
