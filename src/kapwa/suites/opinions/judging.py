"""Judge ``opinions/survey``: how near are the shares that a model gives to those of people?"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import softmax

from kapwa.records import ITEM_COLUMNS, Answer, Floor, Item, Response
from kapwa.suites.base import Judged
from kapwa.suites.items import (
    ALL_LETTERS,
    CASE_SCHEMA,
    by_culture,
    grouped,
    item_columns,
    lot,
    pair_answers,
    score_frame,
    score_row,
)
from kapwa.suites.opinions.between import correlation_words, persistence_words
from kapwa.suites.opinions.shares import Key, Shares, distances, item_key, people_of

How = Literal["likelihood", "samples", "stated"]
HEADLINE = ("tv_overlap", "js_similarity")
UNREADABLE = "unreadable"
# Draws for what sampling noise costs; over the questions of a survey their own noise averages out.
_DRAWS = 100
# Percentages may add up to a little more or less, for each is rounded.
_LEAST_SUM, _MOST_SUM = 98, 102
_LETTER = re.compile(r"^[^\w\n]*(?:answer\W+)?([A-Z])[*_ ]*(?:$|[).:])", re.IGNORECASE | re.MULTILINE)
_PERCENTAGE = re.compile(r"^[^\w\n]*([A-Z])\b[^\n%]*?(\d{1,3}(?:\.\d+)?)[ *]*%[\s*.;,]*$", re.MULTILINE)


def read_choice(text: str, options: Sequence[str]) -> int | None:
    """Return the place of the one option that a reply names, in its own words or by its letter; else None.

    A letter counts where it stands alone on its line or begins it as "B." or "B)" do; two letters are no choice.
    """
    words = [option.casefold().strip(" .") for option in options]
    plain = text.casefold().strip(" \n.*\"'")
    if plain in words:
        return words.index(plain)
    letters = {letter.upper() for letter in _LETTER.findall(text)}
    return ALL_LETTERS.index(letters.pop()) if len(letters) == 1 and letters <= set(ALL_LETTERS[: len(words)]) else None


def read_percentages(text: str, options: int) -> Shares | None:
    """Return the shares of a reply with one line for each letter that add up to 100; None for any other reply."""
    lines = sorted(_PERCENTAGE.findall(text))
    values = np.array([float(number) for _, number in lines])
    if [letter for letter, _ in lines] != list(ALL_LETTERS[:options]) or not _LEAST_SUM <= values.sum() <= _MOST_SUM:
        return None
    return np.asarray(values / values.sum())


def _shares(response: Response, item: Item, how: How) -> Shares | None:
    """The shares that one answer stands for; None where it cannot be read."""
    options = item.fields["options"]
    if how == "likelihood":
        return np.asarray(softmax([score.logprob_sum for score in response.logprobs or ()]))
    if how == "stated":
        return read_percentages(response.text or "", len(options))
    place = read_choice(response.text or "", options)
    return None if place is None else np.eye(len(options))[place]


def judge(items: Sequence[Item], answers: Collection[Answer], how: How) -> Judged:
    """Turn answers into the shares a model gives each option, and those into scores, a table of shares and cases.

    Replies that cannot be read count for no option; their share is a metric, and a note says how many there are. An
    item without a readable one has no score.
    """
    replies: defaultdict[Key, list[Response]] = defaultdict(list)
    for item, _, response in pair_answers(items, answers):
        if response is not None and not response.failed:
            replies[item_key(item)].append(response)
    scores: list[dict[str, Any]] = []
    model: dict[Key, Shares] = {}
    unreadable = 0
    for item in items:
        key = item_key(item)
        readings = [_shares(response, item, how) for response in replies[key]]
        readable = [shares for shares in readings if shares is not None]
        unreadable += len(readings) - len(readable)
        if readable:
            model[key] = np.mean(readable, axis=0)
            values = distances(model[key], people_of(item))
            scores += [score_row(item, name, float(value), "scored") for name, value in values.items()]
        else:
            outcome: Literal["unparsed", "failed"] = "unparsed" if readings else "failed"
            scores += [score_row(item, name, None, outcome) for name in _METRICS]
        if how != "likelihood":
            missing = 1 - len(readable) / len(readings) if readings else None
            scores.append(score_row(item, UNREADABLE, missing, "scored" if readings else "failed"))
    notes = [*persistence_words(items, model, sampled=how == "samples"), *correlation_words(items, model)]
    if unreadable:
        every = sum(map(len, replies.values()))
        notes.append(f"{unreadable:,} of {every:,} replies name no option as asked; they count for none.")
    answered = [item for item in items if item_key(item) in model]
    tables = {"opinions": _share_table(answered, model), "cases": _cases(answered, model)}
    return Judged(score_frame(scores), tables, notes)


_METRICS = tuple(distances(np.ones(1), np.ones(1)))


def _share_table(items: Sequence[Item], model: Mapping[Key, Shares]) -> pl.DataFrame:
    """One row an item: its options, which share of people chose each, and which the model gives it."""
    schema: dict[str, Any] = dict.fromkeys(ITEM_COLUMNS, pl.String) | {"options": pl.List(pl.String)}
    schema |= dict.fromkeys(("people", "model"), pl.List(pl.Float64))
    rows = []
    for item in items:
        shares = {"people": people_of(item).tolist(), "model": model[item_key(item)].tolist()}
        rows.append(item_columns(item) | {"options": item.fields["options"]} | shares)
    return pl.DataFrame(rows, schema=schema)


def _cases(items: Sequence[Item], model: Mapping[Key, Shares]) -> pl.DataFrame:
    """What people and model answered; the margin is by how much the model is nearer than having no preference."""
    rows = []
    for item in items:
        people, answered = people_of(item), model[item_key(item)]
        nearer = distances(answered, people)["tv_overlap"] - distances(_uniform(item), people)["tv_overlap"]
        shown = {"metric": "tv_overlap", "margin": float(nearer), "prompt": item.fields["prompt"]}
        texts = {"expected": shares_words(item, people), "got": shares_words(item, answered)}
        rows.append(item_columns(item) | shown | texts)
    return pl.DataFrame(rows, schema=CASE_SCHEMA).sort("margin", maintain_order=True)


def shares_words(item: Item, shares: Shares) -> str:
    """Return shares as people read them: "Yes 62%; No 38%"."""
    return "; ".join(f"{option} {share:.0%}" for option, share in zip(item.fields["options"], shares, strict=True))


def _uniform(item: Item) -> Shares:
    return np.full(len(item.fields["options"]), 1 / len(item.fields["options"]))


# --- what takes no knowledge, what people score, and what framing does ---------------------------------------


def floors(items: Sequence[Item], samples: int = 0) -> list[Floor]:
    """Return what no preference and other cultures' answers score, and as ceilings what people themselves do.

    Over all items ``note`` is ""; where there are several cultures, each has its own. Ceilings are known where the
    number of people is: one half of them against the other, and as many drawn anew (``samples``: as many as the model
    answers, in place of that). Values of single items are means over :data:`_DRAWS` draws.
    """
    rows: list[Floor] = []
    for variant, asked in grouped(items, attrgetter("variant")).items():
        marks = {(item.id, name): _means(*pair) for item, name, *pair in _compared(asked, samples)}
        for note, group in by_culture(asked).items():
            for (name, kind), metric in product(_KINDS.items(), HEADLINE):
                each = [marks.get((item.id, name), {metric: math.nan})[metric] for item in group]
                if not np.isnan(each).all():
                    rows.append(Floor(metric, variant, name, float(np.nanmean(each)), kind, note, by_item=each))
    return rows


_KINDS: Mapping[str, Literal["floor", "ceiling"]] = {
    "no preference": "floor",
    "another culture's answers": "floor",
    "one half of the people": "ceiling",
    "people drawn again": "ceiling",
}


def _means(p: Shares, q: Shares) -> dict[str, float]:
    return {name: float(np.mean(value)) for name, value in distances(p, q).items()}


def _compared(items: Sequence[Item], samples: int) -> Iterator[tuple[Item, str, Shares, Shares]]:
    """Yield, for each item and floor or ceiling that is known of it, the shares that are held against each other."""
    for group in grouped(items, attrgetter("cluster")).values():
        shares = np.array([people_of(item) for item in group])
        for place, (item, people) in enumerate(zip(group, shares, strict=True)):
            yield item, "no preference", _uniform(item), people
            if len(group) > 1:
                yield item, "another culture's answers", np.delete(shares, place, axis=0), people
            drawn = np.random.default_rng(int.from_bytes(lot(0, item.id)))
            n = item.fields["people"]
            size = samples or n
            if size:
                yield item, "people drawn again", drawn.multinomial(size, people, _DRAWS) / size, people
            counts = np.rint(people * (n or 0)).astype(np.int64)
            if counts.sum() > 1:
                half = drawn.multivariate_hypergeometric(counts, int(counts.sum()) // 2, _DRAWS)
                rest = counts - half
                of_half, of_rest = half.sum(axis=1, keepdims=True), rest.sum(axis=1, keepdims=True)
                yield item, "one half of the people", half / of_half, rest / of_rest
