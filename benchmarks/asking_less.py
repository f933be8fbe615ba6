"""Requests that runs which stop early send, over the released questions: planted models, the looks of a real run.

    python benchmarks/asking_less.py [--data ../shared/data] [--orders 5] [--save]

Each planted model answers every question right or wrong at random; a control is an earlier model whose answers agree
with it (each is the earlier one with chance φ, else drawn anew). Blocks, looks and the rule are those of ``kapwa run``;
nothing is asked. What is counted are requests, those beyond the point of stopping among them.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import kapwa
from kapwa.records import Item
from kapwa.runs.requests import requests_of
from kapwa.runs.until import BlockOrder, Until
from kapwa.runs.until_plan import AssumedLooks
from kapwa.suites.base import Task

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "asking_less.json"
WAYS = {"a server": 1, "a local model": 32, "a provider's batches": 100}
_OLD = Path("old")  # stands for the earlier run, which is planted
ACCURACIES = (0.2, 0.5, 0.9)


@dataclass(frozen=True)
class Rule:
    """A rule to stop by; ``alike``: how the control agrees with the new model, None without one."""

    name: str
    until: Until
    alike: float | None = None


@dataclass(frozen=True)
class Saved:
    """Which part of all requests was not sent: the median over orders, least and most."""

    data: str
    rule: str
    how: str
    accuracy: float
    requests: int
    orders: int
    median: float
    least: float
    most: float


RULES = {
    "BLEnD": (
        Rule("±5 points in each culture", Until(width=0.05)),
        Rule("±5 points in each culture, a control of φ .8", Until(width=0.05, control=_OLD), 0.8),
        Rule("±2 points in the mean", Until(width=0.02, mean=True)),
        Rule("a loss of 2 points, shown or excluded, φ .8", Until(decided=_OLD, margin=0.02), 0.8),
    ),
    "Kalahi": (
        Rule("±5 points", Until(width=0.05)),
        Rule("±5 points, a control of φ .8", Until(width=0.05, control=_OLD), 0.8),
        Rule("a loss of 5 points, shown or excluded, φ .8", Until(decided=_OLD, margin=0.05), 0.8),
    ),
}


class PlantedLooks(AssumedLooks):
    """Looks at a planted model's answers, with an earlier one's where the rule uses one."""

    def __init__(self, task: Task, items: list[Item], order: BlockOrder, rule: Rule, accuracy: float) -> None:
        self._alike, self._accuracy = rule.alike, accuracy
        random = np.random.default_rng([order.seed, round(100 * accuracy)])
        keys = sorted({(item.culture, item.id) for item in items})
        old, anew = (random.random(len(keys)) < accuracy for _ in range(2))
        new = np.where(random.random(len(keys)) < (rule.alike or 0.0), old, anew)
        self._old = dict(zip(keys, old.astype(float).tolist(), strict=True))
        super().__init__(task, items, order, rule.until, None)
        self._known = dict(zip(keys, new.astype(float).tolist(), strict=True))

    def _compare_with(self, folder: Path, *, whole: bool) -> None:  # noqa: ARG002 - the earlier run is planted
        for culture in self.cultures:
            names = ((culture.layout.culture, item) for item in culture.layout.ids)
            culture.control = np.array([self._old[name] for name in names])


def saved(data: str, task: Task, orders: int) -> Iterator[Saved]:
    """Stop each rule's runs, in several orders of asking."""
    items = list(task.items())
    total = requests_of(task, items, {}).distinct_total
    for rule in RULES[data]:
        for how, least in WAYS.items() if rule is RULES[data][0] else [("a server", 1)]:
            for accuracy in ACCURACIES:
                parts = []
                for seed in range(orders):
                    looks = PlantedLooks(task, items, BlockOrder(seed, least), rule, accuracy)
                    sent = sum(block.distinct_total for blocks in looks.rounds({}) for block in blocks)
                    parts.append(1 - sent / total)
                middle = statistics.median(parts)
                yield Saved(data, rule.name, how, accuracy, total, orders, middle, min(parts), max(parts))


def main() -> None:
    """Print the table, and keep it for docs/benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    tasks = {
        "BLEnD": kapwa.load_task("blend/saq", data=options.data / "blend"),
        "Kalahi": kapwa.load_task("kalahi/mc", data=options.data / "kalahi" / "filipino.csv"),
    }
    found = []
    for data, task in tasks.items():
        for one in saved(data, task, options.orders):
            found.append(asdict(one))
            print(" | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in found[-1].values()), flush=True)
    if options.save:
        RESULT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
