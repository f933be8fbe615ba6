"""World maps: every outline once in a page, each map a list of references to them.

Outlines: ``assets/world.json``, made from Natural Earth by ``tools/make_world.py`` (see ``assets/NOTICE``). States too
small for an outline are points.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import ClassVar, NamedTuple

from kapwa.report.charts.elements import Chart
from kapwa.value_types import Row

_UNNUMBERED = {"XKX": "Kosovo"}  # outlines that carry no ISO number, by the name they have

Place = str | tuple[int, int]  # the id of an outline, or a point on the map


class Spot(NamedTuple):
    """A place with a value: its colour class, and what pointing at it tells."""

    place: Place
    colour: str
    title: str


@dataclass(frozen=True, slots=True)
class MapChart(Chart):
    """A world map. ``steps`` pairs colour classes and what they span."""

    kind: ClassVar = "map"
    spots: Sequence[Spot]
    absent: Sequence[str]
    steps: Sequence[tuple[str, str]] = ()
    heading: str = ""  # what stands before the title where a map stands alone


@cache
def world() -> Row:
    """The asset: size, ``paths`` (SVG path data by id), points of ``states``."""
    picture: Row = json.loads(
        resources.files("kapwa.report").joinpath("assets", "world.json").read_text(encoding="utf-8")
    )
    return picture


@cache
def place_of_code(iso3: str | None) -> Place | None:
    """Where a country is, by its ISO 3166-1 alpha-3 code; None where it cannot be put on the map."""
    import iso3166

    country = iso3166.countries_by_alpha3.get(iso3 or "")
    number = _UNNUMBERED.get(iso3 or "") or (country.numeric if country else "")
    point = world()["states"].get(iso3)
    return number if number in world()["paths"] else tuple(point) if point else None
