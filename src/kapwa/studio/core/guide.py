"""What leads people through a project: their next step, how far the project is and for whom it waits, what they did."""

from __future__ import annotations

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kapwa.studio.core.aside import Aside
from kapwa.studio.core.desks import waiting
from kapwa.studio.core.forms import PATHS, Guide, Stage, Todo, form_of
from kapwa.studio.core.kinds import ACTS
from kapwa.studio.core.roles import COORDINATORS
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Event, Membership, Release
from kapwa.studio.core.withdrawals import release_due


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do now, the most urgent first, and the stages of the project up to its releases."""
    todos = []
    of_form, path = form_of(visit.project).guide(visit)
    if visit.may(COORDINATORS) and (frozen := release_due(visit.project)):
        why = _("Since release %(version)s, somebody has withdrawn, or something was rejected or is no longer used.")
        leave_out = _("Make a new release, which leaves it out")
        todos.append(Todo(leave_out, visit.link("releases"), why % {"version": frozen.version}))
    for desk, left in waiting(visit.member):
        if left:
            sentence = ngettext("You have %(n)s task to do", "You have %(n)s tasks to do", left) % {"n": left}
            todos.append(Todo(f"{desk.title()} ({left})", visit.link("work_desk", desk.name), f"{sentence}."))
    asked = Aside.objects.filter(project=visit.project, agreed=False).exclude(author=visit.member.author)
    for aside in asked.exclude(who=visit.member.author):
        if link := visit.link("quality", aside.desk):
            about = _("Somebody asks to set one person's answers aside. A second person decides.")
            todos.append(Todo(_("Quality of answers"), link, about, 0))  # no reminder to a group speaks of it
    todos += of_form
    if visit.may(COORDINATORS) and Membership.objects.filter(project=visit.project, left=None).count() == 1:
        alone = _("You are the only member. Others come in with a code that you give them.")
        todos.append(Todo(_("Invite"), visit.link("people"), alone, 0))
    made = Release.objects.filter(project=visit.project).order_by("seq")
    link = visit.link("releases")
    if not link and (newest := made.last()):  # whoever makes none reads how models do on it
        link = visit.link("evaluation", newest.version)
    last = Stage(_("Releases"), link, len(made), waits=[] if made else [_("coordinators")])
    return Guide(todos, [*path, last, *(stage for more in PATHS for stage in more(visit))])


def done_by(visit: Visit) -> list[tuple[str, int]]:
    """Return what the visitor did here, each kind of act with how often."""
    events = Event.objects.filter(project=visit.project, actor=visit.member.author, erased=False)
    counts = events.values_list("kind").annotate(Count("pk")).order_by("kind")
    return [(_(ACTS[kind]), n) for kind, n in counts if kind in ACTS and not kind.startswith(("member.", "record."))]
