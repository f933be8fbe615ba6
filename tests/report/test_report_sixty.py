"""Sixty-one cultures, many corpora: what stands in 80 columns and on a page can be read, and is drawn."""

import re
from dataclasses import replace

import iso3166
import pytest
import report_fixtures
from analysis_fixtures import make_analysis
from pages import Page, printed, render_page, unpacked
from report_fixtures import CULTURES, make_run, wide_run

from kapwa.report.charts.analysis import tau_charts
from kapwa.report.charts.elements import HeatChart
from kapwa.report.charts.files import chart_file
from kapwa.report.charts.heat import confusion_chart
from kapwa.report.charts.heatmap import likenesses
from kapwa.report.page.answers import answer_table, browser
from kapwa.report.sentences.notes import some_names
from kapwa.report.terminal.analysis import render_analysis
from kapwa.report.terminal.runs import render_run
from kapwa.report.view.analysis import AnalysisView
from kapwa.report.view.tasks import arrange

SOME = tuple(CULTURES)[:3]


@pytest.fixture(scope="module")
def sixty() -> report_fixtures.MadeRun:
    """A run over 61 cultures, with names of up to 25 letters."""
    with pytest.MonkeyPatch.context() as patch:
        names = [one.name.replace(" ", "_") for one in iso3166.countries if len(one.name) < 26]
        # Each with a language of its own: cultures that share one are compared in pairs.
        for k, name in enumerate([name for name in names if name not in CULTURES][: 61 - len(CULTURES)]):
            patch.setitem(CULTURES, name, (f"x{k:02}", "high", 0.5))
        return wide_run(cultures=tuple(CULTURES), variants=("local/inst-4",), per_culture=2)


def confusion(run: report_fixtures.MadeRun) -> HeatChart:
    view = arrange([run])[0]
    return confusion_chart(view, view.confusions()[0])[0]


def test_a_heat_map_of_61_columns_is_colours_alone_and_one_of_16_has_numbers(sixty: report_fixtures.MadeRun) -> None:
    wide, narrow = confusion(sixty), confusion(wide_run(per_culture=6))
    assert (len(wide.columns), wide.bare, len(narrow.columns), narrow.bare) == (61, True, 16, False)
    numbers = [len(re.findall(r"<text[^>]*>\d+</text>", chart_file(chart))) for chart in (wide, narrow)]
    scale = 6  # the marks of the scale between its ends
    assert numbers[0] == scale
    assert numbers[1] > 100
    table = render_page([sixty]).partition('<table class="squares many bare">')[2].partition("</table>")[0]
    assert table.count("<td class=") >= 3000
    assert set(re.findall(r"<td class=[^>]*>([^<]*)</td>", table)) == {""}


def test_terminal_tables_cut_no_name_at_80_columns(sixty: report_fixtures.MadeRun) -> None:
    for run in (sixty, wide_run(cultures=SOME)):
        assert max(map(len, printed(render_run(run), 80).splitlines())) <= 80
    long = printed(render_analysis(make_analysis(models=("org/Meta-Llama-3.1-8B-Instruct",), identities=8)), 80)
    assert "Meta-Llama-3.1-8B-Instruct" in long.partition("Every corpus at a glance")[2].partition("Do countries")[0]
    assert max(map(len, long.splitlines())) <= 80


def test_sixty_names_in_a_sentence_are_six_and_a_number() -> None:
    assert some_names(["a", "b"]) == "a and b"
    assert some_names([f"Nowhere {i}" for i in range(60)]).endswith("Nowhere 5 and 54 more")


def test_a_margin_is_told_where_it_measures_something() -> None:
    for run, told in ((make_run("m"), True), (wide_run("m"), False)):
        view = arrange([run])[0]
        questions = unpacked(browser(view, answer_table(view)).data)["questions"]
        assert any(answer[-2] for *_, answers in questions for answer in answers) is told


def test_junctions_of_a_tree_are_spread_over_its_room() -> None:
    view = AnalysisView(make_analysis(identities=20))
    one = likenesses(view, view.corpora[0])[0]
    frame = one.frame
    path = one.tree_path
    places = sorted(float(x) for x in re.findall(r"H([\d.]+)V", path))
    room = frame.left - frame.room - 1
    assert len(places) == 19
    assert places[0] < 0.05 * room + 0.3
    assert places[-1] > 0.8 * room  # before: 0.49, the rest was empty
    # Two pairs equally close make no division by zero.
    assert replace(one, tree=[((0.5, 0.5, 1.5, 1.5), (0.0, 0.4, 0.4, 0.0))]).tree_path.startswith("M")


def test_a_legend_names_what_is_drawn() -> None:
    few = AnalysisView(make_analysis(identities=12, concepts=4, tasks=("eecc/stories",)))
    many = AnalysisView(make_analysis(identities=12, concepts=30, tasks=("eecc/stories",)))
    legends = [dict(next(iter(tau_charts(view).values()))[0].keys) for view in (few, many)]
    assert legends[0] == {"0": "one concept", "band": legends[0]["band"]}
    assert set(legends[1]) == {"bar", "mean", "band"}
    small, large = (Page(render_page([wide_run("m", cultures=SOME, per_culture=n)])).text for n in (12, 120))
    assert "Numbers in brackets" in small
    assert "Numbers in brackets" not in large
