"""Items with a conversation before the question: it is part of what is asked, and of how items read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from kapwa.records import Item, Request
from kapwa.suites.base import AskItems, TabulateItems, Task


def with_conversations(task: Task) -> Task:
    """Return ``task`` asked with the turns in its items' field ``messages`` before each question."""
    return replace(task, requests=partial(_requests, task.requests), item_table=partial(_item_table, task.item_table))


def _requests(ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
    for item in items:
        for request in ask([item]):
            yield replace(request, messages=(*item.fields.get("messages", ()), *request.messages))


def _item_table(tabulate: TabulateItems, items: Sequence[Item]) -> pl.DataFrame:
    """Return the task's table with the conversations as JSON, "" where an item has none."""
    turns = [item.fields.get("messages", ()) for item in items]
    plain = [[{"role": turn.role, "content": turn.content, "language": turn.language} for turn in one] for one in turns]
    written = [json.dumps(said, ensure_ascii=False) if said else "" for said in plain]
    return tabulate(items).with_columns(pl.Series("messages", written, dtype=pl.String))
