"""Runs in exactly the shapes of a run directory, made without a model, for the report's tests.

Situations in several prompt variants (:func:`make_run`); and everyday questions over sixteen cultures, in two languages
and two prompts (:func:`wide_run`) or as multiple choice (:func:`choice_run`). Scores are drawn, not measured: high
where a language has much text, lower asked in a language with little.
"""

import copy
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from kapwa.report.view.tasks import TaskView, arrange
from kapwa.runs.estimates import metrics_of_run
from kapwa.runs.finished_run import brief_model
from kapwa.stats.comparison_tables import compare_variants
from kapwa.stats.estimate_tables import estimate_table
from kapwa.stats.schemas import COMPARISON_SCHEMA
from kapwa.suites.base import MetricInfo
from kapwa.suites.kalahi.mc import MC_METRICS

_HERE = Path(__file__).parent
# Situations of a culture, in six scripts: what is asked, expected, and given instead, with English glosses.
TEXTS: dict[str, dict[str, Any]] = yaml.safe_load((_HERE / "situations.yaml").read_text(encoding="utf-8"))
FACTS: dict[str, Any] = yaml.safe_load((_HERE / "made_runs.yaml").read_text(encoding="utf-8"))
MC = FACTS["metrics"]["kalahi/mc"]
CULTURES: dict[str, tuple[str, str, float]] = FACTS["cultures"]
VARIANTS = ("full", "partial", "unenriched")
WIDE_VARIANTS = ("local/inst-4", "en/inst-4", "local/pers-3", "en/pers-3")
TRICKS = {"chance": 0.25, "longest": 0.4133, "shortest": 0.1133, "first position": 0.2467}
TOPICS = ("Food", "Sport", "Family", "Education", "Holidays/Celebration/Leisure", "Work life")
# What asking in a local language adds, by how much text the language has.
GAINS = {"high": 0.04, "mid": 0.0, "low": -0.14}
SPOKEN = {"ko": "대한민국", "ar": "مصر", "am": "ኢትዮጵያ", "as": "অসম"}
_PLACE = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
_SCORE = (*_PLACE, "sample", "metric", "value", "outcome")
_FLOOR = ("metric", "variant", "name", "value", "kind", "note")
_CASE = ("prompt", "prompt_gloss", "expected", "expected_gloss", "got", "got_gloss")


@dataclass
class MadeRun:
    """A run in memory with the reading side of ``kapwa.runs.finished_run.Run``."""

    path: Path
    manifest: dict[str, Any]
    scores: pl.DataFrame
    estimates: pl.DataFrame
    floors: pl.DataFrame
    comparisons: pl.DataFrame
    items: pl.DataFrame
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return str(self.manifest.get("label") or brief_model(str(self.manifest["model"]["id"])))

    @property
    def metrics(self) -> dict[str, MetricInfo]:
        return metrics_of_run(self.manifest)

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]


def view_of(*runs: Any) -> TaskView:
    """What a report shows of runs of one task."""
    return arrange(list(runs))[0]


def remembered(make: Callable[..., MadeRun]) -> Callable[..., MadeRun]:
    """Make a run once in a session; each caller has a copy of what tests change, for frames never change."""
    kept: dict[str, MadeRun] = {}

    @wraps(make)
    def again(*told: Any, **more: Any) -> MadeRun:
        key = repr((told, sorted(more.items())))
        if key not in kept:
            kept[key] = make(*told, **more)
        return replace(kept[key], manifest=copy.deepcopy(kept[key].manifest), tables=dict(kept[key].tables))

    return again


@remembered
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
) -> MadeRun:
    """Make a run of ``model``: ``skill`` is its chance of being right, ``gone`` the outcomes that replace some."""
    items = []
    for culture in cultures:
        language, situations = TEXTS[culture].values()
        for variant in variants:
            for i in range(per_culture):
                text = situations[i % len(situations)]
                place = (f"{culture}-{i:03}", variant, culture, language, text["category"], text["topic"])
                asked = (text["prompt"], text["prompt_gloss"], text["expected"], text["expected_gloss"])
                items.append((*place, f"{culture}-{i * 4 // 5}", *asked))
    names = [*_PLACE, "prompt", "gloss", "best", "best_gloss"]
    scores = _scores(items, model, task, skill, [name for name, k in (gone or {}).items() for _ in range(k)])
    card = {"culture": ", ".join(cultures), **FACTS["card"]} if illustrative else {}
    made = _made(model, task, scores, ("category", "topic"), _floors(task, cultures, variants), card)
    made.comparisons = compare_variants(scores, metrics={name: info[1] for name, info in _infos(task).items()})
    made.items = pl.DataFrame(items, schema=names, orient="row")
    texts = {text["prompt"]: text for one in TEXTS.values() for text in one["situations"]}
    metric, rows = next(iter(_infos(task))), []
    values = {row[:2]: row[-2] for row in scores.filter(pl.col("metric") == metric).iter_rows()}
    for k, item in enumerate(made.items.iter_rows(named=True)):
        value = values[item["item_id"], item["variant"]]
        if value is not None:
            margin = (0.02 if value else -0.03) * (1 + (k * 7) % 11)
            rows.append(_case(item, metric, margin, texts[item["prompt"]], bool(value)))
    made.tables["cases"] = pl.DataFrame(rows)
    return made


def _infos(task: str) -> dict[str, Sequence[Any]]:
    """Title, whether binary, whether a reference, and phrase (where it has one) of each metric, headline ones first."""
    return FACTS["metrics"][task]  # type: ignore[no-any-return]


def _scores(items: Sequence[tuple[Any, ...]], model: str, task: str, skill: float, lost: Sequence[str]) -> pl.DataFrame:
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    rows = []
    for k, item in enumerate(items):
        ability = rng.random()
        for metric, (_, binary, *_) in _infos(task).items():
            outcome, value = "scored", 0.1 * (ability - 0.5) if metric.endswith("_diff") else 0.3 + 0.4 * ability
            if binary:
                value = float(ability < skill)
                outcome = "right" if value else "wrong"
            measured = (None, lost[k]) if k < len(lost) else (value, outcome)
            rows.append((*item[: len(_PLACE)], 0, metric, *measured))
    return _score_table(rows)


def _score_table(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_SCORE, schema_overrides={"value": pl.Float64}, orient="row")


def _floors(task: str, cultures: Sequence[str], variants: Sequence[str]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
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
    return rows


def _case(item: Mapping[str, Any], metric: str, margin: float, text: Mapping[str, str], right: bool) -> dict[str, Any]:
    """A row of ``cases``: what was asked, expected and preferred."""
    got = {"got": text["expected"], "got_gloss": text["expected_gloss"]} if right else {}
    where = {name: item[name] for name in ("item_id", "variant", "culture")}
    return {**where, "metric": metric, "margin": margin, **{name: text[name] for name in _CASE}, **got}


def _made(
    model: str,
    task: str,
    scores: pl.DataFrame,
    groups: Sequence[str],
    floors: Sequence[tuple[Any, ...]],
    card: Mapping[str, Any],
) -> MadeRun:
    """A run without comparisons, items and tables."""
    infos = _infos(task)
    signature = f"kapwa:0.1.0|task:{task}|data:sample:9f2c41aa|model:{model}|dtype:f32|template:chat"
    asked = scores.select("item_id", "variant").unique().height
    failed = scores.filter(pl.col("outcome") == "failed").select("item_id", "variant").unique().height
    digest = "9f2c41aa0b7d3e55" if task.startswith("kalahi") else f"{zlib.crc32(task.encode()):08x}"
    manifest = {
        **copy.deepcopy(FACTS["manifest"]),
        "task": task,
        "suite": task.partition("/")[0],
        "selection": {"variants": list(scores["variant"].unique(maintain_order=True)), "items": {}, "where": {}},
        "headline": list(infos)[: 1 if task == "blend/mcq" else 2],
        "groups": list(groups),
        "metrics": {name: _metric_info(name, task, *info) for name, info in infos.items()},
        "data": {"name": "sample packs", "digest": digest, "card": dict(card), "illustrative": bool(card)},
        "model": {"id": model, **copy.deepcopy(FACTS["model"])},
        "signature": signature,
        "signatures": {name: f"{signature}|metric:{name}" for name in infos},
        "counts": {"items": asked, "requests": asked, "unique": asked, "answered": asked - failed, "failed": failed},
        "status": "failed_items" if failed else "complete",
        "failures": [{"reason": "429 too many requests", "count": failed}] if failed else [],
    }
    return MadeRun(
        path=Path("runs") / f"{task.replace('/', '-')}-{model.rpartition('/')[2]}-0123abcd",
        manifest=manifest,
        scores=scores,
        estimates=estimate_table(scores, metrics={name: info[1] for name, info in infos.items()}, groups=groups),
        floors=pl.DataFrame(floors, schema=_FLOOR, orient="row"),
        comparisons=pl.DataFrame(schema=COMPARISON_SCHEMA),
        items=pl.DataFrame(),
    )


def _metric_info(name: str, task: str, title: str, binary: bool, reference: bool, phrase: str = "") -> dict[str, Any]:
    """How a metric reads, as manifests have it."""
    low = -1.0 if name.endswith("_diff") else 0.0
    info = {"name": name, "title": title, "low": low, "high": 1.0, "binary": binary, "reference": reference}
    source = "Kalahi §4.2 and appendix F" if task.startswith("kalahi") else "BLEnD §4.1"
    shown = phrase or (MC_METRICS[name].phrase if name in MC_METRICS else "")
    margin = MC_METRICS[name].margin if name in MC_METRICS else ""
    told = {"unit": "", "phrase": shown, "margin": margin, "higher_is_better": True}
    return {**info, "source": "the released code" if reference else source, **told}


@remembered
def wide_run(
    model: str = "org/wide-model",
    *,
    cultures: Sequence[str] = tuple(CULTURES),
    variants: Sequence[str] = WIDE_VARIANTS,
    per_culture: int = 60,
    skill: float = 0.0,
) -> MadeRun:
    """A run of short answers; ``skill`` is added to every culture's chance."""
    scores = _saq_scores(model, cultures, variants, per_culture, skill)
    made = _wide(model, "blend/saq", scores, variants, cultures)
    rows = []
    for variant in variants:
        for culture in cultures:
            for other in cultures:
                if other != culture:
                    same = CULTURES[other][0] == CULTURES[culture][0] or {other, culture} <= {"Indonesia", "West_Java"}
                    famous = CULTURES[other][2] * (zlib.crc32(f"{culture}{other}".encode()) % 7) / 7
                    share = 0.02 + 0.14 * same + 0.10 * famous
                    counts = (200, round(200 * share), share, share - 0.02, share + 0.03, 0.7 * share)
                    rows.append((culture, "en", variant, other, *counts))
    names = ["culture", "language", "variant", "other", "wrong", "matches", "share", "low", "high", "split"]
    made.tables["confusion"] = pl.DataFrame(rows, schema=names, orient="row")
    return made


@remembered
def choice_run(model: str = "org/wide-model", *, cultures: Sequence[str] = tuple(CULTURES), n: int = 60) -> MadeRun:
    """A run of multiple choice in English; cultures are known as in the short answers."""
    rng = np.random.default_rng(zlib.crc32(model.encode()) + 1)
    rows = []
    for culture in cultures:
        for i in range(n):
            value = float(rng.random() < 0.2 + 0.75 * CULTURES[culture][2])
            rows.append(_wide_row(culture, i, "generate", "en", "mcq_acc", value, "right" if value else "wrong"))
    return _wide(model, "blend/mcq", _score_table(rows), ("generate",), cultures)


def _wide_row(culture: str, i: int, variant: str, language: str, *measured: Any) -> tuple[Any, ...]:
    """A score; ``measured``: metric, value, outcome."""
    topic = TOPICS[i % len(TOPICS)]
    metric, value, outcome = measured
    return f"{culture}/Q-{i:03}", variant, culture, language, topic, topic, f"Q-{i:03}", 0, metric, value, outcome


def _saq_scores(
    model: str, cultures: Sequence[str], variants: Sequence[str], per_culture: int, skill: float
) -> pl.DataFrame:
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    rows = []
    for variant in variants:
        asked, _, prompt = variant.partition("/")
        for culture in cultures:
            own, level, known = CULTURES[culture]
            language = own if asked == "local" else "en"
            gain = GAINS[level] if language != "en" else 0.0
            base = known + skill + gain - 0.03 * (prompt == "pers-3")
            hard = np.random.default_rng(zlib.crc32(culture.encode())).normal(0, 0.12, per_culture)
            for i in range(per_culture):
                easy = 0.08 * (i % len(TOPICS) in (3, 5)) - 0.06 * (i % len(TOPICS) in (0, 4))
                value = float(rng.random() < base + easy + hard[i])
                odd = rng.random()
                outcome = "right" if value else "wrong"
                if odd < 0.02 + 0.08 * (level == "low" and language != "en"):
                    value, outcome = 0.0, ("refused", "unparsed", "empty")[int(odd * 1e6) % 3]
                weighted = value * (0.4 + 0.6 * rng.random())
                many = float(rng.random() < 0.03)
                reference = min(1.0, value + float(rng.random() < 0.05))
                measured = (
                    ("sem_b", value, outcome),
                    ("sem_w", weighted, "scored" if outcome in ("right", "wrong") else outcome),
                    ("sem_b_reference", reference, "right" if reference else "wrong"),
                    ("too_many", many, "scored"),
                )
                rows += [_wide_row(culture, i, variant, language, *one) for one in measured]
    return _score_table(rows)


def _wide(model: str, task: str, scores: pl.DataFrame, variants: Sequence[str], cultures: Sequence[str]) -> MadeRun:
    floors: list[tuple[Any, ...]] = []
    for variant in variants:
        for k, culture in enumerate(("", *cultures)):
            shift = 0.02 * (k % 5) - 0.04
            if task == "blend/mcq":
                floors.append(("mcq_acc", variant, "chance", 0.25, "floor", culture))
                floors.append(("mcq_acc", variant, "longest option", 0.29 + shift / 4, "floor", culture))
                continue
            for metric, factor in (("sem_b", 1.0), ("sem_w", 0.7)):
                for name, value, kind in (
                    ("other cultures' usual answer", factor * (0.41 + shift), "floor"),
                    ("usual answer in the US", factor * (0.34 + shift), "floor"),
                    ("another question's answer", 0.02, "floor"),
                    ("other cultures' usual answers in one reply", factor * 0.06, "floor"),
                    ("a person (leave one out)", factor * (0.62 + shift), "ceiling"),
                ):
                    floors.append((metric, variant, name, value, kind, culture))
    made = _made(model, task, scores, ("topic",), floors, {})
    made.items = scores.select("item_id", "variant", "culture", "language", "topic").unique(maintain_order=True)
    metric, cases = next(iter(_infos(task))), []
    for row in scores.filter(pl.col("metric") == metric).iter_rows(named=True):
        texts, number = TEXTS[SPOKEN.get(row["language"], "Filipino")]["situations"], int(row["item_id"][-3:])
        right = bool(row["value"])
        cases.append(_case(row, metric, 0.5 if right else -0.1 - 0.001 * number, texts[number % len(texts)], right))
    made.tables["cases"] = pl.DataFrame(cases)
    return made
