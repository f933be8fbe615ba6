"""Put runs into one self-contained HTML page: no scripts, no network, no fonts of its own.

One pass: tables of the runs, what the page says of them (plain data), the template.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.files import slug, write_text
from kapwa.report import charts, comparisons, heat, notes, numbers, plots, sentences, summaries, tables
from kapwa.report.cases import worst_cases
from kapwa.report.relations import correlation_table, relation_charts, relation_table, relations
from kapwa.report.text import clean, isolate
from kapwa.report.view import Subject, TaskView, arrange
from kapwa.report.worldmap import definitions, map_svg, world
from kapwa.runs.directory import Run

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

CORRELATED = 6  # metrics whose agreement is shown; the CSV holds all
TOLD_PAIRS = 3  # differences told one by one; of more only those that are clear
AXES: Mapping[comparisons.Axis, tuple[str, str]] = {
    "asked": (
        "In which language it is asked",
        "The same questions in two languages. A dot further right is a higher score; beside each culture stands the "
        "difference on the questions answered in both, with its 95% interval. Cultures are grouped by how much text "
        "there is in their language to learn from.",
    ),
    "prompt": (
        "How it is asked",
        "The same questions put in two ways. Beside each culture stands the difference on the questions answered in "
        "both, with its 95% interval.",
    ),
}
_RANGE = re.compile(r"[−+]?\d[\d.]*(?:–| to )[−+]?\d[\d.]*%?")
Part = dict[str, Any]  # what the template is told of a section


def build_report(runs: Sequence[Run], out: Path) -> Path:
    """Write the report of ``runs`` to ``out`` (one HTML file, whole or not at all) and return ``out``.

    The page is a function of the runs alone: the same runs give the same bytes. Raises UsageError when
    there are no runs.
    """
    write_text(out, render_page(runs))
    return out


def render_page(runs: Sequence[Run]) -> str:
    """Return the report as HTML text."""
    views = arrange(runs)
    parts = [_task_part(view) for view in views]
    related = relations(views) if len(views) > 1 else []
    css = asset("report.css")
    # A report must be readable where its suite is not installed.
    question = views[0].suite.question if views[0].suite is not None else views[0].task
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            parts=parts,
            single=len(parts) == 1,
            relations={"figures": figures(relation_charts(related), whose=True), "table": relation_table(related)}
            if related
            else None,
            title=question if len(parts) == 1 else "What the models know",
            lead=notes.page_lead(views),
            warnings=list(dict.fromkeys(warning for part in parts for warning in part["warnings"])),
            versions=notes.versions(runs),
            made=notes.made(runs),
            maps=any(part["across"] and part["across"]["maps"] for part in parts),
            css=css,
            policy=content_policy(css),
        )
    )


def asset(name: str) -> Markup:
    """One of our own style sheets or scripts, to stand in a page as it is: the policy admits exactly these bytes."""
    from markupsafe import Markup

    text = resources.files("kapwa.report").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704


def content_policy(css: str, script: str = "") -> str:
    """The page's Content-Security-Policy: nothing loads or runs but what is known by its hash."""
    style, code = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script))
    own = f"script-src 'sha256-{code}'; img-src data:; " if script else ""
    return f"default-src 'none'; style-src 'sha256-{style}'; {own}base-uri 'none'; form-action 'none'"


def environment() -> Environment:
    """The templates of all pages: everything is escaped but what draws (it escapes every label itself)."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    def drawn(draw: Callable[..., str]) -> Callable[..., Markup]:
        return lambda *args, **named: Markup(draw(*args, **named))  # noqa: S704 - tests put markup into every label

    made = Environment(
        loader=PackageLoader("kapwa.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"unbroken": unbroken, "csv_href": tables.csv_href, "slug": slug}
    drawing = (charts.row_svg, charts.head_svg, charts.axis_svg, charts.key_svg, charts.scale_svg, charts.scatter_svg)
    made.globals |= {draw.__name__: drawn(draw) for draw in (*drawing, map_svg, definitions)}
    made.globals |= {"head_height": charts.head_height, "world": world, "steps": len(charts.HEAT)}
    return made


def unbroken(text: str) -> Markup:
    """Escape ``text`` and keep its number ranges ("7–43%") on one line."""
    from markupsafe import Markup, escape

    return Markup(_RANGE.sub(r'<span class="unbroken">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped above


def figures(found: Iterable[Any], *, whose: bool = False) -> list[Part]:
    """Charts with their captions, without those that show nothing; ``whose`` names the model in the caption."""
    shown = [chart for chart in found if not isinstance(chart, charts.RowChart) or chart.drawn]
    return [{"chart": c, "title": f"{c.title}: {isolate(c.subject)}" if whose else c.title} for c in shown]


def _task_part(view: TaskView) -> Part:
    """What the page says of one task: culture by culture where they are few (``across`` is None)."""
    axes, across = _axes(view) if view.split_variants else [], _across(view) if view.many else None
    # Contrasts of one part at a time say more than all pairs of variants.
    pairs = comparisons.run_pairs(view) if len(view.runs) > 1 else pl.DataFrame()
    variants = pl.DataFrame() if axes or len(view.variants) < 2 else comparisons.variant_pairs(view)
    correlated = comparisons.correlations(view) if len(view.runs) > 1 else None
    confused = heat.confusions(view)
    subjects = [
        {"subject": s, "cases": worst_cases(view, s)} | ({} if across else _culture(view, s)) for s in view.subjects
    ]
    marks = [mark for s in view.subjects for metric in view.headline for mark in view.marks(s, metric)]
    topics = [across] if across else subjects
    told = view.suite.tasks.get(view.task, "") if view.suite is not None else ""
    return {
        "view": view,
        "question": f"{view.task}: {told}" if told else view.task,
        "across": across,
        "axes": axes,
        "whose": {
            "figures": figures([heat.confusion_chart(view, one) for one in confused], whose=len(confused) > 1),
            "tables": [tables.confusion_table(view, one) for one in confused],
        }
        if confused
        else None,
        "subjects": subjects,
        "topics": any(part["breakdown"] or part["strata"] for part in topics),
        "failures": any(part["cases"] for part in subjects),
        "floors": any(not mark.ceiling for mark in marks),
        "ceilings": any(mark.ceiling for mark in marks),
        "pairs": tables.comparison_table(view, pairs, "pairs", "Models compared on the same items"),
        "pair_sentences": summaries.tally_sentences(view, pairs) if across else _pair_sentences(view, pairs),
        "variants": tables.comparison_table(view, variants, "variants", "Prompt variants compared on the same items"),
        "variant_sentences": _pair_sentences(view, variants),
        "counts": tables.counts_table(view),
        "losses": summaries.loss_sentences(view),
        "correlations": None if correlated is None else correlation_table(view, correlated, CORRELATED),
        "methods": notes.methods(view),
        "signatures": tables.signature_table(view),
        "warnings": notes.warnings(view),
    }


def _culture(view: TaskView, subject: Subject) -> Part:
    """One of few cultures: the first headline metric of every model told, then charts and tables."""
    readings = sentences.readings(view, subject)
    return {
        "sentences": [sentences.score_sentence(reading) for reading in readings],
        "cautions": sentences.caution_sentences(readings),
        "headline": figures(plots.headline_chart(view, subject, metric) for metric in view.headline),
        "scores": tables.scores_table(view, subject, reference=False),
        "reference": tables.scores_table(view, subject, reference=True),
        "breakdown": figures(plots.breakdown_charts(view, subject)),
        "strata": tables.strata_table(view, subject),
        "variants": figures(plots.variant_charts(view, subject)),
    }


def _across(view: TaskView) -> Part:
    """Everything that many cultures share a chart or a table for."""
    several = len(view.runs) > 1
    first, *rest = view.headline or [""]
    by_culture = {name: tables.culture_table(view, name) for name in (first, *view.metrics)}
    plain = [name for name, info in view.metrics.items() if not info.get("reference") and name != first]
    reference = [name for name, info in view.metrics.items() if info.get("reference")]
    maps = plots.map_charts(view)
    return {
        "sentences": summaries.across_sentences(view),
        "cautions": _cautions(view, [name for chart in maps for name in chart.absent]),
        "headline": figures(chart for metric in (first, *rest) for chart in plots.culture_charts(view, metric)),
        "maps": figures(maps, whose=several),
        "scores": by_culture[first],
        "others": [by_culture[name] for name in plain if by_culture[name]],
        "reference": [by_culture[name] for name in reference if by_culture[name]],
        "breakdown": figures(heat.stratum_charts(view), whose=several),
        "strata": tables.strata_tables(view),
    }


def _cautions(view: TaskView, absent: Sequence[str]) -> list[str]:
    """What must be known beside the scores: few items, cultures that the map or the main variant lacks."""
    metric = view.headline[0] if view.headline else ""
    rows = [(subject, view.estimate(i, subject, metric)) for i in range(len(view.runs)) for subject in view.subjects]
    asked = {subject: row for subject, row in rows if row}
    missing = [isolate(subject.label) for subject in view.subjects if subject not in asked]
    least = min((int(row["n"]) for _, row in rows if row), default=sentences.SMALL_SAMPLE)
    said = []
    if least < sentences.SMALL_SAMPLE:
        few = numbers.count(least, *view.noun)
        said.append(f"Some cultures rest on as few as {few}, so only large differences show.")
    said += [f"Not on the map: {', '.join(map(isolate, dict.fromkeys(absent)))}."] if absent else []
    said += [f"Not asked in the variant shown: {', '.join(missing)}."] if missing else []
    return said


def _axes(view: TaskView) -> list[Part]:
    """What changes when one part of the variants' names does."""
    found = []
    for axis, (title, lead) in AXES.items():
        frame = comparisons.contrast_table(view, axis)
        table = tables.contrast_table(view, frame)
        if table is not None:
            told = summaries.contrast_sentences(view, frame)
            drawn = figures(plots.contrast_charts(view, frame), whose=len(view.runs) > 1)
            found.append(
                {"axis": axis, "title": title, "lead": lead, "sentences": told, "figures": drawn, "table": table}
            )
    return found


def _pair_sentences(view: TaskView, frame: pl.DataFrame) -> list[str]:
    """Tell the paired differences of the first headline metric: all where they are few, else the clear ones."""
    rows = [row for row in frame.iter_rows(named=True) if row["metric"] == view.headline[0]]
    clear = [row for row in rows if sentences.is_clear(row)]
    told, said = rows if len(rows) <= TOLD_PAIRS else clear, []
    for row in told:
        named = {**row, "a": isolate(clean(row["a"])), "b": isolate(clean(row["b"]))}
        where = [isolate(clean(row["culture"]))] if len(view.subjects) > 1 else []
        where += [isolate(clean(row["model"]))] if row.get("model") else []
        head = f"{', '.join(where)}: " if where else ""
        said.append(head + sentences.comparison_sentence(named, view.info(row["metric"]), view.noun))
    if len(told) < len(rows):
        said.append(sentences.others_sentence(len(rows) - len(clear), len(rows)))
    return said
