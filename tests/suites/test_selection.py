"""Choosing items: variants, columns, limits, and what is said when a name selects nothing."""

import pytest

from kapwa.errors import UsageError
from kapwa.records import Item
from kapwa.suites.base import Selection
from kapwa.suites.items import select

KNOWN = ("full", "partial")


def item(number: int, variant: str = "full", culture: str = "Filipino", topic: str = "friendship") -> Item:
    return Item(f"{number:04}", "kalahi", culture, "fil", "ethics", topic, variant, f"c{number}", {})


ITEMS = [item(i, variant, culture) for culture in ("Filipino", "Egyptian") for variant in KNOWN for i in range(3)]


def chosen(selection: Selection) -> list[Item]:
    return select(ITEMS, selection, known=KNOWN, default=("full",))


def test_the_default_variant_is_taken_in_file_order() -> None:
    assert chosen(Selection()) == [item(i, "full", c) for c in ("Filipino", "Egyptian") for i in range(3)]


def test_a_limit_counts_within_each_culture_and_variant() -> None:
    kept = chosen(Selection(variants=KNOWN, limit=2))
    assert len(kept) == 8
    assert {(i.culture, i.variant) for i in kept} == {(c, v) for c in ("Filipino", "Egyptian") for v in KNOWN}


def test_a_random_subset_takes_whole_clusters_the_same_ones_in_every_culture_and_variant() -> None:
    pairs = [
        Item(f"{c}{i}", "kalahi", culture, "fil", "", "", variant, f"c{c}", {})
        for culture in ("Filipino", "Egyptian")
        for variant in KNOWN
        for c in range(20)
        for i in range(2)
    ]

    def drawn(seed: int, limit: int = 6) -> list[Item]:
        selection = Selection(KNOWN, limit, draw_seed=seed)
        return select(pairs, selection, known=KNOWN, default=KNOWN)

    chosen = drawn(0)
    assert len(chosen) == 4 * 6
    assert chosen == [one for one in pairs if one in chosen]  # in the order of the data
    parts = {(one.culture, one.variant): [] for one in chosen}
    for one in chosen:
        parts[one.culture, one.variant].append(one.id)
    assert len({tuple(ids) for ids in parts.values()}) == 1
    ids = next(iter(parts.values()))
    assert len({name[:-1] for name in ids}) == 3  # both items of each of three clusters
    assert drawn(0) == chosen != drawn(1)
    assert chosen != select(pairs, Selection(KNOWN, 6), known=KNOWN, default=KNOWN)
    assert set(ids) <= {one.id for one in drawn(0, 10)}  # a larger draw adds to a smaller one


def test_a_column_selects() -> None:
    assert {i.culture for i in chosen(Selection(where={"culture": ("Egyptian",)}))} == {"Egyptian"}


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection(variants=("ful",)), "Did you mean 'full'?"),
        (Selection(where={"topics": ("x",)}), "Did you mean 'topic'?"),
        (Selection(where={"topic": ("frendship",)}), "Did you mean 'friendship'?"),
    ],
)
def test_names_that_select_nothing_are_explained(selection: Selection, said: str) -> None:
    with pytest.raises(UsageError) as error:
        chosen(selection)
    assert said in str(error.value)


def test_a_variant_the_data_lacks_is_explained() -> None:
    with pytest.raises(UsageError, match="holds no items of the variant 'partial'"):
        select([item(1)], Selection(variants=("partial",)), known=KNOWN, default=("full",))
