"""The page of checkpoints (``kapwa track``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.files import write_text
from kapwa.report import wording
from kapwa.report.charts.elements import HeatChart, RowChart
from kapwa.report.charts.track import track_charts
from kapwa.report.page.html import render
from kapwa.report.tables.table import PageSection
from kapwa.report.tables.track import track_block
from kapwa.report.view.track import Track


class TrackSection(NamedTuple):
    """One task: what is said, and its charts."""

    block: PageSection
    charts: Sequence[RowChart | HeatChart]


def write_track(tracks: Sequence[Track], page: Path) -> Path:
    """Write one self-contained page about series of checkpoints, and return its path."""
    several = max(len(track.steps) for track in tracks)
    lead = f"{wording.count(several, 'checkpoint')} of one model, {wording.count(len(tracks), 'task')}."
    sections = [TrackSection(track_block(track), track_charts(track)) for track in tracks]
    write_text(page, render("track.html.j2", ["report.css"], parts=sections, lead=lead))
    return page
