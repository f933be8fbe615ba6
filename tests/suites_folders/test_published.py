"""The mappings of published benchmarks read a made-up table of their columns, which is judged and reported."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa
from kapwa.records import Item
from kapwa.suites.folders.adding import check_folder

MAPPINGS = Path(__file__).parents[2] / "examples" / "mappings"
FOLDERS = sorted(path.name for path in MAPPINGS.iterdir() if path.is_dir())
# How many rows are asked, of how many cultures, in which languages; and what guessing scores.
EXPECTED: dict[str, tuple[int, int, set[str], float | None]] = {
    "amammere": (20, 2, {"en"}, 1 / 4),
    "arabculture": (20, 4, {"ar"}, 1 / 3),
    "culturalbench-easy": (20, 4, {"en"}, 1 / 4),
    "geomlama": (20, 5, {"en"}, None),
    "global-mmlu": (10, 2, {"am", "fil"}, 1 / 4),
    "include": (20, 4, {"sq", "eu", "ta", "sw"}, 1 / 4),
    "milu": (20, 2, {"hi", "or"}, 1 / 4),
    "normad": (20, 4, {"en"}, 1 / 3),
    "semeval-2026-task-7-choice": (20, 4, {"ms", "ta", "en", "ga"}, 1 / 4),
    "semeval-2026-task-7-short": (20, 4, {"es", "en", "id", "am"}, None),
}


def right_reply(item: Item) -> str:
    return str(item.fields["answer"] if "options" in item.fields else item.fields["answers"][0].local[0])


def wrong_reply(item: Item) -> str:
    if "options" not in item.fields:
        return "nobody's answer"
    return str(next(letter for letter in item.fields["letters"] if letter != item.fields["answer"]))


def score(task: Any, reply: Any, metric: str) -> float:
    rows = [{"item_id": item.id, "variant": item.variant, "text": reply(item)} for item in task.items()]
    judged = kapwa.score_responses(task, pl.DataFrame(rows))
    return float(judged.estimates.filter(pl.col("metric") == metric, pl.col("group") == "all")["value"][0])


def test_each_folder_is_known() -> None:
    assert sorted(EXPECTED) == FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_a_mapping_reads_the_columns_of_its_benchmark(name: str) -> None:
    rows, cultures, languages, chance = EXPECTED[name]
    checked = check_folder(MAPPINGS / name)
    assert checked.errors == []
    (task_name,) = checked.tasks
    chosen: dict[str, Any] = {} if chance else {"variant": "local/inst-4"}
    task = kapwa.load_task(f"blend/{task_name}", data=MAPPINGS / name, **chosen)
    items = task.items()
    assert len(items) == rows
    assert len({item.culture for item in items}) == cultures
    assert {item.language for item in items} == languages
    metric = "mcq_acc" if chance else "sem_b"
    assert score(task, right_reply, metric) == 1.0
    assert score(task, wrong_reply, metric) == 0.0
    if chance:
        floors = [
            floor
            for floor in task.floors(items)
            if floor.metric == metric and floor.name == "chance" and floor.note == ""
        ]
        assert [floor.value for floor in floors] == [pytest.approx(chance)]


def test_a_column_of_another_name_is_named(tmp_path: Path) -> None:
    source = MAPPINGS / "normad"
    (tmp_path / "mapping.yaml").write_bytes((source / "mapping.yaml").read_bytes())
    text = (source / "normad.csv").read_text(encoding="utf-8").replace("Gold Label", "Gold_Labels")
    (tmp_path / "normad.csv").write_text(text, encoding="utf-8")
    (problem,) = check_folder(tmp_path).errors
    assert (problem.row, problem.column) == (1, "Gold Label")
    assert "Gold_Labels" in problem.message
