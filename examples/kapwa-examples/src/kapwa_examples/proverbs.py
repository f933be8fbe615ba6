"""A suite by code: does the model know how a saying ends? One package, one entry point, nothing changed in Kapwa.

``open_task`` returns a task: its items, and plain functions that ask, judge and tabulate them. Floors, intervals,
signatures, resuming and the report are Kapwa's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.datasets.findings import DataSource
from kapwa.files import digest
from kapwa.records import Answer, Floor, Item, Message, Params, Request
from kapwa.suites.base import Judged, MetricInfo, Selection, Suite, Task
from kapwa.suites.items import item_columns, pair_answers, score_frame, score_row, select

# The beginning of a made-up saying, and the word that ends it.
SAYINGS = (
    ("The river asks no stone for its", "name"),
    ("Who lends a pot shares the", "bread"),
    ("Rain is no guest of the", "roof"),
)
KNOWS = MetricInfo(
    "ends_right",
    "The right last word",
    0.0,
    1.0,
    binary=True,
    phrase="ended {value} of {items} as people do",
    higher_is_better=True,
)


def requests(items: Sequence[Item]) -> Iterator[Request]:
    """Ask for the last word of each saying."""
    for item in items:
        prompt = f"Which word ends this saying? {item.fields['prompt']} …"
        yield Request(item.id, item.variant, "generate", (Message("user", prompt),), params=Params(max_new_tokens=16))


def score(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """A reply is right if the last word is among its words."""
    return Judged(score_frame(_row(item, sample, response) for item, sample, response in pair_answers(items, answers)))


def floors(items: Sequence[Item]) -> list[Floor]:
    """What the same word for every saying scores."""
    ends = [item.fields["best"] for item in items]
    commonest = max(ends.count(end) for end in ends) / len(ends)
    return [Floor("ends_right", "plain", "one word", commonest, note="the same word for every saying")]


def item_table(items: Sequence[Item]) -> pl.DataFrame:
    """The sayings, for readers of a report."""
    return pl.DataFrame([item_columns(item) | dict(item.fields) for item in items])


def sayings() -> list[Item]:
    """Return an item for each saying; no two are variants of one."""
    return [
        Item(
            f"s{n}",
            "proverbs",
            "Nowhere",
            "en",
            "sayings",
            "sayings",
            "plain",
            f"s{n}",
            {"prompt": start, "best": end},
        )
        for n, (start, end) in enumerate(SAYINGS, start=1)
    ]


def _row(item: Item, sample: int, response: Any) -> dict[str, Any]:
    if response is None or response.failed:
        return score_row(item, "ends_right", None, "failed", sample)
    right = item.fields["best"] in (response.text or "").casefold().replace(".", " ").split()
    return score_row(item, "ends_right", float(right), "right" if right else "wrong", sample)


def open_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:  # noqa: ARG001
    """Return the task ``proverbs/complete``; its sayings are in this module, so there are no data to read."""
    source = DataSource("made-up sayings", None, digest({"sayings": repr(SAYINGS).encode()}), illustrative=True)
    return Task(
        name="proverbs/complete",
        data=source,
        selection=selection,
        selected=select(sayings(), selection, known=("plain",), default=("plain",)),
        needs=frozenset({"generate"}),
        headline=("ends_right",),
        groups=("topic",),
        metrics={"ends_right": KNOWS},
        options={},
        requests=requests,
        score=score,
        floors=floors,
        item_table=item_table,
    )


suite = Suite(
    name="proverbs",
    title="Sayings (example)",
    question="Does the model know how a saying ends?",
    tasks={"proverbs/complete": "the last word of a saying"},
    variants=("plain",),
    packs=Path(__file__).parent / "packs",
    open_task=open_task,
    check=lambda _path: None,
    noun=("saying", "sayings"),
    floor_words={"one word": ("always the same word", "one word")},
)
