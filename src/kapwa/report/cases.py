"""Where models fail: the items they got most wrong, with what was expected and what they preferred or said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from kapwa.report import numbers
from kapwa.report.text import clean, truncate
from kapwa.report.view import Subject, TaskView
from kapwa.tables_io import csv_text

SHOWN = 5
CSV_SIZE = 600_000  # bytes of all failure tables of one task: the page must stay small enough to mail
LONGEST = 1000  # columns of text shown of one prompt or answer


@dataclass(frozen=True, slots=True)
class Said:
    """What one or more models preferred or said, and for each its margin; below zero is wrong."""

    models: list[tuple[str, str]]
    text: str
    gloss: str
    right: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One item that at least one model got wrong."""

    item_id: str
    topic: str
    language: str
    prompt: str
    prompt_gloss: str
    expected: str
    expected_gloss: str
    said: list[Said]


@dataclass(frozen=True, slots=True)
class Cases:
    """The worst items of one culture; ``wrong`` of ``items`` were missed by at least one model."""

    cases: list[Case]
    wrong: int
    items: int
    csv: str


def worst_cases(view: TaskView, subject: Subject) -> Cases | None:
    """The items most models got wrong, by the widest margin first; None when the suite keeps no cases."""
    by_item: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for run, frame in view.table("cases"):
        for row in _cases_of(frame, view, subject).iter_rows(named=True):
            by_item.setdefault(row["item_id"], []).append((run, row))
    if not by_item:
        return None
    missed = {item: rows for item, rows in by_item.items() if any(row["margin"] <= 0 for _, row in rows)}
    margins = {item: [row["margin"] for _, row in rows] for item, rows in missed.items()}
    # Most models wrong first, then the lowest mean margin.
    order = {item: (-sum(one <= 0 for one in found), sum(found) / len(found)) for item, found in margins.items()}
    ranked = sorted(missed.items(), key=lambda pair: (order[pair[0]], pair[0]))
    # Another variant may ask an item in another language.
    columns, main = ("item_id", "topic", "language"), pl.col("variant") == view.variant
    frames = [run.scores.filter(main).select(columns).unique(maintain_order=True) for run in view.runs]
    details = {item: (topic or "", language or "") for frame in frames for item, topic, language in frame.iter_rows()}
    return Cases(
        cases=[_case(view, item, rows, *details.get(item, ("", ""))) for item, rows in ranked[:SHOWN]],
        wrong=len(missed),
        items=len(by_item),
        csv=_csv(view, [pair for _, rows in ranked for pair in rows]),
    )


def _cases_of(frame: pl.DataFrame, view: TaskView, subject: Subject) -> pl.DataFrame:
    """Cases of a culture in the main variant, by the first headline metric that has any, else by any metric."""
    here = frame.filter(
        (pl.col("culture") == subject.culture) & (pl.col("variant") == view.variant) & pl.col("margin").is_not_null()
    )
    metrics = here["metric"].unique(maintain_order=True).to_list()
    named = [name for name in view.headline if name in metrics] or metrics
    return here.filter(pl.col("metric") == named[0]) if named else here


def _case(view: TaskView, item: str, rows: list[tuple[int, Mapping[str, Any]]], topic: str, language: str) -> Case:
    first = rows[0][1]
    # What the models preferred or said; those that agree stand together.
    said: dict[tuple[str, bool], Said] = {}
    for run, row in rows:
        text, right = _shown(row["got"]) or "(nothing)", row["margin"] > 0
        group = said.setdefault((text, right), Said([], text, _shown(row["got_gloss"]), right))
        group.models.append((view.labels[run], numbers.decimal(row["margin"], 3, plus=True)))
    texts = {name: _shown(first[name]) for name in ("prompt", "prompt_gloss", "expected", "expected_gloss")}
    return Case(clean(item), clean(topic), clean(language), **texts, said=list(said.values()))


def _shown(text: str | None) -> str:
    return truncate(clean(text or "").strip(), LONGEST)


def _csv(view: TaskView, rows: list[tuple[int, Mapping[str, Any]]]) -> str:
    """The failures as CSV, the worst first, as many as fit the culture's part of :data:`CSV_SIZE`."""
    columns = ("item_id", "variant", "culture", "metric", "margin", "prompt", "prompt_gloss")
    answers = ("expected", "expected_gloss", "got", "got_gloss")
    room = CSV_SIZE // len(view.subjects)
    kept: list[list[Any]] = []
    for run, row in rows:
        cells = [view.labels[run], *(row[name] for name in (*columns, *answers))]
        room -= sum(len(str(cell).encode("utf-8", "replace")) for cell in cells)
        if room < 0 and kept:
            break
        kept.append(cells)
    return csv_text(("model", *columns, *answers), kept)
