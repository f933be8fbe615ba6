"""From summaries to the tables of variance: who differs from whom, by how much, and whether by chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.schemas import frame
from kapwa.analysis.topics import BLEU, WED, ConceptFacts, IdentitySums, TopicSummary
from kapwa.analysis.triangles import Means, Reals
from kapwa.stats.anova import PairedTest, one_way_anova, paired_test
from kapwa.stats.multiplicity import holm
from kapwa.suites.eecc.names import Place

ALL = "all"
_NAN = float("nan")


class Named(NamedTuple):
    """The columns that say which corpus a row is of."""

    corpus: str
    task: str


def variance_table(name: Named, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a concept and estimator."""
    columns: dict[str, list[Any]] = {column: [] for column in _VARIANCE}
    for summary in topics:
        facts = summary.concepts
        for estimator, (within, across) in (("corrected", (0, 1)), ("reference", (2, 3))):
            rows = (
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
            for column, cells in zip(_VARIANCE, rows, strict=True):
                columns[column] += list(cells)
    return frame("variance", {**name._asdict(), **columns})


_VARIANCE = (
    "topic",
    "concept",
    "estimator",
    "within",
    "across",
    "permanova_f",
    "permanova_r2",
    "permanova_p",
    "identities",
    "texts",
    "within_low",
    "within_high",
    "across_low",
    "across_high",
)


def tests_table(name: Named, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a topic and test, and one of all topics together; p adjusted by Holm over the topics of a test."""
    everything = ConceptFacts.joined([summary.concepts for summary in topics])
    rows = [*_tests(ALL, everything)]
    rows += [row for summary in topics for row in _tests(summary.topic, summary.concepts)]
    for test in {row["test"] for row in rows}:
        single = [row for row in rows if row["test"] == test and row["topic"] != ALL]
        for row, adjusted in zip(single, holm([row["p"] for row in single]), strict=True):
            row["p_adjusted"] = float(adjusted)
    return frame("tests", {**name._asdict(), **{column: [row[column] for row in rows] for column in rows[0]}})


def _tests(topic: str, facts: ConceptFacts) -> Iterator[dict[str, Any]]:
    for test, result in (
        ("paired", _paired(facts.means[:, 0], facts.means[:, 1])),
        ("permanova", _combined(facts.permanova)),
        ("anova_reference", _released(facts.means[:, 2], facts.means[:, 3])),
    ):
        # All topics together are one test, which needs no adjustment.
        yield {"topic": topic, "test": test, **result, "p_adjusted": result["p"]}


def _row(estimate: float, low: float, high: float, **rest: float) -> dict[str, Any]:
    return {"estimate": estimate, "low": low, "high": high, **rest}


def _paired(within: Reals, across: Reals) -> dict[str, Any]:
    found = paired_test(across, within)
    df = found.df if found.df > 0 else _NAN
    # Variances lie between 0 and ½, and so do their differences between −½ and ½.
    low, high = _cut(found, -0.5, 0.5)
    t, p = (_NAN, _NAN) if found.low == found.high else (found.t, found.p)
    return _row(found.estimate, low, high, statistic=t, df1=df, df2=_NAN, p=p, concepts=found.n)


def _cut(found: PairedTest, least: float, most: float) -> tuple[float, float]:
    """Cut the interval to where a true mean can lie; NaN where concepts agree to the last digit.

    A few concepts often agree on a coarse number such as τ among five countries. No spread then means too little is
    known of it, not that nothing is uncertain.
    """
    return (_NAN, _NAN) if found.low == found.high else (max(found.low, least), min(found.high, most))


def _combined(permanova: Reals) -> dict[str, Any]:
    """Fisher's combination of the concepts' permutation p-values, beside the mean R² and its interval.

    Concepts are generated independently of each other. Permutation p-values are never below 1/(permutations + 1),
    so the combination errs on the careful side.
    """
    from scipy.special import chdtrc

    known = permanova[~np.isnan(permanova[:, 2])]
    if not len(known):
        nothing = dict.fromkeys(("statistic", "df1", "df2", "p"), _NAN)
        return _row(_NAN, _NAN, _NAN, **nothing, concepts=0)
    estimate, low, high = interval(known[:, 1], 0.0, 1.0)
    statistic, df = float(-2 * np.log(known[:, 2]).sum()), 2 * len(known)
    p = float(chdtrc(df, statistic))
    return _row(estimate, low, high, statistic=statistic, df1=df, df2=_NAN, p=p, concepts=len(known))


def _released(within: Reals, across: Reals) -> dict[str, Any]:
    known = ~np.isnan(within) & ~np.isnan(across)
    n = int(known.sum())
    estimate = float((across - within)[known].mean()) if n else _NAN
    if n < 2:
        return _row(estimate, _NAN, _NAN, statistic=_NAN, df1=_NAN, df2=_NAN, p=_NAN, concepts=n)
    found = one_way_anova([within[known], across[known]])
    return _row(
        estimate, _NAN, _NAN, statistic=found.f, df1=found.df_between, df2=found.df_within, p=found.p, concepts=n
    )


def interval(values: Reals, least: float, most: float) -> tuple[float, float, float]:
    """Mean of what is known and its 95 % Student interval, cut to where a true mean can lie; NaN with too little."""
    found = paired_test(values, np.zeros(len(values)))
    return found.estimate, *_cut(found, least, most)


def identities_table(
    name: Named, identities: Sequence[str], sums: IdentitySums, places: Mapping[str, Place]
) -> pl.DataFrame:
    """One row an identity."""
    within, across = sums.means()
    found = [places.get(identity) for identity in identities]
    return frame(
        "identities",
        {
            **name._asdict(),
            "identity": list(identities),
            **{
                part: [getattr(place, part) if place else None for place in found]
                for part in ("country", "iso2", "iso3")
            },
            "within": within,
            "across": across,
            "tokens": sums.tokens,
            "empty": sums.empty,
        },
    )


def similarity_table(name: Named, identities: Sequence[str], matrices: Means) -> pl.DataFrame:
    """One row a pair of identities; none where pairs of texts were drawn."""
    names = np.array(identities, dtype=object)
    first, second = np.triu_indices(matrices.size, 1)
    return frame(
        "similarity",
        {
            **name._asdict(),
            "identity_a": names[first].tolist(),
            "identity_b": names[second].tolist(),
            "wed": matrices.triangle(WED),
            "bleu": matrices.triangle(BLEU),
        },
    )
