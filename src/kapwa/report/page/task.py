"""What the page says of one task: sentences, charts, tables and answers, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.charts.task import TaskCharts, charts_of
from kapwa.report.page.answers import Browser, answer_table, browser
from kapwa.report.page.folder import Link, write_answer_pages
from kapwa.report.sentences import cultures, notes, scores
from kapwa.report.sentences.groups import group_sentences
from kapwa.report.sentences.missing import first_sentences
from kapwa.report.sentences.wordings import order_sentence
from kapwa.report.tables.columns import text_column
from kapwa.report.tables.differences import comparison_table, confusion_table, scale_table
from kapwa.report.tables.errata import ErrataSection
from kapwa.report.tables.labels import label_table
from kapwa.report.tables.scores import counts_table, culture_table, metrics_table, topic_table
from kapwa.report.tables.table import Table
from kapwa.report.tables.thinking import thoughts_table
from kapwa.report.tables.variance import variance_table
from kapwa.report.view.comparisons import Axis, contrast_tables, run_pairs, variant_pairs
from kapwa.report.view.means import language_gaps
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import isolate
from kapwa.runs.thoughts import TABLE as THOUGHTS
from kapwa.value_types import Row


class AnswerRoom(NamedTuple):
    """Where answers go: into pages in ``folder``, or ``most`` questions with ``room`` characters into the page."""

    folder: Path | None
    most: int | None
    room: int


@dataclass(frozen=True, slots=True)
class Answers:
    """Every answer of a task, or those that the page has room for: a browser, or links to pages of their own."""

    browser: Browser | None
    pages: Sequence[Link]


@dataclass(frozen=True, slots=True)
class TaskTables:
    """The tables of a task; None, or empty, where there is nothing to show.

    Attributes:
        scores: Every metric of every system; of several cultures then by culture, then by label.
        reference: The same as the released code computes them.
        pairs: Systems compared on the same items.
        gaps: Cultures that share a language, side by side.
        topics: The first headline metric by topic.
        contrasts: Pairs of variants that differ in the language asked in, and in the prompt.
        languages: What the language asked in changes, and what is left between cultures in one language.
        variants: All other pairs of prompt variants.
        variance: Where the variance of scores comes from.
        labels: Which label a model chooses where another is right.
        confusions: Whose answers a model gives where it is wrong.
        thoughts: What was thought before answers.
        counts: What became of every answer.
        signatures: The signature of every number.
    """

    contrasts: Mapping[Axis, Table | None]
    counts: Table
    signatures: Table
    scores: Sequence[Table] = ()
    reference: Table | None = None
    pairs: Table | None = None
    gaps: Table | None = None
    topics: Table | None = None
    languages: Table | None = None
    variants: Table | None = None
    variance: Table | None = None
    labels: Sequence[Table] = ()
    confusions: Sequence[Table] = ()
    thoughts: Table | None = None

    @property
    def nothing_lost(self) -> bool:
        """Whether every request was answered, and every answer could be judged."""
        return not any(self.counts.frame[name].sum() for name in scores.LOSSES)


@dataclass(slots=True)
class TaskSection:
    """The contents of a page about one task.

    Attributes:
        sentences: Each system in words.
        cautions: What must be known beside the scores.
        compared: The pairs of systems, as :func:`kapwa.report.view.comparisons.run_pairs` makes them.
        order: How many pairs of models change order with the wording, in a sentence.
        floors: Whether there are tricks to compare scores with; ``ceilings``: whose scores are the ceiling, in words.
        methods: What the section on methods says (:func:`kapwa.report.sentences.notes.methods`).
        errata: Scores without the items in the errata.
    """

    view: TaskView
    question: str
    sentences: Sequence[str]
    cautions: Sequence[str]
    charts: TaskCharts
    tables: TaskTables
    answers: Answers
    compared: pl.DataFrame
    order: str
    floors: bool
    ceilings: str
    methods: Row
    errata: ErrataSection | None

    @property
    def several(self) -> bool:
        """Whether there are several systems."""
        return len(self.view.runs) > 1


def task_section(
    view: TaskView, room: AnswerRoom, equal_within: float | None, errata: ErrataSection | None, *, board: bool
) -> TaskSection:
    """Make the page section of a task; if it has more systems than a chart has shapes, only their shared tables.

    ``board``: the page has a board, above which stands what is missing.
    """
    contrasts = contrast_tables(view) if view.split_variants else {}
    may_compare = len(view.runs) > 1 and not view.crowded and not view.needs_verdicts
    compared = run_pairs(view, equal_within) if may_compare else pl.DataFrame()
    marks = [mark for s in view.subjects for metric in view.headline for mark in view.marks(s, metric).every]
    about = view.suite.tasks.get(view.task, "") if view.suite is not None else ""
    return TaskSection(
        view=view,
        question=f"{view.title}: {about}" if about else view.title,
        sentences=[] if view.crowded else task_sentences(view, gone=not board),
        cautions=[] if view.crowded else cautions(view),
        charts=charts_of(view, contrasts),
        tables=_tables(view, contrasts, compared),
        answers=_answers(view, room),
        compared=compared,
        order=order_sentence(view) if len(view.runs) > 1 and not view.crowded else "",
        floors=any(not mark.is_ceiling for mark in marks),
        ceilings=" or ".join(mark.words for mark in view.tops(view.headline)),
        methods=notes.methods(view),
        errata=errata,
    )


def _tables(view: TaskView, contrasts: Mapping[Axis, pl.DataFrame], compared: pl.DataFrame) -> TaskTables:
    """The tables of a task; of many systems those alone that all of them fit into."""
    of_axes = {
        axis: _differences(view, frame, axis, "The differences of these charts") for axis, frame in contrasts.items()
    }
    counts, signatures = counts_table(view), _signatures(view)
    if view.crowded:
        return TaskTables(of_axes, counts, signatures)
    # Contrasts of one part at a time say more than all pairs of variants.
    variants = pl.DataFrame() if contrasts or len(view.variants) < 2 else variant_pairs(view)
    varied = len(view.variants) > 1 or any(run.scores["sample"].max() for run in view.runs)
    return TaskTables(
        scores=_scores(view),
        reference=metrics_table(view, reference=True),
        pairs=_differences(view, compared, "pairs", "Models compared on the same items"),
        gaps=_gaps(view) if view.several_cultures else None,
        topics=topic_table(view),
        contrasts=of_axes,
        languages=_languages(view) if "asked" in contrasts else None,
        variants=_differences(view, variants, "variants", "Prompt variants compared on the same items"),
        variance=variance_table(view) if varied else None,
        labels=[scale_table(view, i, frame) for i, frame in view.table("scale")],
        confusions=[confusion_table(view, one) for one in view.confusions()],
        thoughts=thoughts_table(view) if any(THOUGHTS in run.tables for run in view.runs) else None,
        counts=counts,
        signatures=signatures,
    )


def _answers(view: TaskView, room: AnswerRoom) -> Answers:
    """The answers of a task in a browser, or in pages of their own, which are written here."""
    if room.folder is not None:
        return Answers(None, write_answer_pages(view, answer_table(view), room.folder))
    if view.crowded:
        return Answers(None, ())
    return Answers(browser(view, answer_table(view), room.most, room.room), ())


def _differences(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table | None:
    return comparison_table(view, frame, key, caption) if frame.height else None


def task_sentences(view: TaskView, *, gone: bool = True) -> list[str]:
    """Tell the first headline metric of every system, then of groups of items; ``gone``: first what is missing."""
    missing = first_sentences([view]) if gone else []
    if view.several_cultures:
        systems = cultures.across_sentences(view)
    else:
        systems = list(map(scores.score_sentence, scores.readings(view, view.subjects[0])))
    return [*missing, *systems, *group_sentences(view)]


def _scores(view: TaskView) -> list[Table]:
    """Every metric of every system; of several cultures then each headline metric by culture, then by label."""
    tables = [metrics_table(view, reference=False)]
    tables += (
        [*(culture_table(view, name) for name in view.headline), label_table(view)] if view.several_cultures else []
    )
    return [table for table in tables if table is not None]


def _languages(view: TaskView) -> Table | None:
    """Language or culture, of a task that was asked in two languages."""
    from kapwa.report.tables.languages import language_or_culture_table

    return language_or_culture_table(view)


def _gaps(view: TaskView) -> Table | None:
    """Cultures that share a language, side by side."""
    gaps, compared = language_gaps(view), view.compared(view.main_metric)
    caption = "Cultures that share a language, on the same questions"
    caption += f", mean of {len(view.runs)} models" if len(view.runs) > 1 else ""
    caption += "" if compared.ceiling is None else f": the {compared.words}, in points"
    return _differences(view, gaps, "gaps", caption)


def _signatures(view: TaskView) -> Table:
    """The signature of every number: cite it beside the number."""
    rows = []
    for label, run in zip(view.labels, view.runs, strict=True):
        signatures: Row = run.manifest.get("signatures") or {"": run.manifest.get("signature", "")}
        rows += [(label, str(metric), str(text)) for metric, text in signatures.items()]
    return Table(
        key=f"{view.slug}-signatures",
        caption=f"Signatures ({view.title})",
        frame=pl.DataFrame(rows, schema=dict.fromkeys(("model", "metric", "signature"), pl.String), orient="row"),
        columns=[
            text_column("Model and metric", "model", "metric"),
            text_column("Signature", "signature"),
        ],
    )


def cautions(view: TaskView) -> list[str]:
    """What readers must know about the scores: few items, cultures that were not asked in the main variant."""
    runs = range(len(view.runs))
    rows_of = {s: [row for i in runs if (row := view.estimate(i, s, view.main_metric))] for s in view.subjects}
    absent = [isolate(subject.label) for subject, rows in rows_of.items() if not rows]
    least = min((int(row["n"]) for rows in rows_of.values() for row in rows), default=scores.SMALL_SAMPLE)
    sentences = []
    if least < scores.SMALL_SAMPLE and not view.needs_verdicts:
        sentences.append(_few_words(view, least))
    sentences += [f"Not asked in the variant shown: {notes.some_names(absent)}."] if absent else []
    return sentences


def _few_words(view: TaskView, least: int) -> str:
    """Say that a score rests on few items, and what that means; ``least``: the fewest of any culture."""
    few = wording.count(least, *view.noun)
    who = "Some cultures have" if view.several_cultures else "This is based on"
    if least == 0:
        return f"{who} no {view.noun[0]} with an answer: nothing can be said there."
    if least == 1:
        return f"{who} a single {view.noun[0]}: it says nothing about others."
    return f"{who}{' as few as' if view.several_cultures else ''} {few}, so only large differences can be seen."
