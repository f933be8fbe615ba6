"""Put runs into one self-contained HTML page: no scripts, no network, no fonts of its own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.files import write_text
from kapwa.report import notes, pairs, plots, summaries, tables, words
from kapwa.report.across import (
    AcrossPart,
    AxisPart,
    Figure,
    WhosePart,
    across_part,
    axis_parts,
    draw,
    relation_part,
    whose_part,
)
from kapwa.report.cases import Cases, worst_cases
from kapwa.report.contract import RunLike
from kapwa.report.plots import FEW_ITEMS
from kapwa.report.text import clean, isolate
from kapwa.report.view import Mark, Subject, TaskView, arrange

if TYPE_CHECKING:
    from markupsafe import Markup

CORRELATED = 6
TOLD_PAIRS = 3
_RANGE = re.compile(r"[−+]?\d[\d.]*(?:–| to )[−+]?\d[\d.]*%?")


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """What the page says of one culture in one task."""

    subject: Subject
    sentences: Sequence[str]
    cautions: Sequence[str]
    headline: Sequence[Figure]
    scores: tables.Table | None
    reference: tables.Table | None
    breakdown: Sequence[Figure]
    strata: tables.Table | None
    variants: Sequence[Figure]
    cases: Cases | None


@dataclass(frozen=True, slots=True)
class TaskPart:
    """What the page says of one task: culture by culture where they are few (``across`` is None)."""

    view: TaskView
    question: str
    across: AcrossPart | None
    axes: Sequence[AxisPart]
    whose: WhosePart | None
    subjects: Sequence[SubjectPart]
    pairs: tables.Table | None
    pair_sentences: Sequence[str]
    variants: tables.Table | None
    variant_sentences: Sequence[str]
    counts: tables.Table
    losses: Sequence[str]
    correlations: tables.Table | None
    methods: notes.Methods
    signatures: tables.Table
    warnings: Sequence[str] = field(default_factory=list)

    @property
    def topics(self) -> bool:
        """Whether anything is told by topic or category."""
        parts = [self.across] if self.across else self.subjects
        return any(part.breakdown or part.strata for part in parts)

    @property
    def failures(self) -> bool:
        """Whether the runs keep items that went wrong, or would have."""
        return any(part.cases for part in self.subjects)

    @property
    def floors(self) -> bool:
        """Whether anything is known of what takes no cultural knowledge."""
        return any(not mark.ceiling for mark in self._marks())

    @property
    def ceilings(self) -> bool:
        """Whether anything is known of what people score."""
        return any(mark.ceiling for mark in self._marks())

    def _marks(self) -> Iterator[Mark]:
        for subject in self.view.subjects:
            for metric in self.view.headline:
                yield from self.view.marks(subject, metric)


def build_report(runs: Sequence[RunLike], out: Path) -> Path:
    """Write the report of ``runs`` to ``out`` (one HTML file, whole or not at all) and return ``out``.

    The page is a function of the runs alone: the same runs give the same bytes. Raises UsageError when
    there are no runs.
    """
    write_text(out, render_page(runs))
    return out


def render_page(runs: Sequence[RunLike]) -> str:
    """Return the report as HTML text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    views = arrange(runs)
    parts = [_task_part(view) for view in views]
    css = _stylesheet()
    environment = Environment(
        loader=PackageLoader("kapwa.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment.get_template("report.html.j2").render(
        parts=parts,
        single=len(parts) == 1,
        relations=relation_part(views),
        title=notes.page_title(parts[0].view) if len(parts) == 1 else "What the models know",
        lead=notes.page_lead([part.view for part in parts]),
        warnings=list(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        versions=notes.versions(runs),
        made=notes.made(runs),
        css=Markup(css),  # noqa: S704 - our own file, and the policy below admits exactly these bytes
        policy=content_policy(css),
    )


def content_policy(css: str) -> str:
    """The page's Content-Security-Policy: nothing loads or runs but the one style sheet, known by its hash."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _stylesheet() -> str:
    return resources.files("kapwa.report").joinpath("templates", "report.css").read_text(encoding="utf-8")


def _task_part(view: TaskView) -> TaskPart:
    axes, across = axis_parts(view), across_part(view)
    # Contrasts of one part at a time say more than all pairs of variants.
    run_pairs, variant_pairs = pairs.run_pairs(view), pl.DataFrame() if axes else pairs.variant_pairs(view)
    correlated = pairs.correlations(view)
    return TaskPart(
        view=view,
        question=notes.task_line(view),
        across=across,
        axes=axes,
        whose=whose_part(view),
        subjects=[_subject_part(view, subject) for subject in view.subjects],
        pairs=tables.comparison_table(view, run_pairs, "pairs", "Models compared on the same items"),
        pair_sentences=summaries.tally_sentences(view, run_pairs) if across else _pair_sentences(view, run_pairs),
        variants=tables.comparison_table(view, variant_pairs, "variants", "Prompt variants compared on the same items"),
        variant_sentences=_pair_sentences(view, variant_pairs),
        counts=tables.counts_table(view),
        losses=notes.losses(view),
        correlations=None if correlated is None else tables.correlation_table(view, correlated, CORRELATED),
        methods=notes.methods(view),
        signatures=tables.signature_table(view),
        warnings=notes.warnings(view),
    )


def _subject_part(view: TaskView, subject: Subject) -> SubjectPart:
    if view.many:
        return SubjectPart(subject, [], [], [], None, None, [], None, [], worst_cases(view, subject))
    headline = [plots.headline_plot(view, subject, metric) for metric in view.headline]
    readings = _readings(view, subject)
    return SubjectPart(
        subject=subject,
        sentences=[words.score_sentence(reading) for reading in readings],
        cautions=words.caution_sentences(readings),
        headline=draw(headline),
        scores=tables.scores_table(view, subject, reference=False),
        reference=tables.scores_table(view, subject, reference=True),
        breakdown=draw(plots.breakdown_plots(view, subject)),
        strata=tables.strata_table(view, subject, FEW_ITEMS),
        variants=draw(plots.variant_plots(view, subject)),
        cases=worst_cases(view, subject),
    )


def _readings(view: TaskView, subject: Subject) -> Sequence[words.Reading]:
    """The first headline metric of every model, ready to be told."""
    if not view.headline:
        return []
    metric = view.headline[0]
    info: Mapping[str, Any] = view.metrics.get(metric, {})
    marks = view.marks(subject, metric)
    found = [(label, view.estimate(i, subject, metric)) for i, label in enumerate(view.labels)]
    return [words.Reading(isolate(label), row, info, marks, view.noun) for label, row in found if row is not None]


def _pair_sentences(view: TaskView, frame: pl.DataFrame) -> list[str]:
    """Tell the paired differences of the first headline metric: all where they are few, else the clear ones."""
    rows = [row for row in frame.iter_rows(named=True) if row["metric"] == view.headline[0]]
    clear = [row for row in rows if words.is_clear(row)]
    told = rows if len(rows) <= TOLD_PAIRS else clear
    sentences = [_pair_sentence(view, row) for row in told]
    if len(told) < len(rows):
        sentences.append(words.others_sentence(len(rows) - len(clear), len(rows)))
    return sentences


def _pair_sentence(view: TaskView, row: Mapping[str, Any]) -> str:
    info = view.metrics.get(row["metric"], {})
    named = {**row, "a": isolate(clean(row["a"])), "b": isolate(clean(row["b"]))}
    where = [isolate(clean(row["culture"]))] if len(view.subjects) > 1 else []
    where += [isolate(clean(row["model"]))] if row.get("model") else []
    head = f"{', '.join(where)}: " if where else ""
    return head + words.comparison_sentence(named, info, view.noun)


def unbroken(text: str) -> Markup:
    """Escape ``text`` and keep its number ranges ("7–43%") on one line."""
    from markupsafe import Markup, escape

    return Markup(_RANGE.sub(r'<span class="unbroken">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped above
