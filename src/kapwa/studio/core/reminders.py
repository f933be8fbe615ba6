"""Reminders that people choose: what waits, as a text to share in a group, and by e-mail."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from kapwa.errors import UsageError
from kapwa.studio.core.forms import ANYBODY, Todo
from kapwa.studio.core.guide import guide
from kapwa.studio.core.interface import SOURCE, speaking, spoken
from kapwa.studio.core.notices import UNREAD_OF_MEMBERS
from kapwa.studio.core.roles import COORDINATOR, ROLES
from kapwa.studio.core.security import Visit, agreed
from kapwa.studio.core.tables import Membership, Project
from kapwa.studio.settings import remembered_address


def waiting_for(member: Membership) -> list[Todo]:
    """Return what waits for a member."""
    return [todo for todo in guide(Visit(HttpRequest(), member.project, member)).todos if todo.n]


def waiting_for_anybody(project: Project) -> list[Todo]:
    """Return what waits in a project: for somebody who did nothing yet, and has every role but the coordinator's.

    What waits for a coordinator is nothing for a group, such as a release that leaves out what somebody withdrew.
    """
    roles = [role for role in ROLES if role != COORDINATOR]
    return waiting_for(Membership(project=project, author=ANYBODY, roles=roles, languages=project.languages))


def as_message(
    project: Project, waiting: Iterable[Todo], address: str, *, unread: int = 0, mailed: bool = False
) -> str:
    """Return a text that says what waits, and where; it names nobody.

    ``unread``: how many news there are, and nothing of what. ``mailed``: it says how to get no more.
    """
    written = {"project": project, "waiting": waiting, "address": address, "unread": unread, "mailed": mailed}
    return render_to_string("studio/reminder.html", written).strip()


def remind() -> tuple[int, int]:
    """Send everybody who asked for it, and for whom something waits or is new, a digest, without a name in it.

    Returns how many of them the mail server took, and how many there were. Raises UsageError where no server is set, or
    it cannot be reached.
    """
    if not settings.KAPWA_MAIL:
        raise UsageError("No mail server is set.", hint="Set KAPWA_EMAIL_HOST and KAPWA_DEFAULT_FROM_EMAIL.")
    wanting = Membership.objects.filter(left=None, person__isnull=False).exclude(person__email="")
    wanting = wanting.annotate(unread=UNREAD_OF_MEMBERS)
    members = [member for member in wanting.select_related("person", "project") if agreed(member)]
    mails = [mail for member in members if (mail := _mail_for(member))]
    if not mails:
        return 0, 0
    with _connected() as connection:
        connection.fail_silently = True  # one address that the server refuses keeps no other from its e-mail
        return sum(connection.send_messages([mail]) or 0 for mail in mails), len(mails)


def _connected() -> BaseEmailBackend:
    """Return what sends e-mails, ready to; raise UsageError that says why it is not."""
    try:
        connection = get_connection()
        connection.open()
    except TypeError:  # of the backend that writes files, without a folder
        raise UsageError("No e-mail can be sent: KAPWA_EMAIL_FILE_PATH names no folder.", hint="Set it.") from None
    except (OSError, ImproperlyConfigured, ImportError) as error:
        hint = "Check the variables KAPWA_EMAIL_…, and that the server runs."
        raise UsageError(f"No e-mail can be sent: {error}.", hint=hint) from None
    return connection


def _mail_for(member: Membership) -> EmailMessage | None:
    """Return an e-mail of what waits for a member and how much is new, in a language of theirs; None for nothing."""
    project, languages = member.project, spoken(member.project)
    chosen = next((tag for tag in (*member.languages, project.language) if tag in languages), SOURCE)
    with speaking(chosen, project):
        waiting, unread = waiting_for(member), member.unread
        if not (waiting or unread):
            return None
        address = urljoin(remembered_address(), reverse("home", args=[project.slug]))
        body = as_message(project, waiting, address, unread=unread, mailed=True)
    title = " ".join(project.title.split())  # as the command or an archive may give it, on several lines
    return EmailMessage(title, body, to=[member.person.email])
