"""Judge ``opinions/survey``: how near are the shares that a model gives to those of people?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import softmax

from kapwa.records import ITEM_COLUMNS, Answer, Floor, Item, Response
from kapwa.suites.base import Judged
from kapwa.suites.choices.reader import read_choice
from kapwa.suites.choices.shares import read_percentages
from kapwa.suites.items import (
    ALL_LETTERS,
    CASE_SCHEMA,
    by_culture,
    grouped,
    item_columns,
    pair_answers,
    score_frame,
    score_row,
    shuffle_key,
)
from kapwa.suites.opinions.between import correlation_words, persistence_words
from kapwa.suites.opinions.shares import Key, Shares, distances, item_key, people_of
from kapwa.value_types import Cells, Schema

How = Literal["likelihood", "samples", "stated"]
HEADLINE = ("tv_overlap", "js_similarity")
UNREADABLE = "unreadable"
# Draws for what sampling noise costs; over the questions of a survey their own noise averages out.
_DRAWS = 200


def _shares(response: Response, item: Item, how: How) -> Shares | None:
    """The shares that one answer stands for; None where it cannot be read."""
    options = item.fields["options"]
    if how == "likelihood":
        return np.asarray(softmax([score.logprob_sum for score in response.logprobs or ()]))
    if response.state == "declined":
        return None
    if how == "stated":
        return read_percentages(response.text or "", options, item.language)
    letter = read_choice(response.text or "", options, item.language).letter
    return None if letter is None else np.eye(len(options))[ALL_LETTERS.index(letter)]


def judge(items: Sequence[Item], answers: Collection[Answer], how: How) -> Judged:
    """Turn answers into the shares a model gives each option, and those into scores, a table of shares and cases.

    Replies that cannot be read count for no option; their share is a metric, and a note says how many there are. An
    item without a readable one has no score.
    """
    replies: defaultdict[Key, list[Response]] = defaultdict(list)
    for item, _, response in pair_answers(items, answers):
        if response is not None and not response.unanswered:
            replies[item_key(item)].append(response)
    scores: list[Cells] = []
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
    schema: Schema = {**dict.fromkeys(ITEM_COLUMNS, pl.String), "options": pl.List(pl.String)}
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
    """Return what no preference and one answer for all cultures score, and as a ceiling what a perfect model does.

    Over all items ``note`` is ""; where there are several cultures, each has its own. The ceiling is known where the
    number of people is, or with ``samples``, as many replies as the model gives: what a model that *is* the population
    scores against these people, who are a sample of it. Values of single items are means over :data:`_DRAWS` draws.
    """
    rows: list[Floor] = []
    for variant, of_variant in grouped(items, attrgetter("variant")).items():
        marks = dict(_marks(of_variant, samples))
        for note, group in by_culture(of_variant).items():
            for (name, kind), metric in product(_KINDS.items(), HEADLINE):
                each = [marks.get((item.id, name), {metric: math.nan})[metric] for item in group]
                if not np.isnan(each).all():
                    rows.append(Floor(metric, variant, name, float(np.nanmean(each)), kind, note, by_item=each))
    return rows


_KINDS: Mapping[str, Literal["floor", "ceiling"]] = {
    "no preference": "floor",
    "mean of all cultures": "floor",
    "median of all cultures": "floor",
    "perfect model": "ceiling",
}


def _means(p: Shares, q: Shares) -> dict[str, float]:
    return {name: float(np.mean(value)) for name, value in distances(p, q).items()}


def _marks(items: Sequence[Item], samples: int) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
    """Yield by id of an item and name of a floor or ceiling what it scores by each metric.

    One answer for all cultures is the mean, or the median, of what people answered in all of them. The culture itself
    is among them, for the answer that is best for all may be near it too: against the mean of the others alone, a model
    that gives every culture the same answer is better nearly everywhere.
    """
    for group in grouped(items, attrgetter("cluster")).values():
        shares = np.array([people_of(item) for item in group])
        for item, people in zip(group, shares, strict=True):
            yield (item.id, "no preference"), _means(_uniform(item), people)
            if len(group) > 1:
                yield (item.id, "mean of all cultures"), _means(shares.mean(axis=0), people)
                middle = np.median(shares, axis=0)
                whole = float(middle.sum())
                # Where each option is chosen by less than half of the cultures, all medians may be 0.
                yield (
                    (item.id, "median of all cultures"),
                    _means(middle / whole if whole else shares.mean(axis=0), people),
                )
            n = item.fields["people"]
            if n or samples:
                yield (item.id, "perfect model"), _perfect(item, people, n, samples)


def _perfect(item: Item, people: Shares, n: int | None, samples: int) -> dict[str, float]:
    """What a model that is the population would score against ``n`` people drawn from it (None: all of it).

    The people's shares stand for the population's, and others are drawn from them. What such draws score is a little
    too high, for shares of a sample are more uneven than those of its population; by how much shows in draws of draws
    (bias correction of the bootstrap, Efron and Tibshirani 1993, section 10.3).
    """
    draws = np.random.default_rng(int.from_bytes(shuffle_key(0, item.id)))

    def scored(population: Shares, sample: Shares) -> dict[str, float]:
        model = draws.multinomial(samples, population, len(sample)) / samples if samples else population
        return _means(model, sample)

    if not n:
        return scored(people, np.tile(people, (_DRAWS, 1)))
    once = draws.multinomial(n, people, _DRAWS) / n
    twice = draws.multinomial(n, once) / n
    first, second = scored(people, once), scored(once, twice)
    return {name: min(max(2 * first[name] - second[name], 0.0), 1.0) for name in first}
