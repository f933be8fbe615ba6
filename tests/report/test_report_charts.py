"""Charts: what they hold, that they fit any screen, that text survives, that files are whole."""

import itertools
import math
import re
import runpy
import struct
import xml.etree.ElementTree as ET
from functools import cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_fixtures import CULTURES, choice_run, make_run, wide_run

from kapwa.report.charts.drawing import draw
from kapwa.report.charts.elements import (
    DARK_FROM,
    HEAT,
    Dot,
    HeatChart,
    Line,
    Marker,
    RowChart,
    Square,
    heat_step,
    ticks,
)
from kapwa.report.charts.files import chart_file, every_chart, png, save_figures
from kapwa.report.charts.heat import confusion_chart, heat_domain, stratum_charts
from kapwa.report.charts.rows import headline_charts, row_chart, topic_charts
from kapwa.report.view.tasks import arrange
from kapwa.report.wording import SHARE, UNDESCRIBED

CSS = (Path(__file__).parents[2] / "src/kapwa/report/templates/report.css").read_text(encoding="utf-8")
PICTURE = (Path(__file__).parents[2] / "src/kapwa/report/templates/picture.css").read_text(encoding="utf-8")
make_world = Namespace(**runpy.run_path(str(Path(__file__).parents[2] / "tools/make_world.py")))
SVG = "{http://www.w3.org/2000/svg}"
SCRIPTS = ("대한민국", "مصر", "ኢትዮጵያ", "অসম", "Ελλάδα")
BAD = "<script>alert(1)</script>"
SITUATED = ("Filipino",)


@pytest.fixture(scope="module")
def every() -> list[Any]:
    return every_chart([wide_run(), choice_run()])


def first_chart(*runs: Any) -> RowChart:
    view = arrange(list(runs) or [make_run(cultures=SITUATED)])[0]
    return headline_charts(view, view.main_metric)[0]


def drawn(chart: Any) -> list[str]:
    """All that the page draws of a chart, each part in an element of its own."""
    parts = []
    if isinstance(chart, RowChart):
        parts = [draw("row", chart, line) for line in chart.lines if not line.header]
        parts += [draw("head", chart), draw("axis", chart), *(draw("key", kind) for kind, _ in chart.keys)]
    elif isinstance(chart, HeatChart):
        parts = [draw("scale", chart)]
    return [f'<svg xmlns="{SVG[1:-1]}">{part}</svg>' for part in parts]


def texts_of(svg: str) -> str:
    return " ".join("".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text"))


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def heat_colours_of(css: str) -> list[str]:
    return [re.findall(rf"\.q{k}{{fill:(#\w{{6}})}}", css)[0] for k in range(7)]


def heat_colours(block: str) -> list[str]:
    return [re.findall(rf"--heat-{k}: (#\w{{6}})", block)[0] for k in range(7)]


def test_the_headline_chart_shows_score_interval_floors_and_ceiling() -> None:
    chart = first_chart(make_run(cultures=("Filipino",)))
    dot = chart.lines[0].dots[0]
    assert dot.low < dot.value < (dot.high or 0)
    named = ["shortest answer 11%", "first answer 25%", "guessing 25%", "longest answer 41%", "people 89%"]
    assert [m.label for m in chart.markers] == named
    assert [m.ceiling for m in chart.markers] == [False] * 4 + [True]
    assert chart.band == pytest.approx(0.4133)
    assert "smollm2" in chart.alt
    assert "guessing: 25%" in chart.alt


def test_small_topics_are_grey_and_n_stands_beside() -> None:
    charts = topic_charts(arrange([make_run(cultures=SITUATED)])[0])
    lines = {line.label: line for chart in charts for line in chart.lines}
    assert not lines["ethics"].muted
    assert lines["courtship"].muted
    assert lines["courtship"].dots[0].muted
    assert lines["courtship"].beside == "n = 5"


def test_no_score_no_chart() -> None:
    lost = make_run(cultures=SITUATED, variants=("full",), gone={"failed": 16})
    assert every_chart([lost]) == []


def test_many_cultures_have_each_kind_of_chart_once_or_more(every: list[Any]) -> None:
    kinds = [chart.kind for chart in every]
    assert kinds.count("heat") == 3
    assert len({chart.key for chart in every}) == len(every)


def test_the_heat_map_prints_the_estimates_it_is_made_of() -> None:
    view = arrange([wide_run()])[0]
    chart = stratum_charts(view)[0]
    subject = next(s for s in view.subjects if s.culture == "Iran")
    strata = view.strata(0, subject, "topic")
    row = chart.squares[list(chart.rows).index("Iran")]
    for name, square in zip(chart.columns, row, strict=True):
        assert square.value == strata[name]["value"]
        assert square.small == f"n = {strata[name]['n']}"
    assert all(square.text in texts_of(chart_file(chart)) for square in row if square)


def test_few_items_stand_in_brackets_and_repeated_groups_are_drawn_once() -> None:
    run = wide_run(per_culture=12)
    run.manifest = {**run.manifest, "groups": ["topic", "topic", "category"]}
    (chart,) = stratum_charts(arrange([run])[0])
    assert all(re.fullmatch(r"\(\d+\)", square.text) for row in chart.squares for square in row if square)


def test_confusion_leaves_the_diagonal_empty_and_puts_it_on_the_diagonal() -> None:
    view = arrange([wide_run()])[0]
    chart = confusion_chart(view, view.confusions()[0])[0]
    assert list(chart.rows) == list(chart.columns)
    for i, row in enumerate(chart.squares):
        assert [j for j, square in enumerate(row) if square is None] == [i]
    north, south = list(chart.rows).index("North Korea"), list(chart.columns).index("South Korea")
    square = chart.squares[north][south]
    assert square.value == max(s.value for s in chart.squares[north] if s)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_value_has_a_step_and_more_is_never_less(a: float, b: float, c: float) -> None:
    domain = heat_domain([a, b, c], SHARE)
    assert domain[0] <= min(a, b, c) + 1e-9
    assert domain[1] >= max(a, b, c) - 1e-9
    assert domain[0] < domain[1]
    steps = [heat_step(value, domain) for value in sorted((a, b, c))]
    assert steps == sorted(steps)
    assert 0 <= steps[0] <= steps[-1] <= 6


NAMES = {"title": "t", "about": "a", "key": "k", "subject": "s"}
NOTHING_BUT_ZERO = row_chart(Namespace(metrics={"m": UNDESCRIBED}), "m", [Line("x", [Dot(0.0)])], **NAMES)


@pytest.mark.parametrize("domain", [(-0.05, 0.12), (0.0, 37.0), (0.0, 1e-4), NOTHING_BUT_ZERO[0].domain])
def test_ticks_are_few_round_and_inside(domain: tuple[float, float]) -> None:
    values = ticks(domain, share=False)
    assert 2 <= len(values) <= 6
    assert all(domain[0] - 1e-9 <= v <= domain[1] + 1e-9 for v in values)


def test_every_part_is_well_formed_and_has_only_classes_that_the_page_colours(every: list[Any]) -> None:
    for chart in [*every, first_chart(), first_chart(make_run(cultures=SITUATED), make_run("b", cultures=SITUATED))]:
        for svg in drawn(chart):
            assert " style=" not in svg
            assert not re.search(r'(fill|stroke)="', svg)
            names = {name for node in ET.fromstring(svg).iter() for name in node.get("class", "").split()}
            assert not [name for name in names - {"small", "muted"} if f".{name}" not in CSS]


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))
def test_dots_and_intervals_stand_at_their_values_and_end_at_the_axis(value: float, a: float, b: float) -> None:
    line = Line("x", [Dot(value, min(a, b), max(a, b))])
    chart = RowChart("k", "t", "s", "alt", [line], domain=(-1.0, 1.0), share=False)
    svg = ET.fromstring(f"<svg>{draw('row', chart, chart.lines[0])}</svg>")
    place = lambda v: 50 * (min(1.0, max(-1.0, v)) + 1)  # noqa: E731
    (interval,) = (node for node in svg.iter("line") if "interval" in node.get("class", ""))
    assert float(interval.attrib["x1"][:-1]) == pytest.approx(place(min(a, b)), abs=0.01)
    assert float(interval.attrib["x2"][:-1]) == pytest.approx(place(max(a, b)), abs=0.01)
    (mark,) = (node for node in svg.iter("svg") if node.find("path") is not None)
    assert float(mark.attrib["x"][:-1]) == pytest.approx(place(value), abs=0.01)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6, unique=True))
def test_each_marked_value_has_a_line_of_text_of_its_own(values: list[float]) -> None:
    chart = RowChart("k", "t", "s", "alt", [], [Marker(v, f"floor {k}") for k, v in enumerate(values)])
    texts = list(ET.fromstring(f"<svg>{draw('head', chart)}</svg>").iter("text"))
    rows = sorted(float(text.attrib["y"]) for text in texts)
    assert len(rows) == len(values)
    assert all(b - a >= 16 for a, b in itertools.pairwise(rows))
    assert 0 < rows[0] <= rows[-1] < chart.head_height


def test_numbers_can_be_read_on_every_step_on_light_and_dark_screens() -> None:
    blocks = CSS.partition("prefers-color-scheme: dark")
    dark_block = blocks[2].partition("}\n}")[0]
    light, dark = heat_colours(blocks[0]), heat_colours(dark_block)
    assert light == list(HEAT)
    ink, paper = (re.findall(rf"--{name}: (#\w{{6}})", dark_block)[0] for name in ("ink", "paper"))
    ink_light, paper_light = (re.findall(rf"--{name}: (#\w{{6}})", blocks[0])[0] for name in ("ink", "paper"))
    assert heat_colours_of(PICTURE) == light
    for k in range(7):
        assert contrast(light[k], paper_light if k >= DARK_FROM else ink_light) >= 4.5
        assert contrast(dark[k], paper if k >= DARK_FROM else ink) >= 4.5
        assert (f"td.q{k}" in CSS) is (k >= DARK_FROM)


def test_the_steps_differ_in_lightness_and_so_survive_grey_and_any_eye() -> None:
    dark = heat_colours(CSS.partition("prefers-color-scheme: dark")[2])
    assert [luminance(c) for c in HEAT] == sorted((luminance(c) for c in HEAT), reverse=True)
    assert [luminance(c) for c in dark] == sorted(luminance(c) for c in dark)
    assert all(contrast(a, b) > 1.12 for a, b in itertools.pairwise(HEAT))


def heat(rows: int, columns: tuple[str, ...]) -> HeatChart:
    squares = [[Square(0.5, "50", "n = 9")] * len(columns)] * rows
    return HeatChart("k", "t", "s", "alt", [f"row {i}" for i in range(rows)], columns, squares, (0.0, 1.0), True)


def test_markup_in_names_is_drawn_as_text() -> None:
    line = Line(BAD, [Dot(0.5)], BAD, BAD, BAD, aside=BAD)
    rows = RowChart("k", BAD, BAD, BAD, [line], [Marker(0.2, BAD)], [BAD, BAD])
    for chart in (heat(1, (BAD, "x")), rows):
        for svg in [*drawn(chart), chart_file(chart)]:
            assert "<script" not in svg
            ET.fromstring(svg)


def test_equal_earth_is_that_of_its_authors() -> None:
    # Šavrič, Patterson and Jenny (2018): at the poles y = ±1.3173627591574 and the map is 2.7066299836960 to one side.
    project = make_world.project
    assert project(0, 90)[1] == pytest.approx(-1.3173627591574)
    assert project(180, 0)[0] == pytest.approx(2.7066299836960, abs=1e-9)
    assert project(0, 0) == (0.0, 0.0)
    assert math.hypot(*project(10, 10)) == pytest.approx(math.hypot(*project(-10, -10)))


def test_the_outlines_are_small_and_say_whose_they_are() -> None:
    assets = resources.files("kapwa.report").joinpath("assets")
    assert assets.joinpath("world.json").read_text(encoding="utf-8") == make_world.text()
    assert len(draw("outlines")) < 60_000
    notice = assets.joinpath("NOTICE").read_text(encoding="utf-8")
    assert "Natural Earth" in notice
    assert "ISC" in notice


@pytest.mark.parametrize("culture", SCRIPTS[:4])
def test_labels_of_every_script_stand_in_the_file_as_text_in_their_font(culture: str) -> None:
    run = make_run("نموذج-عربي", cultures=(culture,))
    view = arrange([run])[0]
    charts = {chart.title: chart for chart in topic_charts(view)}
    svg = chart_file(next(chart for title, chart in charts.items() if title.endswith("topic")))
    for topic in run.scores["topic"].unique():
        assert topic in texts_of(svg)
    assert re.search(r'font-family="&#x27;Noto Sans (Arabic|CJK KR|Ethiopic|Bengali)', svg)
    assert culture in texts_of(chart_file(heat(2, (culture, *(f"c{i}" for i in range(11))))))


@cache
def declared(sheet: str, tag: str, names: tuple[str, ...], what: str) -> str:
    """What the style sheet of a file says of an element with these classes."""
    found = [((0, 0, 0), "")]
    for place, (selectors, body) in enumerate(re.findall(r"([^{}]+){([^{}]*)}", sheet)):
        for element, classes in re.findall(r"(?:^|,)(\w*)((?:\.\w+)*)(?=,|$)", selectors):
            if element in ("", tag) and set(classes.split(".")[1:]) <= set(names):
                value = dict(part.split(":", 1) for part in body.split(";") if part).get(what, "")
                found += [((classes.count("."), len(element) > 0, place), value)] if value else []
    return max(found)[1]


def test_letters_in_files_have_no_outline_but_a_rim_and_no_style_takes_their_font(every: list[Any]) -> None:
    for chart in every:
        tree = ET.fromstring(chart_file(chart))
        sheet = "".join(node.text or "" for node in tree.iter(f"{SVG}style"))
        assert "font-family" not in sheet
        for node in tree.iter(f"{SVG}text"):
            names = tuple(node.get("class", "").split())
            rim = "rim" in names
            assert declared(sheet, "text", names, "stroke") == ("white" if rim else "none")
            assert declared(sheet, "text", names, "paint-order") == ("stroke" if rim else "")


def test_a_renderer_draws_every_part_of_a_file(every: list[Any]) -> None:
    blank = png(
        f'<svg xmlns="{SVG[1:-1]}" width="760" height="600"><rect width="760" height="600" fill="white"/></svg>'
    )
    for kind in ("rows", "heat"):
        chart = next(one for one in every if one.kind == kind)
        svg = chart_file(chart)
        root = ET.fromstring(svg)
        assert chart.title[:40] in texts_of(svg)
        wide, high = struct.unpack(">II", png(svg)[16:24])
        assert (wide, high) == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
        assert len(png(svg)) > 2 * len(blank)


def test_every_figure_is_saved_as_svg_and_png(tmp_path: Path) -> None:
    four = tuple(CULTURES)[:4]
    few = save_figures([make_run(cultures=("Filipino",))], tmp_path / "new" / "folder")
    assert sorted(path.suffix for path in few) == [".png"] * 5 + [".svg"] * 5
    paths = save_figures([wide_run(cultures=four, per_culture=12), choice_run(cultures=four, n=12)], tmp_path)
    for name in ("topic-over-cultures", "confusion"):
        assert any(name in path.stem for path in paths)
    assert all(path.stat().st_size > 500 for path in (*few, *paths))
