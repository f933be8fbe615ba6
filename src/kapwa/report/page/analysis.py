"""Put an analysis into one self-contained HTML page: its one script and its style are known by their hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kapwa.analysis.result import Analysis
from kapwa.files import write_text
from kapwa.report import wording
from kapwa.report.charts import analysis as charts
from kapwa.report.charts import heatmap
from kapwa.report.charts.elements import Chart
from kapwa.report.charts.files import chart_file, save_pictures
from kapwa.report.charts.heatmap import Likeness
from kapwa.report.charts.worldmap import MapChart
from kapwa.report.page import explorer
from kapwa.report.page.html import render
from kapwa.report.sentences import analysis as sentences
from kapwa.report.tables import analysis as tables
from kapwa.report.tables import analysis_lists as lists
from kapwa.report.tables import crossed, depicted, unmarked
from kapwa.report.view.analysis import (
    AnalysisView,
    CorpusView,
    cautions,
    citations,
    facts,
    measure_words,
    remarks,
    signatures,
    task_words,
    versions,
)
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import JsonObject

BUDGET = 8_000_000  # bytes of a page
MOST_OPEN = 6  # corpora whose long tables stand open
MOST_PANES = 24  # corpora shown one by one
MOST_TEXTS = 3_500_000  # bytes of texts for the explorer
_AIR = 20_000


def build_analysis_report(analysis: Analysis, path: Path) -> Path:
    """Write the report of ``analysis`` to ``path`` (one HTML file, whole or not at all) and return ``path``.

    The page is a function of the analysis alone, needs no network, and stays under 8 MB at the paper's size (22 corpora
    of 193 identities): of the texts it
    carries as many as fit, which may be none, and says how many. Raises UsageError when there is no
    corpus.
    """
    view = AnalysisView(analysis)
    context = _template_context(view)
    page = ("analysis.html.j2", ["report.css", "analysis.css"], ["shared.js", "analysis.js"])
    fixed = len(render(*page, **context, texts=explorer.ExplorerTexts("", 0, 0)).encode())
    texts = explorer.texts_within(view, min(MOST_TEXTS, max(0, BUDGET - fixed - _AIR)))
    write_text(path, render(*page, **context, texts=texts))
    return path


def _template_context(view: AnalysisView) -> JsonObject:
    """All data for the template, except the texts of the explorer."""
    heatmaps = {corpus.number: heatmap.likenesses(view, corpus) for corpus in view.corpora[:MOST_PANES]}
    one, many = view.attribute
    maps = charts.tau_maps(view)
    taus = list(charts.tau_charts(view).values())
    released = charts.tau_charts(view, "reference")
    panes = [_pane(view, view.corpora[number], maps.get(number, ()), alike) for number, alike in heatmaps.items()]
    most = max(int(corpus.row["identities"]) for corpus in view.corpora)
    models = wording.count(len({corpus.row["model"] for corpus in view.corpora}), "model")
    return {
        "view": view,
        "one": one,
        "many": many,
        "title": f"What changes when the {one} does",
        # One line under the title: how many texts by which models on which tasks.
        "lead": f"{sum(int(corpus.row['texts']) for corpus in view.corpora):,} texts by {models} "
        f"({' and '.join(task_words(task) for task in view.tasks)}), asked for with up to {most:,} {many} in otherwise "
        "identical prompts.",
        "warnings": cautions(view),
        "remarks": remarks(view),
        "headline": sentences.headline(view),
        "variance": charts.variance_charts(view),
        "taus": [taus[0] if taus else [], [chart for group in taus[1:] for chart in group]],
        "released": [chart for group in released.values() for chart in group],
        "fold": len(view.corpora) > MOST_OPEN,
        "scale": next((chart.steps for group in maps.values() for chart in group), []),
        "heat_key": heatmap.key_image(),
        "measure_words": measure_words,
        "pairs": explorer.pairs_json(heatmaps),
        "panes": panes,
        "left_out": len(view.corpora) - len(panes),
        "measures": lists.measure_legend(view),
        "example": explorer.example(view),
        "glance": tables.glance_table(view),
        "quartiles": tables.quartiles_table(view),
        "tests": tables.tests_table(view),
        "correlations": tables.correlation_table(view),
        "topics": tables.topic_table(view),
        "corpora": tables.corpora_table(view),
        "facts": facts(view.analysis.manifest),
        "versions": versions(view.analysis.manifest),
        "signatures": signatures(view.analysis.manifest),
        "citations": citations(view),
        "folder": isolate(label_text(view.analysis.path.name)),
    }


def _pane(view: AnalysisView, corpus: CorpusView, maps: Sequence[MapChart], alike: Sequence[Likeness]) -> JsonObject:
    """Everything the page shows of one corpus alone."""
    without_words = not view.analysis.unmarked.is_empty()
    with_people = not view.analysis.depicted_tests.is_empty()
    return {
        "corpus": corpus,
        "maps": [chart for chart in maps if chart.spots],
        "heats": alike,
        "countries": lists.country_list(view, corpus),
        "words": lists.word_list(view, corpus),
        "concepts": lists.concept_list(view, corpus),
        "factors": crossed.factor_table(view, corpus),
        "level_pairs": crossed.pair_table(view, corpus),
        "level_words": crossed.level_words(view, corpus),
        "unmarked": unmarked.unmarked_table(view, corpus) if without_words else None,
        "templates": unmarked.templates_table(view, corpus) if without_words else None,
        "depicted": depicted.attributes_table(view, corpus) if with_people else None,
        "depicted_by": depicted.identities_table(view, corpus) if with_people else None,
    }


def save_analysis_figures(analysis: Analysis, folder: Path) -> list[Path]:
    """Write every figure of ``analysis`` into ``folder`` as SVG and PNG, with titles; return the paths, in order.

    Works offline, with the fonts of the system. Raises UsageError when there is no corpus.
    """
    return save_pictures(_pictures(AnalysisView(analysis)), folder)


def _pictures(view: AnalysisView) -> Iterator[tuple[str, str]]:
    drawn: list[Chart] = list(charts.variance_charts(view))
    for groups in (charts.tau_charts(view), charts.tau_maps(view)):
        drawn += [chart for group in groups.values() for chart in group]
    for chart in drawn:
        yield chart.key, chart_file(chart)
    for corpus in view.corpora:
        for one in heatmap.likenesses(view, corpus):
            yield heatmap.file_key(one), heatmap.picture_file(one)
