"""Who comes in: codes of digits that any keyboard has, invitations, and coming back."""

from __future__ import annotations

import hashlib
import hmac
import io
import ipaddress
import secrets
import unicodedata
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import segno
from django.conf import settings
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError, nearest
from kapwa.files import filling, table_rows
from kapwa.studio.core.reading import members_of, once_a_page
from kapwa.studio.core.roles import ROLES
from kapwa.studio.core.tables import Invitation, Membership, Person, Project, WrongCode, change

# 10^16 codes: however fast a server answers and from however many networks somebody guesses, a year finds none (see the
# threat model), so nobody has to be kept out. Who knows how a code begins could try the rest: after so many wrong ones
# of the same first digits in ten minutes, a network tries one of those in ten seconds. Others there do not wait.
DIGITS = 16
MOST_ALIKE = 5
_COUNTED = timedelta(minutes=10)
_SLOWLY = timedelta(seconds=10)
_PREFIX = 6  # digits
# By what looks like it, a small Latin letter.
_LOOKALIKES = {
    ord(sign): row["latin"] for row in table_rows(Path(__file__).with_name("lookalikes.csv")) for sign in row["signs"]
}
# Marks on Latin letters, marks of short vowels and the long stroke of Arabic, and what chooses between forms of a sign.
_UNSEEN = frozenset(map(chr, [*range(0x300, 0x370), *range(0x64B, 0x660), 0x640, 0x670, *range(0xFE00, 0xFE10)]))


def new_code() -> str:
    """Return a fresh code in groups of four digits."""
    return "-".join(f"{secrets.randbelow(10_000):04}" for _ in range(DIGITS // 4))


def digits_of(typed: str) -> str:
    """Return the digits of a typed code, whichever script's digits they are."""
    return "".join(str(unicodedata.digit(sign)) for sign in typed if unicodedata.digit(sign, None) is not None)


def hashed(code: str) -> str:
    """Return what is kept of a code: a hash with the studio's secret, so that a copied database opens nothing."""
    return keyed(digits_of(code))


def keyed(text: str) -> str:
    """Return a hash of a text with the studio's secret."""
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def network_of(address: str) -> str:
    """Return a hash of whose wrong codes are counted together: an address, of IPv6 the /48 of a provider's customer."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return keyed(address)
    plain = getattr(ip, "ipv4_mapped", None) or ip
    return keyed(str(plain if plain.version == 4 else ipaddress.ip_network((plain, 48), strict=False)))


def _guess(code: str) -> str:
    """Return what is kept of a wrong code: hashes of its first digits and of all of it."""
    return keyed(digits_of(code)[:_PREFIX])[:16] + hashed(code)[:48]


def must_wait(address: str, code: str) -> bool:
    """Whether so many wrong codes that begin like ``code`` came from its network that it is not looked at now."""
    now, begin = timezone.now(), _guess(code)[:16]
    alike = WrongCode.objects.filter(network=network_of(address), code__range=(begin, f"{begin}g"))  # hexadecimal
    alike = alike.filter(tried__gte=now - _COUNTED)
    return alike.count() >= MOST_ALIKE and alike.filter(tried__gt=now - _SLOWLY).exists()


def count_wrong(address: str, code: str) -> None:
    """Remember a wrong code, once."""
    WrongCode.objects.filter(tried__lt=timezone.now() - _COUNTED).delete()
    WrongCode.objects.get_or_create(network=network_of(address), code=_guess(code))


def checked_roles(roles: list[str]) -> list[str]:
    """Return ``roles`` in their order; raise UsageError for an unknown one or for none."""
    for role in roles:
        if role not in ROLES:
            raise UsageError(_("There is no role “%(role)s”.") % {"role": role}, hint=nearest(role, ROLES))
    if not roles:
        raise UsageError(_("No role was chosen."), hint=_("Choose among: %(roles)s.") % {"roles": ", ".join(ROLES)})
    return [role for role in ROLES if role in roles]


def invite(project: Project | None, roles: list[str]) -> str:
    """Make an invitation for one person and return its code, which is kept nowhere."""
    code = new_code()
    Invitation.objects.create(project=project, code=hashed(code), roles=checked_roles(roles))
    return code


def ask_back(member: Membership, maker: str) -> str:
    """Make a code by which a member comes back, once somebody else than ``maker`` agreed; return it.

    One that members make for themselves, to keep on paper, needs nobody's word. The member's own code lives until it is
    used; a code that was made before for them, in the same of these two ways, opens nothing more.
    """
    agreed = maker if maker == member.author else ""
    earlier = Invitation.objects.filter(member=member, used=None)
    (earlier.filter(maker=maker) if agreed else earlier.exclude(maker=member.author)).delete()
    code, of = new_code(), {"project": member.project, "roles": member.roles, "member": member}
    Invitation.objects.create(**of, code=hashed(code), maker=maker, agreed=agreed)
    return code


def has_recovery(member: Membership) -> bool:
    """Whether a member keeps a code by which they come back without anybody's word."""
    return any(one.member == member and one.maker == member.author for one in _ways_back(member.project))


@once_a_page
def _ways_back(project: Project) -> list[Invitation]:
    """Return the codes of a project by which members come back, or may once somebody agrees."""
    unused = Invitation.objects.filter(project=project, used=None, member__isnull=False, member__left=None)
    return list(unused.select_related("member").order_by("pk"))


def waiting_back(member: Membership, *, moderates: bool) -> list[Invitation]:
    """Return who waits to be let back in and may be by ``member``: themselves, or by a moderator who did not ask."""
    waiting = [one for one in _ways_back(member.project) if not one.agreed]
    return [one for one in waiting if one.member == member or (moderates and one.maker != member.author)]


def usable(invitations: QuerySet[Invitation]) -> QuerySet[Invitation]:
    """Return those of ``invitations`` that let somebody in now."""
    return invitations.filter(used=None).exclude(member__isnull=False, agreed="")


def join(invitation: Invitation, pseudonym: str, person: Person | None = None) -> tuple[Person, str]:
    """Use an invitation up; return the person and the code by which they come back ("" where they have one).

    Somebody who is here already (``person``) gets the invitation's roles besides their own, so that nobody is two.
    """
    unused = Invitation.objects.filter(pk__in=usable(Invitation.objects.filter(pk=invitation.pk)))
    if not unused.update(used=timezone.now()):  # by another at the same moment
        raise UsageError(_("Somebody has just used this invitation."), hint=_("Ask for your own invitation."))
    code, member = new_code(), invitation.member
    if member is not None and member.person is not None:
        if invitation.maker != member.author and member.person.memberships.exclude(pk=member.pk).exists():
            # Whoever runs one project may let somebody back into that one alone, not into others as them.
            member.person = Person()
        change(member.person, access=hashed(code))
        member.save()
        return member.person, code
    if person is None:
        person = Person.objects.create(access=hashed(code))
    else:
        code = ""
    enrol(invitation.project, person, invitation.roles, pseudonym)
    return person, code


def enrol(project: Project, person: Person, roles: Iterable[str], pseudonym: str) -> Membership:
    """Make a person a member with ``roles``, besides those that they have; without a name they get one."""
    member = Membership.objects.get_or_create(project=project, person=person)[0]
    pseudonym = pseudonym or member.pseudonym or name_elsewhere(project, person)
    name = pseudonym or _("member %(id)s") % {"id": member.author[:4]}
    change(member, pseudonym=name, roles=[role for role in ROLES if role in {*member.roles, *roles}])
    return member


def name_elsewhere(project: Project, person: Person) -> str:
    """Return the name that somebody has in another project, "" where a member of this one bears it."""
    others = person.memberships.exclude(project=project).exclude(pseudonym="").order_by("-joined")
    name = others.values_list("pseudonym", flat=True).first() or ""
    try:
        refuse_taken(project, name, person)
    except UsageError:
        return ""
    return name


def refuse_taken(project: Project, pseudonym: str, person: Person | None) -> None:
    """Raise UsageError where a member other than ``person`` bears a name already, or one that looks like it."""
    members = Membership.objects.filter(project=project).exclude(pseudonym="")
    others = (members.exclude(person=person) if person else members).values_list("pseudonym", flat=True)
    if pseudonym and looks(pseudonym) in map(looks, others):
        message = _("The name “%(name)s” is already in use.") % {"name": pseudonym}
        raise UsageError(message, hint=_("Go back and choose another name."))


def looks(name: str) -> str:
    """Return what a name looks like: the same for two that people could take for each other.

    Case, spaces and signs that are not seen, punctuation around it, marks on Latin letters, and letters of other
    scripts that look like Latin ones count for nothing (a part of Unicode's confusables, UTS 39).
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold()).translate(_LOOKALIKES)
    signs = [sign for sign in plain if unicodedata.category(sign)[0] not in "ZC" and sign not in _UNSEEN]
    while signs and unicodedata.category(signs[-1])[0] == "P":
        signs.pop()
    while signs and unicodedata.category(signs[0])[0] == "P":
        signs.pop(0)
    seen = "".join(signs)
    return seen.replace("rn", "m").replace("vv", "w") or name


def names(project: Project) -> dict[str, str]:
    """Return how each author of the log is called now; who asked to be forgotten is nobody."""
    return {member.author: member.pseudonym for member in members_of(project) if member.pseudonym}


def as_text(link: str) -> str:
    """Return a link's QR code in block characters."""
    out = io.StringIO()
    segno.make(link, error="m").terminal(out, compact=True, border=2)
    return out.getvalue()


def write_page(project: Project, roles: Iterable[str], made: Iterable[tuple[str, str]], folder: Path) -> Path:
    """Write a page of codes and links (``made``) to print, and a PNG of each link; return the page."""
    with filling(folder) as fresh:
        for code, link in made:
            segno.make(link, error="m").save(str(fresh / f"{code}.png"), scale=8, border=4)
        page = render_to_string("studio/invitations.html", {"project": project, "roles": roles, "made": made})
        (fresh / "invitations.html").write_text(page, encoding="utf-8")
    return folder / "invitations.html"
