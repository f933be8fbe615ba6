"""The second stage: τ of concepts, tests over concepts, and its jobs: each once, parts sent along where needed."""

import logging
from pathlib import Path
from typing import Any

import corpus_samples as texts
import numpy as np
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from kapwa.analysis import summing, tables
from kapwa.analysis.concept_results import ConceptResult
from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.distances import Prepared, compute_results, prepare
from kapwa.analysis.inputs import Settings, read_surveys
from kapwa.analysis.summing import TopicResult, tables_of, topic_tables
from kapwa.analysis.topics import (
    ConceptFacts,
    CorpusColumns,
    Damaged,
    Sums,
    TauKey,
    TopicJob,
    TopicSummary,
    ValuesOf,
    concept_taus,
)  # fmt: skip
from kapwa.analysis.words.counts import WordCounts, count_words
from kapwa.metrics.tokens import Encoded
from kapwa.parallel.local import LocalExecutor
from kapwa.stats.distances import row_means
from kapwa.stats.kendall import anchor_taus, permuted_means
from kapwa.stats.significance import holm

WHO = tuple(f"P{i}" for i in range(9))
PLACE = {name: i for i, name in enumerate(WHO)}


def no_words(identities: int) -> WordCounts:
    return count_words(Encoded(np.empty(0, np.int64), np.zeros(1, np.int64), ()), [], identities)


def part(rng: np.random.Generator, who: tuple[str, ...] = WHO) -> ConceptResult:
    g = len(who)
    whole, real = np.ones(g, dtype=np.int64), np.ones(g)
    pairs = {name: rng.random(g * (g - 1) // 2) for name in ("wed", "bleu", "bleu_reference")}
    same = dict.fromkeys(("within", "across", "within_reference", "across_reference", "wed_own"), real)
    few = {"means": np.ones(4), "permanova": np.ones(5), "bounds": np.ones(4)}
    return ConceptResult(
        "t", "c", who, samples=whole, tokens=whole, empty=whole, **same, **few, **pairs, words=no_words(g)
    )


def square(triangle: np.ndarray, size: int) -> np.ndarray:
    matrix = np.full((size, size), np.nan)
    matrix[np.triu_indices(size, 1)] = triangle
    return np.fmax(matrix, matrix.T)


def values(index: list[int], distance: np.ndarray) -> ValuesOf:
    names = tuple(WHO[i] for i in index)
    order = np.arange(len(index))
    return ValuesOf("v", np.array(index), names, names, ("",) * len(names), distance, distance, order, ())


def some_distance(rng: np.random.Generator, m: int) -> np.ndarray:
    matrix = rng.random((m, m))
    return matrix + matrix.T


def test_a_country_without_any_distance_changes_no_tau_and_no_floor() -> None:
    rng = np.random.default_rng(1)
    parts = [part(rng) for _ in range(3)]
    alive, everyone = [0, 1, 3, 5, 6, 8], [0, 1, 3, 4, 5, 6, 8]
    distance = some_distance(rng, 6)
    wider = np.full((7, 7), np.nan)
    keep = [i for i, one in enumerate(everyone) if one != 4]
    wider[np.ix_(keep, keep)] = distance
    few = concept_taus(parts, values(alive, distance), PLACE, permutations=39, seed=2)
    many = concept_taus(parts, values(everyone, wider), PLACE, permutations=39, seed=2)
    for measure in ("bleu", "wed"):
        key = TauKey("v", measure, "corrected")
        np.testing.assert_allclose(row_means(few[key].tau), row_means(many[key].tau))
        np.testing.assert_allclose(few[key].floors, many[key].floors)
        assert np.isnan(many[key].tau[:, 3]).all()


def test_identities_that_a_concept_lacks_are_left_out_of_its_taus() -> None:
    rng = np.random.default_rng(2)
    who = tuple(name for name in WHO if name not in ("P2", "P5"))
    lacking, index = part(rng, who), [1, 2, 4, 5, 6, 7]
    distance = some_distance(rng, 6)
    found = concept_taus([lacking], values(index, distance), PLACE, permutations=19, seed=0)
    likeness, here = square(lacking.bleu, len(who)), [1, 4, 6, 7]
    rows = [who.index(WHO[i]) for i in here]
    places = [index.index(i) for i in here]
    wanted = []
    for a in range(4):
        others = [b for b in range(4) if b != a]
        ours = likeness[rows[a], [rows[b] for b in others]]
        theirs = -distance[places[a], [places[b] for b in others]]
        wanted.append(stats.kendalltau(ours, theirs).statistic)
    tau = found[TauKey("v", "bleu", "corrected")].tau[0]
    assert tau[places] == pytest.approx(wanted)
    assert np.isnan(tau[[1, 3]]).all()


def test_by_edit_distance_near_means_alike() -> None:
    rng = np.random.default_rng(3)
    one = part(rng)
    distance = square(one.wed, 9)
    np.fill_diagonal(distance, 0)
    found = concept_taus([one], values(list(range(9)), distance), PLACE, permutations=19, seed=0)
    assert row_means(found[TauKey("v", "wed", "corrected")].tau) == pytest.approx([1.0])
    assert found[TauKey("v", "wed", "corrected")].significant == pytest.approx([1.0])
    assert row_means(found[TauKey("v", "wed", "reference")].tau) == pytest.approx([1.0])


NAME = CorpusColumns("model T 0.3", "eecc/qa")


def topic(name: str, rng: np.random.Generator, gap: float, concepts: int = 6) -> TopicSummary:
    within = rng.random((concepts, 1)) / 4
    means = np.hstack([within, within + gap + rng.normal(0, 0.02, (concepts, 1)), within / 2, within])
    permanova = np.stack([rng.random(concepts) * 3, rng.random(concepts), rng.integers(1, 1000, concepts) / 1000], 1)
    permanova = np.hstack([permanova, permanova[:, [0, 2]] / 2])
    counts = np.full(concepts, 5)
    names = tuple(f"{name} {i}" for i in range(concepts))
    bounds, most = np.full((concepts, 4), np.nan), np.full(concepts, 3)
    facts = ConceptFacts(names, counts, 3 * counts, means, permanova, bounds, most)
    return TopicSummary(0, name, facts, Sums(5, drawn=False), {}, no_words(5))


def test_tests_are_those_of_scipy_and_adjusted_over_topics() -> None:
    rng = np.random.default_rng(1)
    topics = [topic("a", rng, 0.05), topic("b", rng, 0.001), topic("c", rng, 0.03)]
    table = tables.tests_table(NAME, topics)
    assert table["topic"].to_list() == [name for name in ("all", "a", "b", "c") for _ in range(4)]
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
        spread = stats.combine_pvalues(permanova[:, 4], method="fisher")
        assert (rows["permdisp"]["statistic"], rows["permdisp"]["p"]) == pytest.approx(tuple(spread))
        assert rows["permdisp"]["estimate"] is None
        released = stats.f_oneway(means[:, 2], means[:, 3])
        assert (rows["anova_reference"]["statistic"], rows["anova_reference"]["p"]) == pytest.approx(tuple(released))
        assert (rows["anova_reference"]["df1"], rows["anova_reference"]["df2"]) == (1, 2 * len(means) - 2)
    for test in ("paired", "permanova", "permdisp", "anova_reference"):
        single = table.filter(test=test).filter(table.filter(test=test)["topic"] != "all")
        assert single["p_adjusted"].to_list() == pytest.approx(holm(single["p"].to_numpy()).tolist())


def test_unequal_spread_is_a_warning_most_of_all_where_identities_have_unequal_numbers_of_texts() -> None:
    one = topic("a", np.random.default_rng(1), 0.1)
    one.concepts.permanova[:, 4] = 0.001
    (note,) = tables.spread_note(NAME, [one])["text"]  # five identities, three texts each
    assert note.startswith("model T 0.3, eecc/qa: texts of some identities are spread more widely")
    assert "about twice as often as its p says" in note
    one.concepts.texts[2] = 14
    (note,) = tables.spread_note(NAME, [one])["text"]
    assert "unequal numbers of texts" in note
    assert "most of all where the identities with few texts" in note
    one.concepts.permanova[:, 4] = 0.4
    assert not tables.spread_note(NAME, [one]).height
    one.concepts.permanova[:] = np.nan
    assert not tables.spread_note(NAME, [one]).height


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


SETTINGS = Settings(workers=1, permutations=49)


@pytest.fixture
def prepared(tmp_path: Path) -> list[Prepared]:
    """Two corpora of two topics each, all of whose parts are there."""
    files = [texts.write(tmp_path / f"{name}.parquet", texts.rows(seed=i), model=name) for i, name in enumerate("ab")]
    surveys = read_surveys([texts.write_values(tmp_path / "survey.csv")], ["geography"], SETTINGS)
    found = [prepare(corpus, surveys, tmp_path / "parts", SETTINGS) for corpus in open_corpora(files)]
    compute_results(found, lambda _: None, LocalExecutor(1))
    return found


def topic_jobs(prepared: list[Prepared]) -> list[TopicJob]:
    return [job for job in summing.ConceptJobs(prepared) if isinstance(job, TopicJob)]


def test_a_corpus_follows_its_topics_at_once_and_nothing_is_done_twice(prepared: list[Prepared]) -> None:
    work = summing.ConceptJobs(prepared)
    done = []
    for job in work:
        done.append((type(job), job.corpus))
        work.take(tables_of(job))
    assert done == [(kind, number) for number in (0, 1) for kind in (TopicJob, TopicJob, summing.CorpusJob)]
    assert len(done) == work.jobs
    assert {"texts", "words", "tests", "similarity"} <= set(work.tables[0])


def same(one: TopicResult | Damaged, other: TopicResult | Damaged) -> None:
    assert isinstance(one, TopicResult)
    assert isinstance(other, TopicResult)
    for name, table in one.tables.items():
        assert_frame_equal(table, other.tables[name], check_exact=True)
    np.testing.assert_array_equal(one.summary.sums.triangles, other.summary.sums.triangles)


def test_parts_that_are_sent_need_no_folder(prepared: list[Prepared], tmp_path: Path) -> None:
    for job in topic_jobs(prepared):
        sent: Any = summing._with_results(job)
        elsewhere = tuple(tmp_path / "nowhere" / path.name for path in job.paths)
        same(topic_tables(job), topic_tables(sent._replace(paths=elsewhere)))


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_damaged_part_that_was_sent_is_computed_again(
    prepared: list[Prepared], harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    job = topic_jobs(prepared)[1]
    whole, path = topic_tables(job), job.paths[2]
    raw = path.read_bytes()
    if harm == "cut":
        path.write_bytes(raw[:700])
    else:
        path.unlink()
    damaged = tables_of(summing._with_results(job))
    assert isinstance(damaged, Damaged)
    assert damaged.paths == (path,)
    assert damaged.job.sent is None  # parts do not travel back
    with caplog.at_level(logging.WARNING):
        same(summing.ConceptJobs(prepared)._mended(damaged), whole)
    assert f"{path} cannot be read: its concept is computed again." in caplog.text
    assert path.read_bytes() == raw


def test_a_permutation_that_moves_nothing_is_a_tie() -> None:
    """Sums of another order end in another digit: of four countries in 24 orders each leaves p too small."""
    for seed in range(30):
        random = np.random.default_rng(seed)
        texts, values = random.random((6, 5, 5)), random.random((5, 5))
        similarities = [text + text.T for text in texts]
        distance = values + values.T
        taus = np.stack([anchor_taus(each, distance).tau for each in similarities])
        estimate, *_ = tables.interval(row_means(taus), -1, 1)
        draws = row_means(permuted_means(similarities, distance, permutations=199, seed=seed).T)
        hits = sum(abs(draw) > abs(estimate) - 1e-9 for draw in draws)
        assert tables._share_beyond(estimate, draws) == (1 + hits) / 200
