"""Variance components against a plain analysis of variance, statsmodels and planted values."""

import numpy as np
import pytest
from benchmarks.simulations.components import PLANTED, coverage, plant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, f

from kapwa.errors import UsageError
from kapwa.stats.components import COMPONENTS, variance_components


def of(values: np.ndarray, cultures: object = None) -> dict[str, float | None]:
    return {one.name: one.variance for one in variance_components(values, cultures).components}


def twin(y: np.ndarray, cultures: list[int]) -> dict[str, float]:
    """The same from loops: mean squares of the crossed design, solved one after the other."""
    names = sorted(set(cultures))
    items = {c: [i for i, one in enumerate(cultures) if one == c] for c in names}
    n_prompts, n_samples = y.shape[1:]
    prompts = range(n_prompts)
    cell = {(i, p): sum(y[i, p]) / n_samples for i in range(len(y)) for p in prompts}
    mean = {(c, p): sum(cell[i, p] for i in items[c]) / len(items[c]) for c in names for p in prompts}
    of_item = {i: sum(cell[i, p] for p in prompts) / n_prompts for i in range(len(y))}
    of_culture = {c: sum(mean[c, p] for p in prompts) / n_prompts for c in names}
    freedom = sum(len(items[c]) - 1 for c in names)
    ms_sample = sum((y[i, p, s] - cell[i, p]) ** 2 for i, p in cell for s in range(n_samples))
    ms_sample /= len(y) * n_prompts * (n_samples - 1)
    ms_cross = sum(
        n_samples * (cell[i, p] - of_item[i] - mean[c, p] + of_culture[c]) ** 2
        for c in names for i in items[c] for p in prompts
    ) / (freedom * (n_prompts - 1))  # fmt: skip
    ms_item = sum(n_samples * n_prompts * (of_item[i] - of_culture[c]) ** 2 for c in names for i in items[c]) / freedom
    found = {"sample": ms_sample, "item × prompt": (ms_cross - ms_sample) / n_samples}
    found["item"] = (ms_item - ms_cross) / (n_samples * n_prompts)
    inverse = sum(1 / len(items[c]) for c in names) / len(names)
    grand = sum(of_culture.values()) / len(names)
    of_prompt = {p: sum(mean[c, p] for c in names) / len(names) for p in prompts}
    ms_both = sum((mean[c, p] - of_culture[c] - of_prompt[p] + grand) ** 2 for c in names for p in prompts)
    ms_both /= (len(names) - 1) * (n_prompts - 1)
    found["culture × prompt"] = ms_both - inverse * ms_cross / n_samples
    found["prompt"] = sum((of_prompt[p] - grand) ** 2 for p in prompts) / (n_prompts - 1) - ms_both / len(names)
    between = sum((of_culture[c] - grand) ** 2 for c in names) / (len(names) - 1)
    found["culture"] = between - inverse * found["item"] - ms_both / n_prompts
    return found


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(2, 3), st.integers(2, 3), st.integers(0, 10_000))
def test_it_equals_its_plain_twin(n_cultures: int, n_prompts: int, n_samples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cultures = [c for c in range(n_cultures) for _ in range(rng.integers(2, 6))]
    y = rng.normal(size=(len(cultures), n_prompts, n_samples)) + rng.normal(size=(n_prompts, 1))
    found, wanted = of(y, cultures), twin(y, cultures)
    assert set(wanted) == set(COMPONENTS) == set(found)
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_one_culture_equals_the_mean_squares_of_statsmodels() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(8)
    n, n_prompts, n_samples = 9, 3, 4
    y = rng.normal(size=(n, 1, 1)) + rng.normal(size=(1, n_prompts, 1)) + rng.normal(size=(n, n_prompts, n_samples))
    grid = np.indices(y.shape).reshape(3, -1)
    table = anova_lm(
        smf.ols("y ~ C(i) * C(p)", pd.DataFrame({"y": y.ravel(), "i": grid[0], "p": grid[1]})).fit(), typ=2
    )
    square = (table["sum_sq"] / table["df"]).to_dict()
    found = of(y)
    assert found["sample"] == pytest.approx(square["Residual"])
    assert found["item × prompt"] == pytest.approx((square["C(i):C(p)"] - square["Residual"]) / n_samples)
    assert found["item"] == pytest.approx((square["C(i)"] - square["C(i):C(p)"]) / (n_samples * n_prompts))
    assert found["prompt"] == pytest.approx((square["C(p)"] - square["C(i):C(p)"]) / (n_samples * n))
    assert found["culture"] is found["culture × prompt"] is None


def test_planted_components_are_recovered_on_average() -> None:
    rng = np.random.default_rng(12)
    sizes = (4, 6, 9, 12, 5, 8)
    found = [of(*plant(rng, sizes, prompts=4, samples=3)) for _ in range(300)]
    for name, sd in PLANTED.items():
        values = np.array([one[name] for one in found])
        assert abs(values.mean() - sd**2) < 4 * values.std() / np.sqrt(len(values)), name


def test_the_error_of_the_mean_is_what_repeating_all_but_the_cultures_shows() -> None:
    rng = np.random.default_rng(13)
    sizes = (6, 9, 12)
    means, errors = [], []
    for _ in range(800):
        y, cultures = plant(rng, sizes, prompts=3, samples=2, fixed=True)
        means.append([y[np.array(cultures) == c].mean() for c in range(3)])
        errors.append(sum(one.error or 0.0 for one in variance_components(y, cultures).components))
    # Components that chance has below 0 count 0, which makes the error a little too large.
    true = np.var(means, axis=0).mean()
    assert true < np.mean(errors) < 1.25 * true


def test_what_a_design_cannot_tell_is_part_of_the_next_that_it_can() -> None:
    rng = np.random.default_rng(14)
    y = rng.normal(size=(30, 2, 2))
    assert of(y[:, :, :1])["sample"] is None
    assert of(y[:, :1])["item × prompt"] is of(y[:, :1])["prompt"] is None
    one = of(y[:, :1, :1])
    assert [name for name, value in one.items() if value is not None] == ["item"]
    assert one["item"] == pytest.approx(np.var(y[:, 0, 0], ddof=1))
    holed = y.copy()
    holed[3, 1, 0] = np.nan
    found = variance_components(holed, [0] * 29 + [1])
    assert (found.items, found.left_out, found.cultures) == (28, 2, 1)  # a culture of one item says nothing
    empty = variance_components(np.full((2, 2, 2), np.nan))
    assert all(one.variance is None and one.error is None for one in empty.components)
    with pytest.raises(UsageError, match="by item, prompt and sample"):
        variance_components(np.zeros((3, 3)))


def test_an_interval_of_one_mean_square_is_the_exact_one_of_its_chi_square() -> None:
    y, cultures = plant(np.random.default_rng(3), (8, 9), prompts=3, samples=4)
    one = variance_components(y, cultures).components[-1]
    assert one.freedom == 17 * 3 * 3
    ends = [one.variance * one.freedom / chi2.ppf(share, one.freedom) for share in (0.975, 0.025)]
    assert [one.low, one.high] == pytest.approx(ends)


def modified_large_sample(plus: tuple[float, int], minus: tuple[float, int]) -> tuple[float, float]:
    """The interval of a difference of two mean squares, in the letters of Burdick and Graybill (1992, section 3.3)."""
    (first, n), (second, r) = plus, minus
    f1, f2, f3 = f.ppf(0.975, n, 10**9), f.ppf(0.025, r, 10**9), f.ppf(0.975, n, r)
    f4, f5, f6 = f.ppf(0.025, n, 10**9), f.ppf(0.975, r, 10**9), f.ppf(0.025, n, r)
    g1, h2, h1, g2 = 1 - 1 / f1, 1 / f2 - 1, 1 / f4 - 1, 1 - 1 / f5
    g12 = ((f3 - 1) ** 2 - g1**2 * f3**2 - h2**2) / f3
    h12 = ((1 - f6) ** 2 - h1**2 * f6**2 - g2**2) / f6
    low = g1**2 * first**2 + h2**2 * second**2 + g12 * first * second
    high = h1**2 * first**2 + g2**2 * second**2 + h12 * first * second
    return first - second - low**0.5, first - second + high**0.5


@pytest.mark.parametrize("prompts", [2, 3, 8])
def test_intervals_are_those_of_burdick_and_graybill(prompts: int) -> None:
    n = 30
    y, _ = plant(np.random.default_rng(4), (n,), prompts=prompts, samples=1)
    y = y[:, :, 0]
    found = {one.name: one for one in variance_components(y[:, :, None]).components}
    rest = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    crossed = float((rest**2).sum()) / ((n - 1) * (prompts - 1)), (n - 1) * (prompts - 1)
    between = float(y.mean(axis=0).var(ddof=1)), prompts - 1
    wanted = modified_large_sample(between, (crossed[0] / n, crossed[1]))
    assert (found["prompt"].low, found["prompt"].high) == pytest.approx(wanted, rel=1e-6)
    items = float(y.mean(axis=1).var(ddof=1)), n - 1
    wanted = modified_large_sample(items, (crossed[0] / prompts, crossed[1]))
    assert (found["item"].low, found["item"].high) == pytest.approx(wanted, rel=1e-6)
    assert found["prompt"].freedom == prompts - 1


def test_intervals_of_components_hold_what_was_planted() -> None:
    found = list(coverage(np.random.default_rng(6), 150, wordings=(2, 5)))
    assert len(found) == 2 * (3 + 2)
    assert all(90 <= cell.percent <= 99.5 for cell in found), found
