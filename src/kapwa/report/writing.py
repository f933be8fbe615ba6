"""Write the page of runs, or of an analysis."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.analysis.result import Analysis, is_analysis, open_analysis
from kapwa.errors import UnfinishedRunError, UsageError
from kapwa.files import in_the_way
from kapwa.runs.finished_run import Run, is_page, run_folders
from kapwa.runs.systems import Named
from kapwa.value_types import Keywords

if TYPE_CHECKING:
    from kapwa.runs.plans import FrozenPlan

log = logging.getLogger(__name__)
Source = Run | Analysis | str | Path


def write_report(  # noqa: PLR0913 - a choice of the reader each
    runs: Source | Sequence[Source],
    out: str | Path = "report.html",
    *,
    people: Sequence[str | Path] = (),
    answers: int | None = 1000,
    same: Named | None = None,
    equal_within: float | None = None,
    groups: str | Path | None = None,
    errata: str | Path | None = None,
    cost: bool = False,
    plan: FrozenPlan | str | Path | None = None,
) -> Path:
    """Write one self-contained HTML page about runs, or about one analysis, and return its path.

    ``out`` without an ending is a folder, for runs: ``index.html`` in it, and beside it every answer, every score
    (``scores``), every comparison of two systems (``comparisons``) and every table as CSV and JSON.
    ``runs``: runs, an analysis, or their folders; unfinished runs are left out, with a warning. ``people``: forms that
    people filled in about the answers of runs. ``answers``: how many questions of each task the page holds with every
    answer, to be searched; None for all. ``same``: names of systems and the runs (or their folders) that are of each,
    where these were made without a common label; they share a row. ``equal_within``: a margin within which two runs
    count as equal where two one-sided tests show it; see :func:`kapwa.compare`. ``groups``: a table file with the
    columns ``system`` and ``group``, by which readers can filter the board. ``errata``: a table of items, as
    ``kapwa items`` proposes it: scores are also told without those that somebody confirmed there, and the
    difference. ``plan``: a frozen plan or its file (:func:`kapwa.freeze_plan`): the page says what was planned and what
    was looked at afterwards, and where what was done departs from the plan. ``cost``: the board has a column of what
    1,000 items cost, at the prices named when a run was made.
    Raises UsageError where there is nothing to tell, ``out`` cannot be written, or two runs are of one system and task;
    RunError for a folder that is neither.
    """
    page, sources = Path(out), open_sources(runs)
    why = "it is a folder" if page.is_dir() and page.suffix else in_the_way(page.parent if page.suffix else page)
    if why is None and page.is_dir() and any(page.iterdir()) and not is_page(page / "index.html"):
        why = "it is a folder with other files"
    if why is not None:
        raise UsageError(f"{page} cannot be written: {why}.", hint="Choose another path.")
    if isinstance(sources, Analysis):
        if not page.suffix:
            raise UsageError(f"The page of an analysis is one file, and {page} has no ending.", hint="Name FILE.html.")
        for about_runs, what in (
            (same, "systems that are called the same"),
            (equal_within is not None, "a margin of equality"),
            (groups, "groups of systems"),
            (errata, "errata of items"),
            (people, "forms about answers"),
            (cost, "cost"),
            (plan, "plan of comparisons"),
        ):
            if about_runs:
                raise UsageError(f"An analysis has no runs, and so no {what}.", hint="Leave that out.")
        from kapwa.report.page.analysis import build_analysis_report

        return build_analysis_report(sources, page)
    from kapwa.report.page.runs import build_report

    more: Keywords = {"answers": answers, "same": same, "equal_within": equal_within}
    more |= {"cost": cost, "plan": _opened_plan(plan)}
    more |= {"groups": groups and Path(groups), "errata": errata and Path(errata)}
    return build_report(sources, page, people=[Path(one) for one in people], **more)


def _opened_plan(plan: FrozenPlan | str | Path | None) -> FrozenPlan | None:
    if not isinstance(plan, str | Path):
        return plan
    from kapwa.runs.plans import read_plan

    return read_plan(plan)


def open_sources(runs: Source | Sequence[Source], tell: Callable[[str], None] = log.warning) -> Analysis | list[Run]:
    """Open runs, or one analysis, and ``tell`` what is left out; raise UsageError for an analysis beside others."""
    named = [runs] if isinstance(runs, Run | Analysis | str | Path) else list(runs)
    sources: list[Source] = []
    for one in named:
        sources += run_folders(Path(one)) if isinstance(one, str | Path) and not is_analysis(one) else [one]
    analyses = [one for one in sources if isinstance(one, Analysis) or (not isinstance(one, Run) and is_analysis(one))]
    if analyses:
        first = analyses[0]
        if len(sources) > 1:
            other = next((one for one in sources if one is not first), first)
            a, b = (one.path if isinstance(one, Run | Analysis) else one for one in (first, other))
            raise UsageError(
                f"{a} is an analysis, and a page of one holds nothing else; {b} was named too.",
                hint="Write a page for each, or analyze everything together: kapwa analyze eecc RUN...",
            )
        return first if isinstance(first, Analysis) else open_analysis(str(first))
    opened_runs: list[Run] = []
    unfinished: list[UnfinishedRunError] = []
    for one in sources:
        try:
            opened_runs.append(one if isinstance(one, Run) else Run(str(one)))
        except UnfinishedRunError as error:
            unfinished.append(error)
    if unfinished and not opened_runs:
        raise unfinished[0]
    for left in unfinished:
        tell(f"Left out: {left.summary}")
    return opened_runs
