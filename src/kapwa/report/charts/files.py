"""Charts as files of their own: the drawing of the page with labels as SVG text, fixed colours, and as PNG."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from kapwa.files import replacing, write_text
from kapwa.report.charts.drawing import draw, wrapped
from kapwa.report.charts.elements import DODGE, STEP, Chart, Line, RowChart
from kapwa.report.charts.task import charts_of
from kapwa.report.view import comparisons
from kapwa.report.view.tasks import arrange
from kapwa.report.wording import COMMON_FONTS
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import Named

PNG_SCALE = 2
log = logging.getLogger(__name__)


def save_figures(runs: Sequence[Run], folder: Path, same: Named | None = None) -> list[Path]:
    """Write every chart of ``runs`` into ``folder`` as SVG and PNG; return the paths, in reading order.

    Works offline, with the fonts of the system. Each file carries its title. Raises UsageError when there are no
    runs.
    """
    return save_pictures(((chart.key, chart_file(chart)) for chart in every_chart(runs, same)), folder)


def every_chart(runs: Sequence[Run], same: Named | None = None) -> list[Chart]:
    """Every chart of ``runs``, in reading order; raise UsageError when there are no runs."""
    views = arrange(runs, same)
    return [chart for view in views for chart in charts_of(view, comparisons.contrast_tables(view)).every]


def save_pictures(pictures: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write pictures (a file name without its ending, and SVG text) as SVG and PNG; return the paths, in order."""
    if png(_LETTER) == png(_LETTER.replace(">A<", "><")):
        fonts = COMMON_FONTS.replace("'", "")
        log.warning("No font of %s is here, so PNG figures have no letters; the SVG files are complete.", fonts)
    written = []
    for name, svg in pictures:
        picture, raster = folder / f"{name}.svg", folder / f"{name}.png"
        write_text(picture, svg)
        with replacing(raster) as temporary:
            temporary.write_bytes(png(svg))
        written += [picture, raster]
    return written


# In the fonts of the pictures: text without a family is drawn by few machines.
_LETTER = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{COMMON_FONTS}">'
    '<text y="16">A</text></svg>'
)


def png(svg: str) -> bytes:
    """Render SVG text as PNG, twice as large, with the fonts of the system."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PNG_SCALE))


def chart_file(chart: Chart) -> str:
    """A chart as SVG text of its own, with its title: a function of the chart alone."""
    if isinstance(chart, RowChart):
        return draw("rows_file", chart, [_file_line(chart, line) for line in chart.lines])
    return draw(f"{chart.kind}_file", chart)


def _file_line(chart: RowChart, line: Line) -> tuple[Line, list[str], float]:
    """A line with its label in lines of text, and its height in pixels."""
    if line.header:
        return line, [], 38
    names = wrapped(f"{line.label} · {line.aside}" if line.aside else line.label, 26)
    return line, names, max(DODGE * chart.units(line) + 12, STEP * (len(names) + bool(line.below)) + 10)
