"""What is kept of floors is what would be worked out, and nothing else is ever taken for it."""

import math
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import kapwa
from kapwa.records import Floor
from kapwa.suites import disk_cache
from kapwa.suites.blend import saq_floors
from kapwa.suites.kalahi import closeness


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk_cache.CACHE_VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The countries whose floors were worked out; those of the few questions of sample packs are kept, too."""
    countries: list[str] = []
    measure = saq_floors.FloorMaker.compute_scores

    def noted(self, questions, asked_in):  # type: ignore[no-untyped-def]
        countries.append(questions[0].country)
        return measure(self, questions, asked_in)

    monkeypatch.setattr(saq_floors, "_WORTH_KEEPING", 1)
    monkeypatch.setattr(saq_floors.FloorMaker, "compute_scores", noted)
    return countries


def floors(**chosen: object) -> list[Floor]:
    task = kapwa.load_task("blend/saq", **chosen)  # type: ignore[arg-type]
    return list(task.floors(task.items()))


def test_kept_floors_are_the_same_numbers(folder: Path, worked_out: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = floors()
    assert worked_out
    times = len(worked_out)
    again = floors()
    assert len(worked_out) == times
    assert repr(again) == repr(first)  # as texts, for NaN is not equal to itself
    monkeypatch.setenv(disk_cache.CACHE_VARIABLE, "off")
    assert repr(floors()) == repr(first)
    assert len(worked_out) == 2 * times


def test_kept_floors_of_situations_are_the_same_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = kapwa.load_task("kalahi/open", data="sample:filipino", metrics=["rougeL"], limit=4)
    monkeypatch.setattr(closeness, "_WORTH_KEEPING", 1)
    first = task.floors(task.items())
    assert len(list(folder.rglob("*.json"))) == 1
    monkeypatch.setattr(closeness, "open_floors", None)  # what is kept is not worked out
    assert repr(task.floors(task.items())) == repr(first)
    with pytest.raises(TypeError):
        task.floors(task.items()[1:])


def test_other_questions_or_rules_are_worked_out_anew(
    folder: Path, worked_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    floors(where={"culture": "South_Korea"})
    times = len(worked_out)
    floors(where={"culture": "South_Korea"}, limit=2)
    assert len(worked_out) > times
    times = len(worked_out)
    floors(where={"culture": "South_Korea"}, max_answers=1)
    assert len(worked_out) > times
    times = len(worked_out)
    monkeypatch.setattr(disk_cache, "code_digest", lambda: "the code of tomorrow")
    floors(where={"culture": "South_Korea"})
    assert len(worked_out) > times


def test_nothing_of_what_people_wrote_is_kept(folder: Path, worked_out: list[str]) -> None:
    floors()
    ids = {item.id for item in kapwa.load_task("blend/saq").items()}
    files = list(folder.rglob("*.json"))
    assert files
    for file in files:
        for name, kind, each in TypeAdapter(list[saq_floors.FloorScores]).validate_json(file.read_bytes()):
            assert kind in ("floor", "list", "ceiling")
            assert name in (*saq_floors.LISTS, *vars(saq_floors).values())
            assert set(each) <= ids


@pytest.mark.parametrize("damage", [b"", b"[1.5", b'{"a": 1}', b"\xff\xfe"])
def test_a_damaged_file_is_written_again(folder: Path, damage: bytes) -> None:
    assert disk_cache.cached("x", ["a"], list[float], lambda: [1.5, math.inf]) == [1.5, math.inf]
    (file,) = folder.rglob("*.json")
    file.write_bytes(damage)
    assert disk_cache.cached("x", ["a"], list[float], lambda: [2.5]) == [2.5]
    assert disk_cache.cached("x", ["a"], list[float], lambda: [3.5]) == [2.5]


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(disk_cache.CACHE_VARIABLE, str(tmp_path / "file"))
    assert disk_cache.cached("x", ["a"], list[float], lambda: [1.0]) == [1.0]


def test_the_files_longest_unused_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_FILES", 3)
    for name in "abcde":
        disk_cache.cached("x", [name], list[float], lambda: [1.0])
    assert len(list(folder.rglob("*.json"))) == 3


def test_texts_side_by_side_are_not_one_text(folder: Path) -> None:
    disk_cache.cached("x", ["ab", "c"], list[float], lambda: [1.0])
    assert disk_cache.cached("x", ["a", "bc"], list[float], lambda: [2.0]) == [2.0]
