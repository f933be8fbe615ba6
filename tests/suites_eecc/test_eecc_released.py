"""The released prompts: every figure the paper gives of them, and every prompt as released."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from promptpack import write_release

from kapwa.errors import DataError, UsageError
from kapwa.suites.base import Selection
from kapwa.suites.eecc import suite
from kapwa.suites.eecc.data import load

QA_TOPICS = {
    "history": 48, "environment": 42, "maths": 40, "physics": 30, "politics": 29, "biology": 26, "world affairs": 24,
    "economics": 23, "religion": 23, "chemistry": 21, "space": 15, "law": 13, "humanities": 11,
}  # fmt: skip
STORY_TOPICS = {"moral_values": 15, "specific_settings": 10, "specific_characters": 10}


@pytest.mark.parametrize(
    ("task", "concepts", "topics", "prompts"),
    [("eecc/qa", 345, QA_TOPICS, 66_585), ("eecc/stories", 35, STORY_TOPICS, 6_755)],
)
def test_the_paper_counts_hold(eecc_data: Path, task: str, concepts: int, topics: dict[str, int], prompts: int) -> None:
    found = load(eecc_data, task)
    assert found.attribute == "nationality"
    assert len(found.concepts) == concepts
    assert Counter(concept.topic for concept in found.concepts) == topics
    assert len(found.identities) == 193
    opened = suite.open_task(task, eecc_data, Selection(), {})
    items = opened.items()
    assert len(items) == prompts
    assert len({item.id for item in items}) == prompts
    assert len({item.fields["prompt"] for item in items}) == prompts


@pytest.mark.parametrize("task", ["eecc/qa", "eecc/stories"])
def test_reference_prompts_are_the_released_ones(eecc_data: Path, task: str) -> None:
    folder = eecc_data / task.rpartition("/")[2]
    template = (folder / "templates.tsv").read_text(encoding="utf-8").strip().split("\t")[-1]
    rows = [line.split("\t") for line in (folder / "concepts.tsv").read_text(encoding="utf-8").splitlines()]
    names = [line.split("\t")[1] for line in (eecc_data / "identities.tsv").read_text(encoding="utf-8").splitlines()]
    released = []
    for _, concept in dict.fromkeys(map(tuple, rows)):
        for name in names:
            by_letter = "an" if name[0] in "AEIOUaeiou" else "a"
            prompt = template.replace("{concept}", concept).replace("{identity}", name)
            released.append(prompt.replace("{vowel}", by_letter))
    ours = suite.open_task(task, eecc_data, Selection(variants=("direct_reference",)), {}).items()
    right = suite.open_task(task, eecc_data, Selection(), {}).items()
    # The released script goes topic by topic, as the files do but for one topic's repeated rows.
    assert sorted(item.fields["prompt"] for item in ours) == sorted(released)
    differing = {item.culture for item, other in zip(right, ours, strict=True) if item.fields != other.fields}
    assert differing == {"Ugandan", "Ukrainian", "Uruguayan"}


def test_nationalities_of_one_concept_follow_one_another(eecc_data: Path) -> None:
    items = suite.open_task("eecc/stories", eecc_data, Selection(), {}).items()
    changes = sum(a.topic != b.topic for a, b in pairwise(items))
    assert changes == 34
    assert items[0].id == "moral_values/honesty/Afghan"
    assert items[0].cluster == items[0].topic == "honesty"


def test_countries_are_known_for_all_but_the_ambiguous(eecc_data: Path) -> None:
    items = suite.open_task("eecc/stories", eecc_data, Selection(), {"concepts": "honesty"}).items()
    assert {item.culture for item in items if not item.fields["country"]} == {"Congolese", "Dominican"}
    assert {item.culture: item.fields["country"] for item in items}["Burmese"] == "Myanmar"


def test_both_tasks_and_one_task_folder_can_be_named(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data")
    whole = suite.open_task("eecc/qa", folder, Selection(), {})
    alone = suite.open_task("eecc/qa", folder / "qa", Selection(), {})
    assert [item.id for item in whole.items()] == ["maths/sets/Ugandan", "maths/sets/Irish", "art/jazz/Ugandan",
                                                   "art/jazz/Irish"]  # fmt: skip
    assert whole.items() == alone.items()
    assert whole.data.digest == alone.data.digest
    with pytest.raises(UsageError, match=r"holds no prompts of eecc/qa"):
        suite.open_task("eecc/qa", folder / "stories", Selection(), {})


def test_a_line_of_the_released_files_that_lacks_a_part_is_named(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data")
    (folder / "qa" / "concepts.tsv").write_text("maths\tsets\njazz\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"concepts\.tsv, row 2: has 1 parts, not 2"):
        suite.open_task("eecc/qa", folder, Selection(), {})
