"""Make ``src/kapwa/report/assets/world.json`` from Natural Earth's outlines: what a report's maps are drawn from.

Usage: python tools/make_world.py

The outlines (``tools/countries-110m.json``, TopoJSON) are undone, cut at the 180th meridian and projected to Equal
Earth, in whole units of a map that is 1,000 wide. The file also holds the capital of every state
(``src/kapwa/languages/places.csv``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kapwa.languages.places import places

ROOT = Path(__file__).parents[1]
ASSET = ROOT / "src/kapwa/report/assets/world.json"
WIDTH = 1000
_REACH, _NORTH, _SOUTH = 2.7066, 83.7, -56.0  # Equal Earth's half width at scale 1; all land but Antarctica
_SCALE = WIDTH / (2 * _REACH)
_ANTARCTICA = "010"

Coordinates = tuple[float, float]


def project(longitude: float, latitude: float) -> Coordinates:
    """Equal Earth coordinates at scale 1 (Šavrič, Patterson and Jenny 2018): x to the east, y to the south."""
    lam, phi = math.radians(longitude), math.radians(latitude)
    t = math.asin(math.sqrt(3) / 2 * math.sin(phi))
    a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
    slope = 9 * a4 * t**8 + 7 * a3 * t**6 + 3 * a2 * t**2 + a1
    return 2 * math.sqrt(3) * lam * math.cos(t) / (3 * slope), -t * (a1 + a2 * t**2 + t**6 * (a3 + a4 * t**2))


_TOP = project(0, _NORTH)[1]
HEIGHT = round(_SCALE * (project(0, _SOUTH)[1] - _TOP))


def on_map(longitude: float, latitude: float) -> tuple[int, int]:
    """Where a place falls, in whole units."""
    x, y = project(longitude, latitude)
    return round(WIDTH / 2 + _SCALE * x), round(_SCALE * (y - _TOP))


def topology() -> dict[str, Any]:
    """The outlines as TopoJSON, Antarctica left out."""
    found: dict[str, Any] = json.loads((ROOT / "tools/countries-110m.json").read_text(encoding="utf-8"))
    shapes = found["objects"]["countries"]["geometries"]
    found["objects"]["countries"]["geometries"] = [shape for shape in shapes if shape.get("id") != _ANTARCTICA]
    return found


def world_paths() -> Mapping[str, str]:
    """SVG path data of every country but Antarctica, by ISO number (by name where it has none), in whole units."""
    world = topology()
    (kx, ky), (dx, dy) = world["transform"]["scale"], world["transform"]["translate"]
    arcs = []
    for arc in world["arcs"]:
        # TopoJSON writes each point as its difference from the one before.
        points, x, y = [], 0, 0
        for step in arc:
            x, y = x + step[0], y + step[1]
            points.append((x * kx + dx, y * ky + dy))
        arcs.append(points)
    found = {}
    for shape in world["objects"]["countries"]["geometries"]:
        polygons = shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]
        rings = (piece for rings in polygons for ring in rings for piece in _pieces(_joined(arcs, ring)))
        found[str(shape.get("id") or shape["properties"]["name"])] = "".join(map(_path, rings))
    return found


def _joined(arcs: Sequence[Sequence[Coordinates]], ring: Sequence[int]) -> list[Coordinates]:
    """The points of a ring, with longitudes that go on past 180° instead of jumping back."""
    points: list[Coordinates] = []
    for index in ring:
        part = arcs[index] if index >= 0 else arcs[~index][::-1]
        points += part[1:] if points else part
    turn, whole = 0.0, [points[0]]
    for (before, _), (after, latitude) in pairwise(points):
        turn += 360.0 if before - after > 180 else -360.0 if after - before > 180 else 0.0
        whole.append((after + turn, latitude))
    return whole


def _pieces(ring: Sequence[Coordinates]) -> Iterator[list[Coordinates]]:
    """The ring as it lies between 180° west and 180° east: itself, or its two parts."""
    if all(-180.0 <= x <= 180.0 for x, _ in ring):
        yield list(ring)
        return
    for shift in (-360.0, 0.0, 360.0):
        moved = [(x + shift, y) for x, y in ring]
        cut = _cut([(-x, y) for x, y in _cut(moved)])
        if len(cut) > 2:
            yield [(-x, y) for x, y in cut]


def _cut(ring: Sequence[Coordinates], east: float = 180.0) -> list[Coordinates]:
    """What of a closed ring lies west of a meridian (Sutherland and Hodgman)."""
    kept: list[Coordinates] = []
    for (x0, y0), (x1, y1) in pairwise([*ring, *ring[:1]]):
        if x0 <= east:
            kept.append((x0, y0))
        if (x0 <= east) != (x1 <= east):
            kept.append((east, y0 + (east - x0) / (x1 - x0) * (y1 - y0)))
    return kept


def _path(ring: Sequence[Coordinates]) -> str:
    """One closed outline as relative SVG commands; "" where it is smaller than a unit."""
    points = [on_map(*point) for point in ring]
    kept = [points[0], *(after for before, after in pairwise(points) if after != before)]
    if len(set(kept)) < 3:
        return ""
    steps = (f"{x1 - x0} {y1 - y0}" for (x0, y0), (x1, y1) in pairwise(kept))
    return f"M{kept[0][0]} {kept[0][1]}l{' '.join(steps)}z".replace(" -", "-")


def world() -> dict[str, Any]:
    """What the asset holds."""
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "paths": {name: path for name, path in world_paths().items() if path},
        "states": {place.iso3: on_map(place.longitude, place.latitude) for place in places()},
    }


def text() -> str:
    """The asset as JSON."""
    return json.dumps(world(), ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    ASSET.write_text(text(), encoding="utf-8")
