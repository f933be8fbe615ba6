"""What happens to everyday questions (BLEnD): they are written, revised, worded in other languages, and agreed to.

A question's own text is a wording, too: nothing is asked in any language before two people other than its author agree.
Texts know each other by the events they came by, so that what rests on an erased text goes with it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.utils.translation import gettext as _

from kapwa.people.agreement import has_majority
from kapwa.studio.models import Event, Project, Question, Wording
from kapwa.studio.models.everyday import APPROVED, OUTDATED, PROPOSED
from kapwa.studio.projections.registry import RefusedError, common, kind

# How many people, besides who worded it, agree to what is asked (Kapwa's rule; BLEnD had two translators).
AGREEING = 2
# The kind of a text that is no question, but how a model is asked one: {q} stands for the question.
PROMPT = "prompt"


class Asked(NamedTuple):
    """A question, and how it is asked in one language."""

    question: Question
    wording: Wording


def askable(project: Project, language: str) -> list[Asked]:
    """Return the questions that may be asked in ``language`` with their approved wordings, by number.

    A wording is approved while two people other than its author agree to it as it stands, they are two thirds of those
    who said what they think of it, and the question has not changed since. That of a question's own language is its own
    text. Questions that were retired are not asked.
    """
    return [one for one in agreed_texts(project, language) if one.question.kind != PROMPT]


def agreed_texts(project: Project, language: str) -> list[Asked]:
    """Return what :func:`askable` does, with the prompts by which models are asked."""
    found = Wording.objects.filter(project=project, language=language, state=APPROVED)
    wordings = {one.question: one for one in found}
    questions = Question.objects.filter(project=project, retired=False).order_by("number")
    return [Asked(one, wordings[one.id]) for one in questions if one.id in wordings]


def asked_revisions(project: Project, languages: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return the revisions of question and wording of all that :func:`askable` returns, by the wordings' ids."""
    questions = Question.objects.filter(project=project, retired=False).exclude(kind=PROMPT)
    known = dict(questions.values_list("id", "revision"))
    wordings = Wording.objects.filter(project=project, language__in=languages, state=APPROVED)
    rows = wordings.values_list("id", "question", "revision")
    return {wording: (known[question], revision) for wording, question, revision in rows if question in known}


def _question(event: Event, *, live: bool) -> Question:
    found = Question.objects.filter(project_id=event.project_id, id=event.subject).first()
    if found is None:
        raise RefusedError(_("This question is not there any more."), hint=_("Go back to the list."))
    if live and found.retired and event.kind != "question.retired":
        raise RefusedError(_("This question is retired."), hint=_("A writer can take it back into use."))
    return found


def _word(event: Event, question: Question, language: str, text: str, revision: int, note: str = "") -> None:
    """Set how the question is asked in ``language``; what people thought of the text before counts no more."""
    Wording.objects.update_or_create(
        id=f"{question.id}:{language}",
        defaults={
            "project_id": event.project_id,
            "seq": event.seq,
            "question": question.id,
            "language": language,
            "text": text,
            "note": note,
            "revision": revision,
            "source_revision": question.revision,
            "text_event": str(event.uuid),
            "state": PROPOSED,
            "author": event.actor,
            "agreed": [],
            "refused": [],
        },
    )


@kind("question.written", kept=("number",), counted="project", begins=True)
def question_written(event: Event, *, live: bool) -> None:
    """Body: ``text``, ``language``, ``topic``, ``kind`` (of its answers), ``name`` (where it was imported)."""
    made = Question(**common(event), **event.body, text_event=str(event.uuid), author=event.actor)
    made.save()
    _word(event, made, made.language, made.text, made.revision)


@kind("question.revised", kept=("number",), counted="subject", begins=True, rests_on=("base",))
def question_revised(event: Event, *, live: bool) -> None:
    """Body: ``base`` (the event of the text that was seen), ``text``, ``topic``, ``kind``.

    A changed text has to be agreed to anew, and its wordings in other languages are outdated. Topic and kind describe.
    """
    question, body = _question(event, live=live), event.body
    if live and body["base"] != question.text_event:
        raise RefusedError(
            _("Somebody else changed this question meanwhile."), hint=_("Open it again: your text is below.")
        )
    same = body["text"] == question.text
    if live and same and (body["topic"], body["kind"]) == (question.topic, question.kind):
        raise RefusedError(_("The question is the same as before."), hint=_("Change something, then save."))
    question.topic, question.kind = body["topic"], body["kind"]
    if not same:
        question.text, question.text_event, question.author = body["text"], str(event.uuid), event.actor
        question.revision = body["number"] + 1
        Wording.objects.filter(question=question.id).exclude(language=question.language).update(state=OUTDATED)
        _word(event, question, question.language, question.text, question.revision)
    question.save()


@kind("question.retired", stays=True)
def question_retired(event: Event, *, live: bool) -> None:
    """Body: ``retired``; False takes the question back into use."""
    question = _question(event, live=live)
    if live and question.retired == event.body["retired"]:
        raise RefusedError(_("It is retired already.") if question.retired else _("It is in use already."))
    question.retired = event.body["retired"]
    question.save()


@kind(
    "wording.proposed", kept=("number",), counted="subject", begins=True, rests_on=("source", "base"), remarks=("note",)
)
def wording_proposed(event: Event, *, live: bool) -> None:
    """The subject is the question. Body: ``language``, ``text``, ``note``, ``source`` and ``base``.

    ``source``: the event of the question's text that was seen; ``base``: that of the wording that was seen, or "".
    """
    question, body = _question(event, live=live), event.body
    before = Wording.objects.filter(id=f"{question.id}:{body['language']}").first()
    if live:
        if body["language"] == question.language:
            raise RefusedError(_("This is the question's own language."), hint=_("Change the question itself."))
        if body["source"] != question.text_event or body["base"] != (before.text_event if before else ""):
            raise RefusedError(_("Somebody else changed this meanwhile."), hint=_("Open it again: your text is below."))
        if before is not None and before.state != OUTDATED and body["text"] == before.text:
            raise RefusedError(_("The text is the same as before."), hint=_("Change something, or agree to it."))
    _word(event, question, body["language"], body["text"], body["number"], body["note"])


@kind("wording.agreed", rests_on=("wording",))
def wording_agreed(event: Event, *, live: bool) -> None:
    """The subject is the question. Body: ``language``, ``wording`` (the event of the text that was seen)."""
    _think(event, agrees=True, live=live)


@kind("wording.refused", rests_on=("wording",), remarks=("reason",))
def wording_refused(event: Event, *, live: bool) -> None:
    """The subject is the question. Body: as of an agreement, and ``reason`` with its ``reason_language``."""
    _think(event, agrees=False, live=live)


def _think(event: Event, *, agrees: bool, live: bool) -> None:
    """Count what somebody thinks of a wording; they may change their mind, and the last word counts."""
    question, body = _question(event, live=live), event.body
    wording = Wording.objects.filter(id=f"{question.id}:{body['language']}").first()
    if wording is None or wording.text_event != body["wording"]:
        raise RefusedError(_("The text changed meanwhile."), hint=_("Open it again and read it once more."))
    if event.actor == wording.author:
        raise RefusedError(_("These are your own words."), hint=_("Others say what they think of them."))
    if wording.state == OUTDATED:
        raise RefusedError(_("The question has changed since."), hint=_("Propose how the text of now is said."))
    thinking = {name: [one for one in getattr(wording, name) if one != event.actor] for name in ("agreed", "refused")}
    thinking["agreed" if agrees else "refused"].append(event.actor)
    wording.agreed, wording.refused = thinking["agreed"], thinking["refused"]
    yes, no = len(wording.agreed), len(wording.refused)
    wording.state = APPROVED if yes >= AGREEING and has_majority(yes, yes + no) else PROPOSED
    wording.save()
