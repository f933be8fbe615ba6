"""Floors and ceilings: what takes no cultural knowledge, and what people score."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.records import Item
from kapwa.suites.kalahi.data import read_situations
from kapwa.suites.kalahi.floors import METRICS, by_length, chance_mc1, chance_mc2, first_is_best, floors


def _item(best: str, others: tuple[str, ...], irrelevant: tuple[str, ...], **changes: Any) -> Item:
    given = {"id": "1", "variant": "full", "culture": "A"} | changes
    fields = {"best": best, "relevant": (best, *others), "irrelevant": irrelevant}
    home = {"suite": "kalahi", "language": "en", "category": "", "topic": "", "cluster": given["id"]}
    return Item(**given, **home, fields=fields)


def _by_name(items: list[Item], metric: str, variant: str = "full", note: str = "") -> dict[str, float]:
    found = floors(items)
    return {f.name: f.value for f in found if (f.metric, f.variant, f.note, f.kind) == (metric, variant, note, "floor")}


def test_every_metric_of_the_task_has_its_floors() -> None:
    from kapwa.suites.kalahi.mc import MC_METRICS

    assert set(METRICS) == set(MC_METRICS)
    assert floors([]) == []


def test_the_rules_by_hand() -> None:
    item = _item("four", ("a", "sixsix"), ("bb", "ccc", "dd"))
    assert chance_mc1(item) == 0.25
    assert chance_mc2(item) == 0.5
    assert chance_mc2(_item("a", ("b",), ("c",))) == pytest.approx(2 / 3)
    assert (by_length(item, 1), by_length(item, -1)) == (1.0, 0.0)
    assert _by_name([item], "mc3") == {"chance": 0.25, "longest": 2 / 3, "shortest": 1 / 3}
    tied = _item("aaa", (), ("bbb", "c"))
    assert _by_name([tied], "mc1")["longest"] == 0.0
    assert _by_name([tied], "mc1_shared")["longest"] == 0.5


def test_length_is_counted_in_characters() -> None:
    assert by_length(_item("abcde", (), ("ممم", "خخخخ")), 1) == 1.0
    assert by_length(_item("ممم", (), ("abcd",)), -1) == 1.0


def test_the_released_floors_and_ceilings(kalahi_data: Path) -> None:
    items, _ = read_situations(kalahi_data)
    full = _by_name(items, "mc1")
    assert full["chance"] == pytest.approx(0.242889, abs=5e-7)
    assert full["longest"] == pytest.approx(0.413333, abs=5e-7)
    assert full["shortest"] == pytest.approx(0.113333, abs=5e-7)
    assert abs(full["first position"] - full["chance"]) < 0.08
    assert _by_name(items, "mc1", "unenriched")["chance"] == pytest.approx(0.245294, abs=5e-7)
    for metric in ("mc2", "mc2_reference", "mc2_sum"):
        assert _by_name(items, metric) == {"no preference": 0.5}
    ceilings = {(f.name, round(f.value, 4)) for f in floors(items) if f.kind == "ceiling"}
    assert ceilings == {("human", 0.8910), ("human (implied)", 0.8956)}
    assert {(f.metric, f.variant) for f in floors(items) if f.kind == "ceiling"} == {
        (metric, "full") for metric in METRICS if metric.startswith("mc1")
    }


def test_other_data_have_no_ceiling(kalahi_data: Path) -> None:
    samples, _ = read_situations(None)
    real, _ = read_situations(kalahi_data)
    full = [item for item in real if item.variant == "full"]
    assert not [f for f in floors(samples) if f.kind == "ceiling"]
    assert [f for f in floors(full[:5]) if f.kind == "ceiling"]
    assert not [f for f in floors([*full, *samples]) if f.kind == "ceiling"]
    assert not [f for f in floors([i for i in real if i.variant == "partial"]) if f.kind == "ceiling"]


def test_each_culture_has_its_own_floors_when_there_are_several() -> None:
    items = [_item("a", (), ("bb",)), _item("cc", (), ("d",), id="2", culture="B")]
    assert _by_name(items, "mc1")["longest"] == 0.5
    assert _by_name(items, "mc1", note="A")["longest"] == 0.0
    assert _by_name(items, "mc1", note="B")["longest"] == 1.0
    assert {f.note for f in floors(items[:1])} == {""}


def test_the_first_position_is_fixed() -> None:
    """Literal answers pin the order: the floor must not change with a release, a variant or the order in a file."""
    firsts = [i for i in range(16) if first_is_best(_item("best", (), ("x", "y", "z"), id=str(i)))]
    assert firsts == [2, 9, 10, 13, 14, 15]
    turned = [_item("best", ("other",), ("z", "y", "x"), id=str(i), variant="partial") for i in range(16)]
    assert [i for i in range(16) if first_is_best(turned[i])] == firsts


def test_the_best_stands_first_as_often_as_chance() -> None:
    items = [_item("best", (), ("x", "y", "z"), id=str(i)) for i in range(2000)]
    assert sum(map(first_is_best, items)) / 2000 == pytest.approx(0.25, abs=0.03)


@given(st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True))
def test_floors_are_shares(texts: list[str]) -> None:
    item = _item(texts[0], (), tuple(texts[1:]))
    assert all(0 <= floor.value <= 1 for floor in floors([item]))
    assert not (by_length(item, 1) and by_length(item, -1))
