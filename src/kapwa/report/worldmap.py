"""A map of the world by culture, as plain data: which country has which value, and where regions lie.

Outlines: ``assets/countries-110m.json`` (Natural Earth; see ``assets/NOTICE``). Countries are found by the name in the
data. Regions that are no state, and states too small for the outlines, are points with a label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.heat import heat_domain
from kapwa.report.view import TaskView

LEAST_PLACES = 4  # with fewer, a map says less than a line of text

# ISO 3166-1 numeric codes of names that the outlines spell otherwise.
_ALIASES = {
    "us": "840", "usa": "840", "united states": "840", "uk": "826", "great britain": "826", "britain": "826",
    "korea": "410", "republic of korea": "410", "dprk": "408", "czech republic": "203", "ivory coast": "384",
    "burma": "104", "north macedonia": "807", "türkiye": "792", "viet nam": "704", "swaziland": "748",
    "eswatini": "748", "drc": "180", "dr congo": "180", "bosnia and herzegovina": "070", "east timor": "626",
    "south sudan": "728", "dominican republic": "214", "central african republic": "140", "uae": "784",
    "equatorial guinea": "226", "solomon islands": "090", "western sahara": "732",
}  # fmt: skip
# Longitude and latitude in degrees of where people live in regions without an outline of their own.
_POINTS = {
    "assam": (92.9, 26.2),
    "west java": (107.6, -6.9),
    "northern nigeria": (8.5, 11.8),
    "hong kong": (114.2, 22.3),
    "singapore": (103.8, 1.35),
    "bahrain": (50.55, 26.05),
    "malta": (14.4, 35.9),
    "mauritius": (57.55, -20.3),
    "catalonia": (1.6, 41.8),
    "basque country": (-2.6, 43.0),
    "scotland": (-4.2, 56.8),
    "wales": (-3.8, 52.3),
    "quebec": (-71.9, 47.5),
    "tamil nadu": (78.4, 11.0),
    "kerala": (76.5, 10.2),
    "west bengal": (88.0, 23.2),
}


class Area(NamedTuple):
    """A country with its value."""

    code: str
    value: float


class Spot(NamedTuple):
    """A region without an outline: where it lies (longitude, latitude), what it is called, its value."""

    at: tuple[float, float]
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class MapPlot:
    """A world map: countries and points with values, the colour scale, and who could not be placed."""

    key: str
    title: str
    subject: str
    alt: str
    areas: Sequence[Area]
    spots: Sequence[Spot]
    domain: tuple[float, float]
    share: bool
    absent: Sequence[str]


@cache
def _outlines_text() -> str:
    return resources.files("kapwa.report").joinpath("assets", "countries-110m.json").read_text(encoding="utf-8")


def outlines() -> dict[str, Any]:
    """The outlines as TopoJSON, a fresh copy: 177 countries with ISO 3166-1 numeric ids and a ``name`` property."""
    topology: dict[str, Any] = json.loads(_outlines_text())
    return topology


@cache
def _codes() -> Mapping[str, str]:
    """ISO 3166-1 numeric codes by name, lower-cased."""
    shapes = outlines()["objects"]["countries"]["geometries"]
    return {shape["properties"]["name"].casefold(): shape["id"] for shape in shapes if shape.get("id")} | _ALIASES


def place_of(name: str) -> str | tuple[float, float] | None:
    """The ISO numeric code of a country, or longitude and latitude of a known region; None for other names."""
    wanted = name.casefold()
    return _codes().get(wanted) or _POINTS.get(wanted)


def map_plots(view: TaskView) -> list[MapPlot]:
    """The first headline metric on a map, one for each model, all on one colour scale; [] where few can be placed."""
    if not view.headline:
        return []
    metric = view.headline[0]
    info = view.metrics.get(metric, {})
    found = []
    for i in range(len(view.runs)):
        rows = [(subject.label, view.estimate(i, subject, metric)) for subject in view.subjects]
        found.append({label: row["value"] for label, row in rows if row is not None and numbers.known(row["value"])})
    placed = [{label: value for label, value in values.items() if place_of(label) is not None} for values in found]
    every = [value for values in placed for value in values.values()]
    if max((len(values) for values in placed), default=0) < LEAST_PLACES:
        return []
    domain = heat_domain(every, info)
    return [_map_plot(view, i, values, domain) for i, values in enumerate(found) if placed[i]]


def _map_plot(view: TaskView, run: int, values: Mapping[str, float], domain: tuple[float, float]) -> MapPlot:
    metric = view.headline[0]
    info = view.metrics.get(metric, {})
    areas, spots, absent = [], [], []
    for label, value in values.items():
        place = place_of(label)
        if isinstance(place, str):
            areas.append(Area(place, value))
        elif place is not None:
            spots.append(Spot(place, f"{label} {numbers.amount(value, info, 0)}", value))
        else:
            absent.append(label)
    told = "; ".join(f"{label} {numbers.amount(value, info, 0)}" for label, value in values.items())
    return MapPlot(
        key=f"{view.slug}-{slug(view.labels[run])}-map-{run}",
        title=f"{view.title_of(metric)}, on the map",
        subject=view.labels[run],
        alt=f"World map of {view.title_of(metric)}, {view.labels[run]}. {told}.",
        areas=areas,
        spots=spots,
        domain=domain,
        share=numbers.is_share(info),
        absent=absent,
    )
