"""Texts made up by a program, as many as the paper's, fast: what `benchmarks/paper_size.py` analyses.

Words are made of syllables and used as often as words are (Zipf). The texts of a concept are variants of a few drafts;
each draws words of its own (more at a higher temperature) and words of its identity, and which drafts an identity gets
depends on its place in a made-up space of values, so that there is something to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 16_384
DRAFTS = 4
SENTENCE = 12
OWN_WORDS = 24
DRAWS = 1 << 16
CONFIGURATIONS = tuple((f"made-up-{size}", t) for size in ("2b", "7b", "8b", "13b", "70b") for t in (0.3, 0.7))
CONFIGURATIONS = (*CONFIGURATIONS, ("made-up-api", 0.7))
QA = ("eecc/qa", 86, (48, 42, 40, 30, 29, 26, 24, 23, 23, 21, 15, 13, 11))
STORIES = ("eecc/stories", 846, (15, 10, 10))


@dataclass(frozen=True)
class Shape:
    """Of one file: whose texts, about what, how many, how long."""

    model: str
    temperature: float
    task: str
    length: int
    topics: tuple[int, ...]
    identities: tuple[str, ...]
    samples: int = 5
    seed: int = 0

    @property
    def texts(self) -> int:
        """How many texts the file has."""
        return sum(self.topics) * len(self.identities) * self.samples


def words() -> np.ndarray[Any, Any]:
    """Return tokens as they follow each other in text: each with the space before it, then capitals, then signs."""
    syllables = ["".join(p) for p in product("bdfgklmnprstvz", "aeiou")]
    rng = np.random.default_rng(1)
    made: dict[str, None] = {}
    while len(made) < WORDS:
        made["".join(rng.choice(syllables, rng.integers(1, 4)))] = None
    plain = [f" {word}" for word in made]
    return np.array([*plain, *(f" {word.strip().capitalize()}" for word in plain), ",", "."], dtype=object)


COMMA, STOP = 2 * WORDS, 2 * WORDS + 1


def nationalities(n: int) -> tuple[str, ...]:
    """Return ``n`` names of peoples that are of one country each; beyond those known, made-up ones."""
    from kapwa.languages.places import Place, places, resolve

    known = sorted({place.identity for place in places() if isinstance(resolve(place.identity), Place)})
    return tuple(sorted([*known, *(f"Person {i:05}" for i in range(n))][:n]))


def latent(identities: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return each identity's place in the made-up space of values, (G, 6)."""
    return np.random.default_rng(2).normal(size=(len(identities), 6))


def concept_texts(shape: Shape, concept: int, vocabulary: np.ndarray[Any, Any]) -> list[str]:
    """Return the texts of one concept: those of the first identity, then of the next."""
    rng = np.random.default_rng([shape.seed, concept])
    g, length = len(shape.identities), shape.length
    most = int(length * 1.35)
    zipf = _draws(rng, np.arange(WORDS), 1.05)
    pool = _draws(rng, rng.choice(WORDS, 300, replace=False), 0.8)
    drafts = pool[rng.integers(0, DRAWS, (DRAFTS, most))]
    n = g * shape.samples
    # An identity takes the drafts near its place in the space, sentence by sentence.
    centres = rng.normal(size=(DRAFTS, 6))
    near = np.exp(latent(shape.identities) @ centres.T / 2)
    share = np.repeat(np.cumsum(near / near.sum(axis=1, keepdims=True), axis=1), shape.samples, axis=0)
    slots = most // SENTENCE + 1
    loose = rng.random((n, slots, 1)) if shape.temperature > 0.5 else rng.random((n, 1, 1)).repeat(slots, axis=1)
    draft = (loose > share[:, None, :]).sum(axis=2).clip(max=DRAFTS - 1)
    places = np.arange(most)
    ids = drafts[draft[:, places // SENTENCE], places]
    own = (rng.random((n, most)) < 0.03) * np.repeat(np.arange(1, g + 1), shape.samples)[:, None]
    ids = np.where(own > 0, (own * OWN_WORDS + rng.integers(0, OWN_WORDS, (n, most))) % WORDS, ids)
    ids = np.where(rng.random((n, most)) < shape.temperature / 2, zipf[rng.integers(0, DRAWS, (n, most))], ids)
    place = places % SENTENCE
    ids = np.where(place == 0, ids + WORDS, ids)
    ids = np.where(place == SENTENCE - 1, STOP, np.where(place == SENTENCE // 2, COMMA, ids))
    ends = rng.normal(length, length * 0.08, n).astype(int).clip(2, most)
    return ["".join(vocabulary[row[:end]].tolist())[1:] for row, end in zip(ids, ends.tolist(), strict=True)]


def _draws(rng: np.random.Generator, ids: np.ndarray[Any, Any], power: float) -> np.ndarray[Any, Any]:
    """Return many draws of ``ids`` with Zipf's weights: a uniform choice among them is then a draw."""
    weights = 1 / np.arange(1, len(ids) + 1) ** power
    return rng.choice(ids, DRAWS, p=weights / weights.sum())


def write_corpus(job: tuple[Shape, Path]) -> int:
    """Write one file of texts as Parquet; return how many."""
    import polars as pl

    shape, path = job
    vocabulary, per = words(), len(shape.identities) * shape.samples
    names = np.repeat(np.array(shape.identities, dtype=object), shape.samples).tolist()
    frames = []
    for number, (topic, concept) in enumerate(_concepts(shape)):
        frames.append(
            pl.DataFrame(
                {
                    "topic": [topic] * per,
                    "concept": [concept] * per,
                    "nationality": names,
                    "sample": list(range(shape.samples)) * len(shape.identities),
                    "text": concept_texts(shape, number, vocabulary),
                }
            )
        )
    same = {"task": shape.task, "model": shape.model, "temperature": shape.temperature}
    table = pl.concat(frames).select(*(pl.lit(value).alias(name) for name, value in same.items()), pl.all())
    table.write_parquet(path, compression="zstd", compression_level=1, row_group_size=64 * per)
    return table.height


def _concepts(shape: Shape) -> Iterator[tuple[str, str]]:
    for topic, size in enumerate(shape.topics):
        yield from ((f"topic {topic + 1:02}", f"concept {topic + 1:02}.{i + 1:02}") for i in range(size))


def paper_shapes(scale: float, identities: int = 193) -> list[Shape]:
    """Return the files of the paper: each configuration on each task, with ``scale`` of its concepts."""
    who = nationalities(identities)
    return [
        Shape(model, temperature, task, length, scaled(topics, scale), who, seed=10 * number + len(task))
        for number, (model, temperature) in enumerate(CONFIGURATIONS)
        for task, length, topics in (QA, STORIES)
    ]


def scaled(topics: Sequence[int], scale: float) -> tuple[int, ...]:
    """Return the topics with ``scale`` of their concepts, at least one each."""
    return tuple(max(1, round(size * scale)) for size in topics)


def write_corpora(folder: Path, shapes: Sequence[Shape], workers: int) -> int:
    """Write every file into ``folder`` unless it is there; return how many texts there are."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(shape, folder / file_name(shape)) for shape in shapes]
    waiting = [job for job in jobs if not job[1].exists()]
    with ProcessPoolExecutor(workers) as pool:
        for (shape, path), texts in zip(waiting, pool.map(write_corpus, waiting), strict=True):
            print(f"{path.name}: {texts:,} texts, {path.stat().st_size / 1e6:.0f} MB", flush=True)
            assert texts == shape.texts
    return sum(shape.texts for shape in shapes)


def file_name(shape: Shape) -> str:
    """Return the name of a shape's file."""
    return f"{shape.task.replace('/', '-')}-{shape.model}-t{shape.temperature:g}.parquet"


def write_values(path: Path, identities: Sequence[str]) -> Path:
    """Write a survey of the made-up values, with noise and gaps, of two thirds of the peoples."""
    rng = np.random.default_rng(3)
    values = latent(identities) + rng.normal(scale=0.3, size=(len(identities), 6))
    lines = ["nationality," + ",".join(f"dimension_{j + 1}" for j in range(6))]
    for i, identity in enumerate(identities):
        if i % 3:
            cells = [f"{50 + 15 * value:.1f}" if rng.random() > 0.03 else "" for value in values[i]]
            lines.append(f"{identity},{','.join(cells)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
