"""Small corpora for tests: rows of texts, and the same rows in every format."""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]
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
