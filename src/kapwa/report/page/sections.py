"""Pages of sentences, charts and tables in a row: of checkpoints (``kapwa track``) and of releases (``kapwa link``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.files import write_text
from kapwa.report import wording
from kapwa.report.charts.elements import HeatChart, RowChart
from kapwa.report.charts.track import track_charts
from kapwa.report.page.html import render
from kapwa.report.tables.linking import LinkedReleases
from kapwa.report.tables.table import PageSection
from kapwa.report.tables.track import track_block
from kapwa.report.view.track import Track


class ChartedSection(NamedTuple):
    """One section: its sentences and its charts."""

    block: PageSection
    charts: Sequence[RowChart | HeatChart]


def write_track(tracks: Sequence[Track], page: Path) -> Path:
    """Write one self-contained page about series of checkpoints, and return its path."""
    several = max(len(track.steps) for track in tracks)
    lead = f"{wording.count(several, 'checkpoint')} of one model, {wording.count(len(tracks), 'task')}."
    sections = [ChartedSection(track_block(track), track_charts(track)) for track in tracks]
    return _written(page, sections, title="Checkpoints", kicker="Kapwa track", lead=lead)


def write_link(linked: LinkedReleases, page: Path) -> Path:
    """Write one self-contained page about two releases, and return its path."""
    view = linked.releases.view
    lead = f"{view.titles[view.main_metric]}{view.variant_words}"
    sections = [ChartedSection(linked.block, ())]
    return _written(page, sections, title="Two releases", kicker="Kapwa link", lead=lead)


def _written(page: Path, sections: Sequence[ChartedSection], *, title: str, kicker: str, lead: str) -> Path:
    html = render("sections.html.j2", ["report.css"], parts=sections, title=title, kicker=kicker, lead=lead)
    write_text(page, html)
    return page
