"""What happens to situations (Kalahi): one function a kind of event, the same when tables are made anew.

``live`` says that the event happens now, when what it rests on must be as its author saw it; made anew after an
erasure, an event whose ground is gone raises RefusedError and has no effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.labels.agreement import has_majority
from kapwa.studio.core.comments import hidden_comments, say, unhide
from kapwa.studio.core.kinds import (
    RefusedError,
    common,
    kind,
    refuse_without_reason,
    row_or_refused,
    without_reason_of_nobody,
)
from kapwa.studio.core.notices import tell
from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import Event, Project, change
from kapwa.studio.situations.checks import check_fields
from kapwa.studio.situations.fields import Fields, changed, words
from kapwa.studio.situations.tables import Elicited, Revision, Situation, Vote

STATES = DRAFT, IN_REVIEW, ACCEPTED, FROZEN = _n("draft"), _n("in review"), _n("accepted"), _n("frozen")
# What is in no release and asked of nobody, until somebody takes it up again.
CLOSED = REJECTED, RETIRED = _n("rejected"), _n("retired")
# The paper's four kinds of change that focus groups ask for (Kalahi, section 3.1).
REASONS = (_n("reword"), _n("split or combine"), _n("rephrase responses"), _n("add variation"))
CHOICES = (_n("accept"), _n("change"), _n("reject"))


@kind("elicited.answered")
def elicited_answered(event: Event, *, live: bool) -> None:
    """Body: ``question``, ``text``, ``language``, ``topic``."""
    Elicited.objects.create(**common(event), **event.body, author=event.actor)


@kind("situation.drafted", counted="project")
def situation_drafted(event: Event, *, live: bool) -> None:
    """Body: ``changes`` (fields), of nothing or of the situation ``origin`` as it was at ``base``; ``elicited``."""
    body, fields, cluster = event.body, {}, str(event.uuid)
    if body.get("origin"):
        source = Situation.objects.filter(project_id=event.project_id, id=body["origin"]).first()
        # The one that was seen, or where an erasure took that, what it came of.
        earlier = Revision.objects.filter(situation=body["origin"], number__lte=body["base"]).order_by("number").last()
        if source is None or earlier is None:
            raise RefusedError(_("The situation that this varies no longer exists."))
        fields, cluster = earlier.fields, source.cluster
    elicited = body.get("elicited", "")
    if elicited and not Elicited.objects.filter(project_id=event.project_id, id=elicited).exists():
        raise RefusedError(_("The answer that this situation was made from no longer exists."))
    columns = {"number": body["number"], "cluster": cluster, "elicited": elicited}
    made = Situation(**common(event), **columns, author=event.actor, state=DRAFT)
    _revise(made, event, changed(fields, body["changes"]), 1)


def _revise(situation: Situation, event: Event, fields: dict[str, str], number: int) -> None:
    """Set the fields and keep them as a revision."""
    situation.fields, situation.revision = fields, number
    situation.authors = list(dict.fromkeys([*situation.authors, event.actor]))
    situation.save()
    row = common(event) | {"id": f"{situation.id}:{number}", "situation": situation.id, "number": number}
    why = {name: event.body.get(name, "") for name in ("reason", "note")}
    Revision.objects.create(**row, **why, fields=fields, author=event.actor)


@kind("situation.revised", counted="subject", remarks=("note",))
def situation_revised(event: Event, *, live: bool) -> None:
    """Body: ``changes``, ``base`` (the revision that was seen), ``reason`` and ``note`` once it was in review."""
    situation, body = _situation(event), event.body
    fields = changed(situation.fields, body["changes"])
    if live and body["base"] != situation.revision:
        meanwhile = _("Somebody else has changed this situation.")
        raise RefusedError(meanwhile, hint=_("Open it again: your text is below."))
    if live and not body["changes"]:
        raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
    if situation.state != DRAFT:
        if live and body.get("reason") not in REASONS:
            raise RefusedError(_("A change after the draft needs a reason."))
        if live:  # it is not sent to review again, so it must be whole now
            refuse_while_voting(situation)
            check_whole(fields)
        _begin_round(situation)
    _revise(situation, event, fields, body["number"] + 1)


def _situation(event: Event) -> Situation:
    return row_or_refused(Situation, event, _("This situation no longer exists."))


def _begin_round(situation: Situation) -> None:
    change(situation, state=IN_REVIEW, round=situation.round + 1, revealed=False)


def refuse_while_voting(situation: Situation) -> None:
    """Raise RefusedError where votes on a situation are hidden."""
    if situation.state == IN_REVIEW and not situation.revealed:
        raise RefusedError(_("People are voting on this text."), hint=_("Reveal the votes first, then change it."))


def check_whole(fields: Fields) -> None:
    """Raise RefusedError, naming the fields, where something is missing from a situation."""
    findings = [finding for finding in check_fields(fields) if finding.severity == "error"]
    errors = [f"{words(finding.field)}: {finding.message.rstrip('.。።')}" for finding in findings]
    if errors:
        message = _("It is not finished: %(missing)s.") % {"missing": "; ".join(errors)}
        raise RefusedError(message, hint=_("Finish it at the writing desk."))


@kind("situation.submitted", stays=True)
def situation_submitted(event: Event, *, live: bool) -> None:
    """A draft goes to review, in a round of its own."""
    situation = _situation(event)
    if situation.state != DRAFT:
        raise RefusedError(_("Only a draft can be sent to review."))
    if live:
        check_whole(situation.fields)
    _begin_round(situation)


@kind("situation.returned", stays=True)
def situation_returned(event: Event, *, live: bool) -> None:
    """From review, from acceptance, or what was rejected, back to a draft."""
    situation = _situation(event)
    if situation.state not in (IN_REVIEW, ACCEPTED, REJECTED):
        raise RefusedError(_("Only a situation in review or accepted can go back to a draft."))
    if live and votes_of(situation):
        refuse_while_voting(situation)
    change(situation, state=DRAFT, revealed=False)
    unhide(event)


@kind("situation.deleted", stays=True)
def situation_deleted(event: Event, *, live: bool) -> None:
    """A draft that was never in review is in no list any more; its number is given to no other."""
    situation = _situation(event)
    if live and (situation.state != DRAFT or situation.round):
        raise RefusedError(_("Only a draft that was never in review can be deleted."))
    Revision.objects.filter(situation=situation.id).delete()
    situation.delete()


@kind("situation.voted", remarks=("remark",))
def situation_voted(event: Event, *, live: bool) -> None:
    """Body: ``round``, ``choice`` (accept, change, reject), ``best`` (a number or ""), ``remark``."""
    situation = _situation(event)
    if event.actor in situation.authors:
        raise RefusedError(_("You wrote part of this situation."), hint=_("Only other people can review it."))
    if situation.state != IN_REVIEW or situation.revealed or event.body["round"] != situation.round:
        raise RefusedError(_("This round of votes is over."), hint=_("Open the situation again."))
    # Until the reveal a person may change their mind; the last vote counts.
    Vote.objects.filter(situation=situation.id, round=situation.round, author=event.actor).delete()
    Vote.objects.create(**common(event), **event.body, situation=situation.id, author=event.actor)


@kind("situation.revealed", stays=True)
def situation_revealed(event: Event, *, live: bool) -> None:
    """Everybody may now see the votes of this round."""
    situation = _situation(event)
    if situation.state != IN_REVIEW or situation.revealed:
        raise RefusedError(_("There are no hidden votes."))
    if live and not votes_of(situation):
        raise RefusedError(_("Nobody has voted yet."))
    change(situation, revealed=True)
    tell(event, situation.id, situation.authors)
    unhide(event)


@kind("situation.discussed", remarks=("text",))
def situation_discussed(event: Event, *, live: bool) -> None:
    """Body: ``text``, ``language``, ``dissent``, and ``mentions``, the authors whom it names."""
    situation = _situation(event)
    hidden = situation.state == IN_REVIEW and not situation.revealed
    say(event, situation.authors, hidden_round=situation.round if hidden else 0)


class AgainstVotes(NamedTuple):
    """More people chose another response than the one that is marked as the best: ``n`` of ``of`` chose ``best``."""

    n: int
    of: int
    best: str


def against_votes(situation: Situation, votes: Iterable[Vote] | None = None) -> AgainstVotes | None:
    """Return how many people chose another response than the marked one in the present round; None where none did more.

    Only those count who said which response is the best. ``votes``: those of the round, where they are known.
    """
    chosen = Counter(vote.best for vote in (votes_of(situation) if votes is None else votes) if vote.best)
    (best, n), *_rest = chosen.most_common(1) or [("", 0)]
    if n <= chosen[situation.fields.get("best", "")]:
        return None
    return AgainstVotes(n, chosen.total(), best)


def too_few_accept(situation: Situation, quorum: int) -> str:
    """Return how many accept a situation where these are fewer than ``quorum`` or two thirds of all votes; "" else."""
    votes = votes_of(situation)
    yes = sum(vote.choice == "accept" for vote in votes)
    if yes >= quorum and has_majority(yes, len(votes)):
        return ""
    message = _("%(yes)d of %(votes)d votes accept it; it needs %(quorum)d and two thirds of all votes.")
    return message % {"yes": yes, "votes": len(votes), "quorum": quorum}


@kind("situation.accepted", stays=True, remarks=("reason",), left=without_reason_of_nobody)
def situation_accepted(event: Event, *, live: bool) -> None:
    """Body: ``quorum``, the least number of people who accept; two thirds of the votes must, too.

    Where more people chose another response as the best, it has a ``reason``, and ``against``: what they chose.
    """
    situation = _situation(event)
    if situation.state != IN_REVIEW or not situation.revealed:
        raise RefusedError(_("People vote first. Then the votes are revealed, and then the situation can be accepted."))
    if too_few := too_few_accept(situation, event.body["quorum"]):
        raise RefusedError(too_few, hint=_("Change the situation, give the reason, and vote again."))
    if live and (against := against_votes(situation)):
        message = _("%(n)s of %(of)s chose response %(best)s as the best.")
        hint = _("Change the best response, or say why you keep yours.")
        refuse_without_reason(event, against._asdict(), message, hint=hint)
    change(situation, state=ACCEPTED)
    tell(event, situation.id, situation.authors)


@kind("situation.rejected", stays=True, remarks=("reason",), left=without_reason_of_nobody)
def situation_rejected(event: Event, *, live: bool) -> None:
    """Body: ``reason``. Who changes the situation, or makes it a draft again, takes it back to review."""
    situation = _situation(event)
    if live and (situation.state != IN_REVIEW or not situation.revealed):
        raise RefusedError(_("People vote first. Then the votes are revealed, and then the situation can be rejected."))
    change(situation, state=REJECTED)
    tell(event, situation.id, situation.authors)


@kind("situation.retired", stays=True, remarks=("reason",), left=without_reason_of_nobody)
def situation_retired(event: Event, *, live: bool) -> None:
    """Body: ``retired`` and ``reason``; False takes the situation back into use, as people accepted it.

    Where a vote that accepted it was withdrawn, it stays retired, and comes back to be voted on.
    """
    situation, retired = _situation(event), event.body["retired"]
    accepted = situation.state in (ACCEPTED, FROZEN)
    if live and not (accepted if retired else situation.state == RETIRED):
        raise RefusedError(_("The situation is in another state now."), hint=_("Open the page again."))
    if retired:
        change(situation, state=RETIRED, revealed=accepted)
        tell(event, situation.id, situation.authors)
    else:
        change(situation, state=ACCEPTED if situation.revealed else IN_REVIEW)


@once_a_page
def situations_of(project: Project) -> list[Situation]:
    """Return all situations of a project, by number."""
    return list(Situation.objects.filter(project=project).order_by("number"))


@once_a_page
def votes_by_round(project: Project) -> dict[tuple[str, int], list[Vote]]:
    """Return the votes of a project, by situation and round; of a round without votes there is no entry."""
    votes: dict[tuple[str, int], list[Vote]] = {}
    for vote in Vote.objects.filter(project=project):
        votes.setdefault((vote.situation, vote.round), []).append(vote)
    return votes


@once_a_page
def votes_of(situation: Situation) -> list[Vote]:
    """Return the votes of the situation's present round."""
    return list(Vote.objects.filter(situation=situation.id, round=situation.round))


def unrevealed(project: Project) -> set[str]:
    """Return the ids of the votes of rounds that were never revealed, and of those changed or uncounted since.

    And those of the comments that were said meanwhile.
    """
    revealed = Event.objects.filter(project=project, kind="situation.revealed").order_by("seq")
    last = dict(revealed.values_list("subject", "seq"))
    shown = {vote.id for vote in Vote.objects.filter(project=project) if vote.seq < last.get(vote.situation, 0)}
    every = Event.objects.filter(project=project, kind="situation.voted").values_list("uuid", flat=True)
    return (set(map(str, every)) - shown) | hidden_comments(project)


@kind("situation.asked", repeats=True)
def situation_asked(event: Event, *, live: bool) -> None:
    """Somebody saw what a model answers. Body: ``model``, ``revision``, ``fails``, ``answer``, ``likelihoods``."""
    situation = _situation(event)
    change(situation, model_seen=[*situation.model_seen, event.body])
