"""Analyses as ``kapwa analyze eecc`` writes them, drawn from a seed: countries lie in regions, and near ones are alike.

Nothing here was measured. The texts were written for these tests, in five scripts.
"""

import itertools
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import iso3166
import numpy as np
import polars as pl
import yaml

from kapwa.analysis.result_tables import SCHEMAS

_TEXTS = yaml.safe_load(Path(__file__).with_name("generations.yaml").read_text(encoding="utf-8"))
_VOCABULARY = np.array(["w" + np.base_repr(k * 7919 + 101, 36).lower() for k in range(6000)])
# What a report needs of an analysis.
MadeAnalysis: Any = make_dataclass("MadeAnalysis", ["path", "manifest", *SCHEMAS])


@dataclass(frozen=True)
class Plan:
    """What to draw: models at temperatures, tasks, identities, and how strongly texts go with values (``tau``)."""

    models: Sequence[str] = ("org/storyteller-2b", "org/narrator-7b")
    temperatures: Sequence[float | None] = (0.3,)
    tasks: Sequence[str] = ("eecc/qa", "eecc/stories")
    identities: int = 40
    concepts: int | None = None
    tau: float = 0.12
    language: str = "en"
    attribute: str = "nationality"
    shown: int = 3
    samples: int = 2
    wordy: int = 0  # texts of so many random words instead, which pack no better than a model's
    values: Sequence[str] = ("hofstede", "wvs")
    notes: Sequence[tuple[str, str]] = ()

    def known(self, table: str) -> list[int]:
        """Which identities a survey has."""
        step = 2 if table == "hofstede" else 3
        return [i for i in range(self.identities) if self.identities < 60 or i % step == 0]


def make_analysis(**changes: Any) -> MadeAnalysis:
    """An analysis of a :class:`Plan`; the same plan gives the same tables, which nobody changes."""
    return _analysis(Plan(**{name: tuple(one) if isinstance(one, list) else one for name, one in changes.items()}))


@cache
def _analysis(plan: Plan) -> MadeAnalysis:
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    # Identities with country and ISO code: demonyms first, then countries by their name.
    by_code, demonyms = {one.alpha3: one.name for one in iso3166.countries}, _TEXTS["demonyms"]
    every = [(name, by_code[code], code) for name, code in demonyms.items()]
    every += [(name, name, code) for code, name in by_code.items() if code not in demonyms.values()]
    named = every[: plan.identities]
    rng = np.random.default_rng(7)
    centres = rng.normal(0, 2.2, (6, 2))
    # Neighbours in the alphabet are no neighbours on the map: regions go by the code.
    regions = np.array([zlib.crc32(code.encode()) % 6 for _, _, code in named])
    at = centres[regions] + rng.normal(0, 0.6, (len(named), 2))
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    for table in plan.values:
        rows["values"] += [(table, *named[i], 6 if table == "hofstede" else 259) for i in plan.known(table)]
    for task, model, temperature in itertools.product(plan.tasks, plan.models, plan.temperatures):
        _Corpus(rows, plan, named, task, model, temperature).draw(apart)
    rows["notes"] += plan.notes
    frames = {name: pl.DataFrame(rows[name], schema=dict(kinds), orient="row") for name, kinds in SCHEMAS.items()}
    manifest = {
        "format": 1,
        "suite": "eecc",
        "digest": "c93cab866a4579db",
        "created": "2026-03-01T09:30:00+00:00",
        "corpora": [
            {**row, "digest": "5f0c9a", "language": "en"}
            | {"computed_with": {"brevity": "nmt", "tokenizer": "word_tokenize"}}
            for row in frames["corpora"].select("corpus", "task", "model").iter_rows(named=True)
        ],
        "settings": {"permutations": 999, "seed": 0, "brevity": "nmt", "top": 15},
        "versions": {"kapwa": "0.1.0", "numpy": "2.3.0", "nltk": "3.9.1"},
        "seed": 0,
    }
    return MadeAnalysis(path=Path("analyses/made-0123abcd"), manifest=manifest, **frames)


class _Corpus:
    """Draws the rows of one corpus; ``where`` is what its rows begin with."""

    def __init__(self, rows: Any, plan: Plan, named: Any, task: str, model: str, temperature: float | None) -> None:
        short = model.rpartition("/")[2]
        label = short if temperature is None else f"{short} T {temperature:g}"
        self.rows, self.plan, self.named, self.where = rows, plan, named, (label, task)
        self.model, self.temperature = model, temperature
        self.rng = np.random.default_rng(zlib.crc32(f"{task}{label}".encode()))
        topics = _TEXTS["topics"][task]
        pairs = [(topic, concept) for topic, concepts in topics.items() for concept in concepts]
        more = (plan.concepts or 0) - len(pairs)
        pairs += [(list(topics)[k % len(topics)], f"concept {k:03d}") for k in range(more)]
        self.concepts = pairs[: plan.concepts]

    def add(self, table: str, *row: Any) -> None:
        self.rows[table].append((*self.where, *row))

    def draw(self, apart: np.ndarray) -> None:
        n, concepts = len(self.named), len(self.concepts)
        warm, texts = 0.04 * ((self.temperature or 0.5) - 0.3), n * concepts * 5
        sizes = (concepts, n, texts, 5.0, texts * 86, 86.2, 3)
        self.add("corpora", self.model, self.temperature, self.plan.attribute, *sizes)
        gaps = []
        for topic, concept in self.concepts:
            within = float(np.clip(self.rng.normal(0.24 + warm, 0.03), 0.02, 0.5))
            across = float(np.clip(within + self.rng.normal(0.06, 0.02), 0.02, 0.5))
            gaps.append(across - within)
            fact = (18.2, 0.2 + (across - within), 0.001, 1.1, 0.4, n, n * 5, *[None] * 4)
            self.add("variance", topic, concept, "corrected", within, across, *fact)
            self.add("variance", topic, concept, "reference", within * 0.8, across * 0.98, *fact)
        self.topics = ["all", *dict.fromkeys(topic for topic, _ in self.concepts)]
        self.tests(np.array(gaps))
        for table, measure in itertools.product(self.plan.values, ("bleu", "wed")):
            self.taus(table, measure)
        bleu = np.clip(0.42 - 0.05 * apart + self.rng.normal(0, 0.02, apart.shape), 0, 1)
        for i, j in itertools.combinations(range(n), 2):
            b = float(bleu[i, j])
            self.add("similarity", self.named[i][0], self.named[j][0], float(np.clip(0.9 - 0.7 * b, 0, 1)), b)
        for name, country, code in self.named:
            alpha2 = iso3166.countries_by_alpha3[code].alpha2
            self.add("identities", name, country, alpha2, code, 0.24, 0.3, 86 * 5 * concepts, 0)
        self.words()
        self.texts()

    def tests(self, gaps: np.ndarray) -> None:
        for topic in self.topics:
            few = gaps[[topic in ("all", own) for own, _ in self.concepts]]
            k, mean = len(few), float(few.mean())
            paired: tuple[float | None, ...] = (None,) * 3
            p = None
            if k > 1:
                half = float(2.1 * few.std(ddof=1) / np.sqrt(k))
                paired = (mean - half, mean + half, mean / (half / 2.1))
                p = 0.00002 if abs(mean) > half else 0.31
            self.add("tests", topic, "paired", mean, *paired, k - 1.0, None, p, p, k)
            self.add("tests", topic, "permanova", 0.21, 0.19, 0.23, 61.2, 2.0 * k, None, 0.0004, 0.0008, k)
            self.add("tests", topic, "permdisp", None, None, None, 20.0, 2.0 * k, None, 0.21, 0.4, k)
            released = (mean + 0.1, None, None, 874.2, 1.0, 2.0 * k - 2, 1e-40, None, k)
            self.add("tests", topic, "anova_reference", *released)

    def taus(self, table: str, measure: str) -> None:
        known = self.plan.known(table)
        m, mean = len(known), self.plan.tau * (1.0 if table == "hofstede" else 0.6)
        for topic, concept in self.concepts:
            tau = float(np.clip(self.rng.normal(mean, 0.05), -1, 1))
            told = (topic, concept, table, measure)
            self.add("concept_taus", *told, "corrected", tau, 0.22, m, -0.04, 0.041)
            self.add("concept_taus", *told, "reference", tau * 0.1, 0.01, m, None, None)
        for i in known:
            tau = float(np.clip(self.rng.normal(mean, 0.12), -1, 1))
            fact = (tau * 1.2, 0.004, 0.21, len(self.concepts), m)
            self.add("anchors", table, measure, "corrected", *self.named[i], tau, tau - 0.07, tau + 0.07, *fact)
            self.add("anchors", table, measure, "reference", *self.named[i], tau * 0.1, None, None, *fact)
        p = 0.4 if -0.012 <= mean <= 0.013 else 0.001
        for topic in self.topics:
            for found in (
                ("tau", "", mean, mean - 0.015, mean + 0.015, p, -0.012, 0.013, p, mean - 0.02, mean + 0.02),
                ("tau_reference", "", mean / 9, *[None] * 8),
                ("mantel", "", mean * 1.6, None, None, p, None, None, p, None, None),
                ("partial mantel", "distance + language", mean * 0.7, None, None, 0.08, None, None, 0.2, None, None),
            ):
                self.add("correlations", topic, table, measure, *found, m)

    def words(self) -> None:
        for name, country, _ in self.named:
            own = self.rng.permutation(_TEXTS["places"][self.plan.language])[:6].tolist()
            own = [country.split()[0].lower(), name.split()[0].lower(), *own]
            for rank, word in enumerate(dict.fromkeys(own), start=1):
                z = 16.0 - 1.7 * rank + float(self.rng.normal(0, 0.3))
                same = (40 - 3 * rank, 12, 30 - 2 * rank, 2.5, 0.0001 if rank < 5 else 0.4)
                self.add("words", "all", name, "logodds", rank, word, 1.9 - 0.1 * rank, z, *same)
                self.add("words", "all", name, "tfidf", rank, word, 210.0 - 9 * rank, None, *same)

    def texts(self) -> None:
        plan = self.plan
        lines, english = _TEXTS["sentences"][plan.language], plan.language == "en"
        shown = itertools.product(self.concepts[: plan.shown], self.named, range(plan.samples))
        for (topic, concept), (name, _, _), sample in shown:
            stock = dict(zip("abcd", self.rng.permutation(_TEXTS["places"][plan.language])[:4].tolist(), strict=True))
            text = f"{concept.capitalize()}: " if english else ""
            text += " ".join(lines[k % len(lines)].format(**stock) for k in range(4))
            if plan.wordy:
                text = " ".join(_VOCABULARY[self.rng.geometric(0.004, plan.wordy)])
            self.add("texts", topic, concept, name, sample, text)
