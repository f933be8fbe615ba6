"""Joining by a link that was sent to many: people ask, and a coordinator lets them in or does not.

The link's code alone opens nothing. Of who asks, the studio keeps the name that they typed, until a coordinator decides
or the request is too old.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.core.members import DIGITS, enrol, hashed, keyed, network_of, new_code, refuse_taken
from kapwa.studio.core.roles import COORDINATOR, ROLES
from kapwa.studio.core.tables import GroupLink, JoinRequest, Membership, Person, Project, change

# How many days a link may work.
DAYS = (1, 7, 30)
ROLES_OFFERED = tuple(role for role in ROLES if role != COORDINATOR)
MOST_LINKS = 10  # of a project at a time
MOST_WAITING = 200  # requests of a project
# From one network in an hour: a school behind one address still gets in.
MOST_FROM_NETWORK = 60
_COUNTED = timedelta(hours=1)
# After so long a request that nobody decided on goes.
_KEPT = timedelta(days=30)


def open_link(project: Project, roles: Iterable[str], days: int) -> GroupLink:
    """Make a link by which many may ask to join with ``roles``; raise UsageError where there are too many."""
    if open_links(project).count() >= MOST_LINKS:
        message = _("A project has at most %(most)s links for many.") % {"most": MOST_LINKS}
        raise UsageError(message, hint=_("Close one first."))
    seed = secrets.token_hex(16)
    until = timezone.now() + timedelta(days=days)
    return GroupLink.objects.create(project=project, seed=seed, code=hashed(_code(seed)), roles=[*roles], until=until)


def code_of(link: GroupLink) -> str:
    """Return the code of a link, which stands nowhere in the database."""
    return _code(link.seed)


def _code(seed: str) -> str:
    digits = f"{int(keyed(f'link/{seed}'), 16) % 10**DIGITS:0{DIGITS}}"
    return "-".join(digits[place : place + 4] for place in range(0, DIGITS, 4))


def open_links(project: Project) -> QuerySet[GroupLink]:
    """Return the links of a project by which people may ask now."""
    return _open().filter(project=project).order_by("pk")


def link_of(code: str) -> GroupLink | None:
    """Return the open link of a code."""
    return _open().filter(code=hashed(code)).first()


def _open() -> QuerySet[GroupLink]:
    return GroupLink.objects.filter(closed=None, until__gt=timezone.now())


def opened(number: object) -> GroupLink | None:
    """Return a link by its number, if it is open still."""
    return _open().select_related("project").filter(pk=number).first()


def ask(link: GroupLink, pseudonym: str, person: Person | None, address: str) -> str:
    """Keep a request; return the code by which the asker comes in once they may, "" for who has one already.

    A name that a member bears is refused to nobody here, for strangers could find out names so. Raises UsageError for a
    request too many.
    """
    JoinRequest.objects.filter(asked__lt=timezone.now() - _KEPT).delete()
    waiting, network = JoinRequest.objects.filter(link__project=link.project), network_of(address)
    lately = JoinRequest.objects.filter(network=network, asked__gte=timezone.now() - _COUNTED)
    if waiting.count() >= MOST_WAITING or lately.count() >= MOST_FROM_NETWORK:
        message = _("Too many people ask to join at the moment, and nothing was saved.")
        raise UsageError(message, hint=_("Try again in an hour."))
    code = "" if person else new_code()
    access = hashed(code) if code else keyed(f"request/{secrets.token_hex(16)}")
    about = {"pseudonym": pseudonym, "network": network, "access": access}
    if person is None:
        JoinRequest.objects.create(link=link, **about)
    else:
        JoinRequest.objects.update_or_create(link=link, person=person, defaults=about)
    return code


def waiting_requests(project: Project) -> QuerySet[JoinRequest]:
    """Return who waits to be let in, the first to ask first; who asked by a link that is closed by now waits, too."""
    fresh = JoinRequest.objects.filter(link__project=project, asked__gte=timezone.now() - _KEPT)
    return fresh.select_related("link", "person").order_by("pk")


def request_of(access: str) -> JoinRequest | None:
    """Return the request of who has a code, by the code's hash."""
    recent = JoinRequest.objects.filter(access=access, asked__gte=timezone.now() - _KEPT)
    return recent.select_related("link__project").first()


def admit(request: JoinRequest) -> Membership:
    """Make who asked a member, with the roles of the link, under a name that nobody else bears."""
    project, person = request.link.project, request.person
    if person is None:
        person = Person.objects.create(access=request.access)
    here = Membership.objects.filter(project=project, person=person).first()
    member = enrol(project, person, request.link.roles, here.pseudonym if here else _free(project, request.pseudonym))
    JoinRequest.objects.filter(Q(pk=request.pk) | Q(link__project=project, person=person)).delete()
    return member


def _free(project: Project, name: str) -> str:
    """Return a name that no member bears: the one that was typed, or that with a number."""
    for candidate in (name, *(f"{name[:70]} {number}" for number in range(2, MOST_WAITING + 2))):
        try:
            refuse_taken(project, candidate, None)
        except UsageError:
            continue
        return candidate
    return ""


def close(link: GroupLink) -> None:
    """Let nobody ask by a link any more."""
    change(link, closed=timezone.now())
