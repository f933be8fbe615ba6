"""Runs over sixteen cultures in two languages and two prompts, as short answers and multiple choice give them.

Scores are drawn, not measured: high where a language has much text, lower asked in a language with little.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from report_fixtures import FACTS, MadeRun, case_row, manifest, metric_info
from report_texts import TEXTS

from kapwa.stats.tables import COMPARISON_SCHEMA, compare_variants, estimate_table


@dataclass(frozen=True)
class Culture:
    """A culture of the fixture: its language, that language's level, and how well it is known."""

    language: str
    level: str
    known: float


CULTURES = {name: Culture(*facts) for name, facts in FACTS["cultures"].items()}
TOPICS = ("Food", "Sport", "Family", "Education", "Holidays/Celebration/Leisure", "Work life")
VARIANTS = ("local/inst-4", "en/inst-4", "local/pers-3", "en/pers-3")
# What asking in a local language adds, by how much text the language has.
GAINS = {"high": 0.04, "mid": 0.0, "low": -0.14}
SPOKEN = {"ko": "대한민국", "ar": "مصر", "am": "ኢትዮጵያ", "as": "অসম"}
SAQ, MCQ = FACTS["saq"], FACTS["mcq"]
PHRASES = {
    "sem_b": "gave an answer that people there give to {value} of {items}",
    "mcq_acc": "chose the right option in {value} of {items}",
}


def wide_run(
    model: str = "org/wide-model",
    *,
    cultures: Sequence[str] = tuple(CULTURES),
    variants: Sequence[str] = VARIANTS,
    per_culture: int = 60,
    skill: float = 0.0,
    compared: bool = False,
) -> MadeRun:
    """A run of short answers; ``skill`` is added to every culture's chance. ``compared``: with comparisons, slow."""
    scores = _saq_scores(model, tuple(cultures), tuple(variants), per_culture, skill)
    return _made(model, "blend/saq", scores, SAQ, variants, cultures, compared)


def choice_run(model: str = "org/wide-model", *, cultures: Sequence[str] = tuple(CULTURES), n: int = 60) -> MadeRun:
    """A run of multiple choice in English; cultures are known as in the short answers."""
    rng = np.random.default_rng(zlib.crc32(model.encode()) + 1)
    rows = []
    for culture in cultures:
        chance = 0.2 + 0.75 * CULTURES[culture].known
        for i in range(n):
            value = float(rng.random() < chance)
            rows.append(_row(culture, i, "generate", "en", "mcq_acc", value, "right" if value else "wrong"))
    return _made(model, "blend/mcq", pl.DataFrame(rows), MCQ, ("generate",), cultures, False)


def _row(culture: str, i: int, variant: str, language: str, metric: str, value: float, outcome: str) -> dict[str, Any]:
    topic = TOPICS[i % len(TOPICS)]
    return {
        "item_id": f"{culture}/Q-{i:03}",
        "variant": variant,
        "culture": culture,
        "language": language,
        "category": topic,
        "topic": topic,
        "cluster": f"Q-{i:03}",
        "sample": 0,
        "metric": metric,
        "value": value,
        "outcome": outcome,
    }


@cache
def _saq_scores(
    model: str, cultures: tuple[str, ...], variants: tuple[str, ...], per_culture: int, skill: float
) -> pl.DataFrame:
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    rows = []
    for variant in variants:
        asked, _, prompt = variant.partition("/")
        for culture in cultures:
            about = CULTURES[culture]
            language = about.language if asked == "local" else "en"
            gain = GAINS[about.level] if language != "en" else 0.0
            base = about.known + skill + gain - 0.03 * (prompt == "pers-3")
            hard = np.random.default_rng(zlib.crc32(culture.encode())).normal(0, 0.12, per_culture)
            for i in range(per_culture):
                easy = 0.08 * (i % len(TOPICS) in (3, 5)) - 0.06 * (i % len(TOPICS) in (0, 4))
                value = float(rng.random() < base + easy + hard[i])
                odd = rng.random()
                outcome = "right" if value else "wrong"
                if odd < 0.02 + 0.08 * (about.level == "low" and language != "en"):
                    value, outcome = 0.0, ("refused", "unparsed", "empty")[int(odd * 1e6) % 3]
                weighted = value * (0.4 + 0.6 * rng.random())
                many = float(rng.random() < 0.03)
                reference = min(1.0, value + float(rng.random() < 0.05))
                named = (
                    ("sem_b", value, outcome),
                    ("sem_w", weighted, "scored" if outcome in ("right", "wrong") else outcome),
                )
                named += (
                    ("sem_b_reference", reference, "right" if reference else "wrong"),
                    ("too_many", many, "scored"),
                )
                rows += [_row(culture, i, variant, language, *one) for one in named]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def _made(
    model: str,
    task: str,
    scores: pl.DataFrame,
    infos: Mapping[str, tuple[str, bool]],
    variants: Sequence[str],
    cultures: Sequence[str],
    compared: bool,
) -> MadeRun:
    binary = {name: info[1] for name, info in infos.items()}
    comparisons = pl.DataFrame(schema=COMPARISON_SCHEMA)
    if compared:
        comparisons = compare_variants(scores, metrics={"sem_b": True}, replicates=100)
    metrics = {
        name: metric_info(name, *info, name.endswith("_reference"), "BLEnD §4.1", PHRASES.get(name, ""))
        for name, info in infos.items()
    }
    tables = {"cases": _cases(scores, next(iter(infos)))}
    if task == "blend/saq":
        tables["confusion"] = _confusion(cultures, variants)
    return MadeRun(
        path=Path("runs") / f"{task.replace('/', '-')}-{model.rpartition('/')[2]}-0123abcd",
        manifest=manifest(model, task, metrics, scores, ("topic",), {}),
        scores=scores,
        estimates=estimate_table(scores, metrics=binary, groups=("topic",)),
        floors=_floors(task, cultures, variants),
        comparisons=comparisons,
        items=scores.select("item_id", "variant", "culture", "language", "topic").unique(maintain_order=True),
        tables=tables,
    )


def _floors(task: str, cultures: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    rows: list[tuple[str, str, str, float, str, str]] = []
    for variant in variants:
        for k, culture in enumerate(("", *cultures)):
            shift = 0.02 * (k % 5) - 0.04
            if task == "blend/mcq":
                rows.append(("mcq_acc", variant, "chance", 0.25, "floor", culture))
                rows.append(("mcq_acc", variant, "longest option", 0.29 + shift / 4, "floor", culture))
                continue
            for metric, factor in (("sem_b", 1.0), ("sem_w", 0.7)):
                rows += [
                    (metric, variant, "other cultures' usual answer", factor * (0.41 + shift), "floor", culture),
                    (metric, variant, "usual answer in the US", factor * (0.34 + shift), "floor", culture),
                    (metric, variant, "another question's answer", 0.02, "floor", culture),
                    (metric, variant, "everybody's usual answers in one reply", factor * 0.06, "floor", culture),
                    (metric, variant, "a person (leave one out)", factor * (0.62 + shift), "ceiling", culture),
                ]
    return pl.DataFrame(rows, schema=["metric", "variant", "name", "value", "kind", "note"], orient="row")


def _confusion(cultures: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    rows = []
    for variant in variants:
        for culture in cultures:
            for other in cultures:
                if other != culture:
                    near = CULTURES[other].language == CULTURES[culture].language or {other, culture} <= _NEIGHBOURS
                    famous = CULTURES[other].known * (zlib.crc32(f"{culture}{other}".encode()) % 7) / 7
                    share = 0.02 + 0.14 * near + 0.10 * famous
                    counts = (200, round(200 * share), share, share - 0.02, share + 0.03, 0.7 * share)
                    rows.append((culture, "en", variant, other, *counts))
    names = ["culture", "language", "variant", "other", "wrong", "matches", "share", "low", "high", "split"]
    return pl.DataFrame(rows, schema=names, orient="row")


_NEIGHBOURS = {"Indonesia", "West_Java"}


def _cases(scores: pl.DataFrame, metric: str) -> pl.DataFrame:
    rows = []
    for row in scores.filter(pl.col("metric") == metric).iter_rows(named=True):
        _, texts = TEXTS[SPOKEN.get(row["language"], "Filipino")]
        text = texts[int(row["item_id"][-3:]) % len(texts)]
        right, hard = bool(row["value"]), 0.001 * int(row["item_id"][-3:])
        rows.append(case_row(row, metric, 0.5 if right else -0.1 - hard, text, right))
    return pl.DataFrame(rows)
