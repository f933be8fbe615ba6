"""What happens to answers (BLEnD): they are given, and people decide which of them mean the same.

Votes never change by a decision: who gave two answers that were merged is one person in their group, and counts once.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from kapwa.studio.merging import key_of
from kapwa.studio.models import Answer, Event, Merging, Question
from kapwa.studio.projections.registry import RefusedError, common, kind


@kind("answer.given", remarks=("depends",))
def answer_given(event: Event, *, live: bool) -> None:
    """The subject is a question.

    Body: ``language``, ``question_revision`` and ``wording_revision`` (that were seen), ``outcome``, ``texts``,
    ``depends``.
    """
    body = event.body
    if not Question.objects.filter(project_id=event.project_id, id=event.subject).exists():
        raise RefusedError(_("This question is not there any more."), hint=_("Go back to the list."))
    own = {"question": event.subject, "language": body["language"], "author": event.actor}
    Answer.objects.filter(project_id=event.project_id, **own).delete()
    Answer.objects.create(**common(event), **own, **{name: body[name] for name in body if name != "language"})


def _decide(event: Event) -> None:
    found, _ = Merging.objects.get_or_create(
        id=f"{event.subject}:{event.body['language']}",
        defaults={
            "project_id": event.project_id,
            "seq": event.seq,
            "question": event.subject,
            "language": event.body["language"],
        },
    )
    found.decisions = [
        *found.decisions,
        {"id": str(event.uuid), "kind": event.kind, "author": event.actor, **event.body},
    ]
    found.save()


@kind("answers.merged", stays=True)
def answers_merged(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``keys``: the groups that hold these answers are one."""
    if live and len(set(event.body["keys"])) < 2:
        raise RefusedError(_("One answer alone cannot be merged."), hint=_("Tick two or more."))
    _decide(event)


@kind("answers.split", stays=True)
def answers_split(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``key``: this answer leaves its group, and stands alone."""
    _decide(event)


@kind("answers.named", stays=True)
def answers_named(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``key``: this answer stands first in its group."""
    _decide(event)


def _english_left(event: Event) -> dict[str, Any]:
    """Of translations, those of answers that somebody still gives."""
    answers = Answer.objects.filter(project_id=event.project_id, question=event.subject)
    keys = {key_of(event.project, text) for texts in answers.values_list("texts", flat=True) for text in texts}
    return {**event.body, "english": {key: text for key, text in event.body["english"].items() if key in keys}}


@kind("answers.translated", left=_english_left)
def answers_translated(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``english``: the English of answers by key, "" for none."""
    _decide(event)


@kind("answers.confirmed", stays=True)
def answers_confirmed(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``seen`` and ``now``: answers to the former texts count now."""
    _decide(event)


@kind("answers.undone", stays=True)
def answers_undone(event: Event, *, live: bool) -> None:
    """The subject is a question. Body: ``language``, ``decision``: as if this one had never been made."""
    found = Merging.objects.filter(id=f"{event.subject}:{event.body['language']}").first()
    kept = [one for one in found.decisions if one["id"] != event.body["decision"]] if found else []
    if found is None or len(kept) == len(found.decisions):
        raise RefusedError(_("This decision is not there any more."), hint=_("Open the page again."))
    found.decisions = kept
    found.save()
