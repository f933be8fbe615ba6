"""Identities that cross several attributes (nationality × religion): what each of them changes, alone and together.

An identity's name says its levels ("Irish × Jain"), and the name of its attribute says of what they are. A concept
takes part where every combination of levels has at least two texts of it.

Variance is half the mean word edit distance here, not half its mean square as elsewhere: words that two attributes
change in different places of a text add up in the distance, and in its square would be taken for a change of the two
together. So the root of the distance
stands for the distance of :mod:`kapwa.stats.factorial`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import prod
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.concept_results import ConceptResult, Reals, Whole
from kapwa.analysis.result import empty, frame
from kapwa.analysis.result_tables import SCHEMAS
from kapwa.analysis.words import log_odds_words
from kapwa.analysis.words.counts import WordCounts
from kapwa.records import CROSS
from kapwa.stats.factorial import (
    Term,
    cell_distances,
    degrees_of_freedom,
    factor_variances,
    permuted_effect,
    shared_effects,
    terms_of,
)
from kapwa.stats.resampling import TIE, monte_carlo_p
from kapwa.stats.significance import PairedTest, holm, paired_test
from kapwa.value_types import Cells

SAMPLING = "sampling"


class Crossing(NamedTuple):
    """The factors of crossed identities, and the levels of each, in the order of the alphabet."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each factor has."""
        return tuple(map(len, self.levels))

    @property
    def cells(self) -> list[str]:
        """The identities that a full design has; the levels of the last factor change fastest."""
        return [CROSS.join(levels) for levels in product(*self.levels)]

    def named(self, term: Term) -> str:
        """Return the name of a term: its factors, joined."""
        return CROSS.join(self.factors[factor] for factor in term)


def crossing_of(attribute: str, identities: Sequence[str]) -> Crossing | None:
    """Return the factors of ``identities``; None where these do not cross any, or not in every combination."""
    factors, parts = attribute.split(CROSS), [identity.split(CROSS) for identity in identities]
    if len(factors) < 2 or any(len(levels) != len(factors) for levels in parts):
        return None
    crossing = Crossing(tuple(factors), tuple(tuple(sorted(set(one))) for one in zip(*parts, strict=True)))
    full = min(crossing.sizes) > 1 and prod(crossing.sizes) == len(set(identities))
    return crossing if full else None


def crossing_note(attribute: str, identities: Sequence[str]) -> str:
    """Say why crossed identities have no tables of factors; "" where they have some, or are not crossed."""
    if CROSS not in attribute or crossing_of(attribute, identities) is not None:
        return ""
    return (
        f"the texts are of {len(identities)} combinations of {attribute}, which are not every combination of two "
        "levels or more of each. What each attribute changes is not told apart; ask for every combination to have it."
    )


@dataclass(frozen=True, slots=True, eq=False)
class CrossedFacts:
    """What C concepts that are complete say of the terms and of pairs of levels.

    ``variances``, ``observed`` (C, terms): variance of each term, unbiased and with what sampling adds. ``spread``
    (C,): variance among the texts of a prompt. ``location`` (factors, 1 + P): variance of the level means, summed over
    concepts, as observed and with levels exchanged. ``spreads``: of each factor (1 + P, levels), summed alike.
    ``shared`` (C, pairs, 3): of each of :func:`level_pairs` the variance between levels of the factor at the first and
    at the second level, and the part that both have in common (:func:`kapwa.stats.factorial.shared_effects`).
    """

    variances: Reals
    observed: Reals
    spread: Reals
    location: Reals
    spreads: tuple[Reals, ...]
    shared: Reals

    @classmethod
    def joined(cls, several: Sequence[CrossedFacts]) -> CrossedFacts:
        """Put the concepts of several topics behind each other."""
        return cls(
            variances=np.concatenate([facts.variances for facts in several]),
            observed=np.concatenate([facts.observed for facts in several]),
            spread=np.concatenate([facts.spread for facts in several]),
            location=np.sum([facts.location for facts in several], axis=0),
            spreads=tuple(np.sum(one, axis=0) for one in zip(*(facts.spreads for facts in several), strict=True)),
            shared=np.concatenate([facts.shared for facts in several]),
        )


class LevelPair(NamedTuple):
    """Two levels (``first``, ``second``) of the factor ``by``, at which the effects of ``factor`` are compared."""

    factor: int
    by: int
    first: int
    second: int


def level_pairs(crossing: Crossing) -> list[LevelPair]:
    """Return every factor with every pair of levels of every other."""
    return [
        LevelPair(factor, by, *pair)
        for factor, by in permutations(range(len(crossing.factors)), 2)
        for pair in combinations(range(crossing.sizes[by]), 2)
    ]


def concept_facts(result: ConceptResult, crossing: Crossing, *, permuted: int, seed: int) -> CrossedFacts | None:
    """Work out what one concept says; None where a combination has fewer than two texts of it."""
    identity_index = {identity: i for i, identity in enumerate(result.identities)}
    order = [identity_index.get(cell, -1) for cell in crossing.cells]
    if min(order) < 0 or result.samples[order].min() < 2 or not result.wed_own.size:
        return None
    apart = np.diag(result.wed_own)
    upper = np.triu_indices(len(identity_index), 1)
    apart[upper] = apart.T[upper] = result.wed
    cells = cell_distances(apart[np.ix_(order, order)], result.samples[order])
    levels = crossing.sizes
    effects = []
    for factor, name in enumerate(crossing.factors):
        named = "\0".join([str(seed), result.topic, result.concept, name]).encode()
        concept_seed = int.from_bytes(hashlib.blake2b(named, digest_size=4).digest(), "big")
        effects.append(permuted_effect(cells, levels, factor, permutations=permuted, seed=concept_seed))
    # In the order of the pairs of levels.
    shared = [_of_pairs(shared_effects(cells.true, levels, *two)) for two in permutations(range(len(levels)), 2)]
    return CrossedFacts(
        variances=factor_variances(cells.true, levels)[None],
        observed=factor_variances(cells.observed, levels)[None],
        spread=cells.spread.mean(keepdims=True),
        location=np.stack([effect.location for effect in effects]),
        spreads=tuple(effect.spread for effect in effects),
        shared=np.concatenate(shared)[None],
    )


def _of_pairs(shared: Reals) -> Reals:
    """Return a row for every pair of levels: what is of the first, of the second, and of both together."""
    first, second = np.triu_indices(len(shared), 1)
    return np.stack([shared[first, first], shared[second, second], shared[first, second]], axis=1)


class Labels(NamedTuple):
    """The columns that say which corpus and topic a row is of."""

    corpus: str
    task: str
    topic: str


def factors_table(labels: Labels, crossing: Crossing, facts: CrossedFacts) -> pl.DataFrame:
    """One row a term and one of sampling; p adjusted by Holm over the terms."""
    terms, total = terms_of(len(crossing.factors)), float(facts.variances.sum(axis=1).mean() + facts.spread.mean())
    rows = [_term_row(crossing, facts, number, term) for number, term in enumerate(terms)]
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_adjusted"] = float(adjusted)
    rows.append(_row(SAMPLING, facts.spread))
    for row in rows:
        row["share"] = row["variance"] / total if total > 0 else np.nan
        row["concepts"] = len(facts.spread)
    return _framed("factors", labels, rows)


def _term_row(crossing: Crossing, facts: CrossedFacts, number: int, term: Term) -> Cells:
    row = _row(crossing.named(term), facts.variances[:, number])
    if len(term) > 1:
        test = paired_test(facts.variances[:, number], np.zeros(len(facts.spread)))
        return row | {"test": "t", "statistic": test.t, "p": test.p}
    (factor,) = term
    rest = [i for i, other in enumerate(terms_of(len(crossing.factors))) if factor in other and len(other) > 1]
    own_freedom = degrees_of_freedom(term, crossing.sizes)
    others = (crossing.sizes[factor] - 1) * (prod(crossing.sizes) // crossing.sizes[factor] - 1)
    among = float(facts.observed[:, rest].sum()) / others
    statistic = float(facts.observed[:, number].sum()) / own_freedom / among if among > 0 else np.nan
    return row | {
        "test": "permutation",
        "floor": float(facts.variances[:, rest].sum(axis=1).mean()) * own_freedom / others,
        "statistic": statistic,
        "p": _share_above(facts.location[factor]),
        "spread_p": _share_above(facts.spreads[factor].var(axis=1)),
    }


def _share_above(values: Reals) -> float:
    """Return the p of the first value: how many of the others, and it, are at least as large; equal ones count."""
    observed, drawn = float(values[0]), values[1:]
    return monte_carlo_p(int((drawn >= observed - TIE * abs(observed)).sum()), len(drawn))


def _row(name: str, values: Reals) -> Cells:
    test = paired_test(values, np.zeros(len(values)))
    unknown = dict.fromkeys(("floor", "statistic", "p", "p_adjusted", "spread_p"), np.nan)
    low, high = _bounds(test)
    return {"term": name, "test": "", "variance": test.estimate, "low": low, "high": high, **unknown}


def _bounds(test: PairedTest) -> tuple[float, float]:
    """Without any spread among few concepts too little is known for an interval."""
    return (np.nan, np.nan) if test.low == test.high else (test.low, test.high)


def factor_levels_table(labels: Labels, crossing: Crossing, facts: CrossedFacts) -> pl.DataFrame:
    """One row a factor and level: how far texts of one prompt lie apart at this level."""
    rows = [
        {"factor": factor, "level": level, "spread": spread / len(facts.spread)}
        for factor, levels, sums in zip(crossing.factors, crossing.levels, facts.spreads, strict=True)
        for level, spread in zip(levels, sums[0].tolist(), strict=True)
    ]
    return _framed("factor_levels", labels, rows)


def factor_pairs_table(labels: Labels, crossing: Crossing, facts: CrossedFacts) -> pl.DataFrame:
    """One row a factor and pair of levels of another; p adjusted by Holm over all of these."""
    rows: list[Cells] = []
    for number, one in enumerate(level_pairs(crossing)):
        first, second, shared = facts.shared[:, number].T
        test = paired_test(shared, np.zeros(len(shared)))
        low, high = _bounds(test)
        rows.append(
            {
                "factor": crossing.factors[one.factor],
                "by": crossing.factors[one.by],
                "level_a": crossing.levels[one.by][one.first],
                "level_b": crossing.levels[one.by][one.second],
                "effect_a": float(first.mean()),
                "effect_b": float(second.mean()),
                "shared": test.estimate,
                "low": low,
                "high": high,
                "p": test.p,
                "concepts": len(shared),
            }
        )
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_adjusted"] = float(adjusted)
    return _framed("factor_pairs", labels, rows)


def factor_words_table(
    labels: Labels, crossing: Crossing, identities: Sequence[str], counts: WordCounts, *, top: int, language: str
) -> pl.DataFrame:
    """One row a factor, level and rank: the words that mark the level, by log-odds over texts of all its identities."""
    frames = []
    for factor, name, groups in members(crossing, identities):
        levels = crossing.levels[factor]
        words = log_odds_words(counts.merged(groups, len(levels)), top, identities=levels, language=language)
        same = {**labels._asdict(), "factor": name}
        frames.append(words.rename({"identity": "level"}).with_columns(pl.lit(v).alias(k) for k, v in same.items()))
    return pl.concat(frames).select(*SCHEMAS["factor_words"])


def members(crossing: Crossing, identities: Sequence[str]) -> Iterator[tuple[int, str, Whole]]:
    """Yield each factor with its number, name, and which of its levels each identity has."""
    parts = [identity.split(CROSS) for identity in identities]
    for factor, name in enumerate(crossing.factors):
        level_index = {level: i for i, level in enumerate(crossing.levels[factor])}
        yield factor, name, np.array([level_index[levels[factor]] for levels in parts], dtype=np.int64)


def _framed(name: str, labels: Labels, rows: Sequence[Cells]) -> pl.DataFrame:
    if not rows:
        return empty(name)
    return frame(name, {**labels._asdict(), **{column: [row[column] for row in rows] for column in rows[0]}})
