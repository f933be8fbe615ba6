"""From summaries of topics to tables: variance and its tests, correlation with values, words, texts for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import Any

import numpy as np
import polars as pl

from kapwa.analysis.concept_results import Reals
from kapwa.analysis.corpus import ConceptKey, Corpus
from kapwa.analysis.result import empty, frame
from kapwa.analysis.result_tables import SCHEMAS
from kapwa.analysis.topics import (
    BLEU,
    BLEU_REFERENCE,
    ESTIMATORS,
    MEASURES,
    WED,
    ConceptTaus,
    CorpusColumns,
    CorpusFacts,
    Sums,
    TauKey,
    TopicSummary,
    ValuesOf,
    joined_sums,
    matrix_taus,
    smooth_draws,
)
from kapwa.analysis.words import log_odds_words, tfidf_words
from kapwa.analysis.words.counts import WordCounts
from kapwa.stats.distances import row_means
from kapwa.stats.kendall import jackknife, known_pairs
from kapwa.stats.mantel import mantel
from kapwa.stats.resampling import TIE, monte_carlo_p
from kapwa.stats.significance import PairedTest, holm, one_way_anova, paired_test
from kapwa.value_types import Cells

ALL = "all"
# Characters kept of all corpora together; one concept of each is kept in any case.
MOST_CHARACTERS = 4_000_000
# Of very many identities, so many are shown, evenly along the alphabet.
MOST_IDENTITIES = 300


# -- do texts of different identities differ more than chance? ------------------------------------------


_PERMUTED = ("permanova_f", "permanova_r2", "permanova_p", "permdisp_f", "permdisp_p")


def variance_table(name: CorpusColumns, summary: TopicSummary) -> pl.DataFrame:
    """One row a concept and estimator."""
    facts, frames = summary.concepts, []
    for estimator, (within, across) in zip(ESTIMATORS, ((0, 1), (2, 3)), strict=True):
        # Only our estimate is drawn from pairs; as released there is none.
        bounds = facts.bounds.T if estimator == "corrected" else np.full_like(facts.bounds.T, np.nan)
        columns = {
            "topic": summary.topic,
            "concept": facts.names,
            "estimator": estimator,
            "within": facts.means[:, within],
            "across": facts.means[:, across],
            **dict(zip(_PERMUTED, facts.permanova.T, strict=True)),
            "identities": facts.identities,
            "texts": facts.texts,
            **dict(zip(("within_low", "within_high", "across_low", "across_high"), bounds, strict=True)),
        }
        frames.append(frame("variance", {**name._asdict(), **columns}))
    return pl.concat(frames)


def tests_table(name: CorpusColumns, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a topic and test, and one of all topics together; p adjusted by Holm over the topics of a test."""
    means, permanova = ([getattr(topic.concepts, field) for topic in topics] for field in ("means", "permanova"))
    # All topics together are one test, which needs no adjustment.
    rows = [*_tests(ALL, np.concatenate(means), np.concatenate(permanova))]
    rows += [row for topic in topics for row in _tests(topic.topic, topic.concepts.means, topic.concepts.permanova)]
    for test in {row["test"] for row in rows}:
        single = [row for row in rows if row["test"] == test and row["topic"] != ALL]
        for row, adjusted in zip(single, holm([row["p"] for row in single]), strict=True):
            row["p_adjusted"] = float(adjusted)
    return frame("tests", {**name._asdict(), **{column: [row[column] for row in rows] for column in rows[0]}})


def spread_note(name: CorpusColumns, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """Warn where PERMANOVA may take unequal spread for a difference, most of all where groups differ in size, too."""
    p = _combined(*np.concatenate([topic.concepts.permanova for topic in topics])[:, [1, 4]].T)[-2]
    uneven = any((topic.concepts.identities * topic.concepts.most > topic.concepts.texts).any() for topic in topics)
    sizes = ", and identities have unequal numbers of texts"
    much = ", most of all where the identities with few texts are spread more widely"
    little = " about twice as often as its p says, where all have as many texts"
    text = (
        f"{name.corpus}, {name.task}: texts of some identities are spread more widely than those of others "
        f"(PERMDISP){sizes if uneven else ''}. PERMANOVA can mistake this for a difference between identities"
        f"{much if uneven else little}; the paired test of variances does not."
    )
    texts = [text] if p < 0.05 else []
    return frame("notes", {"severity": ["warning"] * len(texts), "text": texts})


def _tests(topic: str, means: Reals, permanova: Reals) -> Iterator[Cells]:
    within, across, within_reference, across_reference = means.T
    paired = paired_test(across, within)
    # Variances lie between 0 and ½, and so do their differences between −½ and ½.
    low, high = _cut(paired, -0.5, 0.5)
    t, p = (np.nan, np.nan) if paired.low == paired.high else (paired.t, paired.p)
    results = {
        "paired": (paired.estimate, low, high, t, paired.df or np.nan, np.nan, p, paired.n),
        "permanova": _combined(permanova[:, 1], permanova[:, 2]),
        "permdisp": (*[np.nan] * 3, *_combined(permanova[:, 1], permanova[:, 4])[3:]),
        "anova_reference": _released(within_reference, across_reference),
    }
    columns = ("estimate", "low", "high", "statistic", "df1", "df2", "p", "concepts")
    for test, result in results.items():
        row = dict(zip(columns, result, strict=True))
        yield {"topic": topic, "test": test, **row, "p_adjusted": row["p"]}


def _combined(estimates: Reals, p: Reals) -> tuple[float, ...]:
    """Fisher's combination of the concepts' permutation p-values, beside the mean estimate (R²) and its interval.

    Concepts are generated independently of each other. Permutation p-values are never below 1/(permutations + 1),
    so the combination errs on the careful side.
    """
    from scipy.special import chdtrc

    known = ~np.isnan(p)
    n = int(known.sum())
    if not n:
        return (*[np.nan] * 7, 0)
    statistic, df = float(-2 * np.log(p[known]).sum()), 2 * n
    return *interval(estimates[known], 0.0, 1.0), statistic, df, np.nan, float(chdtrc(df, statistic)), n


def _released(within: Reals, across: Reals) -> tuple[float, ...]:
    known = ~np.isnan(within) & ~np.isnan(across)
    n = int(known.sum())
    estimate = float((across - within)[known].mean()) if n else np.nan
    if n < 2:
        return estimate, *[np.nan] * 6, n
    anova = one_way_anova(within[known], across[known])
    return estimate, np.nan, np.nan, anova.f, anova.df_between, anova.df_within, anova.p, n


def interval(values: Reals, least: float, most: float) -> tuple[float, float, float]:
    """Mean of what is known and its 95 % Student interval, cut to where a true mean can lie; NaN with too little."""
    test = paired_test(values, np.zeros(len(values)))
    return test.estimate, *_cut(test, least, most)


def _cut(test: PairedTest, least: float, most: float) -> tuple[float, float]:
    """Cut the interval to where a true mean can lie; NaN where concepts agree to the last digit.

    A few concepts often agree on a coarse number such as τ among five countries. No spread then means too little is
    known of it, not that nothing is uncertain.
    """
    return (np.nan, np.nan) if test.low == test.high else (max(test.low, least), min(test.high, most))


def identities_table(facts: CorpusFacts, sums: Sums) -> pl.DataFrame:
    """One row an identity."""
    within, across = sums.variances()
    places = [facts.places.get(identity) for identity in facts.identities]
    names = ("country", "iso2", "iso3")
    named = {name: [getattr(place, name) if place else None for place in places] for name in names}
    counts = {"tokens": sums.tokens, "empty": sums.empty}
    columns = {"identity": facts.identities, **named, "within": within, "across": across, **counts}
    return frame("identities", {**facts.name._asdict(), **columns})


def similarity_table(facts: CorpusFacts, sums: Sums) -> pl.DataFrame:
    """One row a pair of identities; none where pairs of texts were drawn."""
    names = np.array(facts.identities if sums.counts.size else [], dtype=object)
    first, second = np.triu_indices(len(names), 1)
    pairs = {"identity_a": names[first].tolist(), "identity_b": names[second].tolist()}
    measured = {"wed": sums.triangle(WED), "bleu": sums.triangle(BLEU)}
    return frame("similarity", {**facts.name._asdict(), **pairs, **measured})


def corpus_table(facts: CorpusFacts, topics: Sequence[TopicSummary], sums: Sums) -> pl.DataFrame:
    """One row: how much there is of a corpus."""
    prompts = sum(int(summary.concepts.identities.sum()) for summary in topics)
    texts, tokens = int(sums.samples.sum()), int(sums.tokens.sum())
    columns = {
        "model": facts.model,
        "temperature": facts.temperature,
        "attribute": facts.attribute,
        "concepts": [sum(len(summary.concepts.names) for summary in topics)],
        "identities": len(facts.identities),
        "texts": texts,
        "samples": texts / prompts,
        "tokens": tokens,
        "mean_tokens": tokens / texts,
        "empty": int(sums.empty.sum()),
    }
    return frame("corpora", {**facts.name._asdict(), **columns})


# -- do texts resemble each other where values do? -------------------------------------------------------


def concept_taus_table(name: CorpusColumns, summary: TopicSummary) -> pl.DataFrame:
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


def anchors_table(facts: CorpusFacts, topics: Sequence[TopicSummary], sums: Sums) -> pl.DataFrame:
    """One row an anchor, values table, measure and estimator; p adjusted by Holm over the anchors."""
    pooled = [sums.matrix(which) for which in (BLEU, WED, BLEU_REFERENCE)] if sums.counts.size else []
    frames = []
    for values in facts.values if pooled else ():
        for key, whole in matrix_taus(pooled, values).items():
            tau = ConceptTaus.joined([topic.taus[key] for topic in topics]).tau
            bounds = np.array([interval(column[~np.isnan(column)], -1.0, 1.0) for column in tau.T])
            columns = {
                "identity": values.identities,
                "country": values.countries,
                "iso3": values.iso3,
                **dict(zip(("tau", "low", "high"), bounds.T, strict=True)),
                "tau_pooled": whole.tau,
                "p": whole.p,
                "p_adjusted": holm(whole.p),
                "concepts": (~np.isnan(tau)).sum(axis=0),
                "countries": whole.n,
            }
            frames.append(frame("anchors", {**facts.name._asdict(), **key._asdict(), **columns}))
    return pl.concat(frames) if frames else empty("anchors")


def correlations_table(facts: CorpusFacts, topic: str, topics: Sequence[TopicSummary]) -> pl.DataFrame:
    """One row a values table, measure and method, over the concepts of ``topics`` together, called ``topic``."""
    sums = joined_sums(topics)
    rows = [
        {**facts.name._asdict(), "topic": topic, "values": values.name, **row}
        for values in (facts.values if sums.counts.size else ())
        for row in (*_tau_rows(topics, values), *_mantel_rows(sums, values, facts.permutations, facts.seed))
    ]
    return pl.DataFrame(rows, schema=dict(SCHEMAS["correlations"])).fill_nan(None)


def _tau_rows(topics: Sequence[TopicSummary], values: ValuesOf) -> Iterator[Cells]:
    for measure in MEASURES:
        for estimator in ESTIMATORS:
            taus = ConceptTaus.joined([topic.taus[TauKey(values.name, measure, estimator)] for topic in topics])
            estimate, low, high = interval(row_means(taus.tau), -1.0, 1.0)
            draws = row_means(taus.floors.T)
            (floor_low,), (floor_high,) = _central(draws[None])
            countries_low, countries_high = jackknife(estimate, row_means(taus.without.T))
            yield {
                "measure": measure,
                "method": "tau" if estimator == "corrected" else "tau_reference",
                "controls": "",
                "estimate": estimate,
                "low": low,
                "high": high,
                "p": _share_beyond(estimate, draws),
                "floor_low": floor_low,
                "floor_high": floor_high,
                "p_smooth": _share_beyond(estimate, row_means(taus.smooth.T)),
                "countries_low": countries_low,
                "countries_high": countries_high,
                "n": int((~np.isnan(taus.tau)).any(axis=0).sum()),
            }


def _share_beyond(estimate: float, draws: Reals) -> float:
    """Two-sided p: share of the known draws at least as far from zero; sums of another order are ties, too."""
    known = draws[~np.isnan(draws)]
    if not known.size or np.isnan(estimate):
        return np.nan
    return monte_carlo_p(int((np.abs(known) >= abs(estimate) - TIE).sum()), known.size)


def _mantel_rows(sums: Sums, values: ValuesOf, permutations: int, seed: int) -> Iterator[Cells]:
    chosen = np.ix_(values.index, values.index)
    # Each control alone, and all together where there are several.
    fixed: list[tuple[tuple[str, Reals], ...]] = [(), *((control,) for control in values.controls)]
    fixed += [values.controls] if len(values.controls) > 1 else []
    alive = np.flatnonzero(known_pairs(values.distance).any(axis=1))
    among = np.ix_(alive, alive)
    drawn = smooth_draws(values.distance[among].tobytes(), tuple(values.iso3[i] for i in alive), seed)
    smooth = None
    if drawn is not None:
        smooth = np.full((len(drawn), *values.distance.shape), np.nan)
        smooth[:, alive[:, None], alive] = -drawn
    # Both sides are turned so that a positive r says: nearer in values, more alike in text.
    for measure, likeness in (("bleu", sums.matrix(BLEU)[chosen]), ("wed", -sums.matrix(WED)[chosen])):
        for controls in fixed:
            matrices = [matrix for _, matrix in controls]
            result = mantel(likeness, -values.distance, matrices, permutations=permutations, seed=seed, draws=smooth)
            yield {
                "measure": measure,
                "method": "partial mantel" if controls else "mantel",
                "controls": " + ".join(label for label, _ in controls),
                **dict.fromkeys(("low", "high", "floor_low", "floor_high", "countries_low", "countries_high"), np.nan),
                "estimate": result.r,
                "p": result.p,
                "p_smooth": result.p_drawn,
                "n": result.n,
            }


def _central(draws: Reals) -> tuple[Reals, Reals]:
    """Central 95 % of each row of draws; NaN where there are none or some are unknown."""
    if not draws.shape[1]:
        nothing = np.full(len(draws), np.nan)
        return nothing, nothing
    low, high = np.quantile(draws, (0.025, 0.975), axis=1)
    return low, high


def values_table(values: Sequence[tuple[ValuesOf, Sequence[int]]]) -> pl.DataFrame:
    """One row a values table and identity; each comes with how many questions its identities have answered."""
    rows: list[tuple[Any, ...]] = []
    for of, known in values:
        names = repeat(of.name, len(of.identities))
        rows += zip(names, of.identities, of.countries, of.iso3, map(int, known), strict=True)
    table = pl.DataFrame(rows, schema=dict(SCHEMAS["values"]), orient="row")
    return table.unique(["values", "identity"], keep="first").sort("values", "identity")


# -- words and texts ------------------------------------------------------------------------------------


def words_table(facts: CorpusFacts, topic: str, counts: WordCounts) -> pl.DataFrame:
    """One row an identity, method and rank: the words that mark each identity's texts, by both methods."""
    lists = []
    for method, words in (("tfidf", tfidf_words), ("logodds", log_odds_words)):
        listed = words(counts, facts.top, identities=facts.identities, language=facts.language)
        lists.append(listed.with_columns(method=pl.lit(method)))
    rows = pl.concat(lists)
    same = {**facts.name._asdict(), "topic": topic}
    return rows.with_columns(pl.lit(value).alias(column) for column, value in same.items()).select(*SCHEMAS["words"])


def texts_table(name: CorpusColumns, corpus: Corpus, topics: Sequence[TopicSummary], characters: int) -> pl.DataFrame:
    """Return texts of a corpus, about ``characters`` long together, whole concepts at a time."""
    frames: list[pl.DataFrame] = []
    left = characters
    ranked = []
    for topic in topics:
        gaps = np.nan_to_num(topic.concepts.means[:, 1] - topic.concepts.means[:, 0], nan=-np.inf)
        ranked.append([ConceptKey(topic.topic, topic.concepts.names[i]) for i in np.argsort(-gaps, kind="stable")])
    # The most different concept of each topic first, then the second of each, and so on.
    for key in filter(None, chain.from_iterable(zip_longest(*ranked))):
        texts = corpus.texts(key)
        groups = texts.groups
        people = len(texts.identities)
        shown = np.isin(groups, np.linspace(0, people - 1, min(people, MOST_IDENTITIES)).astype(int))
        # Texts are sorted by identity: how many of the same one come before each.
        earlier = np.arange(len(groups)) - np.searchsorted(groups, groups)
        for samples in (2, 1):  # two texts of an identity show what chance alone changes
            chosen = np.flatnonzero(shown & (earlier < samples)).tolist()
            length = sum(len(texts.texts[number]) for number in chosen)
            if length <= left:
                break
        else:
            if frames:
                break
        rows = {
            **name._asdict(),
            "topic": key.topic,
            "concept": key.concept,
            "identity": [texts.identities[texts.groups[number]] for number in chosen],
            "sample": texts.samples[chosen],
            "text": [texts.texts[number] for number in chosen],
        }
        frames.append(frame("texts", rows))
        left -= length
    return pl.concat(frames) if frames else empty("texts")
