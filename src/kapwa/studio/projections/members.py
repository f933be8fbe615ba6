"""What happens to people: they are invited, get roles, come back, leave; who is here stands elsewhere."""

from __future__ import annotations

from kapwa.studio.models import Event
from kapwa.studio.projections.registry import kind


@kind("member.invited", stays=True)
@kind("member.joined", stays=True)
@kind("member.agreed", stays=True)
@kind("member.changed", stays=True)
@kind("member.roles", stays=True)
@kind("member.return", stays=True)
@kind("member.return-agreed", stays=True)
@kind("member.return-refused", stays=True)
@kind("member.returned", stays=True)
@kind("member.left", stays=True)
def member_event(event: Event, *, live: bool) -> None:
    """The subject is the member whom it is about, by their ``author``.

    Body: ``roles`` and ``count`` (of an invitation), ``version`` and ``scopes`` (agreed to), or nothing.
    """
