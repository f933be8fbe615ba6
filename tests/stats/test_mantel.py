"""Mantel and partial Mantel: against scikit-bio, and permutation by permutation against plain twins."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from kapwa.errors import UsageError
from kapwa.stats.mantel import cells, mantel
from kapwa.stats.resampling import permuted_orders

M = 12


def distances(seed: int, m: int = M, *, levels: int | None = None) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(m, 4))
    found = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return found if levels is None else np.ceil(found / found.max() * levels) * ~np.eye(m, dtype=bool)


def holes(matrix: np.ndarray, *places: tuple[int, int]) -> np.ndarray:
    matrix = matrix.copy()
    for a, b in places:
        matrix[a, b] = matrix[b, a] = np.nan
    return matrix


def relabelled(matrix: np.ndarray, permutations: int, seed: int) -> list[np.ndarray]:
    orders = np.concatenate(list(permuted_orders(len(matrix), permutations, seed=seed, values_each=1)))
    return [matrix[np.ix_(order, order)] for order in orders]


def plain(x: np.ndarray, y: np.ndarray, controls: Sequence[np.ndarray] = ()) -> float:
    """Correlate what least squares leaves of x and y."""
    columns = [cells(one) for one in (x, y, *controls)]
    known = ~np.isnan(columns).any(axis=0)
    columns = [one[known] for one in columns]
    design = np.column_stack([np.ones(known.sum()), *columns[2:]])
    first, second = (one - design @ np.linalg.lstsq(design, one)[0] for one in columns[:2])
    return float(np.corrcoef(first, second)[0, 1])


def p_of(observed: float, draws: list[float]) -> float:
    return (1 + sum(abs(draw) >= abs(observed) - 1e-9 for draw in draws)) / (1 + len(draws))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("controls", "levels"), [(0, None), (0, 4), (1, None), (3, None)])
def test_mantel_equals_its_definition_permutation_by_permutation(gaps: bool, controls: int, levels: int | None) -> None:
    fixed = [distances(20 + k) for k in range(controls)]
    x, y = distances(9) + sum(fixed[:1]), distances(10, levels=levels) + sum(fixed[-1:])
    if gaps:
        x, y, *fixed = holes(x, (0, 3)), holes(y, (1, 2), (2, 11)), *(holes(one, (7, 8)) for one in fixed)
    ours = mantel(x, y, fixed, permutations=99, seed=6)
    observed = plain(x, y, fixed)
    assert (ours.r, ours.n) == (pytest.approx(observed, abs=1e-9), M)
    assert ours.p == p_of(observed, [plain(x, one, fixed) for one in relabelled(y, 99, 6)])


def test_a_country_that_one_matrix_knows_nothing_of_is_no_country_of_the_other_either() -> None:
    x, y = holes(distances(1), (0, 3)), holes(distances(2), (3, 5), (2, 11))
    blank = holes(y, *[(4, k) for k in range(M)])
    kept = np.ix_(np.delete(np.arange(M), 4), np.delete(np.arange(M), 4))
    # Written out, since NaN (of a p that was not drawn) equals nothing.
    assert repr(mantel(x, blank, permutations=49)) == repr(mantel(x[kept], y[kept], permutations=49))


def test_mantel_equals_scikit_bio() -> None:
    from skbio.stats.distance import mantel as skbio_mantel

    x, y = distances(3), distances(4) + 0.3 * distances(3)
    ours = mantel(x, y, permutations=999, seed=1)
    r, p, n = skbio_mantel(x, y, permutations=199, seed=2)
    assert (ours.r, ours.n) == (pytest.approx(float(r), abs=1e-9), n)
    assert ours.p == pytest.approx(float(p), abs=4 * (0.25 / 999 + 0.25 / 199) ** 0.5)


def test_a_relabelling_that_leaves_nothing_to_correlate_counts_against_the_finding() -> None:
    x, y = (holes(distances(seed, 4), (0, 1), (2, 3)) for seed in (2, 3))
    ours = mantel(x, y, permutations=199, seed=1)
    observed, hits, nothing = plain(x, y), 0, 0
    for one in relabelled(y, 199, 1):
        known = ~(np.isnan(cells(x)) | np.isnan(cells(one)))
        nothing += known.sum() < 3
        hits += known.sum() < 3 or abs(plain(x, one)) >= abs(observed) - 1e-9
    assert nothing > 50
    assert ours.p == (1 + hits) / 200


def test_the_number_of_threads_moves_no_digit() -> None:
    x, y, control = (distances(seed, 193) for seed in range(3))  # as many as there are countries
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append((mantel(x, y, permutations=20), mantel(x, y, [control], permutations=20)))
    assert repr(found[0]) == repr(found[1])


def test_partial_of_one_control_is_the_textbook_formula() -> None:
    x, y, z = distances(11), distances(12) + distances(11), distances(13) + distances(12)
    xy, xz, yz = (mantel(a, b, permutations=19).r for a, b in ((x, y), (x, z), (y, z)))
    expected = (xy - xz * yz) / ((1 - xz**2) * (1 - yz**2)) ** 0.5
    assert mantel(x, y, [z], permutations=19).r == pytest.approx(expected, abs=1e-12)
    # A control given twice, or one that is constant, adds nothing.
    assert mantel(x, y, [z, z, np.ones((M, M))], permutations=19).r == pytest.approx(expected, abs=1e-9)
    assert repr(mantel(x, y, [], permutations=99)) == repr(mantel(x, y, permutations=99))


def test_what_the_controls_explain_wholly_has_no_correlation_left() -> None:
    for seed in range(20):
        x, first, second = (distances(seed + k) for k in (40, 60, 80))
        y = 0.3 * first - 1.7 * second + 5
        assert np.isnan(mantel(x, y, [first, second], permutations=19).r)
        assert np.isnan(mantel(y, x, [first, second], permutations=19).r)


def test_nothing_to_correlate_gives_nan() -> None:
    x, constant, noise = distances(17), np.full((M, M), 0.1), np.full((M, M), 0.1)
    noise[0, 1] = noise[1, 0] = np.nextafter(0.1, 1)  # rounding is no variation
    pairs = ((x, constant), (constant, x), (x, noise), (noise, x), (x[:2, :2], x[:2, :2]), (x, constant * np.nan))
    for one, other in pairs:
        found = mantel(one, other, permutations=19)
        assert np.isnan([found.r, found.p]).all()
    assert np.isnan(mantel(x, distances(18), [x], permutations=19).r)
    assert np.isnan(mantel(distances(18), x, [x], permutations=19).r)


def test_independent_matrices_are_found_related_one_time_in_twenty() -> None:
    """400 null pairs: the number of p ≤ 0.05 lies in the central 99.9 % of Binomial(400, 0.05)."""
    found = {"plain": 0, "partial": 0}
    for seed in range(400):
        x, y, z = (distances(1000 * k + seed, 9) for k in (1, 2, 3))
        found["plain"] += mantel(x, y, permutations=99, seed=seed).p <= 0.05
        # Related through z alone, which is held fixed.
        found["partial"] += mantel(x + z, y + z, [z], permutations=99, seed=seed).p <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], 400, 0.05)
    assert all(low <= count <= high for count in found.values()), found


def test_bad_input_is_refused() -> None:
    x = distances(19)
    crooked = x.copy()
    crooked[0, 1] += 1
    for matrices, message in (
        ((x, x[:5, :5]), "different countries"),
        ((x, crooked), "symmetric"),
        ((x, x[0]), "square"),
    ):
        with pytest.raises(UsageError, match=message):
            mantel(*matrices)
    with pytest.raises(UsageError, match="At least 19 permutations"):
        mantel(x, x, permutations=18)


def test_orders_do_not_depend_on_the_blocks() -> None:
    whole = np.concatenate(list(permuted_orders(30, 500, seed=3, values_each=30)))
    blocks = list(permuted_orders(30, 500, seed=3, values_each=100_000))
    assert len(blocks) == 500
    assert whole.tolist() == np.concatenate(blocks).tolist()
    assert (np.sort(whole, axis=1) == np.arange(30)).all()
    other = np.concatenate(list(permuted_orders(30, 500, seed=4, values_each=30)))
    assert whole.tolist() != other.tolist()


def test_every_thing_comes_to_every_place_equally_often() -> None:
    orders = np.concatenate(list(permuted_orders(4, 24_000, seed=1, values_each=4)))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert counts.size == 24
    # Binomial with mean 1000 and standard deviation 31: five of them either side.
    assert (np.abs(counts - 1000) < 155).all()
