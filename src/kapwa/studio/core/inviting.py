"""Whether there is work for all who are invited: said wherever people are, before they come and find none."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from kapwa.studio.core.forms import form_of
from kapwa.studio.core.joining import waiting_requests
from kapwa.studio.core.languages import language
from kapwa.studio.core.reading import members_of
from kapwa.studio.core.tables import Invitation, Project


def too_many_invited(project: Project) -> list[str]:
    """Return what whoever invites should know: of roles that more people have than there is work for, in sentences."""
    form = form_of(project)
    places = form.places(project)
    if not places:
        return []
    members = [member.roles for member in members_of(project) if member.left is None]
    invited = Invitation.objects.filter(project=project, used=None, member=None).values_list("roles", flat=True)
    asking = [request.link.roles for request in waiting_requests(project)]
    roles = [*members, *invited, *asking]
    crowded = _(
        "%(n)s people have the role “%(name)s” or are invited to it, and there is work for %(places)s: so many answer"
        " each question. You can raise that number in the settings."
    )
    said = [
        crowded % {"n": n, "name": _(role), "places": most}
        for role, most in places.items()
        if (n := sum(role in own for own in roles)) > most
    ]
    done, wanted = form.languages_wanted(project)
    if done and wanted:
        elsewhere = _(
            "In %(done)s, enough people have answered every question. People are still wanted in: %(wanted)s."
        )
        said.append(elsewhere % {"done": _named(done), "wanted": _named(wanted)})
    return said


def _named(tags: Sequence[str]) -> str:
    return ", ".join(f"\u2068{language(tag).name}\u2069" for tag in tags)
