"""How a model's answers differ between cultures: against its wordings, and against people of those cultures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

import numpy as np

from kapwa.records import Item
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.spread import shares_of
from kapwa.suites.items import grouped
from kapwa.suites.opinions.shares import Key, Shares, distances, item_key, people_of

# Of fewer, p cannot be below .05: three cultures have 3! = 6 orders.
LEAST_CULTURES = 4


def persistence_words(items: Sequence[Item], model: Mapping[Key, Shares], *, sampled: bool = False) -> list[str]:
    """Say by how much a model's answers differ between cultures, and between wordings that name the culture.

    Both are mean total variation over pairs, question by question; their ratio, the persistence of what is answered for
    a culture, has a clustered interval by linearisation. ``sampled``: shares are counts of replies, whose noise is in
    both: of 10 replies a true 1.5 becomes 1.02, of 50 1.12. [] with fewer than two cultures or wordings, and where no
    wording changes anything.
    """
    framed = [item for item in items if item.fields["names_culture"] and item_key(item) in model]
    people = {item_key(item): people_of(item) for item in framed}
    shifts = [
        (
            _shift(group, model, attrgetter("variant")),
            _shift(group, model, attrgetter("id")),
            _shift(group, people, attrgetter("variant")),
        )
        for group in grouped(framed, attrgetter("cluster")).values()
    ]
    cultures, wordings, of_people = np.array([row for row in shifts if not math.isnan(sum(row))]).reshape(-1, 3).T
    if not wordings.sum():
        return []
    ratio = mean_estimates(shares_of(cultures, wordings, np.zeros(len(cultures))), None)[0]
    # A ratio of distances is not below 0, as Student's interval of few questions may be.
    ends = "" if ratio.low is None else f" (95% interval {max(ratio.low, 0.0):.2f} to {ratio.high:.2f})"
    noise = " Sampling noise of replies brings persistence nearer to 1." if sampled else ""
    return [
        f"Persistence {ratio.value:.2f}{ends}: over {ratio.n} questions, answers differ by {cultures.mean():.3f}"
        f" between cultures and by {wordings.mean():.3f} between wordings (total variation, mean over pairs)."
        f" People's own answers differ by {of_people.mean():.3f} between these cultures.{noise}"
    ]


def _shift(items: Sequence[Item], shares: Mapping[Key, Shares], kind: Callable[[Item], str]) -> float:
    """Mean total variation between items of one ``kind``, over all pairs; NaN where there is none."""
    total = 0.0
    pairs = 0
    for part in grouped(items, kind).values():
        stacked = np.array([shares[item_key(item)] for item in part])
        total += float(distances(stacked[:, None], stacked)["tv_distance"].sum())
        pairs += len(part) * (len(part) - 1)
    return total / pairs if pairs else math.nan


def correlation_words(items: Sequence[Item], model: Mapping[Key, Shares]) -> list[str]:
    """Say whether cultures lie as far apart for the model as for people; [] where that cannot be told.

    Two matrices between cultures, mean total variation over questions and over wordings that name the culture, are
    correlated by Mantel's test, as EECC does texts and a survey of values. It takes :data:`LEAST_CULTURES` cultures,
    and that not all of them are equally far apart.
    """
    from kapwa.stats.mantel import mantel

    framed = [item for item in items if item.fields["names_culture"] and item_key(item) in model]
    people = {item_key(item): people_of(item) for item in framed}
    if len({item.culture for item in framed}) < LEAST_CULTURES:
        return []
    test = mantel(_between_cultures(framed, model), _between_cultures(framed, people))
    if test.n < LEAST_CULTURES or math.isnan(test.r):
        return []
    return [
        f"Distances between cultures, the model's and people's: r = {test.r:.2f} over {test.n} cultures and"
        f" {len({item.cluster for item in framed})} questions (Mantel test, p = {test.p:.3f})."
        " Sampling noise of people or replies brings r nearer to 0."
    ]


def _between_cultures(items: Sequence[Item], shares: Mapping[Key, Shares]) -> Shares:
    """Mean total variation of each two cultures over what both were asked: (m, m), NaN where that is nothing."""
    cultures = list(dict.fromkeys(item.culture for item in items))
    total = np.zeros((len(cultures), len(cultures)))
    asked = np.zeros_like(total)
    for group in grouped(items, attrgetter("cluster", "variant")).values():
        places = [cultures.index(item.culture) for item in group]
        cells = np.ix_(places, places)
        stacked = np.array([shares[item_key(item)] for item in group])
        total[cells] += distances(stacked[:, None], stacked)["tv_distance"]
        asked[cells] += 1
    return np.divide(total, asked, out=np.full_like(total, np.nan), where=asked > 0)
