"""Charts, maps and heat maps of an analysis: what they hold and where they put it."""

import itertools
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from analysis_fixtures import make_analysis
from hypothesis import given
from hypothesis import strategies as st

from kapwa.report.charts import analysis as charts
from kapwa.report.charts import heatmap, worldmap
from kapwa.report.charts.analysis import FEW, box, tau_charts, tau_maps, variance_charts
from kapwa.report.charts.drawing import draw
from kapwa.report.charts.heatmap import MOST_SHOWN, Likeness, likenesses, shown_names
from kapwa.report.page.analysis import save_analysis_figures
from kapwa.report.view.analysis import AnalysisView

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def view() -> AnalysisView:
    return AnalysisView(make_analysis(identities=40, concepts=30))


@pytest.fixture(scope="module")
def alike(view: AnalysisView) -> list[Likeness]:
    return likenesses(view, view.corpora[0])


def test_a_box_shows_quartiles_and_few_values_stand_as_dots() -> None:
    many = box(np.arange(101.0), "accent")
    assert (many.low, many.first, many.median, many.third, many.high) == (5, 25, 50, 75, 95)
    assert many.values == ()
    assert list(box(np.arange(FEW - 1.0), "accent").values) == list(range(FEW - 1))


def test_each_task_has_boxes_of_every_corpus_across_over_within(view: AnalysisView) -> None:
    plots = variance_charts(view)
    assert [plot.key for plot in plots] == ["variance-eecc-qa", "variance-eecc-stories"]
    for plot in plots:
        assert [row.label for row in plot.lines] == ["storyteller-2b T 0.3", "narrator-7b T 0.3"]
        for row in plot.lines:
            across, within = row.boxes
            assert across.median > within.median
            assert plot.domain[0] < within.low < across.high < plot.domain[1]
            assert row.strong in plot.alt


def test_tau_has_a_chart_for_each_survey_and_measure_on_one_axis(view: AnalysisView) -> None:
    plots = [plot for group in tau_charts(view).values() for plot in group]
    assert {plot.key for plot in plots} == {f"tau-{a}-{b}" for a in ("hofstede", "wvs") for b in ("bleu", "wed")}
    assert len({plot.domain for plot in plots}) == 1
    for row in plots[0].lines:
        if row.header:
            continue
        assert max(share for _, _, share in row.histogram.bars) == 1
        assert row.band == (-0.04, 0.041)
    assert "shuffled" in dict(plots[0].keys)["band"]
    (released, _), _ = tau_charts(view, "reference").values()
    assert all(row.band is None for row in released.lines)
    assert "band" not in dict(released.keys)


def test_row_charts_are_well_formed_and_no_grid_line_runs_through_a_picture(view: AnalysisView) -> None:
    for chart in [variance_charts(view)[0], tau_charts(view)["bleu"][0]]:
        for line in chart.lines:
            if not line.header:
                inside = draw("row", chart, line)
                ET.fromstring(f"<svg>{inside}</svg>")
                # What is drawn first lies lowest: the grid comes before every box and bar.
                drawn = [inside.index(name) for name in ('class="accent box"', 'class="bar"', "mark") if name in inside]
                assert inside.rindex('class="grid"') < min(drawn)


def points(path: str) -> list[list[tuple[int, int]]]:
    rings = []
    for ring in path.split("M")[1:]:
        first, _, rest = ring.rstrip("z").partition("l")
        x, y = map(int, first.split())
        found = [(x, y)]
        numbers = list(map(int, re.findall(r"-?\d+", rest)))
        for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
            found.append((found[-1][0] + dx, found[-1][1] + dy))
        rings.append(found)
    return rings


def test_every_country_but_antarctica_has_an_outline_inside_the_map() -> None:
    paths = worldmap.world()["paths"]
    assert len(paths) == 176
    assert "010" not in paths
    for name, path in paths.items():
        assert path, name
        for x, y in itertools.chain(*points(path)):
            assert 0 <= x <= worldmap.world()["width"]
            assert -2 <= y <= worldmap.world()["height"]


@pytest.mark.parametrize("number", ["643", "242"])
def test_countries_on_the_180th_meridian_are_cut_there(number: str) -> None:
    """Russia and Fiji: no edge may run across the whole map."""
    for ring in points(worldmap.world()["paths"][number]):
        assert all(abs(x1 - x0) < 300 for (x0, _), (x1, _) in itertools.pairwise(ring))


def test_small_states_stand_where_they_are() -> None:
    states = worldmap.world()["states"]
    assert worldmap.place_of_code("PHL") == "608"
    assert worldmap.place_of_code("MLT") == tuple(states["MLT"])
    assert worldmap.place_of_code("ABW") == tuple(states["ABW"])
    assert worldmap.place_of_code(None) is None
    x, y = states["SGP"]
    malaysia = [point for ring in points(worldmap.world()["paths"]["458"]) for point in ring]
    assert min(abs(x - a) + abs(y - b) for a, b in malaysia) < 12


@given(value=st.floats(-1, 1), step=st.sampled_from([0.02, 0.05, 0.1, 0.25]))
def test_a_colour_tells_side_and_size(value: float, step: float) -> None:
    name = charts.colour_class(value, step)
    assert (name[0] == "b") == (value < 0)
    if int(name[1]) < charts.STEPS - 1:
        assert int(name[1]) * step - 1e-6 <= abs(value) <= (int(name[1]) + 1) * step + 1e-6
    else:
        assert abs(value) >= (charts.STEPS - 1) * step - 1e-6


def test_the_key_names_each_colour_once_from_low_to_high(view: AnalysisView) -> None:
    every = [one for group in tau_maps(view).values() for one in group]
    assert len(every) == 4 * 2 * 2
    assert len({tuple(one.steps) for one in every}) == 1
    order = ["b3", "b2", "b1", "b0", "a0", "a1", "a2", "a3"]
    names = [name for name, _ in every[0].steps]
    assert names == order[order.index(names[0]) : order.index(names[-1]) + 1]
    assert {spot.colour for one in every for spot in one.spots} <= set(names)


def test_a_map_refers_to_outlines_that_the_page_defines(view: AnalysisView) -> None:
    one = tau_maps(view)[0][0]
    defined = set(re.findall(r'id="([^"]+)"', draw("outlines")))
    svg = draw("map", one)
    assert set(re.findall(r'href="#([^"]+)"', svg)) <= defined
    assert len(one.spots) == 40
    assert svg.count("<circle") == 2  # Malta and Singapore
    assert svg.count("<title>") == 40


def test_countries_without_a_place_are_named() -> None:
    made = make_analysis(models=("m",), tasks=("eecc/qa",), identities=200, concepts=2)
    one = tau_maps(AnalysisView(made))[0][0]
    assert one.absent
    assert len(one.spots) + len(one.absent) == 100


def decoded(png: bytes) -> npt.NDArray[np.int64]:
    """Palette indices of a PNG of four bits a pixel."""
    wide, height = struct.unpack(">II", png[16:24])
    assert png[24:26] == b"\x04\x03"
    at, data = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0]
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return np.stack([rows[:, 1:] >> 4, rows[:, 1:] & 15], axis=2).reshape(height, -1)[:, :wide].astype(np.int64)


@pytest.mark.parametrize("count", [7, 40])
def test_the_picture_holds_each_pair_twice_and_darker_where_more_alike(count: int) -> None:
    view = AnalysisView(make_analysis(models=("m",), tasks=("eecc/qa",), identities=count, concepts=2))
    for one in likenesses(view, view.corpora[0]):
        levels = decoded(heatmap.raster(one))
        assert levels.shape == (count, count)
        assert (levels == levels.T).all()
        assert not levels.diagonal().any()
        off = ~np.eye(count, dtype=bool)
        assert (levels[off].min(), levels[off].max()) == (1, heatmap.LEVELS - 1)
        order = np.argsort(one.closeness[off])
        assert (np.diff(levels[off][order]) >= 0).all()
        assert (decoded(heatmap.raster(one, 3))[::3, ::3] == levels).all()


def test_the_order_is_the_trees_and_groups_part_all_names(alike: list[Likeness], view: AnalysisView) -> None:
    assert [one.measure for one in alike] == ["bleu", "wed"]
    for one in alike:
        assert sorted(one.names) == sorted(view.analysis.identities["identity"].unique())
        assert list(itertools.chain(*one.groups)) == list(one.names)
        assert 2 <= len(one.groups) <= 8
        assert len(one.tree) == len(one.names) - 1
        assert all(0.5 <= first < last <= len(one.names) - 0.5 for (first, _, _, last), _ in one.tree)
        # Like ones stand together: neighbours are closer than pairs at large.
        close = one.closeness
        assert np.mean(np.diagonal(close, 1)) > np.nanmean(close) + 0.02


def test_values_stand_at_their_names(alike: list[Likeness], view: AnalysisView) -> None:
    rows = view.table("similarity", view.corpora[0])
    for one in alike:
        at = {name: k for k, name in enumerate(one.names)}
        for row in rows.sample(20, seed=1).iter_rows(named=True):
            i, j = at[row["identity_a"]], at[row["identity_b"]]
            assert one.values[i, j] == one.values[j, i] == row[one.measure]


def test_too_many_identities_are_thinned_evenly() -> None:
    names = [f"n{k:04d}" for k in range(1000)]
    shown = shown_names(names)
    assert len(shown) == MOST_SHOWN == len(set(shown))
    assert shown[0] == names[0]
    assert {int(b[1:]) - int(a[1:]) for a, b in itertools.pairwise(shown)} == {3, 4}


def test_the_pictures_svg_names_rows_in_order(alike: list[Likeness]) -> None:
    tree = ET.fromstring(draw("likeness_page", alike[0], "h").replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))
    names = [node.text for node in tree.iter(f"{SVG}text")]
    assert names == list(alike[0].names)
    rows = [float(node.attrib["y"]) for node in tree.iter(f"{SVG}text")]
    assert np.allclose(np.diff(rows), 1)


def test_names_in_a_heat_maps_file_are_of_readable_size_and_fit_their_rows(alike: list[Likeness]) -> None:
    svg = heatmap.picture_file(alike[0])
    styles, cell = svg.partition("<style>")[2].partition("</style>")[0], float(re.findall(r"scale\(([\d.]+)\)", svg)[0])
    (size,) = map(float, re.findall(r"\.list text{font-size:([\d.]+)px}", styles))
    assert 0.5 < size < 1, "in cells: a name is less high than its row"
    assert 6 < size * cell < 14
    assert "font-family" not in styles
    assert ".names" in styles[styles.index(".ink{") :], "what takes the outline from letters comes after what gives it"


def test_every_figure_becomes_an_svg_and_a_png_with_its_title(tmp_path: Path) -> None:
    made = make_analysis(models=("org/نموذج",), tasks=("eecc/stories",), identities=8, concepts=9, values=("hofstede",))
    written = save_analysis_figures(made, tmp_path)
    kinds = [re.split(r"[-.]", path.name)[0] for path in written if path.suffix == ".svg"]
    assert kinds == ["variance", "tau", "tau", "map", "map", "similarity", "similarity"]
    for svg, png in zip(written[::2], written[1::2], strict=True):
        assert png.with_suffix(".svg") == svg
        text = "".join(ET.fromstring(svg.read_text(encoding="utf-8")).itertext())
        assert "نموذج" in text
        wide, high = struct.unpack(">II", png.read_bytes()[16:24])
        assert min(wide, high) > 300
