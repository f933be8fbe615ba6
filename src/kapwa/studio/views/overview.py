"""What the project page tells of the whole: coverage with its plot, and how far people agree in votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.utils.safestring import mark_safe
from django.utils.translation import gettext_noop

from kapwa.people.agreement import NAMES, agreement_rows
from kapwa.report.charts import Line, RowChart, axis_svg, key_svg, row_svg
from kapwa.studio.models import Project, Situation, Topic, Vote
from kapwa.studio.projections.situations import DRAFT, IN_REVIEW
from kapwa.suites.kalahi.form import CATEGORIES

_SHOWN = ("percent", "krippendorff-nominal")


class Covered(NamedTuple):
    """A topic or category: how many situations are written, how many of them accepted, how many wanted (0: not said).

    ``plot`` draws the three in an SVG element, all rows of a table on one axis.
    """

    name: str
    written: int
    accepted: int
    wanted: int
    plot: str


class Coverage(NamedTuple):
    """A table of coverage: what its rows are, the rows, the axis under their plots, the marks of the legend."""

    by: str
    rows: list[Covered]
    axis: str
    keys: dict[str, str]


def coverage(project: Project, situations: Iterable[Situation]) -> list[Coverage]:
    """Return coverage by topic and by category, each with plots drawn as reports draw theirs; [] where nothing is."""
    found = []
    targets = dict(Topic.objects.filter(project=project, retired=False).values_list("name", "target"))
    kept = list(situations)
    for by, wanted in (("topic", targets), ("category", dict.fromkeys(CATEGORIES, 0) if kept else {})):
        every = Counter(one.fields.get(by, "") for one in kept)
        done = Counter(one.fields.get(by, "") for one in kept if one.state not in (DRAFT, IN_REVIEW))
        counts = [(name, every[name], done[name], wanted.get(name, 0)) for name in sorted({*every, *wanted} - {""})]
        if not counts:
            continue
        # Quarters of the axis are whole numbers.
        most = 4 * -(-max(max(numbers) for _, *numbers in counts) // 4) or 4
        lines = [Line(name, zone=n, band=(0, ok), top=aim or None) for name, n, ok, aim in counts]
        chart = RowChart(by, by, project.slug, "", lines=lines, domain=(0, most), share=False)
        rows = [Covered(*row, _safe(row_svg(chart, line))) for row, line in zip(counts, lines, strict=True)]
        keys = {
            name: _safe(key_svg(mark))
            for name, mark in ((gettext_noop("written"), "zone"), (gettext_noop("accepted"), "band"))
        }
        keys |= {gettext_noop("wanted"): _safe(key_svg("top"))} if any(row.wanted for row in rows) else {}
        found.append(Coverage(by, rows, _safe(axis_svg(chart)), keys))
    return found


def _safe(svg: str) -> str:
    """Say that the drawing may stand in a page: it holds numbers and names of classes, and no text of anybody."""
    return mark_safe(svg)  # noqa: S308


def agreement(project: Project) -> list[dict[str, Any]]:
    """Return rows of coefficients over revealed rounds of votes, each with its ``name``; [] before a first."""
    rounds = dict(Situation.objects.filter(project=project).values_list("id", "round"))
    hidden = set(
        Situation.objects.filter(project=project, state=IN_REVIEW, revealed=False).values_list("id", flat=True)
    )
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for vote in Vote.objects.filter(project=project):
        if vote.situation not in hidden or vote.round < rounds[vote.situation]:
            cells.setdefault((vote.situation, vote.round), {})[vote.author] = vote.choice
    people = sorted({author for votes in cells.values() for author in votes})
    if not people:
        return []
    table = [[votes.get(author) for author in people] for votes in cells.values()]
    rows = agreement_rows(table, [situation for situation, _ in cells], seed=0, replicates=500)
    return [{**row, "name": NAMES[row["coefficient"]]} for row in rows if row["coefficient"] in _SHOWN]
