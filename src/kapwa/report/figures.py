"""Draw plots with Vega-Lite, offline, as SVG and PNG.

Every colour is one of :data:`kapwa.report.canvas.COLOURS`, so the page restyles a chart for dark screens
with CSS alone, and a saved file looks the same as the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.files import replacing, write_text
from kapwa.report.canvas import COLOURS, NARROW, WIDE, Canvas, Layout
from kapwa.report.contract import RunLike
from kapwa.report.gallery import Plot, every_plot, place
from kapwa.report.text import has_spacing_marks
from kapwa.report.worldmap import MapPlot

if TYPE_CHECKING:
    import altair as alt

BELOW = 30  # pixels under the plot, for the axis labels
MARGIN = 18  # pixels around a file that stands alone
PNG_SCALE = 2.0
Spec = dict[str, Any]
_LONG = re.compile(r"(\d\.\d)\d+")


def save_figures(runs: Sequence[RunLike], folder: Path) -> list[Path]:
    """Write every chart of ``runs`` into ``folder`` as SVG and PNG; return the paths, in reading order.

    Works offline, with the fonts of the system. Each file carries its title. Raises UsageError when there are no
    runs.
    """
    plots = every_plot(runs)
    return save_pictures(((plot.key, draw_svg(plot, title=True, background="white")) for plot in plots), folder)


def save_pictures(pictures: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write pictures (a file name without its ending, and SVG text) as SVG and PNG; return the paths, in order."""
    written = []
    for name, svg in pictures:
        picture = folder / f"{name}.svg"
        write_text(picture, svg)
        raster = folder / f"{name}.png"
        with replacing(raster) as temporary:
            temporary.write_bytes(png(svg))
        written += [picture, raster]
    return written


def png(svg: str) -> bytes:
    """Render SVG text as PNG, twice as large.

    vl-convert's renderer places glyphs wrongly in scripts with spacing vowel signs (Bengali-Assamese, Devanagari,
    Tamil, Burmese, Khmer ...; fixed in resvg by pull request 1043, 2026-04). Where a label is in such a script,
    resvg-py draws instead; elsewhere vl-convert does, because it brings fonts of its own.
    """
    if has_spacing_marks(svg):
        import resvg_py

        return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PNG_SCALE))
    import vl_convert

    image: bytes = vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    return image


def draw_svg(plot: Plot, layout: Layout = WIDE, *, title: bool = False, background: str | None = None) -> str:
    """Render ``plot`` as SVG text: no scripts, no links, no style attributes, text kept as text."""
    svg = canvas_svg(place(plot, layout, title=title), title=title, background=background)
    # A tenth of a pixel is finer than any screen; outlines with thousandths would be a third larger.
    return _LONG.sub(r"\1", svg) if isinstance(plot, MapPlot) else svg


def canvas_svg(canvas: Canvas, *, title: bool = False, background: str | None = None) -> str:
    """Render what was laid out on ``canvas``; ``title`` leaves a margin, for files that stand alone."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(_spec(canvas, title=title, background=background))
    return svg


def phone_svg(plot: Plot) -> str:
    """Render ``plot`` for narrow screens."""
    return draw_svg(plot, NARROW)


def chart(plot: Plot, layout: Layout = WIDE, *, title: bool = False, background: str | None = None) -> alt.LayerChart:
    """Return ``plot`` as an Altair chart, for whoever wants to change it."""
    import altair as alt

    drawn: alt.LayerChart = alt.LayerChart.from_dict(
        _spec(place(plot, layout, title=title), title=title, background=background)
    )
    return drawn


# The specification is written out as Vega-Lite: building and validating it as Altair objects takes ten times longer,
# and a page of many cultures has some fifty charts.


def _spec(canvas: Canvas, *, title: bool, background: str | None) -> Spec:
    layers = [
        *_world(canvas),
        *_rects(canvas),
        *_rules([{**row, "dash": False} for row in canvas.grid], canvas),
        *_rules(canvas.rules, canvas),
        *_intervals(canvas),
        *_points(canvas),
        *_rings(canvas),
        *_texts(canvas),
        *_turned(canvas),
    ]
    edge = MARGIN if title else 0
    padding = {
        "left": canvas.layout.label + edge,
        "right": canvas.layout.side + edge,
        "top": canvas.top + edge,
        "bottom": BELOW + edge,
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": {"view": {"stroke": None}, "aria": False, "autosize": "none"},
        "width": canvas.layout.plot,
        "height": canvas.height,
        "padding": padding,
        "background": background or "transparent",
        "layer": layers,
    }


def _layer(rows: list[dict[str, Any]], mark: Spec, encoding: Spec) -> Spec:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _x(canvas: Canvas) -> Spec:
    scale = {"domain": list(canvas.domain), "nice": False, "zero": False}
    return {"field": "x", "type": "quantitative", "scale": scale, "axis": None}


def _y(canvas: Canvas) -> Spec:
    scale = {"domain": [0, canvas.height], "nice": False, "zero": False, "reverse": True}
    return {"field": "y", "type": "quantitative", "scale": scale, "axis": None}


def _as_is(name: str, kind: str = "nominal") -> Spec:
    """A channel whose field holds what is drawn: a colour, a shape, a size."""
    return {"field": name, "type": kind, "scale": None}


_X2, _Y2 = {"field": "x2"}, {"field": "y2"}
_TEXT = {"field": "text", "type": "nominal"}


def _rects(canvas: Canvas) -> list[Spec]:
    if not canvas.rects:
        return []
    encoding = {"x": _x(canvas), "x2": _X2, "y": _y(canvas), "y2": _Y2, "color": _as_is("colour")}
    return [_layer(canvas.rects, {"type": "rect"}, encoding)]


def _rules(lines: list[dict[str, Any]], canvas: Canvas) -> list[Spec]:
    layers = []
    encoding = {"x": _x(canvas), "x2": _X2, "y": _y(canvas), "y2": _Y2, "color": _as_is("colour")}
    for dash in (False, True):
        rows = [row for row in lines if row["dash"] is dash]
        mark = {"type": "rule", "strokeWidth": 1, "strokeDash": [3, 3] if dash else [1, 0]}
        layers += [_layer(rows, mark, encoding)] if rows else []
    return layers


def _intervals(canvas: Canvas) -> list[Spec]:
    if not canvas.intervals:
        return []
    mark = {"type": "rule", "strokeWidth": 2.2, "strokeCap": "round"}
    encoding = {"x": _x(canvas), "x2": _X2, "y": _y(canvas), "color": _as_is("colour")}
    return [_layer(canvas.intervals, mark, encoding)]


def _points(canvas: Canvas) -> list[Spec]:
    if not canvas.points:
        return []
    mark = {"type": "point", "size": 72, "strokeWidth": 1.8, "opacity": 1}
    channels = {"shape": _as_is("shape"), "fill": _as_is("fill"), "stroke": _as_is("colour")}
    return [_layer(canvas.points, mark, {"x": _x(canvas), "y": _y(canvas), **channels})]


def _written(canvas: Canvas) -> Spec:
    size = _as_is("size", "quantitative")
    return {"x": _x(canvas), "y": _y(canvas), "text": _TEXT, "color": _as_is("colour"), "size": size}


def _texts(canvas: Canvas) -> list[Spec]:
    layers = []
    for (align, weight, font), rows in canvas.texts.items():
        mark = {"type": "text", "align": align, "baseline": "middle", "fontWeight": weight, "font": font}
        layers.append(_layer(rows, mark, _written(canvas)))
    return layers


def _turned(canvas: Canvas) -> list[Spec]:
    """Text that runs upwards from where it stands."""
    mark = {"type": "text", "align": "left", "baseline": "middle", "angle": 270}
    return [_layer(rows, {**mark, "font": font}, _written(canvas)) for font, rows in canvas.turned.items()]


def _rings(canvas: Canvas) -> list[Spec]:
    """The rims of texts, drawn under them."""
    rim = {"fill": COLOURS["paper"], "stroke": COLOURS["paper"], "strokeWidth": 3.5, "strokeJoin": "round"}
    layers = []
    for (align, font), rows in canvas.rings.items():
        mark = {"type": "text", "align": align, "baseline": "middle", "font": font, **rim}
        encoding = {key: value for key, value in _written(canvas).items() if key != "color"}
        layers.append(_layer(rows, mark, encoding))
    return layers


def _world(canvas: Canvas) -> list[Spec]:
    """Countries, each in the colour its outline carries."""
    if canvas.world is None:
        return []
    topology, scale, centre = canvas.world
    return [
        {
            "data": {"values": topology, "format": {"type": "topojson", "feature": "countries"}},
            "mark": {"type": "geoshape", "clip": False, "stroke": COLOURS["paper"], "strokeWidth": 0.6},
            "encoding": {"color": _as_is("properties.fill")},
            "projection": {"type": "equalEarth", "scale": scale, "translate": list(centre)},
        }
    ]
