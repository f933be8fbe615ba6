"""One item worked through: log-probabilities of its responses (Kalahi appendix F), answers by prompt (table 15)."""

from __future__ import annotations

from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.table import NONE, Cell, Column, Row, Table
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import clean, isolate, truncate

LONGEST = 400  # columns of text of one answer
_CONTINUATION: dict[Any, Any] = {
    "group": pl.String,
    "text": pl.String,
    "logprob_sum": pl.Float64,
    "n_tokens": pl.Int64,
    "n_bytes": pl.Int64,
}


def likelihood_table(view: TaskView, subject: Subject, item: str) -> Table | None:
    """What every model gave each response of one item: per byte large, the sum and its tokens small; None without."""
    of_item = (pl.col("item_id") == item) & (pl.col("variant") == view.variant)
    frames, scores = [], []
    for i, table in view.table("continuations"):
        if not {*_CONTINUATION, "index"} <= set(table.columns):
            continue
        frame = table.filter(of_item & (pl.col("culture") == subject.culture)).sort("index").select(*_CONTINUATION)
        frames.append(frame.cast(_CONTINUATION).with_row_index("place").with_columns(model=pl.lit(view.labels[i])))
        for metric in view.headline if frame.height else ():
            value = view.runs[i].scores.filter(of_item & (pl.col("metric") == metric))["value"].mean()
            scores.append((view.labels[i], metric, value))
    responses = pl.concat(frames).sort("place", maintain_order=True) if frames else pl.DataFrame()
    if not responses.height:
        return None
    schema = {"model": pl.String, "metric": pl.String, "value": pl.Float64}
    measured = (
        pl.DataFrame(scores, schema=schema, orient="row")
        .drop_nulls()
        .sort(pl.col("metric").replace_strict({name: k for k, name in enumerate(view.headline)}), maintain_order=True)
    )
    return Table(
        key=f"{view.slug}-{subject.culture}-worked",
        caption=f"Log-probabilities of one item, {clean(item)}: {isolate(clean(subject.label))}",
        frame=responses.select("model", pl.lit(item).alias("item_id"), *_CONTINUATION),
        columns=[
            Column("Response", lambda row: _response(view, row)),
            Column("", lambda row: _likelihood(view, row), spread=True),
        ],
        shown=pl.concat([responses, measured], how="diagonal"),
        by=["place", "metric"],
        across=("model", {label: label for label in responses["model"].unique(maintain_order=True)}),
        note="Large: log-probability per byte, the nearer 0 the likelier. Small: the sum over the response's tokens.",
    )


def _response(view: TaskView, row: Row) -> Cell:
    """A response and its group, or the metric that a row of values is of."""
    if row["metric"] is not None:
        return Cell(view.titles[row["metric"]], row["metric"], strong=True)
    where = row["group"] + (f", {wording.count(row['n_bytes'], 'byte')}" if row["n_bytes"] else "")
    return Cell(isolate(truncate(clean(row["text"]), LONGEST)), where)


def _likelihood(view: TaskView, row: Row) -> Cell:
    if row["metric"] is not None:
        return Cell(wording.amount(row["value"], view.metrics[row["metric"]]), number=True)
    total, tokens = row["logprob_sum"], row["n_tokens"]
    if not (wording.known(total) and row["n_bytes"]):
        return NONE
    # Other tools' logs do not tell how many tokens there were.
    small = wording.decimal(total, 2) + (f", {wording.count(tokens, 'token')}" if tokens else "")
    return Cell(wording.decimal(total / row["n_bytes"], 4), small, number=True)


def answers_table(view: TaskView, subject: Subject, item: str) -> Table | None:
    """What every model answered to one situation under each variant of its prompt, with the prompts; None without.

    Variants of a situation are items of one cluster: that of the same id where there is one, else the first.
    """
    asked: dict[str, str] = {}
    rows: list[tuple[str, str, str, str]] = []
    for i, frame in view.table("answers"):
        scores = view.runs[i].scores.filter(pl.col("culture") == subject.culture)
        cluster = scores.filter((pl.col("item_id") == item) & (pl.col("variant") == view.variant))["cluster"]
        if "text" not in frame.columns or not len(cluster):
            continue
        for variant in view.variants:
            same = scores.filter((pl.col("cluster") == cluster[0]) & (pl.col("variant") == variant))
            ids = sorted(same["item_id"].unique(), key=lambda name: (name != item, name))
            answers = frame.filter((pl.col("item_id").is_in(ids[:1])) & (pl.col("variant") == variant))
            if answers.height:
                asked.setdefault(variant, ids[0])
                rows.append((view.labels[i], asked[variant], variant, clean(answers["text"][0] or "")))
    if len(asked) < 2:
        return None
    schema = dict.fromkeys(("model", "item_id", "variant", "answer"), pl.String)
    prompts = [("", name, variant, _prompt(view, name, variant)) for variant, name in asked.items()]
    frame, shown = (pl.DataFrame(part, schema=schema, orient="row") for part in (rows, prompts + rows))
    return Table(
        key=f"{view.slug}-{subject.culture}-answers",
        caption=f"One situation under every prompt: {isolate(clean(subject.label))}",
        frame=frame,
        columns=[
            Column("", lambda row: Cell(row["model"] or "Prompt", strong=not row["model"])),
            Column("", _answer, spread=True, none=Cell(wording.NOTHING)),
        ],
        shown=shown,
        by=["model"],
        across=("variant", {variant: clean(variant) for variant in asked}),
    )


def _answer(row: Row) -> Cell:
    return Cell(isolate(truncate(row["answer"], LONGEST)) or wording.NOTHING)


def _prompt(view: TaskView, item: str, variant: str) -> str:
    for run in view.runs:
        if "prompt" in run.items.columns:
            found = run.items.filter((pl.col("item_id") == item) & (pl.col("variant") == variant))
            if found.height:
                return clean(found["prompt"][0] or "")
    return wording.NOTHING
