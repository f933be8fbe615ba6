"""From summaries to the tables of cultural values: do texts resemble each other where values do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.analysis.measures import ESTIMATORS, MEASURES, ConceptTaus, TauKey, ValuesOf, matrix_taus, row_means
from kapwa.analysis.schemas import SCHEMAS, empty, frame
from kapwa.analysis.topics import BLEU, BLEU_REFERENCE, WED, TopicSummary
from kapwa.analysis.triangles import Means, Reals
from kapwa.analysis.variance_tables import Named, interval
from kapwa.stats.mantel import Mantel, mantel, partial_mantel
from kapwa.stats.multiplicity import holm

_NAN = float("nan")
_CENTRAL = (0.025, 0.975)


class Asked(NamedTuple):
    """How many permutations, and from which seed."""

    permutations: int
    seed: int


def concept_taus_table(name: Named, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a concept, values table, measure and estimator."""
    rows = [_concept_rows(name, summary, key, taus) for summary in topics for key, taus in summary.taus.items()]
    return pl.concat(rows) if rows else empty("concept_taus")


def _concept_rows(name: Named, summary: TopicSummary, key: TauKey, taus: ConceptTaus) -> pl.DataFrame:
    low, high = _central(taus.floors, axis=1)
    return frame(
        "concept_taus",
        {
            **name._asdict(),
            **key._asdict(),
            "topic": summary.topic,
            "concept": summary.concepts.names,
            "tau": taus.means,
            "significant": taus.significant,
            "anchors": (~np.isnan(taus.tau)).sum(axis=1),
            "floor_low": low,
            "floor_high": high,
        },
    )


def anchors_table(
    name: Named, topics: Sequence[TopicSummary], values: Sequence[ValuesOf], matrices: Means
) -> pl.DataFrame:
    """One row an anchor, values table, measure and estimator; p adjusted by Holm over the anchors."""
    if not matrices.size or not values:
        return empty("anchors")
    pooled = [matrices.matrix(which) for which in (BLEU, WED, BLEU_REFERENCE)]
    return pl.concat([_anchor_rows(name, topics, one, pooled) for one in values])


def _anchor_rows(
    name: Named, topics: Sequence[TopicSummary], values: ValuesOf, pooled: Sequence[Reals]
) -> pl.DataFrame:
    bleu, wed, released = pooled
    frames = []
    for key, whole in matrix_taus(bleu, wed, released, values).items():
        tau = _over_topics(topics, key).tau
        bounds = np.array([interval(column[~np.isnan(column)], -1.0, 1.0) for column in tau.T])
        frames.append(
            frame(
                "anchors",
                {
                    **name._asdict(),
                    **key._asdict(),
                    "identity": values.identities,
                    "country": values.countries,
                    "iso3": values.iso3,
                    **dict(zip(("tau", "low", "high"), bounds.T, strict=True)),
                    "tau_pooled": whole.tau,
                    "p": whole.p,
                    "p_adjusted": holm(whole.p),
                    "concepts": (~np.isnan(tau)).sum(axis=0),
                    "countries": whole.n,
                },
            )
        )
    return pl.concat(frames)


def correlations_table(
    name: Named, topic: str, topics: Sequence[TopicSummary], values: Sequence[ValuesOf], asked: Asked
) -> pl.DataFrame:
    """One row a values table, measure and method, over the concepts of ``topics`` together, called ``topic``."""
    matrices = joined_matrices(topics)
    rows = [
        {**name._asdict(), "topic": topic, "values": one.name, **row}
        for one in (values if matrices.size else ())
        for row in (*_tau_rows(topics, one), *_mantel_rows(matrices, one, asked))
    ]
    if not rows:
        return empty("correlations")
    return frame("correlations", {column: [row[column] for row in rows] for column in SCHEMAS["correlations"]})


def joined_matrices(topics: Sequence[TopicSummary]) -> Means:
    """Return the means over the concepts of all ``topics``."""
    if len(topics) == 1:
        return topics[0].matrices
    whole = Means.of(3, topics[0].matrices.size)
    for summary in topics:
        whole.merge(summary.matrices)
    return whole


def _tau_rows(topics: Sequence[TopicSummary], values: ValuesOf) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        for estimator in ESTIMATORS:
            taus = _over_topics(topics, TauKey(values.name, measure, estimator))
            estimate, low, high = interval(taus.means, -1.0, 1.0)
            draws = row_means(taus.floors.T)
            floor_low, floor_high = _central(draws[None], axis=1)
            yield {
                "measure": measure,
                "method": "tau" if estimator == "corrected" else "tau_reference",
                "controls": "",
                "estimate": estimate,
                "low": low,
                "high": high,
                "p": _permutation_p(estimate, draws),
                "floor_low": floor_low[0],
                "floor_high": floor_high[0],
                "n": int((~np.isnan(taus.tau)).any(axis=0).sum()),
            }


def _mantel_rows(means: Means, values: ValuesOf, asked: Asked) -> Iterator[dict[str, Any]]:
    chosen = np.ix_(values.index, values.index)
    # Both sides are turned so that a positive r says: nearer in values, more alike in text.
    nearness = -values.distance
    for measure, likeness in (("bleu", means.matrix(BLEU)[chosen]), ("wed", -means.matrix(WED)[chosen])):
        found = mantel(likeness, nearness, permutations=asked.permutations, seed=asked.seed)
        yield _mantel_row(measure, "mantel", "", found)
        for named in _control_sets(values):
            fixed = [matrix for _, matrix in named]
            found = partial_mantel(likeness, nearness, fixed, permutations=asked.permutations, seed=asked.seed)
            yield _mantel_row(measure, "partial mantel", " + ".join(label for label, _ in named), found)


def _control_sets(values: ValuesOf) -> list[tuple[tuple[str, Reals], ...]]:
    """Each control alone, and all together where there are several."""
    single: list[tuple[tuple[str, Reals], ...]] = [(control,) for control in values.controls]
    return [*single, values.controls] if len(single) > 1 else single


def _mantel_row(measure: str, method: str, controls: str, found: Mantel) -> dict[str, Any]:
    nothing = dict.fromkeys(("low", "high", "floor_low", "floor_high"), _NAN)
    row = {"measure": measure, "method": method, "controls": controls, "estimate": found.r, "p": found.p, "n": found.n}
    return row | nothing


def _over_topics(topics: Sequence[TopicSummary], key: TauKey) -> ConceptTaus:
    return ConceptTaus.joined([summary.taus[key] for summary in topics])


def _permutation_p(observed: float, draws: Reals) -> float:
    """Two-sided share of permutations at least as far from zero; NaN without any."""
    known = draws[~np.isnan(draws)]
    if not known.size or np.isnan(observed):
        return _NAN
    return float((1 + (np.abs(known) >= abs(observed)).sum()) / (1 + known.size))


def _central(draws: Reals, axis: int) -> tuple[Reals, Reals]:
    """Central 95 % of draws along ``axis``; NaN where there are none or some are unknown."""
    if not draws.shape[axis]:
        nothing = np.full(draws.shape[1 - axis], _NAN)
        return nothing, nothing
    low, high = np.quantile(draws, _CENTRAL, axis=axis)
    return low, high


def values_table(values: Sequence[tuple[ValuesOf, Sequence[int]]]) -> pl.DataFrame:
    """One row a values table and identity; each comes with how many questions its identities have answered."""
    seen: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one, known in values:
        for place in range(one.size):
            row = (one.name, one.identities[place], one.countries[place], one.iso3[place], int(known[place]))
            seen.setdefault(row[:2], dict(zip(SCHEMAS["values"], row, strict=True)))
    rows = [seen[key] for key in sorted(seen)]
    return frame("values", {column: [row[column] for row in rows] for column in SCHEMAS["values"]})
