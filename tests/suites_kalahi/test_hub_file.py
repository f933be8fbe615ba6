"""Kalahi as the hub has it: one Parquet file whose ids lost their zeros, and whose two ids are the same number."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from packwriter import RELEASED

import kapwa
from kapwa.errors import UsageError
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import read_situations
from kapwa.suites.kalahi.released import situation_of

# Two situations, the first in two variations: ten digits, of which the first eight are the situation's.
IDS = {"0101000100": "101000100", "0101000103": "101000103", "1202000100": "1202000100"}


def as_on_the_hub(rows: list[dict[str, Any]], folder: Path) -> Path:
    """What the owners' script makes of rows: numbers as texts, one number twice, answers as lists."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for row in rows:
        number = str(int(row["prompt_variation_id"]))
        lists = {name: row[name].split(";") for name in ("relevant_answers", "irrelevant_answers")}
        changed.append({**row, "prompt_variation_id": number, "prompt_id": number, **lists})
    pl.DataFrame(changed).write_parquet(folder / "filipino.parquet")
    return folder


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("101000100", "101000100"), ("0101000100", "01010001")),
        (("1202000100", "1202000100"), ("1202000100", "12020001")),
        (("0101000100", "01010001"), ("0101000100", "01010001")),
        (("101000100", "1010001"), ("0101000100", "01010001")),
        (("101000100", "1010002"), None),
        (("0001", "00"), None),
        (("٠١٠١٠٠٠١٠٠", "٠١٠١٠٠٠١٠٠"), None),
        (("10100010x", "10100010x"), None),
    ],
)
def test_ids_get_their_zeros_back(ids: tuple[str, str], expected: tuple[str, str] | None) -> None:
    assert situation_of(*ids) == expected


def test_variations_of_a_situation_are_one_cluster(tmp_path: Path) -> None:
    rows = [{**RELEASED, "prompt_variation_id": name, "prompt": f"{name}\nWhat do I do?"} for name in IDS]
    items, source = read_situations(as_on_the_hub(rows, tmp_path / "hub"))
    assert [item.id for item in items] == list(IDS)
    assert [item.cluster for item in items] == ["01010001", "01010001", "12020001"]
    assert source.card["culture"] == "Filipino"
    report = check(tmp_path / "hub")
    assert report is not None
    assert [f.severity for f in report.findings if "zeros" in f.message] == ["note"]
    assert not [f for f in report.findings if f.severity == "error"]


def test_one_row_of_another_numbering_leaves_all_ids_as_they_are(tmp_path: Path) -> None:
    rows = [{**RELEASED, "prompt_variation_id": name, "prompt": name} for name in ("101000100", "7")]
    items, _ = read_situations(as_on_the_hub(rows, tmp_path / "hub"))
    assert [(item.id, item.cluster) for item in items] == [("101000100",) * 2, ("7",) * 2]
    report = check(tmp_path / "hub")
    assert report is not None
    assert [f.severity for f in report.findings if "zeros" in f.message] == ["warning"]


def test_the_released_prompts_on_the_hub_have_86_situations_and_people_s_ceiling(
    kalahi_data: Path, tmp_path: Path
) -> None:
    with (kalahi_data / "filipino.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    folder = as_on_the_hub(rows, tmp_path / "hub")
    task = kapwa.load_task("kalahi/mc", data=folder)
    from_csv = kapwa.load_task("kalahi/mc", data=kalahi_data)
    assert len(task.items()) == 150
    assert len({item.cluster for item in task.items()}) == 86
    assert [(i.id, i.cluster, i.fields["prompt"], i.fields["relevant"]) for i in task.items()] == [
        (i.id, i.cluster, i.fields["prompt"], i.fields["relevant"]) for i in from_csv.items()
    ]
    ceilings = {floor.name: floor.value for floor in task.floors(task.items()) if floor.kind == "ceiling"}
    assert ceilings
    assert ceilings == {f.name: f.value for f in from_csv.floors(from_csv.items()) if f.kind == "ceiling"}
    limit = task.data.card["limits"][-1]
    assert "data/filipino_partially_enriched.csv and data/filipino_unenriched.csv" in limit
    with pytest.raises(UsageError, match="holds no items of the variant 'partial'") as refused:
        kapwa.load_task("kalahi/mc", data=folder, variant="partial")
    assert "github.com/aisingapore/kalahi" in str(refused.value)
