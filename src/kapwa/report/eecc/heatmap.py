"""The similarity of every two identities as a picture: pixels in one small image, names and tree as SVG around it."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.canvas import COLOURS, HEAT
from kapwa.report.eecc.similarity import Join, Likeness
from kapwa.report.text import clusters, font_for, isolate, label_text, truncate, width

LEVELS = 16  # colours: as many as four bits of a pixel hold
CELL = 13  # pixels of a cell at full size, so that every name can be read
_NARROW = 400  # pixels that a picture of few cells may grow to
READABLE = 46  # identities whose names can be read where the picture fits the page
LONGEST = 24  # columns of a name
_EM = 0.82  # text height in cells
_COLUMN = 0.44  # cells a column of text takes
_NAMES = {"bleu": "Mean BLEU of every two", "wed": "Mean word edit distance of every two"}


def colour_range(one: Likeness) -> tuple[float, float]:
    """The values that get the lightest and the darkest colour: all but the outermost hundredths."""
    values = one.closeness[np.isfinite(one.closeness)]
    low, high = (float(q) for q in np.quantile(values, [0.01, 0.99]))
    return (low, high) if high > low else (low, low + 0.01)


def raster(one: Likeness, scale: int = 1) -> bytes:
    """The matrix as PNG, a pixel a cell (times ``scale``); cells without a value are clear."""
    low, high = colour_range(one)
    close = one.closeness
    known = np.isfinite(close)
    place = np.clip((np.where(known, close, low) - low) / (high - low), 0, 1)
    levels = np.where(known, 1 + np.minimum(LEVELS - 2, (place * (LEVELS - 1)).astype(int)), 0).astype(np.uint8)
    return _png(levels.repeat(scale, axis=0).repeat(scale, axis=1), _palette())


def _palette() -> list[tuple[int, int, int]]:
    """The report's seven heat colours drawn out to as many as there are levels; the first is never seen."""
    seven = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in HEAT], dtype=float)
    at = np.linspace(0, len(HEAT) - 1, LEVELS - 1)
    drawn = np.stack([np.interp(at, np.arange(len(HEAT)), seven[:, k]) for k in range(3)], axis=1)
    return [(255, 255, 255), *((int(r), int(g), int(b)) for r, g, b in np.round(drawn))]


def _png(levels: npt.NDArray[np.uint8], palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Write palette indices (below 16, index 0 clear) as a PNG of four bits a pixel."""
    height, wide = levels.shape
    padded = np.pad(levels, ((0, 0), (0, wide % 2)))
    packed = (padded[:, 0::2] << 4) | padded[:, 1::2]
    rows = b"".join(b"\0" + row.tobytes() for row in packed)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", wide, height, 4, 3, 0, 0, 0)),
        (b"PLTE", b"".join(bytes(colour) for colour in palette)),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    chunks = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where things stand, in cells: names take ``room``, the tree ``tree``, the picture is ``wide`` by ``tall``."""

    room: float
    tree: float
    count: int

    @classmethod
    def of(cls, one: Likeness) -> Frame:
        """The frame of a picture: room for its longest name, and a tree that grows with it."""
        longest = max(width(label_text(name)) for name in one.names)
        return cls(0.8 + _COLUMN * min(LONGEST, longest), max(6.0, 0.07 * len(one.names)), len(one.names))

    @property
    def left(self) -> float:
        """Cells left of the pixels."""
        return self.room + self.tree

    @property
    def wide(self) -> float:
        """Cells of the whole picture across."""
        return self.left + self.count

    @property
    def tall(self) -> float:
        """Cells of the whole picture down."""
        return self.room + self.count


def page_svg(one: Likeness, name: str) -> str:
    """The picture for the page; ``name`` makes its ids unique. Its own size is full size: CSS makes it fit."""
    frame = Frame.of(one)
    # A picture of few cells is drawn larger, up to twice.
    cell = min(2 * CELL, max(CELL, _NARROW / frame.wide))
    return (
        f'<svg viewBox="0 0 {frame.wide:.6g} {frame.tall:.6g}" width="{frame.wide * cell:.0f}" '
        f'height="{frame.tall * cell:.0f}" data-left="{frame.left:.6g}" data-top="{frame.room:.6g}">'
        f"{_inside(one, frame, name, raster(one))}</svg>"
    )


def key_svg() -> str:
    """The colours from little to much as a strip: pixels too, so that dark screens turn it as they turn the picture."""
    image = _png(np.arange(1, LEVELS, dtype=np.uint8)[None, :], _palette())
    return (
        f'<svg viewBox="0 0 {LEVELS - 1} 1" preserveAspectRatio="none" aria-hidden="true"><image class="pixels" '
        f'width="{LEVELS - 1}" height="1" preserveAspectRatio="none" href="{_address(image)}"/></svg>'
    )


def file_key(one: Likeness) -> str:
    """What the file is called, without its ending."""
    return f"similarity-{slug(one.corpus.key.task)}-{slug(one.corpus.key.corpus)}-{one.measure}"


def file_svg(one: Likeness) -> str:
    """The picture as a file of its own, at full size, with its title and its colour key."""
    frame = Frame.of(one)
    font = escape(font_for(""), quote=True)
    low, high = colour_range(one)
    wide, side = max(frame.wide * CELL, 620.0) + 40, frame.tall * CELL
    key = "".join(
        f'<rect x="{k * 14}" y="0" width="14" height="12" fill="#{r:02x}{g:02x}{b:02x}"/>'
        for k, (r, g, b) in enumerate(_palette()[1:])
    )
    # Renderers smooth small images: each cell is drawn as large as it will be.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{side + 160:.0f}">'
        f'<rect width="100%" height="100%" fill="white"/><g font-family="{font}">'
        f'<text x="20" y="36" font-size="19" font-weight="bold" fill="{COLOURS["ink"]}">{_NAMES[one.measure]}</text>'
        f'<text x="20" y="62" font-size="16" fill="{COLOURS["muted"]}"{_special_font(one.corpus.full)}>'
        f"{escape(one.corpus.full)}</text>"
        f'<g transform="translate(20 84) scale({CELL})">{_inside(one, frame, "file", raster(one, CELL))}</g>'
        f'<g transform="translate(20 {84 + side + 16:.0f})" font-size="13" fill="{COLOURS["muted"]}">{key}'
        f'<text x="0" y="30">{end_words(one, low)}</text>'
        f'<text x="{14 * (LEVELS - 1)}" y="30" text-anchor="end">{end_words(one, high)}</text>'
        f'<text x="{14 * (LEVELS - 1) + 12}" y="11">more alike</text></g></g></svg>'
    )


def end_words(one: Likeness, close: float) -> str:
    """A closeness as the value that it stands for."""
    return numbers.decimal(close if one.measure == "bleu" else 1.0 - close, 2)


def _inside(one: Likeness, frame: Frame, name: str, image: bytes) -> str:
    """Tree, names at the left and on top (one list, shown twice), and the pixels."""
    labels = "".join(
        f'<text y="{i + 0.5 + _EM * 0.36:.6g}"{_special_font(text)}>{escape(text)}</text>'
        for i, text in enumerate(isolate(_short(name)) for name in one.names)
    )
    left, top = f"{frame.left:.6g}", f"{frame.room:.6g}"
    return (
        f'<defs><g id="{name}-names">{labels}</g></defs>'
        f'<path class="tree" d="{tree_path(one.joins, frame)}" fill="none" stroke="{COLOURS["faint"]}" '
        'stroke-width="0.12"/>'
        f'<g class="names" font-size="{_EM}" fill="{COLOURS["ink"]}">'
        f'<g text-anchor="end" transform="translate({frame.left - 0.4:.6g} {top})"><use href="#{name}-names"/></g>'
        f'<g transform="translate({left} {frame.room - 0.4:.6g})rotate(-90)"><use href="#{name}-names"/></g></g>'
        f'<image class="pixels" x="{left}" y="{top}" width="{frame.count}" height="{frame.count}" '
        f'image-rendering="optimizeSpeed" preserveAspectRatio="none" href="{_address(image)}"/>'
    )


def _short(name: str) -> str:
    return truncate(label_text(name), LONGEST)


def _special_font(text: str) -> str:
    """A font for names in scripts that need one."""
    return f' font-family="{escape(font_for(text), quote=True)}"' if any(map(_far, clusters(text))) else ""


def _far(cluster: str) -> bool:
    return max(map(ord, cluster)) > 0x24F and not cluster.isspace() and cluster[0].isalpha()


def _address(image: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def tree_path(joins: Sequence[Join], frame: Frame) -> str:
    """The tree beside the rows as SVG path data: leaves at the names, the root at the picture's edge."""
    if not joins:
        return ""
    # What all pairs share says nothing: the axis starts a little under the closest pair.
    start = 0.6 * min(join.distance for join in joins)
    reach = max(join.distance for join in joins) - start or 1.0

    def at(distance: float) -> str:
        return f"{(frame.tree - 1) * (1 - max(0.0, distance - start) / reach) + 0.3:.3g}"

    parts = []
    for join in joins:
        first, last = (f"{frame.room + row:.6g}" for row in join.rows)
        a, b = map(at, join.distances)
        parts.append(f"M{a} {first}H{at(join.distance)}V{last}H{b}")
    return "".join(parts)
