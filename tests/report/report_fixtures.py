"""Runs in exactly the shapes of a run directory, made without a model, for the report's tests."""

import copy
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from report_texts import TEXTS, Situation

from kapwa.stats.tables import compare_variants, estimate_table
from kapwa.suites.kalahi.mc import MC_METRICS

VARIANTS = ("full", "partial", "unenriched")
FACTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("made_runs.yaml").read_text(encoding="utf-8"))
MC, OPEN = FACTS["mc"], FACTS["open"]
TRICKS = {"chance": 0.25, "longest": 0.4133, "shortest": 0.1133, "first position": 0.2467}


@dataclass
class MadeRun:
    """A run in memory with the reading side of ``kapwa.runs.directory.Run``."""

    path: Path
    manifest: dict[str, Any]
    scores: pl.DataFrame
    estimates: pl.DataFrame
    floors: pl.DataFrame
    comparisons: pl.DataFrame
    items: pl.DataFrame
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]


def make_run(
    model: str = "smollm2",
    *,
    task: str = "kalahi/mc",
    cultures: Sequence[str] = ("Filipino", "Ilokano"),
    variants: Sequence[str] = VARIANTS,
    per_culture: int = 16,
    skill: float = 0.25,
    gone: Mapping[str, int] | None = None,
    illustrative: bool = True,
    folder: Path | None = None,
) -> MadeRun:
    """Make a run of ``model``: ``skill`` is its chance of being right, ``gone`` the outcomes that replace some."""
    items = _items(cultures, variants, per_culture)
    infos = MC if task == "kalahi/mc" else OPEN
    scores = _scores(items, model, infos, skill, dict(gone or {}))
    binary = {name: info[1] for name, info in infos.items()}
    return MadeRun(
        path=(folder or Path("runs")) / f"{task.replace('/', '-')}-{model.rsplit('/', maxsplit=1)[-1]}-0123abcd",
        manifest=manifest(
            model,
            task,
            {name: metric_info(name, *info) for name, info in infos.items()},
            scores,
            ("category", "topic"),
            {"culture": ", ".join(cultures), **FACTS["card"]} if illustrative else {},
        ),
        scores=scores,
        estimates=estimate_table(scores, metrics=binary),
        floors=_floors(task, cultures, variants),
        comparisons=compare_variants(scores, metrics=binary),
        items=items,
        tables={"cases": _cases(items, scores, next(iter(infos)))},
    )


def _items(cultures: Sequence[str], variants: Sequence[str], per_culture: int) -> pl.DataFrame:
    rows = []
    for culture in cultures:
        language, situations = TEXTS[culture]
        for variant in variants:
            for i in range(per_culture):
                text = situations[i % len(situations)]
                rows.append(
                    {
                        "item_id": f"{culture}-{i:03}",
                        "variant": variant,
                        "culture": culture,
                        "language": language,
                        "category": text.category,
                        "topic": text.topic,
                        "cluster": f"{culture}-{i * 4 // 5}",
                        "prompt": text.prompt,
                        "gloss": text.gloss,
                        "best": text.expected,
                        "best_gloss": text.expected_gloss,
                    }
                )
    return pl.DataFrame(rows)


def _scores(
    items: pl.DataFrame, model: str, infos: Mapping[str, tuple[str, bool, bool]], skill: float, gone: dict[str, int]
) -> pl.DataFrame:
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    lost = [outcome for outcome, k in gone.items() for _ in range(k)]
    rows = []
    for k, item in enumerate(items.iter_rows(named=True)):
        ability = rng.random()
        for metric, (_, binary, _) in infos.items():
            outcome, value = "scored", 0.3 + 0.4 * ability
            if metric.endswith("_diff"):
                value = 0.1 * (ability - 0.5)
            if binary:
                value = float(ability < skill)
                outcome = "right" if value else "wrong"
            if k < len(lost):
                outcome, value = lost[k], None
            rows.append(
                {
                    **{c: item[c] for c in _ITEM_COLUMNS},
                    "sample": 0,
                    "metric": metric,
                    "value": value,
                    "outcome": outcome,
                }
            )
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


_ITEM_COLUMNS = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")


def _floors(task: str, cultures: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    rows: list[tuple[str, str, str, float, str, str]] = []
    for k, culture in enumerate(cultures):
        note = culture if len(cultures) > 1 else ""
        for variant in variants:
            if task == "kalahi/open":
                source = "the best response to another situation"
                rows.append(("chrf_acc", variant, "another situation's answer", 0.5, "floor", source))
                continue
            rows += [("mc1", variant, name, value + 0.01 * k, "floor", note) for name, value in TRICKS.items()]
            rows.append(("mc2", variant, "no preference", 0.5, "floor", note))
            if cultures == ("Filipino",):
                rows.append(("mc1", variant, "human", 0.8910, "ceiling", "mean of three validators"))
    return pl.DataFrame(rows, schema=["metric", "variant", "name", "value", "kind", "note"], orient="row")


def _cases(items: pl.DataFrame, scores: pl.DataFrame, metric: str) -> pl.DataFrame:
    values = {
        (r["item_id"], r["variant"]): r["value"]
        for r in scores.filter(pl.col("metric") == metric).iter_rows(named=True)
    }
    texts: dict[str, Situation] = {s.prompt: s for _, group in TEXTS.values() for s in group}
    rows = []
    for k, item in enumerate(items.iter_rows(named=True)):
        value = values[item["item_id"], item["variant"]]
        if value is None:
            continue
        text = texts[item["prompt"]]
        rows.append(case_row(item, metric, (0.02 if value else -0.03) * (1 + (k * 7) % 11), text, bool(value)))
    return pl.DataFrame(rows)


def case_row(item: Mapping[str, Any], metric: str, margin: float, text: Situation, right: bool) -> dict[str, Any]:
    """A row of ``cases``: what was asked, expected and preferred."""
    got = (text.expected, text.expected_gloss) if right else (text.got, text.got_gloss)
    told = (text.prompt, text.gloss, text.expected, text.expected_gloss, *got)
    names = ("prompt", "prompt_gloss", "expected", "expected_gloss", "got", "got_gloss")
    where = {name: item[name] for name in ("item_id", "variant", "culture")}
    return {**where, "metric": metric, "margin": margin, **dict(zip(names, told, strict=True))}


def manifest(
    model: str,
    task: str,
    metrics: Mapping[str, Any],
    scores: pl.DataFrame,
    groups: Sequence[str],
    card: Mapping[str, Any],
) -> dict[str, Any]:
    """What a run tells of itself; ``metrics`` holds the headline ones first."""
    signature = f"kapwa:0.1.0|task:{task}|data:sample:9f2c41aa|model:{model}|dtype:f32|template:chat"
    asked = scores.select("item_id", "variant").unique().height
    failed = scores.filter(pl.col("outcome") == "failed").select("item_id", "variant").unique().height
    digest = "9f2c41aa0b7d3e55" if task.startswith("kalahi") else f"{zlib.crc32(task.encode()):08x}"
    return {
        **copy.deepcopy(FACTS["manifest"]),
        "task": task,
        "suite": task.partition("/")[0],
        "selection": {"variants": list(scores["variant"].unique(maintain_order=True)), "items": {}, "where": {}},
        "headline": list(metrics)[: 1 if task == "blend/mcq" else 2],
        "groups": list(groups),
        "metrics": dict(metrics),
        "data": {"name": "sample packs", "digest": digest, "card": dict(card), "illustrative": bool(card)},
        "model": {
            "id": model,
            "revision": "7e27bd9f95328f0f3b08261d1252705110c806f8",
            "fingerprint": {"backend": "transformers", "dtype": "float32"},
        },
        "signature": signature,
        "signatures": {name: f"{signature}|metric:{name}" for name in metrics},
        "counts": {"items": asked, "requests": asked, "unique": asked, "answered": asked - failed, "failed": failed},
        "status": "failed_items" if failed else "complete",
        "failures": [{"reason": "429 too many requests", "count": failed}] if failed else [],
    }


def metric_info(
    name: str, title: str, binary: bool, reference: bool, source: str = "Kalahi §4.2 and appendix F", phrase: str = ""
) -> dict[str, Any]:
    """How a metric reads, as manifests have it."""
    low, shown = (
        -1.0 if name.endswith("_diff") else 0.0,
        phrase or (MC_METRICS[name].phrase if name in MC_METRICS else ""),
    )
    info = {"name": name, "title": title, "low": low, "high": 1.0, "binary": binary, "reference": reference}
    return {**info, "source": "the released code" if reference else source, "unit": "", "phrase": shown}
