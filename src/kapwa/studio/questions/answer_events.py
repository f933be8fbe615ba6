"""What happens to answers (BLEnD): they are given, and people decide which of them mean the same.

Votes never change by a decision: who gave two answers that were merged is one person in their group, and counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from kapwa.studio.core.aside import set_aside
from kapwa.studio.core.kinds import (
    RefusedError,
    common,
    kind,
    refuse_without_reason,
    row_or_refused,
    without_reason_of_nobody,
)
from kapwa.studio.core.tables import Event
from kapwa.studio.core.text import key_of
from kapwa.studio.questions.merging import Merged, against_people, merged_answers
from kapwa.studio.questions.tables import DESK, Answer, Decision, Question, Wording
from kapwa.value_types import JsonObject


@kind("answer.given", remarks=("depends",))
def answer_given(event: Event, *, live: bool) -> None:
    """The subject is a question.

    Body: ``language``, ``question_revision`` and ``wording_revision`` (that were seen), ``outcome``, ``texts``,
    ``depends``; ``again`` where it was asked a second time: that is kept beside the first answer, and never counts.
    """
    key = {"question": event.subject, "language": event.body["language"], "author": event.actor}
    before = Answer.objects.filter(**key)
    if event.body.get("again"):
        if not before.update(again=[event.body["outcome"], *event.body["texts"]]):
            raise RefusedError(_("This question no longer exists."))
        return
    before.delete()
    Answer.objects.create(**common(event) | event.body | key)
    if not _recount(event):  # an erasure may have taken the wording, and not the question
        row_or_refused(Question, event, _("This question no longer exists."))


def _wording(event: Event) -> str:
    return f"{event.subject}:{event.body['language']}"


def _recount(event: Event) -> bool:
    """Note whose answers count for the question as it is asked now: those to it, and those that somebody confirmed.

    Returns whether it is worded in the language of the answers.
    """
    # Of an answer that comes in, no more than this column is read: phones send many at once.
    wording = Wording.objects.filter(id=_wording(event)).order_by()
    counted = wording.values_list("counted", flat=True).first()
    if counted is None:
        return False
    if event.kind != "answer.given" or not counted:
        now = list(wording.values_list("question__revision", "revision").get())
        counted = [now]
        for decision in Decision.objects.filter(wording=_wording(event), kind="answers.confirmed"):
            counted += decision.body["seen"] if decision.body["now"] == now else []
    count_people(event.project_id, event.subject, event.body["language"], counted)
    return True


def count_people(project: int, question: str, language: str, counted: Sequence[list[int]]) -> None:
    """Note whose answers count for a wording, by the revisions ``counted``, and how many people these are.

    Those whose answers are set aside are not among them, so that others are asked.
    """
    answers = Answer.objects.filter(question=question, language=language).order_by()
    rows = answers.values_list("author", "question_revision", "wording_revision")
    aside = set_aside(project, DESK)
    people = sum(seen in counted for author, *seen in rows if author not in aside)
    Wording.objects.filter(id=f"{question}:{language}").update(counted=counted, people=people)


def _english_left(event: Event, left: Sequence[Event]) -> JsonObject:
    """Of translations, those of answers that somebody else gave."""
    answers = [other for other in left if other.kind == "answer.given" and other.subject == event.subject]
    keys = {key_of(event.project, text) for answer in answers for text in answer.body["texts"]}
    return {**event.body, "english": {key: text for key, text in event.body["english"].items() if key in keys}}


@kind("answers.merged", "answers.named", stays=True, remarks=("reason",), left=without_reason_of_nobody)
@kind("answers.split", "answers.confirmed", "answers.proposed", "answers.compared", stays=True)
@kind("answers.translated", left=_english_left)
def answers_decided(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, and what is decided of answers, which are named by keys.

    ``keys``: the groups that hold these are one; ``key``: this one leaves its group and stands alone, or stands first
    in it; ``english``: what they are in English, "" for none; ``seen`` and ``now``: those to former texts count now;
    ``now`` and ``people``: nothing else means the same in what so many people answered to that text.
    What goes against most people has ``against``, what these said, and a ``reason``. Beside that only what an audit
    proposed has words, a model's: ``text``, with ``votes`` of ``raters``, ``draw`` and ``rubric``.
    """
    if live and (merged := next(iter(_merged(event)), None)):
        keys = event.body.get("keys") or [event.body.get("key", "")]
        against = against_people(event.project, merged, event.kind, keys)
        message = _("This goes against what %(n)s of %(of)s people said.")
        refuse_without_reason(event, against, message, hint=_("Leave it, or say why you decide otherwise."))
    decision = {"wording": _wording(event), "kind": event.kind, "author": event.actor, "body": event.body}
    Decision.objects.create(**common(event), **decision)
    _recount(event)


def _merged(event: Event) -> list[Merged]:
    """Return the answers that a decision is about, where it may go against people."""
    if event.kind not in ("answers.merged", "answers.named"):
        return []
    wordings = Wording.objects.filter(id=_wording(event))
    return merged_answers(event.project, wordings, set_aside(event.project, DESK))


@kind("answers.undone", stays=True)
def answers_undone(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``decision``: as if this one had never been made."""
    gone, _tables = Decision.objects.filter(wording=_wording(event), id=event.body["decision"]).delete()
    if not gone:
        raise RefusedError(_("This decision no longer exists."), hint=_("Open the page again."))
    _recount(event)
