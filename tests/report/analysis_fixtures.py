"""Analyses as ``kapwa analyze eecc`` writes them, drawn from a seed: countries lie in regions, and near ones are alike.

Nothing here was measured. The texts were written for these tests, in five scripts.
"""

import itertools
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import iso3166
import numpy as np
import polars as pl
import yaml

from kapwa.analysis.result import SCHEMAS

_TEXTS = yaml.safe_load(Path(__file__).with_name("generations.yaml").read_text(encoding="utf-8"))
DEMONYMS: dict[str, str] = _TEXTS["demonyms"]
TOPICS: dict[str, dict[str, list[str]]] = _TEXTS["topics"]
SENTENCES: dict[str, list[str]] = _TEXTS["sentences"]
PLACES: dict[str, list[str]] = _TEXTS["places"]
VALUES = ("hofstede", "wvs")
_VOCABULARY = np.array(["w" + np.base_repr(k * 7919 + 101, 36).lower() for k in range(6000)])


# What a report needs of an analysis.
MadeAnalysis: Any = make_dataclass("MadeAnalysis", ["path", "manifest", *SCHEMAS])


@dataclass(frozen=True)
class Plan:
    """What to draw: models at temperatures, tasks, identities, and how strong the effects are."""

    models: Sequence[str] = ("org/storyteller-2b", "org/narrator-7b")
    temperatures: Sequence[float | None] = (0.3,)
    tasks: Sequence[str] = ("eecc/qa", "eecc/stories")
    identities: int = 40
    concepts: int | None = None
    effect: float = 0.06
    tau: float = 0.12
    language: str = "en"
    attribute: str = "nationality"
    shown: int = 3
    samples: int = 2
    sentences: int = 4
    wordy: int = 0  # texts of so many random words instead, which pack no better than a model's
    values: Sequence[str] = VALUES
    seed: int = 7
    notes: Sequence[tuple[str, str]] = ()


class _Rows(defaultdict[str, list[tuple[Any, ...]]]):
    """Rows of every table, gathered corpus by corpus."""

    def add(self, table: str, *row: Any) -> None:
        self[table].append(row)

    def frame(self, table: str) -> pl.DataFrame:
        return pl.DataFrame(self[table], schema=dict(SCHEMAS[table]), orient="row")


def world(count: int) -> list[tuple[str, str, str]]:
    """Identities with country and ISO code: demonyms first, then countries by their name."""
    by_code = {one.alpha3: one.name for one in iso3166.countries}
    found = [(name, by_code[code], code) for name, code in DEMONYMS.items()]
    taken = set(DEMONYMS.values())
    found += [(one.name, one.name, one.alpha3) for one in iso3166.countries if one.alpha3 not in taken]
    return found[:count]


def make_analysis(plan: Plan | None = None, **changes: Any) -> MadeAnalysis:
    """An analysis of ``plan``; the same plan gives the same tables."""
    plan = plan or Plan(**changes)
    out = _Rows(list)
    named = world(plan.identities)
    rng = np.random.default_rng(plan.seed)
    centres = rng.normal(0, 2.2, (6, 2))
    # Neighbours in the alphabet are no neighbours on the map: regions go by the code.
    regions = np.array([zlib.crc32(code.encode()) % 6 for _, _, code in named])
    at = centres[regions] + rng.normal(0, 0.6, (len(named), 2))
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    for table in plan.values:
        for i in _known(plan, table):
            out.add("values", table, *named[i], 6 if table == "hofstede" else 259)
    for task, model, temperature in itertools.product(plan.tasks, plan.models, plan.temperatures):
        _corpus(out, plan, _Key(task, model, temperature), named, apart)
    for severity, text in plan.notes:
        out.add("notes", severity, text)
    frames = {name: out.frame(name) for name in SCHEMAS}
    return MadeAnalysis(path=Path("analyses/made-0123abcd"), manifest=_manifest(plan, frames["corpora"]), **frames)


@dataclass(frozen=True)
class _Key:
    task: str
    model: str
    temperature: float | None

    @property
    def label(self) -> str:
        short = self.model.rpartition("/")[2]
        return short if self.temperature is None else f"{short} T {self.temperature:g}"

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(f"{self.task}{self.label}".encode()))


def _known(plan: Plan, table: str) -> list[int]:
    step = 2 if table == "hofstede" else 3
    return [i for i in range(plan.identities) if plan.identities < 60 or i % step == 0]


def _concepts(plan: Plan, task: str) -> list[tuple[str, str]]:
    pairs = [(topic, concept) for topic, concepts in TOPICS[task].items() for concept in concepts]
    if plan.concepts is None or plan.concepts <= len(pairs):
        return pairs[: plan.concepts]
    topics = list(TOPICS[task])
    return pairs + [(topics[k % len(topics)], f"concept {k:03d}") for k in range(plan.concepts - len(pairs))]


def _corpus(out: _Rows, plan: Plan, key: _Key, named: Sequence[tuple[str, str, str]], apart: np.ndarray) -> None:
    rng, where = key.rng, (key.label, key.task)
    concepts = _concepts(plan, key.task)
    n, warm = len(named), 0.04 * ((key.temperature or 0.5) - 0.3)
    texts = n * len(concepts) * 5
    out.add(
        *("corpora", *where, key.model, key.temperature, plan.attribute, len(concepts), n, texts, 5.0),
        *(texts * 86, 86.2, 3),
    )
    gaps = []
    for topic, concept in concepts:
        within = float(np.clip(rng.normal(0.24 + warm, 0.03), 0.02, 0.5))
        across = float(np.clip(within + rng.normal(plan.effect, 0.02), 0.02, 0.5))
        gaps.append(across - within)
        fact = (18.2, 0.2 + (across - within), 0.001, n, n * 5)
        out.add("variance", *where, topic, concept, "corrected", within, across, *fact, *[None] * 4)
        out.add("variance", *where, topic, concept, "reference", within * 0.8, across * 0.98, *fact, *[None] * 4)
    _tests(out, where, concepts, np.array(gaps))
    for table, measure in itertools.product(plan.values, ("bleu", "wed")):
        _taus(out, plan, where, table, measure, concepts, named, rng)
    bleu = np.clip(0.42 - 0.05 * apart + rng.normal(0, 0.02, apart.shape), 0, 1)
    for i, j in itertools.combinations(range(n), 2):
        b = float(bleu[i, j])
        out.add("similarity", *where, named[i][0], named[j][0], float(np.clip(0.9 - 0.7 * b, 0, 1)), b)
    for name, country, code in named:
        one = iso3166.countries_by_alpha3[code]
        out.add("identities", *where, name, country, one.alpha2, code, 0.24, 0.3, 86 * 5 * len(concepts), 0)
    _words(out, plan, where, named, rng)
    _texts(out, plan, where, concepts, named, rng)


def _tests(out: _Rows, where: tuple[str, str], concepts: Sequence[tuple[str, str]], gaps: np.ndarray) -> None:
    topics = ["all", *dict.fromkeys(topic for topic, _ in concepts)]
    for topic in topics:
        kept = np.array([topic in ("all", own) for own, _ in concepts])
        few = gaps[kept]
        k, mean = len(few), float(few.mean())
        half = float(2.1 * few.std(ddof=1) / np.sqrt(k)) if k > 1 else None
        low, high = (None, None) if half is None else (mean - half, mean + half)
        clear = low is not None and (low > 0 or high < 0)
        p = (0.00002 if clear else 0.31) if half is not None else None
        t = None if half is None else mean / (half / 2.1)
        out.add("tests", *where, topic, "paired", mean, low, high, t, k - 1.0, None, p, p, k)
        out.add("tests", *where, topic, "permanova", 0.21, 0.19, 0.23, 61.2, 2.0 * k, None, 0.0004, 0.0008, k)
        released = (mean + 0.1, None, None, 874.2, 1.0, 2.0 * k - 2, 1e-40, None, k)
        out.add("tests", *where, topic, "anova_reference", *released)


def _taus(
    out: _Rows,
    plan: Plan,
    where: tuple[str, str],
    table: str,
    measure: str,
    concepts: Sequence[tuple[str, str]],
    named: Sequence[tuple[str, str, str]],
    rng: np.random.Generator,
) -> None:
    known = _known(plan, table)
    m, mean = len(known), plan.tau * (1.0 if table == "hofstede" else 0.6)
    for topic, concept in concepts:
        tau = float(np.clip(rng.normal(mean, 0.05), -1, 1))
        out.add("concept_taus", *where, topic, concept, table, measure, "corrected", tau, 0.22, m, -0.04, 0.041)
        out.add("concept_taus", *where, topic, concept, table, measure, "reference", tau * 0.1, 0.01, m, None, None)
    for i in known:
        tau = float(np.clip(rng.normal(mean, 0.12), -1, 1))
        fact = (tau * 1.2, 0.004, 0.21, len(concepts), m)
        out.add("anchors", *where, table, measure, "corrected", *named[i], tau, tau - 0.07, tau + 0.07, *fact)
        out.add("anchors", *where, table, measure, "reference", *named[i], tau * 0.1, None, None, *fact)
    for topic in ["all", *dict.fromkeys(topic for topic, _ in concepts)]:
        floor = (-0.012, 0.013)
        inside = floor[0] <= mean <= floor[1]
        p = 0.4 if inside else 0.001
        told, nothing = (*where, topic, table, measure), [None] * 5
        near = (mean - 0.015, mean + 0.015, p)
        out.add("correlations", *told, "tau", "", mean, *near, *floor, m)
        out.add("correlations", *told, "tau_reference", "", mean / 9, *nothing, m)
        out.add("correlations", *told, "mantel", "", mean * 1.6, None, None, p, -0.05, 0.05, m)
        partial = ("partial mantel", "distance + language", mean * 0.7)
        out.add("correlations", *told, *partial, None, None, 0.08, -0.05, 0.05, m)


def _words(
    out: _Rows, plan: Plan, where: tuple[str, str], named: Sequence[tuple[str, str, str]], rng: np.random.Generator
) -> None:
    stock = PLACES[plan.language]
    for name, country, _ in named:
        own = [country.split()[0].lower(), name.split()[0].lower(), *rng.permutation(stock)[:6].tolist()]
        for rank, word in enumerate(dict.fromkeys(own), start=1):
            z = 16.0 - 1.7 * rank + float(rng.normal(0, 0.3))
            out.add("words", *where, "all", name, "logodds", rank, word, 1.9 - 0.1 * rank, z, 40 - 3 * rank, 12)
            out.add("words", *where, "all", name, "tfidf", rank, word, 210.0 - 9 * rank, None, 40 - 3 * rank, 12)


def _texts(
    out: _Rows,
    plan: Plan,
    where: tuple[str, str],
    concepts: Sequence[tuple[str, str]],
    named: Sequence[tuple[str, str, str]],
    rng: np.random.Generator,
) -> None:
    stock = PLACES[plan.language]
    lines = SENTENCES[plan.language]
    for (topic, concept), (name, _, _), sample in itertools.product(concepts[: plan.shown], named, range(plan.samples)):
        a, b, c, d = rng.permutation(stock)[:4].tolist()
        if plan.wordy:
            out.add(
                "texts", *where, topic, concept, name, sample, " ".join(_VOCABULARY[rng.geometric(0.004, plan.wordy)])
            )
            continue
        told = [lines[k % len(lines)].format(a=a, b=b, c=c, d=d) for k in range(plan.sentences)]
        head = f"{concept.capitalize()}: " if plan.language == "en" else ""
        out.add("texts", *where, topic, concept, name, sample, head + " ".join(told))


def _manifest(plan: Plan, corpora: pl.DataFrame) -> dict[str, Any]:
    how = {"brevity": "nmt", "tokenizer": "word_tokenize"}
    return {
        "format": 1,
        "suite": "eecc",
        "digest": "c93cab866a4579db",
        "created": "2026-03-01T09:30:00+00:00",
        "corpora": [
            {name: row[name] for name in ("corpus", "task", "model")}
            | {"digest": "5f0c9a", "language": "en", "computed_with": dict(how)}
            for row in corpora.iter_rows(named=True)
        ],
        "settings": {"permutations": 999, "seed": 0, "brevity": "nmt", "top": 15},
        "versions": {"kapwa": "0.1.0", "numpy": "2.3.0", "nltk": "3.9.1"},
        "seed": 0,
    }
