"""Put runs into one self-contained HTML page: one script and style, known by their hashes, no network, no fonts.

One pass: tables of the runs, what the page says of them (plain data), the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.errors import UsageError
from kapwa.files import filling, write_text
from kapwa.report import answers as browsed
from kapwa.report import (
    comparisons,
    differences,
    heat,
    multiverse,
    notes,
    overview,
    plots,
    sentences,
    summaries,
    tables,
    wording,
)
from kapwa.report.beside import write_answer_pages, write_tables
from kapwa.report.board import LabelColumn, board_table, ranking_pairs, verdict_sentence
from kapwa.report.charts import SERIES
from kapwa.report.html import render
from kapwa.report.labels import label_table
from kapwa.report.many import comparison_data, crowd_charts
from kapwa.report.relations import LEAST, correlations
from kapwa.report.table import Block, Table, columns
from kapwa.report.view import TaskView, arrange
from kapwa.report.wording import isolate
from kapwa.runs.directory import Run
from kapwa.runs.systems import Named
from kapwa.stats.families import check_margin
from kapwa.suites.base import LEADING

Part = dict[str, Any]  # what the template is told of a section
Pairs = Sequence[Mapping[str, Any]]  # comparisons of every two systems of a task


def build_report(
    runs: Sequence[Run],
    out: Path,
    *,
    people: Sequence[Path] = (),
    answers: int | None = browsed.MOST,
    same: Named | None = None,
    equal_within: float | None = None,
    groups: Path | None = None,
    errata: Path | None = None,
) -> Path:
    """Write the report of ``runs`` to ``out`` (one HTML file, whole or not at all) and return its page.

    An ``out`` without an ending is a folder: ``index.html`` in it, and beside it every answer in pages of their own,
    every estimate (``scores``) and every two systems compared (``comparisons``), as CSV and JSON; others stay.

    ``people``: forms that people filled in (choices, ratings) and their keys, or folders that hold them, and folders of
    draws that they labelled. ``answers``: how many questions of each task readers can search with every answer; None
    for all, else what fits in a page that can be mailed. ``same``: names of systems and their runs
    (:func:`kapwa.runs.systems.systems_of`). ``equal_within``: see :func:`kapwa.stats.tables.compare_runs`. ``groups``:
    the file of :func:`kapwa.report.paper_tables.paper_table`; readers filter the board by them. ``errata``: scores are
    told without the items confirmed there, too (:mod:`kapwa.report.errata`). The page is a function of these alone: the
    same give the same bytes. Raises UsageError when there are no runs, what :func:`kapwa.report.people.people_blocks`
    raises, and DataError for a file of groups that names no system.
    """
    views = arrange(runs, same)
    blocks: list[Block] = []
    labelled: Sequence[LabelColumn] = ()
    if people:
        from kapwa.report.audit import audits_of, blocks_of, label_columns
        from kapwa.report.people import people_blocks

        blocks += people_blocks(runs, views, people)
        audits = audits_of(runs, people)
        blocks += blocks_of(audits)
        labelled = label_columns(views, audits)
    labels = [label for view in views for label in view.labels]
    grouped: Mapping[str, str] = {}
    if groups is not None:
        from kapwa.report.paper_tables import read_groups

        grouped = read_groups(groups, labels)
    for view in views if equal_within is not None else ():
        check_margin(equal_within, {name: bool(view.metrics[name].get("binary")) for name in view.headline})
        if view.crowded:
            message = f"{len(view.runs)} systems are too many to show which are equal within a margin."
            raise UsageError(message, hint=f"Report up to {len(SERIES)} at once, or compare two: kapwa compare A B.")
    without: dict[str, Part] = {}
    if errata is not None:
        from kapwa.report.errata import errata_parts

        without = errata_parts(views, errata)
    if out.suffix:
        place = _Answers(None, answers, browsed.ROOM // len(views))
        write_text(out, _page(views, blocks, place, equal_within, grouped, without, labelled))
        return out
    with filling(out) as folder:
        place = _Answers(folder, None, 0)
        write_text(folder / "index.html", _page(views, blocks, place, equal_within, grouped, without, labelled))
    return out / "index.html"


def _page(
    views: Sequence[TaskView],
    said: Sequence[Block],
    place: _Answers,
    equal_within: float | None,
    groups: Mapping[str, str],
    without: Mapping[str, Part],
    labelled: Sequence[LabelColumn],
) -> str:
    """The page's text. What lies beside it is written.

    ``said``: what people say of the answers; ``without``: what is told without items in errata, by slug; ``labelled``:
    scores as people's labels correct them.
    """
    folder = place.folder
    ranked = [ranking_pairs(view) if len(view.runs) > 1 else [] for view in views]
    parts = [_task_part(view, place, equal_within) | {"errata": without.get(view.slug)} for view in views]
    several = len(parts) > 1 or parts[0]["several"]
    for number, (view, part) in enumerate(zip(views, parts, strict=True)):
        columns = [column for column in labelled if column.place == number]
        if view.waits and columns:  # labels are its scores; where there is a board, they stand above that
            part["sentences"] = [] if several else [verdict_sentence(view, [], pl.DataFrame(), columns)]
    # A report must be readable where its suite is not installed.
    question = views[0].suite.question if views[0].suite is not None else views[0].task
    lead, versions, made = notes.origin(views)
    suites = overview.by_suite(views) if len({label for view in views for label in view.labels}) >= LEAST else []
    return render(
        "report.html.j2",
        ["report.css"],
        beside=folder,
        scripts=["shared.js", "board.js", *(["report.js"] if any(part["browser"] for part in parts) else ())],
        board=_board(views, ranked, parts, groups, labelled) if several else None,
        files=[] if folder is None else write_tables(views, ranked, folder),
        parts=parts,
        single=len(parts) == 1,
        correlated=[table for suite in suites if (table := correlations(suite)) is not None],
        people=said,
        title=question if len(parts) == 1 else notes.title(views),
        lead=lead,
        warnings=list(dict.fromkeys(warning for part in parts for warning in part["warnings"])),
        versions=versions,
        made=made,
    )


class _Answers(NamedTuple):
    """Where a report's answers go: into pages in ``folder``, or ``most`` questions with ``room`` characters into it."""

    folder: Path | None
    most: int | None
    room: int


def _board(
    views: Sequence[TaskView],
    ranked: Sequence[Pairs],
    parts: Sequence[Part],
    groups: Mapping[str, str],
    labelled: Sequence[LabelColumn],
) -> Part:
    """Every system on every task, and a verdict a task."""
    verdicts = [
        verdict_sentence(view, pairs, part["compared"], [column for column in labelled if column.place == place])
        for place, (view, pairs, part) in enumerate(zip(views, ranked, parts, strict=True))
    ]
    several, places = max(len(view.runs) for view in views), [column.place for column in labelled]
    return {
        "table": board_table(views, ranked, labelled),
        "sentences": list(filter(None, verdicts)),
        "chosen": comparison_data(views, ranked, groups, places) if several > 2 else None,
    }


def _task_part(view: TaskView, place: _Answers, equal_within: float | None) -> Part:
    """What the page says of one task; of more systems than a chart has shapes, only what they share a table for."""
    several, crowd = len(view.runs) > 1, view.crowded
    contrasts = comparisons.contrast_tables(view) if view.split_variants else {}
    compared = several and not crowd and not view.waits
    pairs = comparisons.run_pairs(view, equal_within) if compared else pl.DataFrame()
    # Contrasts of one part at a time say more than all pairs of variants.
    variants = pl.DataFrame() if contrasts or crowd or len(view.variants) < 2 else comparisons.variant_pairs(view)
    asked = pl.DataFrame() if crowd and place.folder is None else browsed.answer_table(view)
    marks = [mark for s in view.subjects for metric in view.headline for mark in view.marks(s, metric).every]
    told = view.suite.tasks.get(view.task, "") if view.suite is not None else ""
    varied = len(view.variants) > 1 or any(run.scores["sample"].max() for run in view.runs)
    drawn, counts = charts_of(view, contrasts), tables.counts_table(view)
    return {
        "view": view,
        "several": several,
        "crowd": crowd,
        "question": f"{view.title}: {told}" if told else view.title,
        "drawn": drawn,
        "sentences": [] if crowd else _sentences(view),
        "cautions": [] if crowd else _cautions(view),
        "axes": {
            axis: _differences(view, frame, axis, "The differences of these charts")
            for axis, frame in contrasts.items()
        },
        "whose": [] if crowd else [differences.confusion_table(view, one) for one in view.confusions()],
        "labels": [] if crowd else [differences.scale_table(view, i, frame) for i, frame in view.table("scale")],
        "bracketed": any(
            one and one.text[:1] == "(" for chart in drawn["breakdown"] for row in chart.squares for one in row
        ),
        "topic_table": None if crowd else tables.topic_table(view),
        "browser": None if place.folder or crowd else browsed.browser(view, asked, place.most, place.room),
        "answer_pages": [] if place.folder is None else write_answer_pages(view, asked, place.folder),
        "floors": any(not mark.ceiling for mark in marks),
        "ceilings": any(mark.ceiling for mark in marks),
        "compared": pairs,
        "pairs": _differences(view, pairs, "pairs", "Models compared on the same items"),
        "scores": [] if crowd else _scores(view),
        "reference": None if crowd else tables.metrics_table(view, reference=True),
        "gaps": _gaps(view) if view.many and not crowd else None,
        "variants": _differences(view, variants, "variants", "Prompt variants compared on the same items"),
        "multiverse": multiverse.variance_table(view) if varied and not crowd else None,
        "reordered": multiverse.multiverse_sentence(view) if several and not crowd else "",
        "counts": counts,
        "lost": any(counts.frame[name].sum() for name in sentences.LOSSES),
        "methods": notes.methods(view),
        "signatures": _signatures(view),
        "warnings": notes.warnings(view),
    }


def _differences(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table | None:
    return differences.comparison_table(view, frame, key, caption) if frame.height else None


def _sentences(view: TaskView) -> list[str]:
    """Tell the first headline metric of every system, then what groups of items scored."""
    groups = overview.group_sentences(view) if any(name.startswith(LEADING) for name in view.headline) else []
    if view.many:
        return [*summaries.across_sentences(view), *groups]
    return [*map(sentences.score_sentence, sentences.readings(view, view.subjects[0])), *groups]


def _scores(view: TaskView) -> list[Table]:
    """Every metric of every system; of several cultures then each headline metric by culture, then by label."""
    found = [tables.metrics_table(view, reference=False)]
    found += [*(tables.culture_table(view, name) for name in view.headline), label_table(view)] if view.many else []
    return [table for table in found if table is not None]


def _gaps(view: TaskView) -> Table | None:
    """Cultures that share a language, side by side."""
    gaps, compared = overview.language_gaps(view), view.compared(view.metric)
    caption = "Cultures that share a language, on the same questions"
    caption += f", mean of {len(view.runs)} models" if len(view.runs) > 1 else ""
    caption += "" if compared.top is None else f": the {compared.words}, in points"
    return _differences(view, gaps, "gaps", caption)


def _signatures(view: TaskView) -> Table:
    """The signature of every number: cite it beside the number."""
    rows = []
    for label, run in zip(view.labels, view.runs, strict=True):
        signatures: Mapping[str, Any] = run.manifest.get("signatures") or {"": run.manifest.get("signature", "")}
        rows += [(label, str(metric), str(text)) for metric, text in signatures.items()]
    return Table(
        key=f"{view.slug}-signatures",
        caption=f"Signatures ({view.title})",
        frame=pl.DataFrame(rows, schema=dict.fromkeys(("model", "metric", "signature"), pl.String), orient="row"),
        columns=columns("signatures"),
    )


def _cautions(view: TaskView) -> list[str]:
    """What must be known beside the scores: few items, cultures that the main variant lacks."""
    runs = range(len(view.runs))
    found = {s: [row for i in runs if (row := view.estimate(i, s, view.metric))] for s in view.subjects}
    missing = [isolate(subject.label) for subject, rows in found.items() if not rows]
    least = min((int(row["n"]) for rows in found.values() for row in rows), default=sentences.SMALL_SAMPLE)
    said = []
    if least < sentences.SMALL_SAMPLE and not view.waits:
        few = wording.count(least, *view.noun)
        lead = "Some cultures have as few as" if view.many else "This is based on"
        said.append(f"{lead} {few}, so only large differences can be seen.")
    said += [f"Not asked in the variant shown: {notes.some_names(missing)}."] if missing else []
    return said


def charts_of(view: TaskView, contrasts: Mapping[comparisons.Axis, pl.DataFrame]) -> dict[str, Sequence[Any]]:
    """The charts of a task by the parts of the page, in reading order; ``contrasts``: those of its variants, by axis.

    Of many systems each has a square.
    """
    if view.crowded:
        return {**crowd_charts(view), **dict.fromkeys(("topics", "wordings", "whose"), ())}
    draw = plots.culture_charts if view.many else plots.headline_charts
    return {
        "headline": [chart for metric in view.headline for chart in draw(view, metric)],
        "topics": plots.topic_charts(view),
        "breakdown": heat.stratum_charts(view) if view.many else [],
        **{axis: plots.contrast_charts(view, frame) for axis, frame in contrasts.items()},
        "wordings": multiverse.multiverse_chart(view) if len(view.variants) > 1 else [],
        "whose": [chart for one in view.confusions() for chart in heat.confusion_chart(view, one)],
    }
