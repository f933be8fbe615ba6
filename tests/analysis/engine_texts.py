"""A small corpus with something to find in it, and a survey that goes with it."""

from pathlib import Path

import numpy as np
import polars as pl

WHO = ("American", "Brazilian", "Chinese", "Filipino", "French", "Indian", "Japanese", "Kenyan", "Nigerian", "Polish")
CONCEPTS = {"morals": ("honesty", "courage"), "places": ("market", "river", "school")}
SAMPLES = 3
_WORDS = np.array(
    [f"{a}{b}" for a in ("ba", "ke", "lo", "mi", "su", "ta") for b in ("dan", "ger", "lim", "nok", "rut")]
)


def rows(*, seed: int = 0, effect: float = 0.5, samples: int = SAMPLES, who: tuple[str, ...] = WHO) -> pl.DataFrame:
    """Texts of 12 words or so; neighbours on a line of identities share words, the more so the nearer they are."""
    rng = np.random.default_rng(seed)
    found = []
    for topic, concepts in CONCEPTS.items():
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
