"""What happens to the interface's own texts: somebody words one anew, somebody else approves it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from kapwa.studio.models import Event, InterfaceText
from kapwa.studio.projections.registry import RefusedError, common, kind


@kind("message.translated")
def message_translated(event: Event, *, live: bool) -> None:
    """Body: ``language``, ``source`` (the English message), ``texts`` (its plural forms)."""
    _put(event, author=event.actor)


@kind("message.approved", stays=True)
def message_approved(event: Event, *, live: bool) -> None:
    """The subject is what somebody worded, or nothing: a machine's text, which the body holds as above."""
    if not event.subject:
        _put(event, approved=True, approver=event.actor)
        return
    found = InterfaceText.objects.filter(project_id=event.project_id, id=event.subject).first()
    if found is None:
        raise RefusedError(_("This text was changed meanwhile."), hint=_("Open the page again."))
    if live and found.author == event.actor:
        raise RefusedError(_("You wrote this text."), hint=_("Somebody else approves it."))
    found.approved, found.approver, found.seq = True, event.actor, event.seq
    found.save()


def _put(event: Event, **state: object) -> None:
    named = {name: event.body[name] for name in ("language", "source")}
    InterfaceText.objects.filter(project_id=event.project_id, **named).delete()
    InterfaceText.objects.create(**common(event), **named, texts=event.body["texts"], **state)
