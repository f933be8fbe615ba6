"""Charts, maps and heat maps of an analysis: what they hold and where they put it."""

from __future__ import annotations

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

from kapwa.report.canvas import COMPACT, NARROW
from kapwa.report.eecc import heatmap, maps, outlines, save_analysis_figures
from kapwa.report.eecc.places import SMALL
from kapwa.report.eecc.rowplots import Box, Histogram, draw_rows, lay_out_rows
from kapwa.report.eecc.similarity import MOST_SHOWN, Likeness, likenesses, shown_names
from kapwa.report.eecc.spreads import ACROSS, FEW, box, tau_plots, variance_plots
from kapwa.report.eecc.view import AnalysisView
from kapwa.report.text import width

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def view() -> AnalysisView:
    return AnalysisView(make_analysis(identities=40, concepts=30))


@pytest.fixture(scope="module")
def alike(view: AnalysisView) -> list[Likeness]:
    return likenesses(view, view.corpora[0])


def test_a_box_shows_quartiles_and_few_values_stand_as_dots() -> None:
    many = box(np.arange(101.0), ACROSS)
    assert (many.low, many.first, many.median, many.third, many.high) == (5, 25, 50, 75, 95)
    assert many.dots == ()
    assert list(box(np.arange(FEW - 1.0), ACROSS).dots) == list(range(FEW - 1))


def test_each_task_has_boxes_of_every_corpus_across_over_within(view: AnalysisView) -> None:
    plots = variance_plots(view)
    assert [plot.key for plot in plots] == ["variance-eecc-qa", "variance-eecc-stories"]
    for plot in plots:
        assert [row.label for row in plot.rows] == ["storyteller-2b T 0.3", "narrator-7b T 0.3"]
        for row in plot.rows:
            across, within = row.pictures
            assert isinstance(across, Box)
            assert isinstance(within, Box)
            assert across.median > within.median
            assert plot.domain[0] < within.low < across.high < plot.domain[1]
            assert row.strong in plot.alt


def test_tau_has_a_chart_for_each_survey_and_measure_on_one_axis(view: AnalysisView) -> None:
    plots = tau_plots(view)
    assert [plot.key for plot in plots] == ["tau-hofstede-bleu", "tau-hofstede-wed", "tau-wvs-bleu", "tau-wvs-wed"]
    assert len({plot.domain for plot in plots}) == 1
    for row in plots[0].rows:
        if row.header:
            continue
        (picture,) = row.pictures
        assert isinstance(picture, Histogram)
        assert max(share for _, _, share in picture.bars) == 1
        assert row.band == (-0.04, 0.041)
    assert "shuffled" in dict(plots[0].legend)["band"]
    released = tau_plots(view, "reference")
    assert all(row.band is None for row in released[0].rows)
    assert "band" not in dict(released[0].legend)


@pytest.mark.parametrize("phone", [False, True])
def test_row_charts_are_well_formed_and_stay_inside(view: AnalysisView, phone: bool) -> None:
    for plot in [variance_plots(view)[0], tau_plots(view)[0]]:
        svg = draw_rows(plot, phone=phone)
        tags = {node.tag for node in ET.fromstring(svg).iter()}
        assert tags <= {f"{SVG}{name}" for name in ("svg", "g", "path", "line", "text", "rect", "tspan")}
        assert "href" not in svg
        canvas = lay_out_rows(plot, NARROW if phone else COMPACT, title=False)
        layout = canvas.layout
        for (align, _, _), rows in canvas.texts.items():
            for row in rows:
                x, wide = canvas.pixels(row["x"]), 0.55 * row["size"] * width(row["text"])
                left = x - (wide if align == "right" else wide / 2 if align == "center" else 0)
                assert left > -layout.label - 12, row["text"]
                assert left + wide < layout.plot + layout.side + 12, row["text"]


def test_no_grid_line_runs_through_a_picture(view: AnalysisView) -> None:
    canvas = lay_out_rows(variance_plots(view)[0], COMPACT, title=False)
    assert canvas.grid == []
    # What is drawn first lies lowest: the grid comes before every box.
    assert canvas.rects[0]["x2"] - canvas.rects[0]["x"] < 0.01


# --- maps


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
    paths = outlines.world_paths()
    assert len(paths) == 176
    assert "010" not in paths
    for name, path in paths.items():
        assert path, name
        for x, y in itertools.chain(*points(path)):
            assert 0 <= x <= outlines.WIDTH
            assert -2 <= y <= outlines.HEIGHT


@pytest.mark.parametrize("number", ["643", "242"])
def test_countries_on_the_180th_meridian_are_cut_there(number: str) -> None:
    """Russia and Fiji: no edge may run across the whole map."""
    for ring in points(outlines.world_paths()[number]):
        assert all(abs(x1 - x0) < 300 for (x0, _), (x1, _) in itertools.pairwise(ring))


def test_small_states_stand_where_they_are() -> None:
    assert set(SMALL).isdisjoint(maps._numeric())
    x, y = outlines.on_map(*SMALL["SGP"])
    malaysia = [point for ring in points(outlines.world_paths()["458"]) for point in ring]
    assert min(abs(x - a) + abs(y - b) for a, b in malaysia) < 12
    assert maps.drawable("MLT")
    assert not maps.drawable("ABW")
    assert not maps.drawable(None)


@given(value=st.floats(-1, 1), step=st.sampled_from([0.02, 0.05, 0.1, 0.25]))
def test_a_colour_tells_side_and_size(value: float, step: float) -> None:
    name = maps.colour_class(value, step)
    assert (name[0] == "b") == (value < 0)
    if int(name[1]) < maps.STEPS - 1:
        assert int(name[1]) * step - 1e-6 <= abs(value) <= (int(name[1]) + 1) * step + 1e-6
    else:
        assert abs(value) >= (maps.STEPS - 1) * step - 1e-6


def test_the_key_names_each_colour_once_from_low_to_high(view: AnalysisView) -> None:
    every = maps.tau_maps(view)
    assert len(every) == 4 * 2 * 2
    assert len({one.step for one in every}) == 1
    scale = maps.scale_steps(every)
    order = ["b3", "b2", "b1", "b0", "a0", "a1", "a2", "a3"]
    names = [name for name, _ in scale]
    assert names == order[order.index(names[0]) : order.index(names[-1]) + 1]
    used = {maps.colour_class(place.value, one.step) for one in every for place in one.places}
    assert used <= set(names)


def test_a_map_refers_to_outlines_that_the_page_defines(view: AnalysisView) -> None:
    one = maps.tau_maps(view)[0]
    defined = set(re.findall(r'id="([^"]+)"', maps.definitions()))
    svg = maps.page_svg(one)
    assert set(re.findall(r'href="#([^"]+)"', svg)) <= defined
    assert len(one.places) == 40
    assert svg.count("<circle") == 2  # Malta and Singapore
    assert svg.count("<title>") == 40
    assert ET.fromstring(maps.file_svg(one, maps.scale_steps([one]))) is not None


def test_countries_without_a_place_are_named(view: AnalysisView) -> None:
    made = make_analysis(models=("m",), tasks=("eecc/qa",), identities=200, concepts=2)
    one = maps.tau_maps(AnalysisView(made))[0]
    assert one.absent
    assert len(one.places) + len(one.absent) == 100


# --- heat maps


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
        assert len(one.joins) == len(one.names) - 1
        assert one.joins[-1].distance == max(join.distance for join in one.joins)
        assert all(first < last for (first, last), _, _ in one.joins)
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
    tree = ET.fromstring(heatmap.page_svg(alike[0], "h").replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))
    names = [node.text for node in tree.iter(f"{SVG}text")]
    assert names == list(alike[0].names)
    rows = [float(node.attrib["y"]) for node in tree.iter(f"{SVG}text")]
    assert np.allclose(np.diff(rows), 1)


# --- files


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
