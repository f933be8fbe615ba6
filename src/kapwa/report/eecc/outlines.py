"""Country outlines as SVG paths: TopoJSON undone, cut at the 180th meridian, projected to Equal Earth.

Outlines: ``assets/countries-110m.json`` (see ``assets/NOTICE``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from kapwa.report.shapes import project
from kapwa.report.worldmap import outlines

WIDTH = 1000  # of a map in its own units; fine enough for outlines at 1:110 million
_REACH, _NORTH, _SOUTH = 2.7066, 83.7, -56.0  # Equal Earth's half width at scale 1; all land but Antarctica
_SCALE = WIDTH / (2 * _REACH)
HEIGHT = round(_SCALE * (project(0, _SOUTH)[1] - project(0, _NORTH)[1]))
_ANTARCTICA = "010"

Point = tuple[float, float]


@cache
def world_paths() -> Mapping[str, str]:
    """SVG path data of every country but Antarctica, by ISO number (by name where it has none), in whole units."""
    topology = outlines()
    arcs = [_arc(topology["transform"], arc) for arc in topology["arcs"]]
    found = {}
    for shape in topology["objects"]["countries"]["geometries"]:
        if shape.get("id") != _ANTARCTICA:
            name = str(shape.get("id") or shape["properties"]["name"])
            rings = (piece for ring in _rings(shape) for piece in _pieces(_joined(arcs, ring)))
            found[name] = "".join(_path(ring) for ring in rings)
    return found


def on_map(longitude: float, latitude: float) -> tuple[int, int]:
    """Where a place falls, in whole units."""
    x, y = project(longitude, latitude)
    return round(WIDTH / 2 + _SCALE * x), round(_SCALE * (y - project(0, _NORTH)[1]))


def _arc(transform: Mapping[str, Any], arc: Sequence[Sequence[int]]) -> list[Point]:
    """Undo TopoJSON's differences and rounding: longitude and latitude."""
    (kx, ky), (dx, dy) = transform["scale"], transform["translate"]
    points, x, y = [], 0, 0
    for step in arc:
        x, y = x + step[0], y + step[1]
        points.append((x * kx + dx, y * ky + dy))
    return points


def _rings(shape: Mapping[str, Any]) -> Iterator[Sequence[int]]:
    for polygon in shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]:
        yield from polygon


def _joined(arcs: Sequence[Sequence[Point]], ring: Sequence[int]) -> list[Point]:
    """The points of a ring, with longitudes that go on past 180° instead of jumping back."""
    points: list[Point] = []
    for index in ring:
        part = arcs[index] if index >= 0 else arcs[~index][::-1]
        points += part[1:] if points else part
    turn, whole = 0.0, [points[0]]
    for (before, _), (after, latitude) in pairwise(points):
        turn += 360.0 if before - after > 180 else -360.0 if after - before > 180 else 0.0
        whole.append((after + turn, latitude))
    return whole


def _pieces(ring: Sequence[Point]) -> Iterator[list[Point]]:
    """The ring as it lies between 180° west and 180° east: itself, or its two parts."""
    if all(-180.0 <= x <= 180.0 for x, _ in ring):
        yield list(ring)
        return
    for shift in (-360.0, 0.0, 360.0):
        moved = [(x + shift, y) for x, y in ring]
        cut = _cut([(-x, y) for x, y in _cut(moved)])
        if len(cut) > 2:
            yield [(-x, y) for x, y in cut]


def _cut(ring: Sequence[Point], east: float = 180.0) -> list[Point]:
    """What of a closed ring lies west of a meridian (Sutherland and Hodgman)."""
    kept: list[Point] = []
    for (x0, y0), (x1, y1) in pairwise([*ring, *ring[:1]]):
        if x0 <= east:
            kept.append((x0, y0))
        if (x0 <= east) != (x1 <= east):
            share = (east - x0) / (x1 - x0)
            kept.append((east, y0 + share * (y1 - y0)))
    return kept


def _path(ring: Sequence[Point]) -> str:
    """One closed outline as relative SVG commands; "" where it is smaller than a unit."""
    points = [on_map(*point) for point in ring]
    kept = [points[0], *(after for before, after in pairwise(points) if after != before)]
    if len(set(kept)) < 3:
        return ""
    steps = (f"{x1 - x0} {y1 - y0}" for (x0, y0), (x1, y1) in pairwise(kept))
    return f"M{kept[0][0]} {kept[0][1]}l{' '.join(steps)}z".replace(" -", "-")
