"""World maps of τ by country: every outline once in the page, each map a list of references to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import NamedTuple

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.canvas import COLOURS
from kapwa.report.eecc.outlines import HEIGHT, WIDTH, on_map, world_paths
from kapwa.report.eecc.places import SMALL, UNNUMBERED
from kapwa.report.eecc.view import MEASURES, AnalysisView, Corpus, Row
from kapwa.report.text import font_for, isolate, label_text

STEPS = 4  # colours on each side of zero
# Ochre for opposite orders, teal for like ones; named in analysis.css, which restyles them for dark screens.
BELOW = ("#ecd9b8", "#d9b677", "#b98a35", "#8a5a0c")
ABOVE = ("#cfe6e3", "#93c8c5", "#459aa0", "#0b5f67")
_KEY = 44  # units of the colour key under a map that stands alone
_TITLE = 74


class Place(NamedTuple):
    """A country on the map: its code, what is told of it, its value."""

    iso3: str
    told: str
    value: float


@dataclass(frozen=True, slots=True)
class TauMap:
    """Mean τ by country for one corpus, values table and measure. ``step``: how much one colour spans."""

    key: str
    corpus: Corpus
    title: str
    alt: str
    places: Sequence[Place]
    absent: Sequence[str]
    step: float


def tau_maps(view: AnalysisView) -> list[TauMap]:
    """Every map of the corrected τ, all on one colour scale."""
    found = [
        (corpus, values, measure, rows)
        for corpus in view.corpora
        for values in view.values
        for measure in view.measures
        if (rows := _rows(view, corpus, values, measure))
    ]
    step = colour_step(max((abs(row["tau"]) for *_, rows in found for row in rows), default=0.0))
    return [_map(view, (corpus, values, measure), rows, step) for corpus, values, measure, rows in found]


def colour_step(most: float) -> float:
    """How much one of four colours spans, so that they reach ``most``: a round number."""
    return next((size for size in (0.02, 0.025, 0.05, 0.1, 0.15, 0.2) if STEPS * size >= most), 0.25)


def _rows(view: AnalysisView, corpus: Corpus, values: str, measure: str) -> list[Row]:
    rows = view.rows("anchors", corpus, values=values, measure=measure, estimator="corrected")
    return [row for row in rows if numbers.known(row["tau"])]


def _map(view: AnalysisView, kind: tuple[Corpus, str, str], rows: Sequence[Row], step: float) -> TauMap:
    corpus, values, measure = kind
    survey = view.values_words(values)
    ordered = sorted(rows, key=lambda row: -row["tau"])
    placed = [Place(row["iso3"], told(row), row["tau"]) for row in ordered if drawable(row["iso3"])]
    absent = [country_words(row) for row in ordered if not drawable(row["iso3"])]
    title = f"{MEASURES.get(measure, measure)[:1].upper()}{MEASURES.get(measure, measure)[1:]}, {survey}"
    ends = f"highest {told(ordered[0])}, lowest {told(ordered[-1])}"
    return TauMap(
        key=f"map-{slug(corpus.key.task)}-{slug(corpus.key.corpus)}-{slug(values)}-{measure}",
        corpus=corpus,
        title=title,
        alt=f"World map of mean τ by country, {title}, {corpus.full}: {len(ordered)} countries, {ends}.",
        places=placed,
        absent=absent,
        step=step,
    )


def told(row: Row) -> str:
    """A country with its τ and interval: "Japan 0.21 (0.14 to 0.28)"."""
    value = f"{country_words(row)} {numbers.decimal(row['tau'], 2)}"
    if not (numbers.known(row["low"]) and numbers.known(row["high"])):
        return value
    return f"{value} ({numbers.decimal(row['low'], 2)} to {numbers.decimal(row['high'], 2)})"


def country_words(row: Row) -> str:
    """The country of a row, or who was asked about where none is known."""
    return isolate(label_text(row["country"] or row["identity"]))


def colour_class(value: float, step: float) -> str:
    """The class of a value's colour: "a0" to "a3" from zero up, "b0" to "b3" from zero down."""
    place = min(STEPS - 1, int(abs(value) / step + 1e-9))
    return f"{'b' if value < 0 else 'a'}{place}"


def colour_of(name: str) -> str:
    """The colour that a class has in files."""
    return (ABOVE if name[0] == "a" else BELOW)[int(name[1])]


@cache
def _numeric() -> Mapping[str, str]:
    """The id of a country's outline in the page, by alpha-3 code."""
    import iso3166

    drawn = set(world_paths())
    known = {one.alpha3: one.numeric for one in iso3166.countries}
    return {code: number for code, number in {**known, **UNNUMBERED}.items() if number in drawn}


def drawable(iso3: str | None) -> bool:
    """Whether a country can be put on the map."""
    return iso3 is not None and (iso3 in _numeric() or iso3 in SMALL)


def definitions() -> str:
    """The outlines as SVG definitions, to stand once in the page."""
    paths = "".join(f'<path id="iso-{escape(slug(name))}" d="{data}"/>' for name, data in world_paths().items() if data)
    return f'<svg class="outlines" width="0" height="0" aria-hidden="true"><defs><g id="world">{paths}</g></defs></svg>'


def page_svg(one: TauMap) -> str:
    """The map as SVG that refers to :func:`definitions`; each country tells its value when pointed at."""
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}"><use href="#world" class="land"/>']
    for place in one.places:
        number = _numeric().get(place.iso3)
        name, words = colour_class(place.value, one.step), f"<title>{escape(place.told)}</title>"
        if number is not None:
            parts.append(f'<use href="#iso-{escape(slug(number))}" class="{name}">{words}</use>')
        else:
            x, y = on_map(*SMALL[place.iso3])
            parts.append(f'<circle cx="{x}" cy="{y}" r="7" class="{name}">{words}</circle>')
    return "".join(parts) + "</svg>"


def scale_steps(maps: Sequence[TauMap]) -> list[tuple[str, str]]:
    """The colours that are used and what each spans, from low to high."""
    if not maps:
        return []
    step = maps[0].step
    values = [place.value for one in maps for place in one.places]
    used = {colour_class(value, step) for value in values}
    order = [f"b{k}" for k in reversed(range(STEPS))] + [f"a{k}" for k in range(STEPS)]
    shown = [name for name in order if name in used]
    if not shown:
        return []
    first, last = order.index(shown[0]), order.index(shown[-1])
    return [(name, _spans(name, step)) for name in order[first : last + 1]]


def _spans(name: str, step: float) -> str:
    k, digits = int(name[1]), 3 if step < 0.05 and not math.isclose(step, 0.02) else 2
    near, far = numbers.decimal(k * step, digits), numbers.decimal((k + 1) * step, digits)
    if name[0] == "a":
        return f"{near} to {far}" if k < STEPS - 1 else f"{near} and more"
    return f"−{far} to {'−' if k else ''}{near}" if k < STEPS - 1 else f"−{near} and less"


def file_svg(one: TauMap, scale: Sequence[tuple[str, str]]) -> str:
    """The map as a file of its own: colours inside, title above, colour key below."""
    fills = dict.fromkeys(world_paths(), COLOURS["land"])
    spots = []
    for place in one.places:
        colour = colour_of(colour_class(place.value, one.step))
        number = _numeric().get(place.iso3)
        if number is not None:
            fills[number] = colour
        else:
            x, y = on_map(*SMALL[place.iso3])
            spots.append(f'<circle cx="{x}" cy="{y}" r="7" fill="{colour}" stroke="{COLOURS["ink"]}"/>')
    shapes = "".join(
        f'<path d="{data}" fill="{fills[name]}" stroke="{COLOURS["paper"]}" stroke-width="0.8"/>'
        for name, data in world_paths().items()
    )
    tall = HEIGHT + _TITLE + _KEY + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{tall}" '
        f'viewBox="-20 -20 {WIDTH + 40} {tall}">'
        f'<rect x="-20" y="-20" width="{WIDTH + 40}" height="{tall}" fill="white"/>'
        f"{_text(0, 18, f'Mean τ by country: {one.title}', 22, 'ink', bold=True)}"
        f"{_text(0, 46, one.corpus.full, 19, 'muted')}"
        f'<g transform="translate(0 {_TITLE})">{shapes}{"".join(spots)}</g>'
        f'<g transform="translate(0 {_TITLE + HEIGHT})">{_key(scale)}</g></svg>'
    )


def _key(scale: Sequence[tuple[str, str]]) -> str:
    wide = WIDTH / max(6, len(scale))
    return "".join(
        f'<rect x="{k * wide:.1f}" y="6" width="{wide - 4:.1f}" height="12" fill="{colour_of(name)}"/>'
        + _text(k * wide, 38, words, 16, "muted")
        for k, (name, words) in enumerate(scale)
    )


def _text(x: float, y: float, words: str, size: int, colour: str, *, bold: bool = False) -> str:
    font = escape(font_for(words), quote=True)
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-family="{font}" fill="{COLOURS[colour]}"{weight}>'
        f"{escape(words)}</text>"
    )
