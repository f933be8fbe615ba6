"""The texts and pairs that the page carries for its explorer: bounded, and safe inside a script element."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from kapwa.report.charts.heatmap import Likeness
from kapwa.report.view.analysis import AnalysisView, CorpusView, topic_words
from kapwa.report.wording import clean, isolate, label_text, pack
from kapwa.value_types import JsonObject, Row

LONGEST = 12_000  # characters of one text: several times the longest story
_ESCAPES = {
    ord(char): f"\\u{ord(char):04x}" for char in ("<", ">", "&", "\u2028", "\u2029")
}  # no "</script>", no "<!--", no line end that an old script would trip over


def script_json(value: object) -> str:
    """Write JSON that is safe inside a script element: nothing in it can end or open an element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


@dataclass(frozen=True, slots=True)
class ExplorerTexts:
    """The texts a page carries, as JSON, and what to say of how many they are."""

    json: str
    shown: int
    total: int

    @property
    def size_words(self) -> str:
        """How many texts of how many the explorer holds."""
        if self.shown == self.total:
            return f"{self.shown:,} texts are in this page"
        return f"{self.shown:,} texts are in this page, of {self.total:,} that the analysis keeps for readers"


def texts_within(view: AnalysisView, room: int) -> ExplorerTexts:
    """Choose texts that take at most ``room`` characters of JSON, as many of each corpus.

    Of a corpus the first samples come first, concept by concept: whole rounds of identities can be compared.
    """
    frames = [_ordered(view, corpus) for corpus in view.corpora]
    total = sum(frame.height for frame in frames)
    filled = [corpus for corpus, frame in zip(view.corpora, frames, strict=True) if frame.height]
    if not filled:
        return ExplorerTexts(script_json({"corpora": []}), 0, total)
    quota = room // len(filled)
    corpora, shown = [], 0
    for corpus, frame in zip(view.corpora, frames, strict=True):
        if frame.height:
            corpus_text, count = _corpus_json(corpus, view.language(corpus), frame, quota)
            corpora += [corpus_text] if count else []
            shown += count
    # Each part is JSON already, written once: its length is what it takes.
    return ExplorerTexts(f'{{"corpora":[{",".join(corpora)}]}}', shown, total)


def _ordered(view: AnalysisView, corpus: CorpusView) -> pl.DataFrame:
    frame = view.table("texts", corpus)
    index_of = {name: k for k, name in enumerate(dict.fromkeys(zip(frame["topic"], frame["concept"], strict=True)))}
    order = [index_of[name] for name in zip(frame["topic"], frame["concept"], strict=True)]
    placed = frame.with_columns(pl.Series("place", order, dtype=pl.Int64))
    return placed.sort("sample", "place", "identity", maintain_order=True)


def _corpus_json(corpus: CorpusView, language: str, frame: pl.DataFrame, quota: int) -> tuple[str, int]:
    """The JSON of one corpus with as many rows as fit into ``quota``, and their number."""
    rows = list(frame.iter_rows(named=True))
    count = len(rows)
    while count:
        text = script_json(_corpus(corpus, language, rows[:count]))
        if len(text) <= quota:
            return text, count
        # Sizes are nearly proportional: a little under the proportion is found in a step or two.
        count = min(count - 1, int(count * quota / len(text) * 0.98))
    return "", 0


def _corpus(corpus: CorpusView, language: str, rows: Sequence[Row]) -> JsonObject:
    concepts = list(dict.fromkeys((row["topic"], row["concept"]) for row in rows))
    identities = sorted({row["identity"] for row in rows})
    concept_at = {name: k for k, name in enumerate(concepts)}
    identity_at = {name: k for k, name in enumerate(identities)}
    texts = [
        [
            concept_at[row["topic"], row["concept"]],
            identity_at[row["identity"]],
            row["sample"],
            clean(row["text"])[:LONGEST],
        ]
        for row in rows
    ]
    return {
        "number": corpus.number,
        "name": corpus.full,
        "language": language,
        "concepts": [f"{label_text(concept)} ({topic_words(topic)})" for topic, concept in concepts],
        "identities": [label_text(name) for name in identities],
        "texts": pack(texts),
    }


def pairs_json(pictures_of: Mapping[int, Sequence[Likeness]]) -> str:
    """Every pair's value in one byte, by corpus and measure, for pointing at the picture: names sorted, upper triangle.

    A byte counts 254ths of the way from the lowest to the highest value; 255 is a pair without one.
    """
    encoded = {}
    for number, pictures in pictures_of.items():
        if pictures:
            names = sorted(pictures[0].names)
            measures = {one.measure: _bytes(one, names) for one in pictures}
            encoded[str(number)] = {"names": [label_text(name) for name in names], **measures}
    return script_json(encoded)


def _bytes(one: Likeness, names: Sequence[str]) -> JsonObject:
    at = {name: i for i, name in enumerate(one.names)}
    order = np.array([at[name] for name in names])
    values: npt.NDArray[np.float64] = one.values[np.ix_(order, order)][np.triu_indices(len(names), 1)]
    known = np.isfinite(values)
    low, high = float(values[known].min()), float(values[known].max())
    levels = np.where(known, (np.where(known, values, low) - low) / (high - low or 1.0) * 254, 255)
    data = base64.b64encode(np.round(levels).astype(np.uint8).tobytes()).decode()
    return {"low": round(low, 6), "high": round(high, 6), "data": data}


def example(view: AnalysisView) -> JsonObject | None:
    """Two texts side by side, for readers without scripts: the first concept that has texts of two identities.

    They are those at the ends of the alphabet.
    """
    for corpus in view.corpora:
        for (topic, concept), rows in _ordered(view, corpus).group_by("topic", "concept", maintain_order=True):
            if rows["identity"].n_unique() < 2:
                continue
            first = rows.row(0, named=True)
            last = rows.filter(pl.col("sample") == first["sample"]).row(-1, named=True)
            if first["identity"] == last["identity"]:
                last = rows.filter(pl.col("identity") != first["identity"]).row(0, named=True)
            return {
                "corpus": corpus.full,
                "concept": f"{isolate(label_text(str(concept)))} ({topic_words(str(topic))})",
                "language": view.language(corpus),
                "sides": [
                    (isolate(label_text(row["identity"])), clean(row["text"])[:LONGEST]) for row in (first, last)
                ],
            }
    return None
