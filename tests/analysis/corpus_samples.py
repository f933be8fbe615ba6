"""Small corpora for tests: rows of texts and the same in every format; texts with something to find, and a survey."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kapwa.analysis.corpus import Corpus
from kapwa.analysis.result import Analysis

Row = dict[str, Any]
Analyze = Callable[..., Analysis]
CONCEPTS = (("values", "honesty"), ("values", "love/hate"), ("space", "the moon"))
IDENTITIES = ("American", "Côte d’Ivoire", "Thai")


def sample_rows(samples: int = 3, **extra: Any) -> list[Row]:
    """Rows in a random order; texts hold quotes, tabs, line breaks and other scripts."""
    rows = [
        {
            "task": "eecc/qa",
            "topic": topic,
            "concept": concept,
            "nationality": who,
            "sample": sample,
            "text": f'{concept} for "{who}",\n{sample}\tสวัสดี 🙂, it\'s.',
            **extra,
        }
        for topic, concept in CONCEPTS
        for who in IDENTITIES
        for sample in range(samples)
    ]
    random.Random(7).shuffle(rows)
    return rows


def write_jsonl(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_rows(path: Path, rows: list[Row]) -> Path:
    """Write in the format of the ending."""
    if path.suffix == ".jsonl":
        return write_jsonl(path, rows)
    frame = pl.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


def answers(corpus: Corpus) -> Iterator[tuple[Any, ...]]:
    """Topic, concept, identity, sample and text of each answer, concept by concept."""
    for key in corpus.concepts:
        found = corpus.texts(key)
        for group, sample, text in zip(found.groups, found.samples, found.texts, strict=True):
            yield *key, found.identities[group], int(sample), text


WHO = ("American", "Brazilian", "Chinese", "Filipino", "French", "Indian", "Japanese", "Kenyan", "Nigerian", "Polish")
_PLANTED = {"morals": ("honesty", "courage"), "places": ("market", "river", "school")}
SAMPLES = 3
_WORDS = np.array(
    [f"{a}{b}" for a in ("ba", "ke", "lo", "mi", "su", "ta") for b in ("dan", "ger", "lim", "nok", "rut")]
)


def rows(*, seed: int = 0, effect: float = 0.5, samples: int = SAMPLES, who: tuple[str, ...] = WHO) -> pl.DataFrame:
    """Texts of 12 words or so; neighbours on a line of identities share words, the more so the nearer they are."""
    rng = np.random.default_rng(seed)
    found = []
    for topic, concepts in _PLANTED.items():
        for concept in concepts:
            base, other = rng.integers(0, len(_WORDS), (2, 12))
            for place, identity in enumerate(who):
                own = np.where(np.arange(12) < 12 * effect * place / len(who), other, base)
                for sample in range(samples):
                    words = np.where(rng.random(12) < 0.15, rng.integers(0, len(_WORDS), 12), own)
                    text = " ".join(_WORDS[words[: rng.integers(8, 13)]]) + "."
                    found.append((topic, concept, identity, sample, text))
    return pl.DataFrame(found, schema=["topic", "concept", "nationality", "sample", "text"], orient="row")


def write(path: Path, table: pl.DataFrame, **same: object) -> Path:
    """Write ``table`` with more columns that are the same in every row."""
    named = {"task": "eecc/qa", "model": "made-up", "temperature": 0.3} | same
    table.with_columns(pl.lit(value).alias(name) for name, value in named.items()).write_parquet(path)
    return path


def write_values(path: Path, who: tuple[str, ...] = WHO, *, seed: int = 1) -> Path:
    """Write a survey of two dimensions, the first of which goes along the line of identities; one is left out."""
    rng = np.random.default_rng(seed)
    lines = ["nationality,power,joy"]
    for place, identity in enumerate(who[:-1]):
        lines.append(f"{identity},{10 * place + rng.normal():.2f},{rng.normal(50, 3):.2f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
