"""Put an analysis into one self-contained HTML page: its one script and its style are known by their hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.analysis.result import Analysis
from kapwa.files import write_text
from kapwa.report import numbers
from kapwa.report.analysis import charts, explorer, heatmap, lists, sentences, tables
from kapwa.report.analysis.heatmap import Likeness
from kapwa.report.analysis.view import (
    AnalysisView,
    Corpus,
    cautions,
    citations,
    facts,
    measure_words,
    remarks,
    signatures,
    task_words,
    versions,
)
from kapwa.report.figures import Chart, chart_file, save_pictures
from kapwa.report.page import Part, asset, content_policy, environment, figures
from kapwa.report.text import isolate, label_text
from kapwa.report.worldmap import MapChart

BUDGET = 8_000_000  # bytes of a page
MOST_OPEN = 6  # corpora whose long tables stand open
MOST_PANES = 24  # corpora shown one by one
MOST_TEXTS = 3_500_000  # bytes of texts for the explorer
LEAST_TEXTS = 250_000
_AIR = 20_000


def build_analysis_report(analysis: Analysis, path: Path) -> Path:
    """Write the report of ``analysis`` to ``path`` (one HTML file, whole or not at all) and return ``path``.

    The page is a function of the analysis alone, needs no network, and stays under 8 MB at the paper's size (22 corpora
    of 193 identities): of the texts it carries as many as fit, and says how many. Raises UsageError when there is no
    corpus.
    """
    write_text(path, render_analysis(analysis))
    return path


def render_analysis(analysis: Analysis) -> str:
    """Return the report as HTML text."""
    from markupsafe import Markup

    view = AnalysisView(analysis)
    found = {corpus.number: heatmap.likenesses(view, corpus) for corpus in view.corpora[:MOST_PANES]}
    told = _told(view, found)
    template = environment().get_template("analysis.html.j2")

    def render(texts: explorer.Texts, pairs: str) -> str:
        # JSON whose "<" is escaped cannot leave its element.
        data = {"texts_json": Markup(texts.json), "pairs_json": Markup(pairs)}  # noqa: S704
        return template.render(told, texts=texts, exact=len(pairs) > 2, **data)

    none, pairs = explorer.Texts(explorer.script_json({"corpora": []}), 0, 0), explorer.pairs_json(found)
    fixed = len(render(none, pairs).encode())
    if fixed + LEAST_TEXTS > BUDGET:
        pairs = explorer.script_json({})
        fixed = len(render(none, pairs).encode())
    room = max(LEAST_TEXTS, min(MOST_TEXTS, BUDGET - fixed - _AIR))
    texts = explorer.texts_within(view, room)
    size = len(texts.json.encode())
    if size > room:
        # Characters are one to three bytes each.
        texts = explorer.texts_within(view, room * len(texts.json) // size)
    return render(texts, pairs)


def _told(view: AnalysisView, found: Mapping[int, Sequence[Likeness]]) -> dict[str, Any]:
    """Everything the template is told, but for the texts and pairs of the explorer."""
    from markupsafe import Markup

    css, script = asset("report.css") + asset("analysis.css"), asset("analysis.js")
    one, many = view.attribute
    maps = charts.tau_maps(view)
    taus = [figures(group) for group in charts.tau_charts(view).values()]
    released = charts.tau_charts(view, "reference")
    panes = [_pane(view, view.corpora[number], maps.get(number, ()), alike) for number, alike in found.items()]
    most = max(int(corpus.row["identities"]) for corpus in view.corpora)
    models = numbers.count(len({corpus.row["model"] for corpus in view.corpora}), "model")
    return {
        "view": view,
        "one": one,
        "many": many,
        "title": f"What changes when the {one} does",
        # One line under the title: how many texts by which models on which tasks.
        "lead": f"{sum(int(corpus.row['texts']) for corpus in view.corpora):,} texts by {models} "
        f"({' and '.join(task_words(task) for task in view.tasks)}), asked for with up to {most:,} {many} in otherwise "
        "identical prompts.",
        "cautions": cautions(view),
        "remarks": remarks(view),
        "headline": sentences.headline(view),
        "variance": figures(charts.variance_charts(view)),
        "taus": [taus[0] if taus else [], [figure for group in taus[1:] for figure in group]],
        "released": [figure for group in released.values() for figure in figures(group)],
        "fold": len(view.corpora) > MOST_OPEN,
        "scale": next((chart.steps for group in maps.values() for chart in group), []),
        "heat_key": Markup(heatmap.key_svg()),  # noqa: S704
        "panes": panes,
        "left_out": len(view.corpora) - len(panes),
        "measures": lists.measures_told(view),
        "example": explorer.example(view),
        "glance": tables.glance_table(view),
        "tests": tables.tests_table(view),
        "correlations": tables.correlation_table(view),
        "topics": tables.topic_table(view),
        "corpora": tables.corpora_table(view),
        "facts": facts(view.analysis.manifest),
        "versions": versions(view.analysis.manifest),
        "signatures": signatures(view.analysis.manifest),
        "citations": citations(view),
        "folder": isolate(label_text(view.analysis.path.name)),
        "css": css,
        "script": script,
        "policy": content_policy(css, script),
    }


def _pane(view: AnalysisView, corpus: Corpus, maps: Sequence[MapChart], alike: Sequence[Likeness]) -> Part:
    """Everything the page shows of one corpus alone."""
    return {
        "corpus": corpus,
        "maps": figures(chart for chart in maps if chart.spots),
        "heats": [_heat(one) for one in alike],
        "countries": lists.country_list(view, corpus),
        "words": lists.word_list(view, corpus),
        "concepts": lists.concept_list(view, corpus),
    }


def _heat(one: Likeness) -> Part:
    """One picture of likeness: its SVG, the words that stand for it, its colour key, its groups."""
    from markupsafe import Markup

    low, high = heatmap.colour_range(one)
    return {
        "measure": one.measure,
        "alt": f"Heat map: mean {measure_words(one.measure)} of every two of {len(one.names)} identities, "
        f"{one.corpus.full}, in the order of a tree that puts like ones together. Its groups are listed below.",
        "svg": Markup(heatmap.page_svg(one, f"heat-{one.corpus.number}-{one.measure}")),  # noqa: S704 - escaped there
        "low": heatmap.end_words(one, low),
        "high": heatmap.end_words(one, high),
        "groups": [[isolate(label_text(name)) for name in group] for group in one.groups],
        "left_out": one.left_out,
        "dense": len(one.names) > heatmap.READABLE,
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
