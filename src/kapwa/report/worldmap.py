"""World maps: every outline once in a page, each map a list of references to them.

Outlines: ``assets/world.json``, made from Natural Earth by ``tools/make_world.py`` (see ``assets/NOTICE``). States too
small for an outline are points.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any, ClassVar, NamedTuple

from kapwa.files import slug
from kapwa.report.charts import Chart

_UNNUMBERED = {"XKX": "Kosovo"}  # outlines that carry no ISO number, by the name they have

Place = str | tuple[int, int]  # the id of an outline, or a point on the map


class Spot(NamedTuple):
    """A place with a value: its colour class, and what pointing at it tells."""

    place: Place
    colour: str
    told: str


@dataclass(frozen=True, slots=True)
class MapChart(Chart):
    """A world map. ``steps`` pairs colour classes and what they span."""

    kind: ClassVar = "map"
    spots: Sequence[Spot]
    absent: Sequence[str]
    steps: Sequence[tuple[str, str]] = ()
    heading: str = ""  # what stands before the title where a map stands alone


@cache
def world() -> Mapping[str, Any]:
    """The asset: size, ``paths`` (SVG path data by id), points of ``states``."""
    found: Mapping[str, Any] = json.loads(
        resources.files("kapwa.report").joinpath("assets", "world.json").read_text(encoding="utf-8")
    )
    return found


@cache
def place_of_code(iso3: str | None) -> Place | None:
    """Where a country is, by its ISO 3166-1 alpha-3 code; None where it cannot be put on the map."""
    import iso3166

    country = iso3166.countries_by_alpha3.get(iso3 or "")
    found = _UNNUMBERED.get(iso3 or "") or (country.numeric if country else "")
    point = world()["states"].get(iso3)
    return found if found in world()["paths"] else tuple(point) if point else None


def definitions() -> str:
    """The outlines as SVG definitions, to stand once in a page or file."""
    paths = "".join(f'<path id="iso-{escape(slug(name))}" d="{data}"/>' for name, data in world()["paths"].items())
    return f'<defs><g id="world">{paths}</g></defs>'


def map_svg(chart: MapChart) -> str:
    """What stands in an SVG element of the asset's width and height; refers to :func:`definitions`."""
    parts = ['<use href="#world" class="land"/>']
    for spot in chart.spots:
        told = f"<title>{escape(spot.told)}</title>"
        if isinstance(spot.place, str):
            parts.append(f'<use href="#iso-{escape(slug(spot.place))}" class="{spot.colour}">{told}</use>')
            continue
        x, y = spot.place
        parts.append(f'<circle cx="{x}" cy="{y}" r="7" class="{spot.colour}">{told}</circle>')
    return "".join(parts)
