"""Items with a conversation or media before the question: part of what is asked, and of how items read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

import polars as pl

from kapwa.datasets.conversations import in_conversation
from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.records import Capability, Item, Message, Request
from kapwa.suites.base import AskItems, TabulateItems, Task

_SEEN: frozenset[Capability] = frozenset({"media"})


def with_conversations(task: Task) -> Task:
    """Return ``task`` asked with its items' ``messages`` right before each question, and their ``media`` with it.

    Raises UsageError for answered examples, which would lack the conversations they belong to, for a second system
    message, and for media in a task of likelihoods, which are measured after texts alone.
    """
    if "shots" in task.options:
        message = "Items with a conversation or media of their own are asked without answered examples."
        raise UsageError(message, hint="Leave --shots out.")
    turns = [turn for item in task.selected for turn in item.fields.get("messages", ())]
    if "system" in task.options and any(turn.role == "system" for turn in turns):
        message = "Items whose conversation begins with a system message are asked without another one."
        raise UsageError(message, hint="Leave --system out.")
    files = [*(media for turn in turns for media in turn.media)]
    files += [media for item in task.selected for media in item.fields.get("media", ())]
    if files and "score" in task.needs:
        message = f"{task.name} asks how likely texts are, and that is measured after texts alone, not after media."
        raise UsageError(message, hint="Ask a task in which the model writes, of the items with pictures or sound.")
    digests = {"media": digest({media.path: media.sha256.encode() for media in files})} if files else {}
    return replace(
        task,
        needs=task.needs | _SEEN if files else task.needs,
        options={**task.options, **digests},
        requests=partial(_requests, task.requests),
        item_table=partial(_item_table, task.item_table),
    )


def _requests(ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
    for item in items:
        turns = [Message(turn.role, turn.content, turn.media) for turn in item.fields.get("messages", ())]
        media = item.fields.get("media", ())
        for request in ask([item]):
            *others, question = request.messages
            yield replace(request, messages=(*others, *turns, replace(question, media=media)))


def _item_table(tabulate: TabulateItems, items: Sequence[Item]) -> pl.DataFrame:
    """Return the task's table with prompts as they read in their conversations, and these and the media as JSON."""
    table = tabulate(items)
    columns = {"prompt": [in_conversation(*pair) for pair in zip(items, table["prompt"], strict=True)]}
    for name in ("messages", "media"):
        columns[name] = [_written(item.fields.get(name, ())) for item in items]
    return table.with_columns(pl.Series(name, values, dtype=pl.String) for name, values in columns.items())


def _written(entries: Sequence[object]) -> str:
    """Return turns or media as JSON, without empty values and places on this machine; "" for none."""
    filled = partial(asdict, dict_factory=lambda pairs: {key: value for key, value in pairs if value and key != "file"})
    return json.dumps([filled(entry) for entry in entries], ensure_ascii=False) if entries else ""
