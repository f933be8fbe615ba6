"""Variance components against a plain analysis of variance, statsmodels and planted values."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from benchmarks.simulations.components import PLANTED, plant
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

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
    found = [of(*plant(rng, sizes, prompts=4, samples=3)) for _ in range(600)]
    for name, sd in PLANTED.items():
        values = np.array([one[name] for one in found])
        assert abs(values.mean() - sd**2) < 4 * values.std() / np.sqrt(len(values)), name


def test_the_error_of_the_mean_is_what_repeating_all_but_the_cultures_shows() -> None:
    rng = np.random.default_rng(13)
    sizes = (6, 9, 12)
    means, errors = [], []
    for _ in range(1500):
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
