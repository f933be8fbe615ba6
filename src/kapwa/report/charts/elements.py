"""Charts, each drawn once as SVG that fits any screen.

Here stands what a chart holds and where; ``templates/drawing.svg.j2`` draws it. Across, everything is placed in per
cent of the plot; down, in pixels. Colours are classes. So one style sheet fits one drawing to wide screens, phones,
paper and dark screens; the labels beside it are HTML, which the browser wraps. :mod:`kapwa.report.charts.files` puts
the same drawing into files of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import ClassVar, NamedTuple

from markupsafe import Markup

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
SHAPES = {
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

    @property
    def placed(self) -> list[tuple[Dot, float]]:
        """Dots with their pixels below the middle, in the order of drawing: a model each its own line of the row."""
        if self.joined:
            return [(dot, 0.0) for dot in reversed(self.dots)]
        middle = max((dot.series for dot in self.dots), default=0) / 2
        return [(dot, DODGE * (dot.series - middle)) for dot in self.dots]


@dataclass(frozen=True, slots=True)
class Marker:
    """A value marked across all rows: a floor (dashed) or a ceiling (solid)."""

    value: float
    label: str
    ceiling: bool = False

    @property
    def name(self) -> str:
        """Its class."""
        return "ceiling" if self.ceiling else "floor"


@dataclass(frozen=True, slots=True)
class Chart:
    """What every chart has: ``subject`` is whose culture, or which model; ``alt`` the words for the picture."""

    kind: ClassVar = ""
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

    def across(self, value: float) -> float:
        """Where a value stands, in [0, 1]; values beyond the axis are put at its end."""
        low, high = self.domain
        return (min(high, max(low, value)) - low) / (high - low)

    def x(self, value: float) -> str:
        """Where a value stands, in per cent."""
        return f"{100 * self.across(value):.5g}%"

    def wide(self, low: float, high: float, *, share: float = 1.0, least: float = 0.0) -> str:
        """How wide ``share`` of what lies between two values is, in per cent, but never below ``least``."""
        return f"{max(least, 100 * share * (self.across(high) - self.across(low))):.5g}%"

    def shades(self, line: Line) -> list[tuple[float, float, str]]:
        """What is shaded behind a row: from, to, class."""
        start = self.domain[0]
        shades = [(start, end, "zone") for end in (self.band, line.zone) if end is not None]
        shades += [(*line.band, "chance")] if line.band else []
        return [(low, high, name) for low, high, name in shades if self.across(high) > self.across(low)]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The values under the rows, and how they are written."""
        values = ticks(self.domain, share=self.share)
        if self.share:
            return [(value, f"{decimal(100 * value, 0)}%") for value in values]
        return [(value, decimal(value, 4).rstrip("0").rstrip(".") or "0") for value in values]

    @property
    def head_height(self) -> int:
        """Pixels that the labels of marked values take over the rows: a line each, so that none can meet another."""
        return STEP * len(self.markers) + 6 if self.markers else 0

    @property
    def labels(self) -> list[tuple[Marker, int, str, int]]:
        """Marked values with the height of their label, which end of it is at its line, and pixels between these.

        A label at the left stands right of its line, one at the right left of it, one in the middle over it: none can
        leave a phone's plot. The further right at the left (the further left at the right), the lower: few lines cross
        labels.
        """
        position = {marker: self.across(marker.value) for marker in self.markers}
        ordered = sorted(
            self.markers, key=lambda m: (position[m] > 0.55, position[m] if position[m] > 0.55 else -position[m])
        )
        labels = []
        for level, marker in enumerate(ordered):
            anchor, aside = "middle", 0
            if not 0.45 <= position[marker] <= 0.55:
                anchor, aside = ("start", 5) if position[marker] < 0.45 else ("end", -5)
            labels.append((marker, self.head_height - 10 - STEP * level, anchor, aside))
        return labels


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

    @property
    def steps(self) -> list[tuple[float, str]]:
        """The value where each colour begins and the last ends, and how it is written."""
        (low, high), count = self.domain, len(HEAT)
        values = [low + k * (high - low) / count for k in range(count + 1)]
        if not self.share:
            return [(value, f"{value:.3g}") for value in values]
        return [(v, f"{decimal(100 * v, 0)}{'%' if k in (0, count) else ''}") for k, v in enumerate(values)]


def heat_step(value: float, domain: tuple[float, float]) -> int:
    """The colour step of a value: 0 (little) to 6 (much)."""
    low, high = domain
    share = (value - low) / (high - low) if high > low else 0.0
    return min(len(HEAT) - 1, max(0, int(share * len(HEAT))))


def ticks(domain: tuple[float, float], *, share: bool) -> list[float]:
    """Quarters for shares; else three to six round values within ``domain``."""
    if share:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    low, high = domain
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= rough)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def text_svg(x: str | float, y: float, text: str, names: str = "", anchor: str = "start") -> Markup:
    """``text`` on one line; it names a font for its script, for renderers that choose less well than browsers."""
    named = {"class": names, "text-anchor": anchor if anchor != "start" else "", "font-family": font_for(text)}
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in named.items() if value)
    inside = escape(isolate(text))
    if "font-family" in attributes and MINUS not in text:
        # A font of another script may have no Latin letters: they name their own.
        pieces = _LATIN.split(isolate(text))
        inside = "".join(
            f'<tspan font-family="{escape(COMMON_FONTS)}">{escape(piece)}</tspan>' if k % 2 else escape(piece)
            for k, piece in enumerate(pieces)
        )
    return Markup(f'<text x="{x}" y="{y:.6g}"{attributes}>{inside}</text>')  # noqa: S704 - escaped above
