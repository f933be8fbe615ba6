"""What leads people through a project: their next step, how far the project is and for whom it waits, what they did."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from kapwa.studio.core.aside import asides_of
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.desks import waiting, work_in_another
from kapwa.studio.core.evaluating import evaluations
from kapwa.studio.core.forms import PATHS, Guide, Stage, Todo, form_of, release_of
from kapwa.studio.core.joining import waiting_requests
from kapwa.studio.core.kinds import ACTS
from kapwa.studio.core.languages import language
from kapwa.studio.core.members import has_recovery
from kapwa.studio.core.notices import COMMENTED, MENTIONED, RELEASED, notices_of
from kapwa.studio.core.reading import members_of, releases_of
from kapwa.studio.core.roles import COORDINATORS, JUDGES, MODERATORS
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Event
from kapwa.studio.core.withdrawals import release_due


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do now, the most urgent first, and the stages of the project up to its releases."""
    todos = []
    of_form, path, _none = form_of(visit.project).guide(visit)
    if visit.may(COORDINATORS) and (frozen := release_due(visit.project)):
        why = _("Since release %(version)s, somebody has withdrawn, or something was rejected or is no longer used.")
        leave_out = _("Make a new release, which leaves it out")
        todos.append(Todo(leave_out, visit.link("releases"), why % {"version": frozen.version}))
    for desk, left in waiting(visit.member):
        if left:
            sentence = ngettext("You have %(n)s task to do", "You have %(n)s tasks to do", left) % {"n": left}
            todos.append(Todo(f"{desk.title()} ({left})", visit.link("work_desk", desk.name), f"{sentence}."))
        for tag in [] if left else desk.languages_open(visit.member):
            title = f"{desk.title()}: \u2068{language(tag).name}\u2069"
            todos.append(Todo(title, visit.link("work_desk", desk.name), work_in_another(tag), 0))
    for aside in asides_of(visit.project) if visit.may(MODERATORS) else ():
        if not aside.agreed and visit.member.author not in (aside.author, aside.who):
            about = _("Somebody asks to set one person's answers aside. A second person decides.")
            link = visit.link("quality", aside.desk)
            todos.append(Todo(_("Quality of answers"), link, about, 0))  # no reminder to a group speaks of it
    made, release = releases_of(visit.project), release_of(visit.project)
    lacking, unwilling = release.lacks(), unwilling_authors(visit.project)
    held = release.held(unwilling) if unwilling else set[str]()
    link, ready = visit.link("releases"), set[str]() if lacking else release.ready() - held
    todos += [todo for todo in of_form if todo.n]
    if ready and link:
        n = len(ready)
        title = ngettext("Make a release: %(n)s item is new", "Make a release: %(n)s items are new", n) % {"n": n}
        todos.append(Todo(title, link))
    todos += [todo for todo in of_form if not todo.n]
    if visit.may(COORDINATORS):
        todos += _of_coordinators(visit, len(held))
    newest = next(reversed(made), None)
    if newest and not link and not visit.may(JUDGES):  # whoever makes none reads how models do on it
        link = visit.link("evaluation", newest.version)
    if newest and visit.may(COORDINATORS) and any(row.report for row in evaluations(visit.project, newest)):
        done = _("An evaluation of release %(version)s is done.") % {"version": newest.version}
        todos.append(Todo(_("Show the report"), visit.link("evaluation", newest.version), done, 0))
    last = Stage(_("Releases"), link, len(made), waits=[_("coordinators")] if ready or not made else [])
    lacks = [(lack.what, visit.link(lack.page, *lack.arguments), lack.who) for lack in lacking]
    return Guide(todos, [*path, last, *(stage for more in PATHS for stage in more(visit))], lacks)


def _of_coordinators(visit: Visit, held: int) -> list[Todo]:
    """Return what coordinators alone can do: for publication, for those who lose their codes, and to invite people.

    ``held``: how many items no release has, because their authors have not agreed to publication.
    """
    todos, project = [], visit.project
    if n := waiting_requests(project).count():
        about = _("They came by a link for many, and see nothing of the project before you let them in.")
        todos.append(Todo(_("Decide who may join"), visit.link("group_links"), about, n))
    if n := held:
        sentence = ngettext(
            "%(n)d item is in no release while somebody whose words it contains has not agreed to publication.",
            "%(n)d items are in no release while somebody whose words they contain has not agreed to publication.",
            n,
        )
        how = _("They can agree on the page “Me”, under “What you agreed to”.")
        todos.append(Todo(_("Ask about publication"), visit.link("releases"), f"{sentence % {'n': n}} {how}", 0))
    present = [member.roles for member in members_of(project) if member.left is None]
    moderators = sum(not MODERATORS.isdisjoint(roles) for roles in present)
    if not has_recovery(visit.member):
        why = _("If you lose your own code, you come back with this one. Keep it on paper.")
        todos.append(Todo(_("Make a recovery code"), visit.link("backup") + "#recovery", why, 0))
    if len(present) == 1:
        alone = _("You are the only member. Others come in with a code that you give them.")
        todos.append(Todo(_("Invite"), visit.link("people"), alone, 0))
    elif moderators == 1:
        why = _("Who loses their code comes back when two people agree. Make somebody else a scribe or a coordinator.")
        todos.append(Todo(_("Choose who lets members back in with you"), visit.link("people"), why, 0))
    return todos


class NewsShown(NamedTuple):
    """A notice as its reader sees it: a sentence, the page, the day, and the event's place in the log."""

    text: str
    link: str
    day: date
    seq: int


_OF_COMMENTS = {
    MENTIONED: gettext_noop("Somebody mentions you in a comment: %(item)s."),
    COMMENTED: gettext_noop("A comment on what you wrote: %(item)s."),
}


def news(visit: Visit, most: int = 5) -> list[NewsShown]:
    """Return what the visitor was told last: of their items, of comments, and of releases that have what they did."""
    told = list(notices_of(visit.member)[:most])
    if not told:
        return []
    form, releases = form_of(visit.project), {row.id: row for row in releases_of(visit.project)}
    items = form.named(visit, {notice.item for notice in told})
    shown = []
    for notice in told:
        if notice.kind == RELEASED and (release := releases.get(notice.item)):
            link = visit.link("evaluation", release.version) or visit.link("home")
            text = _("Release %(version)s has what you did.") % {"version": release.version}
        elif (item := items.get(notice.item)) and (message := {**_OF_COMMENTS, **form.notices}.get(notice.kind)):
            link = item.link or visit.link("home")
            text = _(message) % {"item": f"\u2068{item.title}\u2069", "number": item.number}
        else:  # of what is deleted
            continue
        shown.append(NewsShown(text, link, notice.day, notice.seq))
    return shown


def done_by(visit: Visit) -> list[tuple[str, int]]:
    """Return what the visitor did here, each kind of act with how often."""
    events = Event.objects.filter(project=visit.project, actor=visit.member.author, erased=False)
    counts = events.values_list("kind").annotate(Count("pk")).order_by("kind")
    return [(_(ACTS[kind]), n) for kind, n in counts if kind in ACTS and not kind.startswith(("member.", "record."))]
