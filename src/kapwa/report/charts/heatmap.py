"""How alike the texts of every two identities are: a matrix in the order of its tree, drawn as one small image.

Names and tree are SVG around the image; CSS makes the picture fit.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.charts.drawing import draw
from kapwa.report.charts.elements import HEAT
from kapwa.report.view.analysis import AnalysisView, CorpusView
from kapwa.report.wording import label_text, truncate

Floats = npt.NDArray[np.float64]
MOST_SHOWN = 300  # identities in one picture: more cannot be told apart on a screen
LEAST_SHOWN = 3
MOST_GROUPS = 8
LEVELS = 16  # colours: as many as four bits of a pixel hold
CELL = 13  # pixels of a cell at full size, so that every name can be read
LONGEST = 24  # characters of a name
_CHARACTER = 0.46  # cells kept for a character of a name
_NAMES = {"bleu": "Mean BLEU of every two", "wed": "Mean word edit distance of every two"}


class HeatmapFrame(NamedTuple):
    """Where things stand, in cells: names take ``room`` at the left and on top, the tree ends at ``left``."""

    room: float
    left: float
    wide: float
    tall: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """One corpus by one measure: names in the order of the tree, values between them, the tree, the groups.

    ``values``: mean BLEU, or mean WED (a distance); the diagonal is NaN. ``tree``: for each junction the rows and the
    distances of its four corners. ``left_out``: identities not shown.
    """

    corpus: CorpusView
    measure: str
    names: tuple[str, ...]
    values: Floats
    tree: Sequence[tuple[Sequence[float], Sequence[float]]]
    groups: Sequence[tuple[str, ...]]
    left_out: int

    @property
    def closeness(self) -> Floats:
        """Values that are high where texts are alike."""
        return self.values if self.measure == "bleu" else 1.0 - self.values

    @property
    def range(self) -> tuple[float, float]:
        """The closeness that gets the lightest and the darkest colour: all but the outermost hundredths."""
        values = self.closeness[np.isfinite(self.closeness)]
        low, high = (float(q) for q in np.quantile(values, [0.01, 0.99]))
        return (low, high) if high > low else (low, low + 0.01)

    @property
    def ends(self) -> list[str]:
        """The values that these two stand for."""
        return [wording.decimal(close if self.measure == "bleu" else 1.0 - close, 2) for close in self.range]

    @property
    def title(self) -> str:
        """What is shown of every two identities."""
        return _NAMES[self.measure]

    @property
    def labels(self) -> list[str]:
        """Names that fit their room."""
        return [truncate(label_text(name), LONGEST) for name in self.names]

    @property
    def frame(self) -> HeatmapFrame:
        """Room for the longest name, and for a tree that grows with the names."""
        count = len(self.names)
        room = 0.8 + _CHARACTER * min(LONGEST, max(len(label_text(name)) for name in self.names))
        left = room + max(6.0, 0.07 * count)
        return HeatmapFrame(room, left, left + count, room + count)

    @property
    def tree_path(self) -> str:
        """The tree beside the rows as SVG path data: leaves at the names, the root at the picture's edge."""
        # What all pairs share says nothing: the axis starts a little under the closest pair.
        frame, joined = self.frame, [distances[1] for _, distances in self.tree]
        start = min(joined) - 0.15 * (max(joined) - min(joined))
        reach = max(joined) - start or 1.0
        segments = []
        for (first, _, _, last), distances in self.tree:
            steps = [(frame.left - frame.room - 1) * (1 - max(0.0, d - start) / reach) + 0.3 for d in distances]
            a, at, _, b = (f"{step:.3g}" for step in steps)
            segments.append(f"M{a} {frame.room + first:.6g}H{at}V{frame.room + last:.6g}H{b}")
        return "".join(segments)

    @property
    def image(self) -> str:
        """The address of the matrix as PNG."""
        return address(raster(self))


def likenesses(view: AnalysisView, corpus: CorpusView) -> list[Likeness]:
    """The matrices of a corpus, by BLEU and by WED, each in the order of its own tree; [] where nothing is known."""
    frame = view.table("similarity", corpus)
    every = sorted(set(frame["identity_a"]) | set(frame["identity_b"]))
    if len(every) < LEAST_SHOWN:
        return []
    names = shown_names(every)
    index = {name: i for i, name in enumerate(names)}
    between_named = frame.filter(frame["identity_a"].is_in(names) & frame["identity_b"].is_in(names))
    rows = np.array([index[name] for name in between_named["identity_a"]], dtype=np.int64)
    columns = np.array([index[name] for name in between_named["identity_b"]], dtype=np.int64)
    pictures = []
    for measure in ("bleu", "wed"):
        values = np.full((len(names), len(names)), np.nan)
        values[rows, columns] = values[columns, rows] = between_named[measure].cast(float).fill_null(np.nan).to_numpy()
        np.fill_diagonal(values, np.nan)
        if np.isfinite(values).any():
            pictures.append(_ordered(corpus, measure, names, values, len(every) - len(names)))
    return pictures


def shown_names(every: Sequence[str]) -> list[str]:
    """All names, or of too many every so-manieth."""
    if len(every) <= MOST_SHOWN:
        return list(every)
    return [every[k * len(every) // MOST_SHOWN] for k in range(MOST_SHOWN)]


def _ordered(corpus: CorpusView, measure: str, names: Sequence[str], values: Floats, left_out: int) -> Likeness:
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    apart = 1.0 - values if measure == "bleu" else values
    # A pair without a value stands at the mean: it pulls neither way.
    apart = np.where(np.isfinite(apart), apart, np.nanmean(apart))
    np.fill_diagonal(apart, 0.0)
    tree = hierarchy.linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    drawn = hierarchy.dendrogram(tree, no_plot=True)
    order = np.array(drawn["leaves"])
    wanted = min(MOST_GROUPS, len(names) // 5)
    flat = hierarchy.fcluster(tree, wanted, "maxclust") if wanted > 1 else np.ones(len(names), dtype=int)
    groups: dict[int, list[str]] = {}
    for i in order:
        groups.setdefault(int(flat[i]), []).append(names[i])
    return Likeness(
        corpus=corpus,
        measure=measure,
        names=tuple(names[i] for i in order),
        values=values[np.ix_(order, order)],
        # A leaf stands 10 units after the one before, the first at 5.
        tree=[([x / 10 for x in rows], d) for rows, d in zip(drawn["icoord"], drawn["dcoord"], strict=True)],
        groups=[tuple(group) for group in groups.values()] if len(groups) > 1 else [],
        left_out=left_out,
    )


def raster(one: Likeness, scale: int = 1) -> bytes:
    """The matrix as PNG, a pixel a cell (times ``scale``); cells without a value are clear."""
    low, high = one.range
    close = one.closeness
    known = np.isfinite(close)
    level = np.clip((np.where(known, close, low) - low) / (high - low), 0, 1)
    levels = np.where(known, 1 + np.minimum(LEVELS - 2, (level * (LEVELS - 1)).astype(int)), 0).astype(np.uint8)
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
    png_chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", wide, height, 4, 3, 0, 0, 0)),
        (b"PLTE", b"".join(bytes(colour) for colour in palette)),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    chunks = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in png_chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def key_image() -> str:
    """The colours from little to much as a strip of pixels, so that dark screens turn it as they turn the picture."""
    return address(_png(np.arange(1, LEVELS, dtype=np.uint8)[None, :], _palette()))


def file_key(one: Likeness) -> str:
    """What the file is called, without its ending."""
    return f"similarity-{slug(one.corpus.key.task)}-{slug(one.corpus.key.corpus)}-{one.measure}"


def picture_file(one: Likeness) -> str:
    """The picture as a file of its own, at full size, with its title and its colour key."""
    colours = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in _palette()[1:]]
    # Renderers smooth small images: each cell is drawn as large as it will be.
    return draw("likeness_file", one, CELL, address(raster(one, CELL)), colours)


def address(image: bytes) -> str:
    """An address that holds a PNG."""
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"
