"""World maps: every outline once in a page, each map a list of references to them.

Outlines: ``assets/world.json``, made from Natural Earth by ``tools/make_world.py`` (see ``assets/NOTICE``). States too
small for an outline, parts of states, and regions that are no state are points.
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
from kapwa.languages import places
from kapwa.report import wording
from kapwa.report.charts import Chart, heat_step, text_svg
from kapwa.report.heat import heat_domain
from kapwa.report.view import TaskView

PARTIAL = "drawn towards the mean as far as noise explains"
LEAST_PLACES = 4  # with fewer, a map says less than a line of text
_UNNUMBERED = {"XKX": "Kosovo"}  # outlines that carry no ISO number, by the name they have

_BELOW = 18  # from one point to the next of several cultures in one place

Place = str | tuple[int, int]  # the id of an outline, or a point on the map


class Spot(NamedTuple):
    """A place with a value: its colour class, what pointing at it tells, and a label for regions."""

    place: Place
    colour: str
    told: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class MapChart(Chart):
    """A world map. ``steps`` pairs colour classes and what they span; or ``domain`` gives a scale of seven colours."""

    kind: ClassVar = "map"
    spots: Sequence[Spot]
    absent: Sequence[str]
    domain: tuple[float, float] = (0.0, 1.0)
    share: bool = True
    steps: Sequence[tuple[str, str]] = ()
    heading: str = ""  # what stands before the title where a map stands alone


def map_charts(view: TaskView) -> list[MapChart]:
    """The first headline metric on a map, one for each model, all on one colour scale; [] where few can be placed.

    Scores are drawn towards their mean as far as noise explains them: a map shows colours without their intervals.
    """
    info, what, found = view.metrics[view.metric], view.titles[view.metric], []
    if view.many and view.compared(view.metric).top is not None:
        what += f": {view.compared(view.metric).words}"
    title = f"{what}, on the map ({PARTIAL})"
    for i in range(len(view.runs)):
        worths = [(subject.label, view.pooled_value_and_rank(i, subject, view.metric)) for subject in view.subjects]
        found.append({label: worth[0] for label, worth in worths if worth is not None})
    placed = [[value for label, value in values.items() if place_of(label) is not None] for values in found]
    if max(map(len, placed), default=0) < LEAST_PLACES:
        return []
    domain = heat_domain([value for values in placed for value in values], info)
    charts = []
    for i, values in enumerate(found):
        lead = f"World map of {what}, {view.labels[i]}, {PARTIAL}"
        told = {label: f"{label} {wording.amount(value, info, 0)}" for label, value in values.items()}
        spots: list[Spot] = []
        for label, text in told.items():
            place = place_of(label)
            while not isinstance(place, str | None) and place in [spot.place for spot in spots]:
                place = (place[0], place[1] + _BELOW)
            if place is not None:
                colour = f"q{heat_step(values[label], domain)}"
                spots.append(Spot(place, colour, text, "" if isinstance(place, str) else text))
        if spots:
            charts.append(
                MapChart(
                    key=f"{view.slug}-{slug(view.labels[i])}-map-{i}",
                    title=title,
                    subject=view.labels[i],
                    alt=f"{lead}. {'; '.join(told.values())}.",
                    spots=spots,
                    absent=[label for label in values if place_of(label) is None],
                    domain=domain,
                    share=wording.is_share(info),
                )
            )
    return charts


@cache
def world() -> Mapping[str, Any]:
    """The asset: size, ``paths`` (SVG path data by id), ``codes`` (ids by name), points of ``regions``, ``states``."""
    found: Mapping[str, Any] = json.loads(
        resources.files("kapwa.report").joinpath("assets", "world.json").read_text(encoding="utf-8")
    )
    return found


def place_of(name: str) -> Place | None:
    """Where a culture is, by its name in the data; None for names that are no known place.

    A part of a country, such as "Nigeria (Hausa)", is a point at its capital, for the outline is the whole country's.
    """
    wanted = name.casefold()
    for region in (wanted, wanted.rpartition(" (")[0]):  # "Assam (English)" is in Assam
        if region in world()["regions"]:
            return tuple(world()["regions"][region])
    if wanted in world()["codes"]:
        return str(world()["codes"][wanted])
    for text in (wanted, wanted.rpartition(" (")[0]):
        found = places.resolve(text, attribute="country")
        if isinstance(found, places.Place) and places.fold(text) != places.fold(
            found.identity
        ):  # "Filipino" is no place
            return place_of_code(found.iso3) if text == wanted else tuple(world()["states"][found.iso3])
    return None


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
    parts, labels = ['<use href="#world" class="land"/>'], []
    for spot in chart.spots:
        told = f"<title>{escape(spot.told)}</title>"
        if isinstance(spot.place, str):
            parts.append(f'<use href="#iso-{escape(slug(spot.place))}" class="{spot.colour}">{told}</use>')
            continue
        x, y = spot.place
        labels.append(f'<circle cx="{x}" cy="{y}" r="7" class="{spot.colour}">{told}</circle>')
        if spot.label:
            # Left of the point in the eastern half, right of it in the western: a label stays inside on phones.
            side, anchor = (-13, "end") if x > 0.45 * world()["width"] else (13, "start")
            labels.append(text_svg(str(x + side), y + 5, spot.label, "ink rim", anchor))
    return "".join(parts + labels)
