"""What happens to situations (Kalahi): one function a kind of event, the same when tables are made anew.

``live`` says that the event happens now, when what it rests on must be as its author saw it; made anew after an
erasure, an event whose ground is gone raises RefusedError and has no effect.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.people.agreement import has_majority
from kapwa.studio.fields import changed
from kapwa.studio.models import Elicited, Event, Project, Release, Remark, Revision, Session, Situation, Topic, Vote
from kapwa.studio.projections.registry import RefusedError, common, kind

DRAFT, IN_REVIEW = gettext_noop("draft"), gettext_noop("in review")
ACCEPTED, FROZEN = gettext_noop("accepted"), gettext_noop("frozen")
STATES = (DRAFT, IN_REVIEW, ACCEPTED, FROZEN)
# The paper's four kinds of change that focus groups ask for (Kalahi, section 3.1).
REASONS = (
    gettext_noop("reword"),
    gettext_noop("split or combine"),
    gettext_noop("rephrase responses"),
    gettext_noop("add variation"),
)
CHOICES = (gettext_noop("accept"), gettext_noop("change"), gettext_noop("reject"))


def _situation(event: Event) -> Situation:
    found = Situation.objects.filter(project_id=event.project_id, id=event.subject).first()
    if found is None:
        raise RefusedError(_("This situation is not there any more."), hint=_("Go back to the list."))
    return found


@kind("topic.added")
def topic_added(event: Event, *, live: bool) -> None:
    """Body: ``name``, ``source``, ``origin`` (seed, session), ``target``."""
    names = Topic.objects.filter(project_id=event.project_id, retired=False, name=event.body["name"])
    if live and names.exists():
        raise RefusedError(
            _("There is a topic “%(name)s” already.") % {"name": event.body["name"]}, hint=_("Use that one.")
        )
    Topic.objects.create(**common(event), **event.body, author=event.actor)


@kind("topic.retired", stays=True)
def topic_retired(event: Event, *, live: bool) -> None:
    """The subject is a topic; situations that name it stay as they are."""
    if not Topic.objects.filter(project_id=event.project_id, id=event.subject).update(retired=True) and live:
        raise RefusedError(_("There is no such topic."))


@kind("elicited.answered", begins=True)
def elicited_answered(event: Event, *, live: bool) -> None:
    """Body: ``question``, ``text``, ``language``, ``topic``."""
    Elicited.objects.create(**common(event), **event.body, author=event.actor)


@kind("situation.drafted", kept=("number",), counted="project", begins=True, rests_on=("origin", "elicited"))
def situation_drafted(event: Event, *, live: bool) -> None:
    """Body: ``changes`` (fields), of nothing or of the situation ``origin`` as it was at ``base``; ``elicited``."""
    body, fields, cluster = event.body, {}, str(event.uuid)
    if body.get("origin"):
        source = Situation.objects.filter(project_id=event.project_id, id=body["origin"]).first()
        # The one that was seen, or where an erasure took that, what it came of.
        earlier = Revision.objects.filter(situation=body["origin"], number__lte=body["base"]).order_by("number").last()
        if source is None or earlier is None:
            raise RefusedError(_("The situation that this varies is not there any more."))
        fields, cluster = earlier.fields, source.cluster
    elicited = body.get("elicited", "")
    if elicited and not Elicited.objects.filter(project_id=event.project_id, id=elicited).exists():
        raise RefusedError(_("The answer that this is made of is not there any more."))
    made = Situation(
        **common(event),
        number=body["number"],
        cluster=cluster,
        author=event.actor,
        state=DRAFT,
        elicited=elicited,
    )
    _revise(made, event, changed(fields, body["changes"]), 1)


def _revise(situation: Situation, event: Event, fields: dict[str, str], number: int) -> None:
    """Set the fields and keep them as a revision."""
    body = event.body
    situation.fields, situation.revision = fields, number
    situation.authors = list(dict.fromkeys([*situation.authors, event.actor]))
    situation.save()
    row = common(event) | {"id": f"{situation.id}:{number}"}
    Revision.objects.create(
        **row,
        situation=situation.id,
        number=number,
        fields=fields,
        changed=sorted(body["changes"]),
        author=event.actor,
        reason=body.get("reason", ""),
        note=body.get("note", ""),
    )


@kind("situation.revised", kept=("number",), counted="subject", remarks=("note",))
def situation_revised(event: Event, *, live: bool) -> None:
    """Body: ``changes``, ``base`` (the revision that was seen), ``reason`` and ``note`` once it was in review."""
    situation, body = _situation(event), event.body
    if live:
        if body["base"] != situation.revision:
            raise RefusedError(
                _("Somebody else changed this situation meanwhile."),
                hint=_("Open it again: your text is below."),
            )
        if not body["changes"]:
            raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
        if situation.state != DRAFT and body.get("reason") not in REASONS:
            raise RefusedError(
                _("A change after the draft needs a reason."),
                hint=_("One of: %(reasons)s.") % {"reasons": ", ".join(map(_, REASONS))},
            )
        if situation.state == IN_REVIEW and not situation.revealed:
            raise RefusedError(_("People are voting on this text."), hint=_("Reveal the votes first, then change it."))
    if situation.state != DRAFT:
        situation.state, situation.round, situation.revealed = IN_REVIEW, situation.round + 1, False
    _revise(situation, event, changed(situation.fields, body["changes"]), body["number"] + 1)


@kind("situation.submitted", stays=True)
def situation_submitted(event: Event, *, live: bool) -> None:
    """A draft goes to review, in a round of its own."""
    situation = _situation(event)
    if situation.state != DRAFT:
        raise RefusedError(_("Only a draft can be sent to review."))
    situation.state, situation.round, situation.revealed = IN_REVIEW, situation.round + 1, False
    situation.save()


@kind("situation.returned", stays=True)
def situation_returned(event: Event, *, live: bool) -> None:
    """From review, or from acceptance, back to a draft."""
    situation = _situation(event)
    if situation.state not in (IN_REVIEW, ACCEPTED):
        raise RefusedError(_("Only a situation in review or accepted can go back to a draft."))
    situation.state, situation.revealed = DRAFT, False
    situation.save()


@kind("situation.voted", kept=("round",), remarks=("remark",))
def situation_voted(event: Event, *, live: bool) -> None:
    """Body: ``round``, ``choice`` (accept, change, reject), ``best`` (a number or ""), ``remark``."""
    situation, body = _situation(event), event.body
    if event.actor in situation.authors:
        raise RefusedError(_("You wrote part of this situation."), hint=_("Others review it."))
    if situation.state != IN_REVIEW or body["round"] != situation.round:
        raise RefusedError(_("This round of votes is over."), hint=_("Open the situation again."))
    if situation.revealed:
        raise RefusedError(
            _("The votes of this round are revealed already."),
            hint=_("Say what you think in the discussion."),
        )
    # Until the reveal a person may change their mind; the last vote counts.
    Vote.objects.filter(situation=situation.id, round=situation.round, author=event.actor).delete()
    texts = {name: body.get(name, "") for name in ("best", "remark")}
    Vote.objects.create(
        **common(event),
        situation=situation.id,
        round=situation.round,
        revision=situation.revision,
        author=event.actor,
        choice=body["choice"],
        **texts,
    )


@kind("situation.revealed", stays=True)
def situation_revealed(event: Event, *, live: bool) -> None:
    """Everybody may now see the votes of this round."""
    situation = _situation(event)
    if situation.state != IN_REVIEW or situation.revealed:
        raise RefusedError(_("There are no hidden votes."))
    if live and not votes_of(situation):
        raise RefusedError(_("Nobody has voted yet."))
    situation.revealed = True
    situation.save()


@kind("situation.discussed", remarks=("text",))
def situation_discussed(event: Event, *, live: bool) -> None:
    """Body: ``text``, ``language``, ``dissent``."""
    situation = _situation(event)
    if not event.body["text"]:  # it quoted what was removed since
        return
    if live and situation.state == IN_REVIEW and not situation.revealed:
        raise RefusedError(_("The discussion begins when the votes are revealed."))
    Remark.objects.create(
        **common(event), **event.body, situation=situation.id, round=situation.round, author=event.actor
    )


@kind("situation.accepted", stays=True)
def situation_accepted(event: Event, *, live: bool) -> None:
    """Body: ``quorum``, the least number of people who accept; two thirds of the votes must, too."""
    situation = _situation(event)
    if situation.state != IN_REVIEW or not situation.revealed:
        raise RefusedError(_("Votes come first, then their reveal, then acceptance."))
    votes = votes_of(situation)
    yes = sum(vote.choice == "accept" for vote in votes)
    if yes < event.body["quorum"] or not has_majority(yes, len(votes)):
        counts = {"yes": yes, "votes": len(votes), "quorum": event.body["quorum"]}
        message = _("%(yes)d of %(votes)d votes accept; it takes %(quorum)d and two thirds.") % counts
        raise RefusedError(message, hint=_("Change the situation for a reason, and vote again."))
    situation.state = ACCEPTED
    situation.save()


def votes_of(situation: Situation) -> list[Vote]:
    """Return the votes of the situation's present round."""
    return list(Vote.objects.filter(situation=situation.id, round=situation.round).order_by("seq"))


def unrevealed(project: Project) -> set[str]:
    """Return the ids of the votes, counted or changed since, of rounds that never were revealed."""
    found: dict[tuple[str, int], set[str]] = {}
    rounds: dict[str, int] = {}
    kinds = ("situation.voted", "situation.revealed")
    for event in Event.objects.filter(project=project, kind__in=kinds).order_by("seq"):
        if event.kind == "situation.voted":
            rounds[event.subject] = event.body.get("round", 0)
            found.setdefault((event.subject, rounds[event.subject]), set()).add(str(event.uuid))
        else:  # there is a vote in a round that is revealed
            found.pop((event.subject, rounds.get(event.subject, 0)), None)
    return set().union(*found.values())


@kind("situation.asked")
def situation_asked(event: Event, *, live: bool) -> None:
    """Somebody saw what a model answers. Body: ``model``, ``revision``, ``fails``, ``answer``, ``likelihoods``."""
    situation = _situation(event)
    situation.model_seen = [*situation.model_seen, event.body]
    situation.save()


@kind("session.opened")
def session_opened(event: Event, *, live: bool) -> None:
    """Body: ``title``, ``attendees`` (authors), ``scribe``."""
    Session.objects.create(**common(event), **event.body)


@kind("session.closed", stays=True)
def session_closed(event: Event, *, live: bool) -> None:
    """The subject is a session."""
    if not Session.objects.filter(project_id=event.project_id, id=event.subject).update(open=False) and live:
        raise RefusedError(_("There is no such session."))


@kind("release.frozen", stays=True)
def release_frozen(event: Event, *, live: bool) -> None:
    """Body: ``version``, ``date``, ``items`` (revisions), ``card``, ``authors``, ``facts``, ``private``."""
    Release.objects.create(**common(event), **event.body)
    for found in Situation.objects.filter(project_id=event.project_id, id__in=event.body["items"]):
        found.frozen_in = event.body["version"]
        if found.state == ACCEPTED:
            found.state = FROZEN
        found.save()


@kind("project.changed", stays=True)
def project_changed(event: Event, *, live: bool) -> None:
    """Body: ``names`` of settings that somebody changed; the project has their present values, the log none."""


@kind("backup.taken", stays=True)
def backup_taken(event: Event, *, live: bool) -> None:
    """A coordinator took a copy of everything; no current table says so, the log does."""
