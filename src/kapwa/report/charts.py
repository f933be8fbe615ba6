"""Charts, each drawn once as SVG that fits any screen.

Across, everything is placed in per cent of the plot; down, in pixels. Colours are classes. So one style sheet fits one
drawing to wide screens, phones, paper and dark screens; the labels beside it are HTML, which the browser wraps.
:mod:`kapwa.report.figures` puts the same drawing into files of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import ClassVar, NamedTuple

from kapwa.report.wording import COMMON_FONTS, MINUS, decimal, font_for, isolate

# Seven steps from little to much: one hue, each darker than the last, so that they survive grey and any eye.
HEAT = ("#e2f0ee", "#cbe3e0", "#a8d0ce", "#7bb8b8", "#4c9ca0", "#1e7a81", "#0c565d")
DARK_FROM = 5  # text on this step and on the ones after it is light
# Models in one chart differ in shape and fill as well as colour: they survive grey printing and any eye.
SERIES = (
    ("accent", "circle", True),
    ("ink", "square", True),
    ("accent", "diamond", False),
    ("ink", "circle", False),
    ("accent", "triangle", True),
    ("ink", "diamond", True),
    ("accent", "square", False),
    ("ink", "triangle", False),
)
_SHAPES = {
    "circle": "M-4.8 0a4.8 4.8 0 1 0 9.6 0a4.8 4.8 0 1 0-9.6 0z",
    "square": "M-4.2-4.2h8.4v8.4h-8.4z",
    "diamond": "M0-6l6 6-6 6-6-6z",
    "triangle": "M0-5.6l5.6 10h-11.2z",
}
_LATIN = re.compile(r"([0-9A-Za-zÀ-\u024f][ -\u024f]*)")
STEP = 17  # pixels from one line of text to the next
DODGE = 13  # pixels between the dots of two models in one row
MOST_NUMBERED = 24  # columns of a heat map that have room for numbers
FEW_ITEMS = 10  # what rests on fewer is grey, or in brackets: its interval says little more than "unknown"


class Dot(NamedTuple):
    """One estimate with its interval, a tick at ``partial``; ``series`` numbers the model, ``muted`` greys it."""

    value: float
    low: float | None = None
    high: float | None = None
    series: int = 0
    muted: bool = False
    partial: float | None = None


class Box(NamedTuple):
    """5th percentile, quartiles with the median between them, 95th percentile; or each value, where they are few."""

    low: float
    first: float
    median: float
    third: float
    high: float
    colour: str
    values: Sequence[float] = ()


class Histogram(NamedTuple):
    """Bars over equal bins (from, to, height in [0, 1]) and their mean; or each value, where they are few."""

    bars: Sequence[tuple[float, float, float]]
    mean: float
    values: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a chart: a label, what is drawn, and numbers beside it. A ``header`` row has a label only.

    ``below`` stands under the label, ``aside`` beside it. ``zone`` shades the row up to a value of its own (its
    floor), ``top`` marks one (its ceiling), ``band`` shades between two. The dots of a ``joined`` row stand on one
    line that joins them; ``muted`` greys its number only.
    """

    label: str
    dots: Sequence[Dot] = ()
    below: str = ""
    strong: str = ""
    beside: str = ""
    muted: bool = False
    header: bool = False
    aside: str = ""
    zone: float | None = None
    top: float | None = None
    band: tuple[float, float] | None = None
    joined: bool = False
    boxes: Sequence[Box] = ()
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """A value marked across all rows: a floor (dashed) or a ceiling (solid)."""

    value: float
    label: str
    ceiling: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """What every chart has: ``subject`` is whose culture, or which model; ``alt`` the words for the picture."""

    key: str
    title: str
    subject: str
    alt: str


@dataclass(frozen=True, slots=True)
class RowChart(Chart):
    """Rows on one axis.

    ``compact``: one line of text a row, for many of them. ``band`` shades all rows up to a value, ``zero`` marks 0.
    ``keys``, the legend, pairs a model's number, or "zone", "top", "accent", "faint", "bar", "band", "mean", "partial",
    with its meaning.
    """

    kind: ClassVar = "rows"
    lines: Sequence[Line]
    markers: Sequence[Marker] = ()
    series: Sequence[str] = ()
    domain: tuple[float, float] = (0.0, 1.0)
    share: bool = True
    band: float | None = None
    compact: bool = False
    keys: Sequence[tuple[str, str]] = ()
    zero: bool = False

    def units(self, line: Line) -> int:
        """How high a row is, in steps of 13 pixels over 12."""
        if line.boxes or line.histogram:
            return 4 if line.histogram else min(4, 2 * len(line.boxes))
        return 1 if line.joined else min(len(SERIES), max(1, len(self.series)))


class Square(NamedTuple):
    """One cell: its value, the number printed in it, and what stands small under it."""

    value: float
    text: str
    small: str = ""


@dataclass(frozen=True, slots=True)
class HeatChart(Chart):
    """A matrix of values: rows and columns with names, squares row by row (None: nothing there), the colour scale."""

    kind: ClassVar = "heat"
    rows: Sequence[str]
    columns: Sequence[str]
    squares: Sequence[Sequence[Square | None]]
    domain: tuple[float, float]
    share: bool

    @property
    def noted(self) -> bool:
        """Whether there is room for what stands small in each cell."""
        return len(self.columns) <= 8

    @property
    def bare(self) -> bool:
        """Whether there are more columns than numbers can be printed in: colours alone."""
        return len(self.columns) > MOST_NUMBERED


def heat_step(value: float, domain: tuple[float, float]) -> int:
    """The colour step of a value: 0 (little) to 6 (much)."""
    low, high = domain
    place = (value - low) / (high - low) if high > low else 0.0
    return min(len(HEAT) - 1, max(0, int(place * len(HEAT))))


def ticks(domain: tuple[float, float], *, share: bool) -> list[float]:
    """Quarters for shares; else three to six round values within ``domain``."""
    if share:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    low, high = domain
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= rough)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _scale(domain: tuple[float, float]) -> Callable[[float], str]:
    """Values to per cent across; values beyond the axis are put at its end."""
    low, high = domain
    return lambda value: f"{100 * (min(high, max(low, value)) - low) / (high - low):.5g}%"


def _upright(x: str, name: str, y: tuple[str, str] = ("0", "100%")) -> str:
    return f'<line class="{name}" x1="{x}" x2="{x}" y1="{y[0]}" y2="{y[1]}"/>'


def _mark(x: str, y: float, series: int, *, muted: bool = False) -> str:
    colour, shape, filled = SERIES[series % len(SERIES)]
    names = f"{'faint' if muted else colour} mark{'' if filled else ' hollow'}"
    return f'<svg x="{x}" y="{y:.4g}" overflow="visible"><path class="{names}" d="{_SHAPES[shape]}"/></svg>'


def row_svg(chart: RowChart, line: Line) -> str:
    """The plot of one row: what stands in an SVG element as wide as the plot and as high as the row."""
    x, start, under = _scale(chart.domain), chart.domain[0], list[str]()
    shaded = [(start, chart.band, "zone"), (start, line.zone, "zone")]
    for low, high, name in [*shaded, (*line.band, "chance")] if line.band else shaded:
        if high is not None and (wide := float(x(high)[:-1]) - float(x(low)[:-1])) > 0:
            under.append(f'<rect class="{name}" x="{x(low)}" width="{wide:.5g}%" height="100%"/>')
    under += [_upright(x(value), "grid") for value in ticks(chart.domain, share=chart.share)]
    under += [_upright(x(m.value), "ceiling" if m.ceiling else "floor") for m in chart.markers]
    under += [_upright(x(0.0), "floor")] if chart.zero and start < 0 < chart.domain[1] else []
    under += [_upright(x(line.top), "ceiling", ("15%", "85%"))] if line.top is not None else []
    parts: list[str] = []  # dots, boxes or bars around the middle
    if line.joined and len(line.dots) > 1:
        ends = sorted(dot.value for dot in line.dots)
        parts.append(f'<line class="faint interval" x1="{x(ends[0])}" x2="{x(ends[-1])}"/>')
    count = 1 if line.joined else max((dot.series for dot in line.dots), default=0) + 1
    for dot in reversed(line.dots) if line.joined else line.dots:
        y = 0.0 if line.joined else DODGE * (dot.series - (count - 1) / 2)
        if dot.low is not None and dot.high is not None:
            colour = "faint" if dot.muted else SERIES[dot.series % len(SERIES)][0]
            ends_at = f'x1="{x(dot.low)}" x2="{x(dot.high)}" y1="{y:.4g}" y2="{y:.4g}"'
            parts.append(f'<line class="{colour} interval" {ends_at}/>')
            if dot.partial is not None:
                parts.append(_upright(x(dot.partial), f"{colour} interval", (f"{y - 6:.4g}", f"{y + 6:.4g}")))
        parts.append(_mark(x(dot.value), y, dot.series, muted=dot.muted))
    for k, box in enumerate(line.boxes):
        parts += _box(box, x, 18 * (k - (len(line.boxes) - 1) / 2))
    if line.histogram is not None:
        bars = line.histogram
        parts += [_mark(x(value), 0, 0) for value in bars.values]
        for start, end, share in bars.bars:
            if share > 0:
                high, wide = max(1.5, 34 * share), float(x(end)[:-1]) - float(x(start)[:-1])
                size = f'width="{0.9 * wide:.4g}%" height="{high:.4g}"'
                parts.append(f'<rect class="bar" x="{x(start)}" y="{17 - high:.4g}" {size}/>')
        parts += [] if bars.values else [_upright(x(bars.mean), "ceiling", ("-22", "17"))]
    return "".join(under) + f'<svg y="50%" overflow="visible">{"".join(parts)}</svg>'


def _box(box: Box, x: Callable[[float], str], y: float) -> list[str]:
    """A box between its quartiles, a line at its median, thin lines to its percentiles; or dots."""
    if box.values:
        return [_mark(x(value), y, 0, muted=box.colour != "accent") for value in box.values]
    wide = max(0.4, float(x(box.third)[:-1]) - float(x(box.first)[:-1]))
    return [
        f'<line class="{box.colour}" x1="{x(box.low)}" x2="{x(box.high)}" y1="{y}" y2="{y}"/>',
        *(_upright(x(end), box.colour, (f"{y - 3}", f"{y + 3}")) for end in (box.low, box.high)),
        f'<rect class="{box.colour} box" x="{x(box.first)}" y="{y - 6}" width="{wide:.4g}%" height="12"/>',
        _upright(x(box.median), "median", (f"{y - 6}", f"{y + 6}")),
    ]


def head_height(chart: RowChart) -> int:
    """Pixels that the labels of marked values take over the rows: a line each, so that none can meet another."""
    return STEP * len(chart.markers) + 6 if chart.markers else 0


def head_svg(chart: RowChart) -> str:
    """Labels of marked values, each with a line down to the rows.

    A label at the left stands right of its line, one at the right left of it, one in the middle over it: none can
    leave a phone's plot. The further right at the left (the further left at the right), the lower: few lines cross
    labels, and those stand on a rim of paper.
    """
    x, (low, high) = _scale(chart.domain), chart.domain
    place = {marker: (marker.value - low) / (high - low) for marker in chart.markers}
    ordered = sorted(chart.markers, key=lambda m: (place[m] > 0.55, place[m] if place[m] > 0.55 else -place[m]))
    lines, labels = [], []
    for level, marker in enumerate(ordered):
        y = head_height(chart) - 10 - STEP * level
        name = "ceiling" if marker.ceiling else "floor"
        side = 0 if place[marker] < 0.45 else 2 if place[marker] > 0.55 else 1
        lines.append(_upright(x(marker.value), name, (f"{y - 6 + 12 * (side == 1)}", "100%")))
        words = text_svg(x(marker.value), y + 4, marker.label, f"{name} small rim", ("start", "middle", "end")[side])
        labels.append(f'<svg x="{(5, 0, -5)[side]}" overflow="visible">{words}</svg>')
    return "".join(lines + labels)


def axis_svg(chart: RowChart) -> str:
    """The values under the rows."""
    x, parts = _scale(chart.domain), []
    for value in ticks(chart.domain, share=chart.share):
        text = f"{decimal(100 * value, 0)}%" if chart.share else decimal(value, 4).rstrip("0").rstrip(".") or "0"
        parts.append(text_svg(x(value), 16, text, "muted small", "middle"))
    return "".join(parts)


def key_svg(kind: str) -> str:
    """The mark of a legend entry, around the middle of a square of 16 pixels."""
    if kind.isdigit():
        return f'<svg x="8" y="8" overflow="visible">{_mark("0", 0, int(kind))}</svg>'
    if kind == "partial":
        return _upright("8", "accent interval", ("2", "14"))
    if kind in ("top", "mean"):
        return _upright("8", "ceiling", ("2", "14"))
    name = {"band": "chance", "accent": "accent box", "faint": "faint box"}.get(kind, kind)
    return f'<rect class="{name}" x="1" y="3" width="14" height="10"/>'


def scale_svg(domain: tuple[float, float], *, share: bool) -> str:
    """The seven colours from little to much, with the value where each begins and the last ends."""
    low, high = domain
    parts = []
    for k in range(len(HEAT) + 1):
        value, x = low + k * (high - low) / len(HEAT), f"{100 * k / len(HEAT):.4g}%"
        if k < len(HEAT):
            parts.append(f'<rect class="q{k}" x="{x}" width="{98 / len(HEAT):.4g}%" height="8"/>')
        text = f"{decimal(100 * value, 0)}{'%' if k in (0, len(HEAT)) else ''}" if share else f"{value:.3g}"
        parts.append(text_svg(x, 20, text, "muted tiny", "start" if k == 0 else "end" if k == len(HEAT) else "middle"))
    return "".join(parts)


def text_svg(x: str, y: float, text: str, names: str = "", anchor: str = "start") -> str:
    """``text`` on one line; it names a font for its script, for renderers that choose less well than browsers."""
    told = {"class": names, "text-anchor": anchor if anchor != "start" else "", "font-family": font_for(text)}
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in told.items() if value)
    inside = escape(isolate(text))
    if "font-family" in attributes and MINUS not in text:
        # A font of another script may have no Latin letters: they name their own.
        pieces = _LATIN.split(isolate(text))
        inside = "".join(
            f'<tspan font-family="{escape(COMMON_FONTS)}">{escape(piece)}</tspan>' if k % 2 else escape(piece)
            for k, piece in enumerate(pieces)
        )
    return f'<text x="{x}" y="{y:.6g}"{attributes}>{inside}</text>'
