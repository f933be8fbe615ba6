"""Rows of pictures: a box plot or a histogram for each corpus, laid out on the report's canvas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kapwa.report.canvas import COLOURS, COLUMN, COMPACT, HEAT, NARROW, STEP, Canvas, Layout, place_title
from kapwa.report.figures import canvas_svg
from kapwa.report.plots import Dot
from kapwa.report.rows import place_axis
from kapwa.report.text import isolate, label_text, width, wrap

THICK = 12  # pixels a box is high
GAP = 6  # pixels between two boxes of a row
TALL = 34  # pixels the highest bar of a histogram has
AIR = 11  # pixels over and under what a row holds


@dataclass(frozen=True, slots=True)
class Box:
    """One box: 5th and 95th percentile, quartiles, median; or each value as a dot where they are few."""

    low: float
    first: float
    median: float
    third: float
    high: float
    colour: str
    dots: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars over equal bins: (from, to, height in [0, 1]); or each value as a dot where they are few."""

    bars: Sequence[tuple[float, float, float]]
    mean: float
    dots: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class PictureRow:
    """One row: a label, pictures one under the other, the band of chance, and what stands beside."""

    label: str
    pictures: Sequence[Box | Histogram] = ()
    strong: str = ""
    beside: str = ""
    band: tuple[float, float] | None = None
    header: bool = False


@dataclass(frozen=True, slots=True)
class RowPlot:
    """A chart of picture rows. ``legend`` pairs marks ("muted", "accent", "heat", "band", "mean") and words."""

    key: str
    title: str
    subject: str
    alt: str
    rows: Sequence[PictureRow]
    domain: tuple[float, float]
    legend: Sequence[tuple[str, str]]
    zero: bool = False
    measure: str = ""


def draw_rows(plot: RowPlot, *, phone: bool = False, title: bool = False) -> str:
    """Render as SVG text; ``title`` for a file that stands alone."""
    canvas = lay_out_rows(plot, NARROW if phone else COMPACT, title=title)
    return canvas_svg(canvas, title=title, background="white" if title else None)


def lay_out_rows(plot: RowPlot, layout: Layout, *, title: bool) -> Canvas:
    """Place everything of ``plot``."""
    canvas = Canvas(layout, plot.domain)
    y = 0.0
    for row in plot.rows:
        y += _place_row(canvas, row, y)
    canvas.height = y
    if not layout.stacked:
        canvas.bodies = [(0.0, y)]
    place_axis(canvas, share=False)
    _lower_grid(canvas)
    if plot.zero and plot.domain[0] < 0 < plot.domain[1]:
        for body in canvas.bodies:
            canvas.rule((0.0, 0.0), body, "muted", dash=True)
    top = _place_legend(canvas, plot.legend)
    canvas.top = (place_title(canvas, plot, top) if title else top) + 6
    return canvas


def _lower_grid(canvas: Canvas) -> None:
    """Put the grid under the pictures: a line across a box would read as its median."""
    half = (canvas.value_at(0.5) - canvas.value_at(0.0)) if canvas.grid else 0.0
    lines = [
        {"x": line["x"] - half, "x2": line["x"] + half, "y": line["y"], "y2": line["y2"], "colour": line["colour"]}
        for line in canvas.grid
    ]
    canvas.rects[:0] = lines
    canvas.grid.clear()


def _place_row(canvas: Canvas, row: PictureRow, y: float) -> float:
    """Draw one row at ``y`` and return its height."""
    layout = canvas.layout
    left, right = -layout.label, layout.plot + layout.side
    if row.header:
        canvas.write(left, y + 24, isolate(label_text(row.label)), style="muted bold small")
        return 36.0
    canvas.rule((canvas.value_at(left), canvas.value_at(right)), (y, y), "rule")
    tall = _height(row)
    if layout.stacked:
        start = y + _stacked_label(canvas, row, y)
        height = start - y + tall + AIR
        canvas.bodies.append((start - 4, y + height - 4))
        span = canvas.bodies[-1]
    else:
        labels = [isolate(part) for part in wrap(label_text(row.label), int((layout.label - 20) / COLUMN), 2)]
        height = max(tall + 2 * AIR, STEP * max(len(labels), 2) + 14.0)
        start = y + (height - tall) / 2
        _beside(canvas, row, labels, y + height / 2)
        span = (y + 1, y + height)
    if row.band is not None:
        low, high = (canvas.pixels(end) for end in row.band)
        canvas.rect((low, high), span, COLOURS["rule"])
    for picture in row.pictures:
        if isinstance(picture, Box):
            _box(canvas, picture, start)
            start += THICK + GAP
        else:
            _bars(canvas, picture, start)
    return height


def _height(row: PictureRow) -> float:
    boxes = sum(isinstance(picture, Box) for picture in row.pictures)
    return float(boxes * (THICK + GAP) - GAP) if boxes else float(TALL)


def _beside(canvas: Canvas, row: PictureRow, labels: Sequence[str], middle: float) -> None:
    """Write a wide row's label and numbers around its middle."""
    first = middle - STEP * (len(labels) - 1) / 2
    for k, text in enumerate(labels):
        canvas.write(-canvas.layout.label, first + STEP * k, text)
    side = canvas.layout.plot + 18
    lift = STEP / 2 if row.beside else 0.0
    canvas.write(side, middle - lift, row.strong, style="ink bold")
    canvas.write(side, middle + lift, row.beside, style="muted small")


def _stacked_label(canvas: Canvas, row: PictureRow, y: float) -> float:
    """Write a phone row's label and numbers over its pictures; return the room taken."""
    plot = canvas.layout.plot
    room = int((plot - COLUMN * width(row.strong) - 12) / COLUMN)
    labels = [isolate(part) for part in wrap(label_text(row.label), room, 2)]
    for k, text in enumerate(labels):
        canvas.write(0, y + 15 + STEP * k, text)
    canvas.write(plot, y + 15, row.strong, "right", "ink bold small")
    lines = len(labels)
    if row.beside:
        apart = width(labels[-1]) + width(row.beside) + 2 > plot / COLUMN or lines == 1
        lines += apart
        canvas.write(plot, y + 15 + STEP * (lines - 1), row.beside, "right", "muted small")
    return 15.0 + STEP * (lines - 1) + 16


def _box(canvas: Canvas, box: Box, y: float) -> None:
    """Draw a box between its quartiles, a line at its median, thin lines to its percentiles; or dots."""
    middle = y + THICK / 2
    if box.dots:
        for value in box.dots:
            canvas.dot(Dot(value, None, None, 0, box.colour != "accent"), middle)
        return
    canvas.rule((box.low, box.high), (middle, middle), box.colour)
    for end in (box.low, box.high):
        canvas.rule((end, end), (middle - 3, middle + 3), box.colour)
    first, third = canvas.pixels(box.first), canvas.pixels(box.third)
    canvas.rect((first, max(third, first + 1.5)), (y, y + THICK), COLOURS[box.colour])
    # Rules are a pixel thin: three beside each other show the median on any colour.
    at = canvas.pixels(box.median)
    for shift in (-0.7, 0.0, 0.7):
        value = canvas.value_at(at + shift)
        canvas.rule((value, value), (y + 0.5, y + THICK - 0.5), "paper")


def _bars(canvas: Canvas, histogram: Histogram, y: float) -> None:
    """Draw bars that stand on the row's foot, and the mean over them; or dots."""
    foot = y + TALL
    if histogram.dots:
        for value in histogram.dots:
            canvas.dot(Dot(value, None, None), y + TALL / 2)
        return
    for start, end, share in histogram.bars:
        if share > 0:
            ends = (canvas.pixels(start) + 0.4, canvas.pixels(end) - 0.4)
            canvas.rect(ends, (foot - max(1.5, TALL * share), foot), HEAT[3])
    canvas.rule((histogram.mean, histogram.mean), (y - 5, foot), "ink")


def _place_legend(canvas: Canvas, entries: Sequence[tuple[str, str]]) -> float:
    """Write what each mark means beside it, on as many lines as needed; return the room taken."""
    left, room = -canvas.layout.label, canvas.layout.total - 12
    lines: list[list[tuple[float, str, str]]] = [[]]
    x = 0.0
    for kind, words in entries:
        wide = 22 + 0.9 * COLUMN * width(words) + 16
        if x and x + wide > room:
            lines.append([])
            x = 0.0
        lines[-1].append((x, kind, words))
        x += wide
    top = STEP * len(lines) + 8.0
    for i, line in enumerate(lines):
        y = -top + STEP * i + STEP / 2
        for x, kind, words in line:
            _SYMBOLS[kind](canvas, left + x + 7, y)
            canvas.write(left + x + 20, y, words, style="muted small")
    return top


def _patch(colour: str) -> Callable[[Canvas, float, float], None]:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x - 7, x + 7), (y - 5, y + 5), colour)

    return draw


def _mean_mark(canvas: Canvas, x: float, y: float) -> None:
    canvas.rule((canvas.value_at(x), canvas.value_at(x)), (y - 7, y + 7), "ink")


_SYMBOLS: dict[str, Callable[[Canvas, float, float], None]] = {
    "muted": _patch(COLOURS["faint"]),
    "accent": _patch(COLOURS["accent"]),
    "heat": _patch(HEAT[3]),
    "band": _patch(COLOURS["rule"]),
    "mean": _mean_mark,
}
