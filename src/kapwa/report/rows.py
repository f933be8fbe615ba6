"""Lay an interval plot out on a canvas: rows with labels and dots, marked values, legend, axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kapwa.report.canvas import COLOURS, COLUMN, COMPACT, STEP, Canvas, Layout, place_title
from kapwa.report.numbers import decimal
from kapwa.report.plots import Dot, IntervalPlot, Line, Marker
from kapwa.report.text import isolate, label_text, truncate, width, wrap

DODGE = 13  # pixels between the dots of two models in one row
Key = int | Literal["zone", "top"]


def lay_out(plot: IntervalPlot, layout: Layout, *, title: bool) -> Canvas:
    """Place everything of ``plot``; ``title`` writes its title on top, for files that stand alone."""
    if plot.compact and not layout.stacked:
        layout = COMPACT
    canvas = Canvas(layout, plot.domain)
    y = 0.0
    for line in plot.lines:
        series = 1 if line.joined else len(plot.series)
        y += _place_line(canvas, line, y, series, compact=plot.compact)
    canvas.height = y
    if not layout.stacked:
        canvas.bodies = [(0.0, y)]
    place_axis(canvas, share=plot.share)
    top = _place_markers(canvas, plot.markers)
    for start, end in canvas.bodies if plot.band is not None else ():
        ends = {"x": plot.domain[0], "x2": plot.band}
        canvas.rects.append({**ends, "y": start, "y2": end, "colour": COLOURS["band"]})
    entries = [*enumerate(plot.series if len(plot.series) > 1 else ())]
    top = _place_legend(canvas, [*entries, *_row_keys(plot)], top)
    if title:
        top = place_title(canvas, plot, top)
    canvas.top = top + 6
    return canvas


def _place_line(canvas: Canvas, line: Line, y: float, series: int, *, compact: bool = False) -> float:
    """Draw one row at ``y`` and return its height."""
    left, right = -canvas.layout.label, canvas.layout.plot + canvas.layout.side
    edge = (canvas.value_at(left), canvas.value_at(right))
    if line.header:
        canvas.write(left, y + 26, line.label, style="muted bold small")
        return 38
    canvas.rule(edge, (y, y), "rule")
    place = _stacked_line if canvas.layout.stacked else _compact_line if compact else _wide_line
    return place(canvas, line, y, max(1, series))


def _label_lines(line: Line, columns: int) -> list[str]:
    label = f"{line.label} · {line.aside}" if line.aside else line.label
    return [isolate(part) for part in wrap(label_text(label), columns)]


def _wide_line(canvas: Canvas, line: Line, y: float, series: int) -> float:
    left, side = -canvas.layout.label, canvas.layout.plot + 18
    labels = _label_lines(line, int((canvas.layout.label - 22) / COLUMN))
    texts = STEP * (len(labels) + bool(line.below))
    height = max(texts, DODGE * series, 2 * STEP if line.strong else STEP) + 16.0
    middle = y + height / 2
    first = middle - texts / 2 + STEP / 2
    ink = "muted" if line.muted else "ink"
    for k, text in enumerate(labels):
        canvas.write(left, first + STEP * k, text, style=ink)
    if line.below:
        canvas.write(left, first + STEP * len(labels), line.below, style="muted small")
    if line.strong:
        canvas.write(side, middle - STEP / 2, line.strong, style=f"{ink} bold")
        canvas.write(side, middle + STEP / 2, line.beside, style="muted small")
    else:
        canvas.write(side, middle, line.beside, style="muted small")
    _dots(canvas, line, middle)
    return height


def _compact_line(canvas: Canvas, line: Line, y: float, series: int) -> float:
    """One line of text: label, what stands beside it, dots, value and interval."""
    left, side = -canvas.layout.label, canvas.layout.plot + 16
    height = max(26.0, DODGE * series + 12.0)
    middle = y + height / 2
    ink = "muted" if line.muted and not line.joined else "ink"
    room = canvas.layout.label - 16 - (6.2 * width(line.aside) + 8 if line.aside else 0)
    canvas.write(left, middle, isolate(truncate(label_text(line.label), int(room / COLUMN))), style=ink)
    canvas.write(-12, middle, isolate(line.aside), "right", "muted small")
    canvas.write(side, middle, line.strong, style="muted small" if line.muted else "ink bold small")
    canvas.write(side + (56 if line.strong else 0), middle, line.beside, style="muted small")
    _row_marks(canvas, line, (y + 1, y + height))
    _dots(canvas, line, middle)
    return height


def _row_marks(canvas: Canvas, line: Line, span: tuple[float, float]) -> None:
    """Shade a row up to its floor, and mark its ceiling."""
    if line.zone is not None:
        canvas.rect((0.0, canvas.pixels(line.zone)), span, COLOURS["band"])
    if line.top is not None:
        canvas.rule((line.top, line.top), (span[0] + 4, span[1] - 4), "ink")


def _stacked_line(canvas: Canvas, line: Line, y: float, series: int) -> float:
    right = canvas.layout.plot
    beside = f"{line.strong} ({line.beside})" if line.strong and line.beside else line.strong or line.beside
    labels = _label_lines(line, int((canvas.layout.plot - COLUMN * width(beside) - 12) / COLUMN))
    ink = "muted" if line.muted and not line.joined else "ink"
    first = y + 15
    for k, text in enumerate(labels):
        canvas.write(0, first + STEP * k, text, style=ink)
    bold = line.strong and not (line.joined and line.muted)
    canvas.write(right, first, beside, "right", f"{ink} bold small" if bold else "muted small")
    if line.below:
        canvas.write(0, first + STEP * len(labels), line.below, style="muted small")
    head = 15 + STEP * (len(labels) - 1 + bool(line.below))
    body = DODGE * series + 14.0
    canvas.bodies.append((y + head + 11, y + head + body + 8))
    _row_marks(canvas, line, canvas.bodies[-1])
    _dots(canvas, line, y + head + 9 + body / 2)
    return head + body + 8


def _dots(canvas: Canvas, line: Line, middle: float) -> None:
    """Spread the dots of a row around its middle, by series, so that no two overlap; or join them on one line."""
    if line.joined:
        ends = sorted(dot.value for dot in line.dots)
        if len(ends) > 1:
            canvas.intervals.append({"x": ends[0], "x2": ends[-1], "y": middle, "colour": COLOURS["faint"]})
        for dot in reversed(line.dots):
            canvas.dot(dot, middle)
        return
    count = max((dot.series for dot in line.dots), default=0) + 1
    for dot in line.dots:
        canvas.dot(dot, middle + DODGE * (dot.series - (count - 1) / 2))


def _place_markers(canvas: Canvas, markers: Sequence[Marker]) -> float:
    """Draw marked values with labels above; return the space taken."""
    labels = [_marker_label(canvas, marker) for marker in sorted(markers, key=lambda m: -m.value)]
    levels = _levels(labels)
    for label, level in zip(labels, levels, strict=True):
        y = -10 - STEP * level
        canvas.write(label.start, y, label.text, style=f"{'ink' if label.marker.ceiling else 'muted'} small")
        _draw_marker(canvas, label.marker, y - 6)
    return STEP * (max(levels) + 1) + 4 if levels else 0.0


class _Label(NamedTuple):
    """The label of a marker: its text, where its line is, and from where to where it reaches, in pixels."""

    marker: Marker
    text: str
    line: float
    start: float
    end: float

    def spans(self, line: float) -> bool:
        return self.start - 4 < line < self.end + 4

    def overlaps(self, other: _Label) -> bool:
        return self.start < other.end + 8 and other.start < self.end + 8


def _marker_label(canvas: Canvas, marker: Marker) -> _Label:
    """Right of its line; left of it only where it would leave the picture."""
    text = isolate(label_text(marker.label))
    line, wide = canvas.pixels(marker.value), 0.9 * COLUMN * width(text)
    start = line + 5
    if start + wide > canvas.layout.plot + canvas.layout.side:
        start = max(line - 5 - wide, -float(canvas.layout.label))
    return _Label(marker, text, line, start, start + wide)


def _levels(labels: Sequence[_Label]) -> list[int]:
    """Give each label the lowest level that is above every line it spans and free of other labels.

    A label is placed after those whose lines it spans, so that no line runs through a label (two that span each
    other's lines cannot be helped).
    """
    under = [[j for j, o in enumerate(labels) if j != i and one.spans(o.line)] for i, one in enumerate(labels)]
    levels: dict[int, int] = {}
    while len(levels) < len(labels):
        left = [i for i in range(len(labels)) if i not in levels]
        i = next((i for i in left if all(j in levels for j in under[i])), left[0])
        level = max((levels[j] + 1 for j in under[i] if j in levels), default=0)
        while any(taken == level and labels[i].overlaps(labels[j]) for j, taken in levels.items()):
            level += 1
        levels[i] = level
    return [levels[i] for i in range(len(labels))]


def _draw_marker(canvas: Canvas, marker: Marker, top: float) -> None:
    colour = "ink" if marker.ceiling else "muted"
    # One line from the label down; where labels stand between the rows, a piece for the label and one for each row.
    pieces = [(top, canvas.height)] if not canvas.layout.stacked else [(top, -1.0), *canvas.bodies]
    for piece in pieces:
        canvas.rule((marker.value, marker.value), piece, colour, dash=not marker.ceiling)


def place_axis(canvas: Canvas, *, share: bool) -> None:
    """Draw faint grid lines and their labels under the plot."""
    for value in ticks(canvas.domain, share=share):
        for start, end in canvas.bodies:
            canvas.grid.append({"x": value, "x2": value, "y": start, "y2": end, "colour": COLOURS["rule"]})
        text = f"{decimal(100 * value, 0)}%" if share else decimal(value, 4).rstrip("0").rstrip(".")
        canvas.write(canvas.pixels(value), canvas.height + 16, text or "0", "center", "muted small")


def ticks(domain: tuple[float, float], *, share: bool) -> list[float]:
    """Quarters for shares; else three to six round values within ``domain``."""
    if share:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    low, high = domain
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= rough)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _row_keys(plot: IntervalPlot) -> list[tuple[Literal["zone", "top"], str]]:
    """What the shading and the mark of a row mean, where a plot has them."""
    keys: list[tuple[Literal["zone", "top"], str]] = [("zone", plot.zone_key), ("top", plot.top_key)]
    return [(kind, text) for kind, text in keys if text]


def _place_legend(canvas: Canvas, entries: Sequence[tuple[Key, str]], top: float) -> float:
    """Write what each mark means beside it, on as many lines as they need; return the new top."""
    if not entries:
        return top
    left, room = -canvas.layout.label, canvas.layout.total - 20
    rows: list[list[tuple[float, Key, str]]] = [[]]
    x = 0.0
    for k, name in entries:
        text = isolate(wrap(label_text(name), int(room / COLUMN) - 4, 1)[0])
        wide = 22 + COLUMN * width(text) + 14
        if x and x + wide > room:
            rows.append([])
            x = 0.0
        rows[-1].append((x, k, text))
        x += wide
    top += STEP * len(rows) + 8
    for i, row in enumerate(rows):
        y = -top + STEP * i + STEP / 2
        for x, k, text in row:
            _place_symbol(canvas, k, left + x + 7, y)
            canvas.write(left + x + 19, y, text)
    return top


def _place_symbol(canvas: Canvas, kind: Key, x: float, y: float) -> None:
    """Draw the mark of a legend entry: of a model, of a row's shading, or of its ceiling."""
    if kind == "zone":
        canvas.rect((x - 7, x + 7), (y - 6, y + 6), COLOURS["band"])
    elif kind == "top":
        canvas.rule((canvas.value_at(x), canvas.value_at(x)), (y - 6, y + 6), "ink")
    else:
        canvas.dot(Dot(canvas.value_at(x), None, None, int(kind)), y)
