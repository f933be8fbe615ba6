"""What happens to one person's answers at a desk: they are set aside with a reason, by two people, and taken back."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from kapwa.studio.core.aside import Aside
from kapwa.studio.core.kinds import RefusedError, common, kind
from kapwa.studio.core.tables import Event, change
from kapwa.studio.questions.answer_events import count_people
from kapwa.studio.questions.tables import DESK, Answer, Wording
from kapwa.value_types import JsonObject


def _note_left(event: Event, left: Sequence[Event]) -> JsonObject:
    """Keep that answers are set aside, and not what was noted by somebody whose words were removed."""
    return event.body if event.actor else {**event.body, "note": ""}


@kind("work.aside-asked", stays=True, remarks=("note",), left=_note_left)
def aside_asked(event: Event, *, live: bool) -> None:
    """The subject is a person, by their author. Body: ``desk``, ``reason`` (of REASONS), ``note``."""
    about = {"project_id": event.project_id, "who": event.subject, "desk": event.body["desk"]}
    if not event.subject or Aside.objects.filter(**about).exists():
        raise RefusedError(_("Somebody has already asked for this."), hint=_("Open the page again."))
    Aside.objects.create(**common(event) | event.body | about, author=event.actor)


def _aside(event: Event) -> Aside:
    rows = Aside.objects.filter(project=event.project_id, id=event.body["aside"], who=event.subject)
    if (row := rows.first()) is None:
        raise RefusedError(_("This no longer exists."), hint=_("Open the page again."))
    return row


@kind("work.aside-agreed", stays=True)
def aside_agreed(event: Event, *, live: bool) -> None:
    """The subject is a person. Body: ``aside``, the event that asked for it; by neither who asked nor the person."""
    row = _aside(event)
    if live and event.actor in (row.author, row.who):
        raise RefusedError(_("You cannot agree to this yourself."), hint=_("Ask a coordinator or a scribe to do it."))
    change(row, agreed=True)
    _count_again(row)


@kind("work.aside-ended", stays=True)
def aside_ended(event: Event, *, live: bool) -> None:
    """The subject is a person. Body: ``aside``, the event that asked for it: as if nobody had."""
    row = _aside(event)
    if live and event.actor == row.who:
        raise RefusedError(_("You cannot agree to this yourself."), hint=_("Ask a coordinator or a scribe to do it."))
    Aside.objects.filter(id=row.id).delete()
    _count_again(row)


def _count_again(row: Aside) -> None:
    if row.desk == DESK:
        answers = Answer.objects.filter(project=row.project_id, author=row.who)
        theirs = Wording.objects.filter(id__in=[f"{answer.question}:{answer.language}" for answer in answers])
        for wording in theirs.values_list("question_id", "language", "counted"):
            count_people(row.project_id, *wording)
