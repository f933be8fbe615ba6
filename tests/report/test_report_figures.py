"""Charts: what they hold, that text survives, that labels do not collide, that files are whole."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from report_fixtures import make_run

from kapwa.report.canvas import COLOURS, NARROW, STEP, WIDE, Canvas, Layout
from kapwa.report.figures import chart, draw_svg, phone_svg, png, save_figures
from kapwa.report.plots import (
    Dot,
    IntervalPlot,
    Line,
    Marker,
    axis_domain,
    breakdown_plots,
    headline_plot,
    task_plots,
    variant_plots,
)
from kapwa.report.rows import lay_out, ticks
from kapwa.report.text import width
from kapwa.report.view import arrange

SVG = "{http://www.w3.org/2000/svg}"


def first_plot(*runs: object) -> IntervalPlot:
    view = arrange(list(runs) or [make_run()])[0]  # type: ignore[arg-type]
    return headline_plot(view, view.subjects[0], "mc1")


def texts_of(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_headline_plot_shows_score_interval_floors_and_ceiling() -> None:
    plot = first_plot(make_run(cultures=("Filipino",)))
    line = plot.lines[0]
    assert line.dots[0].low is not None
    assert line.dots[0].low < line.dots[0].value < (line.dots[0].high or 0)
    assert [m.label for m in plot.markers] == [
        "shortest answer 11%",
        "first answer 25%",
        "guessing 25%",
        "longest answer 41%",
        "people 89%",
    ]
    assert plot.band == pytest.approx(0.4133)
    assert plot.markers[-1].ceiling
    assert "smollm2" in plot.alt
    assert "guessing: 25%" in plot.alt


def test_small_strata_are_grey_and_n_stands_beside() -> None:
    view = arrange([make_run()])[0]
    lines = {line.label: line for line in breakdown_plots(view, view.subjects[0])[0].lines}
    assert not lines["ethics"].muted
    assert lines["courtship"].muted
    assert lines["courtship"].dots[0].muted
    assert lines["courtship"].beside == "n = 5"
    assert lines["By topic"].header


def test_more_than_four_models_become_several_charts() -> None:
    view = arrange([make_run(f"m{i}", cultures=("Filipino",)) for i in range(6)])[0]
    parts = breakdown_plots(view, view.subjects[0])
    assert [len(part.series) for part in parts] == [4, 2]
    assert len({part.key for part in parts}) == 2


def test_one_variant_has_no_variant_chart_and_no_score_no_headline_chart() -> None:
    view = arrange([make_run(variants=("full",))])[0]
    assert variant_plots(view, view.subjects[0]) == []
    lost = make_run(cultures=("Filipino",), variants=("full",), gone={"failed": 16})
    assert task_plots(arrange([lost])[0]) == []


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_svg_is_well_formed_without_scripts_styles_or_links(layout: Layout) -> None:
    svg = draw_svg(first_plot(), layout)
    tags = {node.tag for node in ET.fromstring(svg).iter()}
    assert tags <= {f"{SVG}{name}" for name in ("svg", "g", "path", "line", "text", "rect", "tspan")}
    assert " style=" not in svg
    assert "href" not in svg
    assert float(ET.fromstring(svg).get("width", "0")) == layout.total


def test_every_colour_is_one_the_page_can_restyle() -> None:
    view = arrange([make_run(), make_run("b")])[0]
    css = (Path(__file__).parents[2] / "src/kapwa/report/templates/report.css").read_text(encoding="utf-8")
    for plot in task_plots(view):
        for svg in (draw_svg(plot), phone_svg(plot)):
            for kind, colour in re.findall(r'(fill|stroke)="(#\w+)"', svg):
                assert colour in COLOURS.values()
                assert f'.chart [{kind}="{colour}"]' in css


@pytest.mark.parametrize("culture", ["مصر", "대한민국", "ኢትዮጵያ", "অসম"])
def test_labels_of_every_script_stand_in_the_chart_as_text(culture: str) -> None:
    run = make_run("نموذج-عربي", cultures=(culture,))
    view = arrange([run])[0]
    plot = breakdown_plots(view, view.subjects[0])[0]
    joined = " ".join(texts_of(draw_svg(plot, title=True)))
    for topic in run.scores["topic"].unique():
        assert topic in joined
    assert culture in joined


def test_markup_in_labels_is_drawn_as_text() -> None:
    run = make_run("<script>alert(1)<b>&\"'", cultures=("Filipino",))
    svg = draw_svg(first_plot(run))
    assert "<script" not in svg
    assert any("<script>alert(1)<b>&" in text for text in texts_of(svg))


def marks(*values: float, label: str = "a long label 25%") -> IntervalPlot:
    return IntervalPlot("k", "t", "s", "alt", [Line("row")], [Marker(v, label) for v in values])


@pytest.mark.parametrize("layout", [WIDE, NARROW])
@pytest.mark.parametrize(
    "values", [(0.1, 0.2, 0.25, 0.26, 0.9), (0.95, 0.97, 0.99), (0.5,), (0.0, 0.0), (0.02, 0.4, 0.42, 0.98)]
)
def test_marker_labels_neither_overlap_nor_are_crossed_by_lines(layout: Layout, values: tuple[float, ...]) -> None:
    canvas = lay_out(marks(*values), layout, title=False)
    labels = [t for (align, _, _), rows in canvas.texts.items() for t in rows if t["y"] < 0 and align == "left"]
    boxes = [(canvas.pixels(t["x"]), canvas.pixels(t["x"]) + 6.2 * width(t["text"]), t["y"]) for t in labels]
    assert len(boxes) == len(values)
    for i, (start, end, y) in enumerate(boxes):
        assert start >= -layout.label - 1
        assert all(abs(y - other[2]) >= STEP or end <= other[0] or other[1] <= start for other in boxes[:i])
        for rule in canvas.rules:
            if rule["x"] == rule["x2"] and rule["y"] < y < rule["y2"]:
                assert not start < canvas.pixels(rule["x"]) < end


def test_phone_charts_draw_nothing_through_labels() -> None:
    canvas = lay_out(first_plot(make_run(), make_run("b")), NARROW, title=False)
    labels = [t["y"] for rows in canvas.texts.values() for t in rows if 0 < t["y"] < canvas.height]
    for rule in canvas.rules:
        if rule["x"] == rule["x2"] and rule["y"] >= 0:
            assert not any(rule["y"] < y < rule["y2"] for y in labels)


def test_intervals_beyond_the_axis_are_cut_at_it() -> None:
    canvas = Canvas(WIDE, (0.0, 1.0))
    from kapwa.report.plots import Dot

    canvas.dot(Dot(0.1, -0.2, 1.4), 10)
    assert (canvas.intervals[0]["x"], canvas.intervals[0]["x2"]) == (0.0, 1.0)


@pytest.mark.parametrize("domain", [(-0.031, 0.12), (0.0, 37.0), (-1.0, 1.0), (0.0, 1e-4)])
def test_ticks_are_few_round_and_inside(domain: tuple[float, float]) -> None:
    values = ticks(domain, share=False)
    assert 2 <= len(values) <= 6
    assert all(domain[0] - 1e-9 <= v <= domain[1] + 1e-9 for v in values)


def test_figures_are_saved_as_svg_and_png(tmp_path: Path) -> None:
    paths = save_figures([make_run(cultures=("Filipino",))], tmp_path / "new" / "folder")
    assert sorted(path.suffix for path in paths) == [".png"] * 4 + [".svg"] * 4
    assert all(path.is_file() for path in paths)
    for path in paths:
        if path.suffix == ".png":
            raw = path.read_bytes()
            assert raw.startswith(b"\x89PNG")
            wide, high = struct.unpack(">II", raw[16:24])
            svg = ET.fromstring(path.with_suffix(".svg").read_text(encoding="utf-8"))
            assert wide == round(2 * float(svg.get("width", "0")))
            assert high == pytest.approx(2 * float(svg.get("height", "0")), abs=2)
            assert "MC1" in " ".join(texts_of(path.with_suffix(".svg").read_text("utf-8"))) or "mc2" in path.name


def test_labels_with_spacing_vowel_signs_are_drawn_by_the_renderer_that_shapes_them() -> None:
    import resvg_py
    import vl_convert

    bengali = draw_svg(first_plot(make_run("তিথি")))
    assert png(bengali) == bytes(resvg_py.svg_to_bytes(svg_string=bengali, zoom=2.0))
    latin = draw_svg(first_plot(make_run("plain")))
    assert png(latin) == vl_convert.svg_to_png(latin, scale=2.0)


def test_a_chart_is_altair_for_whoever_wants_to_change_it() -> None:
    import altair as alt

    assert isinstance(chart(first_plot()), alt.LayerChart)


def test_where_every_value_is_zero_the_axis_has_a_length_all_the_same() -> None:
    low, high = axis_domain({}, [[Dot(0.0, None, None)]], [])
    assert (low, high) == (0.0, 1.0)
    assert 3 <= len(ticks((low, high), share=False)) <= 6
    assert axis_domain({}, [], []) == (0.0, 1.0)
