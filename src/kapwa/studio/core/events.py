"""What happens in every project: to people, topics, and the studio's own texts; and what only the log says."""

from __future__ import annotations

from django.utils.translation import gettext as _

from kapwa.studio.core.forms import release_of
from kapwa.studio.core.kinds import RefusedError, common, kind, row_or_refused
from kapwa.studio.core.notices import tell
from kapwa.studio.core.tables import Event, InterfaceText, Release, Term, Topic, change


@kind("member.invited", "member.joined", "member.agreed", "member.roles", "member.left", stays=True)
@kind("member.changed", stays=True, nameless=True)
@kind("member.link-opened", "member.link-closed", "member.admitted", "member.declined", stays=True)
@kind("member.recovery", "project.checked", "release.evaluated", "release.evaluation-stopped", stays=True)
@kind("member.return", "member.return-agreed", "member.return-refused", "member.returned", stays=True)
@kind("session.closed", "project.changed", "backup.taken", "work.brought", "items.brought", stays=True)
@kind("session.opened")
@kind("record.conflicting", remarks=("remark", "depends"), nameless=True)
def no_table_change(event: Event, *, live: bool) -> None:
    """The log says it, and no current table changes.

    The subject of what happens to a member is that member, by their ``author``. Body: ``roles`` and ``count`` of an
    invitation; ``roles`` and ``days`` of a link for many, how many (``count``) were declined; ``version`` and
    ``scopes`` that somebody agreed to; ``title``, ``attendees`` (authors), ``scribe`` and ``starts`` (day and time
    where they meet, or "") of a session; ``names`` of settings that were changed; ``version``, ``task`` and ``model``
    of a release that was evaluated; ``differences``: how many a check showed; ``new``: how many answers before this in
    the log came of a file that somebody brought, as their people's. What came under the number of another record is
    kept with the body of the desk's own event, with ``desk`` and the ``uuid`` that was taken; the first stands.
    """


@kind("topic.added")
def topic_added(event: Event, *, live: bool) -> None:
    """Body: ``name``, ``source``, ``origin`` (seed, session), ``target``."""
    if Topic.objects.filter(project_id=event.project_id, name=event.body["name"], retired=False).exists():
        raise RefusedError(_("“%(text)s” already exists.") % {"text": event.body["name"]})
    Topic.objects.create(**common(event), **event.body, author=event.actor)


@kind("topic.retired", stays=True)
def topic_retired(event: Event, *, live: bool) -> None:
    """The subject is a topic; situations that name it stay as they are."""
    change(row_or_refused(Topic, event, _("There is no such topic.")), retired=True)


@kind("term.added", remarks=("note",))
def term_added(event: Event, *, live: bool) -> None:
    """Body: ``name``, ``language``, ``text``, ``note``; what the term was in the language before is no more."""
    Term.objects.filter(project_id=event.project_id, name=event.body["name"], language=event.body["language"]).delete()
    Term.objects.create(**common(event), **event.body, author=event.actor)


@kind("term.removed", stays=True)
def term_removed(event: Event, *, live: bool) -> None:
    """The subject is a term."""
    row_or_refused(Term, event, _("This no longer exists.")).delete()


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
    hint = _("Open the page again.")
    row = row_or_refused(InterfaceText, event, _("Somebody has changed this text."), hint=hint)
    if live and row.author == event.actor:
        raise RefusedError(_("You wrote this text."), hint=_("Somebody else has to approve it."))
    change(row, approved=True, approver=event.actor, seq=event.seq)


def _put(event: Event, **state: object) -> None:
    named = {name: event.body[name] for name in ("language", "source")}
    InterfaceText.objects.filter(project_id=event.project_id, **named).delete()
    InterfaceText.objects.create(**common(event), **named, texts=event.body["texts"], **state)


@kind("release.frozen", stays=True)
def release_frozen(event: Event, *, live: bool) -> None:
    """Body: what a release has: version, date, items (revisions), card, authors, facts, private share, digests."""
    release = Release.objects.create(**common(event), **event.body)
    tell(event, release.id, release.authors)
    release_of(event.project).mark_frozen(release)
