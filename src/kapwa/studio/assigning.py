"""Who is given what: the things that fewest people have done first, each to so many people, none promised twice.

A thing that somebody has before them is leased to them (:class:`~kapwa.studio.models.Lease`): until the lease ends it
counts for them as if it were done, so that people who work at the same time are given different things. A lease that
ended gives the thing back to all; who delivers late is counted all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from kapwa.studio.events import hold, writing
from kapwa.studio.models import Lease, Membership

# How long a thing waits for somebody who looks at it, and for somebody who took a batch along without a network.
AT_HAND, TAKEN_ALONG = timedelta(minutes=30), timedelta(hours=48)

# Things that can be done, and who has done each.
Done = Mapping[str, Collection[str]]


def assign(member: Membership, desk: str, done: Callable[[], Done], *, target: int, count: int) -> list[str]:
    """Lease up to ``count`` things to a member and return them: first those that are leased to them already.

    ``done`` is called when nobody else can lease: all things that can be done now, with the authors who have done each;
    a thing's load is how many people have done it or hold it. Then come the things with the least load, in an
    order of the member's own among equals, and none whose load is ``target``. Loads differ by at most one, but where
    a lease ended. So somebody who has done all of the least loaded waits while others are at work at the desk; who is
    there alone goes on with what is further along.
    """
    now = timezone.now()
    with writing(), transaction.atomic():
        hold(member.project)
        held = Lease.objects.filter(project=member.project, desk=desk)
        held.filter(until__lte=now).delete()
        own = list(held.filter(author=member.author).order_by("pk").values_list("subject", flat=True))
        things = done()
        # What is done needs no lease any more; thousands of them would be read by everybody else's page.
        over = [subject for subject in own if member.author in things.get(subject, ())]
        held.filter(author=member.author, subject__in=over).delete()
        loads = _loads(member, desk, things)
        kept = [subject for subject in own if member.author not in things.get(subject, (member.author,))][:count]
        alone = not held.exclude(author=member.author).exists()
        fresh = _next(member, desk, loads, target, alone=alone)[: count - len(kept)]
        # Renewed, never shortened.
        held.filter(author=member.author, subject__in=kept, until__lt=now + AT_HAND).update(until=now + AT_HAND)
        lease = {"project": member.project, "desk": desk, "author": member.author, "until": now + AT_HAND}
        Lease.objects.bulk_create([Lease(subject=subject, **lease) for subject in fresh])
    return [*kept, *fresh]


def take_along(member: Membership, desk: str) -> None:
    """Let all that a member has before them at a desk wait for them as long as a batch without a network does."""
    now = timezone.now()
    own = Lease.objects.filter(project=member.project, desk=desk, author=member.author, until__gt=now)
    own.update(until=now + TAKEN_ALONG)


def waiting(member: Membership, desk: str, done: Done, *, target: int) -> int:
    """Return how many things are left for a member, now or once others went on; their leases are among them."""
    loads = _loads(member, desk, done)
    return sum(
        member.author not in done[subject] and (member.author in authors or len(authors) < target)
        for subject, authors in loads.items()
    )


def _loads(member: Membership, desk: str, done: Done) -> dict[str, set[str]]:
    """Who has done or holds each thing."""
    people = {subject: set(authors) for subject, authors in done.items()}
    leases = Lease.objects.filter(project=member.project, desk=desk, until__gt=timezone.now())
    for subject, author in leases.values_list("subject", "author"):
        if subject in people:
            people[subject].add(author)
    return people


def _next(member: Membership, desk: str, loads: Mapping[str, set[str]], target: int, *, alone: bool) -> list[str]:
    def place(subject: str) -> tuple[int, bytes]:
        salt = f"{member.author}/{desk}/{subject}".encode()
        return len(loads[subject]), hashlib.blake2b(salt, digest_size=8).digest()

    mine = [len(authors) for authors in loads.values() if member.author in authors]
    most = target - 1 if alone else min([target - 1, *mine])
    return sorted(
        (one for one, people in loads.items() if member.author not in people and len(people) <= most), key=place
    )
