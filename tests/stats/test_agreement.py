"""Agreement coefficients against statsmodels, scikit-learn, NLTK, published examples and plain definitions."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.simulations.agreement import cells
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import binary_distance, interval_distance
from scipy import stats

from kapwa.errors import DataError, UsageError
from kapwa.stats.agreement import bootstrap_interval, pairwise_kappa, weighted_kappa
from kapwa.stats.intervals import mean_estimates

COEFFICIENTS = ["percent", "cohen", "fleiss", "krippendorff-nominal", "krippendorff-ordinal", "krippendorff-interval"]


def agreement(table: object, coefficient: str) -> float:
    """Return the coefficient alone, NaN where it is undefined."""
    value = bootstrap_interval(table, coefficient, replicates=100).value
    return math.nan if value is None else value


def tables(rating: st.SearchStrategy, least: int) -> st.SearchStrategy:
    """Tables of at least so many units and two to four raters."""
    units = st.integers(2, 4).map(lambda raters: st.lists(rating, min_size=raters, max_size=raters))
    return units.flatmap(lambda unit: st.lists(unit, min_size=least, max_size=15))


complete, patchy = tables(st.integers(1, 4), 2), tables(st.none() | st.integers(1, 4), 1)

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units.
N = None
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ],
    dtype=object,
).T


def plain_alpha(table: list[list[int | None]], level: str) -> float:
    """1 − observed / expected disagreement, over all ordered pairs of pairable values, one by one."""
    units = [[v for v in row if v is not None] for row in table]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]

    def distance(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        between = sum(min(a, b) <= v <= max(a, b) for v in values)
        return (between - (values.count(a) + values.count(b)) / 2) ** 2

    pairs = [(unit, a, b) for unit in units for a, b in itertools.permutations(unit, 2)]
    observed = sum(distance(a, b) / (len(unit) - 1) for unit, a, b in pairs) / max(len(values), 1)
    expected = sum(distance(a, b) for a, b in itertools.permutations(values, 2))
    expected /= max(len(values) * (len(values) - 1), 1)
    return 1 - observed / expected if expected else math.nan


def same(ours: float, theirs: float) -> bool:
    return (math.isnan(ours) and math.isnan(theirs)) or ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_published_example(level: str, alpha: float) -> None:
    assert round(agreement(PUBLISHED, f"krippendorff-{level}"), 3) == alpha


def test_fleiss_of_the_published_example() -> None:
    # Fleiss (1971), as tabulated widely: 10 subjects, 14 raters, 5 categories, kappa 0.210.
    counts = "0 0 0 0 14|0 2 6 4 2|0 0 3 5 6|0 3 9 2 0|2 2 8 1 1|7 7 0 0 0|3 2 6 3 0|2 5 3 2 2|6 5 2 1 0|0 2 2 3 7"
    ratings = [np.repeat(np.arange(5), [int(count) for count in row.split()]) for row in counts.split("|")]
    assert agreement(ratings, "fleiss") == pytest.approx(0.20993, abs=1e-5)


@given(patchy, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_equals_its_definition_with_missing_ratings(table: list[list[int | None]], level: str) -> None:
    assert same(agreement(table, f"krippendorff-{level}"), plain_alpha(table, level))


@given(patchy)
def test_alpha_equals_nltk(table: list[list[int | None]]) -> None:
    units = [row for row in table if sum(v is not None for v in row) > 1]
    assume(len({v for row in units for v in row if v is not None}) > 1)
    triples = [(c, i, v) for i, row in enumerate(units) for c, v in enumerate(row) if v is not None]
    for level, distance in (("nominal", binary_distance), ("interval", interval_distance)):
        theirs = AnnotationTask(data=triples, distance=distance).alpha()
        assert agreement(table, f"krippendorff-{level}") == pytest.approx(theirs, abs=1e-9)


@given(complete)
def test_fleiss_equals_statsmodels(table: list[list[int]]) -> None:
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as their_fleiss

    assume(len({v for row in table for v in row}) > 1)
    assert agreement(table, "fleiss") == pytest.approx(their_fleiss(aggregate_raters(np.array(table))[0]), abs=1e-9)


@given(complete)
def test_cohen_equals_scikit_learn(table: list[list[int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    columns = np.array(table).T
    assume(all(len(set(a) | set(b)) > 1 for a, b in itertools.combinations(columns, 2)))
    theirs = [cohen_kappa_score(a, b) for a, b in itertools.combinations(columns, 2)]
    ours = pairwise_kappa(table)
    assert [pair.value for pair in ours] == pytest.approx(theirs, abs=1e-9)
    assert [(pair.first, pair.second) for pair in ours] == list(itertools.combinations(range(len(columns)), 2))
    assert agreement(table, "cohen") == pytest.approx(np.mean(theirs), abs=1e-9)
    assert agreement(np.array(columns[:2], dtype=object).T, "cohen") == pytest.approx(theirs[0], abs=1e-9)
    weighted = cohen_kappa_score(columns[0], columns[1], weights="quadratic", labels=[1, 2, 3, 4])
    assert weighted_kappa(columns[:2].T).value == pytest.approx(weighted, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_weighted_kappa_equals_its_definition(pairs: list[tuple[int, int]]) -> None:
    expected = sum((x - y) ** 2 for x, _ in pairs for _, y in pairs)
    kappa = 1 - len(pairs) * sum((x - y) ** 2 for x, y in pairs) / expected if expected else None
    assert weighted_kappa(pairs).value == (kappa if kappa is None else pytest.approx(kappa, abs=1e-9))


def scale_pairs(random: np.random.Generator, size: int) -> np.ndarray:
    """Right and chosen steps of a scale of five: the chosen one is off by up to two steps, and seldom anywhere."""
    right = random.choice(5, size, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    near = np.clip(right + random.choice([-2, -1, 0, 1, 2], size, p=[0.05, 0.2, 0.5, 0.2, 0.05]), 0, 4)
    return np.stack([right, np.where(random.random(size) < 0.15, random.integers(0, 5, size), near)], axis=1)


@pytest.mark.parametrize("copies", [1, 3])
def test_weighted_kappa_is_covered(copies: int) -> None:
    """Also where each cluster holds its unit three times, which tells no more than once."""
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(27)
    truth = cohen_kappa_score(*scale_pairs(random, 500_000).T, weights="quadratic")
    for size in (50, 100):
        clusters = np.repeat(np.arange(size), copies)
        found = [weighted_kappa(scale_pairs(random, size)[clusters], clusters) for _ in range(400)]
        assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97, size


def test_weighted_kappa_says_when_it_cannot_tell() -> None:
    assert weighted_kappa([[1, 1], [1, 1]]).value is None
    perfect = weighted_kappa([[1, 1], [2, 2], [3, 3]])
    assert (perfect.value, perfect.low) == (1.0, None)
    assert weighted_kappa([[1, 2], [2, 2], [3, 2]], ["a", "a", "a"]).low is None


@given(patchy)
def test_percent_agreement_equals_its_definition(table: list[list[int | None]]) -> None:
    pairs = [list(itertools.combinations([v for v in row if v is not None], 2)) for row in table]
    shares = [np.mean([a == b for a, b in some]) for some in pairs if some]
    assert same(agreement(table, "percent"), float(np.mean(shares)) if shares else math.nan)


def test_missing_is_none_nan_or_blank() -> None:
    table = [["a", "a", None], ["b", "b", float("nan")], ["a", "b", " "], ["b", "a ", ""]]
    plain = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]]
    assert agreement(table, "krippendorff-nominal") == agreement(plain, "krippendorff-nominal")


@pytest.mark.parametrize("table", [np.ones((6, 3)), np.zeros((0, 2)), [[1, None], [None, 2]]])
def test_one_category_only_or_no_pairs_is_undefined_not_perfect(table: object) -> None:
    assert math.isnan(agreement(table, "fleiss"))
    assert all(pair.value is None for pair in pairwise_kappa(table))
    for level in ("nominal", "ordinal", "interval"):
        assert math.isnan(agreement(table, f"krippendorff-{level}"))
    one = bootstrap_interval(table, "cohen", replicates=100)
    assert (one.value, one.low, one.high) == (None, None, None)


@pytest.mark.parametrize("coefficient", [name for name in COEFFICIENTS if name != "percent"])
def test_bootstrap_equals_recomputing_on_resampled_clusters(coefficient: str) -> None:
    rng = np.random.default_rng(9)
    truth = rng.integers(1, 5, 60)
    table = np.where(rng.random((60, 3)) < 0.7, truth[:, None], rng.integers(1, 5, (60, 3))).astype(object)
    table[::6, 1] = None
    clusters = np.arange(60) // 2
    labels, counts = np.unique([label for label in table.ravel() if label is not None], return_counts=True)
    # Beside the 30 clusters of two units one more is drawn: two units that all call by the rarest label.
    more = np.vstack([table, np.full((2, 3), labels[counts.argmin()], dtype=object)])
    picked = (np.stack([2 * drawn, 2 * drawn + 1], axis=1).ravel() for drawn in rng.integers(0, 31, (300, 31)))
    draws = [agreement(more[rows], coefficient) for rows in picked]
    one = bootstrap_interval(table, coefficient, clusters=clusters)
    assert one.value == pytest.approx(agreement(table, coefficient), abs=1e-12)
    assert one.low < one.value < one.high
    tail = stats.norm.cdf(-np.sqrt(30 / 29) * stats.t.ppf(0.975, 29))
    assert (one.low, one.high) == pytest.approx(np.quantile(draws, [tail, 1 - tail]), abs=0.45 * np.std(draws))
    assert (one.units, one.raters, one.clusters, one.undefined) == (60, 3, 30, 0.0)
    assert one == bootstrap_interval(table, coefficient, clusters=clusters)
    assert one.low != bootstrap_interval(table, coefficient, clusters=clusters, seed=1).low


def test_percent_agreement_has_the_interval_of_a_mean() -> None:
    table = [[1, 1, 2], [2, 2, 2], [1, 2, None], [1, 1, 1], [2, 2, 1], [None, 1, None]]
    one = bootstrap_interval(table, "percent", clusters=list("aabbcc"))
    mean = mean_estimates([1 / 3, 1, 0, 1, 1 / 3], list("aabbc"), share=True)[0]
    assert (one.value, one.low, one.high) == pytest.approx((mean.value, mean.low, mean.high))
    assert (one.units, one.clusters, one.method) == (5, 3, "wilson-clustered")
    same = bootstrap_interval([[1, 1]] * 20, "percent")
    assert (same.value, same.low < 0.9, same.high) == (1.0, True, 1.0)


def test_agreement_is_covered_where_few_units_have_the_rarer_label() -> None:
    """Percentile intervals held kappa in 78 to 81 of 100 such tables."""
    random = np.random.default_rng(1)
    found = list(cells(random, 120, sizes=(20,), coefficients=("fleiss", "cohen", "krippendorff-nominal")))
    assert len(found) == 3
    for cell in found:
        assert cell.percent >= 90, cell  # percentile intervals are eight standard errors below


def test_bootstrap_says_when_it_cannot_tell() -> None:
    perfect = bootstrap_interval([[1, 1], [2, 2], [1, 1], [2, 2]] * 5, "krippendorff-nominal")
    assert (perfect.value, perfect.low, perfect.high) == (1.0, None, None)
    rare = bootstrap_interval([[1, 1]] * 20 + [[1, 2]], "cohen")
    assert rare.undefined > 0.05
    assert (rare.value, rare.low, rare.high) == (pytest.approx(0.0), None, None)
    # One unit in 22 that both call 2: nearly nothing is known of kappa, and the interval says so.
    shaky = bootstrap_interval([[1, 1]] * 20 + [[1, 2], [2, 2]], "cohen")
    assert (shaky.value > 0.5, shaky.low < 0.1, shaky.high > 0.9) == (True, True, True)
    single = bootstrap_interval([[1, 2], [1, 1], [2, 2]], "fleiss", clusters=["x", "x", "x"])
    assert (single.clusters, single.low) == (1, None)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: agreement([["a", "b"]], "krippendorff-ordinal"), DataError, "row 1: the rating 'a' is not a number"),
        (lambda: agreement([[1, 2]], "krippendorff-ratio"), UsageError, "krippendorff-ratio"),
        (lambda: bootstrap_interval([[1, 2]], "fleis"), UsageError, "Did you mean 'fleiss'"),
        (lambda: agreement([1, 2, 3], "fleiss"), UsageError, "units × raters"),
        (lambda: bootstrap_interval([[1, 2]], "cohen", clusters=["a", "b"]), UsageError, "1 rows"),
    ],
)
def test_bad_input_is_named(call: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_units_with_one_rating_take_no_part() -> None:
    table = [["a", "b"], ["a", "a"], ["b", "b"], ["b", "a"], ["a", "a"]]
    padded = [*table, ["c", None], [None, "c"]]
    for name in ("percent", "cohen", "fleiss", "krippendorff-nominal"):
        one, two = bootstrap_interval(table, name), bootstrap_interval(padded, name)
        assert (one.value, one.low, one.high, one.units) == pytest.approx((two.value, two.low, two.high, two.units))
