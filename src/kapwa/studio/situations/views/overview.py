"""What the project page tells of the whole: coverage with its plot, and how far people agree in votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.labels.agreement import agreement_rows
from kapwa.report.charts.drawing import draw
from kapwa.report.charts.elements import Line, RowChart
from kapwa.studio.core.forms import ANYBODY, Guide, ItemNamed, OwnItem, Stage, Todo
from kapwa.studio.core.reading import members_of, topics_of
from kapwa.studio.core.roles import MODERATORS, READERS, REVIEWERS, WRITERS
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Project
from kapwa.studio.core.views.common import named_agreement
from kapwa.studio.situations.checks import longest_trick, usual_place
from kapwa.studio.situations.events import (
    ACCEPTED,
    CLOSED,
    DRAFT,
    FROZEN,
    IN_REVIEW,
    REJECTED,
    situations_of,
    votes_by_round,
)
from kapwa.studio.situations.tables import Situation
from kapwa.suites.kalahi.form import CATEGORIES
from kapwa.value_types import Cells, JsonObject

MOST_SHOWN = 5  # situations of which home says who has voted


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
    targets = {topic.name: topic.target for topic in topics_of(project)}
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
        rows = [(*row, draw("row", chart, line)) for row, line in zip(counts, lines, strict=True)]
        keys = {gettext_noop("written"): draw("key", "zone"), gettext_noop("accepted"): draw("key", "band")}
        if any(aim for *_, aim in counts):
            keys[gettext_noop("wanted")] = draw("key", "top")
        tables.append(Coverage(by, rows, draw("axis", chart), keys))
    return tables


def topic_coverage(project: Project) -> list[Coverage]:
    """Return how many situations are about each topic."""
    made = [row for row in situations_of(project) if row.state not in CLOSED]
    return [table for table in coverage(project, made) if table.by == "topic"]


def agreement(project: Project) -> list[Cells]:
    """Return rows of coefficients over revealed rounds of votes, each with its ``name``; [] before a first."""
    hidden = {(row.id, row.round) for row in situations_of(project) if is_hidden(row)}
    cells = {
        which: {vote.author: vote.choice for vote in votes}
        for which, votes in votes_by_round(project).items()
        if which not in hidden
    }
    people = sorted({author for votes in cells.values() for author in votes})
    if not people:
        return []
    table = [[votes.get(author) for author in people] for votes in cells.values()]
    return named_agreement(agreement_rows(table, [situation for situation, _ in cells], seed=0, replicates=500))


def guide(visit: Visit) -> Guide:
    """Return what the visitor can do with situations, of each kind the first with how many there are; and the path."""
    rows = situations_of(visit.project)
    votes = turnout(visit.project)
    ready = [row for row, voted, may in votes if voted and voted >= may]
    about_vote = _("Read it, and say whether it can stay as it is. Nobody sees your vote before all are revealed.")
    mine = [row for row in rows if row.author == visit.member.author]
    open_now = [row for row in rows if row.state == IN_REVIEW and row.revealed]
    imported = [row for row in rows if row.state == DRAFT and not row.author]
    rejected = _("It was rejected. See why, and change it or leave it.")
    todos = []
    for roles, title, about, waiting in (
        (REVIEWERS, _("Vote on situation %(number)s"), about_vote, waiting_votes(visit)),
        (MODERATORS, _("Reveal the votes on situation %(number)s"), "", ready),
        (READERS, _("Discuss situation %(number)s"), "", open_now),
        (WRITERS, _("Finish your draft %(number)s"), "", [row for row in mine if row.state == DRAFT]),
        (WRITERS, _("Situation %(number)s"), rejected, [row for row in mine if row.state == REJECTED]),
        (MODERATORS, _("Situation %(number)s"), _("Send to review"), imported),
    ):
        if waiting and visit.may(roles):
            number = waiting[0].number
            todos.append(Todo(title % {"number": number}, visit.link("situation", number), about, len(waiting)))
    states = Counter(row.state for row in rows if row.state not in CLOSED)
    if visit.may(WRITERS):
        about = _("A few sentences that happened to you or to people you know, and what people here would do.")
        todos.append(Todo(_("Write a situation"), visit.link("new_situation"), about, 0))
    return Guide(todos, _path(visit, states, votes))


NOTICES = {
    "situation.accepted": gettext_noop("Your situation %(number)s was accepted."),
    "situation.rejected": gettext_noop("Your situation %(number)s was rejected."),
    "situation.revealed": gettext_noop("The votes on your situation %(number)s are revealed."),
    "situation.retired": gettext_noop("Your situation %(number)s is no longer used."),
}


def own(visit: Visit) -> list[OwnItem]:
    """Return the situations of which the visitor wrote a part; drafts are those that they began."""
    author = visit.member.author
    rows = [row for row in situations_of(visit.project) if author in row.authors]
    return [
        OwnItem(
            _("Situation %(number)s") % {"number": row.number},
            visit.link("situation", row.number),
            row.fields.get("context", ""),
            _(row.state),
            draft=row.state == DRAFT and row.author == author,
        )
        for row in rows[::-1]
    ]


def items_named(visit: Visit, items: Collection[str]) -> dict[str, ItemNamed]:
    """Return what situations are called, and the addresses of their pages."""
    rows = [(row.id, row.number) for row in situations_of(visit.project) if row.id in items]
    titles = {key: (_("Situation %(number)s") % {"number": number}, number) for key, number in rows}
    return {key: ItemNamed(title, visit.link("situation", number), number) for key, (title, number) in titles.items()}


def _path(visit: Visit, states: Counter[str], votes: Any) -> list[Stage]:
    """Return how far situations are, and whose turn it is."""
    topics = [topic.target for topic in topics_of(visit.project)]
    accepted = states.total() - states[DRAFT] - states[IN_REVIEW]
    in_review = [_("reviewers")] if states[IN_REVIEW] else []
    for row, voted, may in votes[:MOST_SHOWN] if visit.may(READERS) else []:
        counts = {"number": row.number, "n": len(voted), "most": len(voted | may)}
        text = _("Situation %(number)s: %(n)s of %(most)s have voted.") % counts
        in_review.append(f"{text} {_('Reveal the votes')}." if voted and voted >= may else text)
    writers = [_("writers")] if states[DRAFT] or states.total() < max(1, sum(topics)) else []
    link = visit.link("situations")
    return [
        Stage(_("Topics"), visit.link("topics"), len(topics), waits=[] if topics or states else [_("writers")]),
        Stage(_("Situations written"), link, states.total(), sum(topics) or None, writers),
        Stage(_("Situations accepted"), link, accepted, states.total(), in_review),
    ]


def waiting_votes(visit: Visit) -> list[Situation]:
    """Return the situations on which the visitor is still to vote, by number."""
    author = visit.member.author
    lacking = [(row, may - voted) for row, voted, may in turnout(visit.project)]
    return [row for row, people in lacking if author in people or (people and author == ANYBODY)]


def turnout(project: Project) -> list[tuple[Situation, set[str], set[str]]]:
    """Return the situations whose votes are hidden, by number, each with who has voted, and who may."""
    present = [member for member in members_of(project) if member.left is None]
    reviewers = {member.author for member in present if not REVIEWERS.isdisjoint(member.roles)}
    votes, lines = votes_by_round(project), []
    for row in filter(is_hidden, situations_of(project)):
        voted = {vote.author for vote in votes.get((row.id, row.round), ())}
        lines.append((row, voted, reviewers.difference(row.authors)))
    return lines


def is_hidden(situation: Situation) -> bool:
    """Whether people vote on a situation now, and nobody sees the votes."""
    return situation.state == IN_REVIEW and not situation.revealed


def overview(visit: Visit) -> JsonObject:
    """Return coverage, what a trick would score, and how far people agree."""
    situations = [row for row in situations_of(visit.project) if row.state not in CLOSED]
    return {
        "overview": "studio/overview.html",
        "coverage": coverage(visit.project, situations),
        "trick": longest_trick(situation.fields for situation in situations),
        "place": usual_place(situation.fields for situation in situations),
        "total": len(situations),
        "agreement": agreement(visit.project) if visit.may(MODERATORS) else [],
    }
