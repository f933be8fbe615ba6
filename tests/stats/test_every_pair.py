"""Every pair of many systems: the numbers of each two compared alone, and what sixty of them err and find."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from kapwa.errors import DataError
from kapwa.stats.comparison_tables import compare_runs
from kapwa.stats.every_pair import every_pair
from kapwa.stats.families import adjust_p_values
from kapwa.stats.missing import item_bounds, with_bounds

# What a board does not show.
LEFT_OUT = [
    *("culture_sd", "culture_sd_low", "culture_sd_high", "p_varies", "p_varies_holm"),
    *("only_a", "only_b"),
]


def bounded(tables: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Rows of items as :func:`every_pair` takes them."""
    keys = ("culture", "language", "item_id")
    return [item_bounds(with_bounds(table, {"m": True}, {}), keys, ("cluster",)) for table in tables]


def runs(*, systems: int, cultures: int, shared: bool, lost: float, binary: bool, seed: int) -> list[pl.DataFrame]:
    """Score tables of several systems over the same questions, each without some of the items."""
    random = np.random.default_rng(seed)
    tables = []
    for _ in range(systems):
        rows = []
        for culture in range(cultures):
            for question in range(12 + culture):
                value = random.random()
                if random.random() >= lost:
                    cluster = f"q{question // 2}" if shared else f"{culture}-{question // 2}"
                    facts = (f"c{culture}", "en", "v", f"{culture}-{question}", cluster, "", "", 0, "m")
                    rows.append((*facts, float(value < 0.5) if binary else value, "scored"))
        names = ("culture", "language", "variant", "item_id", "cluster", "category", "topic", "sample", "metric")
        tables.append(pl.DataFrame(rows, schema=[*names, "value", "outcome"], orient="row"))
    return tables


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize(("cultures", "shared"), [(1, True), (3, True), (3, False)])
def test_every_pair_has_the_numbers_of_two_runs_compared(
    cultures: int, shared: bool, lost: float, binary: bool
) -> None:
    tables = runs(systems=4, cultures=cultures, shared=shared, lost=lost, binary=binary, seed=cultures)
    labels = list("abcd")
    expected = []
    for one, other in combinations(range(4), 2):
        names = {"label_a": labels[one], "label_b": labels[other]}
        table = compare_runs(tables[one], tables[other], metrics={"m": binary}, **names)
        expected.append(table.filter(pl.col("cultures") == cultures))
    compared = every_pair(bounded(tables), labels, "m", "v", binary=binary)
    columns = [name for name in compared.columns if name not in LEFT_OUT]
    assert_frame_equal(
        compared.select(columns), adjust_p_values(pl.concat(expected)).select(columns), rel_tol=1e-9, abs_tol=1e-12
    )


def test_a_system_that_shares_no_item_with_another_is_in_no_pair_with_it() -> None:
    first, second, third = runs(systems=3, cultures=2, shared=True, lost=0.0, binary=True, seed=1)
    third = third.with_columns(item_id=pl.lit("x") + pl.col("item_id"))
    compared = every_pair(bounded([first, second, third]), ["a", "b", "c"], "m", "v", binary=True)
    assert compared.select("a", "b").rows() == [("a", "b")]
    nothing = every_pair(bounded([first, second.clear()]), ["a", "b"], "m", "v", binary=True)
    assert nothing.is_empty()
    assert every_pair(bounded([first]), ["a"], "m", "v", binary=True).is_empty()


def test_of_several_cultures_a_pair_that_shares_one_is_in_no_family_of_means() -> None:
    first, second, third = runs(systems=3, cultures=3, shared=True, lost=0.0, binary=True, seed=2)
    compared = every_pair(bounded([first, second, third.filter(culture="c0")]), ["a", "b", "c"], "m", "v", binary=True)
    assert compared.select("a", "b", "cultures").rows() == [("a", "b", 3)]
    assert compared["family"].n_unique() == 1


def test_an_item_in_two_clusters_is_refused() -> None:
    first, second = runs(systems=2, cultures=2, shared=True, lost=0.0, binary=True, seed=3)
    with pytest.raises(DataError, match="is in 'q0' in one run"):
        every_pair(bounded([first, second.with_columns(cluster=pl.lit("x"))]), ["a", "b"], "m", "v", binary=True)


def test_a_difference_of_one_among_very_many_can_be_found_by_random_flips() -> None:
    random = np.random.default_rng(5)
    items = [(culture, str(k)) for culture in "xy" for k in range(100)]
    frame = pl.DataFrame(items, schema=["culture", "cluster"], orient="row")
    frame = frame.with_columns(language=pl.lit("en"), item_id=pl.col("culture") + pl.col("cluster"))
    values = [pl.Series(random.normal(0.3 * (k == 0), 0.1, len(items))) for k in range(30)]
    tables = [frame.with_columns(value=one, least=one, most=one, asked=1, missing=0) for one in values]
    compared = every_pair(tables, [str(k) for k in range(30)], "m", "v", binary=False)
    assert compared.filter(a="0")["p_holm"].max() < 0.05  # type: ignore[operator]
