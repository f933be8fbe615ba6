"""Put an analysis into one self-contained HTML page: its one script and its style are known by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.files import write_text
from kapwa.report import numbers
from kapwa.report.across import Figure
from kapwa.report.eecc import explorer, heatmap, lists, maps, notes, sentences, spreads, tables
from kapwa.report.eecc.contract import AnalysisLike
from kapwa.report.eecc.rowplots import RowPlot, draw_rows
from kapwa.report.eecc.similarity import Likeness, likenesses
from kapwa.report.eecc.view import AnalysisView, Corpus, task_words
from kapwa.report.figures import save_pictures
from kapwa.report.page import unbroken
from kapwa.report.text import isolate, label_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

BUDGET = 8_000_000  # bytes of a page
MOST_OPEN = 6  # corpora whose long tables stand open
MOST_PANES = 24  # corpora shown one by one
MOST_TEXTS = 3_500_000  # bytes of texts for the explorer
LEAST_TEXTS = 250_000
_AIR = 20_000


@dataclass(frozen=True, slots=True)
class HeatPart:
    """One picture of likeness: its SVG, the words that stand for it, its colour key, its groups."""

    measure: str
    alt: str
    svg: Markup
    low: str
    high: str
    groups: Sequence[Sequence[str]]
    left_out: int
    dense: bool


@dataclass(frozen=True, slots=True)
class Pane:
    """Everything the page shows of one corpus alone."""

    corpus: Corpus
    maps: Sequence[tuple[maps.TauMap, Markup]]
    heats: Sequence[HeatPart]
    countries: lists.Lean | None
    words: lists.Lean | None
    concepts: lists.Lean | None


def build_analysis_report(analysis: AnalysisLike, path: Path) -> Path:
    """Write the report of ``analysis`` to ``path`` (one HTML file, whole or not at all) and return ``path``.

    The page is a function of the analysis alone, needs no network, and stays under 8 MB at the paper's size (22 corpora
    of 193 identities): of the texts it carries as many as fit, and says how many. Raises UsageError when there is no
    corpus.
    """
    write_text(path, render_analysis(analysis))
    return path


def render_analysis(analysis: AnalysisLike) -> str:
    """Return the report as HTML text."""
    view = AnalysisView(analysis)
    shown = view.corpora[:MOST_PANES]
    found = {corpus.number: likenesses(view, corpus) for corpus in shown}
    page = _Page(view, shown, found)
    none = explorer.Texts(explorer.script_json({"corpora": []}), 0, 0)
    pairs = explorer.pairs_json(found)
    fixed = len(page.render(none, pairs).encode())
    if fixed + LEAST_TEXTS > BUDGET:
        pairs = explorer.script_json({})
        fixed = len(page.render(none, pairs).encode())
    room = max(LEAST_TEXTS, min(MOST_TEXTS, BUDGET - fixed - _AIR))
    return page.render(_fitting(view, room), pairs)


def _fitting(view: AnalysisView, room: int) -> explorer.Texts:
    """Texts whose UTF-8 takes at most ``room`` bytes: characters are one to three bytes each."""
    texts = explorer.texts_within(view, room)
    size = len(texts.json.encode())
    return texts if size <= room else explorer.texts_within(view, room * len(texts.json) // size)


class _Page:
    """The page but for its texts: drawn once, rendered with whatever texts fit."""

    def __init__(self, view: AnalysisView, shown: Sequence[Corpus], found: dict[int, list[Likeness]]) -> None:
        self.view = view
        every = maps.tau_maps(view)
        self.scale = maps.scale_steps(every)
        self.panes = [_pane(view, corpus, every, found[corpus.number]) for corpus in shown]
        self.variance = [_figure(plot) for plot in spreads.variance_plots(view)]
        drawn = [(plot.measure, _figure(plot)) for plot in spreads.tau_plots(view)]
        first = drawn[0][0] if drawn else ""
        self.taus = [[figure for name, figure in drawn if (name == first) is shows] for shows in (True, False)]
        self.released = [_figure(plot) for plot in spreads.tau_plots(view, "reference")]
        self.tables = {
            "glance": tables.glance_table(view),
            "tests": tables.tests_table(view),
            "correlations": tables.correlation_table(view),
            "topics": tables.topic_table(view),
            "corpora": tables.corpora_table(view),
        }
        self.example = explorer.example(view)
        self.template = _environment().get_template("analysis.html.j2")

    def render(self, texts: explorer.Texts, pairs: str) -> str:
        """The whole page with ``texts`` and ``pairs`` (JSON) in it."""
        from markupsafe import Markup

        view, css, script = self.view, _stylesheet(), _own("analysis.js")
        one, many = view.attribute
        # Our own files and JSON whose "<" is escaped: neither can leave its element.
        return self.template.render(
            view=view,
            one=one,
            many=many,
            title=f"What changes when the {one} does",
            lead=_lead(view),
            cautions=notes.cautions(view),
            remarks=notes.remarks(view),
            headline=sentences.headline(view),
            variance=self.variance,
            taus=self.taus,
            released=self.released,
            fold=len(view.corpora) > MOST_OPEN,
            scale=self.scale,
            heat_key=Markup(heatmap.key_svg()),  # noqa: S704
            outlines=Markup(maps.definitions()) if self.scale else "",  # noqa: S704
            panes=self.panes,
            left_out=len(view.corpora) - len(self.panes),
            measures=lists.measures_told(view),
            example=self.example,
            texts=texts,
            texts_json=Markup(texts.json),  # noqa: S704
            pairs_json=Markup(pairs),  # noqa: S704
            exact=len(pairs) > 2,
            facts=notes.facts(view.analysis.manifest),
            versions=notes.versions(view.analysis.manifest),
            signatures=notes.signatures(view.analysis.manifest),
            citations=notes.citations(view),
            folder=isolate(label_text(view.analysis.path.name)),
            css=Markup(css),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=content_policy(css, script),
            **self.tables,
        )


def content_policy(css: str, script: str) -> str:
    """The page's Content-Security-Policy: one style, one script (known by their hashes), pictures inside."""
    style, code = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{code}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("kapwa.report.eecc"), PackageLoader("kapwa.report")]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    return environment


def _stylesheet() -> str:
    shared = resources.files("kapwa.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return shared + _own("analysis.css")


def _own(name: str) -> str:
    return resources.files("kapwa.report.eecc").joinpath("templates", name).read_text(encoding="utf-8")


def _lead(view: AnalysisView) -> str:
    """One line under the title: how many texts by which models on which tasks."""
    texts = sum(int(corpus.row["texts"]) for corpus in view.corpora)
    most = max(int(corpus.row["identities"]) for corpus in view.corpora)
    models = numbers.count(len({corpus.row["model"] for corpus in view.corpora}), "model")
    tasks = " and ".join(task_words(task) for task in view.tasks)
    return (
        f"{texts:,} texts by {models} ({tasks}), asked for with up to {most:,} {view.attribute[1]} in otherwise "
        "identical prompts."
    )


def _figure(plot: RowPlot) -> Figure:
    from markupsafe import Markup

    # vl-convert escapes every label it draws.
    wide, narrow = draw_rows(plot), draw_rows(plot, phone=True)
    return Figure(plot.title, plot.alt, Markup(wide), Markup(narrow))  # noqa: S704


def _pane(view: AnalysisView, corpus: Corpus, every: Sequence[maps.TauMap], found: Sequence[Likeness]) -> Pane:
    from markupsafe import Markup

    own = [one for one in every if one.corpus is corpus and one.places]
    return Pane(
        corpus=corpus,
        maps=[(one, Markup(maps.page_svg(one))) for one in own],  # noqa: S704 - escaped where it is written
        heats=[_heat(one) for one in found],
        countries=lists.country_list(view, corpus),
        words=lists.word_list(view, corpus),
        concepts=lists.concept_list(view, corpus),
    )


def _heat(one: Likeness) -> HeatPart:
    from markupsafe import Markup

    low, high = heatmap.colour_range(one)
    name = "BLEU" if one.measure == "bleu" else "word edit distance"
    return HeatPart(
        measure=one.measure,
        alt=f"Heat map: mean {name} of every two of {len(one.names)} identities, {one.corpus.full}, in the order of a "
        "tree that puts like ones together. Its groups are listed below.",
        svg=Markup(heatmap.page_svg(one, f"heat-{one.corpus.number}-{one.measure}")),  # noqa: S704 - escaped there
        low=heatmap.end_words(one, low),
        high=heatmap.end_words(one, high),
        groups=[[isolate(label_text(name)) for name in group] for group in one.groups],
        left_out=one.left_out,
        dense=len(one.names) > heatmap.READABLE,
    )


def save_analysis_figures(analysis: AnalysisLike, folder: Path) -> list[Path]:
    """Write every figure of ``analysis`` into ``folder`` as SVG and PNG, with titles; return the paths, in order.

    Works offline, with the fonts of the system. Raises UsageError when there is no corpus.
    """
    return save_pictures(_pictures(AnalysisView(analysis)), folder)


def _pictures(view: AnalysisView) -> Iterator[tuple[str, str]]:
    for plot in [*spreads.variance_plots(view), *spreads.tau_plots(view)]:
        yield plot.key, draw_rows(plot, title=True)
    every = maps.tau_maps(view)
    scale = maps.scale_steps(every)
    for one in every:
        yield one.key, maps.file_svg(one, scale)
    for corpus in view.corpora:
        for like in likenesses(view, corpus):
            yield heatmap.file_key(like), heatmap.file_svg(like)
