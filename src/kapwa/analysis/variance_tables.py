"""From summaries to the tables of lexical variance: do texts of different identities differ more than chance?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.schemas import frame
from kapwa.analysis.taus import Reals
from kapwa.analysis.topics import BLEU, WED, Sums, TopicSummary
from kapwa.languages.places import Place
from kapwa.stats.significance import PairedTest, holm, one_way_anova, paired_test

ALL = "all"
_NAN = float("nan")
_VARIANCE: Final = (
    *("topic", "concept", "estimator", "within", "across", "permanova_f", "permanova_r2", "permanova_p"),
    *("identities", "texts", "within_low", "within_high", "across_low", "across_high"),
)


class Named(NamedTuple):
    """The columns that say which corpus a row is of."""

    corpus: str
    task: str


def variance_table(name: Named, summary: TopicSummary) -> pl.DataFrame:
    """One row a concept and estimator."""
    facts, columns = summary.concepts, dict[str, list[Any]]()
    for estimator, (within, across) in (("corrected", (0, 1)), ("reference", (2, 3))):
        cells = (
            [summary.topic] * len(facts.names),
            facts.names,
            [estimator] * len(facts.names),
            facts.means[:, within],
            facts.means[:, across],
            *facts.permanova.T,
            facts.identities,
            facts.texts,
            # Only our estimate is drawn from pairs; as released there is none.
            *(facts.bounds.T if estimator == "corrected" else np.full_like(facts.bounds.T, _NAN)),
        )
        for column, some in zip(_VARIANCE, cells, strict=True):
            columns.setdefault(column, []).extend(some)
    return frame("variance", {**name._asdict(), **columns})


def tests_table(name: Named, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a topic and test, and one of all topics together; p adjusted by Holm over the topics of a test."""
    means, permanova = ([getattr(one.concepts, part) for one in topics] for part in ("means", "permanova"))
    # All topics together are one test, which needs no adjustment.
    rows = [*_tests(ALL, np.concatenate(means), np.concatenate(permanova))]
    rows += [row for one in topics for row in _tests(one.topic, one.concepts.means, one.concepts.permanova)]
    for test in {row["test"] for row in rows}:
        single = [row for row in rows if row["test"] == test and row["topic"] != ALL]
        for row, adjusted in zip(single, holm([row["p"] for row in single]), strict=True):
            row["p_adjusted"] = float(adjusted)
    return frame("tests", {**name._asdict(), **{column: [row[column] for row in rows] for column in rows[0]}})


def _tests(topic: str, means: Reals, permanova: Reals) -> Iterator[dict[str, Any]]:
    within, across, within_reference, across_reference = means.T
    for test, result in (
        ("paired", _paired(within, across)),
        ("permanova", _combined(permanova)),
        ("anova_reference", _released(within_reference, across_reference)),
    ):
        columns = ("estimate", "low", "high", "statistic", "df1", "df2", "p", "concepts")
        row = dict(zip(columns, result, strict=True))
        yield {"topic": topic, "test": test, **row, "p_adjusted": row["p"]}


def _paired(within: Reals, across: Reals) -> tuple[float, ...]:
    found = paired_test(across, within)
    # Variances lie between 0 and ½, and so do their differences between −½ and ½.
    low, high = _cut(found, -0.5, 0.5)
    t, p = (_NAN, _NAN) if found.low == found.high else (found.t, found.p)
    return found.estimate, low, high, t, found.df if found.df > 0 else _NAN, _NAN, p, found.n


def _combined(permanova: Reals) -> tuple[float, ...]:
    """Fisher's combination of the concepts' permutation p-values, beside the mean R² and its interval.

    Concepts are generated independently of each other. Permutation p-values are never below 1/(permutations + 1),
    so the combination errs on the careful side.
    """
    from scipy.special import chdtrc

    known = permanova[~np.isnan(permanova[:, 2])]
    if not len(known):
        return (*[_NAN] * 7, 0)
    statistic, df = float(-2 * np.log(known[:, 2]).sum()), 2 * len(known)
    return *interval(known[:, 1], 0.0, 1.0), statistic, df, _NAN, float(chdtrc(df, statistic)), len(known)


def _released(within: Reals, across: Reals) -> tuple[float, ...]:
    known = ~np.isnan(within) & ~np.isnan(across)
    n = int(known.sum())
    estimate = float((across - within)[known].mean()) if n else _NAN
    if n < 2:
        return estimate, *[_NAN] * 6, n
    found = one_way_anova(within[known], across[known])
    return estimate, _NAN, _NAN, found.f, found.df_between, found.df_within, found.p, n


def interval(values: Reals, least: float, most: float) -> tuple[float, float, float]:
    """Mean of what is known and its 95 % Student interval, cut to where a true mean can lie; NaN with too little."""
    found = paired_test(values, np.zeros(len(values)))
    return found.estimate, *_cut(found, least, most)


def _cut(found: PairedTest, least: float, most: float) -> tuple[float, float]:
    """Cut the interval to where a true mean can lie; NaN where concepts agree to the last digit.

    A few concepts often agree on a coarse number such as τ among five countries. No spread then means too little is
    known of it, not that nothing is uncertain.
    """
    return (_NAN, _NAN) if found.low == found.high else (max(found.low, least), min(found.high, most))


def identities_table(name: Named, identities: Sequence[str], sums: Sums, places: Mapping[str, Place]) -> pl.DataFrame:
    """One row an identity."""
    within, across = sums.variances()
    found = [places.get(identity) for identity in identities]
    named = {part: [getattr(one, part) if one else None for one in found] for part in ("country", "iso2", "iso3")}
    counts = {"tokens": sums.tokens, "empty": sums.empty}
    columns = {"identity": list(identities), **named, "within": within, "across": across, **counts}
    return frame("identities", {**name._asdict(), **columns})


def similarity_table(name: Named, identities: Sequence[str], sums: Sums) -> pl.DataFrame:
    """One row a pair of identities; none where pairs of texts were drawn."""
    names = np.array(identities if sums.counts.size else [], dtype=object)
    first, second = np.triu_indices(len(names), 1)
    pairs = {"identity_a": names[first].tolist(), "identity_b": names[second].tolist()}
    return frame("similarity", {**name._asdict(), **pairs, "wed": sums.triangle(WED), "bleu": sums.triangle(BLEU)})
