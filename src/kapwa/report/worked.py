"""One item worked through: log-probabilities of its responses (Kalahi appendix F), answers by prompt (table 15)."""

from __future__ import annotations

from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.table import NONE, Cell, Table
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import clean, isolate, truncate
from kapwa.tables_io import csv_text

LONGEST = 400  # columns of text of one answer
_CONTINUATION = ("group", "text", "logprob_sum", "n_tokens", "n_bytes")


def likelihood_table(view: TaskView, subject: Subject, item: str) -> Table | None:
    """What every model gave each response of one item: per byte large, the sum and its tokens small; None without."""
    runs = [(i, frame) for i, frame in view.table("continuations") if {*_CONTINUATION, "index"} <= set(frame.columns)]
    here = (pl.col("item_id") == item) & (pl.col("variant") == view.variant) & (pl.col("culture") == subject.culture)
    found = {i: frame.filter(here).sort("index").to_dicts() for i, frame in runs}
    found = {i: rows for i, rows in found.items() if rows}
    if not found:
        return None
    rows, tidy = [], []
    for place, told in enumerate(next(iter(found.values()))):
        cells = []
        for i, mine in found.items():
            one: dict[str, Any] = mine[place] if place < len(mine) else {}
            total, n_bytes = one.get("logprob_sum"), one.get("n_bytes")
            if wording.known(total) and n_bytes:
                tokens = one.get("n_tokens")  # other tools' logs do not tell
                small = wording.decimal(total, 2) + (f", {wording.count(int(tokens), 'token')}" if tokens else "")
                cells.append(Cell(wording.decimal(total / n_bytes, 4), small, number=True))
            else:
                cells.append(NONE)
            tidy.append([view.labels[i], item, *(one.get(name) for name in _CONTINUATION)])
        where = told["group"] + (f", {wording.count(int(told['n_bytes']), 'byte')}" if told["n_bytes"] else "")
        rows.append([Cell(isolate(truncate(clean(told["text"]), LONGEST)), where), *cells])
    for metric in view.headline:
        own = (pl.col("item_id") == item) & (pl.col("variant") == view.variant) & (pl.col("metric") == metric)
        values = {i: view.runs[i].scores.filter(own).select(pl.col("value").mean()).item() for i in found}
        if any(value is not None for value in values.values()):
            info = view.metrics[metric]
            cells = [
                NONE if value is None else Cell(wording.amount(value, info), number=True) for value in values.values()
            ]
            rows.append([Cell(view.titles[metric], metric, strong=True), *cells])
    return Table(
        key=f"{view.slug}-{subject.culture}-worked",
        caption=f"Log-probabilities of one item, {clean(item)}: {isolate(clean(subject.label))}",
        head=["Response", *(view.labels[i] for i in found)],
        rows=rows,
        csv=csv_text(("model", "item_id", *_CONTINUATION), tidy),
        note="Large: log-probability per byte, the nearer 0 the likelier. Small: the sum over the response's tokens.",
    )


def answers_table(view: TaskView, subject: Subject, item: str) -> Table | None:
    """What every model answered to one situation under each variant of its prompt, with the prompts; None without.

    Variants of a situation are items of one cluster: that of the same id where there is one, else the first.
    """
    shown: dict[str, str] = {}
    answers: dict[int, dict[str, str]] = {}
    for i, frame in view.table("answers"):
        scores = view.runs[i].scores.filter(pl.col("culture") == subject.culture)
        cluster = scores.filter((pl.col("item_id") == item) & (pl.col("variant") == view.variant))["cluster"]
        if "text" not in frame.columns or not len(cluster):
            continue
        for variant in view.variants:
            same = scores.filter((pl.col("cluster") == cluster[0]) & (pl.col("variant") == variant))
            ids = sorted(same["item_id"].unique(), key=lambda one: (one != item, one))
            given = frame.filter((pl.col("item_id").is_in(ids[:1])) & (pl.col("variant") == variant)) if ids else None
            if given is not None and given.height:
                shown.setdefault(variant, ids[0])
                answers.setdefault(i, {})[variant] = clean(given["text"][0] or "")
    if len(shown) < 2:
        return None
    rows = [[Cell("Prompt", strong=True), *(Cell(_prompt(view, one, variant)) for variant, one in shown.items())]]
    for i, texts in answers.items():
        cells = [Cell(isolate(truncate(texts.get(variant, ""), LONGEST)) or wording.NOTHING) for variant in shown]
        rows.append([Cell(view.labels[i]), *cells])
    tidy = [
        [view.labels[i], shown[variant], variant, text]
        for i, texts in answers.items()
        for variant, text in texts.items()
    ]
    return Table(
        key=f"{view.slug}-{subject.culture}-answers",
        caption=f"One situation under every prompt: {isolate(clean(subject.label))}",
        head=["", *(clean(variant) for variant in shown)],
        rows=rows,
        csv=csv_text(("model", "item_id", "variant", "answer"), tidy),
    )


def _prompt(view: TaskView, item: str, variant: str) -> str:
    for run in view.runs:
        if "prompt" in run.items.columns:
            found = run.items.filter((pl.col("item_id") == item) & (pl.col("variant") == variant))
            if found.height:
                return isolate(truncate(clean(found["prompt"][0] or ""), LONGEST))
    return wording.NOTHING
