"""Charts as files of their own: the drawing of the page with labels as SVG text, fixed colours, and as PNG."""

from __future__ import annotations

import logging
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from kapwa.files import replacing, write_text
from kapwa.report import comparisons
from kapwa.report.charts import (
    DARK_FROM,
    DODGE,
    STEP,
    Chart,
    HeatChart,
    RowChart,
    axis_svg,
    head_height,
    head_svg,
    heat_step,
    key_svg,
    row_svg,
    scale_svg,
    text_svg,
)
from kapwa.report.page import charts_of
from kapwa.report.view import arrange
from kapwa.report.wording import COMMON_FONTS, label_text
from kapwa.report.worldmap import MapChart, definitions, map_svg, world
from kapwa.runs.directory import Run
from kapwa.runs.systems import Named

PNG_SCALE = 2
_MARGIN = 20  # pixels around a picture
log = logging.getLogger(__name__)


def save_figures(runs: Sequence[Run], folder: Path, same: Named | None = None) -> list[Path]:
    """Write every chart of ``runs`` into ``folder`` as SVG and PNG; return the paths, in reading order.

    Works offline, with the fonts of the system. Each file carries its title. Raises UsageError when there are no
    runs.
    """
    return save_pictures(((chart.key, chart_file(chart)) for chart in every_chart(runs, same)), folder)


def every_chart(runs: Sequence[Run], same: Named | None = None) -> list[Chart]:
    """Every chart of ``runs``, in reading order; raise UsageError when there are no runs."""
    drawn = [charts_of(view, comparisons.contrast_tables(view)) for view in arrange(runs, same)]
    return [chart for parts in drawn for part in parts.values() for chart in part]


def save_pictures(pictures: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write pictures (a file name without its ending, and SVG text) as SVG and PNG; return the paths, in order."""
    if png(_LETTER) == png(_LETTER.replace("A", "")):
        log.warning("This machine has no fonts, so PNG figures have no letters; the SVG files are complete.")
    written = []
    for name, svg in pictures:
        picture, raster = folder / f"{name}.svg", folder / f"{name}.png"
        write_text(picture, svg)
        with replacing(raster) as temporary:
            temporary.write_bytes(png(svg))
        written += [picture, raster]
    return written


_LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="16">A</text></svg>'


def png(svg: str) -> bytes:
    """Render SVG text as PNG, twice as large, with the fonts of the system."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PNG_SCALE))


def file_svg(width: float, height: float, title: Sequence[str], body: str) -> str:
    """A picture of its own: colours inside, its title on top (the first line bold), a margin around."""
    rules = resources.files("kapwa.report").joinpath("templates", "picture.css").read_text(encoding="utf-8")
    lines = [line for text in title for line in textwrap.wrap(label_text(text), 92)[:3]]
    first = len(textwrap.wrap(label_text(title[0]), 92)[:3])
    heads = [text_svg("0", 14 + 18 * k, line, "ink bold" if k < first else "muted") for k, line in enumerate(lines)]
    top = 18 * len(lines) + 14
    wide, tall = width + 2 * _MARGIN, height + top + 2 * _MARGIN
    # The common font stands on the root: a style would win over the font that a text names for its script.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}" '
        f'font-family="{escape(COMMON_FONTS)}" font-size="13" '
        f'viewBox="{-_MARGIN} {-_MARGIN} {wide:.0f} {tall:.0f}"><style>{"".join(rules.splitlines())}</style>'
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{wide:.0f}" height="{tall:.0f}" fill="white"/>{"".join(heads)}'
        f'<svg y="{top}" width="{width:.0f}" height="{height:.0f}" overflow="visible">{body}</svg></svg>'
    )


def _wrapped(text: str, most: int, lines: int = 2) -> list[str]:
    """``text`` in lines that fit a fixed column of a file; characters of East Asia are twice as wide."""
    plain = label_text(text)
    wide = any(unicodedata.east_asian_width(char) in "WF" for char in plain)
    return textwrap.wrap(plain, most * 6 // 11 if wide else most, max_lines=lines, placeholder="…") or [""]


def chart_file(chart: Chart) -> str:
    """A chart as SVG text of its own, with its title: a function of the chart alone."""
    title = (chart.title, chart.subject)
    if isinstance(chart, RowChart):
        return file_svg(720, *_row_file(chart, title))
    if isinstance(chart, HeatChart):
        return file_svg(720, *_heat_file(chart, title))
    assert isinstance(chart, MapChart)
    return _map_file(chart)


def _row_file(chart: RowChart, title: Sequence[str]) -> tuple[float, Sequence[str], str]:
    """Height, title and body of a chart of rows: labels at the left, numbers at the right."""
    parts: list[str] = []
    for k, (kind, name) in enumerate(chart.keys):
        symbol = f'<svg y="{STEP * k}" width="16" height="16" overflow="visible">{key_svg(kind)}</svg>'
        parts.append(symbol + text_svg("22", STEP * k + 12, _wrapped(name, 90, 1)[0], "ink small"))
    y = float(STEP * len(chart.keys) + 4 * bool(chart.keys))

    def plot(inside: str, high: float) -> str:
        return f'<svg x="200" y="{y:.5g}" width="392" height="{high:.5g}" overflow="visible">{inside}</svg>'

    parts.append(plot(head_svg(chart), head_height(chart)))
    y += head_height(chart)
    for line in chart.lines:
        if line.header:
            parts.append(text_svg("0", y + 26, line.label, "muted bold small"))
            y += 38
            continue
        names = _wrapped(f"{line.label} · {line.aside}" if line.aside else line.label, 26)
        high = max(DODGE * chart.units(line) + 12.0, STEP * (len(names) + bool(line.below)) + 10.0)
        parts.append(f'<line class="rule" x2="720" y1="{y:.5g}" y2="{y:.5g}"/>{plot(row_svg(chart, line), high)}')
        first = y + high / 2 - STEP * (len(names) + bool(line.below) - 1) / 2 + 4.5
        grey = "muted" if line.muted and not line.joined else "ink"
        parts += [text_svg("0", first + STEP * k, name, grey) for k, name in enumerate(names)]
        parts += [text_svg("0", first + STEP * len(names), line.below, "muted small")] if line.below else []
        small = y + high / 2 + 4 + 8.5 * (bool(line.strong) and not chart.compact)
        strong = "muted small" if line.muted else "ink bold small"
        above = small - STEP * (not chart.compact)
        parts += [text_svg("604", above, line.strong, strong)] if line.strong else []
        parts.append(text_svg("654" if line.strong and chart.compact else "604", small, line.beside, "muted tiny"))
        y += high
    parts.append(plot(axis_svg(chart), 20))
    return y + 24, title, "".join(parts)


def _heat_file(chart: HeatChart, title: Sequence[str]) -> tuple[float, Sequence[str], str]:
    """Height, title and body of a heat map: heads run upwards."""
    wide, high, top = min(96.0, 570 / len(chart.columns)), 36.0 if chart.noted else 24.0, 150
    size = "muted tiny" if chart.bare else "muted small"
    parts = []
    for j, name in enumerate(chart.columns):
        turned = f'<g transform="translate({150 + (j + 0.5) * wide + 4:.4g} {top - 6})rotate(-90)">'
        parts.append(f"{turned}{text_svg('0', 0, _wrapped(name, 22, 1)[0], size)}</g>")
    for i, (name, squares) in enumerate(zip(chart.rows, chart.squares, strict=True)):
        y = top + i * high
        parts.append(text_svg("0", y + high / 2 + 4, _wrapped(name, 20, 1)[0], "ink small"))
        for j, square in enumerate(squares):
            if square is None:
                continue
            x, step = 150 + j * wide, heat_step(square.value, chart.domain)
            ink = "paper" if step >= DARK_FROM else "ink"
            size = f'width="{wide - 1:.4g}" height="{high - 1:.4g}"'
            parts.append(f'<rect class="q{step}" x="{x:.5g}" y="{y:.5g}" {size}/>')
            lift = 2 if chart.noted and square.small else -4
            middle = f"{x + wide / 2:.5g}"
            shown = "" if chart.bare else square.text
            parts += [text_svg(middle, y + high / 2 - lift, shown, f"{ink} small", "middle")] if shown else []
            parts += [text_svg(middle, y + high / 2 + 11, square.small, f"{ink} tiny", "middle")] if lift == 2 else []
    y = top + high * len(chart.rows) + 10
    parts.append(f'<svg x="150" y="{y}" width="322" height="24">{scale_svg(chart.domain, share=chart.share)}</svg>')
    return y + 28, title, "".join(parts)


def _map_file(chart: MapChart) -> str:
    """A map with the outlines it refers to, and its colours below."""
    width, height = world()["width"], world()["height"]
    body = f'<g class="map">{definitions()}{map_svg(chart)}</g>'
    wide = width / max(6, len(chart.steps))
    for k, (name, words) in enumerate(chart.steps):
        body += f'<rect class="{name}" x="{k * wide:.5g}" y="{height + 14}" width="{wide - 4:.5g}" height="12"/>'
        body += text_svg(f"{k * wide:.5g}", height + 44, words, "muted")
    return file_svg(width, height + 50, (chart.heading + chart.title, chart.subject), body)
