"""What the project page tells of the whole: coverage with its plot, and how far people agree in votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.people.agreement import agreement_rows
from kapwa.report.charts import Line, RowChart, axis_svg, key_svg, row_svg
from kapwa.studio.core.desks import Desk
from kapwa.studio.core.roles import COORDINATORS, MODERATORS, READERS, REVIEWERS, WRITERS
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Project, Topic
from kapwa.studio.core.views.common import named_agreement, show
from kapwa.studio.situations.checks import longest_trick, usual_place
from kapwa.studio.situations.events import ACCEPTED, CLOSED, DRAFT, FROZEN, IN_REVIEW, REJECTED, STATES
from kapwa.studio.situations.tables import Situation, Vote
from kapwa.suites.kalahi.form import CATEGORIES


class Coverage(NamedTuple):
    """A table of coverage ``by`` "topic" or "category", with parts of SVG: plots, their axis, marks of the legend.

    A row has a name, how many situations are written, how many of them accepted, how many wanted (0: not said), a plot.
    The drawings hold numbers and names of classes, and no text of anybody.
    """

    by: str
    rows: list[tuple[str, int, int, int, str]]
    axis: str
    keys: dict[str, str]


def coverage(project: Project, situations: Iterable[Situation]) -> list[Coverage]:
    """Return coverage by topic and by category, each with plots drawn as reports draw theirs; [] where nothing is."""
    tables, kept = [], list(situations)
    targets = dict(Topic.objects.filter(project=project, retired=False).values_list("name", "target"))
    for by, wanted in (("topic", targets), ("category", dict.fromkeys(CATEGORIES, 0) if kept else {})):
        every = Counter(situation.fields.get(by, "") for situation in kept)
        done = Counter(situation.fields.get(by, "") for situation in kept if situation.state in (ACCEPTED, FROZEN))
        counts = [(name, every[name], done[name], wanted.get(name, 0)) for name in sorted({*every, *wanted} - {""})]
        if not counts:
            continue
        # Quarters of the axis are whole numbers.
        most = 4 * -(-max(max(numbers) for _, *numbers in counts) // 4) or 4
        lines = [Line(name, zone=n, band=(0, ok), top=aim or None) for name, n, ok, aim in counts]
        chart = RowChart(by, by, project.slug, "", lines=lines, domain=(0, most), share=False)
        rows = [(*row, row_svg(chart, line)) for row, line in zip(counts, lines, strict=True)]
        keys = {gettext_noop("written"): key_svg("zone"), gettext_noop("accepted"): key_svg("band")}
        if any(aim for *_, aim in counts):
            keys[gettext_noop("wanted")] = key_svg("top")
        tables.append(Coverage(by, rows, axis_svg(chart), keys))
    return tables


def topic_coverage(project: Project) -> list[Coverage]:
    """Return how many situations are about each topic."""
    made = Situation.objects.filter(project=project).exclude(state__in=CLOSED)
    return [table for table in coverage(project, made) if table.by == "topic"]


def agreement(project: Project) -> list[dict[str, Any]]:
    """Return rows of coefficients over revealed rounds of votes, each with its ``name``; [] before a first."""
    situations = Situation.objects.filter(project=project, state=IN_REVIEW, revealed=False)
    hidden = set(situations.values_list("id", "round"))
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for vote in Vote.objects.filter(project=project):
        if (vote.situation, vote.round) not in hidden:
            cells.setdefault((vote.situation, vote.round), {})[vote.author] = vote.choice
    people = sorted({author for votes in cells.values() for author in votes})
    if not people:
        return []
    table = [[votes.get(author) for author in people] for votes in cells.values()]
    return named_agreement(agreement_rows(table, [situation for situation, _ in cells], seed=0, replicates=500))


def home(visit: Visit, work: Sequence[tuple[Desk, int]]) -> HttpResponse:
    """Show situations by their states, those that wait for the visitor, and how far people agree."""
    project = visit.project
    situations = list(Situation.objects.filter(project=project).order_by("number"))
    by_state = {state: [situation for situation in situations if situation.state == state] for state in STATES + CLOSED}
    used = [situation for situation in situations if situation.state not in CLOSED]
    context: dict[str, Any] = {
        "counts": [(state, len(rows)) for state, rows in by_state.items() if rows or state not in CLOSED],
        "coverage": coverage(project, used),
        "trick": longest_trick(situation.fields for situation in used),
        "place": usual_place(situation.fields for situation in used),
        "total": len(situations),
        "agreement": agreement(project) if visit.may(MODERATORS) else [],
    }
    return show(visit, "home", waiting=_waiting(visit, situations), work=work, **context)


def _waiting(visit: Visit, situations: Iterable[Situation]) -> dict[str, list[Situation]]:
    """Return the situations that wait for the visitor, by what they can do with them."""
    author, waiting = visit.member.author, defaultdict[str, list[Situation]](list)
    voted = set(Vote.objects.filter(project=visit.project, author=author).values_list("situation", "round"))
    for row in situations:
        if row.state in (DRAFT, REJECTED) and row.author == author and visit.may(WRITERS):
            waiting["finish" if row.state == DRAFT else "rejected"].append(row)
        elif row.state == IN_REVIEW and row.revealed and visit.may(READERS):
            waiting["discuss"].append(row)
        elif row.state == IN_REVIEW and not row.revealed and visit.may(REVIEWERS):
            if author not in row.authors and (row.id, row.round) not in voted:
                waiting["vote"].append(row)
        elif row.state == ACCEPTED and visit.may(COORDINATORS):
            waiting["freeze"].append(row)
    return dict(waiting)


def waits(visit: Visit) -> list[tuple[str, int]]:
    """Return how many situations wait for the visitor, by what they can do with them."""
    waiting = _waiting(visit, Situation.objects.filter(project=visit.project))
    names = (
        ("vote", _("Situations to vote on")),
        ("finish", _("Drafts to finish")),
        ("discuss", _("Situations to discuss")),
    )
    return [(title, len(waiting.get(name, ()))) for name, title in names]
