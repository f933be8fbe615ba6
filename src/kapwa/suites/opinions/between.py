"""How a model's answers differ between cultures: against its wordings, and against people of those cultures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from kapwa.records import Item
from kapwa.stats.clusters import IntArray
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.spread import shares_of
from kapwa.suites.items import grouped
from kapwa.suites.opinions.shares import Key, Shares, distances, item_key, people_of

# Of fewer, p cannot be below .05: three cultures have 3! = 6 orders.
LEAST_CULTURES = 4
_MAPS = 99
_LEAST_NOISE = 1e-9


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
    for of_kind in grouped(items, kind).values():
        stacked = np.array([shares[item_key(item)] for item in of_kind])
        total += float(distances(stacked[:, None], stacked)["tv_distance"].sum())
        pairs += len(of_kind) * (len(of_kind) - 1)
    return total / pairs if pairs else math.nan


def correlation_words(items: Sequence[Item], model: Mapping[Key, Shares]) -> list[str]:
    """Say whether cultures lie as far apart for the model as for people; [] where that cannot be told.

    Two matrices between cultures, mean total variation over questions and over wordings that name the culture, are
    correlated by Mantel's test, as EECC does texts and a survey of values. Two maps that are both of one piece within
    regions, or within languages, agree whatever they show; so people's distances are also replaced by those of other
    maps that are as smooth and as much in blocks (:func:`kapwa.stats.spatial.surrogate_columns`); p is the larger of
    the two. It takes :data:`LEAST_CULTURES` cultures that are places, no two the same, and not all equally far apart.
    """
    from kapwa.languages.places import Place, resolve
    from kapwa.stats.mantel import mantel

    framed = [item for item in items if item.fields["names_culture"] and item_key(item) in model]
    people = {item_key(item): people_of(item) for item in framed}
    countries = [resolve(culture) for culture in dict.fromkeys(item.culture for item in framed)]
    codes = [country.iso3 for country in countries if isinstance(country, Place)]
    if not LEAST_CULTURES <= len(set(codes)) == len(countries):
        return []
    theirs, ours = _Columns.of(framed, people), _Columns.of(framed, model)
    maps = np.stack([theirs.replaced(drawn).apart() for drawn in theirs.other_maps(codes)])
    test = mantel(ours.apart(), theirs.apart(), draws=maps)
    if test.n < LEAST_CULTURES or math.isnan(test.r):
        return []
    return [
        f"Distances between cultures, the model's and people's: r = {test.r:.2f} over {test.n} cultures and"
        f" {len({item.cluster for item in framed})} questions (Mantel test, p = {max(test.p, test.p_drawn):.3f}: the"
        " larger of that by shuffled names and that by unrelated maps which are as smooth, and as much alike within"
        " regions and languages). Sampling noise of people or replies brings r nearer to 0."
    ]


class _Columns(NamedTuple):
    """Shares of every option of every question and wording, for each culture: (m, V), NaN where it was not asked.

    ``question`` (V,): to which question and wording a column belongs, numbered from 0.
    """

    shares: Shares
    question: IntArray

    @classmethod
    def of(cls, items: Sequence[Item], shares: Mapping[Key, Shares]) -> _Columns:
        """Lay the shares of items out by culture."""
        cultures = list(dict.fromkeys(item.culture for item in items))
        blocks = []
        for group in grouped(items, attrgetter("cluster", "variant")).values():
            block = np.full((len(cultures), len(shares[item_key(group[0])])), np.nan)
            for item in group:
                block[cultures.index(item.culture)] = shares[item_key(item)]
            blocks.append(block)
        question = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        return cls(np.concatenate(blocks, axis=1), question)

    def apart(self) -> Shares:
        """Mean total variation of each two cultures over what both were asked: (m, m), NaN where that is nothing."""
        total = np.zeros((len(self.shares), len(self.shares)))
        n_options = np.zeros_like(total)
        for columns in np.split(self.shares, np.flatnonzero(np.diff(self.question)) + 1, axis=1):
            between = np.abs(columns[:, None] - columns).sum(axis=2) / 2
            total += np.nan_to_num(between)
            n_options += ~np.isnan(between)
        return np.divide(total, n_options, out=np.full_like(total, np.nan), where=n_options > 0)

    def replaced(self, drawn: Shares) -> _Columns:
        """The same questions put to the same cultures, with other values (V, m)."""
        return self._replace(shares=np.where(np.isnan(self.shares), np.nan, drawn.T))

    def other_maps(self, codes: Sequence[str]) -> Shares:
        """Values of unrelated maps of the places ``codes``, as smooth and as much in blocks: (maps, V, m)."""
        from kapwa.languages.between_places import geographic_distance, shared_blocks
        from kapwa.stats.spatial import surrogate_columns

        filled = np.where(np.isnan(self.shares), np.nanmean(self.shares, axis=0), self.shares)
        # A column in which all cultures are equal has no map.
        filled = filled + _LEAST_NOISE * np.random.default_rng(0).normal(size=filled.shape)
        kilometres, blocks = geographic_distance(codes), shared_blocks(codes)
        return surrogate_columns(filled, kilometres, blocks, draws=_MAPS, seed=0, together=True)
