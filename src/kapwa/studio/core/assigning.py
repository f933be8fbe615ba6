"""Who is given what: the things that fewest people have done first, each to so many people, none promised twice.

A thing that somebody has before them is leased to them (:class:`~kapwa.studio.models.Lease`): until the lease ends it
counts for them as if it were done, so that people who work at the same time are given different things. A lease that
ended gives the thing back to all; who delivers late is counted all the same.

What somebody took along for days is promised less firmly: whoever would have nothing is given a few of these things,
too, so that a phone that only opened its page keeps nobody from work.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import BooleanField, Count, ExpressionWrapper, Min, Q
from django.utils import timezone

from kapwa.studio.core.log import lock_project, single_writer
from kapwa.studio.core.reading import once_a_page, reading_anew
from kapwa.studio.core.tables import Lease, Membership, Project

# How long a thing waits for somebody who looks at it, and for somebody who took a batch along without a network.
AT_HAND, TAKEN_ALONG = timedelta(minutes=30), timedelta(hours=48)
# How many things that others took along somebody is given at once who would have nothing else.
SPARE = 5


class Done(NamedTuple):
    """What can be done at a desk now: how many people have done each thing, and which of them the member has done.

    ``counts`` has an entry for each thing that the member may do, also where nobody has done it yet. A thing is given
    out while its count is below the ``target`` of :func:`assign`. Where things want different numbers of people, count
    from below 0 how many they have less than they want, with the target 0.

    ``everybody``: those that are asked of everybody, however many have done them.
    """

    counts: Mapping[str, int]
    finished: Collection[str]
    everybody: Collection[str] = ()


class Leased(NamedTuple):
    """What is leased to a member, and how many things that lack people are left for them, now or later."""

    subjects: list[str]
    left: int


def assign(member: Membership, desk: str, done: Callable[[], Done], *, target: int, count: int) -> Leased:
    """Lease up to ``count`` things to a member and return them: first those that are leased to them already.

    ``done`` is called when nobody else can lease. A thing's load is how many people have done it or hold it. The things
    with the least load come next, in an order of the member's own among equals, and none whose load is ``target``.
    Loads differ by at most one, but where a lease ended. So somebody who has done all of the least loaded waits while
    others are at work at the desk; who is there alone goes on with what is further along. Who would be given nothing is
    given up to ``SPARE`` things by the same rule, but that what others took along does not count in loads.
    """
    now = timezone.now()
    with single_writer(), transaction.atomic(), reading_anew():
        lock_project(member.project)
        leases = Lease.objects.filter(project=member.project, desk=desk)
        leases.filter(Q(until__lte=now) | Q(author=member.author, done=True)).delete()
        state = _Desk(member, desk, done())
        if state.over:
            leases.filter(author=member.author, subject__in=state.over).delete()
        kept = state.held[:count]
        if kept:
            leases.filter(author=member.author, subject__in=kept, until__lt=now + AT_HAND).update(until=now + AT_HAND)
        fresh = state.next(target, count - len(kept)) if len(kept) < count else []
        lease = {"project": member.project, "desk": desk, "author": member.author, "until": now + AT_HAND}
        Lease.objects.bulk_create([Lease(subject=subject, **lease) for subject in fresh])
    return Leased([*kept, *fresh], len(state.left(target)))


def waiting(member: Membership, desk: str, done: Done, *, target: int) -> int:
    """Return how many things are left for a member that lack people or are leased to them, whoever holds them now."""
    return len(things_left(member, desk, done, target=target))


def things_left(member: Membership, desk: str, done: Done, *, target: int) -> set[str]:
    """Return the things that :func:`waiting` counts."""
    return _Desk(member, desk, done).left(target)


def finish(member: Membership, desk: str, subject: str) -> None:
    """Note that a member has done what was leased to them, so that it is not counted twice."""
    Lease.objects.filter(project=member.project, desk=desk, author=member.author, subject=subject).update(done=True)


def take_along(member: Membership, desk: str, device: str = "") -> None:
    """Let all that a member has before them at a desk wait for them as long as a batch without a network does.

    ``device``: the one that has it, so that it is given back when the device has it no more; "" for paper and files.
    """
    now = timezone.now()
    leases = Lease.objects.filter(project=member.project, desk=desk, author=member.author, until__gt=now)
    leases.update(until=now + TAKEN_ALONG, device=device)


def give_back(device: str, project: Project | None = None, held: Mapping[str, Collection[str]] | None = None) -> None:
    """Give all back that a device took along and has no more; ``held``: what it has still of ``project``, by desk.

    Without a project it has nothing more of any.
    """
    leases = Lease.objects.filter(device=device, done=False, **({"project": project} if project else {}))
    for desk, subjects in (held or {}).items():
        leases = leases.exclude(desk=desk, subject__in=subjects)
    leases.delete()


class LeasesOf(NamedTuple):
    """How often a thing of a desk is leased now.

    ``own``: whether the member holds it, not done yet; ``along``: how many others took it along, not done yet. Of
    others' leases ``promised`` are not done yet, ``firm`` of these to who is at work, and ``present`` are of who is.
    """

    desk: str
    subject: str
    own: int
    along: int
    promised: int
    firm: int
    present: int

    def with_group(self, n: int, *, done: bool, own: bool, along: bool) -> LeasesOf:
        """Return the same with ``n`` more leases that are alike."""
        if own:
            return self._replace(own=self.own + (0 if done else n))
        if done:
            return self._replace(present=self.present + (0 if along else n))
        if along:
            return self._replace(along=self.along + n, promised=self.promised + n)
        return self._replace(promised=self.promised + n, firm=self.firm + n, present=self.present + n)


@once_a_page
def leases_of(project: Project, author: str) -> list[LeasesOf]:
    """Return what is leased at all desks of a project, as ``author`` finds it: first what they were leased first."""
    now = timezone.now()
    alike = {"own": _whether(author=author), "along": _whether(until__gt=now + AT_HAND)}
    leases = Lease.objects.filter(project=project, until__gt=now).order_by().values("desk", "subject", "done", **alike)
    groups = leases.annotate(n=Count("pk"), first=Min("pk"))
    found: dict[tuple[str, str], LeasesOf] = {}
    own_first: dict[tuple[str, str], int] = {}
    for group in groups:
        key, n, done = (group["desk"], group["subject"]), group["n"], group["done"]
        row = found.get(key) or LeasesOf(*key, own=0, along=0, promised=0, firm=0, present=0)
        found[key] = row.with_group(n, done=done, own=group["own"], along=group["along"])
        if group["own"] and not done:
            own_first[key] = min(group["first"], own_first.get(key, group["first"]))
    return [found[key] for key in sorted(found, key=lambda key: (own_first.get(key, math.inf), key))]


def _whether(**what: object) -> ExpressionWrapper:
    return ExpressionWrapper(Q(**what), BooleanField())


class _Desk:
    """A desk as a member finds it: what they hold, and the load of everything, all in all and firmly promised."""

    def __init__(self, member: Membership, desk: str, done: Done) -> None:
        leases = [row for row in leases_of(member.project, member.author) if row.desk == desk]
        own = [row.subject for row in leases if row.own]
        self.salt, self.finished = f"{member.author}/{desk}", set(done.finished)
        self.held = [subject for subject in own if subject in done.counts and subject not in self.finished]
        self.over = self.finished.intersection(own)  # what they had done before counts again
        self.nobody_else = not any(row.present for row in leases)
        self.everybody = frozenset(done.everybody)
        self.counts = self._with(done.counts, {}, ())
        self.loads = self._with(done.counts, {row.subject: row.promised for row in leases}, self.held)
        self.firm_loads = self._with(done.counts, {row.subject: row.firm for row in leases}, self.held)

    def _with(self, counts: Mapping[str, int], promised: Mapping[str, int], held: Sequence[str]) -> dict[str, int]:
        """Return the load of everything; ``promised``: what others hold of it.

        What everybody does stands among the least loaded of the rest, so that nobody can tell it from them.
        """
        loads = {thing: n + promised.get(thing, 0) + (thing in held) for thing, n in counts.items()}
        apart = self.finished | self.everybody
        rest = [n for thing, n in loads.items() if thing not in apart]
        return loads | dict.fromkeys(self.everybody, min(rest, default=0))

    def left(self, target: int) -> set[str]:
        lacking = {thing for thing, n in self.counts.items() if n < target}
        return lacking.union(self.held) - self.finished

    def next(self, target: int, count: int) -> list[str]:
        """Return up to ``count`` things that the member is given besides what they hold, the first first."""
        free = self._free(target, self.loads)[:count]
        return free if free or self.held else self._free(target, self.firm_loads)[: min(count, SPARE)]

    def _free(self, target: int, loads: Mapping[str, int]) -> list[str]:
        mine = self.finished.union(self.held) & loads.keys()
        most = min([target - 1, *(loads[thing] for thing in mine - self.everybody if not self.nobody_else)])
        free = [thing for thing, n in loads.items() if thing not in mine and n <= most]
        return sorted(free, key=lambda thing: (loads[thing], self.loads[thing], self._place(thing)))

    def _place(self, subject: str) -> bytes:
        return hashlib.blake2b(f"{self.salt}/{subject}".encode(), digest_size=8).digest()
