"""What happens to everyday questions (BLEnD): they are written, revised, worded in other languages, and agreed to.

A question's own text is a wording, too: nothing is asked in any language before two people other than its author agree.
Texts know each other by the events they came by, so that what rests on an erased text goes with it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from rapidfuzz import fuzz

from kapwa.studio.core.agreeing import NEEDED
from kapwa.studio.core.comments import say
from kapwa.studio.core.kinds import RefusedError, common, kind, row_or_refused, without_reason_of_nobody
from kapwa.studio.core.notices import tell
from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import APPROVED, OUTDATED, Event, Project, change
from kapwa.studio.questions.tables import Question, Wording

# The kind of a text that is no question, but how a model is asked one: {q} stands for the question.
PROMPT = "prompt"
# Below this share of equal letters a text is another, not a change of the one before.
_ANOTHER = 50.0


@once_a_page
def questions_of(project: Project) -> list[Question]:
    """Return all questions of a project, and the prompts, by number, with their wordings at hand."""
    return list(Question.objects.filter(project=project).order_by("number").prefetch_related("wordings"))


def agreed_texts(project: Project, *languages: str) -> QuerySet[Wording]:
    """Return the wordings in ``languages`` that are agreed to, with their questions, by number; prompts, too.

    A wording is approved while two people other than its author agree to it as it stands, they are two thirds of those
    who said what they think of it, and the question has not changed since. That of a question's own language is its own
    text. Questions that were retired are not asked.
    """
    wordings = Wording.objects.filter(project=project, language__in=languages, state=APPROVED, question__retired=False)
    return wordings.select_related("question").order_by("question__number")


def askable(project: Project, *languages: str) -> QuerySet[Wording]:
    """Return those of :func:`agreed_texts` that people are asked: no prompts."""
    return agreed_texts(project, *languages).exclude(question__kind=PROMPT)


def was_agreed(wording: Wording, revision: int) -> bool:
    """Whether a text that people may have been asked is agreed to, or was before another took its place."""
    if revision == wording.revision and wording.state == APPROVED:
        return True
    question, tag = wording.question, wording.language
    log = Event.objects.filter(project_id=wording.project_id)
    judged = log.filter(kind="wording.agreed", subject=question.id, body__language=tag)
    people = Counter(text for text, _who in set(judged.values_list("body__wording", "actor")))
    revisions = set()
    for event in log.filter(uuid__in=[text for text, count in people.items() if count >= NEEDED]):
        later = event.kind == "question.revised"
        revisions.add(1 if event.kind == "question.written" else event.body["number"] + later)
    return revision in revisions


def _question(event: Event, *, live: bool) -> Question:
    question = row_or_refused(Question, event, _("This question no longer exists."))
    if live and question.retired and event.kind != "question.retired":
        raise RefusedError(_("This question is retired."), hint=_("A writer can bring it back into use."))
    return question


def _word(event: Event, question: Question, **columns: Any) -> None:
    """Set how the question is asked in a language; what people thought of the text before counts no more."""
    before = question.wordings.filter(language=columns["language"]).first()
    kept = before.authors if before and fuzz.ratio(before.text, columns["text"]) >= _ANOTHER else ()
    earlier = _authors_before(event, question, columns["language"], columns["text"]) if before else ()
    authors = list(dict.fromkeys([*kept, *earlier, event.actor]))
    columns |= common(event) | {"id": f"{question.id}:{columns['language']}", "question": question, "authors": authors}
    Wording(**columns, text_event=str(event.uuid), author=event.actor).save()


def _authors_before(event: Event, question: Question, language: str, text: str) -> list[str]:
    """Return who wrote this text, or one like it, at any time before: it may come back by way of others' texts."""
    log = Event.objects.filter(project_id=event.project_id, erased=False, seq__lt=event.seq)
    kinds = ["wording.proposed", *(["question.written", "question.revised"] if language == question.language else [])]
    theirs = log.filter(Q(uuid=question.id) | Q(subject=question.id), kind__in=kinds).order_by("seq")
    alike = [
        written.actor
        for written in theirs
        if written.body.get("language", language) == language and fuzz.ratio(written.body["text"], text) >= _ANOTHER
    ]
    return [author for author in alike if author]


@kind("question.written", counted="project")
def question_written(event: Event, *, live: bool) -> None:
    """Body: ``text``, ``language``, ``topic``, ``kind`` (of its answers), ``name`` (where it was imported)."""
    made = Question(**common(event), **event.body, text_event=str(event.uuid), author=event.actor)
    made.save()
    _word(event, made, language=made.language, text=made.text, revision=made.revision)


@kind("question.checked")
def question_checked(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``accepted``: the known answers in it; none: it is no check."""
    question = _question(event, live=live)
    accepted = {**question.accepted, event.body["language"]: event.body["accepted"]}
    accepted = {tag: texts for tag, texts in accepted.items() if texts}
    change(question, accepted=accepted, accepted_of=question.text_event)


@kind("question.revised", counted="subject", remarks=("reason",))
def question_revised(event: Event, *, live: bool) -> None:
    """Body: ``base`` (the event of the text that was seen), ``text``, ``topic``, ``kind``.

    Where people had agreed to the text before, it has ``against``, how many, and a ``reason``.

    A changed text has to be agreed to anew, and its wordings in other languages are outdated. Topic and kind describe.
    """
    question, body = _question(event, live=live), event.body
    if live and body["base"] != question.text_event:
        raise RefusedError(_("Somebody else has changed this."), hint=_("Open it again: your text is below."))
    question.topic, question.kind = body["topic"], body["kind"]
    if body["text"] != question.text:
        before = question.wordings.filter(language=question.language).first()
        if live and before:
            before.refuse_change(event)
        question.text, question.text_event, question.author = body["text"], str(event.uuid), event.actor
        question.revision = body["number"] + 1
        question.wordings.update(state=OUTDATED, counted=[], people=0)
        _word(event, question, language=question.language, text=question.text, revision=question.revision)
    question.save()


@kind("question.retired", stays=True, remarks=("reason",), left=without_reason_of_nobody)
def question_retired(event: Event, *, live: bool) -> None:
    """Body: ``retired``, with a ``reason``; False takes the question back into use."""
    question = _question(event, live=live)
    change(question, retired=event.body["retired"])
    if question.retired:
        tell(event, question.id, [question.author])


@kind("question.discussed", remarks=("text",))
def question_discussed(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``text``, ``language``, ``dissent``, and ``mentions``, as of a situation."""
    question = row_or_refused(Question, event, _("This question no longer exists."))
    say(event, [question.author])


@kind("wording.proposed", counted="subject", remarks=("note", "reason"))
def wording_proposed(event: Event, *, live: bool) -> None:
    """The subject is the question. Body: ``language``, ``text``, ``note``, ``source`` and ``base``.

    Where people had agreed to the wording before, it has ``against`` and a ``reason``, as above.

    ``source``: the event of the question's text that was seen; ``base``: that of the wording that was seen, or "".
    """
    question, body = _question(event, live=live), event.body
    before = question.wordings.filter(language=body["language"]).first()
    if live:
        if body["language"] == question.language:
            raise RefusedError(_("The question was written in this language."), hint=_("Change the question itself."))
        if body["source"] != question.text_event or body["base"] != (before.text_event if before else ""):
            raise RefusedError(_("Somebody else has changed this."), hint=_("Open it again: your text is below."))
        if before is not None and before.state != OUTDATED and body["text"] == before.text:
            raise RefusedError(_("The text is the same as before."), hint=_("Change something, or agree to it."))
        if before is not None:
            before.refuse_change(event)
    columns = {name: body[name] for name in ("language", "text", "note")}
    _word(event, question, **columns, revision=body["number"])


@kind("wording.published", stays=True)
def wording_published(event: Event, *, live: bool) -> None:
    """The subject is a question whose own text is a published one: it is agreed to until somebody refuses it.

    Body: ``language``, ``wording`` (the event of the text).
    """
    wording = _question(event, live=live).wordings.filter(language=event.body["language"]).first()
    if wording is None or wording.text_event != event.body["wording"]:
        raise RefusedError(_("The text has changed."), hint=_("Open it again and read the new version."))
    change(wording, state=APPROVED)


@kind("wording.agreed")
@kind("wording.refused", remarks=("reason",))
def wording_judged(event: Event, *, live: bool) -> None:
    """The subject is the question. Body: ``language``, ``wording`` (the event of the text that was seen).

    A refusal has a ``reason``, too. People may change their mind: the last word counts.
    """
    question, body = _question(event, live=live), event.body
    wording = question.wordings.filter(language=body["language"]).first() or Wording()  # of none no text was seen
    wording.judge(event, body["wording"], live=live, agrees=event.kind == "wording.agreed")
    if event.kind == "wording.refused":
        tell(event, question.id, [wording.author])
