"""What every suite does with items: choose them, pair them with their answers, write a row for each."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import polars as pl

from kapwa.errors import DataError, UsageError, nearest
from kapwa.records import (
    ITEM_COLUMNS,
    SCORE_COLUMNS,
    UNANSWERED,
    Answer,
    Item,
    Message,
    Outcome,
    Params,
    Request,
    Response,
    Unanswered,
)
from kapwa.suites.base import Selection
from kapwa.value_types import Cells, JsonMapping, Row, Schema

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
# How options are lettered; a set may have fewer.
ALL_LETTERS = "ABCDEFGHIJKLMNOPQRST"
# The topic of items of which nobody says one.
NO_TOPIC = "not given"
_NUMBERS = {"value": pl.Float64, "sample": pl.Int64}
SCORE_SCHEMA: Schema = {name: _NUMBERS.get(name, pl.String) for name in SCORE_COLUMNS}

# One row per judged item: what was expected, what the model gave, and by how much it was right (margin > 0). A row may
# hold more of the item (:func:`item_columns`) and less of the texts.
CASE_SCHEMA: Schema = {
    **dict.fromkeys(("item_id", "variant", "culture", "metric"), pl.String),
    "margin": pl.Float64,
    **dict.fromkeys(("prompt", "prompt_gloss", "expected", "expected_gloss", "got", "got_gloss"), pl.String),
}
_COMMA = re.compile(r"\s*,\s*")
_SELECTED_BY = ("culture", "language", "category", "topic", "cluster", "id")


def select(items: Sequence[Item], selection: Selection, *, known: Sequence[str], default: Sequence[str]) -> list[Item]:
    """Return the items of ``selection``, in order; raise UsageError where a name selects nothing.

    ``known`` are the variants the suite has, ``default`` those taken when none is named. ``limit`` counts
    items of each culture and variant, so that a short run still touches every culture. Drawn at random are whole
    clusters (the last may be cut), the same ones in every culture and variant: intervals rest on clusters, and what is
    compared is paired by them. Items of groups come :func:`linked`.
    """
    if any("group" in item.fields for item in items):
        items = linked(items)
    variants = selection.variants or tuple(default)
    for variant in variants:
        if variant not in known:
            raise UsageError(f"There is no variant {variant!r}.", hint=nearest(variant, known))
    chosen = [item for item in items if item.variant in variants]
    missing = sorted(set(variants) - {item.variant for item in chosen})
    if missing:
        raise UsageError(
            f"The data holds no items of the variant {missing[0]!r}.",
            hint=nearest(missing[0], {item.variant for item in items}),
        )
    for column, values in selection.where.items():
        if column not in _SELECTED_BY:
            raise UsageError(f"Items cannot be selected by {column!r}.", hint=nearest(column, _SELECTED_BY))
        present = {getattr(item, column) for item in chosen}
        wanted = wanted_values(column, values, present)
        chosen = [item for item in chosen if getattr(item, column) in wanted]
    if selection.limit is None:
        return chosen
    indices = list(range(len(chosen)))
    if selection.draw_seed is not None:
        drawn = partial(shuffle_key, selection.draw_seed)
        draw_keys = [(drawn(item.cluster), drawn(item.cluster, item.id)) for item in chosen]
        indices.sort(key=draw_keys.__getitem__)
    groups = grouped(indices, lambda index: (chosen[index].culture, chosen[index].variant))
    selected = {index for group in groups.values() for index in group[: selection.limit]}
    return [item for index, item in enumerate(chosen) if index in selected]


def linked(items: Sequence[Item]) -> list[Item]:
    """Return all items of the data, those of groups with what only all of them tell.

    ``fields["group_size"]``: how many items the group has; ``fields["steps"]``: the steps of all groups, in the order
    of their numbers, or else as they first stand. ``cluster``: that of the group's first item, for items of one group
    depend on each other. Raises DataError for a group in which some items have no step.
    """
    groups = grouped((item for item in items if "group" in item.fields), group_of)
    steps = [step for step in dict.fromkeys(str(item.fields.get("step", "")) for item in items) if step]
    if all(step.isdecimal() for step in steps):
        steps.sort(key=int)
    clusters: dict[str, str] = {}
    every = []
    for item in items:
        if "group" in item.fields:
            members, name = groups[group_of(item)], item.fields["group"]
            if not item.fields["step"] and any(member.fields["step"] for member in members):
                message = f"the item {item.id!r} has no step, but others of its group {name!r} have one."
                raise DataError(message, column="step", hint="Name a step in every row of a group, or in none.")
            fields = {**item.fields, "group_size": len(members), "steps": steps}
            item = replace(item, fields=fields, cluster=clusters.setdefault(name, item.cluster))  # noqa: PLW2901
        every.append(item)
    return every


def group_of(item: Item) -> tuple[str, str, str]:
    """Return which group an item is of: groups are of one culture and variant."""
    return item.culture, item.variant, item.fields["group"]


def shuffle_key(seed: int, *names: str, size: int = 8) -> bytes:
    """Return what is drawn for ``names``: bytes that follow from ``seed`` and the names alone, on every machine."""
    return hashlib.blake2b("\0".join((str(seed), *names)).encode("utf-8", "surrogatepass"), digest_size=size).digest()


def wanted_values(column: str, values: Sequence[str], present: Collection[str]) -> Collection[str]:
    """Return which of the values that are ``present`` a selection means; raise UsageError for one that is not.

    "!Japan" means all but that. A name with a comma may come in the parts that a list of names made of it.
    """
    spelled = {_COMMA.sub(",", name): name for name in present}
    most = 1 + max((name.count(",") for name in spelled), default=0)
    wanted: list[str] = []
    unwanted: list[str] = []
    left = list(values)
    while left:
        for n in range(min(most, len(left)), 0, -1):
            name = _COMMA.sub(",", ",".join(left[:n]))
            if name in spelled or name.removeprefix("!") in spelled:
                break
        if name in spelled:
            wanted.append(spelled[name])
        elif name.removeprefix("!") in spelled:
            unwanted.append(spelled[name.removeprefix("!")])
        else:
            name = left[0].removeprefix("!")
            raise UsageError(f"No item has {column} = {name!r}.", hint=nearest(name, present))
        left = left[n:]
    chosen = [value for value in (spelled.values() if unwanted and not wanted else wanted) if value not in unwanted]
    if unwanted and not chosen:
        raise UsageError(f"Nothing is left: every {column} there is was left out with '!'.")
    return chosen


def pair_answers(items: Sequence[Item], answers: Collection[Answer]) -> Iterator[tuple[Item, int, Response | None]]:
    """Yield each item with the number of a sample and its response, in item order; None where there is no answer.

    Raises UsageError for an answer to an item that is not judged, and for two answers to one sample.
    """
    by_item: dict[tuple[str, str], dict[int, Response]] = {(item.id, item.variant): {} for item in items}
    for request, response in answers:
        samples = by_item.get((request.item_id, request.variant))
        if samples is None:
            raise unknown_item(request)
        if request.sample in samples:
            raise answered_twice(request)
        samples[request.sample] = response
    for item in items:
        samples = by_item[item.id, item.variant]
        if not samples:
            yield item, 0, None
        for sample in sorted(samples):
            yield item, sample, samples[sample]


def unknown_item(request: Request) -> UsageError:
    """Return the error for an answer to an item that is not judged."""
    return UsageError(
        f"An answer names {_request_name(request)}, which is not among the items judged.",
        hint="Judge with the data and selection the answers were made from.",
    )


def answered_twice(request: Request) -> UsageError:
    """Return the error for the second answer to one sample of an item."""
    return UsageError(f"There are two answers to {_request_name(request)}.", hint="Remove one of them.")


def lost_outcome(response: Response | None) -> Unanswered:
    """Return the outcome of rows about an answer that is not there to judge; None: nothing was given at all."""
    return next((state for state in UNANSWERED if response is not None and response.state == state), "failed")


# What every table of answers says of one after its text; see :func:`about_answer`.
ABOUT_ANSWER = dict.fromkeys(("finish_reason", "state", "thought", "error"), pl.String)


def about_answer(response: Response | None) -> dict[str, str | None]:
    """Return the cells of :data:`ABOUT_ANSWER`: how it ended, what it is, what was thought, why there is none."""
    if response is None:
        return {"finish_reason": None, "state": "failed", "thought": None, "error": "no answer was given"}
    columns = {"finish_reason": response.finish_reason, "state": response.state, "thought": response.thought}
    return {**columns, "error": response.reason}


def _request_name(request: Request) -> str:
    return f"item {request.item_id!r} (variant {request.variant!r}), sample {request.sample}"


def greedy_requests(items: Sequence[Item], max_new_tokens: int) -> Iterator[Request]:
    """Yield one greedy generation request per item, with its field "prompt"."""
    params = Params(max_new_tokens=max_new_tokens, temperature=0.0)
    for item in items:
        yield Request(item.id, item.variant, "generate", (Message("user", item.fields["prompt"]),), params=params)


def text_facts(text: str, item: Item, response: Response, *, read: int | None = None) -> dict[str, float | None]:
    """Return what is told of a text by itself; None where it, or the response, does not tell.

    Keys: ``words`` (runs of signs between white space), ``truncated``, ``empty``, ``refused`` and ``other_language``;
    all but the first two are 0 or 1. ``read``: of so many characters the language is told.
    """
    from kapwa.languages.identify import differs, identify
    from kapwa.languages.phrases import is_refusal
    from kapwa.metrics.base import is_blank

    # Whether it ended at the limit a recorded answer, and some servers, do not say.
    truncated = None if response.state == "unknown" else float(response.state == "unfinished")
    if is_blank(text) and response.state != "declined":
        return {"words": 0.0, "truncated": truncated, "empty": 1.0, "refused": 0.0, "other_language": None}
    words, refused = float(len(text.split())), float(response.state == "declined" or is_refusal(text))
    values = {"words": words, "truncated": truncated, "empty": 0.0, "refused": refused}
    other = differs(item.language, identify(text[:read]))
    return {**values, "other_language": None if other is None else float(other)}


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Return the values of each key, in their order; keys in the order they first come."""
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return groups


def by_culture(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Return all items under "", and where they are of several cultures, each culture's own under its name."""
    cultures = grouped(items, lambda item: item.culture)
    return {"": list(items), **(cultures if len(cultures) > 1 else {})} if items else {}


def item_columns(item: Item) -> dict[str, str]:
    """Return what every table says of an item, by :data:`kapwa.records.ITEM_COLUMNS`."""
    return {"item_id": item.id} | {name: getattr(item, name) for name in ITEM_COLUMNS[1:]}


def item_of(row: Row, suite: str, fields: JsonMapping) -> Item:
    """Return the item that a table says this of."""
    return Item(row["item_id"], suite, fields=fields, **{name: row[name] for name in ITEM_COLUMNS[1:]})


def accuracy(margin: float) -> tuple[float, Outcome]:
    """Return 1 for a positive margin, else 0, and what it is called; a tie is no success but is told apart."""
    if margin == 0:
        return 0.0, "tie"
    return (1.0, "right") if margin > 0 else (0.0, "wrong")


def score_row(item: Item, metric: str, value: float | None, outcome: Outcome, sample: int = 0) -> Cells:
    """One row of the long score table for ``item``; ``value`` None where there is nothing to measure.

    The state is not said here: :meth:`kapwa.suites.base.Task.judge` knows it of every answer.
    """
    return {**item_columns(item), "sample": sample, "metric": metric, "value": value, "outcome": outcome}


def score_frame(rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """The score table of ``rows``, typed even when there are none."""
    return pl.DataFrame(list(rows), schema=SCORE_SCHEMA)


def worst_first(rows: Iterable[Cells]) -> pl.DataFrame:
    """The case table of the row with the smallest margin (the first such) of each item and variant, sorted by it."""
    groups = grouped(rows, lambda row: (row["item_id"], row["variant"]))
    worst = [min(group, key=lambda row: row["margin"]) for group in groups.values()]
    return pl.DataFrame(sorted(worst, key=lambda row: row["margin"]), schema=CASE_SCHEMA)
