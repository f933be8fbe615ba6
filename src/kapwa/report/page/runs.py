"""Put runs into one self-contained HTML page: one script and style, known by their hashes, no network, no fonts.

One pass: tables of the runs, the contents of the page (plain data), the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kapwa.errors import UsageError
from kapwa.files import filling, write_text
from kapwa.report.board.ranks import RankedTask, in_variants, ranked_task
from kapwa.report.board.table import cost_columns
from kapwa.report.board.verdicts import LabelColumn, verdict_sentence
from kapwa.report.board.whole import Board, whole_board
from kapwa.report.page.answers import MOST, ROOM
from kapwa.report.page.folder import write_tables
from kapwa.report.page.html import render
from kapwa.report.page.task import AnswerRoom, TaskSection, task_section
from kapwa.report.sentences import notes
from kapwa.report.sentences.wordings import every_wording_sentence
from kapwa.report.tables.correlations import LEAST, correlations
from kapwa.report.tables.errata import ErrataSection
from kapwa.report.tables.table import PageSection, Table
from kapwa.report.view.means import by_suite
from kapwa.report.view.tasks import MOST_DRAWN, TaskView, arrange
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import Named
from kapwa.stats.families import check_margin
from kapwa.suites.items import grouped

if TYPE_CHECKING:
    from kapwa.runs.plans import FrozenPlan


def build_report(  # noqa: PLR0913 - a choice of the reader each
    runs: Sequence[Run],
    out: Path,
    *,
    people: Sequence[Path] = (),
    answers: int | None = MOST,
    same: Named | None = None,
    equal_within: float | None = None,
    groups: Path | None = None,
    errata: Path | None = None,
    cost: bool = False,
    plan: FrozenPlan | None = None,
) -> Path:
    """Write the report of ``runs`` to ``out`` (one HTML file, whole or not at all) and return its page.

    An ``out`` without an ending is a folder: ``index.html`` in it, and beside it every answer in pages of their own,
    every estimate (``scores``) and every two systems compared (``comparisons``), as CSV and JSON; others stay.

    ``people``: forms that people filled in (choices, ratings) and their keys, or folders that hold them, and folders of
    draws that they labelled. ``answers``: how many questions of each task readers can search with every answer; None
    for all, else what fits in a page that can be mailed. ``same``: names of systems and their runs
    (:func:`kapwa.runs.systems.systems_of`). ``equal_within``: see
    :func:`kapwa.stats.comparison_tables.compare_runs`. ``groups``: the file of
    :func:`kapwa.report.board.paper.paper_table`; readers filter the board by them. ``errata``: scores are also given
    without the items confirmed there (:mod:`kapwa.report.tables.errata`). ``plan``: what was planned is reported apart
    from what was examined afterwards (:mod:`kapwa.report.board.planned`). ``cost``: the board shows what 1,000 items
    cost; a single run then has a board, too. The page is a function of these alone: the same give the same
    bytes. Raises UsageError when there are no runs, what :func:`kapwa.report.tables.people.people_blocks` raises, and
    DataError for a file of groups that names no system.
    """
    views = arrange(runs, same)
    if cost and not cost_columns(views):
        hint = "Run the same command with --prices or --price-in and --price-out: nothing is asked again."
        raise UsageError("None of these runs says what it cost.", hint=hint)
    blocks, labelled = _what_people_say(runs, views, people) if people else ([], ())
    by_group = {} if groups is None else _read_groups(views, groups)
    if equal_within is not None:
        _check_margin(views, equal_within)
    without = {} if errata is None else _read_errata(views, errata)
    sources = _Sources(
        views=views,
        people=blocks,
        labelled=labelled,
        groups=by_group,
        errata=without,
        equal_within=equal_within,
        cost=cost,
        plan=plan,
    )
    if out.suffix:
        write_text(out, _page(sources, AnswerRoom(None, answers, ROOM // len(views))))
        return out
    with filling(out) as folder:
        write_text(folder / "index.html", _page(sources, AnswerRoom(folder, None, 0)))
    return out / "index.html"


@dataclass(frozen=True)
class _Sources:
    """The sources of a page, read and checked before anything is written.

    Attributes:
        people: What people say of the answers.
        labelled: Scores as people's labels correct them.
        groups: Of each system its group, by which readers filter the board.
        errata: Scores without the items in errata, by the slug of a task.
        equal_within: A margin within which two systems count as equal.
        cost: Whether the board shows costs.
        plan: What was planned beforehand.
    """

    views: Sequence[TaskView]
    people: Sequence[PageSection]
    labelled: Sequence[LabelColumn]
    groups: Mapping[str, str]
    errata: Mapping[str, ErrataSection]
    equal_within: float | None
    cost: bool
    plan: FrozenPlan | None


def _what_people_say(
    runs: Sequence[Run], views: Sequence[TaskView], paths: Sequence[Path]
) -> tuple[list[PageSection], Sequence[LabelColumn]]:
    """Return sections on what people chose, judged and labelled, and the columns of labels on the board."""
    from kapwa.report.board.audit import audits_of, blocks_of, label_columns
    from kapwa.report.tables.people import people_blocks

    blocks = people_blocks(runs, views, paths)
    audits = audits_of(runs, paths)
    return blocks + blocks_of(audits), label_columns(views, audits)


def _read_groups(views: Sequence[TaskView], path: Path) -> Mapping[str, str]:
    from kapwa.report.board.paper import read_groups

    return read_groups(path, [label for view in views for label in view.labels])


def _read_errata(views: Sequence[TaskView], path: Path) -> Mapping[str, ErrataSection]:
    from kapwa.report.tables.errata import errata_sections

    return errata_sections(views, path)


def _check_margin(views: Sequence[TaskView], equal_within: float) -> None:
    """Raise UsageError for a margin that no metric can have, or of which there are too many systems to show."""
    for view in views:
        check_margin(equal_within, {name: bool(view.metrics[name].binary) for name in view.headline})
        if view.crowded:
            message = f"{len(view.runs)} systems are too many to show which are equal within a margin."
            raise UsageError(message, hint=f"Report up to {MOST_DRAWN} at once, or compare two: kapwa compare A B.")


def _page(sources: _Sources, room: AnswerRoom) -> str:
    """The page's text. What lies beside it is written."""
    views = sources.views
    has_board = len(views) > 1 or len(views[0].runs) > 1 or sources.cost
    sections = [
        task_section(view, room, sources.equal_within, sources.errata.get(view.slug), board=has_board) for view in views
    ]
    labels_of_tasks = grouped(sources.labelled, attrgetter("task_index"))
    for task_index, section in enumerate(sections):
        labels = labels_of_tasks.get(task_index, ())
        # Labels are its scores; where there is a board, they stand above that.
        if section.view.needs_verdicts and labels:
            words = [] if has_board else [verdict_sentence(section.view, [], pl.DataFrame(), labels)]
            section.sentences = words
    tasks = list(map(ranked_task, views)) if has_board or room.folder is not None else []
    board = _board(sources, tasks, sections, labels_of_tasks) if has_board else None
    # A report must be readable where its suite is not installed.
    question = views[0].suite.question if views[0].suite is not None else views[0].task
    lead, versions, made = notes.origin(views)
    suites = by_suite(views) if len({label for view in views for label in view.labels}) >= LEAST else []
    return render(
        "report.html.j2",
        ["report.css"],
        downloads_folder=room.folder,
        scripts=["shared.js", "board.js", *(["report.js"] if any(one.answers.browser for one in sections) else ())],
        board=board,
        files=[] if room.folder is None else write_tables(tasks, room.folder),
        sections=sections,
        single=len(sections) == 1,
        planned=None if sources.plan is None else _planned(sources.plan, views, sources.equal_within),
        reliability=_reliability(views),
        correlated=[table for suite in suites if (table := correlations(suite)) is not None],
        people=sources.people,
        title=question if len(sections) == 1 else notes.title(views),
        lead=lead,
        warnings=list(
            dict.fromkeys(warning for view in views for warning in notes.warnings(view, several=len(views) > 1))
        ),
        versions=versions,
        made=made,
    )


def _board(
    sources: _Sources,
    tasks: Sequence[RankedTask],
    sections: Sequence[TaskSection],
    labels_of_tasks: Mapping[int, Sequence[LabelColumn]],
) -> Board:
    """The board of the page; ``sections`` get sentences on how systems rank in every wording."""
    variants = list(map(in_variants, tasks))
    for section, each in zip(sections, variants, strict=True):
        if each:
            over_wordings = every_wording_sentence(section.view, {one.view.variant: one.pairs for one in each})
            section.order = " ".join(filter(None, [section.order, over_wordings]))
    verdicts = [
        verdict_sentence(section.view, task.pairs, section.compared, labels_of_tasks.get(index, ()))
        for index, (section, task) in enumerate(zip(sections, tasks, strict=True))
    ]
    return whole_board(tasks, variants, sources.labelled, verdicts, sources.groups, cost=sources.cost)


def _planned(plan: FrozenPlan, views: Sequence[TaskView], equal_within: float | None) -> PageSection:
    from kapwa.report.board.planned import planned_section

    return planned_section(plan, views, equal_within)


def _reliability(views: Sequence[TaskView]) -> Table | None:
    """How reliable the ranks are; None for one system in one culture."""
    if not any(view.several_cultures or len(view.runs) > 1 for view in views):
        return None
    from kapwa.report.board.reliability import reliability_table

    return reliability_table(views)
