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
    notes,
    overview,
    plots,
    sentences,
    summaries,
    tables,
    wording,
    worked,
)
from kapwa.report.beside import write_answer_pages, write_tables
from kapwa.report.board import board_table, ranking_pairs, verdict_sentence
from kapwa.report.charts import SERIES
from kapwa.report.html import render
from kapwa.report.many import comparison_data, crowd_across
from kapwa.report.people import people_blocks
from kapwa.report.relations import correlation_table, relation_charts, relation_table, relations, run_correlations
from kapwa.report.table import Table, text_column
from kapwa.report.view import Subject, TaskView, arrange
from kapwa.report.wording import clean, isolate
from kapwa.report.worldmap import map_charts
from kapwa.runs.directory import Run
from kapwa.runs.systems import Named
from kapwa.stats.families import check_margin, is_clear

CORRELATED = 6  # metrics whose agreement is shown; the CSV holds all
TOLD_PAIRS = 3  # differences told one by one; of more only those that are clear
AXES: Mapping[comparisons.Axis, tuple[str, str]] = {
    "asked": (
        "Language of the questions",
        "The same questions in two languages. A dot further right is a higher score; beside each culture stands the "
        "difference on the questions answered in both, with its 95% interval. Cultures are grouped by how much text "
        "there is in their language to learn from.",
    ),
    "prompt": (
        "Wording of the prompts",
        "The same questions put in two ways. Beside each culture stands the difference on the questions answered in "
        "both, with its 95% interval.",
    ),
}
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
    errata: Path | None = None,
) -> Path:
    """Write the report of ``runs`` to ``out`` (one HTML file, whole or not at all) and return its page.

    An ``out`` without an ending is a folder: ``index.html`` in it, and beside it every answer in pages of their own,
    every estimate (``scores.csv``) and every two systems compared (``comparisons.csv``); other files in it stay.

    ``people``: forms that people filled in (choices, ratings) and their keys, or folders that hold them. ``answers``:
    how many questions of each task readers can search with every answer; None for all, else what fits in a page that
    can be mailed. ``same``: names of systems and their runs (:func:`kapwa.runs.systems.systems_of`).
    ``equal_within``: see :func:`kapwa.stats.tables.compare_runs`. ``errata``: scores are told without the items
    confirmed there, too (:mod:`kapwa.report.errata`). The page is a function of these alone: the same give the same
    bytes. Raises UsageError when there are no runs, and what :func:`kapwa.report.people.people_blocks` raises.
    """
    views = arrange(runs, same)
    said = people_blocks(runs, views, people) if people else []
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
        write_text(out, _page(views, said, _Answers(None, answers, browsed.ROOM // len(views)), equal_within, without))
        return out
    with filling(out) as folder:
        write_text(folder / "index.html", _page(views, said, _Answers(folder, None, 0), equal_within, without))
    return out / "index.html"


def _page(
    views: Sequence[TaskView],
    said: Sequence[Part],
    place: _Answers,
    equal_within: float | None,
    without: Mapping[str, Part],
) -> str:
    """The page's text. What lies beside it is written.

    ``said``: what people say of the answers; ``without``: what is told without items in errata, by slug.
    """
    folder, crowd = place.folder, any(view.crowded for view in views)
    ranked = [ranking_pairs(view) if len(view.runs) > 1 else [] for view in views]
    parts = [_task_part(view, place, equal_within) | {"errata": without.get(view.slug)} for view in views]
    related = relations(views) if len(views) > 1 else []
    # A report must be readable where its suite is not installed.
    question = views[0].suite.question if views[0].suite is not None else views[0].task
    several = [_together(group) for group in overview.together(views)] if len(views) > 1 else []
    lead, versions, made = notes.origin(views)
    return render(
        "report.html.j2",
        ["report.css"],
        beside=folder,
        scripts=["shared.js", "board.js", *(["report.js"] if any(part["browser"] for part in parts) else ())],
        board=_board(views, ranked, parts) if len(parts) > 1 or parts[0]["several"] else None,
        files=[] if folder is None else write_tables(views, ranked, folder),
        parts=parts,
        single=len(parts) == 1,
        relations={"figures": [] if crowd else relation_charts(related), "table": relation_table(related)}
        if related
        else None,
        people=said,
        together=several,
        title=question if len(parts) == 1 else notes.title(views),
        lead=lead,
        warnings=list(dict.fromkeys(warning for part in parts for warning in part["warnings"])),
        versions=versions,
        made=made,
        maps=any(part["across"] and part["across"]["maps"] for part in parts),
    )


class _Answers(NamedTuple):
    """Where a report's answers go: into pages in ``folder``, or ``most`` questions with ``room`` characters into it."""

    folder: Path | None
    most: int | None
    room: int


def _board(views: Sequence[TaskView], ranked: Sequence[Pairs], parts: Sequence[Part]) -> Part:
    """Every system on every task, and a verdict a task."""
    verdicts = [
        verdict_sentence(view, pairs, part["compared"]) for view, pairs, part in zip(views, ranked, parts, strict=True)
    ]
    several = max(len(view.runs) for view in views)
    return {
        "table": board_table(views, ranked),
        "sentences": list(filter(None, verdicts)),
        "chosen": comparison_data(views, ranked) if several > 2 else None,
    }


def _task_part(view: TaskView, place: _Answers, equal_within: float | None) -> Part:
    """What the page says of one task: culture by culture where they are few (``across`` is None).

    Of more systems than a chart has shapes, only what all of them share a table for.
    """
    several, crowd = len(view.runs) > 1, view.crowded
    axes = _axes(view) if view.split_variants and not crowd else []
    across = crowd_across(view) if crowd else _across(view) if view.many else None
    pairs = comparisons.run_pairs(view, equal_within) if several and not crowd else pl.DataFrame()
    # Contrasts of one part at a time say more than all pairs of variants.
    variants = pl.DataFrame() if axes or crowd or len(view.variants) < 2 else comparisons.variant_pairs(view)
    correlated = run_correlations(view) if several else None
    confused = [] if crowd else view.confusions()
    asked = pl.DataFrame() if crowd and place.folder is None else browsed.answer_table(view)
    subjects = [] if crowd else _subjects(view, asked, across=across is not None)
    marks = [mark for s in view.subjects for metric in view.headline for mark in view.marks(s, metric).every]
    told = view.suite.tasks.get(view.task, "") if view.suite is not None else ""
    part: Part = {
        "view": view,
        "several": several,
        "question": f"{view.task}: {told}" if told else view.task,
        "across": across,
        "axes": axes,
        "whose": {
            "figures": [heat.confusion_chart(view, one) for one in confused],
            "tables": [differences.confusion_table(view, one) for one in confused],
        }
        if confused
        else None,
        "subjects": subjects,
        "topics": any(one["breakdown"] or one["strata"] for one in ([across] if across else subjects)),
        "crowd": crowd,
        "browser": None if place.folder or crowd else browsed.browser(view, asked, place.most, place.room),
        "answer_pages": [] if place.folder is None else write_answer_pages(view, asked, place.folder),
        "failures": any(one["cases"] for one in subjects),
        "floors": any(not mark.ceiling for mark in marks),
        "ceilings": any(mark.ceiling for mark in marks),
        "compared": pairs,
        "pairs": None,
        "variants": None,
        "multiverse": None if crowd else _multiverse(view),
        "counts": tables.counts_table(view),
        "losses": sentences.loss_sentences(view),
        "correlations": None if correlated is None else _agreement(view, correlated),
        "methods": notes.methods(view),
        "signatures": _signatures(view),
        "warnings": notes.warnings(view),
    }
    if pairs.height:
        part["pairs"] = differences.comparison_table(view, pairs, "pairs", "Models compared on the same items")
        part["pair_sentences"] = summaries.tally_sentences(view, pairs) if across else _pair_sentences(view, pairs)
    if variants.height:
        caption = "Prompt variants compared on the same items"
        part["variants"] = differences.comparison_table(view, variants, "variants", caption)
        part["variant_sentences"] = _pair_sentences(view, variants)
    return part


def _subjects(view: TaskView, asked: pl.DataFrame, *, across: bool) -> list[Part]:
    """What the page says of each culture; where all stand in one chart (``across``), its worst cases alone."""
    subjects = []
    working = (worked.likelihood_table, worked.answers_table)[: min(2, len(view.variants))]
    # The first case is worked through, where cultures are few and there are models or prompts to hold side by side.
    side_by_side = not across and (len(view.runs) > 1 or len(working) > 1)
    for subject in view.subjects:
        cases = browsed.worst_cases(view, subject, asked)
        item = cases["cases"][0]["item_key"] if side_by_side and cases and cases["cases"] else ""
        shown = [table for work in working if item and (table := work(view, subject, item))]
        part = {"subject": subject, "cases": cases, "worked": shown}
        subjects.append(part | ({} if across else _culture(view, subject)))
    return subjects


def _signatures(view: TaskView) -> Table:
    """The signature of every number: cite it beside the number."""
    rows = []
    for label, run in zip(view.labels, view.runs, strict=True):
        signatures: Mapping[str, Any] = run.manifest.get("signatures") or {"": run.manifest.get("signature", "")}
        rows += [(label, str(metric), str(text)) for metric, text in signatures.items()]
    return Table(
        key=f"{view.slug}-signatures",
        caption=f"Signatures ({view.task})",
        frame=pl.DataFrame(rows, schema=dict.fromkeys(("model", "metric", "signature"), pl.String), orient="row"),
        columns=[text_column("Model and metric", "model", "metric"), text_column("Signature", "signature")],
    )


def _multiverse(view: TaskView) -> Part | None:
    """What other wordings and draws would have given; None where there was one of each."""
    from kapwa.report import multiverse

    if len(view.variants) < 2 and not any(run.scores["sample"].max() for run in view.runs):
        return None
    table = multiverse.variance_table(view)
    if table is None:
        return None
    return {
        "sentence": multiverse.multiverse_sentence(view),
        "figures": multiverse.multiverse_chart(view),
        "table": table,
    }


def _agreement(view: TaskView, frame: pl.DataFrame) -> Table:
    caption = f"Agreement of metrics across {len(view.runs)} runs ({view.task})"
    return correlation_table(frame, view.slug, caption, CORRELATED)


def _together(views: Sequence[TaskView]) -> Part:
    """Tasks of one suite side by side: a row for each model, and how far their metrics agree across models."""
    frame, table = overview.task_correlations(views), overview.model_table(views)
    caption = f"Agreement of the tasks' metrics across {len(table.rows)} models"
    columns = len(overview.model_columns(views))
    agreed = None if frame is None else correlation_table(frame, f"{views[0].slug}-tasks", caption, columns)
    return {"table": table, "correlations": agreed}


def _culture(view: TaskView, subject: Subject) -> Part:
    """One of few cultures: the first headline metric of every model told, then charts and tables."""
    readings = sentences.readings(view, subject)
    return {
        "sentences": [sentences.score_sentence(reading) for reading in readings],
        "cautions": sentences.caution_sentences(readings),
        "headline": plots.headline_charts(view, subject),
        "scores": tables.scores_table(view, subject, reference=False),
        "reference": tables.scores_table(view, subject, reference=True),
        "breakdown": plots.breakdown_charts(view, subject),
        "strata": tables.strata_table(view, subject),
        "variants": plots.variant_charts(view, subject) if len(view.variants) > 1 else [],
    }


def _across(view: TaskView) -> Part:
    """Everything that many cultures share a chart or a table for."""
    average = overview.average_estimates(view)
    by_culture = {
        name: tables.culture_table(view, name, average if name == view.metric else None) for name in view.metrics
    }
    gaps = overview.language_gaps(view)
    alike = "Cultures that share a language, on the same questions"
    alike += f", mean of {len(view.runs)} models" if len(view.runs) > 1 else ""
    compared = view.compared(view.metric)
    on_what = f"Compared by the {compared.words} on these questions, in points."
    by_share = [] if compared.top is None else [on_what]
    first = by_culture.pop(view.metric)
    released = [name for name in by_culture if view.metrics[name].get("reference")]
    maps, topics = map_charts(view), heat.stratum_charts(view)
    return {
        "sentences": summaries.across_sentences(view),
        "cautions": _cautions(view, [name for chart in maps for name in chart.absent]),
        "headline": [chart for metric in view.headline for chart in plots.culture_charts(view, metric)],
        "maps": maps,
        "compared": compared.words,
        "scores": first,
        "others": [table for name, table in by_culture.items() if table and name not in released],
        "reference": [table for name, table in by_culture.items() if table and name in released],
        "gaps": differences.comparison_table(view, gaps, "gaps", alike) if gaps.height else None,
        "gap_sentences": by_share + _pair_sentences(view, gaps) if gaps.height else [],
        "topics": plots.topic_charts(view),
        "topic_table": overview.topic_table(view),
        "breakdown": topics,
        "bracketed": any(one and one.text[:1] == "(" for chart in topics for row in chart.squares for one in row),
        "strata": tables.strata_tables(view),
    }


def _cautions(view: TaskView, absent: Sequence[str]) -> list[str]:
    """What must be known beside the scores: few items, cultures that the map or the main variant lacks."""
    runs = range(len(view.runs))
    found = {s: [row for i in runs if (row := view.estimate(i, s, view.metric))] for s in view.subjects}
    missing = [isolate(subject.label) for subject, rows in found.items() if not rows]
    least = min((int(row["n"]) for rows in found.values() for row in rows), default=sentences.SMALL_SAMPLE)
    said = []
    if least < sentences.SMALL_SAMPLE:
        few = wording.count(least, *view.noun)
        said.append(f"Some cultures have as few as {few}, so only large differences can be seen.")
    said += [f"Not on the map: {notes.some_names(list(map(isolate, dict.fromkeys(absent))))}."] if absent else []
    said += [f"Not asked in the variant shown: {notes.some_names(missing)}."] if missing else []
    return said


def _axes(view: TaskView) -> list[Part]:
    """What changes when one part of the variants' names does."""
    found = []
    for axis, (title, lead) in AXES.items():
        frame = comparisons.contrast_table(view, axis)
        if frame.height:
            told, drawn = summaries.contrast_sentences(view, frame), plots.contrast_charts(view, frame)
            part: Part = {"axis": axis, "title": title, "lead": lead, "sentences": told, "figures": drawn}
            found.append({**part, "table": differences.contrast_table(view, frame)})
    return found


def _pair_sentences(view: TaskView, frame: pl.DataFrame) -> list[str]:
    """Tell the paired differences of the first headline metric: all where they are few, else the clear ones."""
    info, every = view.metrics[view.metric], frame.filter(pl.col("metric") == view.metric)
    rows = every.filter(pl.col("culture").is_not_null()).to_dicts()
    clear = [row for row in rows if is_clear(row)]
    told = rows if len(rows) <= TOLD_PAIRS else clear
    over = comparisons.over_cultures(every)
    heads = [f"{isolate(clean(row['model']))}: " if row.get("model") else "" for row in over]
    noun = view.unit if "variants" in every["kind"] else view.noun
    said = [head + one for head, one in zip(heads, summaries.over_sentences(over, info, noun), strict=True)]
    for row in told:
        named = {**row, "a": isolate(clean(row["a"])), "b": isolate(clean(row["b"]))}
        where = [isolate(clean(row["culture"]))] if len(view.subjects) > 1 else []
        where += [isolate(clean(row["model"]))] if row.get("model") else []
        head = f"{', '.join(where)}: " if where else ""
        said.append(head + sentences.comparison_sentence(named, info, noun))
        if same := row.get("same_prompts"):
            said[-1] += (
                f" In {wording.count(same, *noun)} both prompts are the same, so that only the others can differ."
            )
    if len(told) < len(rows):
        said.append(sentences.others_sentence(len(rows) - len(clear), len(rows)))
    return said
