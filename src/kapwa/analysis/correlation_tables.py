"""From summaries to the tables of cultural values: do texts resemble each other where values do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.analysis.schemas import SCHEMAS, empty, frame
from kapwa.analysis.taus import ESTIMATORS, MEASURES, ConceptTaus, Reals, TauKey, ValuesOf, matrix_taus
from kapwa.analysis.topics import BLEU, BLEU_REFERENCE, WED, Sums, TopicSummary, joined_sums
from kapwa.analysis.variance_tables import Named, interval
from kapwa.stats.distances import row_means
from kapwa.stats.mantel import mantel
from kapwa.stats.significance import holm

_NAN = float("nan")


def concept_taus_table(name: Named, summary: TopicSummary) -> pl.DataFrame:
    """One row a concept, values table, measure and estimator."""
    rows = []
    for key, taus in summary.taus.items():
        low, high = _central(taus.floors)
        columns = {
            "topic": summary.topic,
            "concept": summary.concepts.names,
            "tau": row_means(taus.tau),
            "significant": taus.significant,
            "anchors": (~np.isnan(taus.tau)).sum(axis=1),
            "floor_low": low,
            "floor_high": high,
        }
        rows.append(frame("concept_taus", {**name._asdict(), **key._asdict(), **columns}))
    return pl.concat(rows) if rows else empty("concept_taus")


def anchors_table(name: Named, topics: Sequence[TopicSummary], values: Sequence[ValuesOf], sums: Sums) -> pl.DataFrame:
    """One row an anchor, values table, measure and estimator; p adjusted by Holm over the anchors."""
    pooled = [sums.matrix(which) for which in (BLEU, WED, BLEU_REFERENCE)] if values and sums.counts.size else []
    frames = []
    for one in values if pooled else ():
        for key, whole in matrix_taus(pooled, one).items():
            tau = _over_topics(topics, key).tau
            bounds = np.array([interval(column[~np.isnan(column)], -1.0, 1.0) for column in tau.T])
            columns = {
                "identity": one.identities,
                "country": one.countries,
                "iso3": one.iso3,
                **dict(zip(("tau", "low", "high"), bounds.T, strict=True)),
                "tau_pooled": whole.tau,
                "p": whole.p,
                "p_adjusted": holm(whole.p),
                "concepts": (~np.isnan(tau)).sum(axis=0),
                "countries": whole.n,
            }
            frames.append(frame("anchors", {**name._asdict(), **key._asdict(), **columns}))
    return pl.concat(frames) if frames else empty("anchors")


def correlations_table(
    name: Named,
    topic: str,
    topics: Sequence[TopicSummary],
    values: Sequence[ValuesOf],
    *,
    permutations: int,
    seed: int,
) -> pl.DataFrame:
    """One row a values table, measure and method, over the concepts of ``topics`` together, called ``topic``."""
    sums = joined_sums(topics)
    rows = [
        {**name._asdict(), "topic": topic, "values": one.name, **row}
        for one in (values if sums.counts.size else ())
        for row in (*_tau_rows(topics, one), *_mantel_rows(sums, one, permutations, seed))
    ]
    if not rows:
        return empty("correlations")
    return frame("correlations", {column: [row[column] for row in rows] for column in SCHEMAS["correlations"]})


def _tau_rows(topics: Sequence[TopicSummary], values: ValuesOf) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        for estimator in ESTIMATORS:
            taus = _over_topics(topics, TauKey(values.name, measure, estimator))
            estimate, low, high = interval(row_means(taus.tau), -1.0, 1.0)
            draws = row_means(taus.floors.T)
            (floor_low,), (floor_high,) = _central(draws[None])
            known = draws[~np.isnan(draws)]
            # Two-sided share of permutations at least as far from zero.
            beyond = 1 + int((np.abs(known) >= abs(estimate)).sum())
            yield {
                "measure": measure,
                "method": "tau" if estimator == "corrected" else "tau_reference",
                "controls": "",
                "estimate": estimate,
                "low": low,
                "high": high,
                "p": beyond / (1 + known.size) if known.size and not np.isnan(estimate) else _NAN,
                "floor_low": floor_low,
                "floor_high": floor_high,
                "n": int((~np.isnan(taus.tau)).any(axis=0).sum()),
            }


def _mantel_rows(sums: Sums, values: ValuesOf, permutations: int, seed: int) -> Iterator[dict[str, Any]]:
    chosen = np.ix_(values.index, values.index)
    # Each control alone, and all together where there are several.
    fixed: list[tuple[tuple[str, Reals], ...]] = [(), *((control,) for control in values.controls)]
    fixed += [values.controls] if len(values.controls) > 1 else []
    # Both sides are turned so that a positive r says: nearer in values, more alike in text.
    for measure, likeness in (("bleu", sums.matrix(BLEU)[chosen]), ("wed", -sums.matrix(WED)[chosen])):
        for controls in fixed:
            matrices = [matrix for _, matrix in controls]
            found = mantel(likeness, -values.distance, matrices, permutations=permutations, seed=seed)
            yield {
                "measure": measure,
                "method": "partial mantel" if controls else "mantel",
                "controls": " + ".join(label for label, _ in controls),
                **dict.fromkeys(("low", "high", "floor_low", "floor_high"), _NAN),
                "estimate": found.r,
                "p": found.p,
                "n": found.n,
            }


def _over_topics(topics: Sequence[TopicSummary], key: TauKey) -> ConceptTaus:
    return ConceptTaus.joined([summary.taus[key] for summary in topics])


def _central(draws: Reals) -> tuple[Reals, Reals]:
    """Central 95 % of each row of draws; NaN where there are none or some are unknown."""
    if not draws.shape[1]:
        nothing = np.full(len(draws), _NAN)
        return nothing, nothing
    low, high = np.quantile(draws, (0.025, 0.975), axis=1)
    return low, high


def values_table(values: Sequence[tuple[ValuesOf, Sequence[int]]]) -> pl.DataFrame:
    """One row a values table and identity; each comes with how many questions its identities have answered."""
    seen: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one, known in values:
        for row in zip(one.identities, one.countries, one.iso3, map(int, known), strict=True):
            seen.setdefault((one.name, row[0]), dict(zip(SCHEMAS["values"], (one.name, *row), strict=True)))
    rows = [seen[key] for key in sorted(seen)]
    return frame("values", {column: [row[column] for row in rows] for column in SCHEMAS["values"]})
