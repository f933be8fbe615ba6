"""Who comes in: codes of digits that any keyboard has, invitations, and coming back."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import unicodedata
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError, nearest
from kapwa.studio.models import Invitation, Membership, Person, Project, WrongCode
from kapwa.studio.roles import ROLES

# 10^12 codes. How many different wrong ones a network may try in ten minutes: forty people behind one address mistype
# fewer, and a year of trying as many finds one of a thousand codes with a chance of 0.5 % (see the threat model).
DIGITS = 12
MOST_WRONG = 100
_COUNTED = timedelta(minutes=10)


def new_code() -> str:
    """Return a fresh code in three groups of four digits."""
    digits = "".join(secrets.choice("0123456789") for _ in range(DIGITS))
    return "-".join(digits[start : start + 4] for start in range(0, DIGITS, 4))


def digits_of(typed: str) -> str:
    """Return the digits of a typed code, whichever script's digits they are."""
    return "".join(str(unicodedata.digit(sign)) for sign in typed if unicodedata.digit(sign, None) is not None)


def hashed(code: str) -> str:
    """Return what is kept of a code: a hash with the studio's secret, so that a copied database opens nothing."""
    return _keyed(digits_of(code))


def _keyed(text: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


class CodeBackend:
    """Django's way to ask whose a visit is; they came in by a code (:func:`coming_back`)."""

    def get_user(self, user_id: Any) -> Person | None:
        """Return the person of a session."""
        return Person.objects.filter(pk=user_id).first()


def _networks(address: str) -> dict[str, int]:
    """Return whose wrong codes are counted together, and how many each may try.

    Of IPv6 one household has a /64 and one provider's customer up to a /48, each with any number of addresses.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return {address: MOST_WRONG}
    plain = getattr(found, "ipv4_mapped", None) or found
    if plain.version == 4:
        return {str(plain): MOST_WRONG}
    sizes = {64: MOST_WRONG, 48: 4 * MOST_WRONG}
    return {str(ipaddress.ip_network((plain, size), strict=False)): most for size, most in sizes.items()}


def shut_out(address: str) -> bool:
    """Whether too many different wrong codes came from the network of ``address`` in the last minutes."""
    since = timezone.now() - _COUNTED
    counts = [
        (WrongCode.objects.filter(network=_keyed(name), tried__gte=since).count(), most)
        for name, most in _networks(address).items()
    ]
    return any(count >= most for count, most in counts)


def count_wrong(address: str, code: str) -> None:
    """Remember a wrong code, once; no guess is one of too few digits, nor that of an invitation that is used up."""
    WrongCode.objects.filter(tried__lt=timezone.now() - _COUNTED).delete()
    if len(digits_of(code)) == DIGITS and not Invitation.objects.filter(code=hashed(code)).exists():
        for name in _networks(address):
            WrongCode.objects.get_or_create(network=_keyed(name), code=hashed(code))


def checked_roles(roles: list[str]) -> list[str]:
    """Return ``roles`` in their order; raise UsageError for an unknown one or for none."""
    for role in roles:
        if role not in ROLES:
            raise UsageError(_("There is no role “%(role)s”.") % {"role": role}, hint=nearest(role, ROLES))
    if not roles:
        raise UsageError(_("No role was chosen."), hint=_("Choose among: %(roles)s.") % {"roles": ", ".join(ROLES)})
    return [role for role in ROLES if role in roles]


def invite(project: Project, roles: list[str], *, member: Membership | None = None) -> str:
    """Make an invitation for one person and return its code, which is kept nowhere."""
    code = new_code()
    Invitation.objects.create(project=project, code=hashed(code), roles=checked_roles(roles), member=member)
    return code


def coming_back(code: str) -> Person | None:
    """Return the person who comes back with this code."""
    return Person.objects.filter(access=hashed(code)).first()


def open_invitation(code: str) -> Invitation | None:
    """Return the unused invitation with this code."""
    if len(digits_of(code)) != DIGITS:
        return None
    return Invitation.objects.select_related("project").filter(code=hashed(code), used=None).first()


def join(invitation: Invitation, pseudonym: str, person: Person | None = None) -> tuple[Person, str]:
    """Use an invitation up; return the person and the code by which they come back ("" where they have one).

    Somebody who is here already (``person``) gets the invitation's roles besides their own, so that nobody is two.
    """
    now = timezone.now()
    if not Invitation.objects.filter(pk=invitation.pk, used=None).update(used=now):  # by another at the same moment
        raise UsageError(_("This invitation was just used."), hint=_("Ask for one of your own."))
    code = ""
    if invitation.member is not None and invitation.member.person is not None:
        member, person, code = invitation.member, invitation.member.person, new_code()
        if person.memberships.exclude(pk=member.pk).exists():
            # Whoever runs one project may let somebody back into that one alone, not into others as them.
            member.person = person = Person.objects.create(access=hashed(code))
            member.save()
        person.access = hashed(code)
        person.save()
        return person, code
    if person is None:
        code = new_code()
        person = Person.objects.create(access=hashed(code))
    member = Membership.objects.get_or_create(project=invitation.project, person=person)[0]
    member.pseudonym = pseudonym or member.pseudonym or _("member %(id)s") % {"id": member.author[:4]}
    member.roles = [role for role in ROLES if role in {*member.roles, *invitation.roles}]
    member.save()
    return person, code


def names(project: Project) -> dict[str, str]:
    """Return how each author of the log is called now; who asked to be forgotten is nobody."""
    found = Membership.objects.filter(project=project).exclude(pseudonym="")
    return dict(found.values_list("author", "pseudonym"))
