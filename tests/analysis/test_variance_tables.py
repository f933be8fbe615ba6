"""Tests over concepts: combined as published procedures combine them, adjusted over topics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kapwa.analysis import tables
from kapwa.analysis.topics import ConceptFacts, Named, Sums, TopicSummary
from kapwa.analysis.words.counts import WordCounts
from kapwa.stats.significance import holm

NAME = Named("model T 0.3", "eecc/qa")


def topic(name: str, rng: np.random.Generator, gap: float, concepts: int = 6) -> TopicSummary:
    within = rng.random((concepts, 1)) / 4
    means = np.hstack([within, within + gap + rng.normal(0, 0.02, (concepts, 1)), within / 2, within])
    permanova = np.stack([rng.random(concepts) * 3, rng.random(concepts), rng.integers(1, 1000, concepts) / 1000], 1)
    counts = np.full(concepts, 5)
    names = tuple(f"{name} {i}" for i in range(concepts))
    facts = ConceptFacts(names, counts, 3 * counts, means, permanova, np.full((concepts, 4), np.nan))
    words = WordCounts((), np.zeros(6, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
    return TopicSummary(0, name, facts, Sums(5, drawn=False), {}, words)


def test_tests_are_those_of_scipy_and_adjusted_over_topics() -> None:
    rng = np.random.default_rng(1)
    topics = [topic("a", rng, 0.05), topic("b", rng, 0.001), topic("c", rng, 0.03)]
    table = tables.tests_table(NAME, topics)
    assert table["topic"].to_list() == [name for name in ("all", "a", "b", "c") for _ in range(3)]
    for name, members in (("all", topics), ("b", topics[1:2])):
        means = np.concatenate([one.concepts.means for one in members])
        permanova = np.concatenate([one.concepts.permanova for one in members])
        rows = {row["test"]: row for row in table.filter(topic=name).iter_rows(named=True)}
        paired = stats.ttest_rel(means[:, 1], means[:, 0])
        interval = paired.confidence_interval()
        assert rows["paired"]["statistic"] == pytest.approx(paired.statistic)
        assert (rows["paired"]["low"], rows["paired"]["high"]) == pytest.approx((interval.low, interval.high))
        assert (rows["paired"]["p"], rows["paired"]["df1"]) == pytest.approx((paired.pvalue, paired.df))
        combined = stats.combine_pvalues(permanova[:, 2], method="fisher")
        assert (rows["permanova"]["statistic"], rows["permanova"]["p"]) == pytest.approx(tuple(combined))
        assert rows["permanova"]["estimate"] == pytest.approx(permanova[:, 1].mean())
        released = stats.f_oneway(means[:, 2], means[:, 3])
        assert (rows["anova_reference"]["statistic"], rows["anova_reference"]["p"]) == pytest.approx(tuple(released))
        assert (rows["anova_reference"]["df1"], rows["anova_reference"]["df2"]) == (1, 2 * len(means) - 2)
    for test in ("paired", "permanova", "anova_reference"):
        single = table.filter(test=test).filter(table.filter(test=test)["topic"] != "all")
        assert single["p_adjusted"].to_list() == pytest.approx(holm(single["p"].to_numpy()).tolist())


def test_concepts_that_agree_to_the_last_digit_leave_no_interval_and_no_p() -> None:
    same = topic("a", np.random.default_rng(3), 0.1, concepts=2)
    same.concepts.means[:] = [0.1, 0.2, 0.05, 0.2]
    row = tables.tests_table(NAME, [same]).filter(topic="all", test="paired").row(0, named=True)
    assert row["estimate"] == pytest.approx(0.1)
    assert [row[name] for name in ("low", "high", "p", "statistic")] == [None] * 4
    estimate, low, high = tables.interval(np.array([1 / 3, 1 / 3, 1 / 3]), -1, 1)
    assert estimate == pytest.approx(1 / 3)
    assert np.isnan([low, high]).all()


def test_a_test_that_could_not_be_made_leaves_gaps() -> None:
    one = topic("a", np.random.default_rng(2), 0.1, concepts=1)
    one.concepts.permanova[:] = np.nan
    rows = {row["test"]: row for row in tables.tests_table(NAME, [one]).filter(topic="a").iter_rows(named=True)}
    assert rows["paired"]["estimate"] is not None
    assert rows["paired"]["p"] is rows["paired"]["low"] is rows["paired"]["p_adjusted"] is None
    assert rows["permanova"]["concepts"] == 0
    assert rows["anova_reference"]["p"] is None


def test_both_estimators_stand_beside_each_other() -> None:
    one = topic("b", np.random.default_rng(4), 0.1, concepts=2)
    table = tables.variance_table(NAME, one)
    assert table.height == 4
    row = table.filter(concept="b 1", estimator="reference").row(0, named=True)
    assert (row["within"], row["across"]) == tuple(one.concepts.means[1, 2:])
    assert row["permanova_p"] == one.concepts.permanova[1, 2]
    assert (row["identities"], row["texts"]) == (5, 15)
