"""Means, differences and spread over cultures: against plain definitions, an oracle, and planted data."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.comparisons import DESIGNS, PLANTED, compared, found
from benchmarks.simulations.heterogeneity import differences, names_wrongly, scores
from benchmarks.simulations.people_shares import any_named, as_people
from benchmarks.simulations.shares import over_cultures
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from kapwa.errors import DataError, UsageError
from kapwa.records import SCORE_COLUMNS
from kapwa.stats.comparison_tables import compare_runs, compare_variants
from kapwa.stats.families import adjust_p_values
from kapwa.stats.intervals import mean_estimates, wilson_interval
from kapwa.stats.pooled import pooled_differences, pooled_mean
from kapwa.stats.schemas import POOLED_SCHEMA
from kapwa.stats.spread import PRIOR, _shrunk, culture_spread, shares_of

SIXTEEN, OWN = DESIGNS["16 cultures × 100 shared questions"], DESIGNS["4 cultures × 20 questions of their own"]


def plain_mean(values: np.ndarray, cultures: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """The definition, item by item: mean of culture means; squared sums of each question's residuals over cultures."""
    names = sorted(set(cultures))
    means = {c: float(values[cultures == c].mean()) for c in names}
    parts = dict.fromkeys(set(clusters), 0.0)
    for c in names:
        inside = cultures == c
        groups = len(set(clusters[inside]))
        for value, g in zip(values[inside], clusters[inside], strict=True):
            parts[g] += (groups / (groups - 1)) ** 0.5 * (value - means[c]) / inside.sum() / len(names)
    return sum(means.values()) / len(names), sum(part**2 for part in parts.values()) ** 0.5


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_pooled_mean_is_its_definition(seed: int, several: int, questions: int, shared: bool) -> None:
    random = np.random.default_rng(seed)
    places = [(c, q) for c in range(several) for q in range(questions) for _ in range(random.integers(1, 3))]
    cultures = np.array([f"c{c}" for c, _ in places])
    clusters = np.array([f"q{q}" if shared else f"q{c}-{q}" for c, q in places])
    values = random.random(len(places))
    one, (mean, se) = pooled_mean(values, cultures, clusters), plain_mean(values, cultures, clusters)
    assert (one.value, one.se) == pytest.approx((mean, se))
    assert one.low < mean < (one.high or 0)
    order = random.permutation(len(values))
    assert pooled_mean(values[order], cultures[order], clusters[order])[:4] == pytest.approx(one[:4])


@given(
    st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 8), st.sampled_from([0.0, 0.02, 0.5, 1.0]), st.booleans()
)
@example(0, 2, 3, 0.5, True)  # what one culture has above its mean, the other has below, question by question
@settings(max_examples=60, deadline=None)
def test_the_mean_of_right_and_wrong_has_an_interval_with_a_width(
    seed: int, several: int, questions: int, rate: float, shared: bool
) -> None:
    random = np.random.default_rng(seed)
    cultures, clusters = (part.ravel() for part in np.indices((several, questions)))
    clusters = clusters if shared else cultures * questions + clusters
    values = (random.random(cultures.size) < rate).astype(float)
    one, (mean, se) = pooled_mean(values, cultures, clusters, share=True), plain_mean(values, cultures, clusters)
    assert one.value == pytest.approx(mean)
    assert one.method == "wilson-clustered"
    assert 0 <= one.low <= one.value <= one.high <= 1
    assert one.high - one.low > 0.01
    assert one.se == pytest.approx(se) if se > 1e-9 else one.se > 0


def test_single_right_or_wrong_answers_to_own_questions_keep_their_degrees_of_freedom() -> None:
    cultures, questions = (part.ravel() for part in np.indices((2, 10)))
    values = np.zeros(20)
    values[[3, 13]] = 1
    one = pooled_mean(values, cultures, cultures * 10 + questions, share=True)
    size = 0.1 * 0.9 / one.se**2
    assert (one.low, one.high) == pytest.approx(tuple(map(float, wilson_interval(0.1, size, stdtrit(18, 0.975)))))


@pytest.mark.parametrize(("design", "rate"), [((16, 15, 0.0), 0.02), ((16, 15, 0.3), 0.05), ((16, 60, 0.3), 0.02)])
def test_the_mean_over_cultures_of_rare_answers_is_covered(design: tuple[int, int, float], rate: float) -> None:
    random, held = np.random.default_rng(9), 0
    for _ in range(300):
        *data, true = over_cultures(random, *design, rate)
        one = pooled_mean(*data, share=True)
        held += one.low <= true <= one.high
    assert held / 300 >= 0.925  # two standard errors below 95 %


def test_questions_put_to_all_cultures_count_by_their_means_over_cultures() -> None:
    random = np.random.default_rng(5)
    cultures, questions = (part.ravel() for part in np.indices((4, 25)))
    values = random.random(25)[questions] + 0.3 * random.random(100)
    (by_question,) = mean_estimates(values.reshape(4, 25).mean(axis=0), None)
    assert pooled_mean(values, cultures, questions)[:4] == pytest.approx(by_question[:4])
    # Questions of their own: independent means, and the degrees of freedom of all of them together.
    own = pooled_mean(values, cultures, cultures * 25 + questions)
    errors = [mean_estimates(values[cultures == c], None)[0].se for c in range(4)]
    assert own.se == pytest.approx(np.sqrt(np.square(errors).sum()) / 4)
    assert own.high - own.value == pytest.approx(float(stdtrit(4 * 24, 0.975)) * own.se)


def test_the_standard_error_is_that_of_a_regression_on_cultures_clustered_by_question() -> None:
    sm = pytest.importorskip("statsmodels.api")
    random = np.random.default_rng(2)
    cultures, questions = (part.ravel() for part in np.indices((3, 40)))
    cultures, questions = np.tile(cultures, 2), np.tile(questions, 2)
    values = random.random(40)[questions] + random.random(len(cultures))
    design = np.eye(3)[cultures]
    fit = sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": questions, "use_correction": False})
    test = fit.t_test(np.full((1, 3), 1 / 3))
    found = pooled_mean(values, cultures, questions)
    assert found.value == pytest.approx(float(test.effect.item()))
    assert found.se == pytest.approx(float(test.sd.item()) * (40 / 39) ** 0.5)


def test_the_p_value_flips_whole_questions_over_all_cultures() -> None:
    random = np.random.default_rng(7)
    cultures, questions = (part.ravel() for part in np.indices((3, 8)))
    kept = np.arange(24) != 5
    cultures, questions = cultures[kept], questions[kept]
    a, b = random.integers(0, 2, (2, 23)).astype(float)
    (one,) = pooled_differences(a, b, cultures, questions, binary=True)
    by_question = np.zeros(8)
    for difference, c, q in zip(a - b, cultures, questions, strict=True):
        by_question[q] += difference / (cultures == c).sum() / 3
    flips = [abs(np.dot(signs, by_question)) for signs in product((-1, 1), repeat=8)]
    wanted = np.mean([flip >= abs(by_question.sum()) - 1e-12 for flip in flips])
    assert one.comparison.p_value == pytest.approx(wanted)
    assert one.comparison.method == "bonett-price-clustered, sign-flip exact"
    assert one.comparison.difference == pytest.approx(by_question.sum())
    assert one.comparison.a_value - one.comparison.b_value == pytest.approx(by_question.sum())


def test_two_models_that_never_disagree_get_an_interval_with_a_width() -> None:
    cultures, questions = (part.ravel() for part in np.indices((4, 20)))
    same = (questions % 2).astype(float)
    (one,) = pooled_differences(same, same, cultures, questions, binary=True)
    assert (one.comparison.difference, one.comparison.p_value, one.p_varies, one.sd) == (0, 1, 1, None)
    assert one.comparison.low < 0 < one.comparison.high
    (measure,) = pooled_differences(same, same, cultures, questions)
    assert (measure.comparison.low, measure.comparison.se) == (None, None)
    (nothing,) = pooled_differences(np.full(80, np.nan), same, cultures, questions)
    assert (nothing.comparison.difference, nothing.cultures) == (None, 0)
    with pytest.raises(UsageError, match="differ in shape"):
        pooled_differences(same, same[1:], cultures, questions)


def test_a_culture_with_one_question_widens_the_interval() -> None:
    cultures, questions = (part.ravel() for part in np.indices((4, 20)))
    values = np.random.default_rng(1).random(80)
    one_item = pooled_mean(np.append(values, 3.0), np.append(cultures, 4), np.append(questions, 99))
    assert one_item.se > 3 * pooled_mean(values, cultures, questions).se
    alone = pooled_mean([1.0, 2.0], ["a", "b"], ["q", "q"])
    assert (alone.value, alone.low, alone.method) == (1.5, None, "one-cluster")
    assert culture_spread([1.0, 2.0], ["a", "b"], ["q", "q"]) is None
    assert pooled_mean([np.nan], ["a"], ["q"]).method == "no-data"
    assert culture_spread([np.nan], ["a"], ["q"]) is None


def test_five_points_everywhere_in_sixteen_cultures_are_found() -> None:
    random = np.random.default_rng(13)
    seen = [compared(random, PLANTED, 0.05, alike=0.8) for _ in range(20)]
    assert sum(map(found, seen)) >= 18
    assert np.mean([one.comparison.difference for one in seen]) == pytest.approx(0.05, abs=0.01)
    assert sum(one.p_varies < 0.05 for one in seen) <= 4


def test_pooled_intervals_cover_and_verdicts_err_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapwa.stats.spread.FLIPS", 19)
    random = np.random.default_rng(3)
    for design in (SIXTEEN, OWN):
        made = [compared(random, design, 0.05).comparison for _ in range(50)]
        assert 0.90 <= np.mean([one.low <= 0.05 <= one.high for one in made]) <= 0.99
        assert np.mean([found(compared(random, design, 0.0)) for _ in range(50)]) <= 0.12


def test_equal_cultures_are_rarely_told_apart_and_unequal_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapwa.stats.spread.FLIPS", 999)
    random = np.random.default_rng(4)
    equal = [scores(random, SIXTEEN, np.full(16, 0.5)) for _ in range(100)]
    assert sum(one.p_value < 0.05 for one in equal) <= 11
    assert sum(map(names_wrongly, equal)) <= 11
    gains = [differences(random, OWN, np.full(4, 0.05)).p_value < 0.05 for _ in range(100)]
    assert sum(gains) <= 11
    truth = np.linspace(0.3, 0.7, 16)
    wide = scores(random, SIXTEEN, truth)
    assert wide.p_value <= 0.001
    assert wide.apart(0, 15)
    assert (wide.rank_low <= np.arange(16, 0, -1)).all()
    assert (wide.rank_high >= np.arange(16, 0, -1)).all()
    assert wide.sd == pytest.approx(truth.std(ddof=1), abs=0.06)


def plain_shares(values: np.ndarray, people: np.ndarray, cultures: np.ndarray) -> np.ndarray:
    """The definition, item by item: the common ratio, and what an item has beyond it over what people score there."""
    known = [i for i in range(len(values)) if not np.isnan(values[i]) and not np.isnan(people[i])]
    there = {c: [people[i] for i in known if cultures[i] == c] for c in set(cultures)}
    mean = {c: sum(h) / len(h) for c, h in there.items() if h and sum(h) > 0}
    known = [i for i in known if cultures[i] in mean]
    shares = np.full(len(values), np.nan)
    if known:
        ratio = sum(values[i] for i in known) / sum(people[i] for i in known)
        for i in known:
            shares[i] = ratio + (values[i] - ratio * people[i]) / mean[cultures[i]]
    return shares


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.9]))
@settings(max_examples=80, deadline=None)
def test_shares_of_what_people_score_are_their_definition(seed: int, several: int, each: int, lost: float) -> None:
    random, n = np.random.default_rng(seed), several * each
    cultures = random.permutation(np.repeat([f"c{k}" for k in range(several)], each))
    values, people = random.integers(0, 2, n).astype(float), random.integers(0, 5, n) / 4
    values[random.random(n) < lost / 2], people[random.random(n) < lost] = np.nan, np.nan
    shares = shares_of(values, people, cultures)
    assert shares == pytest.approx(plain_shares(values, people, cultures), nan_ok=True)
    for culture in set(cultures):  # what makes them shares: their mean is that of the scores over that of people
        here = (cultures == culture) & ~np.isnan(values) & ~np.isnan(people)
        if people[here].sum() > 0:
            assert shares[here].mean() == pytest.approx(values[here].mean() / people[here].mean())
        else:
            assert np.isnan(shares[cultures == culture]).all()
    order = random.permutation(n)
    assert shares_of(values[order], people[order], cultures[order]) == pytest.approx(shares[order], nan_ok=True)


def test_shares_in_numbers() -> None:
    """Two of three right where people score 2/3, one of two where they score 1/2: the share is 1 in both."""
    shares = shares_of([1, 1, 0, 1, 0], [1, 0.5, 0.5, 0.25, 0.75], ["a", "a", "a", "b", "b"])
    assert shares == pytest.approx([1, 1.75, 0.25, 2.5, -0.5])
    assert shares_of([], [], []).tolist() == []
    with pytest.raises(DataError):
        shares_of([np.inf], [1], ["a"])


@pytest.mark.parametrize("good", [1.0, 0.6])
def test_models_at_one_share_of_what_people_score_are_rarely_said_to_differ(
    monkeypatch: pytest.MonkeyPatch, good: float
) -> None:
    """People agree more in one culture than in another: scores differ with that, shares do not."""
    monkeypatch.setattr("kapwa.stats.spread.FLIPS", 499)
    random, design, repeats = np.random.default_rng(31), (16, 100, "shared"), 60
    found = [as_people(random, design, np.full(16, good), share=True)[0] for _ in range(repeats)]
    assert sum(one.p_value < 0.05 for one in found) / repeats <= 0.11  # 5 % and two standard errors
    assert sum(map(names_wrongly, found)) == 0
    before = [as_people(random, design, np.full(16, good), share=False)[0] for _ in range(20)]
    assert sum(one.p_value < 0.05 for one in before) > (16 if good == 1 else 3)
    truth = np.linspace(0.3, 0.9, 16)
    unlike = as_people(random, (16, 300, "shared"), truth, share=True)[0]
    assert unlike.p_value < 0.01
    assert unlike.apart(0, 15)
    assert abs(unlike.means - truth).max() < 0.15


def test_five_equal_models_are_one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapwa.stats.spread.FLIPS", 499)
    random, repeats = np.random.default_rng(32), 60
    five = [as_people(random, (8, 40, "shared"), np.full(8, 0.6), 5, share=True) for _ in range(repeats)]
    assert sum(any_named(one, family=True) for one in five) / repeats <= 0.11
    assert sum(any_named(one, family=False) for one in five) / repeats > 0.12


def test_partial_pooling_draws_towards_the_mean_as_far_as_noise_explains() -> None:
    random = np.random.default_rng(8)
    truth = 0.5 + 0.05 * random.normal(size=16)
    spread = scores(random, SIXTEEN, truth)
    centre = spread.means.mean()
    part = (spread.partial - centre) / (spread.means - centre)
    assert (part > 0).all()
    assert (part < 1).all()
    assert ((spread.partial - truth) ** 2).sum() < ((spread.means - truth) ** 2).sum()
    # Where noise explains it all, all cultures are drawn to the mean.
    cultures, questions = (part.ravel() for part in np.indices((2, 40)))
    alike = culture_spread(random.permutation(np.arange(80) % 2), cultures, questions)
    assert alike.sd == 0
    assert alike.partial == pytest.approx(alike.means.mean())


def test_the_spread_is_the_same_for_any_order_of_rows_and_extreme_without_noise() -> None:
    random = np.random.default_rng(9)
    cultures, questions = (part.ravel() for part in np.indices((5, 12)))
    values = random.random(60)
    one, order = culture_spread(values, cultures, questions), random.permutation(60)
    other = culture_spread(values[order], cultures[order], questions[order])
    assert (one.cultures, one.p_value, one.sd) == (other.cultures, other.p_value, pytest.approx(other.sd))
    assert one.rank_low.tolist() == other.rank_low.tolist()
    right = culture_spread(np.ones(60), cultures, questions)
    assert (right.p_value, right.sd, right.rank_high.tolist()) == (1, 0, [5] * 5)
    small = culture_spread(values * 1e-8, cultures, questions)
    assert (small.rank_low.tolist(), small.p_value) == (one.rank_low.tolist(), one.p_value)
    apart = [culture_spread((values + cultures) * scale, cultures, questions).rank_low.tolist() for scale in (1, 1e-8)]
    assert apart == [[5, 4, 3, 2, 1]] * 2
    # Without any spread inside cultures no question tells how far chance could go.
    assert np.isnan(culture_spread(cultures.astype(float), cultures, questions).p_value)


def test_five_questions_do_not_tell_two_cultures_apart() -> None:
    """Five of five right against one: 4 of 5 questions differ, and sign flips of them give no p below .0625."""
    found = culture_spread([1.0] * 5 + [0.0] * 4 + [1.0], ["x"] * 5 + ["y"] * 5, [*range(5), *range(5)])
    assert found.p_value == 0.0625  # was .0002: residuals of a culture that gets all right are 0


# --- tables


def score_frame(seed: int, gain: float = 0.0) -> pl.DataFrame:
    random, rows = np.random.default_rng(seed), []
    for culture, variant, i in product("abc", ("local/x", "en/x"), range(30)):
        key = (f"{culture}{i}", variant, culture, "en", "", "", f"q{i}", 0)
        rows.append((*key, "sem_b", float(random.random() < 0.4 + gain), "right"))
    kinds = {**dict.fromkeys(SCORE_COLUMNS[:-1], pl.String), "sample": pl.Int64, "value": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def test_the_first_rows_of_a_comparison_are_over_cultures_and_a_family_of_their_own() -> None:
    a, b = score_frame(1, 0.3), score_frame(2)
    table = compare_runs(a, b, label_a="A", label_b="B", metrics={"sem_b": True})
    assert table.schema == pl.Schema(POOLED_SCHEMA)
    assert table.select("culture", "variant", "cultures").rows() == [
        (None, "en/x", 3),
        (None, "local/x", 3),
        *((culture, variant, 1) for culture in "abc" for variant in ("en/x", "local/x")),
    ]
    first = table.row(0, named=True)
    assert (first["n"], first["clusters"]) == (90, 30)
    means = table.filter(pl.col("culture").is_not_null(), variant="en/x")["difference"]
    assert first["difference"] == pytest.approx(means.mean())
    # Each variant is a family: another variant of the same two runs does not move a verdict.
    assert first["p_holm"] == first["p_value"]
    assert first["family"] == "1 test of sem_b in the variant en/x (1 pair of runs, means over cultures)"
    assert adjust_p_values(table).equals(table)
    alone = compare_runs(
        *(one.filter(culture="a") for one in (a, b)), label_a="A", label_b="B", metrics={"sem_b": True}
    )
    assert alone["cultures"].to_list() == [1, 1]
    assert alone["p_varies"].null_count() == 2


def test_a_metric_that_one_culture_lacks_in_one_run_is_compared_over_the_others() -> None:
    """It had no row over cultures at all."""
    a, b = score_frame(1), score_frame(2)
    more = [pl.concat([one, one.with_columns(metric=pl.lit("sem_w"))]) for one in (a, b)]
    lacking = more[1].filter((pl.col("metric") == "sem_b") | (pl.col("culture") != "c"))
    found = compare_runs(more[0], lacking, label_a="m", label_b="k", metrics={"sem_b": True, "sem_w": True})
    over = found.filter((pl.col("cultures") > 1) & (pl.col("variant") == "en/x")).sort("metric")
    assert over["cultures"].to_list() == [3, 2]
    assert over["only_a"].to_list() == [0, 30]
    assert found.filter(culture="c", metric="sem_w").height == 0


def test_a_label_with_one_culture_that_both_measured_has_its_row_alone() -> None:
    """The other culture stood beside it in a row of the same label, without a number."""
    failed = pl.col("culture") == "b"
    outcome = pl.when(failed).then(pl.lit("failed")).otherwise(pl.lit("right"))
    b = score_frame(2).with_columns(value=pl.when(~failed).then("value"), outcome=outcome)
    labels = {"region": {"x": ["a", "b"], "y": ["b"]}}
    settings = {"label_a": "A", "label_b": "B", "metrics": {"sem_b": True}, "labels": labels}
    table = compare_runs(score_frame(1), b, **settings).filter(variant="en/x")
    assert table.select("label", "culture", "n").rows() == [("x", "a", 30), ("y", "b", 0)]


def test_variants_are_compared_over_cultures_by_question() -> None:
    scores = score_frame(3)
    (row,) = compare_variants(scores, metrics={"sem_b": True}, pooled=True).rows(named=True)
    assert (row["a"], row["b"], row["culture"], row["cultures"], row["clusters"]) == ("en/x", "local/x", None, 3, 30)
    english, local = (scores.filter(variant=name).sort("item_id")["value"].mean() for name in ("en/x", "local/x"))
    assert row["difference"] == pytest.approx(english - local)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("right", [0.5, 0.85, 0.95])
def test_ranks_of_equal_cultures_are_told_apart_no_more_often_than_the_test_of_equality_errs(
    right: float, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kapwa.stats.spread.FLIPS", 999)
    random, cultures, questions, told, repeats = np.random.default_rng(5), 8, 20, 0, 120
    for seed in range(repeats):
        values = (random.random((cultures, questions)) < right).astype(float).ravel()
        clusters = np.tile(np.arange(questions), cultures) if shared else np.arange(cultures * questions)
        spread = culture_spread(values, np.repeat(np.arange(cultures), questions), clusters, seed=seed)
        parted = bool((spread.rank_high[:, None] < spread.rank_low[None, :]).any())
        assert not parted or spread.p_value < 0.05
        told += parted
    assert told / repeats <= 0.06


def test_no_rank_is_told_where_cultures_may_be_equal() -> None:
    """One culture was told apart from another here although the test of equality has p = .07."""
    values = (np.random.default_rng(143).random((2, 4, 8))[1] < 0.85).astype(float).ravel()
    spread = culture_spread(values, np.repeat(np.arange(4), 8), np.tile(np.arange(8), 4), seed=143)
    assert 0.05 <= spread.p_value < 0.1
    assert (spread.rank_low == 1).all()
    assert (spread.rank_high == 4).all()


def test_a_culture_with_every_answer_right_has_some_error() -> None:
    worth, clusters = np.array([0.1, 0.1, 0.05]), np.array([10, 10, 20])
    variances = np.array([0.0, 0.02, 0.01])
    common = worth * variances.sum() / worth.sum()
    wanted = [(PRIOR * c + (g - 1) * v) / (PRIOR + g - 1) for c, g, v in zip(common, clusters, variances, strict=True)]
    assert _shrunk(variances, worth, clusters) == pytest.approx(wanted)
    assert _shrunk(variances, worth, clusters)[0] > 0
